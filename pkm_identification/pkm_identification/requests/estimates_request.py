"""Follow a robot by the estimates of its online estimator: what changed, since when, how sure."""

from __future__ import annotations

from datetime import datetime, timezone

import numpy as np

from pkm_description.errors import EstimationError
from pkm_dynamics import ClosedChainModel
from pkm_identification.arrays import Array
from pkm_identification.monitoring.causes import causes_of
from pkm_identification.monitoring.estimate_stream import EstimateStream, told_by_base_parameters
from pkm_identification.monitoring.watched_parameters import WatchedParameters
from pkm_identification.requests.monitor_request import (
    REFERENCES,
    Monitored,
    MonitorRequest,
    Told,
    judged,
)

EVERY = 10.0  # [s] of motion that a reading is from
# Of the largest speed: at which friction is told, as the estimates do not say how fast it moved
SPEED = 0.25
CLOCK = 'stamp'  # where the time of a reading is known from
READING = 'reading'


class EstimateMonitor:
    """Readings of `every` [s] of one robot, the first ones as reference.

    The changes that estimates of base parameters tell are looked for, with the same search as in a
    folder of recordings.
    """

    def __init__(
        self,
        topic: str,
        model: ClosedChainModel,
        references: int | None = None,
        false_alarms: float = 0.01,
        every: float = EVERY,
    ) -> None:
        self._request = MonitorRequest(topic, references or REFERENCES, false_alarms)
        self._watched = WatchedParameters.of(model)
        self._causes = told_by_base_parameters(self._watched, causes_of(self._watched))
        if not self._causes:
            raise EstimationError(
                f"robot '{model.description.name}': the base parameters of its online estimator "
                'tell no payload and no friction of one drive; follow recordings instead'
            )
        self._stream = EstimateStream(self._watched, every)
        limits = np.asarray(model.velocity_limit, dtype=float)
        self._speed = SPEED * np.where(np.isfinite(limits) & (limits > 0), limits, 1.0)
        self._told: list[Told] = []

    @property
    def readings(self) -> int:
        """Number of readings so far."""
        return len(self._told)

    @property
    def needed(self) -> int:
        """Number of readings that a verdict needs."""
        return (self._request.references or REFERENCES) + 1

    def add(self, time: float, names: list[str], values: Array, covariance: Array) -> bool:
        """Take in an estimate (r,) with its covariance (r, r); whether a reading is whole.

        Raises EstimationError as `EstimateStream.add`.
        """
        reading = self._stream.add(time, names, values, covariance)
        if reading is None:
            return False
        stamp = datetime.fromtimestamp(reading.time, timezone.utc)
        name = stamp.strftime('%H:%M:%S')
        rms = np.full(len(self._watched.model.actuated_joints), np.nan)
        self._told.append(Told(reading.time, name, CLOCK, reading.evidence, rms, self._speed))
        return True

    def verdict(self) -> Monitored:
        """Search all readings so far; EstimationError where they are too few."""
        if self.readings < self.needed:
            raise EstimationError(
                f'{self.readings} readings of the estimator; {self.needed} are needed: '
                f'{self.needed - 1} as reference and one to compare'
            )
        given = self._request, self._watched, self._causes, None, self._told
        return judged(*given, (), lambda phase, fraction: None, READING)
