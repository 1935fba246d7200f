"""The bilinear problem from signals, payloads, unknown force constants and a prior."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pkm_description.errors import EstimationError
from pkm_dynamics import ClosedChainModel
from pkm_identification.arrays import Array
from pkm_identification.force_constants.bilinear_problem import BilinearProblem
from pkm_identification.force_constants.drive_gains import ForceConstantGroups, build_groups
from pkm_identification.force_constants.force_constant_request import ForceConstantRequest
from pkm_identification.force_constants.force_constants import ForceConstants
from pkm_identification.force_constants.payload_columns import (
    Bodies,
    build_bodies,
    load_names,
    with_payloads,
)
from pkm_identification.regression.numerics import scaled_least_squares
from pkm_identification.regression.prior import Prior, prior_information, whitened
from pkm_identification.regression.problem import FIRST_SINGULAR, Problem, noisy_runs
from pkm_identification.regression.run import Run
from pkm_identification.regression.selection import Selection, build_selection
from pkm_identification.result.result import IdentificationResult
from pkm_identification.signals import Signals


def build_bilinear_problem(
    request: ForceConstantRequest,
    signals: Sequence[Signals],
    model: ClosedChainModel,
    shared: bool,
    reduced: bool | str,
    estimate: Sequence[str] | str | None,
    fixed: Mapping[str, Any] | None,
    prior: Prior,
) -> BilinearProblem:
    """Put base regressor, payload columns and what is known of them together."""
    base = model.base_parameters(shared=shared, reduced=reduced)
    nominal = np.asarray(base.matrix @ model.nominal_parameters)
    selection = build_selection(base.names, nominal, estimate, fixed)
    groups = build_groups(model, request.gains)
    bodies = build_bodies(model, request.payloads)
    loads = np.arange(selection.size, selection.size + 10 * bodies.count, dtype=np.int64)
    wide = replace(selection, free=np.concatenate([selection.free, loads]))
    runs = []
    for number, each in enumerate(signals):
        run = Run(each, with_payloads(base, bodies, number), model, wide)
        if run.is_long:
            raise EstimationError(
                f'dataset {number + 1} is too long for payloads or unknown force constants: give '
                'a part of it (some tens of seconds of every motion are enough)'
            )
        runs.append(run)
    first = np.concatenate([nominal, np.zeros(len(loads))])
    nothing = np.zeros((0, len(first))), np.zeros(0)
    problem = Problem(tuple(runs), base, model, wide, first, nothing, tuple(load_names(bodies)))
    unknown = len(selection.free) + len(bodies.open) + groups.size
    if problem.equations <= unknown:
        raise EstimationError(
            f'{problem.equations} equations cannot determine {unknown} parameters; record longer '
            'or raise harmonics= or cutoff='
        )
    problem = replace(problem, runs=noisy_runs(problem))
    information = _prior(prior, base.names, selection, bodies, groups)
    return BilinearProblem(problem, selection, bodies, groups, information)


def start_values(bilinear: BilinearProblem) -> Array:
    """Base parameters (r,) from the runs as if the nominal constants were right.

    Runs with a payload whose mass is unknown do not count, if there are others.
    """
    selection, bodies = bilinear.selection, bilinear.bodies
    size = len(selection.free)
    unknown = {k for k, body in enumerate(bodies.payloads) if body.mass is None}
    pairs = zip(bilinear.problem.runs, bodies.runs, strict=True)
    known = [run for run, body in pairs if body not in unknown]
    loads = bodies.standard(bodies.start.ravel())
    designs, targets = [], []
    for run in known or bilinear.problem.runs:
        rows = run.compact
        designs.append(rows.regressor[..., :size].reshape(-1, size))
        targets.append((rows.forces - rows.regressor[..., size:] @ loads).ravel())
    design, target = np.concatenate(designs), np.concatenate(targets)
    return selection.expand(scaled_least_squares(design, target, FIRST_SINGULAR))


def _prior(
    prior: Prior,
    names: Sequence[str],
    selection: Selection,
    bodies: Bodies,
    groups: ForceConstantGroups,
) -> tuple[Array, Array]:
    """Rows (k, r + t + g) and target of all that is known before."""
    count, opened = selection.size, bodies.open
    total = count + len(opened) + groups.size
    rows, target = prior_information(prior, names, selection)
    parts, targets = [np.pad(rows, ((0, 0), (0, total - count)))], [target]
    if isinstance(prior, IdentificationResult) and prior.force_constants and groups.size:
        parts, targets = _joint_prior(prior, prior.force_constants, total, groups)
    for deviations, values, offset in (
        (bodies.deviations[opened], bodies.start.ravel()[opened], count),
        (groups.deviations, np.zeros(groups.size), count + len(opened)),
    ):
        known = np.flatnonzero(np.isfinite(deviations))
        parts.append(np.eye(total)[offset + known] / deviations[known, None])
        targets.append(values[known] / deviations[known])
    return np.concatenate(parts), np.concatenate(targets)


def _joint_prior(
    prior: IdentificationResult, constants: ForceConstants, total: int, groups: ForceConstantGroups
) -> tuple[list[Array], list[Array]]:
    """Rows of an earlier result's parameters and force constants, with their correlation."""
    count = len(prior.values)
    if constants.groups != groups.joints:
        raise EstimationError(
            'the prior was found with other groups of force constants '
            f'({_listed(constants.groups)}) than asked for ({_listed(groups.joints)})'
        )
    if np.isfinite(groups.deviations).any():
        raise EstimationError(
            'the prior has force constants, and drive_gains has deviations of the nominal ones: '
            'give one of them'
        )
    first = [constants.joint_names.index(members[0]) for members in groups.joints]
    values = constants.values[first]
    own = constants.covariance[np.ix_(first, first)] / np.outer(values, values)
    cross = constants.with_parameters[first] / values[:, None]
    covariance = np.block([[prior.covariance, cross.T], [cross, own]])
    place = np.r_[np.arange(count), np.arange(total - groups.size, total)]
    logarithms = np.log(values / constants.nominal[first])
    rows, target = whitened(np.concatenate([prior.values, logarithms]), covariance)
    wide = np.zeros((len(rows), total))
    wide[:, place] = rows
    return [wide], [target]


def _listed(groups: Sequence[Sequence[str]]) -> str:
    return '; '.join(', '.join(members) for members in groups)
