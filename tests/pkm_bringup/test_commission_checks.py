"""Checks of the check-list on made-up samples: each passes, and each fails."""

import numpy as np
import pytest

from pkm_bringup.commissioning import graph_at_rest as graph
from pkm_bringup.commissioning import states_at_rest as states
from pkm_bringup.commissioning.check_lines import Verdict, any_failed
from pkm_description import load
from pkm_dynamics import ClosedChainModel

OK, WARNING, FAILED, SKIPPED = Verdict.OK, Verdict.WARNING, Verdict.FAILED, Verdict.SKIPPED
JOINTS = ('a', 'b')


def heard(stamps=None, names=JOINTS, age=1e-3):
    stamps = 1e-3 * np.arange(200) if stamps is None else np.asarray(stamps)
    return states.Heard(names, stamps, stamps + age, np.zeros((len(stamps), len(names))))


@pytest.mark.parametrize(
    ('names', 'verdict'),
    [
        (('a', 'b'), OK),
        (('a', 'b', 'zz'), OK),
        (('b', 'a'), WARNING),
        (('a', 'zz'), FAILED),
        (('a', 'b', 'b'), FAILED),
    ],
)
def test_names(names, verdict):
    found = states.names_and_order(JOINTS, heard(names=names))
    assert found.verdict is verdict
    assert ('zz' in found.found) == ('zz' in names)


def timing(sample, bandwidth=10.0):
    found = states.timing(sample, bandwidth, 0.1, lockstep=False)
    return {each.check: each.verdict for each in found}


def test_good_timing():
    assert timing(heard()) == {'rate': OK, 'stamps': OK, 'age': OK}
    found = states.timing(heard(), 10.0, 0.1, lockstep=True)
    assert {each.verdict for each in found} == {SKIPPED}


def test_rates():
    assert timing(heard(), bandwidth=80.0)['rate'] is WARNING
    assert timing(heard(), bandwidth=150.0)['rate'] is FAILED
    assert timing(heard(np.zeros(200)))['rate'] is FAILED
    shaken = 1e-3 * np.arange(200) + 4e-4 * (np.arange(200) % 2)
    assert timing(heard(shaken))['rate'] is WARNING


def test_stamps():
    whole = 1e-3 * np.arange(200)
    assert timing(heard(np.delete(whole, [50, 51, 90])))['stamps'] is WARNING
    assert timing(heard(np.repeat(whole, 2)))['stamps'] is WARNING
    assert timing(heard(whole + 0.2 * (whole > 0.1)))['stamps'] is FAILED
    back = whole.copy()
    back[100] = 0.05
    assert timing(heard(back))['stamps'] is FAILED


def test_age():
    assert timing(heard(age=0.06))['age'] is WARNING


@pytest.fixture(scope='module')
def model():
    return ClosedChainModel(load('palida'))


@pytest.fixture(scope='module')
def home(model):
    return np.asarray(model.home_actuators)


def test_places(model, home):
    assert [each.verdict for each in states.places(model, home)] == [OK, OK]
    beyond = home.copy()
    beyond[2] = model.upper[2] + 0.01
    found = states.places(model, beyond)
    assert found[0].verdict is FAILED
    assert model.actuated_joints[2] in found[0].found
    apart = home + np.array([50.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    assert states.places(model, apart)[1].verdict is FAILED
    assert any_failed(states.places(model, home * np.nan))


def test_noise(model, home):
    rng = np.random.default_rng(1)
    sample = home + 1e-6 * rng.standard_normal((200, 6))
    assert {each.verdict for each in states.noise(model, sample)} == {OK}
    sample[:, 1] = home[1]
    sample[:, 3] += 0.05 * rng.standard_normal(200)
    verdicts = [each.verdict for each in states.noise(model, sample)]
    assert verdicts == [OK, WARNING, OK, WARNING, OK, OK]


def test_forces():
    assert graph.forces(100, 100, 1.0, 'currents').verdict is OK
    assert graph.forces(10, 100, 1.0, 'currents').verdict is WARNING
    assert graph.forces(0, 100, 1.0, 'currents').verdict is FAILED


@pytest.mark.parametrize(
    ('senders', 'listeners', 'verdicts'),
    [
        (['us'], ['drive'], [OK, OK]),
        ([], ['drive'], [WARNING, OK]),
        (['us', 'them'], ['drive'], [FAILED, OK]),
        (['us'], [], [OK, FAILED]),
    ],
)
def test_commands(senders, listeners, verdicts):
    assert [each.verdict for each in graph.commands(senders, listeners, 'us')] == verdicts


def test_brakes_and_drives():
    assert graph.brakes(graph.Brakes(1, True)).verdict is OK
    assert graph.brakes(graph.Brakes(0, True, close='shut')).found == 'nobody listens to `shut`'
    assert graph.brakes(graph.Brakes(1, None, reports='is')).found == 'nothing heard on `is`'
    topic = 'drives/ready'
    assert graph.drives('ready', topic, True, True).verdict is OK
    assert graph.drives('ready', topic, False, False).verdict is FAILED
    assert graph.drives('homed', topic, None, True).verdict is FAILED
    assert graph.drives('homed', topic, None, False).verdict is SKIPPED


def test_controller():
    assert [each.verdict for each in graph.controller('active', True, '')] == [OK, OK]
    assert graph.controller('active', True, 'why')[1].verdict is FAILED
    assert graph.controller('inactive', False, 'why')[1].verdict is WARNING
    assert graph.controller('inactive', False, None)[1].verdict is SKIPPED
    assert graph.controller(None, False, None)[0].verdict is FAILED
