"""Estimators by name; a module is imported when its estimator is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, cast

from pkm_description.errors import EstimationError
from pkm_identification.estimators.estimator_options import require_estimator
from pkm_identification.options import ESTIMATORS, SIGNALS, check_options, names
from pkm_identification.regression.weighted_least_squares import Estimate
from pkm_identification.signals import SignalOptions

Estimator = Callable[..., Estimate]

MODULES: Mapping[str, str] = {
    'ls': 'linear',
    'wls': 'linear',
    'gauss_markov': 'linear',
    'maximum_likelihood': 'maximum_likelihood.likelihood',
    'irls': 'robust',
    'iv': 'instrumental_variables',
    'ekf': 'filters.kalman',
    'ukf': 'filters.kalman',
    'staged': 'staged',
    'recursive': 'filters.recursive',
    'tls': 'total_least_squares',
    'ellipsoid': 'set_membership.parameter_ellipsoid',
    'feasible': 'consistent.physically_consistent',
    'nonlinear_friction': 'consistent.nonlinear_friction',
    'output_error': 'output_error.closed_loop_fit',
}  # in `pkm_identification.estimators`; the function has the name of the estimator
# which make motions of their own, of single samples: friction with a past is unknown to them
WITHOUT_PAST = ('maximum_likelihood', 'output_error')
LINEAR = tuple(name for name, module in MODULES.items() if module == 'linear')
WITH_FRICTION_LAWS = ('nonlinear_friction',)  # whose prior may have friction laws of the drives
SIGNAL_OPTIONS = names(SIGNALS)


def find_estimator(name: str) -> Estimator:
    """Return an estimator; `EstimationError` lists the valid names."""
    require_estimator(name)
    module = import_module(f'pkm_identification.estimators.{MODULES[name]}')
    return cast(Estimator, getattr(module, name))


def split_options(
    estimator: str, options: Mapping[str, Any]
) -> tuple[SignalOptions, dict[str, Any]]:
    """Split options into those of the signals and those of the estimator.

    EstimationError where an option is known to neither, or has a wrong value.
    """
    require_estimator(estimator)
    check_options((estimator,), options)
    own = names(ESTIMATORS[estimator])
    for name in options:
        if name not in (*own, *SIGNAL_OPTIONS):
            raise EstimationError(f"option '{name}' cannot be used here")
    signals = {name: options[name] for name in SIGNAL_OPTIONS if name in options}
    return SignalOptions(**signals), {name: options[name] for name in own if name in options}
