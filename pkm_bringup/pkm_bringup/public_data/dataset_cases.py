"""What a dataset holds: robots, levels of noise, effects; each combination is a case."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

from pkm_description.errors import DatasetError

# Hexapods with linear motors and friction in passive joints, with tubes, with long screws; three
# degrees of freedom with parallelograms and with coupled rotations; four with a hinged platform.
ROBOTS = ('palida', 'uf_pkm', 'hexel', 'delta', 'rps_upv', 'h4')
# No noise shows the bias of a method, 1 is a machine of today, 5 one with poor sensors; at 20 the
# noise of most robots is as large as their forces.
NOISE = (0.0, 1.0, 5.0, 20.0)
FORMATS = ('bag', 'csv', 'npz')
PERIODS = 10  # of the excitation
TEST_PERIODS = 2
TRAIN, TEST = 'train', 'test'
WITH, WITHOUT = 'effects', 'plain'  # names of effects on and off


@dataclass(frozen=True)
class DatasetOptions:
    """What makes a dataset."""

    robots: tuple[str, ...] = ROBOTS
    noise: tuple[float, ...] = NOISE  # times that of the descriptions
    seed: int = 0
    periods: int = PERIODS
    formats: tuple[str, ...] = FORMATS

    def __post_init__(self) -> None:
        """Refuse what is named twice, and fewer periods than show their noise."""
        for name in ('robots', 'noise', 'formats'):
            values = getattr(self, name)
            if not values or len(set(values)) < len(values):
                raise DatasetError(f'--{name} must name at least one, each once: {values}')

    @property
    def cases(self) -> list[Case]:
        """All cases: of each robot without effects, then with them, by noise."""
        return [
            Case(robot, noise, effects)
            for robot in self.robots
            for effects in (False, True)
            for noise in self.noise
        ]

    def to_dict(self) -> dict[str, object]:
        """Return plain values."""
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in asdict(self).items()
        }


@dataclass(frozen=True)
class Case:
    """One recording to estimate from, and one of another motion."""

    robot: str
    noise: float  # times that of the description
    effects: bool  # Stribeck friction and cogging of the drives

    @property
    def name(self) -> str:
        """Name of its files."""
        return f'{self.robot}_noise{self.noise:g}_{self.condition}'

    @property
    def condition(self) -> str:
        """Name of what the robot does beside its model."""
        return WITH if self.effects else WITHOUT

    def to_dict(self) -> dict[str, object]:
        """Return plain values."""
        return asdict(self)


def drawing(seed: int, what: str) -> np.random.Generator:
    """Return random numbers of their own for each thing that is drawn.

    What else a dataset holds does not change them.
    """
    return np.random.default_rng([seed, zlib.crc32(what.encode())])


def require_known(names: Sequence[str], known: Sequence[str], what: str) -> None:
    """Raise DatasetError for a name that is not known."""
    for name in names:
        if name not in known:
            raise DatasetError(f"unknown {what} '{name}'; valid are {', '.join(known)}")
