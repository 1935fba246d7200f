"""What a solved calibration says: force constants, payloads, and the robot alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pkm_identification.covariance.residual_scaling import full_covariance, honest_covariance
from pkm_identification.covariance.unidentifiable import open_directions
from pkm_identification.covariance.unidentifiable_directions import OpenDirections
from pkm_identification.force_constants.calibration import Calibration, State
from pkm_identification.force_constants.force_constants import ForceConstants
from pkm_identification.force_constants.payload_estimate import PayloadEstimate
from pkm_identification.regression.problem import Problem
from pkm_identification.regression.run import Run
from pkm_identification.regression.solution import Solution
from pkm_identification.regression.weighted_least_squares import Estimate
from pkm_identification.result.result import IdentificationResult
from pkm_identification.signals import Signals
from pkm_identification.signals.bands import BLOCK

Array = NDArray[np.float64]

UNCERTAIN = 0.05  # relative deviation of the common factor of all force constants
NO_SCALE = (
    'the currents show the ratios of the force constants, but not their common factor: with all '
    'force constants, masses, inertias and frictions multiplied by one number the robot draws the '
    'same currents. Constants and parameters are those of a mean factor of 1, with infinite '
    'variance. To determine it record a run with a known payload (payloads=), or give the constant '
    'of a drive (drive_gains=DriveGains(deviation={joint: relative deviation})), or a parameter '
    '(fixed=, prior=)'
)


@dataclass(frozen=True)
class Calibrated:
    """What was found.

    Attributes
    ----------
    problem
        Of the robot alone: forces of calibrated drives, less those of the payloads.
    fitted
        Linear problem of all unknowns about the solution, in forces of calibrated drives.
    solution
        Estimate of `fitted`; values and covariance of the base parameters.
    constants
        None where the force constants were given.
    payloads
        One a body.
    """

    problem: Problem
    fitted: Problem
    solution: Solution
    constants: ForceConstants | None
    payloads: tuple[PayloadEstimate, ...]


def read_out(
    calibration: Calibration,
    state: State,
    linear: Problem,
    found: Estimate,
    is_free: bool,
    nominal: Array,
    prior: Any,
) -> Calibrated:
    """Read constants, payloads and the robot's parameters off a solution.

    Parameters
    ----------
    state, linear, found
        As `Calibration.solve` gives them.
    is_free
        Whether only the ratios of the force constants are determined.
    nominal
        Force constants (n_a,) that the data were converted with.
    prior
        That was used, for the warnings.
    """
    covariance, fit = honest_covariance(linear, found)
    full = full_covariance(linear, found, covariance)
    opened_up = open_directions(linear, found)
    assert found.weights is not None and found.bread is not None and found.noise is not None
    groups, bodies = calibration.groups, calibration.bodies
    size = calibration.selection.size
    factors = groups.factors(state.logarithms)
    constants = None
    if groups.size:
        determined = opened_up.covariance if is_free and opened_up is not None else full
        constants = _constants(calibration, nominal, factors, full, determined, is_free)
    opened = bodies.open
    spread = np.zeros((10 * bodies.count, 10 * bodies.count))
    spread[np.ix_(opened, opened)] = full[size : size + len(opened), size : size + len(opened)]
    payloads = tuple(
        PayloadEstimate(
            name=bodies.labels[k],
            link=body.link,
            datasets=tuple(i for i, each in enumerate(bodies.runs) if each == k),
            values=state.bodies[10 * k : 10 * k + 10],
            covariance=spread[10 * k : 10 * k + 10, 10 * k : 10 * k + 10],
        )
        for k, body in enumerate(bodies.payloads)
    )
    signals = [
        _calibrated_signals(calibration, number, state, factors)
        for number in range(len(calibration.problem.runs))
    ]
    return Calibrated(
        problem=_robot_alone(calibration, signals, factors),
        fitted=calibration.calibrated(linear, factors, signals),
        solution=Solution(
            estimate=replace(
                found,
                noise=tuple(noise * np.outer(factors, factors) for noise in found.noise),
                weights=tuple(weight / factors for weight in found.weights),
                diagnostics={
                    **found.diagnostics,
                    'warnings': [
                        *found.diagnostics.get('warnings', []),
                        *_warnings(constants, payloads, prior),
                    ],
                },
            ),
            values=state.parameters,
            covariance=full[:size, :size],
            fit=fit,
            open_directions=_with_constants(opened_up, calibration, nominal, factors),
        ),
        constants=constants,
        payloads=payloads,
    )


def _with_constants(
    found: OpenDirections | None, calibration: Calibration, nominal: Array, factors: Array
) -> OpenDirections | None:
    """Turn unknowns (r + t + g) into base parameters and force constants (r + n_a)."""
    if found is None:
        return None
    groups, size = calibration.groups, calibration.selection.size
    turned = np.zeros((size + len(factors), len(found.covariance)))
    turned[:size, :size] = np.eye(size)
    values = np.where(np.isfinite(nominal), nominal, 0.0) * factors
    turned[size:, len(found.covariance) - groups.size :] = groups.members * values[:, None]
    directions = found.directions @ turned.T
    shown = np.abs(directions).max(axis=1, initial=0.0) > 0  # others are of the payloads alone
    return OpenDirections(directions[shown], turned @ found.covariance @ turned.T)


def _constants(
    calibration: Calibration,
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
    groups, model = calibration.groups, calibration.problem.model
    size = calibration.selection.size
    members = groups.members
    values = nominal * factors
    scaled = members * np.where(np.isfinite(values), values, 0.0)[:, None]
    last = slice(len(full) - groups.size, None)
    own = full[last, last]
    infinite = ~np.isfinite(np.diag(own))
    block = np.where(np.isfinite(own), own, 0.0)
    covariance = scaled @ block @ scaled.T
    open_axes = np.flatnonzero(members @ infinite)
    covariance[open_axes] = covariance[:, open_axes] = 0.0
    covariance[open_axes, open_axes] = np.inf
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
    constants: ForceConstants | None, payloads: Sequence[PayloadEstimate], prior: Any
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


def _robot_alone(calibration: Calibration, signals: Sequence[Signals], factors: Array) -> Problem:
    """The problem of the robot alone, with calibrated forces."""
    outer = np.outer(factors, factors)
    runs = tuple(
        Run(
            each,
            calibration.base,
            run.model,
            calibration.selection,
            None if run.covariance is None else run.covariance * outer,
        )
        for run, each in zip(calibration.problem.runs, signals, strict=True)
    )
    model, size = calibration.problem.model, calibration.selection.size
    nominal = np.asarray(calibration.base.matrix @ model.nominal_parameters)
    nothing = np.zeros((0, size)), np.zeros(0)
    return Problem(runs, calibration.base, model, calibration.selection, nominal, nothing)


def _calibrated_signals(
    calibration: Calibration, number: int, state: State, factors: Array
) -> Signals:
    """Signals of a run with forces of calibrated drives, less those of the payload."""
    model, bodies = calibration.problem.model, calibration.bodies
    signals = calibration.problem.runs[number].signals
    assert isinstance(signals, Signals)
    parts = [slice(i, i + BLOCK) for i in range(0, len(signals), BLOCK)]
    load = np.concatenate(
        [bodies.forces(model, signals.motion(model, part), number, state.bodies) for part in parts]
    )
    folded, noise = signals.folded_forces, signals.force_noise
    if folded is not None:
        folded = folded.changed(factors, load)
    if noise is not None:
        outer = np.outer(factors, factors)
        noise = replace(noise, covariance=noise.covariance * outer, spectrum=noise.spectrum * outer)
    calibrated = signals.with_samples(forces=factors * signals.forces - load)
    return replace(calibrated, folded_forces=folded, force_noise=noise)
