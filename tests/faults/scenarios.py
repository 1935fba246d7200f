"""What can happen to a robot under the controller, as data, and the row that comes of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from laboratory import MODEL, NODE, Laboratory, another_commander, shake, succeeded
from lifecycle_msgs.msg import Transition
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool

from pkm_control.control_types import ErrorCode
from pkm_dynamics.trajectories import Phase

LONGEST_REST = 0.5  # [s] of a stop of category 1 or 2
CYCLES = 0.02  # [s] by which a stop may begin later than its event
MARGIN = 2.0  # [mm] of a travel: the tracking error at the event

Act = Callable[[Laboratory, object], None]


@dataclass(frozen=True)
class Scenario:
    """One fault: what does it, and what is due."""

    name: str
    act: Act
    category: int
    code: ErrorCode
    text: str  # in the reason that is reported
    phase: Phase = Phase.RUN
    undo: Callable[[Laboratory], None] = lambda lab: None

    @property
    def is_fault(self) -> bool:
        """Whether the diagnostics are an error afterwards."""
        return self.category < 2 and self.code is not ErrorCode.DEACTIVATED


@dataclass(frozen=True)
class Row:
    """One row of the page."""

    what: str
    category: str
    rest: float
    travel: float
    drop: float
    lost: str
    reported: str
    go_on: str

    def cells(self) -> list[str]:
        """Return the texts of the row."""
        figures = [f'{self.rest:.2f}', f'{self.travel:.1f}', f'{self.drop:.2f}']
        return [self.what, self.category, *figures, self.lost, self.reported, self.go_on]


def cancel(lab: Laboratory, handle) -> None:
    """Cancel the goal."""
    lab.until(handle.cancel_goal_async().done)


def deactivate(lab: Laboratory, _) -> None:
    """Deactivate the controller."""
    assert lab.transition(Transition.TRANSITION_DEACTIVATE)


def stop_by_topic(lab: Laboratory, _) -> None:
    """Ask for a protective stop on the topic."""
    lab.stops.publish(Bool(data=True))


def stop_by_service(lab: Laboratory, _) -> None:
    """Ask for a protective stop by the service."""
    assert lab.trigger(f'{NODE}/protective_stop')


def command_too(lab: Laboratory, _) -> None:
    """Publish commands from another node."""
    lab.remove_other = another_commander(lab)


def break_model(lab: Laboratory, _) -> None:
    """Let the desired motion fail once."""
    motion = lab.node.loop.controller._desired
    at = motion.at

    def failing(*_: object) -> None:
        motion.at = at
        raise ValueError('no closed configuration')

    motion.at = failing


def wire(change: Callable[[JointState], None]) -> Act:
    """Change every joint state from now on."""

    def act(lab: Laboratory, _) -> None:
        def alter(message: JointState) -> JointState:
            change(message)
            return message

        lab.alter = alter

    return act


def lose_a_number(message: JointState) -> None:
    """Make the third position not a number."""
    message.position[2] = float('nan')


def lose_a_joint(message: JointState) -> None:
    """Leave the last joint out."""
    message.name, message.position = message.name[:-1], message.position[:-1]


def lose_a_position(message: JointState) -> None:
    """Leave the last position out."""
    message.position = message.position[:-1]


def repeat_a_joint(message: JointState) -> None:
    """Name the first joint twice."""
    message.name = [*message.name, message.name[0]]
    message.position = [*message.position, message.position[0]]


def leap(message: JointState) -> None:
    """Move the first position by 80 mm."""
    message.position[0] += 0.08


def go_back(message: JointState) -> None:
    """Set the stamps back by half a second."""
    _shift(message, -500_000_000)


def go_ahead(message: JointState) -> None:
    """Set the stamps ahead by half a second."""
    _shift(message, 500_000_000)


def _shift(message: JointState, nanoseconds: int) -> None:
    stamp = message.header.stamp
    total = stamp.sec * 1_000_000_000 + stamp.nanosec + nanoseconds
    stamp.sec, stamp.nanosec = divmod(total, 1_000_000_000)


BAD = ErrorCode.BAD_STATE
SCENARIOS = (
    *(
        Scenario(f'cancel in {p.name}', cancel, 2, ErrorCode.CANCELED, 'canceled', p)
        for p in (Phase.APPROACH, Phase.RAMP_IN, Phase.RUN, Phase.RAMP_OUT)
    ),
    Scenario('deactivation in motion', deactivate, 1, ErrorCode.DEACTIVATED, 'deactivated'),
    Scenario(
        'protective stop by the topic', stop_by_topic, 1, ErrorCode.PROTECTIVE_STOP, 'on the topic'
    ),
    Scenario(
        'protective stop by the service',
        stop_by_service,
        1,
        ErrorCode.PROTECTIVE_STOP,
        'by the service',
    ),
    Scenario(
        'another node publishes commands',
        command_too,
        1,
        ErrorCode.FOREIGN_COMMANDS,
        '/tester',
        undo=lambda lab: lab.remove_other(),
    ),
    Scenario(
        'the model fails on the way',
        break_model,
        1,
        ErrorCode.KINEMATICS,
        'no closed configuration',
    ),
    Scenario('a position is not a number', wire(lose_a_number), 0, BAD, 'is not finite'),
    Scenario('a joint is missing', wire(lose_a_joint), 0, BAD, 'is missing'),
    Scenario('more names than positions', wire(lose_a_position), 0, BAD, '6 joint names, but 5'),
    Scenario('a joint is named twice', wire(repeat_a_joint), 0, BAD, 'named twice'),
    Scenario('a position leaps by 80 mm and stays', wire(leap), 0, BAD, 'leapt from'),
    Scenario('stamps go back by 0.5 s', wire(go_back), 0, BAD, 'went back by'),
    Scenario('stamps jump ahead by 0.5 s', wire(go_ahead), 0, BAD, 'jumped ahead by'),
)


def measure(lab: Laboratory, scenario: Scenario) -> Row:
    """Let it happen, check what is due, go on as the page says, and return the row."""
    lab.fresh()
    handle = lab.send(periods=1 if scenario.phase is Phase.RAMP_OUT else 100)
    lab.until_phase(scenario.phase)
    scenario.act(lab, handle)
    result = lab.result(handle)
    code = ErrorCode(result.error_code)
    assert (code, scenario.text in result.error_msg) == (scenario.code, True), result.error_msg
    if scenario.category < 2:
        lab.until(lambda: not lab.node.loop.commanding)
        lab.until(lambda: not lab.active)
    lab.settle()
    reported = f'goal: {code.name}'
    if scenario.is_fault:
        lab.until(lambda: code.name in lab.reason())
        assert scenario.text in lab.reason()
        reported += f'; diagnostics (error): {code.name}'
    rest, travel, drop, speed = lab.figures()
    assert not lab.limits_left()
    if scenario.category > 0:
        assert rest <= LONGEST_REST + CYCLES
        stop_time = lab.node.loop.controller.options.stop_time
        assert travel <= 1e3 * speed_bound() * (stop_time / 2.0 + CYCLES) + MARGIN
        assert drop < 1.0
    lab.alter = None
    scenario.undo(lab)
    go_on = _go_on(lab, scenario)
    lost = 'the goal' if scenario.category == 2 else 'the goal; commands have ended'
    return Row(scenario.name, str(scenario.category), rest, travel, drop, lost, reported, go_on)


@cache
def speed_bound() -> float:
    """Largest speed of a leg in the motion [m/s]: that of the shaken platform over a period."""
    motion = shake()
    times = np.linspace(0.0, motion.duration, 201)
    path = motion.motion(times, MODEL)
    legs = MODEL.inverse_kinematics(path.position, path.rotation)
    return float(np.abs(np.diff(legs, axis=0)).max() / (times[1] - times[0]))


def _go_on(lab: Laboratory, scenario: Scenario) -> str:
    steps = []
    if scenario.code is ErrorCode.PROTECTIVE_STOP:
        assert not lab.activate()  # latched
        lab.stops.publish(Bool(data=False))
        lab.until(lambda: lab.trigger(f'{NODE}/reset_protective_stop'))
        steps.append('reset')
    if scenario.category < 2:
        lab.until(lab.activate)
        steps.append('activate')
    assert succeeded(lab.result(lab.send(1)))
    return ', '.join([*steps, 'next goal'])
