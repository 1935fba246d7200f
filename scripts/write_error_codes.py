"""Write the page of all error codes, from the interfaces and the texts below.

Usage: python scripts/write_error_codes.py
A code that has no text here is an error that names it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from pkm_bringup.exit_status import ExitStatus

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / 'pkm_msgs' / 'doc' / 'error_codes.md'
CODE = re.compile(r'^uint16 ([A-Z_]+)=(\d+)', re.MULTILINE)
SUCCESS = 0  # of every interface
HEAD = """\
# Error codes

All codes of the actions and services, and the exit statuses of programs. `error_msg` beside a
code names the joint, file, option or limit. A number stands for one thing; 0 is success.
`python scripts/write_error_codes.py` writes this page from the interfaces.
"""
# Meaning and remedy by the name of a code, or by `<interface>.<name>` where that differs.
TEXTS = {
    'BAD_TRAJECTORY': (
        'the trajectory is malformed, not finite or too large',
        'correct it: `pkm excite check FILE --robot ROBOT` names what is wrong',
    ),
    'WRONG_ROBOT': (
        'made for another robot, or another description of it',
        'give the robot of the graph; after a change of the description identify again',
    ),
    'INFEASIBLE': (
        'the motion leaves a limit, or its check took too long',
        'make it slower or smaller: `pkm excite check` shows each limit with its margin; outside '
        'of the strokes call `~/recover` first',
    ),
    'NOT_ACTIVE': (
        'the controller is not active, or is stopping',
        'read `~/ready_to_move`, mend what it says, activate the controller',
    ),
    'BUSY': ('another goal is under way', 'wait for its result, or cancel it'),
    'STATE_TIMEOUT': (
        'no joint state with a new stamp came in time: zero force and brakes',
        'look at the driver, its transport, the network and the topic `joint_states`; '
        'activate the controller',
    ),
    'BAD_STATE': (
        'a joint state lacks joints or values, leaps, is stuck, or comes at impossible times',
        'mend the sensor or the driver; activate the controller',
    ),
    'TRACKING_ERROR': (
        'a position error exceeded its bound',
        'look for a collision; else a feedforward model, higher gains or a slower motion',
    ),
    'CANCELED': ('the client canceled it', 'send the next one'),
    'SUPERSEDED': ('another goal took its place', 'send it again when the other has ended'),
    'DEACTIVATED': (
        'the controller was deactivated, or its process is ending',
        'activate the controller, send the goal again',
    ),
    'LIMIT_VIOLATED': (
        'a position left its stroke, a speed its limit, or braking would hardly have kept them',
        'look for the cause; `~/recover` moves back into the strokes',
    ),
    'KINEMATICS': (
        'the motion or its forces could not be computed',
        'keep away from singular poses and the border of `pkm describe ROBOT --workspace`',
    ),
    'PROTECTIVE_STOP': (
        'a protective stop is latched',
        'remove its cause, call `~/reset_protective_stop`, activate the controller',
    ),
    'CLIENT_LOST': (
        'the client, which the goal asked to watch, is gone, or its heartbeat has stopped',
        'start the client again, send the goal again',
    ),
    'FOREIGN_COMMANDS': (
        'another node commands the robot, too',
        'end that node (the message names it), activate the controller',
    ),
    'FOREIGN_STATES': (
        'another node publishes joint states of this robot, too',
        'end that node, activate the controller',
    ),
    'LEARNING': (
        'what was learned of the motion cannot be read, or the motion cannot be learned as asked',
        'look at the file that the message names, or learn anew; a period takes two at least',
    ),
    'DRIVES_NOT_READY': (
        'the drives say that they are not ready or not homed, or have not said that they are; or '
        'brakes that were asked to open say that they are closed',
        'clear their fault, switch them on, home them, look at the brakes, activate the controller',
    ),
    'ENABLING_DEVICE': (
        'the enabling device is not held, or silent',
        'hold it, send the goal again',
    ),
    'UNKNOWN_SOURCE': ('the model is none of `none`, `nominal`, `identified`', 'give one of them'),
    'WRONG_PARAMETERS': (
        'parameters are missing, unknown, or not finite',
        'send the parameters of an identification as they are',
    ),
    'NOT_PHYSICAL': (
        'no real bodies have these parameters',
        'identify with `feasible`, or with more exciting data',
    ),
    'WRONG_STATE': ('the controller is not configured', 'configure it'),
    'TOO_DIFFERENT': (
        'the forces of the model differ too much from those of the description',
        'look at units and payload; where the description is wrong, raise `max_model_difference`',
    ),
    'CONTROLLER_NOT_ACTIVE': (
        'the controller is not there or not active',
        'read `trajectory_controller/ready_to_move`, mend what it says, activate it',
    ),
    'TOPIC_SILENT': (
        'a topic that is recorded has no messages, or fell silent',
        'look at the driver and at the names of its topics',
    ),
    'DISK_FULL': ('the recording would not fit', 'make room, or record fewer periods'),
    'BAG_EXISTS': ('the folder of the bag exists', 'give another name'),
    'CANNOT_WRITE': (
        'the file exists, lies outside of `data_folder`, or cannot be written',
        'give another name or folder',
    ),
    'MOTION_FAILED': (
        'the controller ended the motion; its own code and reason are in `error_msg`',
        'see the code of `FollowPlatformTrajectory` that it names',
    ),
    'BAD_RECORDING': (
        'recorded, but not good enough to identify from; `quality` says why',
        'mend what its warnings name, record again',
    ),
    'NO_DESCRIPTION': (
        'the description of the robot cannot be read, or is not published',
        'start `description_publisher`; `pkm describe ROBOT` names what is wrong',
    ),
    'BAD_DATA': (
        'the recording is unreadable, incomplete, of another robot, or outside of `data_folder`',
        '`pkm data FILE` says what it holds and what is wrong',
    ),
    'UNKNOWN_ESTIMATOR': ('there is no estimator of this name', 'give one of those that it lists'),
    'BAD_OPTION': (
        'an option is unknown or has a value that it cannot have',
        'see `pkm identify --help`',
    ),
    'ESTIMATION_FAILED': (
        'the estimator has no result for these data and options',
        'another estimator, or data that excite more; `pkm compare` tries all',
    ),
    'BAD_MODEL': (
        'the model file is unreadable, or outside of `data_folder`',
        'give a file that an identification wrote',
    ),
    'VALIDATION_FAILED': (
        'the model predicts the held-out data too badly, or there are none',
        'give `validation_data` that it was not identified from, or identify again',
    ),
    'CONTROLLER_UNAVAILABLE': (
        'the controller does not answer',
        'start it, or name it by the parameter `controller`',
    ),
    'REFUSED_BY_CONTROLLER': (
        'the controller refused the model; its reason is in `error_msg`',
        'see the codes of `SetModel`',
    ),
}


class Code(NamedTuple):
    """One error code of one interface."""

    number: int
    name: str
    interface: str

    @property
    def text(self) -> tuple[str, str]:
        """Meaning and remedy."""
        found = TEXTS.get(f'{self.interface}.{self.name}') or TEXTS.get(self.name)
        if found is None:
            raise SystemExit(
                f'{self.interface}: the code {self.name} has no text: add one to TEXTS in '
                'scripts/write_error_codes.py and run it'
            )
        return found


def codes() -> list[Code]:
    """All error codes of the interfaces, by number."""
    files = sorted(path for kind in ('action', 'srv') for path in ROOT.glob(f'pkm_msgs/{kind}/*'))
    return sorted(
        Code(int(number), name, path.stem)
        for path in files
        for name, number in CODE.findall(path.read_text(encoding='utf-8'))
    )


def page() -> str:
    """Text of the whole page."""
    rows = [
        f'| {code.number} | `{code.name}` | {code.interface} | {" | ".join(code.text)} |'
        for code in codes()
        if code.number != SUCCESS
    ]
    statuses = [f'| {int(each)} | {each.meaning} | {each.remedy} |' for each in ExitStatus]
    return '\n'.join(
        [
            HEAD,
            '## Actions and services\n',
            '| number | name | in | meaning | what to do |',
            '|---|---|---|---|---|',
            *rows,
            '\n## Exit statuses\n',
            'Of `pkm` and of the nodes; a process that a signal ended has its negative number.\n',
            '| status | meaning | what to do |',
            '|---|---|---|',
            *statuses,
            '',
        ]
    )


if __name__ == '__main__':
    PAGE.write_text(page(), encoding='utf-8')
