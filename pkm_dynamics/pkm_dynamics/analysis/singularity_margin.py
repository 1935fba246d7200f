"""Distance to singularities along a motion, between its samples too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

from pkm_description.errors import ConvergenceError
from pkm_dynamics.analysis.singularities import (
    MEASURES,
    Singularities,
    singularities,
    singularities_of_joints,
)

if TYPE_CHECKING:
    from pkm_dynamics.model import ClosedChainModel
    from pkm_dynamics.motion import PlatformMotion

Floats = NDArray[np.float64]

_ROUNDS = 3
_POINTS = 9  # between two samples, in each round


@dataclass(frozen=True)
class SingularityMargin:
    """Smallest measures along a motion.

    Attributes
    ----------
    along : Singularities
        Of the samples.
    smallest : Mapping[str, float]
        By measure (`parallel`, `serial`, `constraint`, `passive`): its minimum, between
        the samples too; 0 at a singularity, at most 1 (`constraint` and `passive`: about
        1 where the mechanism is as good as at home).
    where : Mapping[str, float]
        By measure: index of the minimum, with a fraction between two samples.
    """

    along: Singularities
    smallest: Mapping[str, float]
    where: Mapping[str, float]

    @property
    def worst(self) -> str:
        """The measure that comes closest to 0."""
        return min(self.smallest, key=lambda name: self.smallest[name])

    def __str__(self) -> str:
        name = self.worst
        return f'{name} {self.smallest[name]:.3g} at sample {self.where[name]:.2f}'


def singularity_margin(
    model: ClosedChainModel,
    motion: PlatformMotion,
    length: float | None = None,
    output: str = 'pose',
) -> SingularityMargin:
    """Smallest distance of a motion to each kind of singularity.

    The minimum over the samples is refined on the cubic spline of the actuator positions
    through the samples, around the worst one. `length` and `output` as in `singularities`.
    """
    motion = model.with_joint_states(motion)
    along = singularities(model, motion, length, output)
    smallest, where = {}, {}
    for name in MEASURES:
        values = getattr(along, name)
        index = int(np.argmin(values))
        smallest[name], where[name] = float(values[index]), float(index)
        if len(motion) > 2:
            found = _between(model, motion, name, index, length, output)
            if found[0] < smallest[name]:
                smallest[name], where[name] = found
    return SingularityMargin(along, smallest, where)


def _between(
    model: ClosedChainModel,
    motion: PlatformMotion,
    name: str,
    index: int,
    length: float | None,
    output: str,
) -> tuple[float, float]:
    """Minimum of a measure and its place on the spline around a sample."""
    near = slice(max(index - 3, 0), min(index + 4, len(motion)))
    q = model.actuator_states(motion[near]).positions
    spline = CubicSpline(np.arange(near.start, near.stop), q)
    low, high = max(index - 1, 0), min(index + 1, len(motion) - 1)
    start, best = motion[index : index + 1], (np.inf, float(index))
    centre, width = 0.5 * (low + high), 0.5 * (high - low)
    for _ in range(_ROUNDS):
        places = np.clip(centre + width * np.linspace(-1.0, 1.0, _POINTS), low, high)
        try:
            still = np.zeros((_POINTS, model.n_a))
            # Out from the known sample, so that each point starts at a neighbour.
            order = np.argsort(np.abs(places - index))
            there = model.motion_from_actuators(spline(places[order]), still, still, start)
        except ConvergenceError:
            return 0.0, float(index)  # the way between two samples leads through a singularity
        assert there.joint_positions is not None
        values = getattr(
            singularities_of_joints(
                model, there.joint_positions, there.position, there.rotation, length, output
            ),
            name,
        )
        k = int(np.argmin(values))
        if values[k] < best[0]:
            best = (float(values[k]), float(places[order][k]))
        centre, width = best[1], width * 2.0 / (_POINTS - 1)
    return best
