"""Estimators by name; their options are the keywords of their functions."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any

from pkm_description.errors import EstimationError
from pkm_identification.estimators.consistent.nonlinear_friction import nonlinear_friction
from pkm_identification.estimators.consistent.physically_consistent import feasible
from pkm_identification.estimators.filters.kalman import ekf, ukf
from pkm_identification.estimators.filters.recursive import recursive
from pkm_identification.estimators.instrumental_variables import iv
from pkm_identification.estimators.linear import gauss_markov, ls, wls
from pkm_identification.estimators.maximum_likelihood.likelihood_search import maximum_likelihood
from pkm_identification.estimators.output_error.closed_loop_fit import output_error
from pkm_identification.estimators.robust import irls
from pkm_identification.estimators.set_membership.parameter_ellipsoid import ellipsoid
from pkm_identification.estimators.staged import staged
from pkm_identification.estimators.total_least_squares import tls
from pkm_identification.regression.weighted_least_squares import Estimate
from pkm_identification.signals import SignalOptions

Estimator = Callable[..., Estimate]

ESTIMATORS: Mapping[str, Estimator] = {
    'ls': ls,
    'wls': wls,
    'gauss_markov': gauss_markov,
    'maximum_likelihood': maximum_likelihood,
    'irls': irls,
    'iv': iv,
    'ekf': ekf,
    'ukf': ukf,
    'staged': staged,
    'recursive': recursive,
    'tls': tls,
    'ellipsoid': ellipsoid,
    'feasible': feasible,
    'nonlinear_friction': nonlinear_friction,
    'output_error': output_error,
}
COMMON_OPTIONS = (
    'shared',
    'reduced',
    'estimate',
    'fixed',
    'prior',
    'left_out',
    'payloads',
    'drive_gains',
    'force_constants',
)
SIGNAL_OPTIONS = tuple(field.name for field in fields(SignalOptions))


def estimators() -> list[str]:
    """Names of the estimators."""
    return list(ESTIMATORS)


def estimator_options(name: str) -> list[str]:
    """Names of the options that an estimator takes of its own."""
    return list(inspect.signature(find_estimator(name)).parameters)[1:]


def find_estimator(name: str) -> Estimator:
    """Return an estimator; `EstimationError` lists the valid names."""
    if name not in ESTIMATORS:
        raise EstimationError(f"unknown estimator '{name}'; valid are {', '.join(ESTIMATORS)}")
    return ESTIMATORS[name]


def check_option_names(
    estimator: str, options: Mapping[str, Any], further: Sequence[str] = ()
) -> None:
    """Raise `EstimationError` where neither `identify` nor the estimator has such an option.

    Parameters
    ----------
    further
        Names that are valid besides.
    """
    own = estimator_options(estimator)
    valid = [*own, *SIGNAL_OPTIONS, *COMMON_OPTIONS, *further]
    for name in options:
        if name not in valid:
            raise EstimationError(
                f"unknown option '{name}' of estimator '{estimator}'; valid are {', '.join(valid)}"
            )


def split_options(
    estimator: str, options: Mapping[str, Any]
) -> tuple[SignalOptions, dict[str, Any]]:
    """Split options into those of the signals and those of the estimator.

    Raises
    ------
    EstimationError
        An option is known to neither, or has a wrong value.
    """
    check_option_names(estimator, options)
    own = estimator_options(estimator)
    common = [name for name in options if name in COMMON_OPTIONS]
    if common:
        raise EstimationError(f"option '{common[0]}' cannot be used here")
    chosen = {name: options[name] for name in options if name in SIGNAL_OPTIONS}
    try:
        signal_options = SignalOptions(**chosen)
    except TypeError as error:
        raise EstimationError(f'signal options {chosen} cannot be used: {error}') from error
    return signal_options, {name: options[name] for name in options if name in own}
