"""From forces of redundant drives to the generalised forces at the coordinates.

Forces tau of all drives do the work of Q = J^T tau at the coordinates, with the rates J of the
drives by those of the coordinates where the forces were measured. What the drives hold against
each other is not in Q: neither a preload nor an error that acts like one is seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from pkm_description.errors import DatasetError, KinematicsError
from pkm_dynamics.drive_distribution import DriveDistribution
from pkm_identification.arrays import Array, Mask
from pkm_identification.datasets.source import Block, Source
from pkm_identification.datasets.stored_array import in_parts, stored
from pkm_identification.datasets.truth import Truth
from pkm_identification.quality.report import Defect


@dataclass(frozen=True)
class CoordinateForces:
    """What a recording of all drives of a robot says at its coordinates.

    Positions are those of the coordinates alone. `delay` [s] is from a position's stamp to that of
    the forces in its row, `name` what messages call the recording.
    """

    drives: DriveDistribution
    delay: float
    name: str

    def source(self, source: Source) -> Source:
        """Return the samples at the coordinates."""
        return source.remade(self._block, self.drives.core.n_a)

    def truth(self, truth: Truth) -> Truth:
        """Return the noise-free signals at the coordinates."""
        own = self.drives.coordinates
        parts = zip(in_parts(truth.positions), in_parts(truth.forces), strict=True)
        forces = stored(self._forces(q[:, own], tau) for q, tau in parts)
        return Truth(truth.time, truth.positions[:, own], truth.velocities[:, own], forces)

    def defects(self, defects: Sequence[Defect]) -> tuple[Defect, ...]:
        """Return what is wrong: forces of a redundant drive count in all coordinates."""
        names = self.drives.core.actuated_joints
        found = []
        for each in defects:
            if not each.joint or each.joint in names:
                found.append(each)
            elif each.signal != 'position':
                found += [replace(each, joint=joint) for joint in names]
        return tuple(found)

    def _block(self, block: Block) -> Block:
        own, efforts = self.drives.coordinates, block.efforts
        assert efforts is not None
        positions = block.positions[:, own]
        known = None if block.position_valid is None else block.position_valid[:, own]
        forces = self._forces(self._placed(block.time, positions, known), efforts)
        valid = None
        if known is not None or block.effort_valid is not None:
            all_known = True if known is None else known.all(axis=1)
            measured = True if block.effort_valid is None else block.effort_valid.all(axis=1)
            both = np.broadcast_to(all_known & measured, (len(efforts),))
            valid = np.repeat(both[:, None], len(own), 1)
        velocities = None if block.velocities is None else block.velocities[:, own]
        return Block(block.time, positions, forces, None, known, valid, velocities)

    def _placed(self, time: Array, positions: Array, valid: Mask | None) -> Array:
        """Positions (k, n_a) when the forces were measured, linear between those that count."""
        columns = []
        for i, column in enumerate(positions.T):
            counts = np.ones(len(column), dtype=bool) if valid is None else valid[:, i]
            counts = counts & np.isfinite(column)
            if not counts.any():
                joint = self.drives.core.actuated_joints[i]
                raise DatasetError(f"{self.name}: no position of '{joint}' may be used")
            known = _extended(time[counts], column[counts], abs(self.delay))
            columns.append(np.interp(time + self.delay, *known))
        return np.stack(columns, axis=1)

    def _forces(self, positions: Array, forces: Array) -> Array:
        """Generalised forces (k, n_a) of forces (k, n_d) at positions (k, n_a)."""
        still = np.zeros(positions.shape)
        try:
            motion = self.drives.core.motion_from_actuators(positions, still, still)
        except KinematicsError as error:
            raise DatasetError(
                f'{self.name}: forces of redundant drives need positions at which the loops close: '
                f'{error}'
            ) from error
        # forces that count nothing may be no numbers
        return np.einsum('kdi,kd->ki', self.drives.drive_jacobian(motion), forces)


def _extended(time: Array, values: Array, span: float) -> tuple[Array, Array]:
    """Samples (k,) with a straight line of so many seconds before and after them."""
    if len(time) < 2 or span == 0.0:
        return time, values
    first, last = ((values[k + 1] - values[k]) / (time[k + 1] - time[k]) for k in (0, -2))
    more = np.array([values[0] - first * span, values[-1] + last * span])
    ends = np.array([time[0] - span, time[-1] + span])
    return np.concatenate([ends[:1], time, ends[1:]]), np.concatenate([more[:1], values, more[1:]])
