"""Payloads found from currents whose force constants are unknown.

A robot whose force constants are not those of its description is recorded without a
payload, with a known one, and with one that is to be found. The currents alone show forces
up to a common factor; what supplies that factor decides how well the payload is found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pkm_bringup.offline import effects_of, measured_arrays, simulate
from pkm_bringup.studies.seeds import Update, over_seeds
from pkm_control.feedforward import nominal_feedforward
from pkm_description import Payload, with_force_constants, with_payload
from pkm_description.errors import EstimationError
from pkm_dynamics import ClosedChainModel
from pkm_identification import DriveGains, IdentificationResult, identify
from pkm_identification.datasets import Dataset
from pkm_identification.estimators.calibration_problem import build_calibration
from pkm_identification.estimators.calibration_request import build_request
from pkm_identification.estimators.payload_columns import build_bodies, standard_parameters
from pkm_identification.excitation.library import load_excitation
from pkm_identification.signals import SignalOptions, process

Array = NDArray[np.float64]

SAMPLING_RATE = 1000.0  # [Hz]
SETTLING = 2  # periods of a simulated robot left out after the ramp
KNOWN_CONSTANT = 0.01  # relative standard deviation, where one constant is known
LIMIT = 0.03
CASES = {
    'given': 'force constants as described',
    'prior': 'all constants known to the spread',
    'one_constant': f'one constant known to {100 * KNOWN_CONSTANT:g} %',
    'classic': 'known payload, least squares with currents in the regressor',
    'payload': 'known payload',
    'sequence': 'known payload before, its result as prior',
}


@dataclass(frozen=True)
class Setting:
    """What is recorded.

    Attributes
    ----------
    plant
        `noise`: the exact motion and its forces with the description's noise; `robot`:
        simulated under control.
    effects
        Of the simulated robot, see `effects_of`.
    periods
        Of each recording.
    spread
        Largest error of the described force constants, uniform and of each drive's own.
    mass
        Of the known payload and of the unknown one [kg].
    estimator
        Of the linear problems.
    """

    plant: str = 'noise'
    effects: str = 'modelled'
    periods: int = 20
    spread: float = 0.2
    mass: float = 2.0
    estimator: str = 'gauss_markov'


def payloads_of(model: ClosedChainModel, mass: float) -> tuple[Payload, Payload]:
    """Return the known payload and the one to be found: cylinders on the platform.

    The first stands on the origin of the platform's frame, the second, more slender, beside
    it. Their size is some tenths of the mechanism's.
    """
    size = 0.1 * model.length_scale

    def cylinder(name: str, radius: float, height: float, x: float, y: float) -> Payload:
        across = mass * (3 * radius**2 + height**2) / 12
        return Payload(
            mass=mass,
            centre=(x, y, height / 2),
            inertia=(across, across, mass * radius**2 / 2),
            name=name,
        )

    known = cylinder('known', 0.6 * size, 0.4 * size, 0.0, 0.0)
    return known, cylinder('unknown', 0.4 * size, 0.9 * size, 0.3 * size, -0.2 * size)


def run_study(
    description: Any,
    setting: Setting,
    runs: int = 10,
    seed: int = 0,
    workers: int | None = None,
    update: Update = lambda text, fraction: None,
) -> dict[str, Any]:
    """Find the payload in many runs, with drives of their own in each.

    Parameters
    ----------
    description
        Of the robot.
    runs, seed
        Number of robots (seeds), and the first.

    Returns
    -------
    dict
        Figures of each case of `CASES`, see `figures`.
    """
    model = ClosedChainModel(description)
    model.base_parameters(shared=True, reduced=True)
    if not np.isfinite(model.force_constants).all():
        raise EstimationError(f"robot '{description.name}' declares no force constants")
    found = over_seeds(partial(one_run, model, setting), runs, seed, workers, update)
    trajectory = load_excitation(description.name)
    assert trajectory.period is not None
    return {
        'robot': description.name,
        **setting.__dict__,
        'duration': setting.periods * trajectory.period,
        'runs': runs,
        'seed': seed,
        'payload': payloads_of(model, setting.mass)[1].to_mapping(),
        'cases': {case: figures([each[case] for each in found]) for case in CASES},
        'without_payload': _ratios([each['without'] for each in found]),
        'each': found,
    }


def one_run(model: ClosedChainModel, setting: Setting, seed: int) -> dict[str, Any]:
    """Errors of one robot: of mass, centre and force constants, with standard deviations."""
    random = np.random.default_rng([seed, 17])
    factors = 1 + setting.spread * random.uniform(-1, 1, model.n_a)
    truth = factors * np.asarray(model.force_constants)
    known, unknown = payloads_of(model, setting.mass)
    empty, loaded, other = (
        record(model, factors, payload, setting, 3 * seed + number)
        for number, payload in enumerate((None, known, unknown))
    )
    blank = Payload(name='unknown')
    drive = model.actuated_joints[0]
    anchor = factors[0] * (1 + KNOWN_CONSTANT * random.normal())

    def found(
        data: Sequence[Dataset], payloads: Sequence[Payload | None], gains: DriveGains | None,
        prior: IdentificationResult | None = None,
    ) -> IdentificationResult:  # fmt: skip
        return identify(
            data, model, setting.estimator, payloads=payloads, drive_gains=gains or False,
            prior=prior, method='fourier',
            skip_periods=SETTLING if setting.plant == 'robot' else 0,
        )  # fmt: skip

    two, bodies = [empty, other], [None, blank]
    anchored = [_scaled(each, drive, anchor) for each in two]
    anchored_truth = np.where(np.arange(model.n_a) == 0, truth / anchor, truth)
    before = found([empty, loaded], [None, known], DriveGains())
    results = {
        'given': found(two, bodies, None),
        'prior': found(two, bodies, DriveGains(deviation=setting.spread)),
        'one_constant': found(anchored, bodies, DriveGains(deviation={drive: KNOWN_CONSTANT})),
        'payload': found([empty, loaded, other], [None, known, blank], DriveGains()),
        'sequence': found([other], [blank], DriveGains(), before),
    }
    content = {
        case: _errors(result, unknown, anchored_truth if case == 'one_constant' else truth)
        for case, result in results.items()
    }
    content['classic'] = classic(model, [empty, loaded, other], known, unknown, setting, truth)
    alone = found([empty], [None], DriveGains()).force_constants
    assert alone is not None
    ratios = factors / np.exp(np.mean(np.log(factors)))
    content['without'] = {
        'ratio_errors': alone.values / alone.nominal / ratios - 1,
        'ratio_deviations': alone.ratio_deviation,
        'common_deviation': alone.common_deviation,
    }
    return content


def _errors(result: IdentificationResult, unknown: Payload, truth: Array) -> dict[str, Any]:
    """Errors over the true values, and the standard deviations that the result gives."""
    body = result.payloads[-1]
    deviation = body.standard_deviation
    mass = unknown.values[0]
    content: dict[str, Any] = {
        'mass_error': body.mass / mass - 1,
        'mass_deviation': float(deviation[0] / mass),
        'centre_error': float(np.linalg.norm(body.centre - unknown.values[1:4])),
        'centre_deviation': float(np.sqrt(np.sum(deviation[1:4] ** 2))),
    }
    constants = result.force_constants
    if constants is not None:
        content['constant_errors'] = constants.values / truth - 1
        content['constant_deviations'] = constants.standard_deviation / constants.values
    return content


def classic(
    model: ClosedChainModel,
    data: Sequence[Dataset],
    known: Payload,
    unknown: Payload,
    setting: Setting,
    truth: Array,
) -> dict[str, Any]:
    """Least squares of i kappa k - Psi p - Phi q = Phi q_known, rows weighted by their noise.

    [Gautier & Briot 2014]: the noise of the currents, here in the regressor, is left out of
    account. No standard deviations: those of least squares do not hold for it.
    """
    request = build_request(data, [None, known, Payload(name='unknown')], True)
    options = SignalOptions(
        method='fourier', skip_periods=SETTLING if setting.plant == 'robot' else 0
    )
    signals = [process(each, options) for each in request.forces_of(data, model)]
    built = build_calibration(request, signals, model, True, True, None, None, None)
    size = built.selection.size
    given = standard_parameters(known.values)
    designs, targets = [], []
    for run in built.problem.runs:
        assert run.covariance is not None
        weight = 1 / np.sqrt(np.diagonal(run.covariance, axis1=1, axis2=2))[..., None]
        forces = run.forces[..., None] * np.eye(model.n_a)
        loads = run.regressor[..., size:]
        design = np.concatenate([forces, -run.regressor[..., :size], -loads[..., 10:]], axis=2)
        designs.append((weight * design).reshape(-1, design.shape[2]))
        targets.append((weight[..., 0] * (loads[..., :10] @ given)).ravel())
    whole, target = np.concatenate(designs), np.concatenate(targets)
    scale = np.linalg.norm(whole, axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    solution = np.linalg.lstsq(whole / scale, target, rcond=1e-9)[0] / scale
    mass, moments = solution[-10], solution[-9:-6]
    return {
        'mass_error': float(mass / setting.mass - 1),
        'centre_error': float(np.linalg.norm(moments / mass - unknown.values[1:4])),
        'constant_errors': solution[: model.n_a] * np.asarray(model.force_constants) / truth - 1,
    }


def record(
    model: ClosedChainModel, factors: Array, payload: Payload | None, setting: Setting, seed: int
) -> Dataset:
    """Record currents of a robot whose force constants are `factors` times the described ones."""
    trajectory = load_excitation(model.description.name)
    assert trajectory.period is not None
    constants = factors * np.asarray(model.force_constants)
    plant = with_payload(model.description, payload)
    if setting.plant == 'robot':
        plant = with_force_constants(
            plant, dict(zip(model.actuated_joints, constants.tolist(), strict=True))
        )
        arrays = measured_arrays(
            simulate(
                model,
                trajectory,
                setting.periods + SETTLING,
                effects=effects_of(model.description, setting.effects),
                feedforward=nominal_feedforward(model),
                seed=seed,
                plant=plant,
            ),
            model,
            trajectory.period,
        )
        return Dataset(
            arrays['time'],
            tuple(model.actuated_joints),
            arrays['positions'],
            currents=arrays['currents'],
            effort_delay=arrays['effort_delay'],
            period=trajectory.period,
        )
    noise = effects_of(model.description, 'modelled')
    random = np.random.default_rng(seed)
    samples = round(trajectory.period * SAMPLING_RATE)
    motion = trajectory.motion(np.arange(samples) * trajectory.period / samples, model)
    forces = model.inverse_dynamics(motion)
    bodies = build_bodies(model, [payload])
    forces = forces + bodies.forces(model, motion, 0, bodies.start.ravel())
    count, zero = setting.periods * samples, np.zeros(model.n_a)
    measured = np.tile(forces, (setting.periods, 1))
    measured = measured + random.multivariate_normal(zero, noise.force_covariance, count)
    positions = np.tile(model.actuator_states(motion).positions, (setting.periods, 1))
    positions = positions + random.multivariate_normal(zero, noise.position_covariance, count)
    return Dataset(
        np.arange(count) * trajectory.period / samples,
        tuple(model.actuated_joints),
        positions,
        currents=measured / constants,
        period=trajectory.period,
    )


def _scaled(dataset: Dataset, joint: str, factor: float) -> Dataset:
    """The same data with one joint's current, and so its force constant, in another unit."""
    assert dataset.currents is not None
    column = np.array([name == joint for name in dataset.joint_names])
    return replace(dataset, currents=dataset.currents * np.where(column, factor, 1.0))


def figures(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Figures of one case over all runs.

    `mass_rms`, `mass_largest`, `mass_bias`: error over the true mass; `mass_deviation`: what
    is reported in the median; `within_limit`: share of runs with an error below 3 %;
    `reported_to_observed`: reported deviations over the errors, each in the root mean square;
    `constant_rms`, `constant_deviation` of the force constants, over their true values;
    `centre_rms` [m].
    """
    error = np.array([run['mass_error'] for run in runs])
    content: dict[str, Any] = {
        'mass_rms': _rms(error),
        'mass_largest': float(np.abs(error).max()),
        'mass_bias': float(error.mean()),
        'within_limit': float(np.mean(np.abs(error) < LIMIT)),
        'centre_rms': _rms(np.array([run['centre_error'] for run in runs])),
    }
    if 'mass_deviation' in runs[0]:
        deviation = np.array([run['mass_deviation'] for run in runs])
        content['mass_deviation'] = float(np.median(deviation))
        content['reported_to_observed'] = _rms(deviation) / content['mass_rms']
    if 'constant_errors' in runs[0]:
        content['constant_rms'] = _rms(np.array([run['constant_errors'] for run in runs]))
    if 'constant_deviations' in runs[0]:
        deviations = np.array([run['constant_deviations'] for run in runs])
        content['constant_deviation'] = float(np.median(deviations))
    return content


def _ratios(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Figures of the force constants from data without any payload."""
    errors = np.array([run['ratio_errors'] for run in runs])
    deviations = np.array([run['ratio_deviations'] for run in runs])
    return {
        'ratio_rms': _rms(errors),
        'ratio_deviation': float(np.median(deviations)),
        'common_deviation': float(min(run['common_deviation'] for run in runs)),
    }


def _rms(values: Array) -> float:
    return float(np.sqrt(np.mean(values**2)))


HEADER = (
    'known besides the currents', 'mass error, rms [%]', 'largest [%]', 'mean [%]',
    'reported sd [%]', 'reported / rms', f'within {100 * LIMIT:g} % [%]', 'centre rms [mm]',
    'constants rms [%]', 'reported [%]',
)  # fmt: skip


def rows(content: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """One row a case for a table."""

    def percent(figures: Mapping[str, Any], key: str) -> float | None:
        return 100 * figures[key] if key in figures else None

    return [
        (
            CASES[case],
            *(percent(each, key) for key in
              ('mass_rms', 'mass_largest', 'mass_bias', 'mass_deviation')),
            each.get('reported_to_observed'),
            percent(each, 'within_limit'),
            1000 * each['centre_rms'],
            percent(each, 'constant_rms'),
            percent(each, 'constant_deviation'),
        )
        for case, each in content['cases'].items()
    ]  # fmt: skip
