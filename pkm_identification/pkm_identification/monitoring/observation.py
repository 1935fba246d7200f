"""What one recording tells of the watched parameters, and how well."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import cast

import numpy as np

from pkm_dynamics import ClosedChainModel, PlatformMotion
from pkm_dynamics.parameters.base_parameters import BaseParameters
from pkm_identification.arrays import Array, freeze
from pkm_identification.covariance.residual_scaling import residual_scaled_covariance, with_noise
from pkm_identification.datasets import Recording
from pkm_identification.estimators.linear import wls
from pkm_identification.force_constants.force_constant_request import build_request
from pkm_identification.monitoring.watched_parameters import WatchedParameters
from pkm_identification.regression.numerics import inverse_square
from pkm_identification.regression.preparation import ParameterOptions, Progress, prepare
from pkm_identification.regression.problem import Problem, build_problem
from pkm_identification.regression.run import RowRegressor, Run
from pkm_identification.regression.selection import build_selection
from pkm_identification.regression.weighted_least_squares import (
    RANK_TOLERANCE,
    weighted_rows,
    weights_of,
)
from pkm_identification.signals import SignalOptions

# Of the best known direction, with columns of unit length: what a motion shows less of than this
# stays as it is, as no change that matters would show there
LEAST_KNOWN = 1e-4
SPEED_SAMPLES = 1000  # of a recording, that its speeds are taken from
REST = 'rest'  # what the start is beyond the directions


@dataclass(frozen=True)
class Observation:
    """What a recording tells of parameters x (w,), by the normal equations of its fit.

    The directions that the motion does not show have no part in any of them.

    Attributes
    ----------
    information
        Psi^T W Psi (w, w) with the weights W of the axes.
    score
        Psi^T W times the forces beyond those of the reference values (w,).
    spread
        Covariance (w, w) of the score, as the residuals ask for it.
    residual_rms
        (n_a,) [N, N m], what the fit leaves of the forces.
    speed
        (n_a,) [m/s, rad/s], RMS of the actuators.
    """

    information: Array
    score: Array
    spread: Array
    residual_rms: Array
    speed: Array

    def __post_init__(self) -> None:
        """Copy and freeze the arrays."""
        freeze(self, *(each.name for each in fields(self)))


@dataclass(frozen=True)
class _Directions:
    """Directions of watched parameters, and what a start has beyond them (`RowRegressor`)."""

    watched: WatchedParameters
    combined: Array  # (w, k + 1)

    @property
    def names(self) -> list[str]:
        return [*(f'direction {k + 1}' for k in range(self.combined.shape[1] - 1)), REST]

    @property
    def columns(self) -> Array:
        raise NotImplementedError('drives and encoders are no standard parameters')

    def regressor(self, motion: PlatformMotion) -> Array:
        return np.asarray(self.watched.regressor(motion) @ self.combined)


def reference_values(
    recordings: Sequence[Recording], model: ClosedChainModel, options: SignalOptions
) -> Array:
    """Base parameters (r,) of some recordings together; what none shows stays nominal.

    Raises DatasetError and EstimationError as `observe`.
    """
    first = _first(recordings, model, options, lambda phase, fraction: None)
    return first.expand(wls(first).values)


def observe(
    recording: Recording,
    watched: WatchedParameters,
    options: SignalOptions,
    report: Progress = lambda phase, fraction: None,
) -> Observation:
    """Tell what a recording says of the watched parameters of a robot.

    One fit of all of them, along the directions that the motion shows, with the covariance that the
    residuals ask for, frequency by frequency or in blocks of time.

    Raises
    ------
    DatasetError
        Joints, units or values do not fit the robot.
    EstimationError
        The recording is too short, or shows nothing.
    """
    first = _first([recording], watched.model, options, report)
    start = np.concatenate([watched.values, np.zeros(len(watched.names) - len(watched.values))])
    combined, read = _shown(_problem(first, watched, start))
    rest = start - combined @ (read @ start)
    directions = _Directions(watched, np.column_stack([combined, rest]))
    problem = _problem(first, directions, np.append(read @ start, 1.0), {REST: 1.0})
    estimate = with_noise(problem, wls(problem))
    covariance, _ = residual_scaled_covariance(problem, estimate)
    # the weights of the last fit differ a little from those of the directions
    assert estimate.bread is not None
    precise = inverse_square(estimate.bread)
    run = problem.runs[0]
    residuals = run.compact.residuals(estimate.values)
    return Observation(
        read.T @ precise @ read,
        read.T @ (precise @ (estimate.values - read @ start)),
        read.T @ (precise @ covariance @ precise) @ read,
        np.sqrt(np.sum(residuals**2, axis=0) / run.count),
        _speed(first, watched.model),
    )


def _first(
    recordings: Sequence[Recording],
    model: ClosedChainModel,
    options: SignalOptions,
    report: Progress,
) -> Problem:
    """The problem of the base parameters."""
    parameters = ParameterOptions(shared=True, reduced=True, estimate=None, fixed={}, prior=None)
    request = build_request(list(recordings), [None] * len(recordings), False, None)
    prepared = prepare(list(recordings), model, options, request, parameters, report)
    return build_problem(prepared.signals, model, **parameters)


def _speed(problem: Problem, model: ClosedChainModel) -> Array:
    """RMS (n_a,) of the speeds of the actuators."""
    signals = problem.runs[0].signals
    steps = slice(None, None, max(1, len(signals) // SPEED_SAMPLES))
    states = model.actuator_states(signals.motion(model, steps))
    return np.sqrt(np.mean(states.velocities**2, axis=0))


def _problem(
    first: Problem, regressor: RowRegressor, nominal: Array, fixed: dict[str, float] | None = None
) -> Problem:
    """The problem with other parameters."""
    selection = build_selection(regressor.names, nominal, fixed=fixed)
    runs = tuple(
        Run(run.signals, regressor, run.model, selection, run.covariance) for run in first.runs
    )
    nothing = (np.zeros((0, len(nominal))), np.zeros(0))
    return replace(
        first,
        runs=runs,
        base=cast(BaseParameters, regressor),  # rows are all that is asked of it
        selection=selection,
        all_nominal=nominal,
        prior_information=nothing,
    )


def _shown(problem: Problem) -> tuple[Array, Array]:
    """Directions (w, k) that the motion shows, and how to read them off parameters (k, w).

    One of each makes weighted forces of unit size.
    """
    estimate = wls(problem)
    design, _ = weighted_rows(problem, weights_of(problem, estimate))
    length = np.linalg.norm(design, axis=0)
    seen = length > RANK_TOLERANCE * length.max()
    scale = np.where(seen, length, 1.0)
    triangle = np.linalg.qr(np.where(seen, design / scale, 0.0), mode='r')
    _, singular, right = np.linalg.svd(triangle)
    known = singular > LEAST_KNOWN * singular[0]
    # exactly nothing of what is not seen, not its rounding
    singular, right = singular[known], right[: len(singular)][known] * seen
    return right.T / singular / scale[:, None], singular[:, None] * right * scale
