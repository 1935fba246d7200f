"""Identification with payloads and unknown force constants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pkm_description.errors import EstimationError
from pkm_dynamics import ClosedChainModel
from pkm_identification.arrays import Array
from pkm_identification.covariance.force_constant_covariance import unidentifiable_directions
from pkm_identification.covariance.residual_scaling import (
    full_covariance,
    residual_scaled_covariance,
)
from pkm_identification.covariance.unidentifiable_directions import UnidentifiableDirections
from pkm_identification.estimators.registry import LINEAR
from pkm_identification.force_constants.bilinear_build import build_bilinear_problem, start_values
from pkm_identification.force_constants.bilinear_problem import BilinearProblem, State
from pkm_identification.force_constants.force_constant_request import ForceConstantRequest
from pkm_identification.force_constants.force_constants import ForceConstants
from pkm_identification.force_constants.payload_estimate import PayloadEstimate
from pkm_identification.regression.numerics import with_variance
from pkm_identification.regression.preparation import ParameterOptions
from pkm_identification.regression.prior import Prior
from pkm_identification.regression.problem import Problem
from pkm_identification.regression.run import Run, in_blocks
from pkm_identification.regression.solution import Solution, estimated
from pkm_identification.regression.weighted_least_squares import Estimate
from pkm_identification.result.result import IdentificationResult
from pkm_identification.signals import Signals

UNCERTAIN = 0.05  # relative deviation of the common factor of all force constants
NO_SCALE = (
    'the currents show the ratios of the force constants, but not their common factor: with all '
    'force constants, masses, inertias and frictions multiplied by one number the robot draws the '
    'same currents. Constants and parameters are those of a mean factor of 1, with infinite '
    'variance. To determine it record a run with a known payload (payloads=), or give the constant '
    'of a drive (drive_gains=DriveGains(deviation={joint: relative deviation})), or a parameter '
    '(fixed=, prior=)'
)


def solve_with_force_constants(
    request: ForceConstantRequest,
    estimator: str,
    options: Mapping[str, Any],
    signals: Sequence[Signals],
    model: ClosedChainModel,
    nominal: Array,
    parameters: ParameterOptions,
) -> Solution:
    """Estimate parameters, payloads and force constants together.

    `ls`, `wls` or `gauss_markov` weigh the linear problem in each step. The signals are of datasets
    that `request.forces_of` gave, `nominal` their force constants (n_a,) by
    `request.nominal_constants`. A prior that is a result with force constants counts with their
    correlation. The solution is of the robot alone: forces are those of the drives with their
    estimated constants, less those of the payloads; `fitted` is the linear problem of all unknowns
    about it. EstimationError: another estimator, recordings too long for memory, too few data, or
    no convergence.
    """
    if estimator not in LINEAR:
        raise EstimationError(
            f"estimator '{estimator}' takes no payloads and no unknown force constants; use "
            f'{", ".join(LINEAR)}, then give it data with the force constants that these found'
        )
    bilinear = build_bilinear_problem(request, signals, model, **parameters)

    def step(problem: Problem) -> Estimate:
        return estimated(problem, estimator, options)

    logarithms = np.zeros(bilinear.groups.size)
    start = State(start_values(bilinear), bilinear.bodies.start.ravel(), logarithms)
    state, linear, found = bilinear.solve(step, start)
    assert found.weights is not None
    is_free = bilinear.is_free_to_scale(linear, found.weights, state)
    if is_free:
        state = bilinear.with_mean_one(state)
        linear = bilinear.linearised(state)
        found = step(linear)
    else:
        state = bilinear.state(linear.expand(found.values))
    return _read_out(bilinear, state, linear, found, is_free, nominal, parameters['prior'])


def _read_out(
    bilinear: BilinearProblem,
    state: State,
    linear: Problem,
    found: Estimate,
    is_free: bool,
    nominal: Array,
    prior: Prior,
) -> Solution:
    """Read constants, payloads and the robot's parameters off a solution.

    `is_free` says whether only the ratios of the force constants are determined.
    """
    covariance, fit = residual_scaled_covariance(linear, found)
    full = full_covariance(linear, found, covariance)
    directions = unidentifiable_directions(linear, found)
    assert found.weights is not None and found.noise is not None
    groups, bodies, size = bilinear.groups, bilinear.bodies, bilinear.selection.size
    factors = groups.factors(state.logarithms)
    constants, open_ends = None, None
    if directions is not None:
        open_ends = _with_constants(directions, bilinear, nominal, factors)
    if groups.size:
        determined = directions.covariance if is_free and directions is not None else full
        constants = _constants(bilinear, nominal, factors, full, determined, is_free)
    opened = bodies.open
    spread = np.zeros((10 * bodies.count, 10 * bodies.count))
    spread[np.ix_(opened, opened)] = full[size : size + len(opened), size : size + len(opened)]
    payloads = []
    for k, body in enumerate(bodies.payloads):
        datasets = tuple(i for i, each in enumerate(bodies.runs) if each == k)
        own, name = slice(10 * k, 10 * k + 10), bodies.labels[k]
        payloads.append(
            PayloadEstimate(name, body.link, datasets, state.bodies[own], spread[own, own])
        )
    count = len(bilinear.problem.runs)
    signals = [_forces_of_robot(bilinear, number, state, factors) for number in range(count)]
    pairs = zip(linear.runs, signals, strict=True)
    outer = np.outer(factors, factors)
    return Solution(
        estimate=replace(
            found,
            noise=tuple(noise * outer for noise in found.noise),
            weights=tuple(weight / factors for weight in found.weights),
            warnings=(*found.warnings, *_warnings(constants, payloads, prior)),
        ),
        values=state.parameters,
        covariance=full[:size, :size],
        fit=fit,
        problem=_robot_alone(bilinear, signals, outer),
        fitted=replace(linear, runs=tuple(run.scaled(each, factors) for run, each in pairs)),
        unidentifiable_directions=open_ends,
        force_constants=constants,
        payloads=tuple(payloads),
    )


def _with_constants(
    found: UnidentifiableDirections, bilinear: BilinearProblem, nominal: Array, factors: Array
) -> UnidentifiableDirections:
    """Turn unknowns (r + t + g) into base parameters and force constants (r + n_a)."""
    groups, size = bilinear.groups, bilinear.selection.size
    turned = np.zeros((size + len(factors), len(found.covariance)))
    turned[:size, :size] = np.eye(size)
    values = np.where(np.isfinite(nominal), nominal, 0.0) * factors
    turned[size:, len(found.covariance) - groups.size :] = groups.members * values[:, None]
    directions = found.directions @ turned.T
    shown = np.abs(directions).max(axis=1, initial=0.0) > 0  # others are of the payloads alone
    return UnidentifiableDirections(directions[shown], turned @ found.covariance @ turned.T)


def _constants(
    bilinear: BilinearProblem,
    nominal: Array,
    factors: Array,
    full: Array,
    determined: Array,
    is_free: bool,
) -> ForceConstants:
    """Constants of all drives from the covariance (r + t + g) of all unknowns.

    `determined` is the same without infinite variances where only the common factor is
    undetermined: right for ratios.
    """
    groups, model = bilinear.groups, bilinear.problem.model
    size = bilinear.selection.size
    members = groups.members
    values = nominal * factors
    scaled = members * np.where(np.isfinite(values), values, 0.0)[:, None]
    last = slice(len(full) - groups.size, None)
    own = full[last, last]
    infinite = ~np.isfinite(np.diag(own))
    block = np.where(np.isfinite(own), own, 0.0)
    covariance = with_variance(scaled @ block @ scaled.T, np.flatnonzero(members @ infinite))
    mean = np.asarray(members.sum(axis=0) / members.sum())
    contrast = members - (members.sum(axis=1) > 0)[:, None] * mean
    ratios = np.einsum('ag,gh,ah->a', contrast, determined[last, last], contrast)
    common = np.inf if is_free or infinite.any() else float(np.sqrt(mean @ own @ mean))
    return ForceConstants(
        joint_names=tuple(model.actuated_joints),
        values=values,
        covariance=covariance,
        with_parameters=scaled @ full[last, :size],
        nominal=nominal,
        groups=groups.joints,
        common_deviation=common,
        ratio_deviation=np.sqrt(np.maximum(ratios, 0.0)),
    )


def _warnings(
    constants: ForceConstants | None, payloads: Sequence[PayloadEstimate], prior: Prior
) -> list[str]:
    found = []
    if constants is not None:
        if not np.isfinite(constants.common_deviation):
            found.append(NO_SCALE)
        elif constants.common_deviation > UNCERTAIN:
            found.append(
                'the common factor of all force constants, and with it every mass, inertia and '
                f'friction, is uncertain by {100 * constants.common_deviation:.1f} % (standard '
                'deviation); a known payload determines it'
            )
        if isinstance(prior, IdentificationResult) and prior.force_constants is None:
            found.append(
                f"the prior of estimator '{prior.estimator}' rests on force constants that were "
                'taken as exact: so does the common factor found with it'
            )
    for payload in payloads:
        if payload.mass <= 0:
            found.append(
                f"payload '{payload.name}': its mass of {payload.mass:.3g} kg is that of no body; "
                'is it attached in these datasets?'
            )
    return found


def _robot_alone(bilinear: BilinearProblem, signals: Sequence[Signals], outer: Array) -> Problem:
    """The problem of the robot alone, with calibrated forces."""
    base, model, selection = bilinear.problem.base, bilinear.problem.model, bilinear.selection
    runs = []
    for run, each in zip(bilinear.problem.runs, signals, strict=True):
        noise = None if run.covariance is None else run.covariance * outer
        runs.append(Run(each, base, model, selection, noise))
    nominal = np.asarray(base.matrix @ model.nominal_parameters)
    nothing = np.zeros((0, selection.size)), np.zeros(0)
    return Problem(tuple(runs), base, model, selection, nominal, nothing)


def _forces_of_robot(
    bilinear: BilinearProblem, number: int, state: State, factors: Array
) -> Signals:
    """Signals of a run with forces of calibrated drives, less those of the payload."""
    model, bodies = bilinear.problem.model, bilinear.bodies
    signals = bilinear.problem.runs[number].signals

    def forces(part: slice) -> Array:
        return bodies.forces(model, signals.motion(model, part), number, state.bodies)

    load = in_blocks(len(signals), forces)
    folded, noise = signals.folded_forces, signals.force_noise
    if folded is not None:
        folded = folded.changed(factors, load)
    if noise is not None:
        outer = np.outer(factors, factors)
        noise = replace(noise, covariance=noise.covariance * outer, spectrum=noise.spectrum * outer)
    calibrated = signals.with_samples(forces=factors * signals.forces - load)
    return replace(calibrated, folded_forces=folded, force_noise=noise)
