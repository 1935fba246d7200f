"""Positions, rates and efforts of all drives, of the motors and of the joints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pkm_description.description import (
    MOTOR,
    Array,
    Description,
    EncoderAndDrive,
    Transmission,
    frozen,
)


@dataclass(frozen=True)
class MotorSide:
    """Motors of a robot in the order of its actuated joints.

    A joint without a transmission is its own motor, of the same name. Arrays are (..., n_a), one
    column a motor or an actuated joint. Where numbers are nan only what needs them is nan. Of a
    machine with a calibration, motors are what its encoders and drives say of them.

    Attributes
    ----------
    joints, motors
        Names, (n_a,) each.
    matrix, inverse
        T and T^-1 (n_a, n_a): q_joint = T q_motor + offset, tau_motor = drives T^T tau_joint.
    offset
        Joint positions (n_a,) [m, rad] where the motors are at zero.
    force_constants
        Of the motors (n_a,) [N m/A], nan where none is known.
    drives
        Signs (n_a,), -1 where the force of a motor counts the other way than its position.
    """

    joints: tuple[str, ...]
    motors: tuple[str, ...]
    matrix: Array
    inverse: Array
    offset: Array
    force_constants: Array
    drives: Array = field(default_factory=lambda: frozen(1.0))

    @classmethod
    def of(
        cls, description: Description, transmissions: Sequence[Transmission] | None = None
    ) -> MotorSide:
        """Put transmissions together, by default all of the robot; without its calibration."""
        joints = description.actuated_joints
        motors, count = list(joints), len(joints)
        matrix, inverse, offset = np.eye(count), np.eye(count), np.zeros(count)
        constants = np.array([item.force_constant for item in description.actuators])
        given_ones = description.transmissions if transmissions is None else transmissions
        for each in given_ones:
            places = [joints.index(name) for name in each.joints]
            block = np.ix_(places, places)
            matrix[block], inverse[block], offset[places] = each.matrix, each.inverse, each.offset
            own = np.abs(np.diag(each.matrix)) * constants[places]
            given = np.array([motor.force_constant for motor in each.motors])
            constants[places] = np.where(each.coupled, given, own)
            for place, motor in zip(places, each.motors, strict=True):
                motors[place] = motor.name
        arrays = (matrix, inverse, offset, constants)
        return cls(tuple(joints), tuple(motors), *(frozen(each) for each in arrays))

    def calibrated(self, calibration: Mapping[str, EncoderAndDrive]) -> MotorSide:
        """Return what a machine says of its motors, of such encoders and drives by motor."""
        own = [calibration.get(name, EncoderAndDrive()) for name in self.motors]
        encoders = np.array([each.encoder for each in own], dtype=float)
        zeros = np.array([each.offset for each in own])
        return replace(
            self,
            matrix=frozen(self.matrix * encoders),
            inverse=frozen(self.inverse * encoders[:, None]),
            offset=frozen(self.joint_positions(zeros)),
            drives=frozen(self.drives * encoders * [each.drive for each in own]),
        )

    @cached_property
    def coupled(self) -> NDArray[np.bool_]:
        """Which joints (n_a,) share motors with other joints."""
        apart = (self.matrix != 0.0) & ~np.eye(len(self.matrix), dtype=bool)
        return np.asarray(apart.any(axis=0) | apart.any(axis=1))

    def named_joints(self, motor_positions: Mapping[str, float]) -> dict[str, float]:
        """Positions by joint [m, rad] from those by motor [rad], without what is not known."""
        values = np.array([motor_positions.get(name, np.nan) for name in self.motors])
        by_joint = zip(self.joints, self.joint_positions(values).tolist(), strict=True)
        return {name: value for name, value in by_joint if np.isfinite(value)}

    def motor_currents(self, joint_currents: Array, joint_constants: Array) -> Array:
        """Currents of the motors [A] of those that joints of these force constants would have.

        A constant that is nan counts as one: its current is a force.
        """
        efforts = self.motor_efforts(joint_currents * _or_one(joint_constants))
        return np.asarray(efforts / _or_one(self.force_constants))

    def joint_positions(self, motor_positions: Array) -> Array:
        """Positions of the joints [m, rad] from those of the motors [rad]."""
        return _product(motor_positions, self.matrix) + self.offset

    def joint_rates(self, motor_rates: Array) -> Array:
        """Velocities or accelerations of the joints from those of the motors."""
        return _product(motor_rates, self.matrix)

    def joint_efforts(self, motor_efforts: Array) -> Array:
        """Forces at the joints [N, N m] from torques of the motors [N m]."""
        return _product(motor_efforts * self.drives, self.inverse.T)

    def motor_positions(self, joint_positions: Array) -> Array:
        """Positions of the motors [rad] from those of the joints [m, rad]."""
        return _product(joint_positions - self.offset, self.inverse)

    def motor_rates(self, joint_rates: Array) -> Array:
        """Velocities or accelerations of the motors from those of the joints."""
        return _product(joint_rates, self.inverse)

    def motor_efforts(self, joint_efforts: Array) -> Array:
        """Torques of the motors [N m] from forces at the joints [N, N m]."""
        return _product(joint_efforts, self.matrix.T) * self.drives


def spoken_by(description: Description) -> MotorSide | None:
    """What the topics of a robot are of; None where they are of its joints as described."""
    return side_of(description, description.side, description.calibration)


def described_side(description: Description) -> MotorSide | None:
    """The same without the calibration of a machine."""
    return side_of(description, description.side, {})


def side_of(
    description: Description, side: str, calibration: Mapping[str, EncoderAndDrive]
) -> MotorSide | None:
    """What data of this side, of a machine with this calibration, are of; None: of the joints."""
    if side != MOTOR and not calibration:
        return None
    motors = MotorSide.of(description, None if side == MOTOR else ())
    return motors.calibrated(calibration) if calibration else motors


def _or_one(constants: Array) -> Array:
    return np.where(np.isfinite(constants), constants, 1.0)


def _product(values: Array, matrix: Array) -> Array:
    """Values matrix^T, of entries other than zero alone: a nan elsewhere does no harm."""
    columns = []
    for row in matrix:
        used = np.flatnonzero(row)
        columns.append(values[..., used] @ row[used])
    return np.stack(columns, axis=-1)
