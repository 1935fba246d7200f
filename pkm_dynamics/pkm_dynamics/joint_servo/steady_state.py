"""The periodic motion of a robot under its servo, without stepping through the transient.

Positions q are sought on a grid of one period, in the harmonics that the grid shows well,
so that the inverse dynamics of q are the forces of the servo:

    Q(q, q', q''; p) = C * (q_ref - q) + D * Q_ff

with the servo's transfer function C, its delay D, and the feedforward Q_ff. Newton steps: the
equations of the step, M v'' + B v' + C * v = -r with inertia and damping along the motion, are
solved by finite differences (sparse) and refined with exact derivatives.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.sparse.linalg import SuperLU, splu

from pkm_description.errors import KinematicsError, SimulationError
from pkm_dynamics.array_types import Complex, Floats
from pkm_dynamics.joint_servo.servo_loop import ServoLoop
from pkm_dynamics.model import ClosedChainModel
from pkm_dynamics.motion import PlatformMotion

SAMPLES_OVER_HARMONICS = 4  # samples of a period over harmonics that are solved for
REFINEMENTS = 12
LINEAR_TOLERANCE = 1e-8
STALLED = 0.3  # of the residual before: then inertia and damping are computed anew
LOOSE, ROUNDED = 1e-6, 0.5  # a residual this small that falls no further is rounding
NUDGE = 1e-6  # of the largest velocity, for the damping


@dataclass(frozen=True)
class Loop:
    """The linearised loop along a motion; answers to forces that act on the robot."""

    inertia: Floats  # (N, n_a, n_a) of the robot along the motion
    damping: Floats  # (N, n_a, n_a)
    # (n_f, n_a) of the servo at the harmonics of the grid, zero above those solved for
    transfer: Complex
    period: float  # [s]
    factor: SuperLU  # of the same equations in finite differences

    def answer(self, force: Floats) -> Floats:
        """Change (N, n_a) of the positions with forces (N, n_a) against the robot's own."""
        moved = np.zeros_like(force)
        left, size = force, max(float(np.abs(force).max(initial=0.0)), 1e-300)
        before = np.inf
        for _ in range(REFINEMENTS):
            step = self._limited(self.factor.solve(left.ravel()).reshape(force.shape))
            moved = moved + step
            left = self._limited(force - self.applied(moved))
            now = float(np.abs(left).max())
            if now < LINEAR_TOLERANCE * size or now > before:
                break
            before = now
        return moved

    def applied(self, positions: Floats) -> Floats:
        """Forces (N, n_a) of a small change of the positions (N, n_a)."""
        _, rate, rate_dot = derivatives(positions, self.period)
        moved = np.einsum('nab,nb->na', self.inertia, rate_dot)
        rubbed = np.einsum('nab,nb->na', self.damping, rate)
        return np.asarray(moved + rubbed + filtered(positions, self.transfer))

    @property
    def harmonics(self) -> int:
        """Number of harmonics that are solved for, the mean among them."""
        return int(np.count_nonzero(np.abs(self.transfer[:, 0]) > 0))

    def _limited(self, values: Floats) -> Floats:
        return limited(values, self.harmonics)


@dataclass(frozen=True)
class SteadyState:
    """One period of the robot under its servo."""

    positions: Floats  # (N, n_a)
    velocities: Floats  # (N, n_a)
    accelerations: Floats  # (N, n_a)
    motion: PlatformMotion
    forces: Floats  # (N, n_a) [N, N m] of the actuators, at the same instants
    loop: Loop  # linearised along the motion
    iterations: int
    residual: float  # of the equations of motion, over the root mean square force

    def force_change(self, force: Floats) -> Floats:
        """Change (N, n_a, k) of the actuator forces with loads (N, n_a, k) of the robot.

        A load is what the same motion would take more; under the servo the motion gives
        way, and the actuators make less of it.
        """
        moved = [
            self.loop.answer(-limited(column, self.loop.harmonics))
            for column in np.moveaxis(force, -1, 0)
        ]
        return np.stack([-filtered(change, self.loop.transfer) for change in moved], axis=-1)


def steady_state(
    model: ClosedChainModel,
    parameters: ArrayLike,
    reference: Floats,
    feedforward: Floats,
    servo: ServoLoop,
    period: float,
    start: SteadyState | None = None,
    tolerance: float = 1e-7,
    max_iterations: int = 60,
) -> SteadyState:
    """Solve for the periodic motion of a robot under its servo.

    In the harmonics up to a quarter of the samples; it may be a motion that the servo cannot
    hold: stability is not looked at. `reference` and `feedforward` (N, n_a) are desired
    positions and forces over one period, at the instants at which the servo evaluates them;
    the search begins at the reference or at the `start` of similar parameters. The tolerance
    is that of the equations of motion, over the root mean square force; below 1e-6 it is also
    enough that the residual falls no further. Raises SimulationError where no periodic motion
    is found.
    """
    count = len(reference)
    kept = max(1, count // SAMPLES_OVER_HARMONICS)
    frequency = np.arange(count // 2 + 1) / period
    transfer, wait = servo.transfer(frequency), servo.wait(frequency)
    transfer[kept:], wait[kept:] = 0.0, 0.0
    driven = filtered(reference, transfer) + filtered(feedforward, wait[:, None])
    values = np.asarray(parameters, dtype=float)
    q = limited(reference, kept) if start is None else start.positions
    near = None if start is None else start.motion
    loop: Loop | None = None
    before = np.inf
    for iteration in range(max_iterations):
        state = derivatives(q, period)
        try:
            motion = model.motion_from_actuators(*state, initial=near)
            own = limited(model.inverse_dynamics(motion, values), kept)
        except KinematicsError as error:
            raise SimulationError(f'the simulated robot left its workspace: {error}') from error
        near = motion
        forces = driven - filtered(q, transfer)
        size = max(float(np.sqrt(np.mean(own**2))), 1e-300)
        left = forces - own
        now = float(np.sqrt(np.mean(left**2))) / size
        if loop is None or now > STALLED * before:
            loop = linearised(model, values, state, motion, servo, transfer, period)
        if now <= tolerance or (now > ROUNDED * before and now <= LOOSE):
            return SteadyState(*state, motion, forces, loop, iteration, now)
        q = q + loop.answer(left)
        before = now
    raise SimulationError(
        f"robot '{model.description.name}': no periodic motion under the servo was found in "
        f'{max_iterations} iterations (relative residual {now:.2g}); check gains and parameters'
    )


def linearised(
    model: ClosedChainModel,
    parameters: Floats,
    state: tuple[Floats, Floats, Floats],
    motion: PlatformMotion,
    servo: ServoLoop,
    transfer: Complex,
    period: float,
) -> Loop:
    """Return the loop linearised along a motion of the actuators."""
    step = NUDGE * max(float(np.abs(state[1]).max(initial=0.0)), 1e-12)
    inertia, damping = inertia_and_damping(model, parameters, state, motion, step)
    matrix = _differences(inertia, damping, servo, period)
    try:
        factor = splu(matrix)
    except RuntimeError as error:
        raise SimulationError(
            f"robot '{model.description.name}': the motion under the servo is not determined: "
            f'{error}'
        ) from error
    return Loop(inertia, damping, transfer, period, factor)


def inertia_and_damping(
    model: ClosedChainModel,
    parameters: Floats,
    state: tuple[Floats, Floats, Floats],
    motion: PlatformMotion,
    step: float,
) -> tuple[Floats, Floats]:
    """Changes of the actuators' forces with their accelerations and velocities, (N, n_a, n_a) each.

    Along a motion of the actuators; velocities are changed by `step` [m/s, rad/s].
    """
    q, qd, qdd = state
    count, axes = q.shape

    def forces(velocities: Floats, accelerations: Floats) -> Floats:
        near = model.motion_from_actuators(q, velocities, accelerations, initial=motion)
        return model.inverse_dynamics(near, parameters)

    here = forces(qd, qdd)
    inertia, damping = np.empty((count, axes, axes)), np.empty((count, axes, axes))
    for axis in range(axes):
        unit = np.eye(axes)[axis]
        inertia[:, :, axis] = forces(qd, qdd + unit) - here
        damping[:, :, axis] = (forces(qd + step * unit, qdd) - here) / step
    return inertia, damping


def _differences(
    inertia: Floats, damping: Floats, servo: ServoLoop, period: float
) -> sparse.csc_matrix:
    """M v'' + (B + Kd) v' + Kp v by central differences on a ring of samples."""
    count, axes = inertia.shape[:2]
    h = period / count
    damped = damping + np.diag(servo.derivative)
    here = -2 * inertia / h**2 + np.diag(servo.proportional)
    push, rub = inertia / h**2, damped / (2 * h)
    parts = ((-1, push - rub), (0, here), (1, push + rub))
    rows, columns, entries = [], [], []
    place = np.arange(count * axes).reshape(count, axes)
    for shift, block in parts:
        beside = np.roll(place, -shift, axis=0)
        rows.append(np.broadcast_to(place[:, :, None], block.shape).ravel())
        columns.append(np.broadcast_to(beside[:, None, :], block.shape).ravel())
        entries.append(block.ravel())
    positions = np.concatenate(rows), np.concatenate(columns)
    return sparse.csc_matrix((np.concatenate(entries), positions), shape=(place.size, place.size))


def filtered(values: Floats, transfer: NDArray) -> Floats:
    """Return periodic values (N, ...) behind a transfer function (n_f, ...) of their harmonics."""
    return np.fft.irfft(np.fft.rfft(values, axis=0) * transfer, len(values), axis=0)


def derivatives(positions: Floats, period: float) -> tuple[Floats, Floats, Floats]:
    """Return periodic positions (N, n_a) with their velocities and accelerations."""
    order = 2j * np.pi / period * np.arange(len(positions) // 2 + 1)[:, None]
    return (positions, filtered(positions, order), filtered(positions, order**2))


def limited(values: Floats, harmonics: int) -> Floats:
    """Return periodic values (N, ...) with only the mean and the first harmonics - 1."""
    spectrum = np.fft.rfft(values, axis=0)
    spectrum[harmonics:] = 0.0
    return np.fft.irfft(spectrum, len(values), axis=0)
