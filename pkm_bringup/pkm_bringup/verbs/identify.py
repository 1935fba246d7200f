"""`pkm identify`: from data to a model file."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from pkm_bringup.argument_types import positive, share
from pkm_bringup.arguments import DATA, add_json, add_robot, add_signals
from pkm_bringup.inputs import data_options, load_data, load_model, parse_options
from pkm_bringup.views.calibration_view import (
    add_calibration,
    calibration_options,
    calibration_summary,
    print_calibration,
)
from pkm_bringup.views.console import print_json, print_note, print_table, progress
from pkm_bringup.views.fit_view import (
    fit_verdict,
    interval_heading,
    not_determined,
    processing_lines,
)

THRESHOLD = 15.0  # [%]
OF_REDUCTION = ('significance', 'validate')  # arguments
REDUCTION_OPTIONS = ('keep', 'held_at')  # of --option
COMMON = (
    '; shared=true|false, reduced=true|false, estimate=[NAME, ...], fixed={NAME: [value, '
    'deviation]}, left_out=[NAME, ...] of base parameters by name or pattern, prior=MODEL; and '
    'those of the estimator (README of pkm_identification); with --reduce also keep=[NAME, ...], '
    'held_at=zero|nominal'
)
CONTRADICTION = 1e-3  # below this probability the nearest physical model contradicts the data


def add_parser(subparsers: Any) -> None:
    """Add the verb."""
    text = 'identify the dynamic model of a robot from data'
    parser = subparsers.add_parser('identify', help=text, description=text)
    parser.add_argument(
        'data', metavar='DATA', nargs='+', help=f'{DATA}; several of one robot are used together'
    )
    add_robot(parser)
    parser.add_argument(
        '--estimator',
        default='wls',
        help='ls, wls, gauss_markov, ... (a wrong name lists all); default: wls',
    )
    add_signals(parser, COMMON)
    parser.add_argument(
        '--output',
        required=True,
        metavar='MODEL',
        help='model file to write (.yaml), SI units; must not exist',
    )
    parser.add_argument(
        '--level', type=share, default=0.95, help='of the confidence intervals [1]; default: 0.95'
    )
    parser.add_argument(
        '--reduce',
        action='store_true',
        help='drop parameters step by step until all that are left are properly identified; the '
        'model file holds these',
    )
    parser.add_argument(
        '--threshold',
        type=positive,
        default=THRESHOLD,
        help='relative standard deviation up to which a parameter is properly identified '
        f'[percent]; default: {THRESHOLD:g}',
    )
    parser.add_argument(
        '--significance',
        type=share,
        help='with --reduce: what makes the residuals grow at this level of an F-test when it is '
        'dropped stays, however uncertain [1]; default: certainty alone decides',
    )
    parser.add_argument(
        '--validate',
        action='append',
        default=[],
        metavar='DATA',
        help='repeatable, with --reduce; recording that is only predicted at each step',
    )
    add_calibration(parser)
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: Any) -> int:
    """Identify, write the model, print the parameters."""
    from pkm_bringup.outputs import check_output

    output = check_output(arguments.output, ('.yaml', '.yml'))
    _check_reduction(arguments)
    options = parse_options(arguments.option)
    from pkm_identification import reduce_model
    from pkm_identification.estimators.registry import check_option_names
    from pkm_identification.identify import identify
    from pkm_identification.model_selection.identifiability import identifiability
    from pkm_identification.result.diagnostics import RecordedDescription
    from pkm_identification.written_options import check_written_names, written_options

    check_option_names(arguments.estimator, options, REDUCTION_OPTIONS if arguments.reduce else ())
    check_written_names(options, 'keep')

    reduction = None
    with progress('identifying') as update:
        update('reading the robot; the first run compiles')
        model = load_model(arguments.robot)
        options = written_options(options, model)
        update('reading the data')
        chosen = data_options(arguments)
        datasets = [load_data(each, arguments.allow_incomplete, chosen) for each in arguments.data]
        calibration = calibration_options(arguments, datasets)
        if arguments.reduce:
            held_out = [
                load_data(each, arguments.allow_incomplete, chosen) for each in arguments.validate
            ]
            reduction = reduce_model(
                datasets,
                model,
                arguments.estimator,
                threshold=arguments.threshold,
                significance=arguments.significance,
                validation=held_out,
                progress=update,
                **{**options, **_given(calibration)},
            )
            result = reduction.result
        else:
            result = identify(
                datasets, model, arguments.estimator, progress=update, **{**options, **calibration}
            )
    known = identifiability(result, model, arguments.threshold)
    result.save(output)
    if arguments.json:
        content = summary(result, str(output), arguments.level)
        content |= {'identifiability': known.rows(), 'properly_identified': known.count}
        if reduction is not None:
            content |= {'steps': reduction.rows(), 'dropped': reduction.dropped}
        print_json(content)
        return 0
    if reduction is not None:
        print_steps(reduction.rows())
    keys = ('name', 'value', 'standard_deviation', 'relative', 'low', 'high', 'unit')
    rows = [[row[key] for key in keys] for row in parameters(result, arguments.level)]
    sure = interval_heading(result, arguments.level)
    print_table(
        ('parameter', 'estimate', 'standard deviation', '%', f'{sure} from', 'to', 'unit'), rows
    )
    print_calibration(result)
    print_residuals(result)
    sentences = (
        *processing_lines(result),
        correlations(result),
        fit_verdict(result),
        not_determined(result),
        certainty(known),
        verdict(result),
    )
    sys.stdout.write(''.join(f'{text}\n' for text in sentences if text))
    diagnostics = result.diagnostics
    print_quality([each.quality for each in diagnostics.data])
    if any(each.recorded_description is RecordedDescription.ANOTHER for each in diagnostics.data):
        print_note('note: the data carry another description than the one used here')
    for warning in diagnostics.warnings:
        print_note(f'warning: {warning}')
    print_note(f"wrote '{output}'")
    return 0


def _check_reduction(arguments: Any) -> None:
    """Refuse options that would be left unused."""
    from pkm_description.errors import EstimationError

    given = [f'--{name}' for name in OF_REDUCTION if getattr(arguments, name)]
    if given and not arguments.reduce:
        need = 'needs' if len(given) == 1 else 'need'
        raise EstimationError(f'{" and ".join(given)} {need} --reduce')


def print_quality(several: Sequence[Mapping[str, Any] | None]) -> None:
    """Say what is wrong with the data, one line a defect and recording."""
    for number, each in enumerate(several):
        of = f' {number + 1}' if len(several) > 1 else ''
        for defect in (each or {}).get('defects', []):
            print_note(f'data{of}: {defect["text"]}')


def _given(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value not in (None, False)}


def print_steps(steps: list[dict[str, Any]]) -> None:
    """Print the way to the reduced model, one line an estimate."""
    kinds = [kind for kind in ('measured', 'truth') if kind in steps[0]['held_out']]
    rows = [
        [
            step['parameters'],
            step['proper'],
            100 * step['error']['measured'],
            *[100 * step['held_out'][kind] for kind in kinds],
            step['variance_ratio'],
            step['p_value'],
            step['dropped'] or '-',
            step['reason'] or '-',
            step['relative'],
        ]
        for step in steps
    ]
    names = {'measured': 'held out [%]', 'truth': 'to truth [%]'}
    header = [
        'parameters',
        'proper',
        'eps_RA [%]',
        *[names[kind] for kind in kinds],
        'variance',
        'p',
        'dropped',
        'why',
        'sd [%]',
    ]
    print_table(header, rows)
    sys.stdout.write('\n')


def parameters(result: Any, level: float = 0.95) -> list[dict[str, Any]]:
    """Return one row a parameter; the relative standard deviation in %."""
    interval = result.confidence_interval(level)
    rows = [
        {
            'name': result.names[i],
            'value': float(result.values[i]),
            'standard_deviation': float(result.standard_deviation[i]),
            'relative': float(result.relative_standard_deviation[i]),
            'low': float(interval[i, 0]),
            'high': float(interval[i, 1]),
            'unit': result.units[i],
            'expression': result.expressions[i],
        }
        for i in range(len(result.names))
    ]
    friction = result.drive_friction
    if friction is not None:
        factor = result.coverage_factor(level)
        columns = (friction.names, friction.values, friction.standard_deviation, friction.units)
        for name, value, deviation, unit in zip(*columns, strict=True):
            rows.append(
                {
                    'name': name,
                    'value': float(value),
                    'standard_deviation': float(deviation),
                    'relative': float(100 * deviation / abs(value)) if value else math.inf,
                    'low': float(value - factor * deviation),
                    'high': float(value + factor * deviation),
                    'unit': unit,
                    'expression': name,
                }
            )
    return rows


def print_residuals(result: Any) -> None:
    """Print what the residuals say, one line an actuator and recording."""
    several = any(entry.run for entry in result.residual_analysis)
    rows = [
        [
            f'{entry.joint} ({entry.run + 1})' if several else entry.joint,
            entry.rms,
            entry.noise_rms,
            entry.variance_p_value,
            entry.whiteness_p_value,
            100 * entry.outlier_share,
            entry.worst_times[0] if entry.worst_times else None,
        ]
        for entry in result.residual_analysis
    ]
    header = (
        'residuals',
        'RMS [N, N m]',
        'noise RMS',
        'p noise',
        'p white',
        'outliers [%]',
        'worst at [s]',
    )
    sys.stdout.write('\n')
    print_table(header, rows)


def correlations(result: Any) -> str:
    """Return the strongest correlation and the condition number in one line."""
    pairs = result.strongest_correlations(1)
    condition = result.diagnostics.condition
    text = '' if condition is None else f'condition number {condition.condition_number:.4g}'
    if pairs:
        first, second, value = pairs[0]
        text += f'; strongest correlation {value:.3f}, of {first} and {second}'
    return text


def certainty(known: Any) -> str:
    """Return in one sentence how many parameters are properly identified, and which are not."""
    estimated = int(known.is_estimated.sum())
    text = f'{known.count} of {estimated} parameters properly identified'
    text += f' (known to {known.threshold:g} %, of a possible sign)'
    others: dict[str, list[str]] = {}
    for index, name in enumerate(known.names):
        others.setdefault(known.verdict(index), []).append(name)
    for kind in ('impossible sign', 'uncertain'):
        if kind in others:
            text += f'; {kind}: {", ".join(others[kind])}'
    return text


def verdict(result: Any) -> str:
    """Return in one sentence whether the estimate can belong to real bodies."""
    if result.is_physical:
        return 'physical: bodies and friction with exactly these parameters exist'
    consistent = result.consistent
    reasons = '; '.join(consistent.violations) or 'no body can have these parameters'
    place = f'{consistent.distance:.3g} standard deviations away (p = {consistent.p_value:.2g})'
    if consistent.p_value > CONTRADICTION:
        return f'not physical in itself ({reasons}), but within its uncertainty: a model is {place}'
    return f'not physical: {reasons}; the nearest physical model contradicts the data, {place}'


def summary(result: Any, output: str, level: float = 0.95) -> dict[str, Any]:
    """Return what a machine may want to know."""
    return {
        'robot': result.robot,
        'estimator': result.estimator,
        'level': level,
        'parameters': parameters(result, level),
        'correlation': result.correlation,
        'strongest_correlations': result.strongest_correlations(),
        'residuals': [entry.to_mapping() for entry in result.residual_analysis],
        'residual_rms': dict(zip(result.joint_names, result.residual_rms, strict=True)),
        **calibration_summary(result),
        'is_physical': result.is_physical,
        'violations': list(result.consistent.violations),
        'distance_to_physical': result.consistent.distance,
        'p_value_physical': result.consistent.p_value,
        'diagnostics': result.diagnostics,
        'output': output,
    }
