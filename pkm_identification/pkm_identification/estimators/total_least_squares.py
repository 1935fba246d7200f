"""Total least squares: noise in the regressor counts as what the measured motion makes of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pkm_description.errors import EstimationError
from pkm_identification.arrays import Array
from pkm_identification.estimators.linear import gauss_markov, noise_of_rows
from pkm_identification.estimators.maximum_likelihood.motion_model import MotionModel, real_rows
from pkm_identification.estimators.maximum_likelihood.motion_noise import MotionNoise
from pkm_identification.estimators.maximum_likelihood.run_likelihood import noise_of
from pkm_identification.regression.numerics import determined_directions, with_variance
from pkm_identification.regression.problem import Problem
from pkm_identification.regression.run import Run
from pkm_identification.regression.weighted_least_squares import Estimate

SIGNIFICANT_RATIO = 4.0  # standard deviations of the noise ratio that are no chance
LARGEST_SHARE = 0.2  # of the information that noise may make up before it is a warning


@dataclass(frozen=True)
class TotalLeastSquaresDiagnostics:
    """What the noise explains of regressor and residuals."""

    noise_ratio: float  # |D v|^2 over what N explains: 1 for the right noise and model
    noise_share: float  # largest share of noise in what the regressor shows of a direction
    noise_model: str  # where the noise is known from


def tls(problem: Problem, position_noise: float | Sequence[float] | None = None) -> Estimate:
    """Generalised total least squares.

    Minimises |D v|^2 / (v^T N v) with v = [p; -1], D = [Psi Gamma] whitened as for
    Gauss-Markov and N the expected Gram matrix of the noise of D. The noise of the
    regressor's entries follows from that of the positions by the local derivatives with
    position, velocity and acceleration, so entries of one motion are correlated as they
    are, with each other and with the forces; entries without noise stay exact (mixed
    LS-TLS), and so does the prior's regressor. N is right to first order in the noise.

    `position_noise` is the standard deviation of one measured position, scalar or (n_a,) [m, rad];
    None: from the spread over periods. `warnings` of the estimate say where it is not consistent.
    EstimationError where the data are not periodic, or the noise leaves nothing of some direction.
    """
    for run in problem.runs:
        if not run.is_periodic:
            raise EstimationError(
                "estimator 'tls' needs periodic data: how position noise gets into the regressor "
                'is known of a Fourier series; give period= if the motion has one'
            )
    first = gauss_markov(problem)
    assert first.bread is not None and first.weights is not None
    directions = determined_directions(first.bread)
    size = directions.shape[1]
    columns = _columns(problem, directions, first.values)
    runs = [
        RegressorNoise(run, noise_of(run, rows, position_noise), weight)
        for run, rows, weight in zip(
            problem.runs, noise_of_rows(problem), first.weights, strict=True
        )
    ]
    prior = np.column_stack([problem.prior_rows, problem.prior_fixed, problem.prior_information[1]])
    known = np.concatenate([problem.free, problem.selection.fixed, [len(problem.base.names)]])
    data = np.concatenate([*(run.data @ columns for run in runs), prior @ columns[known]])
    noise = sum(columns.T @ run.gram @ columns for run in runs)
    noise = np.asarray(noise)
    noise[-1, -1] += len(prior)
    kept = np.r_[:size, -1]
    reduced, ratio = _smallest(data[:, kept], noise[np.ix_(kept, kept)])
    square = data.T @ data - ratio * noise
    information = square[:size, :size]
    share = _share(noise[:size, :size], data[:, :size], information)
    values = first.values + directions @ reduced
    bread = np.linalg.inv(information)
    gains = [run.residual_gain(problem.expand(values)) for run in runs]
    meat = _meat(problem, runs, gains, columns, directions)
    covariance = directions @ bread @ meat @ bread @ directions.T
    ratio *= (len(data)) / max(len(data) - size, 1)
    return Estimate(
        values=values,
        covariance=with_variance(covariance, first.undetermined),
        undetermined=first.undetermined,
        condition_number=first.condition_number,
        noise=tuple(run.row_noise(gain) for run, gain in zip(runs, gains, strict=True)),
        sensitivity=-directions @ bread @ square[:size, size:-1],
        diagnostics=TotalLeastSquaresDiagnostics(ratio, share, runs[0].noise.source),
        warnings=tuple(_warnings(ratio, share, len(data) - size)),
    )


class RegressorNoise:
    """Whitened regressor and forces of one periodic run, and the noise of their entries.

    `weights` (m, n_a, n_a) or (n_a, n_a) whiten the rows; `noise` is that of the averaged
    period. `data` are the whitened rows (k, r + 1): base regressor, measured forces; `gram`
    is the expected sum of products (r + 1, r + 1) of their noise.
    """

    def __init__(self, run: Run, noise: MotionNoise, weights: Array) -> None:
        self.run, self.noise = run, noise
        self._weights = weights
        model = MotionModel(run)
        self._indices = model.band.indices
        regressor = run.full_regressor(run.rows)
        forces = run.forces + run.rows.fixed @ run.selection.values
        self.data = self._white(np.concatenate([regressor, forces[..., None]], axis=2))
        self._model = model
        self.gram = self._regressor_gram()
        self.gram[-1, -1] += float(np.trace(self.force_noise, axis1=1, axis2=2).sum())

    @property
    def force_noise(self) -> Array:
        """Covariance (m, n_a, n_a) of the whitened force noise that position noise leaves."""
        covariance = self.noise.force_covariance.real[self._indices]
        return np.asarray(self._weights @ covariance @ np.swapaxes(self._weights, -1, -2))

    def residual_gain(self, parameters: Array) -> Array:
        """Change (k, unknowns) of the whitened residuals with each unit noise of the positions."""
        jacobian = self._model.force_jacobian(self._model.measured, parameters)
        return self._white(jacobian.noise_gain(self.noise))

    def row_noise(self, gain: Array) -> Array:
        """Covariance (m, n_a, n_a) of the residuals with a gain (k, unknowns), not whitened."""
        blocks = gain.reshape(-1, self.run.axes, gain.shape[1])
        white = self.force_noise + blocks @ np.swapaxes(blocks, 1, 2)
        root = np.linalg.inv(self._weights)
        return np.asarray(root @ white @ np.swapaxes(root, -1, -2))

    def _regressor_gram(self) -> Array:
        """Expected products (r + 1, r + 1) of what the noise of the positions makes."""
        model, noise = self._model, self.noise
        jacobian = model.regressor_jacobian(model.measured, noise)
        gram = np.zeros((self.data.shape[1], self.data.shape[1]))
        for index, harmonic in enumerate(model.harmonics):
            root = noise.position_root[harmonic]
            change = jacobian.column(index, root)
            change = np.concatenate([change, np.zeros_like(change[..., :1])], axis=-1)
            forced = noise.gain[harmonic] @ root
            change[harmonic, :, :, 0, -1] += forced
            change[harmonic, :, :, 1, -1] += -1j * forced
            parts = np.moveaxis(real_rows(change), (2, 3), (0, 1))
            white = self._weights @ parts[:, : 2 if harmonic else 1]
            flat = white.reshape(-1, white.shape[-1])
            gram += flat.T @ flat
        return gram

    def _white(self, rows: Array) -> Array:
        """Whiten rows (m, n_a, c) and stack them (m n_a, c)."""
        return np.asarray((self._weights @ rows).reshape(-1, rows.shape[-1]))


def _columns(problem: Problem, directions: Array, origin: Array) -> Array:
    """From rows (r + 1) of regressor and forces to directions, fixed parameters, residual."""
    free, fixed = problem.free, problem.selection.fixed
    total, size = len(problem.base.names), directions.shape[1]
    columns = np.zeros((total + 1, size + len(fixed) + 1))
    columns[free, :size] = directions
    columns[fixed, size + np.arange(len(fixed))] = 1.0
    columns[:total, -1] = -problem.expand(origin)
    columns[-1, -1] = 1.0
    return columns


def _smallest(data: Array, noise: Array) -> tuple[Array, float]:
    """Solution (f',) of D [x; -1] = 0 whose residual is smallest against its noise."""
    triangle = np.linalg.qr(data, mode='r')
    inverse = np.linalg.inv(triangle)
    sizes, vectors = np.linalg.eigh(inverse.T @ noise @ inverse)
    vector = inverse @ vectors[:, -1]
    if abs(vector[-1]) < 1e-12 * np.abs(vector).max() or sizes[-1] <= 0:
        raise EstimationError(
            "estimator 'tls' has no solution: the position noise alone explains the regressor; "
            'excite more or average over more periods'
        )
    return -vector[:-1] / vector[-1], float(1 / sizes[-1])


def _share(noise: Array, data: Array, information: Array) -> float:
    """Largest share of noise in what the regressor shows of a direction."""
    if np.linalg.eigvalsh(information)[0] <= 0:
        raise EstimationError(
            "estimator 'tls' has no solution: noise makes up all that the regressor shows of some "
            'parameters; excite more, or average over more periods'
        )
    inverse = np.linalg.inv(np.linalg.qr(data, mode='r'))
    return float(np.linalg.eigvalsh(inverse.T @ noise @ inverse)[-1])


def _meat(
    problem: Problem, runs: list[RegressorNoise], gains: list[Array], columns: Array, basis: Array
) -> Array:
    """Covariance (f', f') of the gradient, to first order in the noise."""
    size = basis.shape[1]
    prior = problem.prior_rows @ basis
    meat = prior.T @ prior
    for run, gain in zip(runs, gains, strict=True):
        design = run.data @ columns[:, :size]
        blocks = design.reshape(-1, run.run.axes, size)
        meat = meat + np.einsum('kaf,kab,kbg->fg', blocks, run.force_noise, blocks, optimize=True)
        coupled = gain.T @ design
        meat = meat + coupled.T @ coupled
    return np.asarray(meat)


def _warnings(ratio: float, share: float, freedom: int) -> list[str]:
    warnings = []
    if abs(ratio - 1) > SIGNIFICANT_RATIO * np.sqrt(2 / max(freedom, 1)):
        warnings.append(
            f'tls: the residuals are {ratio:.2f} times what the noise explains, so the noise in '
            'the regressor is weighted wrongly and the estimate is not consistent; the model '
            'lacks something or the noise is another'
        )
    if share > LARGEST_SHARE:
        warnings.append(
            f'tls: noise makes up {100 * share:.0f} % of what the regressor shows of some '
            'parameters; first order in the noise is not enough and the estimate may be biased; '
            'use maximum_likelihood'
        )
    return warnings
