"""Computed-force feedforward from a model whose parameters can be replaced.

A `Feedforward` is immutable; a running controller is given another one by
assigning a single reference, so no cycle ever sees a half-replaced model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from pkm_control.safeguards.feedforward_bound import FeedforwardBound
from pkm_description.errors import ModelFileError
from pkm_description.friction import joint_frictions
from pkm_dynamics import ClosedChainModel, JointStates, PlatformMotion
from pkm_dynamics.array_types import Floats
from pkm_dynamics.drive_forces import DriveForces, drive_constants, is_drive_entry, terms_of_entries
from pkm_dynamics.drive_states import DriveStates
from pkm_dynamics.friction_laws import DriveFriction, is_friction_law_parameter, smoothed_sign
from pkm_dynamics.parameters.parameter_table import INERTIAL_NAMES, LOAD
from pkm_dynamics.parameters.pseudo_inertia import pseudo_inertia

KINDS = ('rigid_body', 'friction', 'rotor')
# What the amplitude of a friction law is multiplied with at most.
LARGEST = {'stribeck_force': 1.0, 'atan_force': 0.5 * np.pi, 'power_force': np.inf}
# Least value [kg, N, ...] of what must not be negative: an estimator that projects onto zero
# ends this near to it.
LEAST = -1e-9
# The same for the least eigenvalue of a pseudo-inertia, in units of the largest: what interior
# point solvers leave of a constraint that holds with equality.
INDEFINITE = 1e-6


class NotPhysicalError(ModelFileError):
    """Parameters that no real robot has: negative mass, friction or rotor, impossible inertia."""


@dataclass(frozen=True)
class Feedforward:
    """Actuator forces of a motion, or none."""

    name: str  # what is reported as the model in use
    # (n_p,) standard, those of excluded contributions zero; None for no feedforward at all
    parameters: Floats | None
    friction: DriveFriction | None = None  # friction of the drives beyond those parameters
    drives: DriveForces | None = None  # forces of the drives by position beyond those parameters
    rotors: Floats | None = None  # inertias (n_a,) [kg, kg m^2] of drives beyond those parameters
    # (n_a,) [N, N m] half of what Coulomb friction is larger forwards than backwards, beyond them
    asymmetry: Floats | None = None
    states: DriveStates | None = None  # drives whose friction has a past
    # with the parameters of the joints' loads, whose friction is beyond those parameters
    loaded: ClosedChainModel | None = None
    bound: FeedforwardBound | None = None  # for who commands the forces; `forces` has none

    def forces(self, model: ClosedChainModel, motion: PlatformMotion) -> Floats:
        """Forces (N, n_a) [N, N m]; zeros without a model."""
        if self.parameters is None:
            return np.zeros((len(motion), model.n_a))
        return self.along(model, motion)[1]

    def along(
        self,
        model: ClosedChainModel,
        motion: PlatformMotion,
        before: PlatformMotion | None = None,
        interval: float = 0.0,
    ) -> tuple[JointStates, Floats]:
        """Joint states and forces (N, n_a) [N, N m] of a motion in one pass.

        Drives with a past need it: the states that the motion has, or the motion of one sample
        `before`, by an `interval` [s], from which they are found for one sample and written into
        `motion`. Without either their friction slides.
        """
        if self.parameters is None:
            return model.joint_states(motion), np.zeros((len(motion), model.n_a))
        actuated = [model.joint_names.index(name) for name in model.actuated_joints]
        if self.states is None:
            joints, forces = model.states_and_forces(motion, self.parameters)
        else:
            joints, forces = model.states_and_sliding_forces(motion, self.parameters)
            now = [array[:, actuated] for array in joints[:2]]
            if before is not None:
                positions, velocities = before.joint_positions, before.joint_velocities
                if positions is None or velocities is None:
                    positions, velocities, _ = model.joint_states(before)
                q = np.stack([positions[0, actuated], now[0][0]])
                qd = np.stack([velocities[0, actuated], now[1][0]])
                start = None if before.drive_states is None else before.drive_states[0]
                motion.drive_states = self.states.along((0.0, interval), q, qd, start)[1:]
            if (states := motion.drive_states) is not None:
                drives, own = self.drives, None
                if drives is None:
                    drives, own = model.drive_forces, self.parameters[model.drive_columns]
                past = self.parameters, states, now[1], drives, own
                forces = forces + self.states.past_forces(*past)
        if self.loaded is not None:
            factors = self.loaded.load_parameters[self.loaded.load_friction.columns_of]
            forces = forces + self.loaded.load_forces(motion, joints, factors)
        if self.friction is not None:
            forces = forces + self.friction.forces(joints.velocities[:, actuated])
        if self.drives is not None:
            forces = forces + self.drives.forces(joints.positions[:, actuated])
        if self.rotors is not None:
            forces = forces + self.rotors * joints.accelerations[:, actuated]
        if self.asymmetry is not None:
            velocities = joints.velocities[:, actuated]
            if self.states is not None and motion.drive_states is not None:
                share = self.states.shares(motion.drive_states, velocities)
            else:
                share = smoothed_sign(velocities, model.description.transition_velocity)
            forces = forces + self.asymmetry * np.abs(share)
        return joints, forces


def no_feedforward() -> Feedforward:
    """Feedback alone."""
    return Feedforward('none', None)


def nominal_feedforward(
    model: ClosedChainModel, rigid_body: bool = True, friction: bool = True, rotor: bool = True
) -> Feedforward:
    """Feedforward with the parameters of the description; forces of drives go with `friction`."""
    return _masked(model, 'nominal', model.nominal_parameters, (rigid_body, friction, rotor))


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
    them, and forces of the drives by position with their constants (`<joint>.ripple_period`,
    `<joint>.rest`), which the model need not have; both are added with `friction`. So may
    rotors (`<joint>.rotor`) that the model does not have, added with `rotor`, Coulomb friction
    by direction of drives of which the model has one value (`<joint>.coulomb_positive` and
    `<joint>.coulomb_negative`), and load factors (`<joint>.load`), added with `friction`: the
    joints' loads are those of the values. Raises
    ModelFileError when a parameter is missing, unknown, given twice or not finite;
    NotPhysicalError when a mass, a friction coefficient or a rotor inertia is negative, a body's
    inertia is none of any distribution of mass, or a drive's friction would drive it;
    DescriptionError when the robot cannot have presliding, a warm-up or load friction there.
    """
    numbers = np.asarray(values, dtype=float)
    names = list(parameter_names)
    if numbers.shape != (len(names),):
        raise ModelFileError(f'{len(names)} parameter names, but values of shape {numbers.shape}')
    if len(set(names)) < len(names):
        twice = next(entry for entry in names if names.count(entry) > 1)
        raise ModelFileError(f"parameter '{twice}' is given twice")
    by_name = dict(zip(names, numbers.tolist(), strict=True))
    given = by_name
    by_name, asymmetry = _with_mean_friction(model, given)
    names = list(by_name)
    known = set(model.parameter_names)
    beyond = [entry for entry in names if entry not in known and is_friction_law_parameter(entry)]
    held = [entry for entry in names if is_drive_entry(entry)]
    own = [f'{joint}.rotor' for joint in model.actuated_joints]
    rotors = [entry for entry in own if entry in names and entry not in known]
    rubbing = [each for each in names if each.rpartition('.')[2] == LOAD]
    loads = [n for n in rubbing if n.rpartition('.')[0] in joint_frictions(model.description)]
    for entry in names:
        if entry not in known and entry not in (*beyond, *held, *rotors, *loads):
            robot = model.description.name
            raise ModelFileError(f"parameter '{entry}' is unknown to robot '{robot}'")
    missing = [entry for entry in model.parameter_names if entry not in by_name]
    if missing:
        raise ModelFileError(f"parameter '{missing[0]}' is missing ({len(missing)} in all)")
    for entry in (*model.parameter_names, *rotors, *loads):
        if not np.isfinite(by_name[entry]):
            raise ModelFileError(f"parameter '{entry}' is not finite")
    positive = model.parameter_mask('friction') | model.parameter_mask('rotor')
    for i, entry in enumerate(model.parameter_names):
        if (entry.endswith('.m') or positive[i]) and by_name[entry] < LEAST:
            raise NotPhysicalError(f"parameter '{entry}' is negative: {by_name[entry]:.6g}")
    for entry in (*rotors, *loads):
        if by_name[entry] < LEAST:
            raise NotPhysicalError(f"parameter '{entry}' is negative: {by_name[entry]:.6g}")
    _check_bodies(by_name)
    values = np.array([by_name[entry] for entry in model.parameter_names])
    found = _masked(model, name, values, (rigid_body, friction, rotor))
    if rotors and rotor:
        inertias = [by_name.get(f'{joint}.rotor', 0.0) for joint in model.actuated_joints]
        is_beyond = [f'{joint}.rotor' in rotors for joint in model.actuated_joints]
        found = replace(found, rotors=np.where(is_beyond, inertias, 0.0))
    if asymmetry.any() and friction:
        found = replace(found, asymmetry=asymmetry)
    if loads and friction:
        found = _with_loads(found, model, loads, by_name)
    if held and friction:
        found = _with_drives(found, model, {entry: by_name[entry] for entry in held})
    if not beyond:
        return found
    law = DriveFriction.from_parameters(
        {entry: by_name[entry] for entry in beyond},
        model.actuated_joints,
        model.description.transition_velocity,
    )
    _check_friction(law, given)
    return replace(found, friction=law) if friction else found


def _with_mean_friction(
    model: ClosedChainModel, values: dict[str, float]
) -> tuple[dict[str, float], Floats]:
    """Values with one Coulomb friction of each drive of which the model has one.

    And half the differences (n_a,) by direction. ModelFileError where one is not finite,
    NotPhysicalError where it is negative.
    """
    found = dict(values)
    asymmetry = np.zeros(model.n_a)
    for axis, joint in enumerate(model.actuated_joints):
        pair = [f'{joint}.coulomb_positive', f'{joint}.coulomb_negative']
        one = f'{joint}.coulomb'
        if one not in model.parameter_names or not set(pair) <= set(values) or one in values:
            continue
        forwards, backwards = (found.pop(each) for each in pair)
        for name, value in zip(pair, (forwards, backwards), strict=True):
            if not np.isfinite(value):
                raise ModelFileError(f"parameter '{name}' is not finite")
            if value < LEAST:
                raise NotPhysicalError(f"parameter '{name}' is negative: {value:.6g}")
        found[one] = 0.5 * (forwards + backwards)
        asymmetry[axis] = 0.5 * (forwards - backwards)
    return found, asymmetry


def _with_drives(
    found: Feedforward, model: ClosedChainModel, entries: dict[str, float]
) -> Feedforward:
    """Take all forces of drives by position from these entries, none from the parameters."""
    constants = drive_constants(model.description.drive_terms)
    own = {name: value for name, value in constants.items() if name not in entries}
    terms = terms_of_entries({**own, **entries}, model.description.driven_joints)
    kept = found.parameters
    if kept is not None:
        kept = np.where(model.parameter_mask('drive'), 0.0, kept)
        kept.setflags(write=False)
    forces = DriveForces.of(model.description, terms)
    states = DriveStates.of(model.description, model.parameter_names, terms) or None
    return replace(found, parameters=kept, drives=forces, states=states)


def _with_loads(
    found: Feedforward, model: ClosedChainModel, entries: list[str], values: dict[str, float]
) -> Feedforward:
    """Take load friction from these entries, none from the parameters, and loads of the values."""
    kept = np.array(found.parameters)
    kept[[name in entries for name in model.parameter_names]] = 0.0
    kept.setflags(write=False)
    if any(entry not in model.parameter_names for entry in entries):
        model = model.with_load_friction([entry.rpartition('.')[0] for entry in entries])
    loaded = model.with_load_parameters([values[name] for name in model.parameter_names])
    return replace(found, parameters=kept, loaded=loaded)


def _check_friction(friction: DriveFriction, linear: dict[str, float]) -> None:
    """Refuse friction that can drive a joint: more negative than Coulomb friction is large."""
    for entry, value in zip(friction.names, friction.values.tolist(), strict=True):
        joint, _, field = entry.rpartition('.')
        if field not in LARGEST:
            continue
        held = [
            linear[f'{joint}.{kind}']
            for kind in ('coulomb', 'coulomb_positive', 'coulomb_negative')
            if f'{joint}.{kind}' in linear
        ]
        if LARGEST[field] * value < LEAST - min(held, default=0.0) - INDEFINITE * abs(value):
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
        if not eigenvalues[0] >= LEAST - INDEFINITE * abs(eigenvalues[-1]):
            raise NotPhysicalError(
                f"body '{body}': no distribution of mass has these inertial parameters "
                f'(least eigenvalue of the pseudo-inertia {eigenvalues[0]:.6g})'
            )


def _masked(
    model: ClosedChainModel, name: str, parameters: ArrayLike, parts: tuple[bool, bool, bool]
) -> Feedforward:
    """Keep the parameters of those `KINDS` that are asked for; forces of drives with friction."""
    if not any(parts):
        return no_feedforward()
    kept = np.array(parameters, dtype=float)
    left_out = []
    for kind, part in zip(KINDS, parts, strict=True):
        mask = model.parameter_mask(kind)
        if kind == 'friction':
            mask = mask | model.parameter_mask('drive')
        if not part and mask.any():
            kept[mask] = 0.0
            left_out.append(kind)
    kept.setflags(write=False)
    suffix = ''.join(f' without {kind.replace("_", " ")}' for kind in left_out)
    return Feedforward(name + suffix, kept, states=model.drive_states or None)
