"""Maximum likelihood with noise on both sides: parameters and motion together [A eq. 6, 15]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from pkm_description.errors import ConvergenceError, EstimationError
from pkm_identification.arrays import Array
from pkm_identification.estimators.linear import gauss_markov, noise_of_rows
from pkm_identification.estimators.maximum_likelihood.run_likelihood import RunLikelihood, noise_of
from pkm_identification.regression.numerics import determined_directions, with_variance
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


@dataclass(frozen=True)
class LikelihoodDiagnostics:
    """What the likelihood says of noise, motion and forces."""

    iterations: int
    motion_parameters: int  # unknowns of the motion
    likelihood_variance_ratio: float  # cost over degrees of freedom: 1 where noise explains it
    noise_model: str | tuple[str, ...]  # where the noise is known from; one a run if they differ
    motion_correction: float  # root mean square, in deviations of the position noise
    force_residual: float  # the same of the forces


@dataclass(frozen=True)
class Point:
    """A motion, the best parameters for it, and what is left; lists have one entry a run."""

    motion: list[Array]  # deviations (2 L n_a,) of the measured motion from the true one, whitened
    values: Array  # free parameters (f,)
    designs: list[Array]  # whitened rows (k, f')
    fixed: list[Array]  # (k, g)
    residuals: list[Array]  # (k,)
    cost: float  # sum of squares, of the prior too


@dataclass(frozen=True)
class Part:
    """Linearisation of one run: gain (k, unknowns) of its whitened rows, and its Gram matrix."""

    gain: Array
    gram: Array
    motion: Array
    design: Array
    fixed: Array
    residuals: Array


class Likelihood:
    """The cost over the motions of all runs of periodic data, and what its steps need."""

    def __init__(
        self, problem: Problem, position_noise: float | Sequence[float] | None = None
    ) -> None:
        self.problem = problem
        self.first = gauss_markov(problem)
        assert self.first.bread is not None
        self._directions = determined_directions(self.first.bread)
        self._origin = self.first.values
        rows = noise_of_rows(problem)
        self.runs = [
            RunLikelihood(run, noise_of(run, noise, position_noise))
            for run, noise in zip(problem.runs, rows, strict=True)
        ]

    def start(self) -> Point:
        """Return the measured motion with the best parameters for it."""
        point = self.try_point([np.zeros(run.unknowns) for run in self.runs])
        if point is None:
            raise EstimationError('the mechanism cannot follow the measured motion')
        return point

    def try_point(self, motion: list[Array]) -> Point | None:
        """Solve for the parameters; None where the mechanism cannot follow the motion."""
        try:
            rows = [run.rows(u) for run, u in zip(self.runs, motion, strict=True)]
        except ConvergenceError:
            return None
        prior = self.problem.prior_rows @ self._directions
        designs = [design @ self._directions for design, _, _ in rows]
        left = [target - design @ self._origin for design, target, _ in rows]
        prior_left = self.problem.prior_target - self.problem.prior_rows @ self._origin
        stacked, target = np.concatenate([*designs, prior]), np.concatenate([*left, prior_left])
        reduced = np.linalg.lstsq(stacked, target, rcond=None)[0]
        residuals = [each - design @ reduced for each, design in zip(left, designs, strict=True)]
        values = self._origin + self._directions @ reduced
        cost = float(sum(np.sum(u**2) for u in motion) + np.sum((target - stacked @ reduced) ** 2))
        return Point(motion, values, designs, [fixed for _, _, fixed in rows], residuals, cost)

    def linearise(self, point: Point) -> list[Part]:
        """Derivatives of the rows with the motion."""
        parameters = self.problem.expand(point.values)
        parts = []
        for run, *rest in zip(
            self.runs, point.motion, point.designs, point.fixed, point.residuals, strict=True
        ):
            gain = run.gain(rest[0], parameters)
            parts.append(Part(gain, gain.T @ gain, *rest))
        return parts

    def information(
        self, parts: list[Part], damping: float = 0.0
    ) -> tuple[Array, Array, list[Array], list[Array]]:
        """Eliminate the motions: information (f', f') and that (f', g) with fixed parameters.

        And the steps of the motions with the parameters held, and how they follow them.
        """
        prior = self.problem.prior_rows @ self._directions
        information = prior.T @ prior
        mixed = prior.T @ self.problem.prior_fixed
        alone, coupled = [], []
        for part in parts:
            size = len(part.gram)
            factor = cho_factor(part.gram + (1 + damping) * np.eye(size), lower=True)
            follow = cho_solve(factor, part.gain.T @ part.design)
            fixed = cho_solve(factor, part.gain.T @ part.fixed)
            alone.append(-cho_solve(factor, part.motion + part.gain.T @ part.residuals))
            coupled.append(follow)
            rest = part.design - part.gain @ follow
            information = information + part.design.T @ rest
            mixed = mixed + part.design.T @ (part.fixed - part.gain @ fixed)
        return (information + information.T) / 2, mixed, alone, coupled

    def step(self, parts: list[Part], damping: float) -> tuple[list[Array], float]:
        """Changes of the motions, and by how much they should lower the cost."""
        information, _, alone, coupled = self.information(parts, damping)
        right = np.zeros(len(information))
        for part, change in zip(parts, alone, strict=True):
            right += part.design.T @ (part.gain @ change)  # residuals are orthogonal already
        reduced = np.linalg.solve(information, right)
        changes = [each + follow @ reduced for each, follow in zip(alone, coupled, strict=True)]
        prior = self.problem.prior_rows @ self._directions @ reduced
        # orthogonality leaves |r|^2 - |r + G du - X dp|^2 + |u|^2 - |u + du|^2 - |B dp|^2
        predicted = -float(prior @ prior)
        for part, change in zip(parts, changes, strict=True):
            rest = part.gain @ change - part.design @ reduced
            predicted -= float(2 * part.residuals @ (part.gain @ change) + rest @ rest)
            predicted -= float(2 * part.motion @ change + change @ change)
        return changes, predicted

    def distance(self, parts: list[Part], change: Array) -> float:
        """Largest change of a parameter (f,) in standard deviations."""
        deviation = np.sqrt(np.diag(self._covariance(self.information(parts)[0])))
        known = deviation > 0
        return float(np.max(np.abs(change[known]) / deviation[known], initial=0.0))

    def estimate(self, point: Point, parts: list[Part], trials: int) -> Estimate:
        """Return the estimate with its covariance."""
        information, mixed, _, _ = self.information(parts)
        undetermined = self.first.undetermined
        covariance = with_variance(self._covariance(information), undetermined)
        motion = np.concatenate(point.motion)
        residuals = np.concatenate(point.residuals)
        freedom = max(self.problem.degrees_of_freedom, 1)
        sources = tuple(run.noise.source for run in self.runs)
        return Estimate(
            values=point.values,
            covariance=covariance,
            undetermined=undetermined,
            condition_number=self.first.condition_number,
            noise=tuple(
                run.row_noise(part.gain) for run, part in zip(self.runs, parts, strict=True)
            ),
            sensitivity=-self._directions @ np.linalg.solve(information, mixed),
            diagnostics=LikelihoodDiagnostics(
                iterations=trials,
                motion_parameters=len(motion),
                likelihood_variance_ratio=point.cost / freedom,
                noise_model=sources[0] if len(set(sources)) == 1 else sources,
                motion_correction=float(np.sqrt(np.mean(motion**2))),
                force_residual=float(np.sqrt(np.mean(residuals**2))),
            ),
        )

    def _covariance(self, information: Array) -> Array:
        return np.asarray(self._directions @ np.linalg.solve(information, self._directions.T))
