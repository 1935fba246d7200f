"""Identification with payloads and unknown force constants: built, solved, and read out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pkm_description import Payload, payload_of
from pkm_description.errors import DescriptionError, EstimationError
from pkm_identification.datasets import Dataset, LongDataset
from pkm_identification.estimators.calibration import Calibration, State
from pkm_identification.estimators.drive_gains import (
    EACH,
    DriveGains,
    GainGroups,
    build_groups,
)
from pkm_identification.estimators.honest import full_covariance, honest_covariance
from pkm_identification.estimators.payload_columns import Bodies, LoadedBase, build_bodies
from pkm_identification.estimators.prior import prior_information, whitened
from pkm_identification.estimators.problem import Problem, noisy_runs
from pkm_identification.estimators.registry import find_estimator
from pkm_identification.estimators.run import Run
from pkm_identification.estimators.selection import Selection, build_selection
from pkm_identification.estimators.solution import Solution
from pkm_identification.estimators.solve import Estimate, sandwich
from pkm_identification.force_constants import ForceConstants, PayloadEstimate, exact_constants
from pkm_identification.result import IdentificationResult
from pkm_identification.signals import LongSignals, Signals
from pkm_identification.signals.bands import BLOCK
from pkm_identification.signals.periods import Folded

if TYPE_CHECKING:
    from pkm_dynamics import ClosedChainModel

Array = NDArray[np.float64]

LINEAR = ('ls', 'wls', 'gauss_markov')
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
class Request:
    """What is attached in each dataset, and which force constants are unknown.

    Attributes
    ----------
    payloads
        One a dataset, None without one.
    gains
        Unknown force constants; None: they are as given.
    constants
        Force constants [N/A, N m/A] by joint that count before those of the data and of the
        description; None: these.
    common_deviation
        Relative uncertainty of their common factor, where they were estimated.
    """

    payloads: tuple[Payload | None, ...]
    gains: DriveGains | None
    constants: Mapping[str, float] | None = None
    common_deviation: float = 0.0

    @property
    def is_plain(self) -> bool:
        """Whether nothing is attached and all force constants are given."""
        return self.gains is None and not any(self.payloads)

    @property
    def options(self) -> dict[str, Any]:
        """Options as a file can say them; empty where nothing is unusual."""
        found: dict[str, Any] = {}
        if any(self.payloads):
            found['payloads'] = [None if p is None else p.to_mapping() for p in self.payloads]
        if self.gains is not None:
            found['drive_gains'] = {
                'groups': self.gains.groups, 'deviation': self.gains.deviation,
            }  # fmt: skip
        if self.constants is not None:
            found['force_constants'] = dict(self.constants)
        return found

    def forces_of(
        self, datasets: Sequence[Dataset | LongDataset], model: ClosedChainModel
    ) -> list[Dataset | LongDataset]:
        """Return the datasets in the joint order of the model, with forces for efforts.

        Where force constants are estimated these are currents times nominal constants.

        Raises
        ------
        DatasetError
            Joints, units or constants do not fit.
        EstimationError
            Force constants are to be estimated and a dataset has no currents.
        """
        data: list[Dataset | LongDataset] = []
        for each in datasets:
            if (self.gains or self.constants) and each.currents is None:
                raise EstimationError(
                    f'{each.provenance.get("source", "dataset")} has efforts [N, N m] and no '
                    'currents [A]: force constants are those of currents'
                )
            if self.gains is not None and isinstance(each, Dataset) and each.efforts is not None:
                each = replace(each, efforts=None)
            data.append(each.for_model(model, self._constants_of(model)))
        return data

    def _constants_of(self, model: ClosedChainModel) -> dict[str, float] | None:
        if self.constants is None:
            return None
        drives = [n for n in model.actuated_joints if n not in getattr(model, 'free_joints', ())]
        for name in {*self.constants, *drives}:
            value = self.constants.get(name, np.nan)
            if name not in drives or not (np.isfinite(value) and value > 0):
                what = 'is no drive' if name not in drives else 'has no positive force constant'
                raise EstimationError(
                    f"force_constants: '{name}' {what}; needed are {', '.join(drives)}"
                )
        return {name: self.constants.get(name, 1.0) for name in model.actuated_joints}

    def with_recorded_deviations(
        self,
        data: Sequence[Dataset | LongDataset],
        model: ClosedChainModel,
        prior: IdentificationResult | Mapping[str, Any] | None,
    ) -> Request:
        """Return the request with what recordings say of the uncertainty of force constants.

        Where each drive has a factor of its own and nothing else is said of it, the recorded
        deviations are what is known before; with given constants, what they leave uncertain.
        """
        known = isinstance(prior, IdentificationResult) and prior.force_constants is not None
        spreads = [each.effort_scale_deviation for each in data]
        spread = np.max([each for each in spreads if each is not None] or [np.zeros(model.n_a)], 0)
        gains = self.gains
        if known or not spread.any() or self.is_plain:
            return self
        if gains is not None and (gains.groups != EACH or gains.deviation is not None):
            return self
        unsaid = 0.0 if gains is None else np.inf
        free = getattr(model, 'free_joints', ())
        deviations = {
            name: float(each) or unsaid
            for name, each in zip(model.actuated_joints, spread, strict=True)
            if name not in free
        }
        return replace(self, gains=DriveGains(deviation=deviations))

    def given_constants(self, model: ClosedChainModel, size: int) -> ForceConstants | None:
        """Return the constants that were given, as exact, beside `size` parameters."""
        found = self._constants_of(model)
        if found is None or self.gains is not None:
            return None
        free = getattr(model, 'free_joints', ())
        values = [np.nan if name in free else found[name] for name in model.actuated_joints]
        return exact_constants(model.actuated_joints, np.array(values), size)

    @property
    def warnings(self) -> list[str]:
        """What the standard deviations do not contain."""
        if self.gains is not None or not self.common_deviation:
            return []
        return [
            'the force constants are taken as exact; their common factor, and with it every mass, '
            f'inertia and friction, is uncertain by {100 * self.common_deviation:.2g} % (standard '
            'deviation), which the deviations here do not contain'
        ]

    def nominal_constants(
        self, data: Sequence[Dataset | LongDataset], model: ClosedChainModel
    ) -> Array:
        """Return the force constants (n_a,) that the currents were converted with.

        nan where there is no drive; all nan where force constants are not estimated.

        Parameters
        ----------
        data
            From `forces_of`.

        Raises
        ------
        EstimationError
            The datasets were recorded with different ones.
        """
        if self.gains is None:
            return np.full(len(model.actuated_joints), np.nan)
        heads = [each.scan.head if isinstance(each, LongDataset) else each for each in data]
        given = self.constants is not None
        found = [each.constants_for(model, found=given) for each in heads]
        for number, constants in enumerate(found):
            other = np.flatnonzero(np.abs(constants / found[0] - 1) > 1e-6)
            if other.size:
                raise EstimationError(
                    f"force constant of '{model.actuated_joints[other[0]]}' is "
                    f'{found[0][other[0]]:g} in dataset 1 and {constants[other[0]]:g} in dataset '
                    f'{number + 1}: the drives of one robot must have one'
                )
        free = [name in getattr(model, 'free_joints', ()) for name in model.actuated_joints]
        return np.where(free, np.nan, found[0])


def build_request(
    datasets: Sequence[Dataset | LongDataset],
    payloads: Sequence[Payload | Mapping[str, Any] | str | None] | None,
    drive_gains: DriveGains | bool | str | None,
    force_constants: IdentificationResult | ForceConstants | Mapping[str, float] | None = None,
) -> Request:
    """Read the options of an identification about payloads and force constants.

    Parameters
    ----------
    payloads
        One a dataset; None: those that the datasets name.
    drive_gains
        Which are to be estimated.
    force_constants
        Those that count before the ones of the data.

    Raises
    ------
    EstimationError
        There are not as many payloads as datasets, or one cannot be read; or an earlier
        result has no force constants.
    """
    if isinstance(force_constants, IdentificationResult):
        if force_constants.force_constants is None:
            raise EstimationError('force_constants: the result given has none; see drive_gains=')
        force_constants = force_constants.force_constants
    deviation = 0.0
    if isinstance(force_constants, ForceConstants):
        deviation = force_constants.common_deviation
        if not np.isfinite(deviation):
            raise EstimationError(
                'force_constants: the result given tells only their ratios, not their common factor'
            )
        force_constants = force_constants.by_joint
    if payloads is None:
        found = tuple(each.payload for each in datasets)
    else:
        if isinstance(payloads, Payload | Mapping | str):
            payloads = [payloads]
        if len(payloads) != len(datasets):
            raise EstimationError(
                f'payloads: {len(payloads)} for {len(datasets)} datasets; give one each, None '
                'where nothing is attached'
            )
        try:
            found = tuple(payload_of(each) for each in payloads)
        except DescriptionError as error:
            raise EstimationError(f'payloads: {error}') from error
    return Request(found, DriveGains.of(drive_gains), force_constants, deviation)


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


def calibrate(
    request: Request,
    estimator: str,
    options: Mapping[str, Any],
    signals: Sequence[Signals | LongSignals],
    model: ClosedChainModel,
    nominal: Array,
    *,
    shared: bool = True,
    reduced: bool | str = True,
    estimate: Sequence[str] | str | None = None,
    fixed: Mapping[str, Any] | None = None,
    prior: IdentificationResult | Mapping[str, Any] | None = None,
) -> Calibrated:
    """Estimate parameters, payloads and force constants together.

    Parameters
    ----------
    request
        Payloads and force constants.
    estimator, options
        `ls`, `wls` or `gauss_markov`: the weights of the linear problem in each step.
    signals
        Of datasets that `request.forces_of` gave.
    nominal
        Their force constants, as `request.nominal_constants` gives them.
    shared, reduced, estimate, fixed, prior
        As for `build_problem`. The prior may be a result with force constants, which then
        count with their correlation.

    Raises
    ------
    EstimationError
        Another estimator, recordings too long for memory, too few data, or no convergence.
    """
    if estimator not in LINEAR:
        raise EstimationError(
            f"estimator '{estimator}' takes no payloads and no unknown force constants; use "
            f'{", ".join(LINEAR)}, then give it data with the force constants that these found'
        )
    calibration = build_calibration(
        request, signals, model, shared, reduced, estimate, fixed, prior
    )
    solve = find_estimator(estimator)

    def step(problem: Problem) -> Estimate:
        try:
            return solve(problem, **options)
        except (TypeError, ValueError, np.linalg.LinAlgError) as error:
            raise EstimationError(
                f"estimator '{estimator}' with options {dict(options)}: {error}"
            ) from error

    start = State(
        _start(calibration), calibration.bodies.start.ravel(), np.zeros(calibration.groups.size)
    )
    state, linear, found = calibration.solve(step, start)
    assert found.weights is not None
    if calibration.is_free_to_scale(linear, found.weights, state):
        state = calibration.with_mean_one(state)
        linear = calibration.linearised(state)
        found = step(linear)
        is_free = True
    else:
        state = calibration.state(linear.expand(found.values))
        is_free = False
    return _read_out(calibration, state, linear, found, is_free, nominal, prior)


def build_calibration(
    request: Request,
    signals: Sequence[Signals | LongSignals],
    model: ClosedChainModel,
    shared: bool,
    reduced: bool | str,
    estimate: Sequence[str] | str | None,
    fixed: Mapping[str, Any] | None,
    prior: IdentificationResult | Mapping[str, Any] | None,
) -> Calibration:
    """Put base regressor, payload columns and what is known of them together."""
    base = model.base_parameters(shared=shared, reduced=reduced)
    nominal = np.asarray(base.matrix @ model.nominal_parameters)
    selection = build_selection(base.names, nominal, estimate, fixed)
    groups = build_groups(model, request.gains)
    bodies = build_bodies(model, request.payloads)
    whole = LoadedBase(base, bodies)
    loads = np.arange(selection.size, len(whole.names), dtype=np.int64)
    wide = replace(selection, free=np.concatenate([selection.free, loads]))
    runs = []
    for number, each in enumerate(signals):
        run = Run(each, LoadedBase(base, bodies, number), model, wide)
        if run.is_long:
            raise EstimationError(
                f'dataset {number + 1} is too long for payloads or unknown force constants: give '
                'a part of it (some tens of seconds of every motion are enough)'
            )
        runs.append(run)
    first = np.concatenate([nominal, np.zeros(len(loads))])
    nothing = np.zeros((0, len(whole.names))), np.zeros(0)
    problem = Problem(tuple(runs), whole, model, wide, first, nothing)
    unknown = len(selection.free) + len(bodies.open) + groups.size
    if problem.equations <= unknown:
        raise EstimationError(
            f'{problem.equations} equations cannot determine {unknown} parameters; record longer '
            'or raise harmonics= or cutoff='
        )
    problem = replace(problem, runs=noisy_runs(problem))
    information = _prior(prior, base.names, selection, bodies, groups, model)
    return Calibration(problem, base, selection, bodies, groups, information)


def _start(calibration: Calibration) -> Array:
    """Base parameters (r,) from the runs as if the nominal constants were right.

    Runs with a payload whose mass is unknown do not count, if there are others.
    """
    selection, bodies = calibration.selection, calibration.bodies
    size = len(selection.free)
    unknown = {k for k, body in enumerate(bodies.payloads) if body.mass is None}
    runs = [
        (run, body)
        for run, body in zip(calibration.problem.runs, bodies.runs, strict=True)
        if body not in unknown
    ] or list(zip(calibration.problem.runs, bodies.runs, strict=True))
    loads = bodies.standard(bodies.start.ravel())
    designs, targets = [], []
    for run, _ in runs:
        rows = run.compact
        designs.append(rows.regressor[..., :size].reshape(-1, size))
        targets.append((rows.forces - rows.regressor[..., size:] @ loads).ravel())
    design, target = np.concatenate(designs), np.concatenate(targets)
    scale = np.maximum(np.linalg.norm(design, axis=0), 1e-300)
    values = np.linalg.lstsq(design / scale, target, rcond=1e-6)[0] / scale
    return selection.expand(values)


def _prior(
    prior: IdentificationResult | Mapping[str, Any] | None,
    names: Sequence[str],
    selection: Selection,
    bodies: Bodies,
    groups: GainGroups,
    model: Any,
) -> tuple[Array, Array]:
    """Rows (k, r + t + g) and target of all that is known before."""
    count, opened = selection.size, bodies.open
    constants = prior.force_constants if isinstance(prior, IdentificationResult) else None
    total = count + len(opened) + groups.size
    rows, target = prior_information(prior, names, selection)
    wide = np.zeros((len(rows), total))
    wide[:, :count] = rows
    parts, targets = [wide], [target]
    if constants is not None and groups.size:
        parts, targets = _joint_prior(prior, constants, count, total, groups)
    for deviations, values, offset in (
        (bodies.deviations[opened], bodies.start.ravel()[opened], count),
        (groups.deviations, np.zeros(groups.size), count + len(opened)),
    ):
        known = np.flatnonzero(np.isfinite(deviations))
        own = np.zeros((len(known), total))
        own[np.arange(len(known)), offset + known] = 1 / deviations[known]
        parts.append(own)
        targets.append(values[known] / deviations[known])
    return np.concatenate(parts), np.concatenate(targets)


def _joint_prior(
    prior: Any, constants: ForceConstants, count: int, total: int, groups: GainGroups
) -> tuple[list[Array], list[Array]]:
    """Rows of an earlier result's parameters and force constants, with their correlation."""
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
    covariance = np.zeros((count + groups.size, count + groups.size))
    covariance[:count, :count] = prior.covariance
    covariance[count:, count:] = constants.covariance[np.ix_(first, first)] / np.outer(
        values, values
    )
    covariance[count:, :count] = constants.with_parameters[first] / values[:, None]
    covariance[:count, count:] = covariance[count:, :count].T
    place = np.r_[np.arange(count), np.arange(total - groups.size, total)]
    rows, target = whitened(
        np.concatenate([prior.values, np.log(values / constants.nominal[first])]), covariance
    )
    wide = np.zeros((len(rows), total))
    wide[:, place] = rows
    return [wide], [target]


def _listed(groups: Sequence[Sequence[str]]) -> str:
    return '; '.join(', '.join(members) for members in groups)


def _read_out(
    calibration: Calibration,
    state: State,
    linear: Problem,
    found: Estimate,
    is_free: bool,
    nominal: Array,
    prior: Any,
) -> Calibrated:
    covariance, fit = honest_covariance(linear, found)
    full = full_covariance(linear, found, covariance)
    assert found.weights is not None and found.bread is not None and found.noise is not None
    groups, bodies = calibration.groups, calibration.bodies
    size = calibration.selection.size
    factors = groups.factors(state.logarithms)
    constants = None
    if groups.size:
        determined = full
        if is_free:
            determined = np.zeros_like(full)
            place = np.ix_(linear.free, linear.free)
            determined[place] = sandwich(
                linear, found.weights, found.bread, found.noise, np.zeros(0, dtype=np.int64)
            ) * fit['covariance_scale']
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
        ),
        constants=constants,
        payloads=payloads,
    )


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


def _robot_alone(
    calibration: Calibration, signals: Sequence[Signals], factors: Array
) -> Problem:
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
        folded = Folded(factors * folded.samples - load, folded.period, folded.interpolated)
    if noise is not None:
        outer = np.outer(factors, factors)
        noise = replace(noise, covariance=noise.covariance * outer, spectrum=noise.spectrum * outer)
    return replace(
        signals,
        forces=factors * signals.forces - load,
        folded_forces=folded,
        force_noise=noise,
    )
