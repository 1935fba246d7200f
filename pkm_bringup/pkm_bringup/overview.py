"""A robot in plain values: what `pkm describe` prints."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pkm_description import Description
    from pkm_dynamics import BaseParameters, ClosedChainModel


def overview(model: ClosedChainModel) -> dict[str, Any]:
    """Return bodies, joints, constraints, actuators, mobility and remarks; SI units."""
    description = model.description
    bodies = [link.inertial for link in description.links if link.inertial is not None]
    return {
        'name': description.name,
        'title': str(description.sidecar.get('title', '')),
        'path': str(description.path),
        'digest': description.digest,
        'gravity': description.gravity,
        'home': {
            'position': model.home_position,
            'rotation': model.home_rotation,
            'actuators': dict(zip(model.actuated_joints, model.home_actuators, strict=True)),
        },
        'mobility': model.n_a,
        'loops': len(description.constraints),
        'total_mass': sum(inertial.mass for inertial in bodies),
        'links': [_link(link) for link in description.links],
        'joints': [_joint(joint, model) for joint in description.joints],
        'constraints': [
            {
                'name': item.name,
                'type': item.type,
                'parent': item.parent,
                'child': item.child,
                'coulomb': None if item.friction is None else item.friction.coulomb,
                'viscous': None if item.friction is None else item.friction.viscous,
            }
            for item in description.constraints
        ],
        'same_design': [list(group) for group in description.same_design],
        'standard_parameters': model.n_p,
        'warnings': remarks(description),
    }


def base_figures(base: BaseParameters, with_expressions: bool) -> dict[str, Any]:
    """Return rank and, if wanted, the base parameters with their nominal values."""
    figures: dict[str, Any] = {
        'rank': base.rank,
        'rigid_body': int(base.is_rigid_body.sum()),
        'friction_and_rotor': int((~base.is_rigid_body).sum()),
    }
    if with_expressions:
        nominal = base.matrix @ base.model.nominal_parameters
        figures['parameters'] = [
            {
                'name': base.names[i],
                'nominal': float(nominal[i]),
                'unit': base.units[i],
                'expression': base.expressions[i],
            }
            for i in range(base.rank)
        ]
    return figures


def remarks(description: Description) -> list[str]:
    """Return what the description leaves out and some use will miss."""
    found = []
    for actuator in description.actuators:
        limit = description.joint(actuator.joint).limit
        if not math.isfinite(actuator.force_constant):
            found.append(
                f"'{actuator.joint}' has no force constant: its currents cannot become forces"
            )
        for what, value in (
            ('stroke', limit.upper - limit.lower),
            ('velocity', limit.velocity),
            ('effort', limit.effort),
        ):
            if not math.isfinite(value):
                found.append(f"'{actuator.joint}' has no {what} limit: it is not checked")
        if description.joint(actuator.joint).friction is None:
            found.append(f"'{actuator.joint}' has no friction")
    massless = [link.name for link in description.links if link.inertial is None]
    massless = [name for name in massless if name != description.base_link]
    if massless:
        found.append(f'without mass: {", ".join(massless)}')
    if 'home' not in description.sidecar:
        found.append('no home is given: the loader has found a closed configuration itself')
    if not description.same_design:
        found.append('no links or joints are declared to be of one design')
    return found


def _link(link: Any) -> dict[str, Any]:
    inertial = link.inertial
    if inertial is None:
        return {'name': link.name, 'mass': 0.0, 'com': None, 'inertia': None}
    return {
        'name': link.name,
        'mass': inertial.mass,
        'com': inertial.com,
        'inertia': inertial.inertia,
    }


def _joint(joint: Any, model: ClosedChainModel) -> dict[str, Any]:
    actuators = {actuator.joint: actuator for actuator in model.description.actuators}
    actuator = actuators.get(joint.name)
    friction = joint.friction
    return {
        'name': joint.name,
        'type': joint.type,
        'parent': joint.parent,
        'child': joint.child,
        'actuated': actuator is not None,
        'lower': joint.limit.lower,
        'upper': joint.limit.upper,
        'velocity': joint.limit.velocity,
        'effort': joint.limit.effort,
        'coulomb': None if friction is None else friction.coulomb,
        'viscous': None if friction is None else friction.viscous,
        'force_constant': None if actuator is None else actuator.force_constant,
    }
