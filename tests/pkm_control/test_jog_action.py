"""The action `~/jog` and the homing of the drives, on the running graph in lockstep."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from uuid import uuid4

import numpy as np
import pytest

pytest.importorskip('rclpy')

from action_msgs.msg import GoalStatus  # noqa: E402
from laboratory import CONTROLLER, MODEL, Laboratory  # noqa: E402
from lifecycle_msgs.msg import State, Transition  # noqa: E402
from rclpy.action import ActionClient  # noqa: E402
from std_msgs.msg import Bool, String  # noqa: E402
from unique_identifier_msgs.msg import UUID  # noqa: E402

from pkm_control.control_types import ErrorCode  # noqa: E402
from pkm_description.nodes.process_line import ProcessLine  # noqa: E402
from pkm_description.nodes.qos import LATCHED  # noqa: E402
from pkm_msgs.action import Jog  # noqa: E402

pytestmark = pytest.mark.ros
LEG = MODEL.actuated_joints[2]


@pytest.fixture(scope='module')
def lab():
    with Laboratory() as lab:
        lab.jog = ActionClient(lab.tester, Jog, f'{CONTROLLER}/jog')
        lab.listen(String, f'{CONTROLLER}/ready_to_move', LATCHED)
        lab.until(lab.jog.server_is_ready)
        yield lab


def send(lab, coordinate: str, distance: float, identifier=None, **fields):
    goal = Jog.Goal(coordinate=coordinate, distance=distance, **fields)
    sent = lab.jog.send_goal_async(goal, goal_uuid=identifier)
    lab.until(sent.done)
    return sent.result()


def ended(lab, handle):
    future = handle.get_result_async()
    lab.until(future.done, 60.0)
    result, status = future.result().result, future.result().status
    code = ErrorCode(result.error_code)
    assert (status == GoalStatus.STATUS_SUCCEEDED) == (code is ErrorCode.NONE)
    return code, result


def test_one_coordinate_moves_and_the_others_stay(lab) -> None:
    lab.fresh()
    lab.pass_by(0.3)  # friction leaves what the servo has no integral for
    before = np.array(lab.loop.last_result.position)
    code, result = ended(lab, send(lab, LEG, 0.004))
    assert code is ErrorCode.NONE and result.moved == pytest.approx(0.004, abs=6e-4)
    assert list(result.name) == MODEL.actuated_joints
    change = np.array(result.position) - before
    np.testing.assert_allclose(change, np.where(np.arange(6) == 2, 0.004, 0.0), atol=6e-4)
    code, result = ended(lab, send(lab, 'z', 0.003))
    assert code is ErrorCode.NONE and result.moved == pytest.approx(0.003, abs=6e-4)


def test_what_may_not_be_is_refused_with_its_reason(lab, monkeypatch) -> None:
    lab.fresh()
    code, result = ended(lab, send(lab, 'nose', 0.001))
    assert code is ErrorCode.BAD_TRAJECTORY and LEG in result.error_msg
    code, result = ended(lab, send(lab, LEG, float('nan')))
    assert code is ErrorCode.BAD_TRAJECTORY
    handle = lab.moving(0.01)
    code, result = ended(lab, send(lab, LEG, 0.001))
    assert code is ErrorCode.BUSY
    handle.cancel_goal_async()
    lab.result(handle)
    monkeypatch.setattr(lab.controller._follow, '_opening_time', 0.0)
    lab.controller._brakes._hear(Bool(data=True))
    code, result = ended(lab, send(lab, LEG, 0.001))
    assert code is ErrorCode.DRIVES_NOT_READY and 'asked to open' in result.error_msg
    assert not lab.trigger(f'{CONTROLLER}/recover')
    lab.change(Transition.TRANSITION_DEACTIVATE)
    code, result = ended(lab, send(lab, LEG, 0.001))
    assert code is ErrorCode.NOT_ACTIVE and np.isnan(result.moved)


def test_it_is_stopped_as_any_motion(lab) -> None:
    lab.fresh()
    handle = send(lab, 'x', 0.02)
    lab.until(lambda: lab.loop.controller.busy)
    assert lab.trigger(f'{CONTROLLER}/protective_stop')
    code, result = ended(lab, handle)
    assert code is ErrorCode.PROTECTIVE_STOP and abs(result.moved) < 0.02
    lab.fresh()
    handle = send(lab, 'x', 0.02)
    lab.until(lambda: lab.loop.controller.busy)
    lab.pass_by(0.02)
    canceled = handle.cancel_goal_async()
    code, result = ended(lab, handle)
    assert canceled.done() and code is ErrorCode.CANCELED and result.moved < 0.02
    assert lab.loop.commanding


def test_the_loss_of_its_client_stops_it(lab) -> None:
    lab.fresh()
    goal = UUID(uuid=list(uuid4().bytes))
    line = ProcessLine(bytes(goal.uuid), offers=True)
    handle = send(lab, 'x', 0.05, identifier=goal, speed=0.001, heartbeat_timeout=60.0)
    lab.until(lambda: lab.loop.controller.busy)
    line.close()
    code, result = ended(lab, handle)
    assert code is ErrorCode.CLIENT_LOST and abs(result.moved) < 0.05


def test_a_client_that_falls_silent_ends_its_check(lab, monkeypatch) -> None:
    """Silent until the check is abandoned, which takes as long as it may."""
    lab.fresh()
    follow, abandoned = lab.controller._follow, threading.Event()
    worker = SimpleNamespace(
        description=follow._worker.description,
        call=lambda *_: abandoned.wait(60.0),
        abandon=abandoned.set,
    )
    monkeypatch.setattr(follow, '_worker', worker)
    code, result = ended(lab, send(lab, 'x', 0.05, heartbeat_timeout=0.05))
    assert code is ErrorCode.CLIENT_LOST and np.isnan(result.moved)


def test_drives_that_are_not_homed_keep_the_robot_inactive(lab) -> None:
    lab.fresh()
    homed = lab.tester.create_publisher(Bool, 'drives/homed', LATCHED)
    handle = lab.moving(0.01)
    homed.publish(Bool(data=False))
    code, message = lab.result(handle)
    assert code is ErrorCode.DRIVES_NOT_READY and 'not homed' in message
    heard = lab.heard[f'{CONTROLLER}/ready_to_move']
    lab.until(lambda: heard and 'not homed' in heard[-1].data)
    lab.until(lambda: lab.controller._in_state(State.PRIMARY_STATE_INACTIVE))
    assert not lab.change(Transition.TRANSITION_ACTIVATE)
    homed.publish(Bool(data=True))
    lab.until(lambda: lab.controller._safety.interlocks.of_power is None)
    assert lab.change(Transition.TRANSITION_ACTIVATE)
    lab.tester.destroy_publisher(homed)
