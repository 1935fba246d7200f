"""Table, sentences and plain values of the excitation study."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats

from pkm_bringup.studies.comparison import Comparison, agreement, bias, compare, independence
from pkm_bringup.studies.excitation import Runs
from pkm_bringup.studies.excitation_runs import ESTIMATORS

MAIN = 'gauss_markov'  # what the information matrix of a design describes
SOURCES = {  # standard deviations that the observed ones are held against
    'predicted': 'predicted by the design',
    'executed': 'that of the motion as run',
}


def report(deterministic: Runs, statistical: Runs) -> dict[str, Any]:
    """Return everything the study found, as plain values."""
    pair = (deterministic, statistical)
    names = list(deterministic.design.figures['standard_deviation'])
    content: dict[str, Any] = {
        'robot': deterministic.design.trajectory.robot,
        'runs': len(deterministic.estimates[MAIN]),
        'period': deterministic.design.period,
        'parameters': names,
        'truth': deterministic.truth.tolist(),
        'designs': {
            runs.name: {
                'criterion': runs.design.criterion,
                'iterations': runs.design.origin['iterations'],
                **runs.information.figures,
                'harmonics_used': runs.harmonics,
                'harmonics_measured': runs.measured_harmonics,
                'force_noise': runs.noise['forces'].tolist(),
                'position_noise': runs.noise['positions'].tolist(),
                'limits_left': runs.limits_left,
                'saturated': runs.saturated,
            }
            for runs in pair
        },
    }
    volumes = [0.5 * runs.information.figures['d_optimal'] for runs in pair]
    content['log_volume_ratio_predicted'] = volumes[1] - volumes[0]
    for estimator in ESTIMATORS:
        found = compare(names, deterministic.estimates[estimator], statistical.estimates[estimator])
        content[estimator] = _plain(found) | {
            'of': {runs.name: _single(runs, estimator) for runs in pair}
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
                part['of']['T_d']['predicted'][index],
                _with_interval(part['sigma_d'][index], part['sigma_d_interval'][index]),
                part['of']['T_s']['predicted'][index],
                _with_interval(part['sigma_s'][index], part['sigma_s_interval'][index]),
                f'{part["ratio"][index]:.2f} ({low:.2f}..{high:.2f})',
            )
        )
    return rows


def summary(content: dict[str, Any], estimator: str = MAIN) -> list[str]:
    """Return the findings as sentences."""
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
        for source in SOURCES:
            fit = found['agreement'][source]
            lines.append(
                f'{name}, observed over {SOURCES[source]}: median {fit["median"]:.2f}, worst '
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


def _single(runs: Runs, estimator: str) -> dict[str, Any]:
    """Return what holds of one trajectory."""
    estimates = runs.estimates[estimator]
    observed = estimates.std(axis=0, ddof=1)
    sources = dict(
        zip(
            SOURCES, (runs.information.deviations[estimator], runs.executed[estimator]), strict=True
        )
    )
    error, uncertainty = bias(estimates, runs.truth)
    limit = stats.t.ppf(0.975, len(estimates) - 1)
    return {
        **{source: value.tolist() for source, value in sources.items()},
        'mean_error': error.tolist(),
        'biased': int(np.sum(np.abs(error) > limit * uncertainty)),
        'agreement': {
            source: agreement(value, observed, len(estimates)) for source, value in sources.items()
        },
        'independence': independence(estimates),
    }


def _plain(found: Comparison) -> dict[str, Any]:
    known = bool(np.isfinite(found.log_volume_ratio))
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
        'log_volume_ratio': found.log_volume_ratio if known else None,
        'log_volume_interval': list(found.log_volume_interval) if known else None,
    }


def _with_interval(value: float, interval: list[float]) -> str:
    return f'{value:.3g} ({interval[0]:.3g}..{interval[1]:.3g})'
