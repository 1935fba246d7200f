"""When a motion is looked at, so that nothing happens unseen between two looks.

A Fourier series or a circle is bounded between samples by its highest harmonic. A motion
through points is one polynomial of fifth order between two knots, which as many samples as it
has coefficients determine: pieces that the even samples resolve need no more, and shorter
ones are sampled inside wherever they leave the line between their neighbours.
"""

from __future__ import annotations

import numpy as np

from pkm_description.errors import TrajectoryError
from pkm_dynamics.array_types import Floats
from pkm_dynamics.trajectories import Execution, PacedExecution, Trajectory

RATE = 1000.0  # [Hz], that of the control loop, which is what the limits meet
SAMPLES_PER_OSCILLATION = 80.0  # of the highest harmonic where no rate is asked for
# Of the highest harmonic in any case: with h = 2 pi / 20 the parabola through three samples
# misses the apex of a sine by less than h^4 / 128 = 8e-5 of its amplitude.
LEAST_PER_OSCILLATION = 20.0
# In a piece, an approach or a ramp: a quintic has six coefficients, its acceleration two
# extrema; twelve steps with parabolas miss the largest of them by less than 1e-2.
STEPS_OF_PIECE = 12
STEPS_OF_LOOK = 4  # five values of its velocity, of fourth order, determine a piece
STEPS_OF_PHASE = 32  # the same for a ramp, whose path bends meanwhile
# What a piece may leave the line between even samples by, as a share of the largest value of
# that coordinate and derivative; and of the fastest coordinate, for those at rest but for rounding.
RESOLUTION, ROUNDING = 0.01, 1e-3
MOST_INSTANTS = 2_000_000  # of one check: half a minute to minutes of computing
CHUNK = 4096  # pieces that are looked at together

Moving = Trajectory | Execution | PacedExecution


def instants_of(moving: Moving, rate: float | None = None) -> Floats:
    """Return the times (N,) [s], increasing, at which a motion shows all that it does.

    `rate` is the least rate [Hz] of smooth motions. A periodic trajectory without ramps gets one
    time more, beyond the seam of two periods, to see a peak there. TrajectoryError where
    the motion has no finite duration or takes more than `MOST_INSTANTS`.
    """
    trajectory = moving if isinstance(moving, Trajectory) else moving.trajectory
    duration = float(moving.duration)
    if not (np.isfinite(duration) and duration > 0.0):
        raise TrajectoryError(f'a trajectory lasts a finite positive time, not {duration} s')
    fastest = trajectory.highest_frequency
    if rate is None:
        rate = max(RATE, SAMPLES_PER_OSCILLATION * fastest)
    rate = max(rate, LEAST_PER_OSCILLATION * fastest)
    require_samples(duration, duration * rate)
    count = int(np.ceil(duration * rate)) + 1
    even = np.linspace(0.0, duration, count)
    if isinstance(moving, Trajectory):
        if moving.period is not None:
            return np.append(even, duration * count / (count - 1))
        phases: tuple[tuple[float, float], ...] = ()
    else:
        phases = moving.phases
    step = even[1]
    closer = [
        np.linspace(begin, end, STEPS_OF_PHASE + 1)
        for begin, end in phases
        if end - begin < STEPS_OF_PHASE * step
    ]
    found = np.concatenate([even, *closer, _inside_pieces(moving, even)])
    require_samples(duration, len(found))
    return np.unique(np.clip(found, 0.0, duration))


def require_samples(duration: float, samples: float) -> None:
    """Raise TrajectoryError where a check takes more than `MOST_INSTANTS` samples."""
    if samples > MOST_INSTANTS:
        raise TrajectoryError(
            f'duration: {duration:g} s take {samples:.3g} samples of the check, '
            f'{MOST_INSTANTS:g} at most'
        )


def _inside_pieces(moving: Moving, even: Floats) -> Floats:
    """Return times in and at the ends of short pieces that even samples do not show."""
    knots = moving.knots
    begins, widths = knots[:-1], np.diff(knots)
    short = widths < STEPS_OF_PIECE * (even[1] - even[0])
    begins, widths = begins[short], widths[short]
    if not len(begins):
        return np.empty(0)
    states = np.hstack(moving.evaluate(even))
    origin = np.where(_is_position(states), states[:1], 0.0)
    largest = np.abs(states - origin).max(axis=0)
    seen = []
    for at in range(0, len(begins), CHUNK):
        some = slice(at, at + CHUNK)
        times = _divided(begins[some], widths[some], STEPS_OF_LOOK)
        reached = np.hstack(moving.evaluate(times))
        largest = np.maximum(largest, np.abs(reached - origin).max(axis=0))
        off = _off_the_line(times, reached, even, states)
        seen.append(off.reshape(-1, STEPS_OF_LOOK + 1, off.shape[1]).max(axis=1))
    groups = largest.reshape(3, -1)
    floor = ROUNDING * groups.max(axis=1, keepdims=True)
    allowed = RESOLUTION * np.maximum(np.maximum(groups, floor), 1e-9).reshape(-1)
    unseen = (np.concatenate(seen) > allowed).any(axis=1)
    return _divided(begins[unseen], widths[unseen], STEPS_OF_PIECE)


def _divided(begins: Floats, widths: Floats, steps: int) -> Floats:
    """Return the times of pieces divided into so many steps, ends included, piece by piece."""
    return np.asarray(begins[:, None] + widths[:, None] * np.linspace(0.0, 1.0, steps + 1)).ravel()


def _is_position(states: Floats) -> np.ndarray:
    """Which columns of positions, velocities and accelerations side by side are positions."""
    columns = np.arange(states.shape[1])
    return np.asarray(columns < states.shape[1] // 3)


def _off_the_line(times: Floats, reached: Floats, even: Floats, states: Floats) -> Floats:
    """Return the distances (N, n) of states from the lines between even samples."""
    row = np.clip(np.searchsorted(even, times, side='right') - 1, 0, len(even) - 2)
    part = ((times - even[row]) / (even[row + 1] - even[row]))[:, None]
    return np.asarray(np.abs(reached - (1.0 - part) * states[row] - part * states[row + 1]))
