"""`pkm monitor`: follow a robot over a folder of recordings and say what changed."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from pkm_bringup.arguments import PICTURES, SCHEDULER, WORKERS, add_arguments, add_json, add_robot
from pkm_bringup.data_arguments import add_options, given_loading, given_options
from pkm_bringup.exit_status import ExitStatus
from pkm_bringup.outputs import OutputError, check_output, write_output
from pkm_bringup.views.console import json_text, print_json, print_note
from pkm_identification.option import POSITIVE, Option, number, whole

TEXT = (
    'follow a robot over a folder of recordings, or by a topic of estimates: payloads, friction, '
    'force constants, encoders, rotors; '
    'exit status 0: healthy, 3: changed, 1: an error'
)
REFERENCE = Option(
    'reference',
    whole(3),
    'recordings at the beginning that all others are compared with, or that tell the scatter',
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
EVERY = Option(
    'every',
    POSITIVE,
    'with --live: pause between two looks at the folder; of a topic: motion that a reading is from',
    10.0,
    's',
)

QUIET = 5.0  # [s] without an estimate until it is told that there is none


def add_parser(subparsers: Any) -> None:
    """Add the verb."""
    parser = subparsers.add_parser('monitor', help=TEXT.partition(':')[0], description=TEXT)
    help_text = (
        'folder of recordings of one robot (bags, .mcap, .db3, .csv and .npz files), or topic of '
        'an online estimator (online_estimator/parameters), followed until Ctrl-C'
    )
    parser.add_argument('source', metavar='FOLDER|TOPIC', help=help_text)
    add_robot(parser)
    text = (
        'model file of `pkm identify`, SI units: all recordings are compared with all that it '
        'holds, rigid bodies, friction, rotors and forces of drives; default: with the first ones'
    )
    parser.add_argument('--model', metavar='MODEL', help=text)
    add_arguments(parser, REFERENCE, FALSE_ALARMS, WORKERS, SCHEDULER)
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
    output = check_output(arguments.output, ('.json',)) if arguments.output else None
    plot = check_output(arguments.plot, PICTURES) if arguments.plot else None
    if _is_topic(arguments.source):
        if arguments.model or arguments.live:
            raise OutputError('a topic is followed as it comes: leave --model and --live out')
        return _report(arguments, _heard(arguments), output, plot)
    if arguments.live:
        if output or plot:
            raise OutputError('--live writes no files: leave --output and --plot out')
        return _follow(arguments)
    return _report(arguments, _monitored(arguments), output, plot)


def _is_topic(source: str) -> bool:
    """Whether a source that is no path here is the name of a topic."""
    parts = source.removeprefix('/').split('/')
    return not Path(source).exists() and len(parts) > 1 and all(map(str.isidentifier, parts))


def _report(arguments: Any, found: Any, output: Path | None, plot: Path | None) -> int:
    """Write and print what was found."""
    from pkm_bringup.views.monitor_picture import plot_monitored
    from pkm_bringup.views.monitor_view import monitor_summary, print_monitored

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


def _monitored(arguments: Any, memory: Any = None) -> Any:
    from pkm_bringup.inputs import load_model
    from pkm_bringup.monitored import shared_out
    from pkm_bringup.runner import Runner
    from pkm_bringup.views.design_view import design_view
    from pkm_identification.requests.monitor_request import MonitorRequest, monitor

    request = MonitorRequest(
        arguments.source,
        arguments.reference,
        arguments.false_alarms,
        arguments.model or '',
        given_options(arguments),
        given_loading(arguments),
    )
    with design_view('monitor') as tell:
        tell('reading the robot; the first run compiles', None, float('nan'))
        model = load_model(arguments.robot)
        runner = Runner(arguments.workers, tell, scheduler=arguments.scheduler)
        run = shared_out(runner, arguments.robot, request.model_file)
        if memory is not None:
            run = memory.beside(run)
        return monitor(request, model, run, runner.update)


def _heard(arguments: Any) -> Any:
    """Follow a topic until Ctrl-C, with a line whenever the verdict is another one."""
    from pkm_bringup.inputs import load_model
    from pkm_bringup.nodes.estimate_listener import EstimateListener
    from pkm_bringup.views.monitor_view import verdict
    from pkm_identification.requests.estimates_request import EstimateMonitor

    model = load_model(arguments.robot)
    chosen = arguments.reference, arguments.false_alarms, arguments.every
    monitor, last = EstimateMonitor(arguments.source, model, *chosen), ''
    with EstimateListener(arguments.source, model.description) as listener:
        begun, heard = time.monotonic(), False
        try:
            while True:
                estimate = listener.next()
                if estimate is not None and not heard:
                    heard = True
                    print_note(f"follows '{arguments.source}'; Ctrl-C ends it with a report")
                if not heard and not last and time.monotonic() - begun > QUIET:
                    last = f"'{arguments.source}' is silent, as it is while the robot rests"
                    print_note(last)
                if estimate is None or not monitor.add(*estimate):
                    continue
                text = f'reading {monitor.readings} of {monitor.needed} that are needed'
                if monitor.readings >= monitor.needed:
                    text = verdict(monitor.verdict())
                if text != last:
                    print_note(text)
                last = text
        except KeyboardInterrupt:
            return monitor.verdict()


def _follow(arguments: Any) -> int:
    """Print a line whenever the verdict is another one."""
    from pkm_bringup.monitored import Remembered
    from pkm_bringup.views.monitor_view import verdict
    from pkm_identification.requests.monitor_request import Refused, recordings_in

    last, seen, memory = '', None, Remembered()
    while True:
        there = [(path, path.stat().st_mtime_ns) for path in recordings_in(arguments.source)]
        if there != seen:
            seen = there
            try:
                found = _monitored(arguments, memory)
                text = f'{found.names[-1]}: {verdict(found)}'
            except Refused as error:  # too few recordings yet
                text = str(error)
            if text.partition(': ')[2] != last:
                last = text.partition(': ')[2]
                print(text, flush=True)
        time.sleep(arguments.every)
