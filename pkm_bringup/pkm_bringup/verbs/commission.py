"""`pkm commission`: check a running robot before its first motion, and make its first moves."""

from __future__ import annotations

from argparse import Namespace, _SubParsersAction
from typing import Any

from pkm_bringup.arguments import ROBOT, add_arguments, add_json
from pkm_bringup.commissioning.robot_topics import RobotTopics, topic_options
from pkm_identification.option import FLAG, POSITIVE, TEXT, Option, number

TOPICS = tuple(
    Option(name, TEXT, f'topic of {what}', default, metavar='TOPIC')
    for name, what, default in topic_options()
)
OPTIONS = (
    Option('time', POSITIVE, 'to listen', 5.0, 's'),
    Option('move', FLAG, 'hold, each axis by 5 mm or mrad and back, a stop, the brakes', False),
    Option('namespace', TEXT, "namespace of the robot's nodes and topics", metavar='NAME'),
    *TOPICS,
    Option('output', TEXT, 'result as JSON; must not exist', metavar='FILE'),
    Option(
        'calibrate',
        TEXT,
        'write a calibration with the encoder offsets of the robot as it stands, in place of the '
        'check-list; must not exist',
        metavar='FILE',
    ),
    Option(
        'at',
        number(),
        'where the actuated joints are meanwhile, in the order of the description',
        None,
        'm, rad',
        'at home',
        nargs='+',
        metavar='POSITION',
    ),
)


def add_parser(subparsers: _SubParsersAction[Any]) -> None:
    """Add the verb."""
    text = 'check a running robot before its first motion; without --move nothing moves'
    parser = subparsers.add_parser('commission', help=text, description=text)
    parser.add_argument('robot', metavar='ROBOT', help=ROBOT)
    add_arguments(parser, *OPTIONS)
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: Namespace) -> int:
    """Listen, judge and print."""
    from pkm_bringup.commissioning.check_lines import any_failed
    from pkm_bringup.exit_status import ExitStatus
    from pkm_bringup.inputs import load_model
    from pkm_bringup.nodes.commission_client import CommissionClient
    from pkm_bringup.nodes.commission_moves import CommissionMoves
    from pkm_bringup.outputs import check_output, write_output
    from pkm_bringup.views.commission_view import print_findings
    from pkm_bringup.views.console import json_text, print_json, progress

    if arguments.calibrate is not None:
        return _calibrate(arguments)
    output = check_output(arguments.output) if arguments.output else None
    names = _names(arguments)
    with progress('check-list') as update:
        model = load_model(arguments.robot, update)
        update('listens')
        with CommissionClient(model, *names, moves=arguments.move) as client:
            findings = client.listen(arguments.time)
            if arguments.move and not any_failed(findings):
                findings += CommissionMoves(client, update).run(client.state()[1])
    ended = any_failed(findings)
    lines = [each.to_dict() for each in findings]
    result = {'robot': arguments.robot, 'passed': not ended, 'checks': lines}
    if output is not None:
        write_output(output, lambda path: path.write_text(json_text(result), encoding='utf-8'))
    if arguments.json:
        print_json(result)
    else:
        print_findings(lines)
    return ExitStatus.ERROR if ended else ExitStatus.SUCCESS


def _names(arguments: Namespace) -> tuple[RobotTopics, str]:
    """Topics and namespace of the robot."""
    topics = RobotTopics(*(getattr(arguments, each.name) for each in TOPICS))
    return topics, arguments.namespace or ''


def _calibrate(arguments: Namespace) -> int:
    """Write the offsets of the encoders, with the signs that the robot came with."""
    from pkm_bringup.commissioning.homing import homed_at
    from pkm_bringup.exit_status import ExitStatus
    from pkm_bringup.inputs import load_model
    from pkm_bringup.nodes.commission_client import CommissionClient
    from pkm_bringup.outputs import OutputError, check_output, write_output
    from pkm_bringup.views.console import print_json, progress
    from pkm_description.transmissions.calibration import calibration_content, calibration_text

    if arguments.move or arguments.output:
        raise OutputError('--calibrate moves nothing and checks nothing: leave --move and --output')
    file = check_output(arguments.calibrate, ('.yaml', '.yml'))
    names = _names(arguments)
    with progress('calibration') as update:
        model = load_model(arguments.robot, update)
        update('listens')
        with CommissionClient(model, *names) as client:
            client.hear(arguments.time)
            heard = [(each.name, each.position) for _, each in client.states]
    found = homed_at(model, heard, arguments.at)
    text = calibration_text(found)
    write_output(file, lambda path: path.write_text(text, encoding='utf-8'))
    if arguments.json:
        print_json(calibration_content(found))
    else:
        print(text, end='')
    return ExitStatus.SUCCESS
