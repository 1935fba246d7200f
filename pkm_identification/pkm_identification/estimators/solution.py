"""A problem solved by an estimator, with a covariance that was compared with the residuals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pkm_description.errors import EstimationError
from pkm_identification.estimators.honest import (
    full_covariance,
    honest_covariance,
    with_noise,
)
from pkm_identification.estimators.problem import Problem
from pkm_identification.estimators.registry import find_estimator
from pkm_identification.estimators.solve import Estimate

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Solution:
    """What an estimator makes of a problem.

    Attributes
    ----------
    estimate
        Of the free parameters, with the noise of the rows.
    values, covariance
        All base parameters (r,), (r, r), the fixed ones included.
    fit
        Figures of the residuals against their noise.
    """

    estimate: Estimate
    values: Array
    covariance: Array
    fit: Mapping[str, Any]


def solve_problem(problem: Problem, estimator: str, options: Mapping[str, Any]) -> Solution:
    """Solve a problem.

    Parameters
    ----------
    options
        Of the estimator itself.

    Raises
    ------
    EstimationError
        The estimator or its options are unknown, or it finds no finite solution.
    """
    solve = find_estimator(estimator)
    try:
        found = solve(problem, **options)
    except (TypeError, ValueError, np.linalg.LinAlgError) as error:
        raise EstimationError(
            f"estimator '{estimator}' with options {dict(options)}: {error}"
        ) from error
    if not np.isfinite(found.values).all():
        raise EstimationError(f"estimator '{estimator}' found no finite solution")
    found = with_noise(problem, found)
    covariance, fit = honest_covariance(problem, found)
    covariance = full_covariance(problem, found, covariance)
    covariance = (covariance + covariance.T) / 2  # exactly
    return Solution(found, problem.expand(found.values), covariance, fit)
