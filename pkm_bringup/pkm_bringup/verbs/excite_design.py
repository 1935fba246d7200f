"""`pkm excite design`: search for a feasible trajectory that identifies well."""

from __future__ import annotations

from typing import Any

from pkm_bringup.arguments import add_json, add_robot, count, load_model, positive
from pkm_bringup.console import print_json, print_note, print_table, progress

CRITERIA = ('d_optimal', 'a_optimal', 'e_optimal', 'condition_number')


def add_parser(subparsers: Any) -> None:
    """Add the subverb."""
    text = 'design a Fourier trajectory that identifies a robot well within its limits'
    parser = subparsers.add_parser('design', help=text, description=text)
    add_robot(parser)
    parser.add_argument(
        '--output', required=True, metavar='FILE', help='design to write (.yaml), SI units; '
        'must not exist',
    )  # fmt: skip
    parser.add_argument(
        '--criterion', choices=CRITERIA, default='d_optimal',
        help='what is minimised, in SI units; default: d_optimal',
    )  # fmt: skip
    parser.add_argument(
        '--harmonics', type=count, default=5, help='of each coordinate [1]; default: 5'
    )
    parser.add_argument(
        '--period', type=positive, help='[s]; default: what strokes, speeds and forces suggest'
    )
    parser.add_argument(
        '--starts', type=count, default=2, help='optimised starts [1]; default: 2'
    )
    parser.add_argument(
        '--iterations', type=count, default=60, help='steps of each start [1]; default: 60'
    )
    parser.add_argument(
        '--candidates', type=count, default=40,
        help='random trajectories that starts are taken from [1]; default: 40',
    )  # fmt: skip
    parser.add_argument('--seed', type=int, default=0, help='of the search [1]; default: 0')
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: Any) -> int:
    """Design, save, print the figures."""
    from pkm_bringup.outputs import check_output
    from pkm_identification.excitation import design_excitation

    output = check_output(arguments.output, ('.yaml', '.yml'))
    with progress('designing') as update:
        update('reading the robot; the first run compiles')
        model = load_model(arguments.robot)
        update('base parameters')
        design = design_excitation(
            model,
            arguments.criterion,
            arguments.harmonics,
            arguments.period,
            starts=arguments.starts,
            iterations=arguments.iterations,
            candidates=arguments.candidates,
            seed=arguments.seed,
            progress=lambda text, fraction, left: update(text, fraction),
        )
    design.save(output)
    figures = {
        name: value for name, value in design.figures.items() if isinstance(value, int | float)
    }
    if arguments.json:
        print_json(
            {
                'period': design.period,
                'ramp_time': design.ramp_time,
                'figures': design.figures,
                'margins': design.margins,
                'output': str(output),
            }
        )
        return 0
    rows = [('period [s]', design.period), ('ramp time [s]', design.ramp_time)]
    print_table(('figure', 'value'), [*rows, *figures.items()])
    print_note(f"wrote '{output}'")
    return 0
