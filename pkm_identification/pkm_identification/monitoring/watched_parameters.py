"""Parameters of a robot that may change while it works, as columns of the regressor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from pkm_description.payload import STANDARD
from pkm_dynamics import ClosedChainModel, PlatformMotion
from pkm_identification.arrays import Array

FORCE_SCALE, ENCODER = 'force_scale', 'encoder_offset'  # of a drive: `<joint>.force_scale`
ROTOR = 'rotor'  # `<joint>.rotor`, inertia that turns or moves with a drive
# of a joint; Coulomb friction by direction counts by halves
FRICTION = ('coulomb', 'coulomb_positive', 'coulomb_negative', 'viscous')
# [m, rad] by which an encoder is moved for the derivative: far above rounding, far below what
# changes the inertia
STEP = 1e-6


@dataclass(frozen=True)
class WatchedParameters:
    """Base parameters of one design, and what single joints, drives and the platform may add.

    Where they are no base parameters alone, the ten standard parameters of the platform, to which
    a payload adds, and friction and rotor of every joint follow; then a factor of all forces of
    each drive, less one, and an offset of each encoder [m, rad], true less measured position. They
    say the same in part: an observation tells which sums it knows.

    Attributes
    ----------
    model
        The mechanism.
    names
        Of all watched parameters (w).
    columns
        Standard parameters of the linear ones (n_p, w - 2 n_a).
    values
        Base parameters (r,) with which drives and encoders are seen.
    index
        Where the standard parameters of platform, friction and rotors stand, by their names, and
        factors and offsets of the drives, `<joint>.force_scale` and `<joint>.encoder_offset`.
    """

    model: ClosedChainModel
    names: list[str]
    columns: Array
    values: Array
    index: Mapping[str, int]

    @classmethod
    def of(cls, model: ClosedChainModel, values: Array | None = None) -> WatchedParameters:
        """Watched parameters near base parameters (r,), by default the nominal ones."""
        base = model.base_parameters(shared=True, reduced=True)
        standard = list(model.parameter_names)
        link = model.description.platform
        own = [name for name in (f'{link}.{each}' for each in STANDARD) if name in standard]
        own += [name for name in standard if name.rpartition('.')[2] in (*FRICTION, ROTOR)]
        alone = {
            standard[int(np.argmax(np.abs(column)))]: number
            for number, column in enumerate(base.columns.T)
            if np.count_nonzero(column) == 1
        }
        added = [name for name in own if name not in alone]
        columns = np.eye(len(standard))[:, [standard.index(name) for name in added]]
        drives = [f'{joint}.{kind}' for kind in (FORCE_SCALE, ENCODER)
                  for joint in model.actuated_joints]  # fmt: skip
        index = {name: alone[name] for name in own if name in alone}
        index |= {name: base.rank + k for k, name in enumerate((*added, *drives))}
        return cls(
            model,
            [*base.names, *(f'{name} alone' for name in added), *drives],
            np.concatenate([base.columns, columns], axis=1),
            base.values() if values is None else np.asarray(values, dtype=float),
            index,
        )

    @property
    def standard_values(self) -> Array:
        """Standard parameters (n_p,) with the forces of the values."""
        return np.asarray(self.columns[:, : len(self.values)] @ self.values)

    def regressor(self, motion: PlatformMotion) -> Array:
        """Return the force per watched parameter (N, n_a, w)."""
        linear = np.asarray(self.model.regressor(motion)) @ self.columns
        forces = linear[..., : len(self.values)] @ self.values
        axes = forces.shape[1]
        # true forces are 1 + e times the told ones: told ones are those of the motion over 1 + e
        scales = -forces[:, :, None] * np.eye(axes)
        return np.concatenate([linear, scales, self._of_encoders(motion, forces)], axis=2)

    def _of_encoders(self, motion: PlatformMotion, forces: Array) -> Array:
        """Change (N, n_a, n_a) of the forces as told positions are off."""
        model = self.model
        states = model.actuator_states(motion)
        parameters, axes = self.standard_values, forces.shape[1]
        changes = np.empty((*forces.shape, axes))
        for axis in range(axes):
            moved = states.positions + STEP * np.eye(axes)[axis]
            there = model.motion_from_actuators(moved, states.velocities, states.accelerations)
            changes[..., axis] = (model.inverse_dynamics(there, parameters) - forces) / STEP
        return changes
