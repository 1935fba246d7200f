"""`pkm validate`: how well a model predicts data that it was not identified from."""

from __future__ import annotations

import sys
from typing import Any

from pkm_bringup.arguments import (
    DATA,
    add_json,
    add_robot,
    add_signals,
    load_data,
    load_model,
    parse_options,
)
from pkm_bringup.console import print_json, print_table, progress


def add_parser(subparsers: Any) -> None:
    """Add the verb."""
    text = 'compare the forces that a model predicts with measured ones'
    parser = subparsers.add_parser('validate', help=text, description=text)
    parser.add_argument('data', metavar='DATA', help=DATA)
    add_robot(parser)
    parser.add_argument(
        '--model', required=True, metavar='MODEL', help='model file of `pkm identify`, SI units'
    )
    add_signals(parser)
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: Any) -> int:
    """Print the relative absolute errors and the verdict on bias."""
    options = parse_options(arguments.option)
    from pkm_identification import load_result, validate

    with progress('validating') as update:
        update('reading the robot; the first run compiles')
        model = load_model(arguments.robot)
        result = load_result(arguments.model, model)
        update('reading the data')
        dataset = load_data(arguments.data, arguments.allow_incomplete)
        update('predicting')
        validation = validate(dataset, result, model, **options)
    summary = validation.summary()
    if arguments.json:
        print_json({'robot': result.robot, 'model': arguments.model, **summary})
    else:
        _print(summary)
    return 0


def _print(summary: dict[str, Any]) -> None:
    measured, truth = summary['against_measured'], summary['against_truth_in_band']
    header = ['joint', 'eps_RA [%]', 'residual RMS [N, N m]', 'noise RMS [N, N m]', 'unbiased']
    if truth is not None:
        header.append('eps_RA to truth [%]')
    rows = []
    for i, name in enumerate(summary['joints']):
        row = [
            name,
            100 * measured['relative_absolute_error'][i],
            measured['residual_rms'][i],
            None if summary['noise'] is None else summary['noise'][i],
            'unknown' if summary['is_unbiased'] is None else summary['is_unbiased'][i],
        ]
        if truth is not None:
            row.append(100 * truth['relative_absolute_error'][i])
        rows.append(row)
    print_table(header, rows)
    text = f'{100 * measured["relative_absolute_error_overall"]:.3g} %'
    if truth is not None:
        text += f', to the truth {100 * truth["relative_absolute_error_overall"]:.3g} %'
    sys.stdout.write(f'\nrelative absolute error overall: {text}\n{verdict(summary)}\n')


def verdict(summary: dict[str, Any]) -> str:
    """Return in one sentence what the model error is made of."""
    unbiased = summary['is_unbiased']
    if unbiased is None:
        return 'bias: unknown, the data do not show their noise (one period only)'
    biased = [
        name for name, fine in zip(summary['joints'], unbiased, strict=True) if not fine
    ]
    if not biased:
        return 'unbiased: the noise of the averaged forces explains the model error of every axis'
    axes = ', '.join(biased)
    return f'biased: the model error exceeds the noise of the averaged forces in {axes}'
