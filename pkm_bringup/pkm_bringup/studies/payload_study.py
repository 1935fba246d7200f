"""Payloads found from currents whose force constants are unknown.

A robot whose force constants are not those of its description is recorded without a
payload, with a known one, and with one that is to be found. The currents alone show forces
up to a common factor; what supplies that factor decides how well the payload is found.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np

from pkm_bringup.arguments import COUNT
from pkm_bringup.runner import Runner
from pkm_bringup.studies.declaration import Study, plant, robot, runs
from pkm_bringup.studies.runs.payload_recordings import Setting, payloads_of, record, scaled
from pkm_bringup.studies.runs.plants import excitation_of, model_of, rms
from pkm_description import Payload
from pkm_description.errors import EstimationError
from pkm_dynamics import ClosedChainModel
from pkm_identification import DriveGains, IdentificationResult, identify
from pkm_identification.arrays import Array
from pkm_identification.datasets import Recording
from pkm_identification.excitation_options import FRACTION
from pkm_identification.force_constants.bilinear_build import build_bilinear_problem
from pkm_identification.force_constants.force_constant_request import build_request
from pkm_identification.force_constants.payload_columns import standard_parameters
from pkm_identification.option import POSITIVE, Option, choice
from pkm_identification.signals import SignalOptions, process

EFFECTS = ('all', 'modelled')
ESTIMATOR = 'gauss_markov'
KNOWN_CONSTANT = 0.01  # relative standard deviation, where one constant is known
LIMIT = 0.03  # of an error of the mass that a user would accept
CASES = {
    'given': 'force constants as described',
    'prior': 'all constants known to the spread',
    'one_constant': f'one constant known to {100 * KNOWN_CONSTANT:g} %',
    'classic': 'known payload, least squares with currents in the regressor',
    'payload': 'known payload',
    'sequence': 'known payload before, its result as prior',
}


def one_run(setting: Setting, robot: str, seed: int) -> dict[str, Any]:
    """Errors of one robot: of mass, centre and force constants, with standard deviations."""
    model = model_of(robot)
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
        options: dict[str, Any] = {'method': 'fourier', 'skip_periods': 0}
        options['drive_gains'] = gains or False
        return identify(data, model, ESTIMATOR, payloads=payloads, prior=prior, **options)

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
    errors, common = alone.values / alone.nominal / ratios - 1, alone.common_deviation
    without = {'ratio_errors': errors, 'ratio_deviations': alone.ratio_deviation}
    return content | {'without': without | {'common_deviation': common}}


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
    options = SignalOptions(method='fourier', skip_periods=0)
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


def case_figures(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Figures of one case over all runs: errors over the true values, `centre_rms` in m.

    `mass_bias_deviation`: standard deviation of the mean, None for one run; `mass_deviation`
    and `constant_deviation`: what is reported in the median; `within_limit`: share of runs with
    an error of the mass below `LIMIT`; `reported_to_observed`: reported deviations of the mass
    over its errors, each in the root mean square.
    """
    all_runs = {key: np.array([run[key] for run in runs]) for key in runs[0]}
    error = all_runs['mass_error']
    content: dict[str, Any] = {
        'mass_rms': rms(error),
        'mass_largest': np.abs(error).max(),
        'mass_bias': error.mean(),
        'mass_bias_deviation': error.std(ddof=1) / np.sqrt(len(runs)) if len(runs) > 1 else None,
        'within_limit': np.mean(np.abs(error) < LIMIT),
        'centre_rms': rms(all_runs['centre_error']),
    }
    if 'mass_deviation' in all_runs:
        deviation = all_runs['mass_deviation']
        content['mass_deviation'] = np.median(deviation)
        content['reported_to_observed'] = rms(deviation) / content['mass_rms']
    if 'constant_errors' in all_runs:
        content['constant_rms'] = rms(all_runs['constant_errors'])
    if 'constant_deviations' in all_runs:
        content['constant_deviation'] = np.median(all_runs['constant_deviations'])
    return content


def ratio_figures(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Figures of the force constants from data without any payload."""
    return {
        'ratio_rms': rms([run['ratio_errors'] for run in runs]),
        'ratio_deviation': np.median([run['ratio_deviations'] for run in runs]),
        'common_deviation': min(run['common_deviation'] for run in runs),
    }


def run(options: Namespace, runner: Runner) -> dict[str, Any]:
    """Find the payload in many runs, with drives of their own in each."""
    if options.effects and options.plant != 'robot':
        raise EstimationError('--effects needs --plant robot')
    effects = options.effects or Setting.effects
    setting = Setting(options.plant, effects, options.periods, options.spread, options.mass)
    model = model_of(options.robot)
    if not np.isfinite(model.force_constants).all():
        raise EstimationError(f"robot '{model.description.name}' declares no force constants")
    found = runner.map_seeds(partial(one_run, setting), options, robot=options.robot)
    return {
        'robot': model.description.name,
        **asdict(setting),
        'estimator': ESTIMATOR,
        'duration': setting.periods * excitation_of(model).period,
        'runs': options.runs,
        'seed': options.seed,
        'payload': payloads_of(model, setting.mass)[1].to_mapping(),
        'cases': {case: case_figures([each[case] for each in found]) for case in CASES},
        'without_payload': ratio_figures([each['without'] for each in found]),
        'each': found,
    }


STUDY = Study(
    'payload',
    'a payload found from currents alone, with unknown force constants',
    'Every run has drives of its own, is recorded without payload, with a known one and with one '
    'to be found, and is evaluated with several things known besides the currents.',
    (
        robot('palida'),
        *runs(10, 'robots (seeds)'),
        Option(
            'periods', COUNT, 'of each, at least 2; their spread is noise', Setting.periods, '1'
        ),
        Option('mass', POSITIVE, 'of both payloads', Setting.mass, 'kg'),
        Option('spread', FRACTION, 'largest error of the force constants', Setting.spread, '1'),
        plant('noise', 'robot'),
        Option(
            'effects',
            choice(*EFFECTS),
            'with --plant robot: all that the description declares, or without Stribeck friction '
            'and cogging',
            None,
            '',
            'modelled',
        ),
    ),
    run,
)
