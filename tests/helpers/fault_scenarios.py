"""What can go wrong with a moving robot: how it is made to happen, and what must follow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from uuid import uuid4

import numpy as np
from laboratory import CONTROLLER, HOME, LONGEST, MODEL, Laboratory
from lifecycle_msgs.msg import Transition
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool, Float64, Float64MultiArray
from unique_identifier_msgs.msg import UUID

from pkm_control.control_types import ErrorCode
from pkm_control.stops import StopEvent
from pkm_description.nodes.process_line import ProcessLine
from pkm_dynamics.nodes.trajectory_messages import to_message
from pkm_dynamics.trajectories import FourierTrajectory, Phase, PointToPoint
from pkm_msgs.msg import DynamicParameters
from pkm_msgs.srv import SetModel

NONE = 'goes on'


@dataclass(frozen=True)
class Happened:
    """What a scenario saw."""

    since: int  # row of the plant after which it happened
    code: ErrorCode | str  # of the goal, or of the answer to a request
    message: str = ''
    goes_on: bool = False  # the motion is not disturbed


@dataclass(frozen=True)
class Fault:
    """One row of the table."""

    what: str
    event: StopEvent | None  # None where the robot goes on
    lost: str
    go_on: str
    scenario: Callable[[Laboratory], Happened]
    code: ErrorCode | str

    @property
    def name(self) -> str:
        return self.scenario.__name__


FAULTS: list[Fault] = []
RESEND = 'send the next goal'
ACTIVATE = 'activate the controller, send the goal again'
MEND = 'mend the cause, activate the controller'


def fault(what, event, lost, go_on, code=None):
    """Register a scenario."""

    def add(scenario):
        own = event.code if code is None and event is not None else code
        FAULTS.append(Fault(what, event, lost, go_on, scenario, own))
        return scenario

    return add


def ended(lab: Laboratory, handle, since: int) -> Happened:
    return Happened(since, *lab.result(handle))


def undisturbed(lab: Laboratory, handle, since: int, code, message: str = '') -> Happened:
    """The motion goes on for a while; then it is canceled."""
    lab.pass_by(0.15)
    assert lab.phase is Phase.RUN
    canceled = handle.cancel_goal_async()
    lab.until(canceled.done)
    assert lab.result(handle)[0] is ErrorCode.CANCELED
    return Happened(since, code, message, goes_on=True)


def cancel(lab: Laboratory, handle) -> Happened:
    since = len(lab.rows)
    handle.cancel_goal_async()
    return ended(lab, handle, since)


# -- people and clients -------------------------------------------------------------


@fault('the goal is canceled at full speed', StopEvent.CANCEL, 'the rest of the motion', RESEND)
def cancel_in_run(lab):
    return cancel(lab, lab.moving())


@fault('the goal is canceled in the approach', StopEvent.CANCEL, 'the motion', RESEND)
def cancel_in_approach(lab):
    handle = lab.send(to_message(away(0.05)))
    lab.until(lambda: lab.phase is Phase.APPROACH)
    lab.pass_by(0.06)
    return cancel(lab, handle)


@fault('the goal is canceled in the ramp', StopEvent.CANCEL, 'the motion', RESEND)
def cancel_in_ramp(lab):
    handle = lab.send()
    lab.until(lambda: lab.phase is Phase.RAMP_IN)
    lab.pass_by(0.15)
    return cancel(lab, handle)


@fault('the goal is canceled before its first cycle', StopEvent.CANCEL, 'the motion', RESEND)
def cancel_at_once(lab):
    return cancel(lab, lab.send())


@fault(
    'the client of a goal with a heartbeat is gone',
    StopEvent.CLIENT_LOST,
    'the rest of the motion',
    RESEND,
)
def client_gone(lab):
    goal = UUID(uuid=list(uuid4().bytes))
    line = ProcessLine(bytes(goal.uuid), offers=True)
    handle = lab.send(identifier=goal, heartbeat_timeout=LONGEST)
    lab.until(lambda: lab.phase is Phase.RUN, LONGEST)
    lab.pass_by(0.1)
    since = len(lab.rows)
    line.close()  # as the kernel does
    return ended(lab, handle, since)


@fault('a second goal comes in motion', None, 'the second goal', RESEND, ErrorCode.BUSY)
def second_goal(lab):
    handle, since = lab.moving(), len(lab.rows)
    return undisturbed(lab, handle, since, *lab.result(lab.send()))


@fault(
    'the controller is deactivated in motion',
    StopEvent.DEACTIVATION,
    'the rest of the motion',
    ACTIVATE,
)
def deactivated_in_motion(lab):
    handle, since = lab.moving(), len(lab.rows)
    assert lab.change(Transition.TRANSITION_DEACTIVATE)
    return ended(lab, handle, since)


@fault('the controller is deactivated at rest', StopEvent.DEACTIVATION, 'nothing', ACTIVATE, '')
def deactivated_at_rest(lab):
    lab.pass_by(0.05)
    since = len(lab.rows)
    assert lab.change(Transition.TRANSITION_DEACTIVATE)
    return Happened(since, '')


@fault('clean-up is asked for while active', None, 'nothing', 'deactivate first', 'refused')
def clean_up_while_active(lab):
    handle, since = lab.moving(), len(lab.rows)
    assert not lab.change(Transition.TRANSITION_CLEANUP)
    return undisturbed(lab, handle, since, 'refused')


@fault(
    'a protective stop by topic, in motion',
    StopEvent.PROTECTIVE_STOP,
    'the rest of the motion',
    'send false, reset the stop, activate',
)
def protective_topic(lab):
    handle, since = lab.moving(), len(lab.rows)
    lab.protective.publish(Bool(data=True))
    found = ended(lab, handle, since)
    lab.until(lambda: not lab.active)
    assert not lab.trigger(f'{CONTROLLER}/reset_protective_stop')  # the topic still says so
    assert not lab.change(Transition.TRANSITION_ACTIVATE)
    return found


@fault(
    'a protective stop by service, in motion',
    StopEvent.PROTECTIVE_STOP,
    'the rest of the motion',
    'reset the stop, activate',
)
def protective_service(lab):
    handle, since = lab.moving(), len(lab.rows)
    assert lab.trigger(f'{CONTROLLER}/protective_stop')
    found = ended(lab, handle, since)
    lab.until(lambda: not lab.active)
    assert not lab.change(Transition.TRANSITION_ACTIVATE)
    return found


@fault(
    'a protective stop at rest',
    StopEvent.PROTECTIVE_STOP,
    'nothing',
    'reset the stop, activate',
    '',
)
def protective_at_rest(lab):
    lab.pass_by(0.05)
    since = len(lab.rows)
    assert lab.trigger(f'{CONTROLLER}/protective_stop')
    lab.until(lambda: not lab.loop.commanding)
    return Happened(since, '')


@fault(
    'the speed override is not a number, or above 1',
    None,
    'nothing',
    'send a rate from 0 to 1',
    'refused',
)
def bad_override(lab):
    handle, since = lab.moving(), len(lab.rows)
    for rate in (np.nan, np.inf, 1.5, -0.1):
        lab.override.publish(Float64(data=rate))
    lab.pass_by(0.1)
    assert lab.loop.last_result.rate == 1.0
    return undisturbed(lab, handle, since, 'refused')


@fault('the speed override falls to zero', None, 'time', 'raise the override', NONE)
def paused(lab):
    handle, since = lab.moving(), len(lab.rows)
    lab.override.publish(Float64(data=0.0))
    lab.until(lambda: lab.loop.last_result.rate == 0.0)
    lab.pass_by(0.1)
    assert lab.stands
    lab.override.publish(Float64(data=1.0))
    lab.until(lambda: lab.loop.last_result.rate == 1.0)
    return undisturbed(lab, handle, since, NONE)


# -- goals and models ---------------------------------------------------------------


def away(size: float, coordinate: int = 2) -> FourierTrajectory:
    """Sines about a pose elsewhere."""
    offset = size * np.eye(6)[coordinate]
    sines = 0.01 * np.ones((6, 1))
    return FourierTrajectory(0.8, HOME + offset, sines, np.zeros((6, 1)), robot='palida')


@fault('a goal leaves a limit', None, 'the goal', 'mend the goal', ErrorCode.INFEASIBLE)
def infeasible(lab):
    lab.pass_by(0.02)
    since = len(lab.rows)
    return Happened(since, *lab.result(lab.send(to_message(away(0.25)))), goes_on=True)


@fault('a goal is malformed', None, 'the goal', 'mend the goal', ErrorCode.BAD_TRAJECTORY)
def malformed(lab):
    lab.pass_by(0.02)
    since = len(lab.rows)
    return Happened(since, *lab.result(lab.send(ramp_time=float('nan'))), goes_on=True)


@fault('a goal of another robot', None, 'the goal', 'send it to that robot', ErrorCode.WRONG_ROBOT)
def other_robot(lab):
    lab.pass_by(0.02)
    message = to_message(away(0.0))
    message.robot = 'delta'
    return Happened(len(lab.rows), *lab.result(lab.send(message)), goes_on=True)


@fault(
    'a goal while the controller is inactive',
    None,
    'the goal',
    'activate the controller',
    ErrorCode.NOT_ACTIVE,
)
def inactive_goal(lab):
    lab.pass_by(0.02)
    lab.change(Transition.TRANSITION_DEACTIVATE)
    return Happened(len(lab.rows), *lab.result(lab.send()), goes_on=True)


def model_request(values, names=None, robot='palida') -> dict:
    parameters = DynamicParameters(
        robot=robot,
        description_digest=MODEL.description.digest,
        standard_name=list(MODEL.parameter_names) if names is None else names,
        standard_value=np.asarray(values, dtype=float).tolist(),
    )
    return {'source': 'identified', 'parameters': parameters}


def refused_model(lab: Laboratory, code: int, **fields) -> Happened:
    handle, since = lab.moving(), len(lab.rows)
    answer = lab.set_model(**fields)
    assert not answer.success and answer.error_code == code
    return undisturbed(lab, handle, since, 'refused', answer.error_msg)


@fault('set_model in motion: another robot', None, 'the model', 'take the right file', 'refused')
def model_of_another(lab):
    fields = model_request(MODEL.nominal_parameters, robot='delta')
    return refused_model(lab, SetModel.Response.WRONG_ROBOT, **fields)


@fault('set_model in motion: a negative mass', None, 'the model', 'use feasible', 'refused')
def model_not_physical(lab):
    values = np.array(MODEL.nominal_parameters)
    values[MODEL.parameter_names.index('platform.m')] = -1.0
    fields = model_request(values)
    return refused_model(lab, SetModel.Response.NOT_PHYSICAL, **fields)


@fault('set_model in motion: a parameter is missing', None, 'the model', 'mend it', 'refused')
def model_incomplete(lab):
    names = list(MODEL.parameter_names)[1:]
    fields = model_request(MODEL.nominal_parameters[1:], names)
    return refused_model(lab, SetModel.Response.WRONG_PARAMETERS, **fields)


@fault(
    'set_model in motion: ten times the masses',
    None,
    'the model',
    'look at the model, or raise max_model_difference',
    'refused',
)
def model_too_heavy(lab):
    values = np.array(MODEL.nominal_parameters)
    values[MODEL.parameter_mask('rigid_body')] *= 10.0
    return refused_model(lab, SetModel.Response.TOO_DIFFERENT, **model_request(values))


@fault('set_model in motion: no model any more', None, 'nothing', 'nothing to do', NONE)
def model_taken_away(lab):
    handle, since = lab.moving(), len(lab.rows)
    before = lab.loop.last_result.command
    assert lab.set_model(source='none').success
    steps = []
    for _ in range(60):
        lab.pass_by()
        steps.append(np.abs(lab.loop.last_result.command - before).max())
        before = lab.loop.last_result.command
    assert max(steps) < 30.0  # [N] a cycle, of 230: it fades
    return undisturbed(lab, handle, since, NONE)


@fault(
    "an identified model's force leaves `max_model_difference` on the way",
    None,
    'what is beyond',
    'look at the model',
    NONE,
)
def model_leaves_its_bound(lab):
    answer = lab.set_model(**model_request(1.5 * MODEL.nominal_parameters))
    assert answer.success
    free = lab.loop.controller.feedforward
    narrow = replace(free.bound, width=0.05 * np.asarray(MODEL.force_limit))
    lab.loop.controller.feedforward = replace(free, bound=narrow)
    handle, since = lab.moving(), len(lab.rows)
    lab.until(lambda: bool(lab.loop.last_result.bounded.any()), 60.0)
    assert lab.loop.statistics.bounded > 0
    return undisturbed(lab, handle, since, NONE)


# -- joint states ---------------------------------------------------------------------


def tapped(lab: Laboratory, change: Callable[[JointState], JointState | None]) -> Happened:
    handle, since = lab.moving(), len(lab.rows)
    lab.tap = change
    return ended(lab, handle, since)


def moved(message: JointState, joint: int, by: float) -> JointState:
    position = list(message.position)
    position[joint] += by
    message.position = position
    return message


LOST = 'the rest of the motion; the force, until the brakes bear the robot'


@fault('a position is not a number', StopEvent.BAD_STATE, LOST, MEND)
def position_nan(lab):
    return tapped(lab, lambda message: moved(message, 2, np.nan))


@fault('a joint is missing in the states', StopEvent.BAD_STATE, LOST, MEND)
def joint_missing(lab):
    def drop(message):
        message.name, message.position = list(message.name)[1:], list(message.position)[1:]
        return message

    return tapped(lab, drop)


@fault('more names than positions', StopEvent.BAD_STATE, LOST, MEND)
def names_without_positions(lab):
    def drop(message):
        message.position = list(message.position)[1:]
        return message

    return tapped(lab, drop)


@fault('a joint is named twice', StopEvent.BAD_STATE, LOST, MEND)
def named_twice(lab):
    def double(message):
        message.name = [*message.name, message.name[0]]
        message.position = [*message.position, 0.0]
        return message

    return tapped(lab, double)


@fault('messages of a gripper come in between', None, 'nothing', 'nothing to do', NONE)
def gripper_messages(lab):
    handle, since = lab.moving(), len(lab.rows)
    gripper = lab.tester.create_publisher(JointState, 'joint_states', 10)
    for _ in range(20):
        gripper.publish(JointState(name=['gripper'], position=[0.1]))
        lab.pass_by()
    lab.tester.destroy_publisher(gripper)
    return undisturbed(lab, handle, since, NONE)


@fault('a gripper stands among the joints of the states', None, 'nothing', 'nothing to do', NONE)
def gripper_among_joints(lab):
    handle, since = lab.moving(), len(lab.rows)

    def add(message):
        message.name = ['gripper', *message.name]
        message.position = [np.nan, *message.position]
        return message

    lab.tap = add
    return undisturbed(lab, handle, since, NONE)


@fault(
    "another node sends states of the robot's joints, too",
    StopEvent.FOREIGN_STATES,
    'the rest of the motion',
    'end that node, activate',
)
def foreign_states(lab):
    handle, since = lab.moving(), len(lab.rows)
    other = lab.tester.create_publisher(JointState, 'joint_states', 10)
    lab.until(lambda: other.get_subscription_count() > 0)
    message = JointState(name=list(MODEL.actuated_joints), position=list(MODEL.home_actuators))
    ways = []
    for _ in range(3):
        other.publish(message)
        lab.pass_by(0.02)
        ways.append(np.abs(lab.loop.last_result.position - lab.rows[-1].legs).max())
    assert max(ways) < 5e-3  # its positions were not used
    found = ended(lab, handle, since)
    lab.until(lambda: not lab.loop.commanding)
    other.publish(message)
    lab.until(lambda: bool(lab.loop.foreign_states))
    assert not lab.change(Transition.TRANSITION_ACTIVATE)
    lab.tester.destroy_publisher(other)
    return found


@fault('single positions are off by 30 mm', None, 'these samples', 'look at the sensor', NONE)
def single_leaps(lab):
    handle, since = lab.moving(), len(lab.rows)
    count = [0]

    def spoil(message):
        count[0] += 1
        return moved(message, 1, 0.03) if count[0] % 10 == 0 else message

    lab.tap = spoil
    lab.pass_by(0.1)
    return undisturbed(lab, handle, since, NONE)


@fault('a position leaps by 80 mm and stays there', StopEvent.BAD_STATE, LOST, MEND)
def lasting_leap(lab):
    return tapped(lab, lambda message: moved(message, 4, 0.08))


@fault('a position sensor is stuck', StopEvent.BAD_STATE, LOST, MEND)
def stuck_sensor(lab):
    last: list[float] = []

    def stick(message):
        position = list(message.position)
        if not last:
            last.append(position[3])
        position[3] = last[0]
        message.position = position
        return message

    return tapped(lab, stick)


@fault('the stamps go back', StopEvent.BAD_STATE, LOST, MEND)
def stamps_back(lab):
    def back(message):
        message.header.stamp.sec -= 1
        return message

    return tapped(lab, back)


@fault('the stamps jump ahead', StopEvent.BAD_STATE, LOST, MEND)
def stamps_ahead(lab):
    def ahead(message):
        message.header.stamp.sec += 5
        return message

    return tapped(lab, ahead)


# -- the machine ------------------------------------------------------------------------


def pushed(lab: Laboratory, over: Callable[[], bool]) -> Happened:
    """Push the platform down with 1500 N until the controller has noticed."""
    handle, since = lab.moving(), len(lab.rows)
    body = lab.plant.mujoco_model.body('platform').id
    lab.plant.mujoco_data.xfrc_applied[body, 2] = -1500.0
    lab.until(over, 60.0)
    lab.plant.mujoco_data.xfrc_applied[body, 2] = 0.0
    return ended(lab, handle, since)


@fault(
    'somebody pushes the platform beyond `max_position_error`',
    StopEvent.TRACKING_BOUND,
    'the rest of the motion',
    RESEND,
)
def pushed_beyond_the_bound(lab):
    return pushed(lab, lambda: lab.phase is Phase.STOPPING)


@fault(
    'the robot is pushed beyond `fault_position_error`',
    StopEvent.TRACKING_FAULT,
    'the rest of the motion',
    ACTIVATE,
)
def pushed_beyond_the_fault_bound(lab):
    return pushed(lab, lambda: lab.loop.last_result.fault is not None)


@fault(
    'the kinematics of the desired motion fail on the way',
    StopEvent.MODEL_FAILED,
    'the rest of the motion',
    ACTIVATE,
)
def model_fails(lab):
    from types import SimpleNamespace

    handle, since = lab.moving(), len(lab.rows)

    def broken(*_, **__):
        raise ArithmeticError('no solution')

    lab.loop.controller.feedforward = SimpleNamespace(
        name='broken', forces=broken, along=broken, states=None
    )
    return ended(lab, handle, since)


@fault(
    'another node publishes commands',
    StopEvent.FOREIGN_COMMANDS,
    'the rest of the motion',
    'end that node, activate',
)
def foreign_commands(lab):
    handle, since = lab.moving(), len(lab.rows)
    topic = 'effort_controller/commands'
    other = lab.tester.create_publisher(Float64MultiArray, topic, 10)
    found = ended(lab, handle, since)
    lab.until(lambda: not lab.active)
    assert not lab.change(Transition.TRANSITION_ACTIVATE)
    lab.tester.destroy_publisher(other)
    lab.until(lambda: lab.tester.count_publishers(topic) == 1)
    return found


@fault('a drive pushes the wrong way', StopEvent.DRIVE_OPPOSES, LOST, 'mend the sign, activate')
def reversed_drive(lab):
    handle, since = lab.moving(), len(lab.rows)
    lab.drive = lambda forces: forces * np.array([-1.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    return ended(lab, handle, since)


@fault('the brakes report nothing', StopEvent.DEACTIVATION, 'the rest of the motion', ACTIVATE)
def silent_brakes(lab):
    handle, since = lab.moving(), len(lab.rows)
    brakes = lab.controller._brakes
    hear, brakes._hear = brakes._hear, lambda message: None
    brakes._node.destroy_subscription(brakes._reports)
    try:
        assert lab.change(Transition.TRANSITION_DEACTIVATE)
    finally:
        brakes._hear = hear
        from pkm_description.nodes.qos import LATCHED

        brakes._reports = brakes._node.create_subscription(Bool, 'brakes/closed', hear, LATCHED)
    return ended(lab, handle, since)


def short_motion(lab: Laboratory) -> ErrorCode:
    """A goal that a healthy robot follows."""
    rest = lab.loop.controller.resting_coordinates('actuators')
    names = list(MODEL.actuated_joints)
    inside = np.clip(rest, MODEL.home_actuators - 0.01, MODEL.home_actuators + 0.01)
    way = PointToPoint([0.0, 0.3], [rest, inside], 'actuators', names)
    return lab.result(lab.send(to_message(way), periods=1))[0]
