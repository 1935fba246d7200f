"""Position errors that a joint servo will leave along a motion, without simulating it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft, rfftfreq

from pkm_control.feedforward import Feedforward
from pkm_control.gains import ServoGains
from pkm_control.servo import VELOCITY_CUTOFF
from pkm_description.description import frozen
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.array_types import Floats
from pkm_dynamics.equations.actuator_inertia import inertia_matrix
from pkm_dynamics.limits.margins import Margin, largest
from pkm_dynamics.trajectories import Execution

RATE = 1000.0  # [Hz] of the samples, at least: that of the loop
PER_OSCILLATION = 20.0  # samples of the highest frequency
LOOP_DELAY = 1e-3  # [s] from a measurement to the middle of the cycle that its force acts in
FADING = 5.0  # periods of the servo's bandwidth after which an error has faded
BLOCK = 4096  # samples, or frequencies, that are computed at once


@dataclass(frozen=True)
class ExpectedTracking:
    """Errors along a motion from rest to rest, its beginning without any."""

    joint_names: tuple[str, ...]
    units: tuple[str, ...]  # of positions: m or rad
    time: Floats  # (N,) [s]
    errors: Floats  # (N, n_a) [m, rad] desired less measured

    @property
    def rms(self) -> Floats:
        """Root mean square (n_a,) [m, rad] over the whole motion."""
        return np.sqrt(np.mean(self.errors**2, axis=0))

    @property
    def largest(self) -> Floats:
        """Largest absolute value (n_a,) [m, rad]."""
        return np.abs(self.errors).max(axis=0)

    def margins(self, bounds: Floats) -> list[Margin]:
        """Return the margin of each joint to the largest errors (n_a,) [m, rad] allowed."""
        found = largest(np.abs(self.errors), bounds, self.time)
        return [
            Margin('tracking', *each[:3], self.joint_names[each.column], each.time, unit)
            for each, unit in zip(found, self.units, strict=True)
        ]


def expected_tracking(
    model: ClosedChainModel,
    gains: ServoGains,
    motion: Execution,
    feedforward: Feedforward | None = None,
    velocity_cutoff: float = VELOCITY_CUTOFF,
) -> ExpectedTracking:
    """Return the errors that the forces beyond the feedforward will bring about.

    With these forces f, the inertia M that the actuators feel at home, and the servo,

        M e'' + (Kp + Kd d/dt) e = f,

    its derivative behind its low pass, its force late by `LOOP_DELAY`. The equation is solved
    in the frequency domain. On the library's robots the error is right to a tenth, and too large,
    up to twice, where Coulomb friction is as large as all other forces: it then stops an axis that
    the equation lets swing. Noise, saturation and what the model does not know come in addition.

    Parameters
    ----------
    motion
        From rest to rest.
    feedforward
        Of the controller; None for none.

    Raises
    ------
    KinematicsError
        When the motion leaves where the loops close.
    """
    fastest = PER_OSCILLATION * motion.trajectory.highest_frequency
    count = int(np.ceil(max(RATE, fastest) * motion.duration)) + 1
    time = np.linspace(0.0, motion.duration, count)
    parts = [time[i : i + BLOCK] for i in range(0, count, BLOCK)]
    forces = np.concatenate([_missing(model, motion, part, feedforward) for part in parts])
    errors = servo_errors(model, gains, forces, motion.duration / (count - 1), velocity_cutoff)
    joints = [model.description.joint(name) for name in model.actuated_joints]
    units = tuple('m' if joint.type == 'prismatic' else 'rad' for joint in joints)
    return ExpectedTracking(tuple(model.actuated_joints), units, frozen(time), frozen(errors))


def _missing(
    model: ClosedChainModel, motion: Execution, time: Floats, feedforward: Feedforward | None
) -> Floats:
    """Forces (N, n_a) [N, N m] that the servo has to give, beyond the feedforward."""
    platform = motion.motion(time, model)
    forces = model.inverse_dynamics(platform)
    return forces if feedforward is None else forces - feedforward.forces(model, platform)


def servo_errors(
    model: ClosedChainModel,
    gains: ServoGains,
    forces: Floats,
    interval: float,
    velocity_cutoff: float = VELOCITY_CUTOFF,
) -> Floats:
    """Return the errors (N, n_a) [m, rad] of a servo that has to give these forces (N, n_a).

    As `expected_tracking`; samples an `interval` [s] apart. Before the first one its force acts
    for long, and after the last one that.
    """
    count = len(forces)
    fading = int(np.ceil(FADING / (gains.bandwidth * interval)))
    size = next_fast_len(count + 2 * fading, real=True)
    # from the last force back to the first one, so that what repeats has no steps
    share = 0.5 - 0.5 * np.cos(np.pi * np.linspace(0.0, 1.0, size - count))[:, None]
    whole = np.concatenate([forces, forces[-1] + share * (forces[0] - forces[-1])])
    s = 2j * np.pi * rfftfreq(size, interval)
    cutoff = 2.0 * np.pi * velocity_cutoff
    rate = s * cutoff**2 / (s**2 + np.sqrt(2.0) * cutoff * s + cutoff**2)
    late = np.exp(-LOOP_DELAY * s)
    inertia = inertia_matrix(model)
    inertia = 0.5 * (inertia + inertia.T)
    spectrum = rfft(whole, axis=0)
    for i in range(0, len(s), BLOCK):
        part = slice(i, i + BLOCK)
        feedback = gains.proportional + gains.derivative * rate[part, None]
        matrix = (s[part] ** 2)[:, None, None] * inertia
        matrix = matrix + (feedback * late[part, None])[:, :, None] * np.eye(model.n_a)
        spectrum[part] = np.linalg.solve(matrix, spectrum[part, :, None])[:, :, 0]
    return np.asarray(irfft(spectrum, size, axis=0)[:count])
