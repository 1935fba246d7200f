"""`pkm validate`: how well a model predicts data that it was not identified from."""

from __future__ import annotations

import sys
from typing import Any

from pkm_bringup.argument_types import share
from pkm_bringup.arguments import DATA, add_json, add_robot, add_signals
from pkm_bringup.inputs import data_options, load_data, load_model, parse_options
from pkm_bringup.views.console import print_json, print_table, progress


def add_parser(subparsers: Any) -> None:
    """Add the verb."""
    text = 'compare the forces that a model predicts with measured ones'
    parser = subparsers.add_parser('validate', help=text, description=text)
    parser.add_argument('data', metavar='DATA', help=DATA)
    add_robot(parser)
    parser.add_argument(
        '--model', required=True, metavar='MODEL', help='model file of `pkm identify`, SI units'
    )
    parser.add_argument(
        '--level',
        type=share,
        default=0.95,
        help='nominal share of the forces within the predicted bounds [1]; default: 0.95',
    )
    parser.add_argument(
        '--rollout',
        nargs='?',
        const='0.1,0.5,2',
        metavar='HORIZONS',
        help='also integrate the model open-loop under the recorded forces, and compare after '
        'these times with commas [s]; default: 0.1,0.5,2',
    )
    add_signals(parser)
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: Any) -> int:
    """Print the relative absolute errors and the verdict on bias."""
    options = parse_options(arguments.option)
    horizons = _horizons(arguments.rollout)
    from pkm_identification import load_result, validate

    with progress('validating') as update:
        update('reading the robot; the first run compiles')
        model = load_model(arguments.robot)
        result = load_result(arguments.model, model)
        update('reading the data')
        dataset = load_data(arguments.data, arguments.allow_incomplete, data_options(arguments))
        update('predicting')
        validation = validate(
            dataset, result, model, level=arguments.level, rollout=horizons, **options
        )
    summary = validation.summary()
    if arguments.json:
        print_json({'robot': result.robot, 'model': arguments.model, **summary})
    else:
        _print(summary)
    return 0


def _horizons(text: str | None) -> list[float] | bool:
    from pkm_description.errors import EstimationError

    if text is None:
        return False
    try:
        return [float(part) for part in text.split(',')]
    except ValueError as error:
        raise EstimationError(f"--rollout takes times [s] with commas, not '{text}'") from error


def _print(summary: dict[str, Any]) -> None:
    measured, truth = summary['against_measured'], summary['against_truth_in_band']
    coverage, test = summary['coverage'], summary['noise_test']
    columns: list[tuple[str, Any]] = [
        ('joint', summary['joints']),
        ('eps_RA [%]', _percent(measured['relative_absolute_error'])),
        ('residual RMS [N, N m]', measured['residual_rms']),
        ('noise RMS [N, N m]', summary['noise']),
        ('variance ratio', test and test['variance_ratio']),
        ('p', test and test['p_value']),
        ('unbiased', summary['is_unbiased'] or 'unknown'),
        ('covered [%]', coverage and _percent(coverage['measured'])),
        ('eps_RA to truth [%]', truth and _percent(truth['relative_absolute_error'])),
        ('truth covered [%]', coverage and _percent(coverage['truth'])),
    ]
    shown = [(name, values) for name, values in columns if values is not None]
    rows = [
        [values if isinstance(values, str) else values[i] for _, values in shown]
        for i in range(len(summary['joints']))
    ]
    print_table([name for name, _ in shown], rows)
    text = f'{100 * measured["relative_absolute_error_overall"]:.3g} %'
    if truth is not None:
        text += f', to the truth {100 * truth["relative_absolute_error_overall"]:.3g} %'
    lines = [f'relative absolute error overall: {text}', verdict(summary)]
    if coverage is not None:
        lines += _coverage(coverage)
    if summary['parameter_error'] is not None:
        lines.append(_parameters(summary['parameter_error']))
    sys.stdout.write('\n' + '\n'.join(lines) + '\n')
    if summary['rollout'] is not None:
        _print_rollout(summary['rollout'])


def _percent(values: list[float] | None) -> list[float] | None:
    return None if values is None else [100 * value for value in values]


def _coverage(coverage: dict[str, Any]) -> list[str]:
    lines = []
    level = f'{100 * coverage["level"]:g} % nominal'
    for key, what in (
        ('measured_overall', f'measured forces (noise: {coverage["noise_from"]})'),
        ('truth_overall', 'noise-free forces (parameters and motion)'),
    ):
        if coverage[key] is not None:
            lines.append(f'{100 * coverage[key]:.3g} % within the bounds ({level}): {what}')
    if coverage['guaranteed_overall'] is not None:
        lines.append(
            f'{100 * coverage["guaranteed_overall"]:.4g} % of the noise-free forces within the '
            'guaranteed bounds'
        )
    return lines


def _parameters(error: dict[str, Any]) -> str:
    return (
        f'parameters against the simulated robot: eps_AV {100 * error["average"]:.3g} %, median '
        f'{100 * error["median"]:.3g} %; p of the distance {error["p_value"]:.2g}'
    )


def _print_rollout(rollout: dict[str, Any]) -> None:
    floor = rollout['floor']
    rows = []
    for i, horizon in enumerate(rollout['horizons']):
        row = [
            horizon,
            f'{rollout["reached"][i]} of {rollout["starts"]}',
            1e3 * rollout['platform'][i],
            1e3 * rollout['largest'][i],
        ]
        rows.append(row if floor is None else [*row, 1e3 * floor['platform'][i]])
    header = ['after [s]', 'inside strokes', 'platform RMS [mm]', 'largest [mm, mrad]']
    if floor is not None:
        header.append('true parameters [mm]')
    sys.stdout.write('\n')
    print_table(header, rows, f'open-loop rollout under {rollout["forces"]} forces')


def verdict(summary: dict[str, Any]) -> str:
    """Return in one sentence what the model error is made of."""
    unbiased = summary['is_unbiased']
    if unbiased is None:
        return 'bias: unknown, the data do not show their noise (one period only)'
    biased = [name for name, fine in zip(summary['joints'], unbiased, strict=True) if not fine]
    if not biased:
        return 'unbiased: the noise of the averaged forces explains the model error of every axis'
    axes = ', '.join(biased)
    return f'biased: the model error exceeds the noise of the averaged forces in {axes}'
