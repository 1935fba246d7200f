"""Open-loop rollout: where an identified model goes under the forces that were applied.

From measured states of a recording the equations of motion are integrated with the recorded
forces and nothing that corrects; what is between the model and the robot grows with time.
All starts are integrated side by side.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pkm_description.errors import EstimationError, KinematicsError
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.equations.forward_dynamics import actuator_state, solve_mass
from pkm_identification.arrays import Array, Indices, Mask
from pkm_identification.datasets import Recording
from pkm_identification.signals import Signals
from pkm_identification.signals.bands import FilterBand, HarmonicBand

Signal = Callable[[Array], Array]

HORIZONS = (0.1, 0.5, 2.0)  # [s]
STEP = 2e-3  # [s]
STABLE = 2.0  # step times the fastest rate, of the Runge-Kutta method of order 4 with margin
BEYOND = 0.05  # of the stroke: a motion that leaves it further has gone astray
STARTS = 8
SLOW = 1e-3  # [m/s, rad/s] velocity that the damping near standstill is measured with


@dataclass(frozen=True)
class Recorded:
    """States and forces of a recording as functions of time."""

    positions: Signal  # functions of times (M,) [s] that return (M, n_a)
    velocities: Signal
    forces: Signal
    starts: Array  # (M,) [s]
    source: str  # of the forces


def recorded_motion(
    data: Recording, signals: Signals, longest: float, starts: int = STARTS
) -> Recorded:
    """States and forces of a recording: noise-free ones where it has them.

    Averaged periods go on for ever; other recordings must be longer than the horizon, and fit into
    memory.
    """
    if signals.is_long:
        raise EstimationError(
            'a rollout needs a recording that fits into memory: give a part of it'
        )
    truth = None if data.is_long else data.truth  # of a long one, the averaged period is taken
    if truth is not None and truth.time[-1] - truth.time[0] > longest:
        series = (truth.positions, truth.velocities, truth.forces)
        positions, velocities, forces = (_between(truth.time, values) for values in series)
        first, last, source = float(truth.time[0]), float(truth.time[-1]) - longest, 'noise-free'
    else:
        series = (signals.positions, signals.velocities, signals.forces)
        source = 'measured'
        if isinstance(signals.band, HarmonicBand):
            period = signals.band.period
            positions, velocities, forces = (
                _periodic(signals.time, values, period) for values in series
            )
            first = float(signals.time[0])
            last = first + period * (starts - 1) / starts
        else:
            positions, velocities, forces = (_between(signals.time, values) for values in series)
            edge = signals.band.trim if isinstance(signals.band, FilterBand) else 0
            first, last = float(signals.time[edge]), float(signals.time[-1 - edge]) - longest
    if last < first:
        raise EstimationError(
            f'the recording is shorter than the rollout of {longest:g} s: give shorter horizons'
        )
    return Recorded(positions, velocities, forces, np.linspace(first, last, starts), source)


def _between(time: Array, values: Array) -> Signal:
    """Linear between samples (n, n_a)."""
    return lambda at: np.column_stack([np.interp(at, time, column) for column in values.T])


def _periodic(time: Array, values: Array, period: float) -> Signal:
    closed = _between(np.append(time, time[0] + period), np.concatenate([values, values[:1]]))
    return lambda at: closed(time[0] + np.mod(at - time[0], period))


@dataclass(frozen=True)
class Rollout:
    """Position errors of an open-loop rollout."""

    horizons: Array  # (h,) [s]
    starts: int  # number of starts
    reached: Indices  # starts that came so far inside the strokes (h,), the others went astray
    # root mean square position error of these (h, n_a) [m, rad]; nan where none came
    actuators: Array
    platform: Array  # root mean square distance (h,) [m] of the platform's positions
    largest: Array  # largest position error of an actuator (h,) [m, rad]
    forces: str  # `noise-free` of a simulated robot, or `measured`
    # the same with the true parameters, where they are known: what is not due to the estimate
    floor: Rollout | None = None


def check_horizons(horizons: ArrayLike) -> Array:
    """Return increasing positive horizons (h,) [s], or raise `EstimationError`."""
    values = np.atleast_1d(np.asarray(horizons, dtype=float))
    if values.ndim != 1 or not values.size or not np.isfinite(values).all() or values.min() <= 0:
        raise EstimationError(f'rollout horizons must be positive times [s], got {horizons!r}')
    return np.unique(values)


def roll_out(
    model: ClosedChainModel,
    parameters: Array,
    recorded: Recorded,
    horizons: ArrayLike = HORIZONS,
    step: float = STEP,
    drive_friction: Callable[[Array], Array] | None = None,
) -> Rollout:
    """Integrate from each start and compare at the horizons [s].

    With standard parameters (n_p,) of real bodies, whose mass matrix is positive definite
    (`SimulationError`), in steps of the Runge-Kutta method of order 4 of at most `step` [s];
    shorter where friction near standstill, linear between plus and minus the transition velocity,
    asks for it. `drive_friction` gives forces (M, n_a) of further friction at velocities (M, n_a)
    of the actuators.
    """
    ends = check_horizons(horizons)
    starts = recorded.starts
    run = _Starts(model, parameters, recorded, drive_friction)
    step = min(step, STABLE / max(_fastest_rate(model, parameters, run.q, drive_friction), 1e-9))
    axes = len(model.actuated_joints)
    reached = np.zeros(len(ends), dtype=np.int64)
    actuators, platform = np.full((len(ends), axes), np.nan), np.full(len(ends), np.nan)
    largest, elapsed = np.full(len(ends), np.nan), 0.0
    for index, end in enumerate(ends):
        count = max(1, int(np.ceil((end - elapsed) / step - 1e-9)))
        for _ in range(count):
            run.advance((end - elapsed) / count)
        elapsed = end
        alive = run.alive
        reached[index] = len(alive)
        if not len(alive):
            continue
        reference = recorded.positions(starts[alive] + end)
        error = run.q - reference
        actuators[index] = np.sqrt(np.mean(error**2, axis=0))
        largest[index] = float(np.abs(error).max())
        apart = _platform_positions(model, run.q) - _platform_positions(model, reference)
        platform[index] = float(np.sqrt(np.mean(np.sum(apart**2, axis=1))))
    return Rollout(ends, len(starts), reached, actuators, platform, largest, recorded.source)


class _Starts:
    """States of all starts that have not gone astray."""

    def __init__(
        self,
        model: ClosedChainModel,
        parameters: Array,
        recorded: Recorded,
        drive_friction: Callable[[Array], Array] | None,
    ) -> None:
        self.model, self.parameters, self.forces = model, parameters, recorded.forces
        self.drive_friction, self.time = drive_friction, recorded.starts
        self.q, self.qd = recorded.positions(self.time), recorded.velocities(self.time)
        self.alive = np.arange(len(self.time))
        stroke = np.asarray(model.upper) - np.asarray(model.lower)
        reach = BEYOND * np.where(np.isfinite(stroke), stroke, 0.0)
        self.lower, self.upper = np.asarray(model.lower) - reach, np.asarray(model.upper) + reach

    def advance(self, step: float) -> None:
        """One step of the classical Runge-Kutta method; what goes astray is left out."""
        if not len(self.alive):
            return
        try:
            rates = self._step(step)
        except KinematicsError:
            self._leave_out(~np.array([self._moves(i, step) for i in range(len(self.alive))]))
            if not len(self.alive):
                return
            rates = self._step(step)
        self.q, self.qd = self.q + rates[0], self.qd + rates[1]
        self.time = self.time + step
        inside = ((self.q >= self.lower) & (self.q <= self.upper)).all(axis=1)
        self._leave_out(np.logical_not(inside & np.isfinite(self.qd).all(axis=1)))

    def _step(self, step: float, rows: slice = slice(None)) -> tuple[Array, Array]:
        q, qd, time = self.q[rows], self.qd[rows], self.time[rows]
        speed, acceleration = np.zeros_like(q), np.zeros_like(q)
        shift_q, shift_qd = np.zeros_like(q), np.zeros_like(q)
        for fraction, weight in ((0.0, 1 / 6), (0.5, 1 / 3), (0.5, 1 / 3), (1.0, 1 / 6)):
            now_q, now_qd = q + fraction * step * shift_q, qd + fraction * step * shift_qd
            forces = self.forces(time + fraction * step)
            if self.drive_friction is not None:
                forces = forces - self.drive_friction(now_qd)
            shift_q = now_qd
            shift_qd = accelerations(self.model, self.parameters, now_q, now_qd, forces)
            speed += weight * shift_q
            acceleration += weight * shift_qd
        return step * speed, step * acceleration

    def _moves(self, index: int, step: float) -> bool:
        try:
            self._step(step, slice(index, index + 1))
        except KinematicsError:
            return False
        return True

    def _leave_out(self, rows: Mask) -> None:
        kept = ~rows
        self.alive, self.time = self.alive[kept], self.time[kept]
        self.q, self.qd = self.q[kept], self.qd[kept]


def accelerations(
    model: ClosedChainModel, parameters: Array, q: Array, qd: Array, forces: Array
) -> Array:
    """Accelerations (M, n_a) of the actuators under forces (M, n_a).

    M(q) qdd = forces - c(q, qd) with both sides from inverse dynamics at no and at unit
    accelerations, whose kernels are much faster than the equations of all bodies
    (`pkm_dynamics.equations.forward_dynamics`). Friction that grows with loads is not linear in
    the accelerations: those equations are solved then.
    """
    if len(model.load_friction):
        state = actuator_state(model, q, qd)
        return model.forward_dynamics(state, forces, parameters).actuators
    still, inertia = _mass_and_load(model, parameters, q, qd)
    return solve_mass(inertia, forces - still)


def _mass_and_load(
    model: ClosedChainModel, parameters: Array, q: Array, qd: Array
) -> tuple[Array, Array]:
    """Forces (M, n_a) at no acceleration, and the mass matrices (M, n_a, n_a)."""
    count, axes = q.shape
    unit = np.vstack([np.zeros(axes), np.eye(axes)])
    rows = np.repeat(np.arange(count), axes + 1)
    motion = model.motion_from_actuators(q[rows], qd[rows], np.tile(unit, (count, 1)))
    forces = model.inverse_dynamics(motion, parameters).reshape(count, axes + 1, axes)
    inertia = np.swapaxes(forces[:, 1:] - forces[:, :1], 1, 2)
    return forces[:, 0], 0.5 * (inertia + np.swapaxes(inertia, 1, 2))


def _fastest_rate(
    model: ClosedChainModel,
    parameters: Array,
    q: Array,
    drive_friction: Callable[[Array], Array] | None = None,
) -> float:
    """Largest eigenvalue [1/s] of M^-1 D, with D the damping near standstill."""
    count, axes = q.shape
    rest, inertia = _mass_and_load(model, parameters, q, np.zeros_like(q))
    slow = np.tile(SLOW * np.eye(axes), (count, 1))
    rows = np.repeat(np.arange(count), axes)
    motion = model.motion_from_actuators(q[rows], slow, np.zeros_like(slow))
    moving = model.inverse_dynamics(motion, parameters).reshape(count, axes, axes)
    if drive_friction is not None:
        moving = moving + drive_friction(slow).reshape(count, axes, axes)
    damping = np.swapaxes(moving - rest[:, None], 1, 2) / SLOW
    rates = np.linalg.eigvals(np.linalg.solve(inertia, damping))
    return float(np.abs(rates).max(initial=0.0))


def _platform_positions(model: ClosedChainModel, q: Array) -> Array:
    zero = np.zeros_like(q)
    return np.asarray(model.motion_from_actuators(q, zero, zero).position)
