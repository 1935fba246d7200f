"""The one exception tree of the project.

Every error that a user can cause is a `PkmError`; its message says what is wrong,
where, and what would be right.
"""

from __future__ import annotations

from collections.abc import Iterable

NAMES_SHOWN = 8  # in a message: those of a hexapod's legs and two more
LONGEST = 2000  # characters of a message: a name out of a broken file may have millions


def listed(names: Iterable[str]) -> str:
    """Names for a message; of many the first, and how many more there are."""
    names = list(names)
    more = f' and {len(names) - NAMES_SHOWN} more' if len(names) > NAMES_SHOWN else ''
    return ', '.join(names[:NAMES_SHOWN]) + more


class PkmError(Exception):
    """Base of every error that this project raises on purpose."""

    def __str__(self) -> str:
        """Return the message; of a very long one its begin and its end."""
        text = super().__str__()
        if len(text) <= LONGEST:
            return text
        half = LONGEST // 2
        return f'{text[:half]} [... {len(text) - LONGEST} characters] {text[-half:]}'


class DescriptionError(PkmError):
    """A robot description is malformed, inconsistent or not physical."""


class UnderactuatedError(PkmError):
    """A robot with degrees of freedom that have no drive is asked to be commanded."""


class RedundantActuationError(PkmError):
    """A robot with more drives than degrees of freedom is used for what does not support it."""


class ExportError(PkmError):
    """A description cannot be written in the requested format."""


class KinematicsError(PkmError):
    """A pose or a joint configuration cannot be reached by the mechanism.

    Attributes
    ----------
    samples : numpy.ndarray
        Indices of the samples that failed, ascending; empty where it is not about samples.
    """

    def __init__(self, message: str, samples: Iterable[int] = ()) -> None:
        import numpy as np  # takes a tenth of a second, which `pkm --help` does not wait for

        super().__init__(message)
        self.samples = np.asarray(list(samples), dtype=int)


class ConvergenceError(KinematicsError):
    """A closed configuration was not found for some samples."""


class TrajectoryError(PkmError):
    """A trajectory is malformed: shapes, numbers or keys."""


class FeasibilityError(TrajectoryError):
    """A well-formed trajectory leaves a limit of the robot."""


class DatasetError(PkmError):
    """Recorded data are unreadable, incomplete or inconsistent."""


class EstimationError(PkmError):
    """An estimator cannot give a result from the data and options it got."""


class ModelFileError(PkmError):
    """A model file is unreadable or belongs to another robot."""


class SimulationError(PkmError):
    """A simulated robot cannot do what was asked of it."""


class MissingWorldError(SimulationError):
    """A simulator that a robot is to move in is not installed."""
