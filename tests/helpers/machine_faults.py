"""More rows of the table of faults: what the machine itself and its people do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from fault_scenarios import ACTIVATE, RESEND, Happened, away, ended, fault
from laboratory import CONTROLLER, HOME, MODEL, Laboratory
from lifecycle_msgs.msg import Transition
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool

from pkm_control.control_types import ErrorCode
from pkm_control.stops import StopEvent
from pkm_description.sidecar_sections import read_workspace
from pkm_dynamics.nodes.trajectory_messages import to_message
from pkm_dynamics.trajectories import Phase, PointToPoint

REST = 'the rest of the motion'
FAR = {'max_position_error': 0.3, 'fault_position_error': 0.4}  # [m, rad]
X, Z, YAW = 0, 2, 5  # of forces and moments on the platform


def said(lab: Laboratory, publisher, handle) -> Happened:
    """The drives say that something is not so; then that it is."""
    since = len(lab.rows)
    publisher.publish(Bool(data=False))
    found = ended(lab, handle, since)
    lab.until(lambda: not lab.active)
    assert not lab.change(Transition.TRANSITION_ACTIVATE)
    publisher.publish(Bool(data=True))
    lab.until(lambda: lab.interlocks.of_power is None)
    return found


@fault('the drives say that they are not ready', StopEvent.DRIVES_NOT_READY, REST, ACTIVATE)
def drives_not_ready(lab):
    return said(lab, lab.drives, lab.moving())


@fault('the drives say that they are not homed', StopEvent.NOT_HOMED, REST, 'home them, activate')
def drives_not_homed(lab):
    return said(lab, lab.homed, lab.moving())


@fault(
    'the enabling device is released in motion',
    StopEvent.ENABLING_DEVICE,
    REST,
    'hold it, send the next goal',
)
def enabling_device_released(lab):
    handle = lab.moving()
    lab.enabling.publish(Bool(data=True))
    lab.until(lambda: lab.interlocks._held_until > 0.0)
    lab.interlocks._longest_silence, silence = 60.0, lab.interlocks._longest_silence
    lab.enabling.publish(Bool(data=True))
    lab.interlocks.has_enabling_device = True
    try:
        since = len(lab.rows)
        lab.enabling.publish(Bool(data=False))
        return ended(lab, handle, since)
    finally:
        lab.interlocks.has_enabling_device = False
        lab.interlocks._longest_silence = silence


def pushed_off(lab: Laboratory, handle, axis: int, force: float, words: str, slowly: bool = False):
    """Push the platform until the controller has noticed; its force is too small to resist."""
    body = lab.plant.mujoco_model.body('platform').id
    since = begun = len(lab.rows)
    share = 0.0 if slowly else 1.0
    while lab.phase is not Phase.STOPPING and lab.loop.last_result.fault is None:
        share = min(1.0, share + 2e-3)
        lab.plant.mujoco_data.xfrc_applied[body, axis] = share * force
        since = len(lab.rows)
        lab.pass_by()
        assert len(lab.rows) < begun + 5000
    lab.plant.mujoco_data.xfrc_applied[:] = 0.0
    found = ended(lab, handle, since)
    assert words in found.message, found.message
    return found


@fault('off its path, the platform leaves its workspace', StopEvent.WORKSPACE_LEFT, REST, RESEND)
def workspace_left(lab):
    """The path runs 2 mm below the border: the platform is beyond it when it is looked at."""
    top = np.array([HOME[X], HOME[1], read_workspace(MODEL.description).upper[Z], 0, 0, 0])
    start = top - np.array([0, 0, 2e-3, 0, 0, 0])
    way = PointToPoint([0.0, 30.0], [start, start + [0.02, 0, 0, 0, 0, 0]], 'platform')
    lab.bounds(max_position_error=0.1, fault_position_error=0.2)
    handle = lab.send(to_message(way), periods=1, approach_speed=1.0)
    lab.until(lambda: lab.phase is Phase.RUN, 60.0)
    words = 'outside of its workspace'
    return pushed_off(lab, handle, Z, 1500.0, words, slowly=True)


@fault(
    'pushed off its path, the robot would come near a singularity in spite of full braking',
    StopEvent.SINGULARITY_AHEAD,
    REST,
    ACTIVATE,
)
def singularity_ahead(lab):
    lab.bounds(**FAR)
    return pushed_off(lab, lab.moving(), YAW, 150.0, 'is exceeded after full braking')


@fault('a joint is faster than `overspeed` allows', StopEvent.OVERSPEED, REST, ACTIVATE)
def overspeed(lab):
    """The bound is lowered: no goal is that fast."""
    share = 0.05
    lab.bounds(overspeed=share)
    found = ended(lab, lab.send(), len(lab.rows))
    assert 'measured speed' in found.message
    fast = [np.any(np.abs(row.speeds) > share * MODEL.velocity_limit) for row in lab.rows]
    return replace(found, since=fast.index(True) + 1)


def restless(message: JointState) -> JointState:
    """States of a robot that stands, by sensors that live: no digit stays."""
    flip = 2e-5 * (message.header.stamp.nanosec // 1_000_000 % 2)  # every other millisecond
    message.position = [position + flip for position in message.position]
    return message


@fault(
    'the brakes do not open for a motion',
    StopEvent.TRACKING_FAULT,
    'the motion',
    'look at the brakes, ' + ACTIVATE,
)
def stuck_brakes(lab):
    lab.change(Transition.TRANSITION_DEACTIVATE)
    lab.until(lambda: lab.heard['brakes/closed'][-1].data)
    step = lab.plant.step
    lab.plant.step = lambda *_: lab.plant.hold()
    lab.undo.append(lambda: setattr(lab.plant, 'step', step))
    lab.tap = restless
    lab.until(lambda: not lab.loop.commanding)
    lab.until(lambda: lab.loop.commanding or lab.try_to_activate())
    handle, since = lab.send(to_message(away(0.1))), len(lab.rows)
    return ended(lab, handle, since)


@fault(
    'the brakes say that they are closed, though they were asked to open',
    None,
    'the goal',
    'look at the brakes, send the goal again',
    ErrorCode.DRIVES_NOT_READY,
)
def brakes_stay_closed(lab):
    """Those of the robot close by themselves, as after a timeout, and stay so for a while."""
    lab.pass_by(0.02)
    tell = lab.robot._tell_brakes
    lab.robot._tell_brakes = lambda closed: tell(True)
    lab.undo.append(lambda: setattr(lab.robot, '_tell_brakes', tell))
    lab.controller._follow._opening_time, longest = 0.1, lab.controller._follow._opening_time
    lab.undo.append(lambda: setattr(lab.controller._follow, '_opening_time', longest))
    lab.until(lambda: lab.controller._brakes.closed)
    since, code, message = len(lab.rows), *lab.result(lab.send())
    assert 'asked to open' in message
    assert message.startswith(lab.controller._what_hinders())
    return Happened(since, code, message, goes_on=True)


@fault(
    'another publisher takes a protective stop back',
    StopEvent.PROTECTIVE_STOP,
    REST,
    'the one that asked sends false, reset the stop, activate',
)
def protective_stop_of_another(lab):
    handle, since = lab.moving(), len(lab.rows)
    other = lab.tester.create_publisher(Bool, f'{CONTROLLER}/protective_stop', 10)
    lab.until(lambda: other.get_subscription_count() > 0)
    lab.protective.publish(Bool(data=True))
    found = ended(lab, handle, since)
    asking = lab.controller._safety._asking
    for _ in range(3):
        other.publish(Bool(data=False))
    lab.until(lambda: sum(not each.asking for each in asking._sources) > 0)
    assert not lab.trigger(f'{CONTROLLER}/reset_protective_stop')
    lab.tester.destroy_publisher(other)
    return found


def known(name: str, why: str) -> None:
    """No row: a test elsewhere, or nothing that happens."""
    NO_ROWS[StopEvent[name]] = why


NO_ROWS: dict[StopEvent, str] = {}
known('SUPERSEDED', 'nothing takes the place of a goal: another one is BUSY; the number stays')
known('STROKE_LEFT', "PaLiDA's workspace ends first: tests/pkm_control/test_controller.py")
known('LIMIT_AHEAD', "PaLiDA's workspace ends first: tests/pkm_control/test_supervision.py")
known('STATE_TIMEOUT', 'the rows of a silent robot process')
known('RUNAWAY', 'a drive that does so is found before: tests/pkm_control/test_controller.py')
known('WORKSPACE_AHEAD', 'beyond the bound of errors alone: tests/pkm_control/test_pose_watch.py')
# Codes that refuse a goal for what it asks, before anything moves.
REFUSALS = {ErrorCode.LEARNING: 'tests/pkm_control/test_follow_server.py'}
