"""`pkm study`: repeat a comparison of the papers on a simulated robot."""

from __future__ import annotations

from argparse import Namespace, _SubParsersAction
from contextlib import ExitStack
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from pkm_bringup.arguments import SCHEDULER, add_arguments, add_json
from pkm_bringup.outputs import OutputError, check_output, write_output_folder
from pkm_bringup.runner import KeptRuns, Runner, origin_of
from pkm_bringup.studies.declaration import Content, Output, Study
from pkm_bringup.views.console import json_text, print_json, print_note
from pkm_bringup.views.design_view import design_view, stop_on_interrupt
from pkm_dynamics.atomic_write import write_text_atomically

STUDIES = (
    'excitation',
    'conditioning',
    'estimators',
    'noise',
    'feasible',
    'identifiability',
    'ellipsoid',
    'dirty',
    'pendulum',
    'uf_pkm',
    'contributions',
    'stages',
    'payload',
    'effects',
    'monitor',
    'learning',
    'hydraulics',
    'worlds',
    'real',
)
# Options that change nothing of the result, and what else the parser leaves among them.
NOT_NAMED = ('run', 'verb', 'study', 'json', 'output', 'workers', 'scheduler')


def add_parser(subparsers: _SubParsersAction[Any]) -> None:
    """Add the verb and its studies."""
    text = 'repeat a comparison of the papers on a simulated robot'
    parser = subparsers.add_parser('study', help=text, description=text)
    studies = parser.add_subparsers(title='studies', metavar='STUDY', required=True, dest='study')
    for name in STUDIES:
        study: Study = import_module(f'pkm_bringup.studies.{name}_study').STUDY
        description = f'{study.claim}. {study.description}'
        one = studies.add_parser(name, help=study.claim, description=description)
        add_arguments(one, *study.options)
        if study.output is not Output.DESIGN:  # one search, not many runs
            add_arguments(one, SCHEDULER)
        metavar, told, _ = study.output.value
        one.add_argument('--output', metavar=metavar, help=told)
        add_json(one)
        one.set_defaults(run=partial(run, study))


def run(study: Study, arguments: Namespace) -> int:
    """Run a study, write its result, and print it as tables or as JSON."""
    output = check_output(arguments.output, study.output.value[2]) if arguments.output else None
    options = {name: value for name, value in vars(arguments).items() if name not in NOT_NAMED}
    origin = origin_of(study.name, options)
    kept = None
    if output is not None and study.output is not Output.DESIGN:
        kept = KeptRuns(output, origin)
    with ExitStack() as stack:
        interrupted = None
        if study.keeps_best:
            interrupted = stack.enter_context(stop_on_interrupt(study.keeps_best))
        tell = stack.enter_context(design_view(f'study {study.name}'))
        tell('reading the robot; the first run compiles', None, float('nan'))
        runner = Runner(
            arguments.workers, tell, kept, interrupted, getattr(arguments, 'scheduler', None)
        )
        content: Content = {**study.run(arguments, runner), 'origin': origin}
    try:
        if output is not None:
            _write(study, output, content, runner)
    finally:  # what took minutes is shown also where it cannot be written
        if arguments.json:
            print_json(content)
        else:
            views = import_module('pkm_bringup.views.study_views.study_tables')
            getattr(views, f'print_{study.name}')(content)
    if output is not None:
        print_note(f"wrote '{output}'")
    if kept is not None:
        kept.remove()
    return 0


def _write(study: Study, output: Path, content: Content, runner: Runner) -> None:
    if study.output is Output.DESIGN:
        for save in runner.files.values():
            save(output)
    elif study.output is Output.RESULT:
        write_text_atomically(output, json_text(content), OutputError)
    else:
        write_output_folder(output, partial(_fill, content, runner))


def _fill(content: Content, runner: Runner, folder: Path) -> None:
    """Write all files of a study into a new folder."""
    from pkm_bringup.views.study_views.excitation_study_view import plot_spreads  # matplotlib

    for name, save in runner.files.items():
        save(folder / name)
    (folder / 'study.json').write_text(json_text(content), encoding='utf-8')
    plot_spreads(content, folder / 'study.png')
