"""Table and findings of the excitation study."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from pkm_bringup.studies.design_runs import ESTIMATORS
from pkm_bringup.studies.excitation_study import DETERMINISTIC, MAIN, STATISTICAL
from pkm_bringup.views.console import print_table

TOLD = {'predicted': 'predicted by the design', 'executed': 'that of the motion as run'}


def print_excitation(content: Mapping[str, Any]) -> None:
    """Print the deviations of both designs, and the findings as sentences."""
    part = content[MAIN]
    columns = {
        'parameter': content['parameters'],
        'T_d predicted': part['of'][DETERMINISTIC]['predicted'],
        'T_d observed (95 %)': _with_intervals(part, 'sigma_d', '.3g'),
        'T_s predicted': part['of'][STATISTICAL]['predicted'],
        'T_s observed (95 %)': _with_intervals(part, 'sigma_s', '.3g'),
        'T_s / T_d (95 %)': _with_intervals(part, 'ratio', '.2f'),
    }
    title = f'standard deviations of one run of {content["period"]:g} s, SI units, Gauss-Markov'
    print_table(tuple(columns), zip(*columns.values(), strict=True), title)
    lines = ['']
    for name, design in content['designs'].items():
        lines.append(
            f'{name} ({design["criterion"]}, {design["iterations"]} steps): condition number '
            f'{design["condition_number"]:.4g}, scaled {design["condition_number_scaled"]:.4g}, '
            f'-ln det F {design["d_optimal"]:.2f}'
        )
    for estimator in ESTIMATORS:
        lines.extend(findings(content, estimator))
    for name, design in content['designs'].items():
        left = design['limits_left']
        if left:
            parts = ', '.join(f'{limit} {100 * share:.1f} %' for limit, share in left.items())
            lines.append(f'{name} left of the limits of the plant: {parts}')
    sys.stdout.write('\n'.join(lines) + '\n')


def findings(content: Mapping[str, Any], estimator: str = MAIN) -> list[str]:
    """Return what an estimator shows, as sentences."""
    part = content[estimator]
    count = len(content['parameters'])
    lines = [
        f'T_s has the smaller standard deviation for {part["smaller"]} of {count} parameters, '
        f'surely so for {part["surely_smaller"]}, surely the larger for '
        f'{part["surely_larger"]} (95 %, F-test)'
    ]
    if part['log_volume_ratio'] is not None:
        low, high = part['log_volume_interval']
        foreseen = content['log_volume_ratio_predicted']
        lines.append(
            f'ln(ellipsoid volume of T_s / of T_d) {part["log_volume_ratio"]:.1f} '
            f'({low:.1f}..{high:.1f})'
            + (f', predicted {foreseen:.1f}' if estimator == MAIN else '')
        )
    for name, found in part['of'].items():
        for source, told in TOLD.items():
            fit = found['agreement'][source]
            lines.append(
                f'{name}, observed over {told}: median {fit["median"]:.2f}, worst '
                f'{fit["worst"]:.2f}, {fit["within"]} of {count} within 20 % (exact figures: '
                f'{fit["expected_within"]:.1f} on average)'
            )
        lag = found['independence']
        lines.append(
            f'{name}, correlation of one run with the next: mean {lag["lag_1"]:.2f}, strongest '
            f'{lag["strongest"]:.2f} (by chance below {lag["chance"]:.2f}); mean error beyond its '
            f'own chance (95 %) for {found["biased"]} of {count}'
        )
    return [f'{estimator}: {line}' for line in lines]


def _with_intervals(part: Mapping[str, Any], key: str, form: str) -> list[str]:
    return [
        f'{value:{form}} ({low:{form}}..{high:{form}})'
        for value, (low, high) in zip(part[key], part[f'{key}_interval'], strict=True)
    ]
