"""Design of excitation trajectories: `design_excitation`."""

from __future__ import annotations

from collections.abc import Mapping

from numpy.typing import ArrayLike

from pkm_description.errors import FeasibilityError, TrajectoryError
from pkm_dynamics import BaseParameters, ClosedChainModel
from pkm_dynamics.model import require_drives
from pkm_dynamics.trajectories import FourierTrajectory
from pkm_identification.arrays import Array
from pkm_identification.excitation import design_options
from pkm_identification.excitation.excitation_design import ExcitationDesign
from pkm_identification.excitation.finished import finished_design
from pkm_identification.excitation.information import whitening_of
from pkm_identification.excitation.request_check import (
    free_period,
    highest_frequency_period,
    most_informative_motion,
    require_possible,
    require_samples,
    suggested_period,
)
from pkm_identification.excitation.search.constraints import DesignLimits
from pkm_identification.excitation.search.criteria import normalised_weights
from pkm_identification.excitation.search.design_problem import DesignProblem, DesignTask
from pkm_identification.excitation.search.multi_start import solve_design_problem
from pkm_identification.excitation.search.workers import Cancel, Found, Progress
from pkm_identification.result.result import IdentificationResult

__all__ = ['build_design_problem', 'design_excitation', 'suggested_period']

SAMPLES_PER_OSCILLATION = 4.0  # of the highest harmonic, at least: twice what Nyquist asks for
PERIOD_ROUNDING = 1e-9  # by which a period may be below the shortest that a message named


def design_excitation(
    model: ClosedChainModel,
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
    found: Found | None = None,
) -> ExcitationDesign:
    """Design a periodic trajectory that identifies the base parameters well.

    Parameters
    ----------
    criterion
        `d_optimal`, `a_optimal`, `e_optimal`, `condition_number` (of parameters in SI
        units, all three), `condition_number_scaled` (columns of unit length), or a weighted
        sum of their logarithms, {name: weight}. Only `d_optimal` and `condition_number_scaled`
        do not depend on the units. The search sees smallest and largest singular values
        smoothed; the figures are exact.
    harmonics
        Of each coordinate. Platform coordinates where the platform has six degrees of
        freedom, actuator coordinates elsewhere.
    period
        [s]; one more unknown by default, a whole number of samples in the end. The
        criterion is then that of a fixed `measuring_time`, so that a longer period is no
        gain in itself. The figures are those of one period: between periods compare
        `d_optimal_per_second`.
    sampling_rate
        Of the figures [Hz].
    noise_covariance
        Of the force noise of one sample (n_a, n_a) [N^2]; unit variance by default.
    limits
        Margins to the robot's limits, and further limits.
    shared, reduced
        Which base parameters; see `ClosedChainModel.base_parameters`.
    prior
        Information (n, n) of earlier runs, to which this design adds (sequential design).
    measuring_time
        Planned length of the record [s], which weighs the motion against the prior; one
        period by default (the suggested one where it is free).
    initial
        A further start, also with fewer harmonics; with `starts` 0 the only one.
    starts, iterations, candidates
        Optimised starts, steps of each, random motions that a random start is the best of,
        after a few steps.
    seed, workers
        Of everything random; the result depends on nothing else, in particular not on the number of
        parallel processes (one a core by default, none with a single start).
    progress, cancel
        Gets (what, fraction, seconds left, least criterion); nan is unknown. When `cancel` is set
        (or returns true), the search ends; the best so far is returned and `origin['cancelled']`
        is true.
    found
        Gets the motion of each start that ended with one that keeps the limits, and its criterion.

    Raises
    ------
    TrajectoryError
        For an unknown criterion or options that make no sense.
    FeasibilityError
        When limits, harmonics or period cannot be met; when no informative motion keeps the
        limits; when cancelled before one was found.
    UnderactuatedError
        When a degree of freedom of the robot has no drive.
    """
    design_options.require_types(model, limits, initial, progress, cancel)
    require_drives(model, 'an excitation')
    weights = normalised_weights(criterion)
    design_options.require_counts(
        harmonics=(harmonics, 1, design_options.MOST_HARMONICS),
        starts=(starts, 0 if initial is not None else 1, None),
        iterations=(iterations, 1, None),
        candidates=(candidates, 1, None),
        workers=(1 if workers is None else workers, 1, None),
        seed=(seed, 0, None),
    )
    design_options.require_times(period, sampling_rate, measuring_time)
    first = design_options.initial_trajectory(initial, model)
    if progress is not None:
        progress('checking the request', 0.0, float('nan'), float('nan'))
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
        prior=design_options.prior_information(prior, model, base),
    )
    if first is not None:
        problem.unknowns(first)  # refused before the search
    options = {'seed': int(seed), 'starts': int(starts), 'candidates': int(candidates)}

    def searched(starts: int, initial: FourierTrajectory | None) -> ExcitationDesign:
        solution = solve_design_problem(
            problem,
            **options | {'starts': starts},
            iterations=iterations,
            initial=initial,
            workers=workers,
            progress=progress if initial is first else None,
            cancel=cancel,
            found=found,
        )
        return finished_design(problem, solution, sampling_rate, options)

    design = searched(starts, first)
    if design.figures['rank'] < base.rank and not design.origin['cancelled']:
        # where information is singular, no slope leads out: from a motion that has it all
        again = searched(0, problem.trajectory(most_informative_motion(problem)[2]))
        design = max(design, again, key=lambda found: found.figures['rank'])
    if progress is not None:
        progress('done', 1.0, 0.0, design.figures['criterion'])
    return design


def build_design_problem(
    model: ClosedChainModel,
    base: BaseParameters,
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
    shortest = SAMPLES_PER_OSCILLATION * harmonics / sampling_rate
    slowest = highest_frequency_period(harmonics, limits)
    if period is not None and period < slowest * (1.0 - PERIOD_ROUNDING):
        what = "servo's bandwidth" if limits.frequency is None else 'frequency'
        raise FeasibilityError(
            f'{harmonics} harmonics of {period:g} s reach {harmonics / period:g} Hz, above the '
            f'{what} of {limits.highest_frequency:g} Hz: the period must be at least {slowest:g} s'
        )
    suggested, free = free_period(model, harmonics, limits, shortest)
    if period is not None and period < shortest:
        raise TrajectoryError(
            f'{harmonics} harmonics of {period:g} s are too fast for {sampling_rate:g} Hz: the '
            f'period must be at least {shortest:g} s, or the rate {shortest / period:.3g} times'
        )
    first = suggested if period is None else float(period)
    longest = free[1] if period is None else first
    most = design_options.MOST_SAMPLES
    if longest * sampling_rate > most:
        raise TrajectoryError(
            f'a period of up to {longest:g} s has more than {most} samples at '
            f'{sampling_rate:g} Hz; at most {most / longest:.3g} Hz are possible'
        )
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
    return require_possible(model, base, task)
