"""Figures and table of the study of payloads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

KNOWN_CONSTANT = 0.01  # relative standard deviation, where one constant is known
LIMIT = 0.03
CASES = {
    'given': 'force constants as described',
    'prior': 'all constants known to the spread',
    'one_constant': f'one constant known to {100 * KNOWN_CONSTANT:g} %',
    'classic': 'known payload, least squares with currents in the regressor',
    'payload': 'known payload',
    'sequence': 'known payload before, its result as prior',
}


def figures(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Figures of one case over all runs.

    `mass_rms`, `mass_largest`, `mass_bias`: error over the true mass; `mass_bias_deviation`:
    standard deviation of the mean, None for one run; `mass_deviation`: what is reported in
    the median; `within_limit`: share of runs with an error below 3 %;
    `reported_to_observed`: reported deviations over the errors, each in the root mean square;
    `constant_rms`, `constant_deviation` of the force constants, over their true values;
    `centre_rms` [m].
    """
    error = np.array([run['mass_error'] for run in runs])
    content: dict[str, Any] = {
        'mass_rms': _rms(error),
        'mass_largest': float(np.abs(error).max()),
        'mass_bias': float(error.mean()),
        'mass_bias_deviation': _deviation_of_mean(error),
        'within_limit': float(np.mean(np.abs(error) < LIMIT)),
        'centre_rms': _rms(np.array([run['centre_error'] for run in runs])),
    }
    if 'mass_deviation' in runs[0]:
        deviation = np.array([run['mass_deviation'] for run in runs])
        content['mass_deviation'] = float(np.median(deviation))
        content['reported_to_observed'] = _rms(deviation) / content['mass_rms']
    if 'constant_errors' in runs[0]:
        content['constant_rms'] = _rms(np.array([run['constant_errors'] for run in runs]))
    if 'constant_deviations' in runs[0]:
        deviations = np.array([run['constant_deviations'] for run in runs])
        content['constant_deviation'] = float(np.median(deviations))
    return content


def ratio_figures(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Figures of the force constants from data without any payload."""
    errors = np.array([run['ratio_errors'] for run in runs])
    deviations = np.array([run['ratio_deviations'] for run in runs])
    return {
        'ratio_rms': _rms(errors),
        'ratio_deviation': float(np.median(deviations)),
        'common_deviation': float(min(run['common_deviation'] for run in runs)),
    }


def _deviation_of_mean(values: Array) -> float | None:
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else None


def _rms(values: Array) -> float:
    return float(np.sqrt(np.mean(values**2)))


HEADER = (
    'known besides the currents',
    'mass error, rms [%]',
    'largest [%]',
    'mean [%]',
    '+- [%]',
    'reported sd [%]',
    'reported / rms',
    f'within {100 * LIMIT:g} % [%]',
    'centre rms [mm]',
    'constants rms [%]',
    'reported [%]',
)


def rows(content: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """One row a case for a table."""

    def percent(figures: Mapping[str, Any], key: str) -> float | None:
        value = figures.get(key)
        return None if value is None else 100 * value

    return [
        (
            CASES[case],
            *(
                percent(each, key)
                for key in (
                    'mass_rms',
                    'mass_largest',
                    'mass_bias',
                    'mass_bias_deviation',
                    'mass_deviation',
                )
            ),
            each.get('reported_to_observed'),
            percent(each, 'within_limit'),
            1000 * each['centre_rms'],
            percent(each, 'constant_rms'),
            percent(each, 'constant_deviation'),
        )
        for case, each in content['cases'].items()
    ]
