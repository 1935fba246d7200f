"""Design of excitation trajectories: `design_excitation`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pkm_description.errors import EstimationError, TrajectoryError
from pkm_dynamics.actuation import require_drives
from pkm_dynamics.feasibility import check_feasibility
from pkm_dynamics.trajectories import Execution, FourierTrajectory
from pkm_identification.excitation.constraints import DesignLimits
from pkm_identification.excitation.criteria import figures, standard_deviations
from pkm_identification.excitation.excitation_design import RAMP_TIME, ExcitationDesign
from pkm_identification.excitation.problem import DesignProblem, check_names
from pkm_identification.excitation.search import (
    DesignSolution,
    Progress,
    repair_dense,
    solve_design_problem,
)

Array = NDArray[np.float64]
LONGEST_RAMP = 16.0  # [s]


def design_excitation(
    model: Any,
    criterion: str = 'd_optimal',
    harmonics: int = 5,
    period: float | None = None,
    *,
    sampling_rate: float = 1000.0,
    noise_covariance: ArrayLike | None = None,
    limits: DesignLimits | None = None,
    shared: bool = True,
    reduced: bool | str = True,
    initial: FourierTrajectory | ExcitationDesign | None = None,
    starts: int = 2,
    iterations: int = 60,
    candidates: int = 40,
    seed: int = 0,
    progress: Progress | None = None,
) -> ExcitationDesign:
    """Design a periodic trajectory that identifies the base parameters well.

    Parameters
    ----------
    model : ClosedChainModel
    criterion : str
        `d_optimal`, `a_optimal`, `e_optimal` or `condition_number` (SI units).
    harmonics : int
        Of each coordinate. Platform coordinates where the platform has six degrees of
        freedom, actuator coordinates elsewhere.
    period : float, optional
        [s]; by default what strokes, speeds and forces of the robot suggest.
    sampling_rate : float
        Of the figures [Hz].
    noise_covariance : (n_a, n_a), optional
        Covariance of the force noise of one sample [N^2]; unit variance by default.
    limits : DesignLimits, optional
        Margins to the robot's limits.
    shared, reduced : bool
        Which base parameters; see `ClosedChainModel.base_parameters`.
    initial : FourierTrajectory or ExcitationDesign, optional
        A further start; with `starts` 0 the only one.
    starts, iterations, candidates : int
        Optimised starts, steps of each, random trajectories that starts are taken from.
    seed : int
        Of the random trajectories; the result depends on nothing else.
    progress : callable, optional
        Gets (what, fraction).

    Raises
    ------
    TrajectoryError
        For an unknown criterion or options that make no sense.
    FeasibilityError
        When no informative motion keeps the limits.
    UnderactuatedError
        When a degree of freedom of the robot has no drive.
    """
    require_drives(model, 'an excitation')
    _check_options(
        criterion, harmonics, period, sampling_rate, starts, iterations, candidates,
        initial is not None,
    )  # fmt: skip
    base = model.base_parameters(shared=shared, reduced=reduced)
    coordinates = 'platform' if model.platform_determines_joints else 'actuators'
    period = suggested_period(model, harmonics) if period is None else float(period)
    problem = build_design_problem(
        model,
        base,
        criterion,
        harmonics,
        period,
        limits or DesignLimits(),
        whitening_of(noise_covariance, model.n_a),
        coordinates,
    )
    if isinstance(initial, ExcitationDesign):
        initial = initial.trajectory
    solution = solve_design_problem(
        problem,
        starts=starts,
        candidates=candidates,
        iterations=iterations,
        seed=seed,
        initial=initial,
        progress=progress,
    )
    return finished_design(problem, solution, sampling_rate, {'seed': int(seed)})


def build_design_problem(
    model: Any,
    base: Any,
    criterion: str,
    harmonics: int,
    period: float,
    limits: DesignLimits,
    whitening: Array,
    coordinates: str,
) -> DesignProblem:
    """Return the problem, refusing what cannot be identified with so few samples."""
    problem = DesignProblem(
        model, base, criterion, harmonics, period, limits, whitening, coordinates
    )
    if problem.samples * model.n_a < base.rank:
        needed = int(np.ceil(base.rank * harmonics / (problem.samples * model.n_a)))
        raise TrajectoryError(
            f'{base.rank} parameters need more than {harmonics} harmonics; at least {needed}'
        )
    return problem


def finished_design(
    problem: DesignProblem,
    solution: DesignSolution,
    sampling_rate: float,
    origin: Mapping[str, Any],
) -> ExcitationDesign:
    """Check a solution densely with its ramps, shrink it if need be, and add its figures."""
    model = problem.model
    trajectory = problem.trajectory(repair_dense(problem, solution.z))
    ramp = RAMP_TIME
    while not problem.check(Execution(trajectory, 1, ramp)).feasible:
        ramp *= 2.0
        if ramp > LONGEST_RAMP:
            report = problem.check(Execution(trajectory, 1, ramp))
            raise EstimationError(f'no feasible ramp was found: {report.message}')
    report = check_feasibility(model, trajectory, condition_limit=problem.condition_limit)
    return ExcitationDesign(
        trajectory,
        problem.criterion,
        design_figures(problem, trajectory, sampling_rate),
        {name: margin.to_dict() for name, margin in report.margins.items()},
        ramp,
        {
            **origin,
            'iterations': int(solution.iterations),
            'start_objectives': [float(v) for v in solution.start_objectives],
            'limits': {name: float(value) for name, value in vars(problem.limits).items()},
        },
        model,
    )


def design_figures(
    problem: DesignProblem, trajectory: FourierTrajectory, sampling_rate: float
) -> dict[str, Any]:
    """Return all criteria of one period of the robot as described."""
    samples = max(int(round(problem.period * sampling_rate)), 1)
    motion = trajectory.motion(np.arange(samples) / sampling_rate, problem.model)
    W = np.einsum('ab,tbn->tan', problem.whitening, problem.base.regressor(motion))
    W = W.reshape(-1, W.shape[2])
    deviations = standard_deviations(W)
    return {
        **figures(W),
        'parameters': int(problem.base.rank),
        'samples': samples,
        'sampling_rate': float(sampling_rate),
        'standard_deviation': {
            name: float(value) for name, value in zip(problem.base.names, deviations, strict=True)
        },
    }


def whitening_of(noise_covariance: ArrayLike | None, n_a: int) -> Array:
    """Return W (n_a, n_a) with W^T W the inverse of the covariance (by triangular solve)."""
    if noise_covariance is None:
        return np.eye(n_a)
    covariance = np.asarray(noise_covariance, dtype=float)
    if covariance.shape != (n_a, n_a) or not np.all(np.isfinite(covariance)):
        raise TrajectoryError(f'noise_covariance must be ({n_a}, {n_a}) and finite')
    try:
        factor = np.linalg.cholesky(0.5 * (covariance + covariance.T))
    except np.linalg.LinAlgError:
        raise TrajectoryError('noise_covariance is not positive definite') from None
    return np.asarray(np.linalg.solve(factor, np.eye(n_a)))


def suggested_period(model: Any, harmonics: int) -> float:
    """Return a period [s] at which strokes, speeds and forces are used to similar degrees."""
    span = np.asarray(model.upper) - np.asarray(model.lower)
    amplitude = 0.25 * np.where(np.isfinite(span), span, 0.5)
    times = [2.0 * np.pi * amplitude / np.asarray(model.velocity_limit)]
    rest = np.zeros((1, model.n_a))
    home = np.asarray(model.home_actuators)[None]
    still = model.inverse_dynamics(model.motion_from_actuators(home, rest, rest))[0]
    pushed = model.inverse_dynamics(model.motion_from_actuators(home, rest, rest + 1.0))[0]
    left = np.maximum(np.asarray(model.force_limit) - np.abs(still), 1e-9)
    inertia = np.maximum(np.abs(pushed - still), 1e-9)
    times.append(2.0 * np.pi * np.sqrt(amplitude * inertia / left))
    longest = max(float(np.max(t)) for t in times)
    return float(np.clip(np.ceil(14.0 * harmonics * longest) / 10.0, 0.5, 60.0))


def _check_options(
    criterion: str,
    harmonics: int,
    period: float | None,
    sampling_rate: float,
    starts: int,
    iterations: int,
    candidates: int,
    has_initial: bool,
) -> None:
    check_names(criterion)
    for name, value in (
        ('harmonics', harmonics),
        ('starts', starts),
        ('iterations', iterations),
        ('candidates', candidates),
    ):
        least = 0 if name == 'starts' and has_initial else 1
        if int(value) != value or value < least:
            raise TrajectoryError(f'{name} must be a whole number >= {least}, not {value!r}')
    for name, number in (('period', period), ('sampling_rate', sampling_rate)):
        if number is not None and not (np.isfinite(number) and number > 0.0):
            raise TrajectoryError(f'{name} must be positive, not {number!r}')
