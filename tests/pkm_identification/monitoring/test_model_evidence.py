"""Recordings against an identified model: what it holds, and what it refuses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from every_model import model_of
from monitored_recordings import Robot, recorded, write

from pkm_identification import identify
from pkm_identification.requests.monitor_request import MonitorRequest, monitor
from pkm_identification.requests.refusal import Refused

NAME, RECORDINGS = 'delta', 4


@pytest.fixture(scope='module')
def result():
    return identify(recorded(NAME, 500), model_of(NAME), 'wls')


@pytest.fixture(scope='module')
def model_file(result, tmp_path_factory):
    path = tmp_path_factory.mktemp('model') / 'model.yaml'
    result.save(path)
    return str(path)


@pytest.mark.parametrize(
    ('robot', 'key', 'value'),
    [
        (Robot(), None, 0.0),
        (Robot(added={'platform.m': 0.1}), 'payload', 0.1),
        (Robot(friction={'arm2_joint': 1.2}), 'friction arm2_joint', 0.2),
        (Robot(rotors={'arm1_joint': 1.3}), 'rotor arm1_joint', 0.006),
    ],
)
def test_a_robot_that_changed_before_the_first_recording_is_not_that_of_the_model(
    model_file, tmp_path, robot, key, value
):
    """The chance of an alarm of the healthy one is 1 % by its statement."""
    for day in range(RECORDINGS):
        write(tmp_path, day, recorded(NAME, day, robot))
    request = MonitorRequest(str(tmp_path), references=3, model_file=model_file)
    found = monitor(request, model_of(NAME))
    changes = {each.detection.cause.key: each for each in found.findings.changes}
    assert set(changes) == ({key} if key else set())
    assert found.references == 0
    if key:
        shape = changes[key].shape
        assert shape.first == 0
        assert abs(shape.value - value) < 5 * shape.deviation < abs(value)


def test_models_whose_changes_are_not_linear_are_refused(result, tmp_path):
    curved = replace(result, drive_friction=object())
    from pkm_identification.monitoring.model_evidence import require_linear

    with pytest.raises(Exception, match='not linear in parameters'):
        require_linear(curved)
    write(tmp_path, 0, recorded(NAME, 0))
    with pytest.raises(Refused):
        monitor(MonitorRequest(str(tmp_path), model_file=str(tmp_path / 'none')), model_of(NAME))


def test_what_the_model_leaves_open_has_no_part(result):
    from pkm_identification.monitoring.contrast import Evidence
    from pkm_identification.monitoring.model_evidence import model_evidence, watched_values
    from pkm_identification.monitoring.watched_parameters import WatchedParameters

    watched = WatchedParameters.of(model_of(NAME), watched_values(result))
    size = len(watched.names)
    seen = Evidence(np.eye(size), np.zeros(size), np.eye(size))
    covariance = result.covariance.copy()
    covariance[0], covariance[:, 0] = 0.0, 0.0
    covariance[0, 0] = np.inf
    found = model_evidence(replace(result, covariance=covariance), watched, seen)
    assert not found.information[0].any()
    whole = model_evidence(result, watched, seen)
    count = len(result.names)
    expected = np.linalg.inv(result.covariance)
    np.testing.assert_allclose(whole.information[:count, :count], expected, rtol=1e-6)
