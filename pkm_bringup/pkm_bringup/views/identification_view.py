"""What `pkm identify` prints: parameters, residuals, verdicts; and the same for a machine."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from pkm_bringup.views.calibration_view import calibration_summary, print_calibration
from pkm_bringup.views.console import print_note, print_table
from pkm_bringup.views.fit_view import (
    fit_verdict,
    interval_heading,
    not_determined,
    processing_lines,
)
from pkm_identification.requests.apply_request import LEAST_P_VALUE
from pkm_identification.requests.identify_request import Identified
from pkm_identification.result.diagnostics import RecordedDescription
from pkm_identification.result.plain import plain


def print_identified(found: Identified, level: float) -> None:
    """Print tables and sentences on stdout, remarks on stderr."""
    result = found.result
    if found.reduction is not None:
        print_steps(found.reduction.rows())
    keys = ('name', 'value', 'standard_deviation', 'relative', 'low', 'high', 'unit')
    rows = [[row[key] for key in keys] for row in parameters(result, level)]
    sure = interval_heading(result, level)
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
        certainty(found.identifiability),
        verdict(result),
    )
    sys.stdout.write(''.join(f'{text}\n' for text in sentences if text))
    diagnostics = result.diagnostics
    print_quality([each.quality for each in diagnostics.data])
    if any(each.recorded_description is RecordedDescription.ANOTHER for each in diagnostics.data):
        print_note('note: the data carry another description than the one used here')
    for warning in diagnostics.warnings:
        print_note(f'warning: {warning}')


def print_quality(several: Sequence[Mapping[str, Any] | None]) -> None:
    """Say what is wrong with the data, one line a defect and recording."""
    for number, each in enumerate(several):
        of = f' {number + 1}' if len(several) > 1 else ''
        for defect in (each or {}).get('defects', []):
            print_note(f'data{of}: {defect["text"]}')


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
    if consistent.p_value > LEAST_P_VALUE:
        return f'not physical in itself ({reasons}), but within its uncertainty: a model is {place}'
    return f'not physical: {reasons}; the nearest physical model contradicts the data, {place}'


def summary(found: Identified, output: str, level: float) -> dict[str, Any]:
    """Return what a machine may want to know."""
    result, known, reduction = found.result, found.identifiability, found.reduction
    content = {
        'robot': result.robot,
        'estimator': result.estimator,
        'level': level,
        'parameters': parameters(result, level),
        'correlation': result.correlation,
        'strongest_correlations': result.strongest_correlations(),
        'residuals': plain(result.residual_analysis),
        'residual_rms': dict(zip(result.joint_names, result.residual_rms, strict=True)),
        **calibration_summary(result),
        'is_physical': result.is_physical,
        'violations': list(result.consistent.violations),
        'distance_to_physical': result.consistent.distance,
        'p_value_physical': result.consistent.p_value,
        'diagnostics': result.diagnostics,
        'output': output,
    }
    content |= {'identifiability': known.rows(), 'properly_identified': known.count}
    if reduction is not None:
        content |= {'steps': reduction.rows(), 'dropped': reduction.dropped}
    return content
