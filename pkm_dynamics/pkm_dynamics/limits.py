"""The limits of a robot and the margins that a block of motion keeps to them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pkm_dynamics.conditioning import jacobian_condition
from pkm_dynamics.extrema import Extremum, largest, smallest
from pkm_dynamics.margins import Margin

Array = NDArray[np.float64]
CONDITION_SAMPLES = 512  # per block: the conditioning changes slowly


class Limits:
    """The limits of one robot, safety margins included."""

    def __init__(
        self,
        model: Any,
        force_margin: float,
        velocity_margin: float,
        stroke_margin: float,
        condition_limit: float | None,
    ) -> None:
        self.model = model
        self.condition_limit = condition_limit
        actuated = set(model.actuated_joints)
        span = np.asarray(model.upper) - np.asarray(model.lower)
        inset = stroke_margin * np.where(np.isfinite(span), span, 0.0)
        self.lower, self.upper = model.lower + inset, model.upper - inset
        self.velocity = np.asarray(model.velocity_limit) * (1.0 - velocity_margin)
        self.force = np.asarray(model.force_limit) * (1.0 - force_margin)
        joints = [model.description.joint(name) for name in model.joint_names]
        self.units = {j.name: 'm' if j.type == 'prismatic' else 'rad' for j in joints}
        self.passive = [i for i, j in enumerate(joints) if j.name not in actuated]
        limits = [joints[i].limit for i in self.passive]
        ends = np.array([[limit.lower, limit.upper] for limit in limits]).reshape(-1, 2)
        span = ends[:, 1] - ends[:, 0]
        inset = stroke_margin * np.where(np.isfinite(span), span, 0.0)
        self.passive_lower, self.passive_upper = ends[:, 0] + inset, ends[:, 1] - inset
        self.passive_velocity = np.array([limit.velocity for limit in limits]) * (
            1.0 - velocity_margin
        )
        self.passive_names = [joints[i].name for i in self.passive]
        workspace = model.description.sidecar.get('workspace') or {}
        lower = np.array(workspace.get('position_lower', [-np.inf] * 3), dtype=float)
        upper = np.array(workspace.get('position_upper', [np.inf] * 3), dtype=float)
        span = upper - lower
        inset = stroke_margin * np.where(np.isfinite(span), span, 0.0)
        self.box = (lower + inset, upper - inset)
        self.tilt = float(workspace.get('tilt', np.inf)) * (1.0 - stroke_margin)

    def margins(self, motion: Any, time: Array, parameters: Array | None) -> list[Margin]:
        """Return the worst margins of one block of samples, but for those of the pose."""
        model, names = self.model, list(self.model.actuated_joints)
        motion = model.with_joint_states(motion)
        units = [self.units[name] for name in names]
        actuators, joints = model.actuator_states(motion), model.joint_states(motion)
        forces = model.inverse_dynamics(motion, parameters)
        found = self.stroke_margins(actuators.positions, time)
        speed = [f'{unit}/s' for unit in units]
        found += _magnitude('velocity', actuators.velocities, self.velocity, names, speed, time)
        effort = ['N' if unit == 'm' else 'N m' for unit in units]
        found += _magnitude('force', forces, self.force, names, effort, time)
        passive, units = self.passive_names, [self.units[name] for name in self.passive_names]
        found += _range(
            'joint',
            joints.positions[:, self.passive],
            (self.passive_lower, self.passive_upper),
            passive,
            units,
            time,
        )
        speed = [f'{unit}/s' for unit in units]
        rates = joints.velocities[:, self.passive]
        found += _magnitude('joint_velocity', rates, self.passive_velocity, passive, speed, time)
        return found + self._conditioning(motion, time)

    def stroke_margins(self, positions: Array, time: Array) -> list[Margin]:
        """Return the worst margins of actuator positions (N, n_a)."""
        names = list(self.model.actuated_joints)
        units = [self.units[name] for name in names]
        return _range('stroke', positions, (self.lower, self.upper), names, units, time)

    def pose_margins(self, motion: Any, time: Array) -> list[Margin]:
        """Return the worst margins of the platform's pose, which need no kinematics."""
        found = _range('workspace', motion.position, self.box, ['x', 'y', 'z'], ['m'] * 3, time)
        tilt = np.arccos(np.clip(np.asarray(motion.rotation)[:, 2, 2], -1.0, 1.0))[:, None]
        upper = largest(tilt, np.array([self.tilt]), time)
        return found + _keep('tilt', (upper,), ['platform'], ['rad'])

    def _conditioning(self, motion: Any, time: Array) -> list[Margin]:
        every = max(len(time) // CONDITION_SAMPLES, 1)
        condition = None
        if self.condition_limit is not None:
            condition = jacobian_condition(self.model, motion[::every])
        if condition is None:
            return []
        limit = np.array([self.condition_limit])
        closest = largest(condition[:, None], limit, time[::every])
        return _keep('conditioning', (closest,), ['platform'], [''])


def _range(
    constraint: str,
    values: Array,
    ends: tuple[Array, Array],
    names: list[str],
    units: list[str],
    time: Array,
) -> list[Margin]:
    below, above = smallest(values, ends[0], time), largest(values, ends[1], time)
    return _keep(constraint, (below, above), names, units)


def _magnitude(
    constraint: str, values: Array, limit: Array, names: list[str], units: list[str], time: Array
) -> list[Margin]:
    return _keep(
        constraint, (largest(values, limit, time), smallest(values, -limit, time)), names, units
    )


def _keep(
    constraint: str, extrema: tuple[Extremum | None, ...], names: list[str], units: list[str]
) -> list[Margin]:
    return [
        Margin(constraint, e.margin, e.value, e.limit, names[e.column], e.time, units[e.column])
        for e in extrema
        if e is not None
    ]
