"""One call from a dataset to an identified model."""

from __future__ import annotations

import platform
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import pkm_description
from pkm_description.description import digest_of
from pkm_description.errors import EstimationError
from pkm_identification.datasets import Dataset
from pkm_identification.estimators.problem import Problem, build_problem
from pkm_identification.estimators.registry import find_estimator, split_options
from pkm_identification.estimators.solve import Estimate, inverse_root, sandwich
from pkm_identification.feasibility import nearest_feasible
from pkm_identification.result import IdentificationResult
from pkm_identification.result_file import plain
from pkm_identification.signals import process
from pkm_identification.signals.bands import BLOCK, HarmonicBand

if TYPE_CHECKING:
    from pkm_dynamics import ClosedChainModel

Array = NDArray[np.float64]
Progress = Callable[[str, float], None]

SIGNIFICANCE = 4.0
LAGS = 20
REACH = 8  # rows to either side that the spectrum of the residuals is smoothed over
PACKAGES = ('pkm_identification', 'pkm_dynamics', 'pkm_description', 'numpy', 'scipy', 'cvxpy')


def identify(
    dataset: Dataset,
    model: ClosedChainModel,
    estimator: str = 'wls',
    *,
    shared: bool = True,
    reduced: bool | str = True,
    progress: Progress | None = None,
    **options: Any,
) -> IdentificationResult:
    """Identify the base parameters of a mechanism.

    Parameters
    ----------
    dataset
        Measured positions with efforts or currents; joints are matched by name.
    model
        The mechanism.
    estimator
        `ls`, `wls`, `gauss_markov`, ... (see `estimators()`).
    shared
        Links and joints of one design share their parameters.
    reduced
        Leave parameters out that the description declares zero; a name is one of
        the description's `reduced_models`.
    progress
        Called with the phase and the fraction done; may raise to stop.
    **options
        Of the signals (`SignalOptions`: method, period, harmonics, cutoff,
        skip_periods) and of the estimator.

    Returns
    -------
    IdentificationResult
        Its covariance rests on the noise that the spread over periods shows (else on the
        residuals). Where the residuals are larger than that noise explains, the model
        lacks something: the covariance then follows the residuals, frequency by
        frequency; `diagnostics['covariance_scale']` tells how much wider that is.

    Raises
    ------
    DatasetError
        Joints, units or values do not fit the robot.
    EstimationError
        Unknown estimator or option, or the data do not suffice.
    """
    report = progress or (lambda phase, fraction: None)
    solve = find_estimator(estimator)
    signal_options, own = split_options(estimator, options)
    report('reading signals', 0.0)
    data = dataset.for_model(model)
    signals = process(data, signal_options)
    report('building the regressor', 0.15)
    problem = build_problem(signals, model, shared=shared, reduced=reduced)
    report('estimating', 0.5)
    try:
        estimate = solve(problem, **own)
    except (TypeError, ValueError, np.linalg.LinAlgError) as error:
        raise EstimationError(f"estimator '{estimator}' with options {own}: {error}") from error
    if not np.isfinite(estimate.values).all():
        raise EstimationError(f"estimator '{estimator}' found no finite solution")
    covariance, fit = _honest_covariance(problem, estimate)
    report('checking physical feasibility', 0.8)
    feasible = nearest_feasible(
        estimate.values, covariance, problem.base, model
    )
    residuals = signals.forces - _predicted(problem, estimate.values)
    report('done', 1.0)
    description = model.description
    names = list(problem.base.names)
    result = IdentificationResult(
        names=names,
        values=estimate.values,
        covariance=covariance,
        units=list(problem.base.units),
        expressions=list(problem.base.expressions),
        estimator=estimator,
        matrix=problem.base.matrix,
        columns=problem.base.columns,
        parameter_names=list(model.parameter_names),
        feasible=feasible,
        joint_names=list(model.actuated_joints),
        residuals=residuals,
        residual_rms=np.sqrt(np.mean(problem.residuals(estimate.values) ** 2, axis=0)),
        robot=description.name,
        digest=description.digest,
        path=description_path(description),
        diagnostics=plain(
            {
                **fit,
                'condition_number': estimate.condition_number,
                'undetermined': [names[i] for i in estimate.undetermined],
                'equations': problem.forces.size,
                'recorded_description': _recorded_description(dataset, description.digest),
                'is_physical': feasible.is_physical,
                'violations': feasible.violations,
                'warnings': data.stroke_warnings(model),
                'signals': signals.diagnostics,
                'force_noise': None
                if signals.force_noise is None
                else np.sqrt(np.diag(signals.force_noise.covariance)),
                'force_noise_correlation': None
                if signals.force_noise is None
                else signals.force_noise.correlation,
                'position_noise': None
                if signals.position_noise is None
                else np.sqrt(np.diag(signals.position_noise.covariance)),
                **estimate.diagnostics,
            }
        ),
        provenance=plain(
            {
                'data': {k: v for k, v in dataset.provenance.items() if k != 'metadata'},
                'recording': dataset.provenance.get('metadata', {}),
                'options': {'shared': shared, 'reduced': reduced, **options},
                'versions': _versions(),
            }
        ),
    )
    return result.with_model(model)


def _predicted(problem: Problem, values: Array) -> Array:
    """Forces (n, n_a) at the samples, block by block."""
    signals = problem.signals
    standard = problem.base.columns @ values
    blocks = [slice(i, i + BLOCK) for i in range(0, len(signals), BLOCK)]
    parts = [
        problem.model.inverse_dynamics(signals.motion(problem.model, rows), standard)
        for rows in blocks
    ]
    return np.concatenate(parts)


def _honest_covariance(problem: Problem, estimate: Estimate) -> tuple[Array, dict[str, Any]]:
    """Compare the residuals with their expected noise; widen where they are larger."""
    residuals = problem.residuals(estimate.values)
    whitened = np.einsum('kab,kb->ka', inverse_root(estimate.row_covariance), residuals)
    freedom = max(problem.degrees_of_freedom, 1)
    ratio = float(np.sum(whitened**2) / freedom)
    expected = np.einsum('kaa->ka', estimate.row_covariance)
    periodic = isinstance(problem.signals.band, HarmonicBand)
    correlated = 1.0 if periodic else _correlation_time(whitened)
    covariance, rests_on = estimate.covariance * correlated, 'noise'
    if ratio > 1 + SIGNIFICANCE * np.sqrt(2 / freedom):
        rests_on = 'noise scaled to the residuals'
        covariance = covariance * ratio
        if periodic and estimate.weights is not None and estimate.bread is not None:
            rests_on = 'residuals by frequency'
            covariance = sandwich(
                problem,
                estimate.weights,
                estimate.bread,
                _residual_spectrum(residuals * np.sqrt(residuals.size / freedom)),
                estimate.undetermined,
            )
    known = np.isfinite(np.diag(estimate.covariance)) & (np.diag(estimate.covariance) > 0)
    widened = np.diag(covariance)[known] / np.diag(estimate.covariance)[known]
    return covariance, {
        'residual_variance_ratio': ratio,
        'residual_variance_ratio_per_axis': np.mean(residuals**2 / expected, axis=0),
        'residual_correlation_time': correlated,
        'covariance_scale': float(np.median(widened)) if known.any() else 1.0,
        'covariance_rests_on': rests_on,
        'noise_from': 'spread over periods' if problem.covariance is not None else 'residuals',
    }


def _residual_spectrum(residuals: Array) -> Array:
    """Covariance (m, n_a, n_a) of residual rows, smoothed over neighbouring harmonics."""
    outer = np.einsum('ka,kb->kab', residuals, residuals)
    total = np.concatenate([np.zeros((1, *outer.shape[1:])), np.cumsum(outer, axis=0)])
    rows = np.arange(len(outer))
    low, high = np.maximum(rows - REACH, 0), np.minimum(rows + REACH + 1, len(outer))
    return (total[high] - total[low]) / (high - low)[:, None, None]


def _correlation_time(whitened: Array) -> float:
    """Rows that carry the information of one: 1 + 2 sum of the autocorrelation, at least 1."""
    centred = whitened - whitened.mean(axis=0)
    power = np.sum(centred**2)
    total = 1.0
    for lag in range(1, min(LAGS, len(centred) - 1) + 1):
        correlation = float(np.sum(centred[lag:] * centred[:-lag]) / max(power, 1e-300))
        if correlation <= 2 / np.sqrt(centred.size):
            break
        total += 2 * correlation
    return total


def _recorded_description(dataset: Dataset, digest: str) -> str:
    """Whether the data carry the description that they are identified with."""
    if not dataset.urdf:
        return 'none'
    return 'same' if digest_of(dataset.urdf, dataset.sidecar) == digest else 'another'


def description_path(description: Any) -> str:
    """Where a description lies that is not in the library."""
    if description.path is None:
        return ''
    if description.name in pkm_description.library():
        if pkm_description.load(description.name).digest == description.digest:
            return ''
    return str(Path(description.path).absolute())


def _versions() -> dict[str, str]:
    found = {'python': platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
