"""Maximum likelihood with noise on both sides: parameters and motion together [A eq. 6, 15]."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pkm_description.errors import EstimationError
from pkm_identification.estimators.maximum_likelihood.likelihood import Likelihood
from pkm_identification.regression.problem import Problem
from pkm_identification.regression.weighted_least_squares import Estimate

FIRST_DAMPING = 1e-3  # of the information of the motion: next to Gauss-Newton


def maximum_likelihood(
    problem: Problem,
    position_noise: float | Sequence[float] | None = None,
    tolerance: float = 1e-2,
    max_iterations: int = 50,
) -> Estimate:
    """Estimate the parameters together with the true motion.

    Minimises delta^T Delta^-1 delta + eta^T Sigma^-1 eta with delta the measured less the
    true Fourier coefficients of the actuators' positions, eta those of the forces less the
    model's along the true motion. Harmonics in which the motion stands out of its noise are
    unknown; the forces follow from them by the forward kinematics. The noise of both sides
    comes from the spread over periods, coloured where it is, and correlated between the axes
    and between positions and forces: what a servo makes of its sensors' noise is noise too,
    around the periodic motion that the averaged period stands for. The parameters are linear
    given the motion and are projected out (variable projection with Kaufman's derivative);
    the motion is found by Levenberg-Marquardt steps from the measured one.

    A given `position_noise` [m, rad], scalar or (n_a,), is white and independent of the forces'
    noise. `tolerance` is the last change of the parameters, in standard deviations, and of the
    cost. The covariance is that of Cramer and Rao: inverse information of the parameters after that
    of the motion is taken off (Schur complement). EstimationError where the data are not periodic,
    the motion has too many harmonics, or the steps did not converge.
    """
    for run in problem.runs:
        if not run.is_periodic:
            raise EstimationError(
                "estimator 'maximum_likelihood' needs periodic data: the motion is estimated as "
                'a Fourier series; give period= if the motion has one'
            )
    likelihood = Likelihood(problem, position_noise)
    point, trials, damping, change = likelihood.start(), 0, FIRST_DAMPING, np.inf
    parts = likelihood.linearise(point)
    while True:
        if trials == max_iterations:
            raise EstimationError(
                f"estimator 'maximum_likelihood' did not converge in {trials} steps: the last "
                f'changed the parameters by {change:.2g} standard deviations; raise '
                'max_iterations= or lower harmonics='
            )
        trials += 1
        step, predicted = likelihood.step(parts, damping)
        if predicted < tolerance**2:  # a decrease of 1 is one standard deviation away
            break
        candidate = likelihood.try_point([u + du for u, du in zip(point.motion, step, strict=True)])
        if candidate is None or candidate.cost >= point.cost:
            damping *= 10
            continue
        decrease = point.cost - candidate.cost
        change = likelihood.distance(parts, candidate.values - point.values)
        damping = damping / 10 if decrease > 0.5 * predicted else damping * 3
        point = candidate
        if change < tolerance and decrease < tolerance:
            break
        parts = likelihood.linearise(point)
    return likelihood.estimate(point, parts, trials)
