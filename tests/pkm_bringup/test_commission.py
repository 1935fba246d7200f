"""`pkm commission` beside a simulated robot: what it finds, and the first moves."""

import json

import numpy as np
import pytest

pytest.importorskip('rclpy')

from laboratory import CONTROLLER, MODEL, Laboratory  # noqa: E402
from lifecycle_msgs.msg import Transition  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402

from pkm_bringup import cli  # noqa: E402
from pkm_bringup.commissioning.check_lines import Verdict, failed  # noqa: E402
from pkm_bringup.nodes import commission_client, commission_moves, lifeline  # noqa: E402
from pkm_bringup.nodes.commission_client import CommissionClient  # noqa: E402
from pkm_bringup.nodes.commission_moves import CommissionMoves  # noqa: E402
from pkm_bringup.nodes.graph_client import GraphError  # noqa: E402

pytestmark = pytest.mark.ros
ENOUGH, LONGEST = 200, 60.0  # states, [s]


@pytest.fixture(scope='module')
def laboratory():
    with Laboratory() as laboratory:
        laboratory.fresh()
        yield laboratory


def findings(laboratory):
    def live():
        for _ in range(20):
            laboratory.executor.spin_once(timeout_sec=0.0)

    with CommissionClient(MODEL, check=live) as client:
        # A state is always followed by what the graph says: its own topics come within those.
        found = client.listen(LONGEST, lambda: len(client.states) >= ENOUGH)
    return {each.check: each for each in found}


def first_moves(laboratory, monkeypatch, active, gone=np.inf):
    """Lines of the first moves; the robot takes some steps each time that the client waits."""

    def live():
        end = len(laboratory.rows) + 10
        for _ in range(100):
            laboratory.executor.spin_once(timeout_sec=0.0)
            if len(laboratory.rows) >= end:
                break

    for name, value in (('HEARTBEAT_TIMEOUT', 0.0), ('GONE', gone)):  # lockstep knows no clock
        monkeypatch.setattr(lifeline, name, value)
    for name, value in (('DISTANCE', 4e-3), ('HOLD', 0.2), ('PATIENCE', 1.0)):
        monkeypatch.setattr(commission_moves, name, value)
    with CommissionClient(MODEL, check=live) as client:
        found = CommissionMoves(client, lambda what: None).run(active)
    return {each.check: each for each in found}


def failures(found):
    return {name for name, each in found.items() if each.verdict is Verdict.FAILED}


def test_all_is_well(laboratory):
    found = findings(laboratory)
    bad = [each for each in found.values() if each.verdict in (Verdict.FAILED, Verdict.WARNING)]
    assert not bad
    for check in ('joints', 'strokes', 'loops', 'currents or forces', 'takers of commands'):
        assert found[check].verdict is Verdict.OK
    assert found['controller'].found == 'active'


def test_silent_currents(laboratory, monkeypatch):
    publisher = laboratory.robot._output._motor_publisher
    monkeypatch.setattr(publisher, 'publish', lambda _: None)
    assert failures(findings(laboratory)) == {'currents or forces'}


def test_a_missing_joint(laboratory, monkeypatch):
    monkeypatch.setattr(MODEL, 'actuated_joints', (*MODEL.actuated_joints[:-1], 'other'))
    found = findings(laboratory)
    assert failures(found) == {'joints'}
    assert 'other' in found['joints'].found


def test_the_first_moves_of_a_sound_robot(laboratory, monkeypatch):
    laboratory.fresh()
    bounds = laboratory.loop.controller.options
    found = first_moves(laboratory, monkeypatch, active=True)
    assert found.pop('brakes bear the robot').verdict is Verdict.SKIPPED  # lockstep: no states then
    bad = [each for each in found.values() if each.verdict in (Verdict.FAILED, Verdict.WARNING)]
    assert not bad
    kinds = ('way', 'load', 'friction', 'measured force')
    lines = {f'{kind} of {name}' for kind in kinds for name in MODEL.actuated_joints}
    assert found.keys() == {'forces at rest', *lines, 'stop'}
    assert laboratory.active and laboratory.loop.controller.options == bounds
    away = np.abs(laboratory.rows[-1].legs - MODEL.home_actuators)
    assert away.max() < 1e-3


def test_the_first_moves_with_a_drive_that_pushes_the_wrong_way(laboratory, monkeypatch):
    laboratory.fresh()
    bounds = laboratory.loop.controller.options
    assert laboratory.change(Transition.TRANSITION_DEACTIVATE)
    laboratory.until(lambda: not laboratory.active)
    laboratory.drive = lambda forces: forces * np.array([1.0, 1.0, -1.0, 1.0, 1.0, 1.0])
    found = first_moves(laboratory, monkeypatch, active=False)
    assert failures(found) == {'controller'}
    assert 'leg3_strut: the drive answers' in found['controller'].found
    assert laboratory.loop.controller.options == bounds
    away = np.abs(laboratory.rows[-1].legs - MODEL.home_actuators)
    assert away.max() < 0.03  # until the drive is found out


def test_a_failed_move_ends_the_list_with_the_controller_inactive(laboratory, monkeypatch):
    laboratory.fresh()
    bounds = laboratory.loop.controller.options
    failing = failed('servo at rest', 'too much', '')
    monkeypatch.setattr(commission_moves.first_moves, 'hold', lambda *_: failing)
    found = first_moves(laboratory, monkeypatch, active=True)
    assert list(found.values()) == [failing]
    assert not laboratory.active and laboratory.loop.controller.options == bounds


def test_an_interrupt_leaves_the_controller_inactive(laboratory, monkeypatch):
    laboratory.fresh()
    bounds = laboratory.loop.controller.options

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(commission_moves.first_moves, 'axis_moves', interrupted)
    with pytest.raises(KeyboardInterrupt):
        first_moves(laboratory, monkeypatch, active=True)
    assert not laboratory.active and laboratory.loop.controller.options == bounds


def test_a_controller_that_falls_silent_in_a_move(laboratory, monkeypatch):
    laboratory.fresh()
    bounds = laboratory.loop.controller.options
    with pytest.raises(GraphError, match="'trajectory_controller' is gone or silent"):
        first_moves(laboratory, monkeypatch, active=True, gone=-1.0)
    assert not laboratory.active and laboratory.loop.controller.options == bounds


def test_the_verb_without_a_robot(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(commission_client, 'PATIENCE', 0.1)
    file = tmp_path / 'list.json'
    words = ['commission', 'palida', '--time', '0.1', '--json', '--output', str(file)]
    for option in ('--joint-states', '--motor-currents', '--effort-commands'):
        words += [option, 'nobody/there']
    for option in ('--brakes-close', '--brakes-closed', '--drives-ready', '--drives-homed'):
        words += [option, option.strip('-').replace('-', '/nobody/')]
    assert cli.main(words) == 1
    result = json.loads(capsys.readouterr().out)
    assert result == json.loads(file.read_text())
    assert not result['passed']
    assert {'states', 'currents or forces', 'takers of commands', 'controller'} <= {
        each['check'] for each in result['checks'] if each['verdict'] == 'failed'
    }
    found = {each['check']: each['found'] for each in result['checks']}
    assert found['brakes'] == 'nobody listens to `brakes/nobody/close`'
    assert found['drives homed'] == 'nobody publishes `drives/nobody/homed`'
    assert cli.main(words) == 1  # the file is there


def test_a_robot_in_a_namespace(laboratory):
    """All that is heard and asked there; the one outside is another robot."""
    with CommissionClient(MODEL, namespace='/left/') as client:
        node = client.node
        assert node.get_fully_qualified_name() == '/left/pkm_commission'
        service = node.resolve_service_name(f'{CONTROLLER}/get_state')
        assert service == f'/left/{CONTROLLER}/get_state'
        states = laboratory.tester.create_publisher(JointState, '/left/joint_states', 10)
        laboratory.until(lambda: states.get_subscription_count() > 0)
        states.publish(JointState(name=['left']))
        client.hear(60.0, lambda: bool(client.states))
        assert [each.name for _, each in client.states] == [['left']]
        laboratory.tester.destroy_publisher(states)


def test_a_topic_that_cannot_be(capsys):
    assert cli.main(['commission', 'palida', '--joint-states', 'not-a/topic']) == 1
    assert "'not-a/topic'" in capsys.readouterr().err
    assert cli.main(['commission', 'palida', '--namespace', 'not-one']) == 1
    assert "'not-one' is no namespace" in capsys.readouterr().err
