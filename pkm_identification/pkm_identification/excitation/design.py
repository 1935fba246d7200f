"""Design of excitation trajectories: `design_excitation`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pkm_description.errors import FeasibilityError, TrajectoryError
from pkm_dynamics.actuation import require_drives
from pkm_dynamics.feasibility import check_feasibility
from pkm_dynamics.limits import LimitOptions
from pkm_dynamics.trajectories import Execution, FourierTrajectory
from pkm_identification.excitation.constraints import DesignLimits
from pkm_identification.excitation.criteria import (
    figures,
    normalised_weights,
    standard_deviations,
)
from pkm_identification.excitation.excitation_design import RAMP_TIME, ExcitationDesign
from pkm_identification.excitation.information import prior_information, whitening_of
from pkm_identification.excitation.monitor import Cancel, Progress
from pkm_identification.excitation.preflight import (
    require_home,
    require_information,
    require_period,
    require_samples,
    shortest_period,
)
from pkm_identification.excitation.problem import DesignProblem, DesignTask
from pkm_identification.excitation.search import DesignSolution, solve_design_problem
from pkm_identification.result import IdentificationResult

Array = NDArray[np.float64]
LONGEST_RAMP = 16.0  # [s]
SHRINKING = 1.0, 0.998, 0.995, 0.99, 0.98, 0.95
PERIOD_FACTORS = 0.08, 4.0  # of the suggested period, between which a free one lies
SAMPLES_PER_OSCILLATION = 4.0  # of the highest harmonic, at least


def design_excitation(
    model: Any,
    criterion: str | Mapping[str, float] = 'd_optimal',
    harmonics: int = 5,
    period: float | None = None,
    *,
    sampling_rate: float = 1000.0,
    noise_covariance: ArrayLike | None = None,
    limits: DesignLimits | None = None,
    shared: bool = True,
    reduced: bool | str = True,
    prior: ArrayLike | ExcitationDesign | IdentificationResult | None = None,
    measuring_time: float | None = None,
    initial: FourierTrajectory | ExcitationDesign | None = None,
    starts: int = 8,
    iterations: int = 60,
    candidates: int = 2,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
) -> ExcitationDesign:
    """Design a periodic trajectory that identifies the base parameters well.

    Parameters
    ----------
    model : ClosedChainModel
    criterion : str or {str: weight}
        `d_optimal`, `a_optimal`, `e_optimal`, `condition_number` (SI units),
        `condition_number_scaled` (columns of unit length), or a weighted sum of their
        logarithms.
    harmonics : int
        Of each coordinate. Platform coordinates where the platform has six degrees of
        freedom, actuator coordinates elsewhere.
    period : float, optional
        [s]; one more unknown by default. The criterion is then that of a fixed
        `measuring_time`, so that a longer period is no gain in itself.
    sampling_rate : float
        Of the figures [Hz].
    noise_covariance : (n_a, n_a), optional
        Covariance of the force noise of one sample [N^2]; unit variance by default.
    limits : DesignLimits, optional
        Margins to the robot's limits, and further limits.
    shared, reduced : bool, bool or str
        Which base parameters; see `ClosedChainModel.base_parameters`.
    prior : (n, n), ExcitationDesign or IdentificationResult, optional
        Information of earlier runs, to which this design adds (sequential design).
    measuring_time : float, optional
        Planned length of the record [s], which weighs the motion against the prior; one
        period by default (the suggested one where it is free).
    initial : FourierTrajectory or ExcitationDesign, optional
        A further start, also with fewer harmonics; with `starts` 0 the only one.
    starts, iterations, candidates : int
        Optimised starts, steps of each, random motions that a random start is the best of,
        after a few steps.
    seed : int
        Of everything random; the result depends on nothing else, in particular not on
        `workers`.
    workers : int, optional
        Parallel processes; one a core by default, none with a single start.
    progress : callable, optional
        Gets (what, fraction, seconds left).
    cancel : callable or threading.Event, optional
        When it is set (or returns true), the search ends; the best so far is returned and
        `origin['cancelled']` is true.

    Raises
    ------
    TrajectoryError
        For an unknown criterion or options that make no sense.
    FeasibilityError
        When limits, harmonics or period cannot be met, with the nearest that can; when no
        informative motion keeps the limits; when cancelled before one was found.
    UnderactuatedError
        When a degree of freedom of the robot has no drive.
    """
    require_drives(model, 'an excitation')
    weights = normalised_weights(criterion)
    _check_counts(
        harmonics=(harmonics, 1), starts=(starts, 0 if initial is not None else 1),
        iterations=(iterations, 1), candidates=(candidates, 1), workers=(workers or 1, 1),
    )  # fmt: skip
    _check_positive(period=period, sampling_rate=sampling_rate, measuring_time=measuring_time)
    base = model.base_parameters(shared=shared, reduced=reduced)
    problem = build_design_problem(
        model,
        base,
        weights,
        harmonics,
        period,
        limits or DesignLimits(),
        noise_covariance=noise_covariance,
        sampling_rate=sampling_rate,
        measuring_time=measuring_time,
        prior=prior_information(prior, base.names),
    )
    solution = solve_design_problem(
        problem,
        starts=starts,
        candidates=candidates,
        iterations=iterations,
        seed=seed,
        initial=initial.trajectory if isinstance(initial, ExcitationDesign) else initial,
        workers=workers,
        progress=progress,
        cancel=cancel,
    )
    options = {'seed': int(seed), 'starts': int(starts), 'candidates': int(candidates)}
    design = finished_design(problem, solution, sampling_rate, options)
    if progress is not None:
        progress('done', 1.0, 0.0)
    return design


def build_design_problem(
    model: Any,
    base: Any,
    weights: Mapping[str, float],
    harmonics: int,
    period: float | None,
    limits: DesignLimits,
    *,
    noise_covariance: ArrayLike | None = None,
    sampling_rate: float = 1000.0,
    measuring_time: float | None = None,
    prior: Array | None = None,
) -> DesignProblem:
    """Return the problem, refusing what no search can fulfil; see `design_excitation`."""
    suggested = suggested_period(model, harmonics)
    shortest = SAMPLES_PER_OSCILLATION * harmonics / sampling_rate
    free = (
        max(suggested * PERIOD_FACTORS[0], shortest),
        max(suggested * PERIOD_FACTORS[1], shortest),
    )
    if period is not None and period < shortest:
        raise TrajectoryError(
            f'{harmonics} harmonics of {period:g} s are too fast for {sampling_rate:g} Hz: the '
            f'period must be at least {shortest:g} s, or the rate {shortest / period:.3g} times'
        )
    first = max(suggested, shortest) if period is None else float(period)
    task = DesignTask(
        weights,
        harmonics,
        first,
        free if period is None else None,
        limits,
        whitening_of(noise_covariance, model.n_a),
        sampling_rate * (measuring_time or first),
        prior,
    )
    require_samples(model, base.rank, task, sampling_rate)
    problem = DesignProblem(model, base, task)
    require_home(model, problem.options)
    require_period(model, task, problem.options)
    require_information(problem)
    return problem


def finished_design(
    problem: DesignProblem,
    solution: DesignSolution,
    sampling_rate: float,
    options: Mapping[str, Any],
) -> ExcitationDesign:
    """Add ramps, margins and figures to a solution that was checked densely."""
    model, (trajectory, ramp) = problem.model, with_ramp(problem, solution)
    limits = problem.limits
    report = check_feasibility(
        model,
        trajectory,
        condition_limit=problem.options.condition_limit,
        acceleration=limits.acceleration,
        aperture=limits.aperture,
    )
    W = whitened_regressor(problem, trajectory, sampling_rate)
    return ExcitationDesign(
        trajectory,
        next(iter(problem.task.weights)) if len(problem.task.weights) == 1
        else dict(problem.task.weights),
        design_figures(problem, W, trajectory.period, sampling_rate),
        {name: margin.to_dict() for name, margin in report.margins.items()},
        ramp,
        {
            **options,
            'iterations': int(solution.iterations),
            'start_objectives': [float(v) for v in solution.start_objectives],
            'random_objectives': [float(v) for v in solution.random_objectives],
            'cancelled': solution.cancelled,
            'limits': limits.to_dict(),
        },
        model,
        W.T @ W,
        problem.task.prior,
    )  # fmt: skip


def with_ramp(
    problem: DesignProblem, solution: DesignSolution
) -> tuple[FourierTrajectory, float]:
    """Return the trajectory and the shortest ramp [s] with which it runs within all limits.

    Ramps meet the limits at other instants than the periodic motion, whose forces jump
    with friction; where no ramp does, the motion gets a little smaller and slower.

    Raises
    ------
    FeasibilityError
        No ramp is feasible, with the last reason.
    """
    for factor in SHRINKING:
        z = solution.z
        trajectory = solution.trajectory
        if factor < 1.0:
            z = problem.slowed(problem.shrunk(z, factor), 1.0 / factor)
            trajectory = problem.trajectory(z)
        ramp = RAMP_TIME
        while ramp <= LONGEST_RAMP:
            report = problem.check(Execution(trajectory, 1, ramp))
            if report.feasible:
                return trajectory, ramp
            ramp *= 2.0
    raise FeasibilityError(f'no feasible ramp was found: {report.message}')


def whitened_regressor(
    problem: DesignProblem, trajectory: FourierTrajectory, sampling_rate: float
) -> Array:
    """Return W (m, n) of one period of the robot as described."""
    samples = max(int(round(trajectory.period * sampling_rate)), 1)
    motion = trajectory.motion(np.arange(samples) / sampling_rate, problem.model)
    W = np.einsum('ab,tbn->tan', problem.task.whitening, problem.base.regressor(motion))
    return np.asarray(W.reshape(-1, W.shape[2]))


def design_figures(
    problem: DesignProblem, W: Array, period: float, sampling_rate: float
) -> dict[str, Any]:
    """Return all criteria of one period of the robot as described, the prior included."""
    rows = W if problem.prior_rows is None else np.concatenate([W, problem.prior_rows])
    deviations = standard_deviations(rows)
    values = figures(rows)
    own = values['d_optimal'] if problem.prior_rows is None else -np.linalg.slogdet(W.T @ W)[1]
    return {
        **values,
        'd_optimal_per_second': float(own + problem.base.rank * np.log(period)),
        'parameters': int(problem.base.rank),
        'samples': len(W) // problem.model.n_a,
        'sampling_rate': float(sampling_rate),
        'standard_deviation': {
            name: float(value) for name, value in zip(problem.base.names, deviations, strict=True)
        },
    }


def suggested_period(model: Any, harmonics: int) -> float:
    """Return a period [s] at which strokes, speeds and forces are used to similar degrees."""
    longest, _ = shortest_period(model, LimitOptions(), 0.25)
    return float(np.clip(np.ceil(14.0 * harmonics * longest) / 10.0, 0.5, 60.0))


def _check_counts(**counts: tuple[int, int]) -> None:
    for name, (value, least) in counts.items():
        if isinstance(value, bool) or int(value) != value or value < least:
            raise TrajectoryError(f'{name} must be a whole number >= {least}, not {value!r}')


def _check_positive(**numbers: float | None) -> None:
    for name, number in numbers.items():
        if number is not None and not (np.isfinite(number) and number > 0.0):
            raise TrajectoryError(f'{name} must be positive, not {number!r}')
