"""Table, JSON and picture of the excitation study."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from pkm_bringup.studies.comparison import Comparison, agreement, compare
from pkm_bringup.studies.excitation import ESTIMATORS, Runs

MAIN = 'gauss_markov'  # what the design's information matrix describes


def report(deterministic: Runs, statistical: Runs) -> dict[str, Any]:
    """Return everything the study found, as plain values."""
    names = list(deterministic.design.figures['standard_deviation'])
    content: dict[str, Any] = {
        'robot': deterministic.design.trajectory.robot,
        'runs': len(deterministic.estimates[MAIN]),
        'period': deterministic.design.period,
        'parameters': names,
        'designs': {
            runs.name: {
                key: runs.design.figures[key]
                for key in ('d_optimal', 'a_optimal', 'condition_number', 'condition_number_scaled')
            }
            for runs in (deterministic, statistical)
        },
        'limits_left': {runs.name: runs.limits_left for runs in (deterministic, statistical)},
        'saturated': {runs.name: runs.saturated for runs in (deterministic, statistical)},
    }
    for estimator in ESTIMATORS:
        found = compare(names, deterministic.estimates[estimator], statistical.estimates[estimator])
        content[estimator] = _plain(found) | {
            'predicted': {
                runs.name: runs.predicted[estimator].tolist()
                for runs in (deterministic, statistical)
            },
            'agreement': {
                runs.name: agreement(
                    runs.predicted[estimator],
                    runs.estimates[estimator].std(axis=0, ddof=1),
                    len(runs.estimates[estimator]),
                )
                for runs in (deterministic, statistical)
            },
        }
    return content


def table(content: dict[str, Any], estimator: str = MAIN) -> list[tuple[Any, ...]]:
    """Return rows: parameter, both standard deviations with intervals, ratio with interval."""
    part = content[estimator]
    rows = []
    for index, name in enumerate(content['parameters']):
        low, high = part['ratio_interval'][index]
        rows.append(
            (
                name,
                part['predicted']['T_d'][index],
                _with_interval(part['sigma_d'][index], part['sigma_d_interval'][index]),
                part['predicted']['T_s'][index],
                _with_interval(part['sigma_s'][index], part['sigma_s_interval'][index]),
                f'{part["ratio"][index]:.2f} ({low:.2f}..{high:.2f})',
            )
        )
    return rows


def summary(content: dict[str, Any], estimator: str = MAIN) -> list[str]:
    """Return the findings as sentences."""
    part = content[estimator]
    low, high = part['log_volume_interval']
    count = len(content['parameters'])
    lines = [
        f'{estimator}: T_s has the smaller standard deviation for {part["smaller"]} of {count} '
        f'parameters, surely so for {part["surely_smaller"]}, surely the larger for '
        f'{part["surely_larger"]} (95 %, F-test)',
    ]
    if np.isfinite(part['log_volume_ratio']):
        lines.append(
            f'{estimator}: ln(ellipsoid volume of T_s / of T_d) {part["log_volume_ratio"]:.1f} '
            f'({low:.1f}..{high:.1f})'
        )
    for name, found in part['agreement'].items():
        lines.append(
            f'{estimator}: observed over predicted standard deviation of {name}: median '
            f'{found["median"]:.2f}, worst {found["worst"]:.2f}, {100 * found["within"]:.0f} % of '
            f'the parameters within 20 % ({100 * found["expected_within"]:.0f} % by chance alone)'
        )
    return lines


def plot(content: dict[str, Any], path: Path, estimator: str = MAIN) -> None:
    """Write a picture: standard deviations relative to T_d, and predicted against observed."""
    import matplotlib

    matplotlib.use('Agg')
    from matplotlib import pyplot

    part, names = content[estimator], content['parameters']
    figure, axes = pyplot.subplots(1, 2, figsize=(13, 7), layout='constrained', width_ratios=(3, 2))
    rows = np.arange(len(names))[::-1]
    ratio, interval = np.array(part['ratio']), np.array(part['ratio_interval'])
    axes[0].errorbar(
        ratio, rows, xerr=np.abs(interval.T - ratio), fmt='o', capsize=2,
        label='observed, 95 % interval',
    )  # fmt: skip
    foreseen = np.array(part['predicted']['T_s']) / np.array(part['predicted']['T_d'])
    axes[0].plot(foreseen, rows, 'k|', markersize=10, label='predicted by the designs')
    axes[0].axvline(1.0, color='0.5')
    axes[0].set_xscale('log')
    axes[0].set_yticks(rows, names, fontsize='small')
    axes[0].set_xlabel('standard deviation with T_s over that with T_d')
    axes[0].set_title(
        f'{content["robot"]}: {part["smaller"]} of {len(names)} smaller with T_s '
        f'({content["runs"]} runs each, {estimator})'
    )
    axes[0].legend()
    for name, key, mark in (('T_d', 'sigma_d', 's'), ('T_s', 'sigma_s', 'o')):
        expected = np.array(part['predicted'][name])
        axes[1].plot(expected, np.array(part[key]) / expected, mark, label=name)
    axes[1].axhspan(0.8, 1.2, color='0.9')
    axes[1].axhline(1.0, color='0.5')
    axes[1].set_xscale('log')
    axes[1].set_xlabel('predicted standard deviation of one run, SI units')
    axes[1].set_ylabel('observed / predicted')
    axes[1].set_title('predicted against observed; 20 % shaded')
    axes[1].legend()
    for axis in axes:
        axis.grid(alpha=0.25)
    figure.savefig(path)
    pyplot.close(figure)


def _plain(found: Comparison) -> dict[str, Any]:
    return {
        'sigma_d': found.first.tolist(),
        'sigma_d_interval': found.first_interval.tolist(),
        'sigma_s': found.second.tolist(),
        'sigma_s_interval': found.second_interval.tolist(),
        'ratio': found.ratio.tolist(),
        'ratio_interval': found.ratio_interval.tolist(),
        'smaller': found.smaller,
        'surely_smaller': found.surely_smaller,
        'surely_larger': found.surely_larger,
        'log_volume_ratio': found.log_volume_ratio,
        'log_volume_interval': list(found.log_volume_interval),
    }


def _with_interval(value: float, interval: list[float]) -> str:
    return f'{value:.3g} ({interval[0]:.3g}..{interval[1]:.3g})'
