"""From what the motors say to what their joints say: samples, truth, defects, constants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pkm_description import MotorSide
from pkm_identification.arrays import Mask
from pkm_identification.datasets.source import Block, Source
from pkm_identification.datasets.stored_array import in_parts, stored
from pkm_identification.datasets.truth import Truth
from pkm_identification.quality.report import Defect


@dataclass(frozen=True)
class JointSide:
    """What a recording of motors, its columns in the order of `motors`, says of the joints.

    Where joints are coupled, currents of their motors are none of a joint: they must have become
    efforts before.
    """

    motors: MotorSide

    def source(self, source: Source) -> Source:
        """Return the samples of the joints."""
        return source.remade(self._block, len(self.motors.joints))

    def truth(self, truth: Truth) -> Truth:
        """Return the noise-free signals of the joints."""
        motors = self.motors
        positions, velocities, forces = (
            stored(change(part) for part in in_parts(values))
            for change, values in (
                (motors.joint_positions, truth.positions),
                (motors.joint_rates, truth.velocities),
                (motors.joint_efforts, truth.forces),
            )
        )
        return Truth(truth.time, positions, velocities, forces)

    def constants(self, values: Mapping[str, float]) -> dict[str, float]:
        """Return force constants [N/A, N m/A] of the joints from those of their own motors."""
        motors = self.motors
        sizes = zip(motors.motors, motors.joints, np.abs(np.diag(motors.inverse)), strict=True)
        return {joint: values[motor] * size for motor, joint, size in sizes if motor in values}

    def defects(self, defects: Sequence[Defect]) -> tuple[Defect, ...]:
        """Return what is wrong with a motor for each joint that needs it."""
        motors = self.motors
        found = []
        for each in defects:
            if each.joint not in motors.motors:
                found.append(each)
                continue
            needed = self._needs(each.signal != 'position')[:, motors.motors.index(each.joint)]
            joints = np.array(motors.joints)[needed].tolist()
            found += [replace(each, joint=joint) for joint in joints]
        return tuple(found)

    def _needs(self, efforts: bool) -> Mask:
        """Which motors (second axis) a joint's effort or position depends on (n, n)."""
        return np.asarray((self.motors.inverse.T if efforts else self.motors.matrix) != 0.0)

    def _block(self, block: Block) -> Block:
        motors = self.motors
        currents, efforts, velocities = block.currents, block.efforts, block.velocities
        signs = motors.drives * np.sign(np.diag(motors.matrix))
        return Block(
            block.time,
            motors.joint_positions(block.positions),
            None if efforts is None else motors.joint_efforts(efforts),
            None if currents is None else currents * signs,
            _all_valid(block.position_valid, self._needs(efforts=False)),
            _all_valid(block.effort_valid, self._needs(efforts=True)),
            None if velocities is None else motors.joint_rates(velocities),
        )


def _all_valid(valid: Mask | None, needs: Mask) -> Mask | None:
    """Where all motors (k, n) that a joint needs are valid."""
    if valid is None:
        return None
    return np.stack([valid[:, row].all(axis=1) for row in needs], axis=1)
