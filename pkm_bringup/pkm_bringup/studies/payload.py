"""Payloads found from currents whose force constants are unknown.

A robot whose force constants are not those of its description is recorded without a
payload, with a known one, and with one that is to be found. The currents alone show forces
up to a common factor; what supplies that factor decides how well the payload is found.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pkm_bringup.studies.payload_recordings import SETTLING, Setting, payloads_of, record, scaled
from pkm_bringup.studies.payload_report import CASES, KNOWN_CONSTANT, figures, ratio_figures
from pkm_bringup.studies.seeds import Update, over_seeds
from pkm_description import Payload
from pkm_description.errors import EstimationError
from pkm_dynamics import ClosedChainModel
from pkm_identification import DriveGains, IdentificationResult, identify
from pkm_identification.datasets import Recording
from pkm_identification.excitation.shipped import load_excitation
from pkm_identification.force_constants.bilinear_build import build_bilinear_problem
from pkm_identification.force_constants.force_constant_request import build_request
from pkm_identification.force_constants.payload_columns import standard_parameters
from pkm_identification.signals import SignalOptions, process

Array = NDArray[np.float64]


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
        'without_payload': ratio_figures([each['without'] for each in found]),
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
        data: Sequence[Recording],
        payloads: Sequence[Payload | None],
        gains: DriveGains | None,
        prior: IdentificationResult | None = None,
    ) -> IdentificationResult:
        return identify(
            data,
            model,
            setting.estimator,
            payloads=payloads,
            drive_gains=gains or False,
            prior=prior,
            method='fourier',
            skip_periods=SETTLING if setting.plant == 'robot' else 0,
        )

    two, bodies = [empty, other], [None, blank]
    anchored = [scaled(each, drive, anchor) for each in two]
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
    data: Sequence[Recording],
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
    built = build_bilinear_problem(request, signals, model, True, True, None, None, None)
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
