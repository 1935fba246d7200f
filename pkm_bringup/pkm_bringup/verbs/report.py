"""`pkm report`: what a run measured and found, as one HTML page."""

from __future__ import annotations

from typing import Any

from pkm_bringup.arguments import ROBOT, add_json
from pkm_bringup.data_arguments import DATA, add_loading, given_loading
from pkm_bringup.views.console import print_json, print_note, progress

RUN = (
    f'recording ({DATA}), model file of `pkm identify`, design of `pkm excite design`, what '
    '`pkm validate --json` printed (.json), or a folder that holds some of them'
)


def add_parser(subparsers: Any) -> None:
    """Add the verb."""
    text = 'write what a run measured and found as one HTML page, or compare two runs'
    parser = subparsers.add_parser(
        'report',
        help=text,
        description=f'{text}: verdict, what limits the model and what to do next, forces, '
        'residuals, parameters, alternatives, excitation, tracking, the robot in motion, where '
        'everything comes from. The page needs neither server nor network. What is not in the run '
        'is named with the command that makes it.',
    )
    parser.add_argument('run_files', metavar='RUN', help=RUN)
    text = 'a second run that is compared with the first'
    parser.add_argument('other_files', metavar='RUN2', nargs='?', help=text)
    text = 'page to write (.html); must not exist; default: report.html'
    parser.add_argument('--output', default='report.html', metavar='FILE', help=text)
    parser.add_argument('--robot', metavar='ROBOT', help=f'{ROBOT}; where the files do not tell')
    text = 'repeatable; further recording whose forces the model predicts'
    parser.add_argument('--validate', action='append', default=[], metavar='DATA', help=text)
    add_loading(parser)
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: Any) -> int:
    """Read the runs, write the page."""
    from pkm_bringup.outputs import check_output
    from pkm_bringup.reports.document import write_report
    from pkm_bringup.reports.run_files import files_of

    output = check_output(arguments.output, ('.html',))
    places = [place for place in (arguments.run_files, arguments.other_files) if place]
    with progress('report') as update:
        found = [files_of(place) for place in places]
        page = write_report(
            found,
            output,
            arguments.robot or '',
            arguments.validate,
            given_loading(arguments),
            update,
        )
    if arguments.json:
        print_json({**page.values, 'output': str(output)})
    else:
        print_note(f'{page.summary.grade}: {page.summary.headline}')
    print_note(f"wrote '{output}'")
    return 0
