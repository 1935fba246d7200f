"""`pkm monitor`: follow a robot over a folder of recordings and say what changed."""

from __future__ import annotations

import time
from typing import Any

from pkm_bringup.arguments import COUNT, PICTURES, add_arguments, add_json, add_robot
from pkm_bringup.data_arguments import add_options, given_loading, given_options
from pkm_bringup.exit_status import ExitStatus
from pkm_bringup.outputs import OutputError, check_output, write_output
from pkm_bringup.views.console import json_text, print_json, print_note
from pkm_identification.option import POSITIVE, Option, number, whole

TEXT = (
    'follow a robot over a folder of recordings: payloads, friction, force constants, encoders; '
    'exit status 0: healthy, 3: changed, 1: an error'
)
REFERENCE = Option(
    'reference',
    whole(3),
    'recordings at the beginning that all others are compared with',
    None,
    '1',
    '10, or half of them where there are fewer than 20',
)
FALSE_ALARMS = Option(
    'false_alarms',
    number(0.0, 1.0, ends=False),
    'chance of any alarm in a healthy folder',
    0.01,
    '1',
)
WORKERS = Option('workers', COUNT, 'processes', None, '1', 'one a core')
EVERY = Option('every', POSITIVE, 'with --live: pause between two looks at the folder', 10.0, 's')


def add_parser(subparsers: Any) -> None:
    """Add the verb."""
    parser = subparsers.add_parser('monitor', help=TEXT.partition(':')[0], description=TEXT)
    help_text = 'folder of recordings of one robot: bags, .mcap, .db3, .csv and .npz files'
    parser.add_argument('folder', metavar='FOLDER', help=help_text)
    add_robot(parser)
    text = (
        'model file of `pkm identify`, SI units: its forces of drives by position are used, so '
        'that less than with the description alone scatters; default: the description'
    )
    parser.add_argument('--model', metavar='MODEL', help=text)
    add_arguments(parser, REFERENCE, FALSE_ALARMS, WORKERS)
    text = 'go on looking for new recordings, a line a change, until interrupted'
    parser.add_argument('--live', action='store_true', help=text)
    add_arguments(parser, EVERY)
    text = 'file to write of the result (.json), SI units; must not exist'
    parser.add_argument('--output', metavar='FILE', help=text)
    text = f'picture ({", ".join(PICTURES)}) to write of what changed over time; must not exist'
    parser.add_argument('--plot', metavar='PICTURE', help=text)
    add_options(parser)
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: Any) -> int:
    """Look at the folder and print the verdict; the exit status tells whether it changed."""
    from pkm_bringup.views.monitor_picture import plot_monitored
    from pkm_bringup.views.monitor_view import monitor_summary, print_monitored

    output = check_output(arguments.output, ('.json',)) if arguments.output else None
    plot = check_output(arguments.plot, PICTURES) if arguments.plot else None
    if arguments.live:
        if output or plot:
            raise OutputError('--live writes no files: leave --output and --plot out')
        return _follow(arguments)
    found = _monitored(arguments)
    if output is not None:
        write_output(output, lambda path: path.write_text(json_text(monitor_summary(found))))
    if plot is not None:
        write_output(plot, lambda path: plot_monitored(found, path))
    if arguments.json:
        print_json(monitor_summary(found))
    else:
        print_monitored(found)
    for path in (output, plot):
        if path is not None:
            print_note(f"wrote '{path}'")
    return int(ExitStatus.CHANGED) if found.findings.changes else 0


def _monitored(arguments: Any) -> Any:
    from pkm_bringup.inputs import load_model
    from pkm_bringup.monitored import shared_out
    from pkm_bringup.studies.runner import Runner
    from pkm_bringup.views.design_view import design_view
    from pkm_identification.requests.monitor_request import MonitorRequest, monitor

    request = MonitorRequest(
        arguments.folder,
        arguments.reference,
        arguments.false_alarms,
        arguments.model or '',
        given_options(arguments),
        given_loading(arguments),
    )
    with design_view('monitor') as tell:
        tell('reading the robot; the first run compiles', None, float('nan'))
        model = load_model(arguments.robot)
        runner = Runner(arguments.workers, tell)
        run = shared_out(runner, arguments.robot, request.model_file)
        return monitor(request, model, run, runner.update)


def _follow(arguments: Any) -> int:
    """Print a line whenever the verdict is another one."""
    from pkm_bringup.views.monitor_view import verdict
    from pkm_identification.requests.monitor_request import Refused, recordings_in

    last, seen = '', None
    while True:
        there = [(path, path.stat().st_mtime_ns) for path in recordings_in(arguments.folder)]
        if there != seen:
            seen = there
            try:
                found = _monitored(arguments)
                text = f'{found.names[-1]}: {verdict(found)}'
            except Refused as error:  # too few recordings yet
                text = str(error)
            if text.partition(': ')[2] != last:
                last = text.partition(': ')[2]
                print(text, flush=True)
        time.sleep(arguments.every)
