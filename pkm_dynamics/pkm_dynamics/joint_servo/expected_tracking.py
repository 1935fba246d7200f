"""Position errors that a joint servo will leave along a motion, without simulating it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.fft import irfft, next_fast_len, rfft, rfftfreq

from pkm_description.description import frozen
from pkm_description.errors import KinematicsError
from pkm_description.sidecar_sections import read_simulation
from pkm_dynamics.analysis.singularities import SINGULAR, has_singularities, jacobian_condition
from pkm_dynamics.array_types import Complex, Floats
from pkm_dynamics.drive_distribution import all_drives, coordinates_among
from pkm_dynamics.equations.actuator_inertia import inertia_matrix
from pkm_dynamics.joint_servo.gains import VELOCITY_CUTOFF, ServoGains
from pkm_dynamics.joint_servo.servo_loop import ServoLoop
from pkm_dynamics.limits.feasibility import check_feasibility
from pkm_dynamics.limits.margins import ASSEMBLED, FeasibilityReport, Margin, largest
from pkm_dynamics.model import ClosedChainModel
from pkm_dynamics.motion import PlatformMotion
from pkm_dynamics.trajectories import Execution, FourierTrajectory

RATE = 1000.0  # [Hz] of the samples, at least
PER_OSCILLATION = 20.0  # samples of the highest frequency
CYCLE = 1e-3  # [s] of the loop
LOOP_DELAY = 1e-3  # [s] from a measurement to the middle of the cycle that its force acts in
FADING = 5.0  # periods of the servo's bandwidth after which an error has faded
DEVIATIONS = 3.0  # standard deviations of noise that find room beside the commands
NOISE_SAMPLES = 1000  # frequencies of the sampled servo that its noise is summed over
# Errors as many times those expected must not lead into a singularity. Simulated robots are off by
# up to 1.5 times as much: at force limits, and where drives feel another inertia than at home.
SINGULAR_ERRORS = 2.0
AT_TWICE = 'platform at twice its expected errors'
BLOCK = 4096  # samples, or frequencies, that are computed at once

# Limits of where the robot is and how fast it moves: those that its errors may break
OF_STATE = (
    *('stroke', 'velocity', 'joint', 'joint_velocity', 'workspace', 'tilt', 'aperture'),
    *('clearance', 'conditioning'),
)

Moving = Execution | FourierTrajectory
Forces = Callable[[ClosedChainModel, PlatformMotion], Floats]


@dataclass(frozen=True)
class ExpectedTracking:
    """Errors along a motion."""

    joint_names: tuple[str, ...]
    units: tuple[str, ...]  # of positions: m or rad
    time: Floats  # (N,) [s]
    errors: Floats  # (N, n_a) [m, rad] desired less measured
    commands: Floats  # (N, n_a) [N, N m] forces of the servo, feedforward included

    @property
    def rms(self) -> Floats:
        """Root mean square (n_a,) [m, rad] over the whole motion."""
        return np.sqrt(np.mean(self.errors**2, axis=0))

    @property
    def largest(self) -> Floats:
        """Largest absolute value (n_a,) [m, rad]."""
        return np.abs(self.errors).max(axis=0)

    def margins(self, bounds: Floats, forces: Floats | None = None) -> list[Margin]:
        """Return the margin of each joint to the largest errors (n_a,) [m, rad] allowed.

        And to the largest `forces` (n_a,) [N, N m], where they are given.
        """
        of_forces = tuple('N' if unit == 'm' else 'N m' for unit in self.units)
        cases = [('tracking', self.errors, bounds, self.units)]
        if forces is not None:
            cases.append(('command', self.commands, forces, of_forces))
        return [
            Margin(name, *each[:3], self.joint_names[each.column], each.time, units[each.column])
            for name, values, limit, units in cases
            for each in largest(np.abs(values), limit, self.time)
        ]


class Answer(NamedTuple):
    """What a servo does."""

    errors: Floats  # (N, n_a, ...) [m, rad] desired less measured
    feedback: Floats  # (N, n_a, ...) [N, N m]


class ErrorResponse:
    """Position errors of a robot under its servo, by the forces f that the servo has to give.

        M e'' + C e = f

    with the inertia M that the actuators feel at home, and the servo's transfer function C, its
    force late by `LOOP_DELAY`. The equation is solved in the frequency domain.
    """

    def __init__(
        self, model: ClosedChainModel, gains: ServoGains, velocity_cutoff: float = VELOCITY_CUTOFF
    ) -> None:
        inertia = inertia_matrix(model)
        self.inertia = 0.5 * (inertia + inertia.T)
        given = gains.proportional, gains.derivative, velocity_cutoff
        self.loop = ServoLoop(*given, CYCLE, LOOP_DELAY)
        self.noise = self._command_noise(model)  # (n_a,) [N, N m] standard deviations of commands
        self._fading = FADING / gains.bandwidth  # [s]

    def _command_noise(self, model: ClosedChainModel) -> Floats:
        """What the noise of the position sensors, where the description has it, makes of commands.

        White from sample to sample; the robot is too slow to answer.
        """
        sensors = read_simulation(model.description)
        step = sensors.position_resolution
        own = coordinates_among(all_drives(model).actuated_joints, model)
        variance = np.diag(sensors.position_covariance)[own] + step**2 / 12.0
        frequency = rfftfreq(NOISE_SAMPLES, CYCLE)
        gain = np.mean(np.abs(self.loop.transfer(frequency)) ** 2, axis=0)
        return np.asarray(np.sqrt(gain * variance))

    def compliance(self, frequency: ArrayLike) -> Complex:
        """Return error over force (n_f, n_a, n_a) [m/N, rad/(N m)] at frequencies [Hz]."""
        s = 2j * np.pi * np.asarray(frequency, dtype=float)
        servo = self.loop.transfer(frequency)[:, :, None] * np.eye(len(self.inertia))
        return np.asarray(np.linalg.inv((s**2)[:, None, None] * self.inertia + servo))

    def settled(self, forces: Floats, period: float) -> Answer:
        """Answer to forces (N, n_a, ...), even samples of a period [s]."""
        count = len(forces)
        spectrum = rfft(forces, axis=0)
        feedback = np.empty_like(spectrum)
        frequency = rfftfreq(count, period / count)
        for i in range(0, len(frequency), BLOCK):
            part = slice(i, i + BLOCK)
            moved = np.einsum('fab,fb...->fa...', self.compliance(frequency[part]), spectrum[part])
            feedback[part] = np.einsum(
                'fa,fa...->fa...', self.loop.transfer(frequency[part]), moved
            )
            spectrum[part] = moved
        return Answer(*(irfft(each, count, axis=0) for each in (spectrum, feedback)))

    def from_rest(self, forces: Floats, interval: float) -> Answer:
        """Answer to forces (N, n_a), samples an `interval` [s] apart.

        Before the first one its force acts for long, and after the last one that.
        """
        count = len(forces)
        fading = int(np.ceil(self._fading / interval))
        size = next_fast_len(count + 2 * fading, real=True)
        # from the last force back to the first one, so that what repeats has no steps
        share = 0.5 - 0.5 * np.cos(np.pi * np.linspace(0.0, 1.0, size - count))[:, None]
        whole = np.concatenate([forces, forces[-1] + share * (forces[0] - forces[-1])])
        errors, feedback = self.settled(whole, size * interval)
        return Answer(errors[:count], feedback[:count])


def expected_tracking(
    model: ClosedChainModel,
    response: ErrorResponse,
    motion: Moving,
    feedforward: Forces | None = None,
) -> ExpectedTracking:
    """Return the errors that the forces beyond the feedforward will bring about.

    On the library's robots they are right to a tenth, and too large, up to twice, where Coulomb
    friction is as large as all other forces: it then stops an axis that the equation of
    `ErrorResponse` lets swing. Noise, saturation and what the model does not know come in addition.

    Parameters
    ----------
    motion
        From rest to rest, or a period that repeats for ever.
    feedforward
        Forces (N, n_a) [N, N m] of the controller along a motion; None for none.

    Raises
    ------
    KinematicsError
        When the motion leaves where the loops close.
    """
    trajectory = motion.trajectory if isinstance(motion, Execution) else motion
    fastest = PER_OSCILLATION * trajectory.highest_frequency
    count = int(np.ceil(max(RATE, fastest) * motion.duration))
    interval = motion.duration / count
    if isinstance(motion, Execution):
        count += 1  # its end, which is not its beginning
    time: Floats = interval * np.arange(count, dtype=float)
    parts = [time[i : i + BLOCK] for i in range(0, count, BLOCK)]
    needed = [_forces(model, motion, part, feedforward) for part in parts]
    missing, given = (np.concatenate(each) for each in zip(*needed, strict=True))
    if isinstance(motion, Execution):
        errors, feedback = response.from_rest(missing, interval)
    else:
        errors, feedback = response.settled(missing, motion.duration)
    joints = [model.description.joint(name) for name in model.actuated_joints]
    units = tuple('m' if joint.type == 'prismatic' else 'rad' for joint in joints)
    found = frozen(time), frozen(errors), frozen(feedback + given)
    return ExpectedTracking(tuple(model.actuated_joints), units, *found)


def largest_commands(model: ClosedChainModel, response: ErrorResponse, left_free: float) -> Floats:
    """Forces (n_a,) [N, N m] that a servo may give so that its noise finds room, too."""
    force = (1.0 - left_free) * np.asarray(model.force_limit)
    return np.maximum(force - DEVIATIONS * response.noise, 0.0)


def under_servo(
    report: FeasibilityReport,
    model: ClosedChainModel,
    motion: Moving,
    response: ErrorResponse,
    allowed: Floats,
    feedforward: Forces | None = None,
    *,
    left_free: float = 0.0,
    limits: Mapping[str, Any] | None = None,
) -> FeasibilityReport:
    """Add to the margins of a motion what the robot does under its servo.

    The errors (`tracking`), against those `allowed` (n_a,) [m, rad], and, where the motion is
    feasible, the forces of the servo (`command`) and the limits of position and speed that the
    motion less the errors breaks; and where `SINGULAR_ERRORS` times the errors lead to a
    singularity. A fraction of errors and forces is `left_free`; `limits` are options of
    `check_feasibility`.
    """
    if ASSEMBLED in report.margins:
        return report
    expected = expected_tracking(model, response, motion, feedforward)
    time = expected.time
    desired = model.actuator_states(motion.motion(time, model))
    speeds = np.gradient(expected.errors, time, axis=0)
    positions, velocities = desired.positions - expected.errors, desired.velocities - speeds
    allowed = (1.0 - left_free) * allowed
    if not report.feasible:  # where the motion itself breaks limits, more of them help nobody
        return report.with_margins(expected.margins(allowed))
    force = largest_commands(model, response, left_free)
    report = report.with_margins(expected.margins(allowed, force))
    try:
        executed = model.motion_from_actuators(positions, velocities, 0.0 * velocities)
    except KinematicsError as error:
        at = _first_time(error, time)
        return report.with_margins([Margin(ASSEMBLED, -np.inf, np.nan, 0.0, 'platform', at, '')])
    found = check_feasibility(model, executed, time=time, **(limits or {}))
    executed_breaks = found.only(OF_STATE)
    if not executed_breaks.feasible:
        return report.worse_of(executed_breaks)
    if not has_singularities(model):
        return report
    worst = _worst_conditioning(model, desired.positions - SINGULAR_ERRORS * expected.errors, time)
    return report if worst.margin >= 0.0 else report.worse_of(report.with_margins([worst]))


def _worst_conditioning(model: ClosedChainModel, positions: Floats, time: Floats) -> Margin:
    """Margin of the conditioning at actuator positions (N, n_a) to a singularity."""
    still = np.zeros_like(positions)
    try:
        poses = model.motion_from_actuators(positions, still, still)
    except KinematicsError as error:
        at = _first_time(error, time)
        return Margin('conditioning', -np.inf, np.inf, SINGULAR, AT_TWICE, at, '')
    condition = jacobian_condition(model, poses)
    assert condition is not None  # loops are closed
    (worst,) = largest(condition[:, None], np.array([SINGULAR]), time)
    return Margin('conditioning', *worst[:3], AT_TWICE, worst.time, '')


def _first_time(error: KinematicsError, time: Floats) -> float:
    return float(time[error.samples[0]]) if len(error.samples) else 0.0


def _forces(
    model: ClosedChainModel, motion: Moving, time: Floats, feedforward: Forces | None
) -> tuple[Floats, Floats]:
    """Forces (N, n_a) [N, N m] that the servo has to give, and those of the feedforward."""
    platform = motion.motion(time, model)
    forces = model.inverse_dynamics(platform)
    given = np.zeros_like(forces) if feedforward is None else feedforward(model, platform)
    return forces - given, given
