"""What makes a design of the solution of a search: ramps, margins, figures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.linalg import qr

from pkm_description.errors import FeasibilityError
from pkm_dynamics.joint_servo.expected_tracking import under_servo
from pkm_dynamics.limits.feasibility import check_feasibility
from pkm_dynamics.trajectories import Execution, FourierTrajectory
from pkm_identification.arrays import Array
from pkm_identification.excitation.excitation_design import RAMP_TIME, ExcitationDesign
from pkm_identification.excitation.information import sample_count
from pkm_identification.excitation.search.criteria import exact_mix, figures, standard_deviations
from pkm_identification.excitation.search.design_problem import DesignProblem
from pkm_identification.excitation.search.multi_start import DesignSolution
from pkm_identification.excitation.search.starts import SHRINKING

LONGEST_RAMP = 16.0  # [s], or a period where that is longer
SAMPLES_AT_ONCE = 20000  # whose regressor is held in memory


def finished_design(
    problem: DesignProblem,
    solution: DesignSolution,
    sampling_rate: float,
    options: Mapping[str, Any],
) -> ExcitationDesign:
    """Add ramps, margins and figures to a solution that was checked densely."""
    model, limits = problem.model, problem.limits
    trajectory, ramp = with_ramps(problem, solution.z, sampling_rate)
    report = check_feasibility(
        model,
        trajectory,
        condition_limit=problem.options.condition_limit,
        acceleration=limits.acceleration,
        aperture=limits.aperture,
    )
    if problem.errors is not None:
        report = under_servo(report, model, trajectory, problem.errors, problem.allowed_errors)
    W, own = whitened_regressor(problem, trajectory, sampling_rate)
    samples = sample_count(trajectory, sampling_rate)
    return ExcitationDesign(
        trajectory,
        next(iter(problem.task.weights))
        if len(problem.task.weights) == 1
        else dict(problem.task.weights),
        design_figures(problem, W, samples, sampling_rate),
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
        own,
        problem.task.prior,
    )


def with_ramps(
    problem: DesignProblem, z: Array, sampling_rate: float
) -> tuple[FourierTrajectory, float]:
    """Return a trajectory whose period and ramps keep the limits, and the ramp time [s].

    The motion is made a little smaller and slower where no ramp is feasible: samples of an
    execution are not those of a period, and forces jump with friction.
    """
    for factor in SHRINKING:
        smaller = problem.slowed(problem.shrunk(z, factor), 1.0 / factor)
        trajectory = on_samples(problem, smaller, sampling_rate)
        ramp = RAMP_TIME
        while ramp <= max(LONGEST_RAMP, 2.0 * trajectory.period):
            if (report := problem.check(Execution(trajectory, 1, ramp))).feasible:
                return trajectory, ramp
            ramp *= 2.0
    raise FeasibilityError(f'no feasible ramp was found: {report.message}')


def on_samples(problem: DesignProblem, z: Array, sampling_rate: float) -> FourierTrajectory:
    """Return the trajectory with a free period made a whole number of samples, no shorter.

    Recorded periods then fall onto one another sample by sample. Slower is feasible
    wherever faster is, but for a bound of the period.
    """
    found = problem.trajectory(z)
    if problem.task.period_range is None:
        return found
    count = np.ceil(found.period * sampling_rate - 1e-6)
    if count > problem.task.period_range[1] * sampling_rate + 1e-6:
        count -= 1.0
    return FourierTrajectory(
        max(count, 1.0) / sampling_rate,
        found.offset,
        found.sine,
        found.cosine,
        found.coordinates,
        found.coordinate_names,
        found.robot,
    )


def whitened_regressor(
    problem: DesignProblem, trajectory: FourierTrajectory, sampling_rate: float
) -> tuple[Array, Array]:
    """Return rows W (m, n) of one period of the robot as described, and W^T W.

    Long periods are condensed: the rows are then not those of the samples.
    """
    count, n = sample_count(trajectory, sampling_rate), problem.base.rank
    rows, own = np.zeros((0, n)), np.zeros((n, n))
    for begin in range(0, count, SAMPLES_AT_ONCE):
        time = np.arange(begin, min(begin + SAMPLES_AT_ONCE, count)) / sampling_rate
        regressor = problem.base.regressor(trajectory.motion(time, problem.model))
        W = np.einsum('ab,tbn->tan', problem.task.whitening, regressor).reshape(-1, n)
        own += W.T @ W
        rows = np.concatenate([rows, W])
        if count > SAMPLES_AT_ONCE:
            rows = np.asarray(qr(rows, mode='r')[0][:n])
    return rows, own


def design_figures(
    problem: DesignProblem, W: Array, samples: int, sampling_rate: float
) -> dict[str, Any]:
    """Return all criteria of one period of the robot as described, the prior included."""
    task, prior = problem.task, problem.prior_rows
    rows = W if prior is None else np.concatenate([W, prior])
    searched = np.sqrt(task.samples / samples) * W
    searched = searched if prior is None else np.concatenate([searched, prior])
    values, rank = figures(rows), problem.base.rank
    own = values if prior is None else figures(W)
    per_second = own['d_optimal'] + rank * np.log(samples / sampling_rate)
    deviations = standard_deviations(rows)
    return {
        'criterion': exact_mix(task.weights, figures(searched)),
        'measuring_time': float(task.samples / sampling_rate),
        **values,
        'd_optimal_per_second': float(per_second),
        'parameters': int(rank),
        'rank': int(values['rank']),
        'samples': samples,
        'sampling_rate': float(sampling_rate),
        'standard_deviation': {
            name: float(value) for name, value in zip(problem.base.names, deviations, strict=True)
        },
    }
