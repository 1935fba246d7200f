"""Identification with payloads and unknown force constants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pkm_description.errors import EstimationError
from pkm_identification.estimators.registry import find_estimator
from pkm_identification.force_constants.calibration import State
from pkm_identification.force_constants.calibration_problem import build_calibration, start_values
from pkm_identification.force_constants.calibration_request import Request
from pkm_identification.force_constants.calibration_result import Calibrated, read_out
from pkm_identification.regression.problem import Problem
from pkm_identification.regression.weighted_least_squares import Estimate
from pkm_identification.result.result import IdentificationResult
from pkm_identification.signals import Signals

if TYPE_CHECKING:
    from pkm_dynamics import ClosedChainModel

Array = NDArray[np.float64]

LINEAR = ('ls', 'wls', 'gauss_markov')


def calibrate(
    request: Request,
    estimator: str,
    options: Mapping[str, Any],
    signals: Sequence[Signals],
    model: ClosedChainModel,
    nominal: Array,
    *,
    shared: bool = True,
    reduced: bool | str = True,
    estimate: Sequence[str] | str | None = None,
    fixed: Mapping[str, Any] | None = None,
    prior: IdentificationResult | Mapping[str, Any] | None = None,
) -> Calibrated:
    """Estimate parameters, payloads and force constants together.

    Parameters
    ----------
    request
        Payloads and force constants.
    estimator, options
        `ls`, `wls` or `gauss_markov`: the weights of the linear problem in each step.
    signals
        Of datasets that `request.forces_of` gave.
    nominal
        Their force constants, as `request.nominal_constants` gives them.
    shared, reduced, estimate, fixed, prior
        As for `build_problem`. The prior may be a result with force constants, which then
        count with their correlation.

    Raises
    ------
    EstimationError
        Another estimator, recordings too long for memory, too few data, or no convergence.
    """
    if estimator not in LINEAR:
        raise EstimationError(
            f"estimator '{estimator}' takes no payloads and no unknown force constants; use "
            f'{", ".join(LINEAR)}, then give it data with the force constants that these found'
        )
    calibration = build_calibration(
        request, signals, model, shared, reduced, estimate, fixed, prior
    )
    solve = find_estimator(estimator)

    def step(problem: Problem) -> Estimate:
        try:
            return solve(problem, **options)
        except (TypeError, ValueError, np.linalg.LinAlgError) as error:
            raise EstimationError(
                f"estimator '{estimator}' with options {dict(options)}: {error}"
            ) from error

    start = State(
        start_values(calibration),
        calibration.bodies.start.ravel(),
        np.zeros(calibration.groups.size),
    )
    state, linear, found = calibration.solve(step, start)
    assert found.weights is not None
    if calibration.is_free_to_scale(linear, found.weights, state):
        state = calibration.with_mean_one(state)
        linear = calibration.linearised(state)
        found = step(linear)
        is_free = True
    else:
        state = calibration.state(linear.expand(found.values))
        is_free = False
    return read_out(calibration, state, linear, found, is_free, nominal, prior)
