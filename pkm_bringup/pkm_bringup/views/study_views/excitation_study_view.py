"""Table, findings and picture of the excitation study."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pkm_bringup.studies.excitation_study import DETERMINISTIC, MAIN, STATISTICAL
from pkm_bringup.studies.runs.design_runs import ESTIMATORS
from pkm_bringup.studies.runs.spread_statistics import TOLERANCE
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


def plot_spreads(content: dict[str, Any], path: Path, estimator: str = MAIN) -> None:
    """Write a picture: standard deviations relative to T_d, and predicted against observed."""
    from matplotlib.figure import Figure

    part = content[estimator]
    figure = Figure(figsize=(13, 7), layout='constrained')
    axes = figure.subplots(1, 2, width_ratios=(3, 2))
    _draw_ratios(axes[0], content, part)
    axes[0].set_title(
        f'{content["robot"]}, plant: {content["plant"]}; {part["smaller"]} of '
        f'{len(content["parameters"])} smaller with T_s ({content["runs"]} runs each, {estimator})'
    )
    _draw_agreement(axes[1], content, part)
    for axis in axes:
        axis.grid(alpha=0.25)
        axis.legend(fontsize='small')
    figure.savefig(path)


def _draw_ratios(axis: Any, content: dict[str, Any], part: dict[str, Any]) -> None:
    names = content['parameters']
    rows = np.arange(len(names))[::-1]
    ratio, interval = np.array(part['ratio']), np.array(part['ratio_interval'])
    width, told = np.abs(interval.T - ratio), 'observed, 95 % interval'
    axis.errorbar(ratio, rows, xerr=width, fmt='o', capsize=2, label=told)
    foreseen = np.divide(part['of']['T_s']['predicted'], part['of']['T_d']['predicted'])
    axis.plot(foreseen, rows, 'k|', markersize=10, label='predicted by the motions')
    axis.axvline(1.0, color='0.5')
    axis.set_xscale('log')
    axis.set_yticks(rows, names, fontsize='small')
    axis.set_xlabel('standard deviation with T_s over that with T_d')


def _draw_agreement(axis: Any, content: dict[str, Any], part: dict[str, Any]) -> None:
    """Draw one column a parameter: both trajectories, against both kinds of figures."""
    columns = np.arange(len(content['parameters']))
    for name, key, mark, shift in (('T_d', 'sigma_d', 's', -0.15), ('T_s', 'sigma_s', 'o', 0.15)):
        for source, filled in (('predicted', True), ('executed', False)):
            ratio = np.divide(part[key], part['of'][name][source])
            look: dict[str, Any] = {'color': 'C0' if name == 'T_d' else 'C1', 'markersize': 6}
            if not filled:
                look |= {'markerfacecolor': 'none', 'markersize': 9}
            axis.plot(columns + shift, ratio, mark, label=f'{name}, over {TOLD[source]}', **look)
    axis.axhspan(1.0 - TOLERANCE, 1.0 + TOLERANCE, color='0.93', zorder=0)
    axis.axhline(1.0, color='0.5')
    axis.set_xticks(columns, content['parameters'], rotation=90, fontsize='x-small')
    axis.set_yscale('log')
    ticks = [0.1, 0.2, 0.5, 0.8, 1.0, 1.2, 1.5]
    axis.set_yticks(ticks, ticks)
    axis.set_yticks([], minor=True)
    axis.set_ylabel('observed standard deviation over that foreseen')
    axis.set_title(f'within {100 * TOLERANCE:.0f} %: shaded')
