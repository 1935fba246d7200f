"""`pkm study ellipsoid`: what bounded errors guarantee [P]."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from pkm_bringup.argument_types import count, positive
from pkm_bringup.arguments import add_robot
from pkm_bringup.inputs import load_model
from pkm_bringup.verbs.study_options import add_result, add_runs, deliver, result_file
from pkm_bringup.views.console import print_table, progress


def add_study(studies: Any) -> None:
    """Add the study."""
    text = 'set membership: truth and forces inside for bounded errors, outliers under control'
    study = studies.add_parser(
        'ellipsoid',
        help=text,
        description=f'{text}. Errors are uniform, plus or minus the bound, or a slow drift, in '
        'turn. Under control the robot has all its effects, and the filtered forces are bounded '
        'by per cent of the largest ones [P].',
    )
    add_robot(study, 'h4')
    study.add_argument(
        '--bounds',
        type=positive,
        nargs='+',
        default=[5.0, 15.0],
        metavar='PERCENT',
        help="largest errors, shares of the actuator's largest force [percent], the first for the "
        'runs with bounded errors, all under control; default: 5 15',
    )
    study.add_argument('--periods', type=count, default=20, help='under control [1]; default: 20')
    add_runs(study, 200, 'with bounded errors')
    add_result(study)
    study.set_defaults(run=run)


def run(arguments: Any) -> int:
    """Run both parts, print the tables."""
    from pkm_bringup.studies.ellipsoid import bounded_errors
    from pkm_bringup.studies.ellipsoid_robot import controlled_robot, held_out

    path = result_file(arguments)
    with progress('study') as update:
        update('reading the robot; the first run compiles')
        model = load_model(arguments.robot)
        other = held_out(model)
        bounded = bounded_errors(
            model,
            arguments.runs,
            arguments.bounds[0],
            seed=arguments.seed,
            workers=arguments.workers,
            update=update,
            other=other,
        )
        controlled = controlled_robot(
            model,
            arguments.bounds,
            arguments.periods,
            seed=arguments.seed,
            update=update,
            other=other,
        )
    content = {'bounded_errors': bounded, 'controlled_robot': controlled}
    return deliver(content, arguments, path, _print)


def _print(content: Mapping[str, Any]) -> None:
    bounded, controlled = content['bounded_errors'], content['controlled_robot']
    header = (
        'bounds of',
        'truth inside',
        'farthest truth',
        'forces inside [%]',
        'half-width [%]',
        'half range of forces / bound',
        'outliers',
        'passes',
    )
    rows = [
        (
            {'mean': 'mean period', 'each': 'each sample'}[use],
            f'{found["inside"]} of {bounded["runs"]}',
            f'{found["largest_distance"]:.2f}',
            f'{100 * found["forces_inside"]:.4g}',
            f'{100 * found["relative_half_width"]:.3g}',
            f'{found["force_half_range"]:.2g}',
            found['outliers'],
            f'{found["passes"]:.0f}',
        )
        for use, found in ((name, bounded[name]) for name in ('mean', 'each'))
    ]
    print_table(
        header,
        rows,
        f'errors within {bounded["bound"]:g} % of the largest forces, '
        f'{bounded["periods"]} periods a run',
    )
    sys.stdout.write('\n')
    header = (
        'bound [%]',
        'strips',
        'outliers',
        '[%]',
        'det M^-1',
        'distance of truth',
        'noise-free forces inside [%]',
        'measured inside [%]',
    )
    rows = [
        (
            f'{case["bound"]:g}',
            case['strips'],
            case['outliers'],
            f'{100 * case["outlier_share"]:.3g}',
            f'{case["determinant"]:.3g}',
            f'{case["distance_of_truth"]:.2f}',
            f'{100 * case["noise_free_inside"]:.4g}',
            f'{100 * case["measured_inside"]:.4g}',
        )
        for case in controlled['cases']
    ]
    title = f'{controlled["robot"]} under control, {controlled["periods"]} periods'
    print_table(header, rows, title)
    sys.stdout.write('\n')
    cases = controlled['cases']
    table = [
        (
            name,
            f'{truth:.4g}',
            *(f'{case["centre"][i]:.4g} +- {case["half_widths"][i]:.2g}' for case in cases),
            unit,
        )
        for i, (name, truth, unit) in enumerate(
            zip(controlled['parameters'], controlled['truth'], controlled['units'], strict=True)
        )
    ]
    columns = (f'bound {case["bound"]:g} %' for case in cases)
    print_table(('parameter', 'true', *columns, 'unit'), table)
