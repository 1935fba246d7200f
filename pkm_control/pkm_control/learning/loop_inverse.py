"""The servo loop along a motion, either way: forces from errors, and errors from forces.

The error e = desired - measured of a robot under its servo obeys, for small errors,

    M(t) e'' + B(t) e' + C * e = r - D * u

with inertia M and damping B along the motion, the servo's transfer function C, the delay D of a
command, the force r that the model's feedforward lacks, and the force u learned so far. The left
hand side, applied to a measured error, is what u lacks: the inverse of the loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pkm_control.feedforward import Feedforward
from pkm_dynamics import ClosedChainModel, PlatformMotion
from pkm_dynamics.array_types import Complex, Floats
from pkm_dynamics.joint_servo.gains import VELOCITY_CUTOFF, ServoGains
from pkm_dynamics.joint_servo.servo_loop import ServoLoop
from pkm_dynamics.joint_servo.steady_state import Loop, filtered, inertia_and_damping, linearised

# Of the highest frequency of the grid: what is solved for, where its differences are good
SOLVED = 0.5
# Of an error that a repetition leaves at any frequency, with the worst robot that is thought of
TRUSTED = 0.9
CUTOFFS = 61  # that are tried
SLOW = 1e-6  # [m/s, rad/s]: forces that go with the square of speeds do not count at rest


@dataclass(frozen=True)
class ServoTiming:
    """The servo as it runs."""

    gains: ServoGains
    interval: float  # [s] of a cycle
    velocity_cutoff: float = VELOCITY_CUTOFF  # [Hz]

    @property
    def loop(self) -> ServoLoop:
        """Its transfer function: a command is held for a cycle."""
        gains = self.gains
        return ServoLoop(
            *(gains.proportional, gains.derivative, self.velocity_cutoff, self.interval),
            delay=0.5 * self.interval,
        )


@dataclass(frozen=True)
class LoopInverse:
    """The loop on an even grid of a motion that is taken as one period."""

    loop: Loop
    wait: Complex  # (n_f,) delay of a command at the harmonics of the grid

    @property
    def frequency(self) -> Floats:
        """Harmonics (n_f,) of the grid [Hz]."""
        return np.arange(len(self.wait)) / self.loop.period

    def force(self, error: Floats) -> Floats:
        """Force (N, n_a) whose lack has made an error (N, n_a)."""
        return filtered(self.loop.applied(error), (1.0 / self.wait)[:, None])

    def effect(self, force: Floats) -> Floats:
        """What a force (N, n_a) takes off the error (N, n_a)."""
        return self.loop.answer(filtered(force, self.wait[:, None]))


def loop_inverse(
    model: ClosedChainModel,
    feedforward: Feedforward,
    servo: ServoTiming,
    motion: PlatformMotion,
    period: float,
) -> LoopInverse:
    """Return the loop along a motion of N samples, evenly over `period` [s]."""
    q, qd, qdd = (np.array(each) for each in model.actuator_states(motion))
    frequency = np.arange(len(q) // 2 + 1) / period
    loop = servo.loop
    transfer, wait = loop.transfer(frequency), loop.wait(frequency)
    transfer[frequency > SOLVED * frequency[-1]] = 0.0
    parameters = smooth_parameters(model, feedforward.parameters)
    found = linearised(model, parameters, (q, qd, qdd), motion, loop, transfer, period)
    if feedforward.rotors is not None:
        found.inertia[:] += np.diag(feedforward.rotors)
    return LoopInverse(found, wait)


def smooth_parameters(model: ClosedChainModel, given: Floats | None) -> Floats:
    """Parameters (n_p,), by default those of the description, without what jumps with the velocity.

    Coulomb friction has no slope that would hold for more than an instant.
    """
    values = np.array(model.nominal_parameters if given is None else given, dtype=float)
    jumps = [name.rpartition('.')[2].startswith('coulomb') for name in model.parameter_names]
    values[jumps] = 0.0
    return values


@dataclass(frozen=True)
class Deviation:
    """A robot that is not as the model says."""

    inertia: float = 1.0  # factor on all inertias and damping
    delay: float = 0.0  # [s] of commands beyond that of the model
    parameters: Floats | None = None  # (n_p,) in place of the model's, as from its covariance


# What an identified model may be wrong by where nobody says more: a third of the inertia, as with
# a payload that nobody has named, and a cycle of delay.
STATED = (
    *(Deviation(2.0 / 3.0, 0.0), Deviation(4.0 / 3.0, 0.0)),
    *(Deviation(2.0 / 3.0, 1e-3), Deviation(4.0 / 3.0, 1e-3)),
)


def contraction(
    model: ClosedChainModel,
    feedforward: Feedforward,
    servo: ServoTiming,
    positions: ArrayLike,
    frequency: ArrayLike,
    deviations: Sequence[Deviation] = STATED,
) -> Floats:
    """Largest factor (n_f,) by which a repetition multiplies an error at frequencies [Hz].

    The error of the next repetition is (1 - P L) e with the loop's inverse L and the robot's true
    answer P; the factor is the largest singular value of that, over actuator
    positions (k, n_a) and deviations, in the norm that weighs errors by the servo's stiffness.
    With a zero-phase filter Q errors fall monotonically where |Q| times it is below one, with any
    gain in (0, 1]: then by 1 - gain (1 - |Q| factor) [Bristow, Tharayil, Alleyne 2006; Longman
    2000].
    """
    f = np.asarray(frequency, dtype=float)
    w = 2.0 * np.pi * f[:, None, None]
    loop, axes = servo.loop, model.n_a
    feedback = loop.transfer(f)[:, :, None] * np.eye(axes)
    wait = loop.wait(f)[:, None, None]
    scale = np.sqrt(servo.gains.proportional)
    worst = np.zeros(len(f))
    known = smooth_parameters(model, feedforward.parameters)
    q = np.atleast_2d(np.asarray(positions, dtype=float))
    here = _at_rest(model, known, q)
    for deviation in deviations:
        there = here
        if deviation.parameters is not None:
            there = _at_rest(model, smooth_parameters(model, deviation.parameters), q)
        late = np.exp(-1j * w * deviation.delay)
        for (m, b), (mass, damp) in zip(here, there, strict=True):
            assumed = -(w**2) * m + 1j * w * b + feedback
            robot = deviation.inertia * (-(w**2) * mass + 1j * w * damp) + feedback * late
            learned = late * wait * np.linalg.solve(robot, assumed / wait)
            left = np.eye(axes) - learned
            left = scale[:, None] * left / scale
            worst = np.maximum(worst, np.linalg.norm(left, 2, axis=(1, 2)))
    return worst


def _at_rest(
    model: ClosedChainModel, parameters: Floats, positions: Floats
) -> list[tuple[Floats, Floats]]:
    """Inertia and damping (n_a, n_a) at rest at positions (k, n_a)."""
    still = np.zeros_like(positions)
    motion = model.motion_from_actuators(positions, still, still)
    state = positions, still, still
    return list(zip(*inertia_and_damping(model, parameters, state, motion, SLOW), strict=True))


def zero_phase(frequency: ArrayLike, cutoff: float) -> Floats:
    """Filter Q (n_f,) without phase: a Butterworth of fourth order, forwards and backwards."""
    return np.asarray(1.0 / (1.0 + (np.asarray(frequency, dtype=float) / cutoff) ** 8))


def trusted_cutoff(
    factors: Floats, frequency: Floats, highest: float, most: float = TRUSTED
) -> float:
    """Highest cutoff [Hz] of Q with which |Q| times the factors (n_f,) stays below `most`.

    At most `highest`; 0 where there is none.
    """
    for cutoff in np.linspace(highest, 0.0, CUTOFFS)[:-1]:
        if np.all(zero_phase(frequency, cutoff) * factors <= most):
            return float(cutoff)
    return 0.0
