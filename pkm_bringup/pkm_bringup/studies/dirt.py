"""Defects that recordings of real robots have, put into simulated ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pkm_description.errors import EstimationError
from pkm_identification.datasets import Recording

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
LATEST = 0.45  # [1] of an interval, for the rare instants that are later
MOST_JITTER = 0.15  # [1] three standard deviations and more before samples change places
MOST = 0.3  # [1] share of samples
Sampler = Callable[[Array], tuple[Array, Array]]


@dataclass(frozen=True)
class Dirt:
    """What is wrong with a recording, and how much.

    Attributes
    ----------
    jitter
        Standard deviation of the sampling instants, in intervals; stamps tell them.
    lost
        Share of the samples that are missing.
    outliers
        Share of the positions and of the efforts, of each joint, that are wrong.
    size
        Least and most of an outlier, in standard deviations of the noise.
    stuck
        For how long one position sensor stands still [s].
    """

    jitter: float = 0.1
    lost: float = 0.02
    outliers: float = 0.005
    size: tuple[float, float] = (15.0, 100.0)
    stuck: float = 0.05

    def __post_init__(self) -> None:
        """Check the values."""
        if not 0 <= self.jitter <= MOST_JITTER:
            raise EstimationError(
                f'jitter of {self.jitter:g} intervals would exchange samples; valid are 0 to '
                f'{MOST_JITTER:g}'
            )
        for name in ('lost', 'outliers'):
            if not 0 <= getattr(self, name) <= MOST:
                raise EstimationError(
                    f'a share of {getattr(self, name):g} {name} leaves no recording to examine; '
                    f'valid are 0 to {MOST:g}'
                )
        if not 0 < self.size[0] <= self.size[1]:
            raise EstimationError(
                f'size of the outliers: {self.size[0]:g} to {self.size[1]:g} is no range'
            )


@dataclass(frozen=True)
class Dirty:
    """A dirty recording and what was done to it.

    Attributes
    ----------
    dataset
        The recording.
    position_outliers, effort_outliers, stuck
        Bad samples (N, n_a).
    lost
        Number of lost samples.
    """

    dataset: Recording
    position_outliers: Flags = field(repr=False)
    effort_outliers: Flags = field(repr=False)
    stuck: Flags = field(repr=False)
    lost: int


def soil(
    sample: Sampler, clean: Recording, noise: tuple[Array, Array], dirt: Dirt, seed: int
) -> Dirty:
    """Record the same motion as a clean dataset, with its noise, through bad equipment.

    Parameters
    ----------
    sample
        Positions and efforts (N, n_a) without noise at any instants (N,) [s].
    clean
        Evenly sampled, with noise, from 0 s on.
    noise
        Standard deviations (n_a,) of positions and of efforts.
    dirt
        How bad.
    seed
        Of what is hit.
    """
    assert clean.efforts is not None
    random = np.random.default_rng(seed)
    count, axes = clean.positions.shape
    even, interval = np.array(clean.time), clean.interval
    late = np.clip(dirt.jitter * random.normal(size=count), -LATEST, LATEST)
    time = even + interval * late
    exact, jittered = sample(even), sample(time)
    positions, efforts = (
        np.array(jittered[k] + measured - exact[k])
        for k, measured in enumerate((clean.positions, clean.efforts))
    )
    hit = []
    for values, deviation in ((positions, noise[0]), (efforts, noise[1])):
        wrong = random.random((count, axes)) < dirt.outliers
        size = random.uniform(*dirt.size, (count, axes)) * random.choice([-1, 1], (count, axes))
        values += wrong * size * deviation
        hit.append(wrong)
    stuck = np.zeros((count, axes), dtype=bool)
    length = round(dirt.stuck / interval)
    if length > count // 2:
        raise EstimationError(
            f'a sensor that stands still for {dirt.stuck:g} s leaves no recording of '
            f'{count * interval:g} s to examine'
        )
    if length > 1:
        begin, joint = int(random.integers(count // 10, count - length)), random.integers(axes)
        positions[begin : begin + length, joint] = positions[begin, joint]
        stuck[begin + 1 : begin + length, joint] = True
        hit[0][stuck] = False
    kept = random.random(count) >= dirt.lost
    dataset = clean.changed(time=time[kept], positions=positions[kept], efforts=efforts[kept])
    return Dirty(
        dataset, hit[0][kept], hit[1][kept], stuck[kept], int(count - np.count_nonzero(kept))
    )
