"""Changes of a Delta robot are found in what its online estimator says."""

from __future__ import annotations

import numpy as np
import pytest
from every_model import model_of
from online_estimates import NAME, estimates

from pkm_description.errors import EstimationError
from pkm_identification.monitoring.estimate_stream import EstimateStream
from pkm_identification.monitoring.watched_parameters import WatchedParameters
from pkm_identification.requests.estimates_request import EstimateMonitor

CHANGED = 12  # first motion with the change
ALL_DRIVES = {f'arm{k}_joint.coulomb': 0.6 for k in (1, 2, 3)}


@pytest.mark.parametrize(
    ('added', 'key', 'value'),
    [({}, None, 0.0), ({'platform.m': 0.1}, 'payload', 0.1), (ALL_DRIVES, 'common_friction', None)],
)
def test_a_change_is_found_under_its_name(added, key, value) -> None:
    """The chance of a false alarm is 1 % by its statement."""
    monitor = EstimateMonitor('online_estimator/parameters', model_of(NAME), references=6)
    for estimate in estimates(16, {CHANGED: added}):
        monitor.add(*estimate)
    found = monitor.verdict().findings
    changes = {each.detection.cause.key: each for each in (*found.changes, *found.notices)}
    assert set(changes) == ({key} if key else set())
    if key:
        shape = changes[key].shape
        # the first estimate makes no reading, six are the reference
        assert shape.first == CHANGED - 7
        assert value is None or abs(shape.value - value) < 5 * shape.deviation < value


def test_readings_add_up_to_the_estimate() -> None:
    """Information of all readings and of the first estimate is that of the last one."""
    watched = WatchedParameters.of(model_of(NAME))
    stream, heard = EstimateStream(watched, 1.0), list(estimates(4, {}))
    readings = [each for each in (stream.add(*estimate) for estimate in heard) if each]
    assert len(readings) == 3
    first, last = (np.linalg.inv(heard[place][3]) for place in (0, -1))
    told = sum(each.evidence.information for each in readings)
    count = len(heard[0][1])
    scale = np.sqrt(np.diag(last))
    apart = (told[:count, :count] - (last - first)) / np.outer(scale, scale)
    assert np.abs(apart).max() < 1e-6


def test_estimates_that_tell_nothing_are_refused() -> None:
    watched = WatchedParameters.of(model_of(NAME))
    stream = EstimateStream(watched, 1.0)
    time, names, values, covariance = next(iter(estimates(1, {})))
    with pytest.raises(EstimationError, match='those of the robot are platform.m'):
        stream.add(time, names[1:], values[1:], covariance[1:, 1:])
    with pytest.raises(EstimationError, match='memory:=0'):
        for estimate in estimates(40, {}, forgetting=0.9):
            stream.add(*estimate)
    monitor = EstimateMonitor('online_estimator/parameters', model_of(NAME))
    with pytest.raises(EstimationError, match='11 are needed'):
        monitor.verdict()
