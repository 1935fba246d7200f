"""The robot that is recorded: near the described one, and known to whoever made it alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pkm_bringup.public_data.dataset_cases import drawing
from pkm_dynamics import ClosedChainModel, PlatformMotion
from pkm_dynamics.friction_laws import LINEAR, DriveFriction
from pkm_identification.arrays import Array

BODIES = 0.2  # largest relative error of the described bodies and rotors, as of CAD data
FRICTION = 0.4  # of the described friction, which nobody computes
BREAK_AWAY = (0.2, 0.5)  # of the Coulomb friction, beyond it
STRIBECK = 5.0  # speed at which that has decayed to 1/e, in speeds of the Coulomb transition
COGGING = (0.1, 0.4)  # of the Coulomb friction, its amplitude
WAVES = 7.0  # of the cogging along the stroke, as the pole pitch of PaLiDA's motors
DIGITS = 9  # the true numbers have so many: what is written down is what was simulated
BODY_FIELDS = ('m', 'mx', 'my', 'mz', 'Ixx', 'Ixy', 'Ixz', 'Iyy', 'Iyz', 'Izz')


@dataclass(frozen=True)
class DriveEffects:
    """Forces of the drives that no model with Coulomb and viscous friction has."""

    break_away: Array  # (n_a,) [N, N m], beyond the Coulomb friction
    velocity: float  # [m/s, rad/s]
    transition_velocity: float  # [m/s, rad/s]
    amplitude: Array  # of the cogging (n_a,) [N, N m]
    period: Array  # (n_a,) [m, rad]
    phase: Array  # (n_a,) [rad]

    def forces(self, joints: Sequence[str], positions: Array, velocities: Array) -> Array:
        """Forces (N, n_a) [N, N m] that the drives need besides: friction less cogging."""
        laws = tuple('stribeck' if each else LINEAR for each in self.break_away)
        values = [[each, self.velocity, 1.0] for each in self.break_away if each]
        friction = DriveFriction(
            tuple(joints), laws, np.ravel(values), self.transition_velocity
        ).forces(velocities)
        cogging = self.amplitude * np.sin(2.0 * np.pi * positions / self.period + self.phase)
        return np.asarray(friction - cogging)

    def to_dict(self, joints: Sequence[str]) -> dict[str, Any]:
        """Return plain values, by joint."""
        each = {
            'stribeck_force': self.break_away,
            'cogging_amplitude': self.amplitude,
            'cogging_period': self.period,
            'cogging_phase': self.phase,
        }
        return {
            'stribeck_velocity': self.velocity,
            'stribeck_exponent': 1.0,
            'transition_velocity': self.transition_velocity,
            **{name: dict(zip(joints, row.tolist(), strict=True)) for name, row in each.items()},
        }


@dataclass(frozen=True)
class TrueRobot:
    """Parameters and effects of the robot that is recorded."""

    model: ClosedChainModel  # as described
    parameters: Array  # standard parameters (n_p,) in the order of the model
    effects: DriveEffects

    @classmethod
    def drawn(cls, model: ClosedChainModel, seed: int) -> TrueRobot:
        """Draw a robot about the described one.

        All parameters of a body have one factor, so that it stays a body and zeros stay zeros;
        links and joints of one design have the same.
        """
        description = model.description
        design = {name: each[0] for each in description.same_design for name in each}

        def factor(parameter: str) -> float:
            owner, _, field = parameter.rpartition('.')
            body = field in BODY_FIELDS
            largest = BODIES if body or field == 'rotor' else FRICTION
            what = 'body' if body else field
            random = drawing(seed, f'{description.name}/{design.get(owner, owner)}.{what}')
            return 1.0 + float(random.uniform(-largest, largest))

        factors = [factor(name) for name in model.parameter_names]
        parameters = _written(np.asarray(model.nominal_parameters) * factors)
        random = drawing(seed, f'{description.name}/effects')
        count = len(model.actuated_joints)
        coulomb = dict(zip(model.parameter_names, parameters.tolist(), strict=True))
        levels = np.array(
            [
                coulomb.get(f'{joint}.coulomb', coulomb.get(f'{joint}.coulomb_positive', 0.0))
                for joint in model.actuated_joints
            ]
        )
        effects = DriveEffects(
            _written(levels * random.uniform(*BREAK_AWAY, count)),
            STRIBECK * description.transition_velocity,
            description.transition_velocity,
            _written(levels * random.uniform(*COGGING, count)),
            _written((model.upper - model.lower) / WAVES),
            _written(random.uniform(0.0, 2.0 * np.pi, count)),
        )
        return cls(model, parameters, effects)

    def forces(self, motion: PlatformMotion, effects: bool) -> Array:
        """Forces (N, n_a) [N, N m] of a motion, without noise."""
        found = self.model.inverse_dynamics(motion, self.parameters)
        if effects:
            states = self.model.actuator_states(motion)
            joints = self.model.actuated_joints
            found = found + self.effects.forces(joints, states.positions, states.velocities)
        return np.asarray(found)


def _written(values: Array) -> Array:
    """Numbers as they are written down."""
    return np.array([float(f'{value:.{DIGITS}g}') for value in np.asarray(values)])
