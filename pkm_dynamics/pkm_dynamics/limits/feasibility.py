"""Whether a motion keeps every limit of the robot, and by how much.

The motion is sampled where it happens: evenly, the denser the faster its highest harmonic
is, and closer in short polynomial pieces, approaches and ramps (`limits.instants`). Each
extremum between two samples is taken from the parabola through its neighbours, so the figures
hold for the continuous motion.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pkm_description.errors import KinematicsError, TrajectoryError
from pkm_dynamics.array_types import Floats
from pkm_dynamics.limits.instants import RATE, instants_of
from pkm_dynamics.limits.margins import ASSEMBLED, FeasibilityReport, Margin
from pkm_dynamics.limits.robot_limits import LimitOptions, Limits
from pkm_dynamics.model import ClosedChainModel
from pkm_dynamics.motion import PlatformMotion
from pkm_dynamics.trajectories import Execution, PacedExecution, Trajectory
from pkm_dynamics.trajectories.base import finite_number

__all__ = ['FeasibilityReport', 'Margin', 'check_feasibility']

Moving = Trajectory | Execution | PacedExecution
Checked = PlatformMotion | Moving

BLOCK = 4096  # samples that are judged at once: enough for the kernels, little memory
OVERLAP = 2  # samples of a block that are the next one's, too: an apex needs its neighbours
# Samples that are tried first where the platform cannot take every pose: one that it cannot take
# costs as much as a hundred others, and a path that cannot be followed mostly breaks off early.
PROBED = 512


def check_feasibility(
    model: ClosedChainModel,
    motion: Checked,
    *,
    parameters: Floats | None = None,
    force_margin: float = LimitOptions.force_margin,
    velocity_margin: float = LimitOptions.velocity_margin,
    stroke_margin: float = LimitOptions.stroke_margin,
    condition_limit: float | None = LimitOptions.condition_limit,
    acceleration: ArrayLike | None = LimitOptions.acceleration,
    aperture: float | None = LimitOptions.aperture,
    clearance: float | None = LimitOptions.clearance,
    force_uncertainty: ArrayLike = LimitOptions.force_uncertainty,
    rate: float | None = None,
    time: Floats | None = None,
) -> FeasibilityReport:
    """Check a motion against every limit that the robot's description gives.

    Parameters
    ----------
    model : ClosedChainModel
        The robot.
    motion : PlatformMotion, Trajectory or Execution
        Samples of a motion (then `time`, or evenly spaced by 1 / `rate`), or what is
        sampled at `rate`.
    parameters : (n_p,), optional
        Parameters for the actuator forces; the nominal ones by default.
    force_margin, velocity_margin, stroke_margin, condition_limit, acceleration, aperture, \
clearance, force_uncertainty
        What stays free of the limits, and further limits; see `limits.LimitOptions`.
    rate : float, optional
        Least sampling rate [Hz] of smooth motions; by default 1 kHz. Faster motions get more
        samples in either case.
    time : (N,), optional
        Times of the samples of a PlatformMotion [s].

    Returns
    -------
    FeasibilityReport
        Margins by constraint.

    Raises
    ------
    TrajectoryError
        When the motion is empty or not finite, or an option makes no sense.
    """
    free, further = (force_margin, velocity_margin, stroke_margin), (acceleration, aperture)
    options = LimitOptions(*free, condition_limit, *further, clearance, force_uncertainty)
    if rate is not None:
        finite_number('rate', rate, positive=True)
    limits = Limits(model, options)
    worst: dict[str, Margin] = {}
    broken: dict[tuple[str, str, float], Margin] = {}
    samples, first, last = 0, np.inf, -np.inf
    shown = _time_of_whole(motion)
    for instants, evaluate in _blocks(motion, model, rate, time):
        samples += len(instants) - (OVERLAP if samples else 0)
        first, last = min(first, shown(instants[0])), max(last, shown(instants[-1]))
        if ASSEMBLED in worst:  # the robot does not get here; what fails takes long to solve
            margins = _commanded_stroke(limits, motion, instants)
        else:
            margins = _block_margins(limits, motion, instants, evaluate, parameters)
        for margin in margins:
            margin = replace(margin, time=shown(margin.time))
            _keep_worse(worst, margin.constraint, margin)
            if margin.margin < 0.0:
                _keep_worse(broken, (margin.constraint, margin.name, margin.limit), margin)
    ordered = sorted(broken.values(), key=lambda margin: margin.relative)
    return FeasibilityReport(worst, samples, last - first, tuple(ordered))


def _keep_worse(found: dict[Any, Margin], key: Any, margin: Margin) -> None:
    if key not in found or margin.relative < found[key].relative:
        found[key] = margin


def _block_margins(
    limits: Limits,
    motion: Checked,
    instants: Floats,
    evaluate: Callable[[int], PlatformMotion],
    parameters: Floats | None,
) -> list[Margin]:
    """Return the margins of one block; up to the first sample that does not assemble."""
    count = len(instants)
    probed = 0 if limits.model.platform_determines_joints or count <= PROBED else PROBED
    found: list[Margin] = []
    while count > 0:
        try:
            if probed:
                limits.model.with_joint_states(evaluate(probed))
            block = evaluate(count)
            pose = limits.pose_margins(block, instants[:count])
            return found + pose + limits.margins(block, instants[:count], parameters)
        except KinematicsError as error:
            first = int(error.samples[0]) if len(error.samples) else 0
            if probed and first == 0:
                probed = 0  # may still be found from samples behind those
                continue
            # What fails again fails earlier: the kinematics of some samples, then a singularity.
            count, probed = first, 0
            broken = Margin(ASSEMBLED, -np.inf, np.nan, 0.0, 'platform', float(instants[count]), '')
            found = [broken, *_commanded_stroke(limits, motion, instants)]
    return found


def _blocks(
    motion: Checked, model: ClosedChainModel, rate: float | None, time: Floats | None
) -> Iterator[tuple[Floats, Callable[[int], PlatformMotion]]]:
    """Yield times, and a function that evaluates the motion at the first so many of them.

    Blocks overlap by `OVERLAP` samples.
    """
    if isinstance(motion, PlatformMotion):
        count = len(motion.position)
        instants = (
            np.arange(count) / (rate or RATE) if time is None else np.asarray(time, dtype=float)
        )
        if count == 0 or instants.shape != (count,):
            raise TrajectoryError(
                f'a motion of {count} samples needs as many times, got {instants.shape}'
            )
        for part in _parts(count):
            yield instants[part], lambda n, part=part: motion[part][:n]  # type: ignore[misc]
        return
    moving, _ = _one_period(motion)
    instants = instants_of(moving, rate)
    for part in _parts(len(instants)):
        chosen = instants[part]
        yield chosen, lambda n, chosen=chosen: moving.motion(chosen[:n], model)  # type: ignore[misc]


def _trajectory_of(motion: Moving) -> Trajectory:
    return motion if isinstance(motion, Trajectory) else motion.trajectory


def _one_period(motion: Moving) -> tuple[Moving, tuple[float, float]]:
    """Return an execution of one period only, and (from when, how much) was left out."""
    if not isinstance(motion, Execution):
        return motion, (np.inf, 0.0)
    once = Execution(motion.trajectory, 1, motion.ramp_time, motion.start, motion.approach_speed)
    return once, (once.run_end, motion.duration - once.duration)


def _time_of_whole(motion: Checked) -> Callable[[float], float]:
    """Return the function that turns times [s] of what is checked into those of the motion."""
    if isinstance(motion, PlatformMotion):
        return float
    _, (begin, left_out) = _one_period(motion)
    duration = float(motion.duration)

    def shown(time: float) -> float:
        return float(min(time if time < begin else time + left_out, duration))

    return shown


def _parts(count: int) -> Iterator[slice]:
    for start in range(0, max(count - OVERLAP, 1), BLOCK):
        yield slice(start, start + BLOCK + OVERLAP)


def _commanded_stroke(limits: Limits, motion: Checked, time: Floats) -> list[Margin]:
    """Return the stroke margins of actuator coordinates that do not assemble."""
    if isinstance(motion, PlatformMotion):
        return []
    trajectory = _trajectory_of(motion)
    if trajectory.coordinates == 'platform':
        return []
    order = [trajectory.coordinate_names.index(name) for name in limits.model.actuated_joints]
    return limits.stroke_margins(motion.evaluate(time)[0][:, order], time)
