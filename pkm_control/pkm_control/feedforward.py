"""Computed-force feedforward from a model whose parameters can be replaced.

A `Feedforward` is immutable; a running controller is given another one by
assigning a single reference, so no cycle ever sees a half-replaced model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pkm_description.errors import ModelFileError
from pkm_dynamics.friction_laws import DriveFriction, is_friction_law_parameter
from pkm_dynamics.parameters.parameter_table import INERTIAL_NAMES
from pkm_dynamics.parameters.pseudo_inertia import pseudo_inertia

if TYPE_CHECKING:
    from pkm_dynamics import ClosedChainModel, JointStates, PlatformMotion

Array = NDArray[np.float64]

KINDS = ('rigid_body', 'friction', 'rotor')
# What the amplitude of a friction law is multiplied with at most.
LARGEST = {'stribeck_force': 1.0, 'atan_force': 0.5 * np.pi, 'power_force': np.inf}


class NotPhysicalError(ModelFileError):
    """Parameters that no real robot has: negative mass, friction or rotor, impossible inertia."""


@dataclass(frozen=True)
class Feedforward:
    """Actuator forces of a motion, or none.

    Attributes
    ----------
    name : str
        What is reported as the model in use.
    parameters : (n_p,) or None
        Standard parameters, those of excluded contributions set to zero; None for no
        feedforward at all.
    friction : DriveFriction or None
        Friction of the drives beyond those parameters.
    """

    name: str
    parameters: Array | None
    friction: DriveFriction | None = None

    def forces(self, model: ClosedChainModel, motion: PlatformMotion) -> Array:
        """Forces (N, n_a) [N, N m]; zeros without a model."""
        if self.parameters is None:
            return np.zeros((len(motion), model.n_a))
        forces = model.inverse_dynamics(motion, self.parameters)
        if self.friction is not None:
            forces = forces + self._beyond(model, model.joint_states(motion))
        return forces

    def along(self, model: ClosedChainModel, motion: PlatformMotion) -> tuple[JointStates, Array]:
        """Joint states and forces (N, n_a) [N, N m] of a motion in one pass."""
        if self.parameters is None:
            return model.joint_states(motion), np.zeros((len(motion), model.n_a))
        joints, forces = model.states_and_forces(motion, self.parameters)
        if self.friction is not None:
            forces = forces + self._beyond(model, joints)
        return joints, forces

    def _beyond(self, model: ClosedChainModel, joints: JointStates) -> Array:
        assert self.friction is not None
        actuated = [model.joint_names.index(name) for name in model.actuated_joints]
        return self.friction.forces(joints.velocities[:, actuated])


def no_feedforward() -> Feedforward:
    """Feedback alone."""
    return Feedforward('none', None)


def nominal_feedforward(
    model: ClosedChainModel, rigid_body: bool = True, friction: bool = True, rotor: bool = True
) -> Feedforward:
    """Feedforward with the parameters of the description."""
    parts = {'rigid_body': rigid_body, 'friction': friction, 'rotor': rotor}
    return _masked(model, 'nominal', np.asarray(model.nominal_parameters), parts)


def identified_feedforward(
    model: ClosedChainModel,
    name: str,
    parameter_names: Sequence[str],
    values: ArrayLike,
    rigid_body: bool = True,
    friction: bool = True,
    rotor: bool = True,
) -> Feedforward:
    """Feedforward with given standard parameters, matched by name.

    Parameters of friction laws of the drives (`pkm_dynamics.friction_laws`) may stand among
    them; their forces are added.

    Raises
    ------
    ModelFileError
        When a parameter is missing, unknown, given twice or not finite.
    NotPhysicalError
        When a mass, a friction coefficient or a rotor inertia is negative, a body's inertia
        is none of any distribution of mass, or a drive's friction would drive it.
    """
    numbers = np.asarray(values, dtype=float)
    names = list(parameter_names)
    if numbers.shape != (len(names),):
        raise ModelFileError(f'{len(names)} parameter names, but values of shape {numbers.shape}')
    if len(set(names)) < len(names):
        twice = next(entry for entry in names if names.count(entry) > 1)
        raise ModelFileError(f"parameter '{twice}' is given twice")
    known = set(model.parameter_names)
    beyond = [entry for entry in names if entry not in known and is_friction_law_parameter(entry)]
    for entry in names:
        if entry not in known and entry not in beyond:
            raise ModelFileError(f"parameter '{entry}' is unknown to robot '{_robot(model)}'")
    missing = [entry for entry in model.parameter_names if entry not in set(names)]
    if missing:
        raise ModelFileError(f"parameter '{missing[0]}' is missing ({len(missing)} in all)")
    order = {entry: i for i, entry in enumerate(names)}
    sorted_values = numbers[[order[entry] for entry in model.parameter_names]]
    for entry, value in zip(model.parameter_names, sorted_values, strict=True):
        if not np.isfinite(value):
            raise ModelFileError(f"parameter '{entry}' is not finite")
    positive = model.parameter_mask('friction') | model.parameter_mask('rotor')
    for i, entry in enumerate(model.parameter_names):
        if (entry.endswith('.m') or positive[i]) and sorted_values[i] < -1e-9:
            raise NotPhysicalError(f"parameter '{entry}' is negative: {sorted_values[i]:.6g}")
    by_name = dict(zip(model.parameter_names, sorted_values.tolist(), strict=True))
    _check_bodies(by_name)
    parts = {'rigid_body': rigid_body, 'friction': friction, 'rotor': rotor}
    found = _masked(model, name, sorted_values, parts)
    if not beyond:
        return found
    law = _drive_friction(model, {entry: float(numbers[order[entry]]) for entry in beyond})
    _check_friction(law, by_name)
    return replace(found, friction=law) if friction else found


def _drive_friction(model: ClosedChainModel, values: dict[str, float]) -> DriveFriction:
    velocity = model.description.transition_velocity
    return DriveFriction.from_parameters(values, model.actuated_joints, velocity)


def _check_friction(friction: DriveFriction, linear: dict[str, float]) -> None:
    """Refuse friction that can drive a joint: more negative than Coulomb friction is large."""
    for entry, value in zip(friction.names, friction.values, strict=True):
        joint, _, field = entry.rpartition('.')
        if field not in LARGEST:
            continue
        held = [
            linear[f'{joint}.{kind}']
            for kind in ('coulomb', 'coulomb_positive', 'coulomb_negative')
            if f'{joint}.{kind}' in linear
        ]
        if LARGEST[field] * value < -min(held, default=0.0) - 1e-6 * abs(value) - 1e-9:
            raise NotPhysicalError(
                f"parameter '{entry}' is {value:.6g}: with the Coulomb friction of '{joint}' "
                'it is friction that drives the joint'
            )


def _check_bodies(values: dict[str, float]) -> None:
    """Refuse bodies whose pseudo-inertia [[S, h], [h^T, m]], S = tr(I)/2 1 - I, is indefinite."""
    for mass_name in values:
        body = mass_name.removesuffix('.m')
        if body == mass_name or any(f'{body}.{kind}' not in values for kind in INERTIAL_NAMES):
            continue
        pseudo = pseudo_inertia([values[f'{body}.{kind}'] for kind in INERTIAL_NAMES])
        try:
            eigenvalues = np.linalg.eigvalsh(pseudo)
        except np.linalg.LinAlgError:
            raise NotPhysicalError(f"body '{body}': inertial parameters out of range") from None
        tolerance = 1e-6 * abs(eigenvalues[-1]) + 1e-9
        if not eigenvalues[0] >= -tolerance:
            raise NotPhysicalError(
                f"body '{body}': no distribution of mass has these inertial parameters "
                f'(least eigenvalue of the pseudo-inertia {eigenvalues[0]:.6g})'
            )


def _masked(
    model: ClosedChainModel, name: str, parameters: Array, parts: dict[str, bool]
) -> Feedforward:
    kept = np.array(parameters, dtype=float)
    for kind in KINDS:
        if not parts[kind]:
            kept[model.parameter_mask(kind)] = 0.0
    if not any(parts.values()):
        return no_feedforward()
    left_out = [kind for kind in KINDS if not parts[kind] and model.parameter_mask(kind).any()]
    kept.setflags(write=False)
    suffix = ''.join(f' without {kind.replace("_", " ")}' for kind in left_out)
    return Feedforward(name + suffix, kept)


def _robot(model: ClosedChainModel) -> str:
    return str(model.description.name)
