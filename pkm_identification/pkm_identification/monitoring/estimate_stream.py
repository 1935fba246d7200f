"""What estimates that go on and on tell from one time to the next."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pkm_description.errors import EstimationError
from pkm_dynamics.random_motion import random_motion
from pkm_identification.arrays import Array, Mask
from pkm_identification.monitoring.causes import Cause, Kind
from pkm_identification.monitoring.contrast import Evidence
from pkm_identification.monitoring.watched_parameters import WatchedParameters

LOST = 1e-3  # of the information: so much less of any direction is no rounding
FORGETS = 3  # times in a row that information was lost: no new start, but a memory that fades
ALIKE = 1e-6  # of forces: differences below it are rounding
MOTIONS = 50  # random ones that forces are compared at


@dataclass(frozen=True)
class Reading:
    """What the motion between two estimates tells."""

    time: float  # [s] of the later one
    evidence: Evidence


class EstimateStream:
    """Differences of estimates of base parameters that take in all samples alike.

    The information of such estimates is a sum over samples, so that the difference between two is
    what the samples between them tell, and independent of all before. One reading is from `every`
    [s] of stamps or more.
    """

    def __init__(self, watched: WatchedParameters, every: float) -> None:
        self._watched, self._every = watched, every
        self._names = watched.names[: len(watched.values)]
        self._reading = _reading(watched)
        self._last: tuple[float, Array, Array] | None = None
        self._lost = 0

    def add(
        self, time: float, names: list[str], values: Array, covariance: Array
    ) -> Reading | None:
        """Take in an estimate (r,) with its covariance (r, r); a reading where one is whole.

        Raises EstimationError where the parameters are not those of the robot, or where the
        estimator forgets old samples: its information is no sum then.
        """
        if list(names) != self._names or covariance.shape != (len(names),) * 2:
            raise EstimationError(
                f'the estimates are of {", ".join(names[:3])}, ...; those of the robot are '
                f'{", ".join(self._names[:3])}, ...'
            )
        information = _information(covariance)
        if information is None:
            return None
        if self._last is None or time < self._last[0]:
            self._last = time, information, information @ values
            return None
        before, old, score = self._last
        if time - before < self._every:
            return None
        self._last = time, information, information @ values
        change = information - old
        scale = np.sqrt(np.maximum(np.diag(information), np.finfo(float).tiny))
        if np.linalg.eigvalsh(change / np.outer(scale, scale))[0] < -LOST:
            self._lost += 1
            if self._lost >= FORGETS:
                raise EstimationError(
                    'the estimator forgets old samples: start it with memory:=0, so that what is '
                    'new is told from what is known'
                )
            return None  # it began anew
        self._lost = 0
        own = information @ values - score - change @ self._watched.values
        reading = self._reading
        whole = reading.T @ change @ reading
        return Reading(time, Evidence(whole, reading.T @ own, whole))


def _information(covariance: Array) -> Array | None:
    """Inverse (r, r) of a covariance; nothing where it has none."""
    variance = np.diag(covariance)
    if not (np.isfinite(covariance).all() and (variance > 0).all()):
        return None
    scale = np.sqrt(variance)
    try:
        root = np.linalg.inv(np.linalg.cholesky(covariance / np.outer(scale, scale)))
    except np.linalg.LinAlgError:
        return None
    return np.asarray(root.T @ root / np.outer(scale, scale))


def _reading(watched: WatchedParameters) -> Array:
    """Base parameters of one design from all watched ones (r, w); drives and encoders tell none."""
    base = watched.model.base_parameters(shared=True, reduced=True)
    linear = np.asarray(base.matrix @ watched.columns)
    rest = len(watched.names) - linear.shape[1]
    return np.concatenate([linear, np.zeros((len(linear), rest))], axis=1)


def told_by_base_parameters(watched: WatchedParameters, causes: list[Cause]) -> list[Cause]:
    """Return the changes that base parameters of one design follow, by what they follow of them.

    A change of one leg of several that have parameters in common is none: all legs together would
    seem to change. Neither are those of force constants and encoders. Of a payload the mass is
    needed, its centre only where the parameters have it.
    """
    base = watched.model.base_parameters(shared=True, reduced=True)
    motion = random_motion(watched.model, MOTIONS, seed=0)
    regressor = np.asarray(watched.model.regressor(motion))
    linear = watched.columns.shape[1]

    def followed(directions: Array) -> Mask:
        change = watched.columns @ directions[:linear]
        forces = regressor @ change
        apart = forces - regressor @ (base.columns @ (base.matrix @ change))
        largest, off = (np.abs(each).max(axis=(0, 1), initial=0.0) for each in (forces, apart))
        return np.asarray((off <= ALIKE * largest) & (largest > 0.0))

    found = []
    for cause in causes:
        if cause.kind in (Kind.FORCE_CONSTANT, Kind.ENCODER):
            continue
        own = followed(cause.directions)
        needed = own[:1] if cause.kind == Kind.PAYLOAD else own
        if needed.all():
            names = tuple(name for name, told in zip(cause.names, own, strict=True) if told)
            also = cause.also[:, followed(cause.also)]
            directions = cause.directions[:, own]
            found.append(replace(cause, names=names, directions=directions, also=also))
    return found
