"""Friction as other tools have it: one Coulomb and one viscous coefficient."""

from __future__ import annotations

from pkm_description.description import Constraint, Description, Friction


def symmetric(friction: Friction | None) -> tuple[float, float]:
    """Return Coulomb [N, N m] and viscous friction [N s/m, N m s/rad] of a joint.

    Of an asymmetric friction the mean of both directions is taken.
    """
    if friction is None or friction.model == 'none':
        return 0.0, 0.0
    coulomb = friction.coulomb if friction.model != 'viscous' else 0.0
    if friction.model == 'asymmetric':
        coulomb = 0.5 * (friction.coulomb + friction.coulomb_negative)
    return coulomb, friction.viscous if friction.model != 'coulomb' else 0.0


def asymmetry_losses(description: Description) -> list[str]:
    """Say of which joints the friction differs between the directions."""
    items: list[tuple[str, Friction | None]] = [(j.name, j.friction) for j in description.joints]
    items += [(c.name, c.friction) for c in description.constraints]
    return [
        f"joint '{name}': Coulomb friction {friction.coulomb:g} forwards and "
        f'{friction.coulomb_negative:g} backwards is written as its mean'
        for name, friction in items
        if friction is not None
        and friction.model == 'asymmetric'
        and friction.coulomb != friction.coulomb_negative
    ]


def cut_loss(constraint: Constraint, coulomb: bool, viscous: bool) -> str | None:
    """Say what is lost of a constraint's friction; None where nothing is.

    `coulomb` and `viscous` tell what the format holds.
    """
    dry, wet = symmetric(constraint.friction)
    lost = [f'Coulomb friction {dry:g}'] if dry and not coulomb else []
    lost += [f'viscous friction {wet:g}'] if wet and not viscous else []
    if not lost:
        return None
    return f"{constraint.type} constraint '{constraint.name}': {' and '.join(lost)} is left out"
