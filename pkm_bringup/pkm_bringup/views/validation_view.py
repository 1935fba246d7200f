"""What `pkm validate` prints."""

from __future__ import annotations

import sys
from typing import Any

from pkm_bringup.views.console import Table, print_table, show
from pkm_identification.percent import percent

# What errors of forces are called, in every table, and in words once below it
EPS_RA, TO_TRUTH = 'eps_RA [%]', 'eps_RA to the truth [%]'
TO_TRUTH_IN_BAND = 'eps_RA to the truth, in band [%]'
EXPLAINED = {
    EPS_RA: 'eps_RA: relative absolute error, sum |predicted - reference| / sum |reference - mean|'
    ', the reference being the measured forces where no other is named',
    TO_TRUTH: 'the truth: noise-free forces of the simulated robot',
    TO_TRUTH_IN_BAND: 'in band: at the frequencies in which the motion is known',
}
BEYOND = 0.05  # share of a joint's samples from which one speaks of another motion


def print_validation(summary: dict[str, Any]) -> None:
    """Print the summary of a validation as tables and sentences."""
    sys.stdout.write(f'{grade_line(summary)}\n\n')
    show(validation_table(summary))
    sys.stdout.write('\n' + '\n'.join(validation_lines(summary)) + '\n')
    if summary['rollout'] is not None:
        _print_rollout(summary['rollout'])


def validation_table(summary: dict[str, Any]) -> Table:
    """Return the errors of the predicted forces, one row a joint."""
    measured, truth = summary['against_measured'], summary['against_truth_in_band']
    coverage, test = summary['coverage'], summary['noise_test']
    columns: list[tuple[str, Any]] = [
        ('joint', summary['joints']),
        (EPS_RA, _percent(measured['relative_absolute_error'])),
        ('residual RMS [N, N m]', measured['residual_rms']),
        ('noise RMS [N, N m]', summary['noise']),
        ('variance ratio', test and test['variance_ratio']),
        ('p', test and test['p_value']),
        ('unbiased', summary['is_unbiased'] or 'unknown'),
        ('covered [%]', coverage and _percent(coverage['measured'])),
        (TO_TRUTH_IN_BAND, truth and _percent(truth['relative_absolute_error'])),
        ('truth covered [%]', coverage and _percent(coverage['truth'])),
    ]
    shown = [(name, values) for name, values in columns if values is not None]
    rows = [
        [values if isinstance(values, str) else values[i] for _, values in shown]
        for i in range(len(summary['joints']))
    ]
    return Table(tuple(name for name, _ in shown), rows)


def validation_lines(summary: dict[str, Any]) -> list[str]:
    """Return sentences on the errors of all joints, their bias, bounds and the parameters."""
    measured, truth = summary['against_measured'], summary['against_truth_in_band']
    coverage = summary['coverage']
    text = f'{100 * measured["relative_absolute_error_overall"]:.3g} %'
    if truth is not None:
        text += f', to the truth, in band, {100 * truth["relative_absolute_error_overall"]:.3g} %'
    rms = f'{100 * measured["relative_rms_overall"]:.3g} %'
    cutoff = summary['signals'].get('cutoff')
    lines = [] if cutoff is None else [f'forces up to {cutoff:.4g} Hz, measured and predicted']
    lines += [
        f'eps_RA overall: {text}',
        f'RMS error over the RMS force, the measure of pkm identify: {rms}',
        verdict(summary),
    ]
    if coverage is not None:
        lines += _coverage(coverage, measured['relative_absolute_error_overall'])
        lines += _beyond(coverage, summary['joints'])
    if summary['parameter_error'] is not None:
        lines.append(_parameters(summary['parameter_error']))
    return lines + explained(EPS_RA, *((TO_TRUTH, TO_TRUTH_IN_BAND) if truth is not None else ()))


def explained(*headers: str) -> list[str]:
    """Return what the errors under these headers are, one line each."""
    return [EXPLAINED[header] for header in headers]


def _percent(values: list[float] | None) -> list[float] | None:
    return None if values is None else [100 * value for value in values]


def _coverage(coverage: dict[str, Any], error: float) -> list[str]:
    """Return the shares within the bounds, never without the error that the bounds allow."""
    lines = []
    level = f'{100 * coverage["level"]:g} % nominal, at an eps_RA of {100 * error:.3g} %'
    for key, what in (
        ('measured_overall', f'measured forces (noise: {coverage["noise_from"]})'),
        ('truth_overall', 'the truth (parameters and motion)'),
    ):
        if coverage[key] is not None:
            lines.append(f'{100 * coverage[key]:.3g} % within the bounds ({level}): {what}')
    if coverage['by_speed'] is not None:
        shares = ', '.join(f'{100 * share:.3g} %' for share in coverage['by_speed'])
        lines.append(f'of the measured forces at low, middle and high speed of the joint: {shares}')
    if (share := coverage['guaranteed_overall']) is not None:
        where = 'of the truth within the guaranteed bounds'
        lines.append(f'{100 * share:.4g} % {where}')
    return lines


def _beyond(coverage: dict[str, Any], joints: list[str]) -> list[str]:
    """Return which joints moved where the data of the identification have not been."""
    shares = coverage['beyond'] or []
    left = [
        f'{name} in {100 * share:.0f} % of the samples'
        for name, share in zip(joints, shares, strict=False)
        if share > BEYOND
    ]
    if not left:
        return []
    return [
        f'beyond the positions or speeds identified from: {", ".join(left)}; there the bounds are '
        'wider by the distance, as nothing is known of what the model lacks'
    ]


def _parameters(error: dict[str, Any]) -> str:
    return (
        f'parameters against the simulated robot: eps_AV {100 * error["average"]:.3g} %, median '
        f'{100 * error["median"]:.3g} %; p of the distance {error["p_value"]:.2g}'
    )


def _print_rollout(rollout: dict[str, Any]) -> None:
    columns = {
        'after [s]': rollout['horizons'],
        'inside strokes': [f'{reached} of {rollout["starts"]}' for reached in rollout['reached']],
        'platform RMS [mm]': [1e3 * value for value in rollout['platform']],
        'largest [mm, mrad]': [1e3 * value for value in rollout['largest']],
    }
    if rollout['floor'] is not None:
        columns['true parameters [mm]'] = [1e3 * value for value in rollout['floor']['platform']]
    rows = list(zip(*columns.values(), strict=True))
    print_table(tuple(columns), rows, f'\nopen-loop rollout under {rollout["forces"]} forces')


def grade_line(summary: dict[str, Any]) -> str:
    """Return in one line how good the model is on these data, and what limits it."""
    error, noise = summary['against_measured']['relative_rms_overall'], summary['noise_share']
    text = f'{summary["grade"]} model on these data: forces are predicted within {percent(error)}'
    text += ' (RMS)'
    if noise is not None:
        text += f', noise of the measurement alone making {percent(noise)}'
    return f'{text}; {_what_limits(summary)}'


def _what_limits(summary: dict[str, Any]) -> str:
    coverage = summary['coverage']
    shares = [] if coverage is None else coverage['beyond'] or []
    if summary['is_unbiased'] is not None and all(summary['is_unbiased']):
        return 'the rest is within the noise'
    if max(shares, default=0.0) > BEYOND:
        return 'they move where, or as fast as, the data of the identification never did'
    if summary['is_unbiased'] is None:
        return 'how much of that is noise is unknown: no spread over periods shows it'
    return 'the rest is an effect that the model lacks, or the robot has changed'


def verdict(summary: dict[str, Any]) -> str:
    """Return in one sentence what the model error is made of."""
    unbiased = summary['is_unbiased']
    if unbiased is None:
        return 'bias: unknown, as is the noise: no spread over periods shows it'
    biased = [name for name, fine in zip(summary['joints'], unbiased, strict=True) if not fine]
    if not biased:
        return 'unbiased: the noise of the averaged forces explains the model error of every axis'
    axes = ', '.join(biased)
    return f'biased: the model error exceeds the noise of the averaged forces in {axes}'
