"""Changes of a Delta robot are found in what single recordings tell, each under its name."""

import numpy as np
import pytest
from every_model import model_of
from monitored_recordings import Robot, recorded

from pkm_description.errors import EstimationError
from pkm_identification.monitoring.causes import causes_of
from pkm_identification.monitoring.change_search import Search, spreads_of
from pkm_identification.monitoring.contrast import Evidence
from pkm_identification.monitoring.findings import findings
from pkm_identification.monitoring.observation import observe, reference_values
from pkm_identification.monitoring.watched_parameters import WatchedParameters
from pkm_identification.signals import SignalOptions

NAME, OPTIONS, REFERENCES = 'delta', SignalOptions(), 6
SPEEDS = np.full(3, 2.0)  # [rad/s]


@pytest.fixture(scope='module')
def watched():
    model = model_of(NAME)
    return WatchedParameters.of(model, reference_values([recorded(NAME, 0)], model, OPTIONS))


@pytest.fixture(scope='module')
def references(watched):
    return [told(seed, watched) for seed in range(REFERENCES)]


def told(seed, watched, robot=None):
    found = observe(recorded(NAME, seed, robot), watched, OPTIONS)
    return Evidence(*map(np.asarray, (found.information, found.score, found.spread)))


def test_the_columns_of_drives_and_encoders_are_derivatives(watched):
    model = model_of(NAME)
    random = np.random.default_rng(0)
    seen = recorded(NAME, 3)
    positions = seen.positions[::400]
    states = (positions, *random.normal(size=(2, *positions.shape)))
    parameters, step = watched.standard_values, 1e-4
    for axis, joint in enumerate(model.actuated_joints):
        moved = [positions + sign * step * np.eye(3)[axis] for sign in (1, -1)]
        forces = [
            model.inverse_dynamics(model.motion_from_actuators(each, *states[1:]), parameters)
            for each in moved
        ]
        columns = watched.regressor(model.motion_from_actuators(*states))
        encoder = columns[..., watched.index[f'{joint}.encoder_offset']]
        numeric = (forces[0] - forces[1]) / (2 * step)
        np.testing.assert_allclose(encoder, numeric, atol=1e-5 * np.abs(numeric).max())


@pytest.mark.parametrize(
    ('robot', 'key', 'value'),
    [
        (Robot(), None, 0.0),
        (Robot(added={'platform.m': 0.1}), 'payload', 0.1),
        (Robot(friction={'arm2_joint': 3.0}), 'friction arm2_joint', 2.0),
        (Robot(rotors={'arm2_joint': 1.5}), 'rotor arm2_joint', 0.01),
        (Robot(constants={'arm1_joint': 0.95}), 'force_constant arm1_joint', -0.05),
        (Robot(encoders={'arm3_joint': 0.02}), 'encoder arm3_joint', 0.02),
        (Robot(friction={f'arm{k}_joint': 0.5 for k in (1, 2, 3)}), 'common_friction', -0.5),
    ],
)
def test_a_change_is_found_under_its_name(watched, references, robot, key, value):
    causes = causes_of(watched)
    search = Search(causes, Evidence.of(references), spreads_of(causes, references), 1e-3)
    series = [told(100 + number, watched, robot) for number in range(2)]
    found = findings(search, watched, references, series, SPEEDS)
    changes = {each.detection.cause.key: each for each in (*found.changes, *found.notices)}
    assert set(changes) == ({key} if key else set())
    if key:
        shape = changes[key].shape
        assert abs(shape.value - value) < 5 * shape.deviation
        assert shape.deviation < 0.2 * abs(value)
        assert bool(found.notices) == (key == 'common_friction')


def test_a_robot_at_rest_tells_nothing(watched):
    still = recorded(NAME, 1)
    still = still.changed(positions=np.tile(still.positions[:1], (len(still), 1)))
    with pytest.raises(EstimationError):
        observe(still, watched, OPTIONS)
