"""Friction and inertia in stages against all parameters together, where friction dominates [O 5.3].

The simulated UF-PKM under control in sines of x, z, and x and y, each identified on its own: from
the values of the description and from a rough start, by least squares, by the unscented filter
and in stages. In a second plant the passive joints rub, too, which the model does not know:
[O 5.4] supposes that this makes friction depend on the direction.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from itertools import combinations, product
from typing import Any

import numpy as np

from pkm_bringup.arguments import COUNT
from pkm_bringup.offline import dataset_of
from pkm_bringup.runner import Runner
from pkm_bringup.studies.declaration import Study, runs
from pkm_bringup.studies.runs.plants import (
    model_of,
    noisy_effects,
    rms,
    simulated,
    true_base_parameters,
)
from pkm_description import Description
from pkm_description.description import Friction
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.presets import preset
from pkm_identification import identify
from pkm_identification.arrays import Array
from pkm_identification.estimators.staged import STAGES, StagedDiagnostics
from pkm_identification.option import POSITIVE, Option

ROBOT = 'uf_pkm'
MOTIONS = ('x', 'z', 'xy')
PLANTS = ('drives', 'passive')  # that rub: the drives alone, or the passive joints, too
# Factors of inertia and friction that the identification starts from: as described, and rough:
# 90 % of the masses [O 5.3.1], and friction as far off as [O Table 5.1] finds it, up to 2.9 times
STARTS = {'described': (1.0, 1.0), 'rough': (0.9, 1 / 3)}
LAW = ('viscous', 'coulomb')
CONFIDENT = 0.1  # initial deviation of a filter that trusts its start, over the parameters' sizes
ESTIMATES: dict[str, tuple[str, dict[str, Any]]] = {
    'gauss_markov': ('gauss_markov', {}),
    'ukf': ('ukf', {}),
    'ukf, confident': ('ukf', {'initial_deviation': CONFIDENT}),
    'stages': ('staged', {'inner': 'ukf'}),
    'turns': ('staged', {'inner': 'ukf', 'last': '2-B'}),
}


def started(description: Description, inertia: float, friction: float) -> Description:
    """Return the robot with bodies (m and I) and friction of the drives times factors."""
    links = tuple(
        link
        if (body := link.inertial) is None
        else replace(
            link, inertial=replace(body, mass=inertia * body.mass, inertia=inertia * body.inertia)
        )
        for link in description.links
    )
    joints = tuple(
        joint
        if (own := joint.friction) is None
        else replace(
            joint,
            friction=replace(own, coulomb=friction * own.coulomb, viscous=friction * own.viscous),
        )
        for joint in description.joints
    )
    return replace(description, links=links, joints=joints)


@lru_cache(maxsize=None)
def start_model(start: str) -> ClosedChainModel:
    """Return the model whose nominal parameters are those of a start."""
    return ClosedChainModel(started(model_of(ROBOT).description, *STARTS[start]))


def rubbing(description: Description, coulomb: float) -> Description:
    """Return the robot with Coulomb friction [N m] in its passive joints."""
    actuated = set(description.actuated_joints)
    joints = tuple(
        joint if joint.name in actuated else replace(joint, friction=Friction(coulomb))
        for joint in description.joints
    )
    return replace(description, joints=joints)


def one_run(periods: int, passive: float, plant: str, motion: str, seed: int) -> dict[str, Any]:
    """Record a motion and identify it; returns `values` (n,) and `deviations` by start and method.

    `stages` are the values (n,) after each stage by start; `friction_share` is the rms of the
    drives' friction over that of the forces.
    """
    model = model_of(ROBOT)
    body = rubbing(model.description, passive) if plant == 'passive' else None
    trajectory, effects = preset(model, f'sine_{motion}'), noisy_effects(model.description)
    arrays, _ = simulated(model, trajectory, periods, seed, effects, plant=body)
    data = dataset_of(arrays)
    found: dict[str, Any] = {'estimates': {}, 'stages': {}}
    for start, (name, (estimator, options)) in product(STARTS, ESTIMATES.items()):
        result = identify(data, start_model(start), estimator, **options)
        found['estimates'].setdefault(start, {})[name] = {
            'values': result.values,
            'deviations': np.sqrt(np.diag(result.covariance)),
            'residual_rms': rms(result.residual_rms),
        }
        if name == 'stages':
            found['stages'][start] = dict(result.diagnostics.own_as(StagedDiagnostics).stages)
    velocities, rate = arrays['truth_velocities'], model.description.transition_velocity
    drives = [
        model.description.joint(joint).friction or Friction() for joint in model.actuated_joints
    ]
    viscous, coulomb = (np.array([getattr(own, name) for own in drives]) for name in LAW)
    friction = viscous * velocities + coulomb * np.clip(velocities / rate, -1.0, 1.0)
    found['friction_share'] = rms(friction) / rms(arrays['truth_forces'])
    return found


def friction_mask(model: ClosedChainModel) -> Array:
    """Which base parameters (n,) are friction."""
    base = model.base_parameters(shared=True, reduced=True)
    return ~np.asarray(base.is_rigid_body, dtype=bool)


def summary(found: Mapping[tuple[str, str], Sequence[Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """Return rows by plant, motion, start and method: errors of friction, and distances.

    `friction_error` [1]: rms over runs and friction parameters of the error over the true value;
    `of_least_squares`: the largest distance from Gauss-Markov of the same data in reported
    standard deviations, median of the runs; `residual_rms` [N]: median.
    """
    model = model_of(ROBOT)
    truth, friction = true_base_parameters(model), friction_mask(model)
    rows = []
    for (plant, motion), several in found.items():
        for start, name in product(STARTS, ESTIMATES):
            mine = [run['estimates'][start][name] for run in several]
            best = [run['estimates']['described']['gauss_markov'] for run in several]
            error = [np.array(each['values']) / truth - 1 for each in mine]
            away = [
                np.max(np.abs(np.subtract(each['values'], one['values']) / one['deviations']))
                for each, one in zip(mine, best, strict=True)
            ]
            rows.append(
                {
                    **{'plant': plant, 'motion': motion, 'start': start, 'method': name},
                    'friction_error': rms([each[friction] for each in error]),
                    'friction_largest': float(np.max(np.abs([e[friction] for e in error]))),
                    'of_least_squares': float(np.median(away)),
                    'residual_rms': float(np.median([each['residual_rms'] for each in mine])),
                }
            )
    return rows


def directions(
    found: Mapping[tuple[str, str], Sequence[Mapping[str, Any]]],
) -> list[dict[str, Any]]:
    """Compare friction from two motions, by Gauss-Markov, for each plant.

    `largest` and `rms` of the difference over the true value [1], of the means over the runs;
    `in_deviations`: rms of the differences of single runs over their reported standard
    deviations, 1 where noise alone makes them.
    """
    model = model_of(ROBOT)
    truth, friction = true_base_parameters(model), friction_mask(model)
    rows = []
    for plant, (first, second) in product(PLANTS, combinations(MOTIONS, 2)):
        pair = [
            [run['estimates']['described']['gauss_markov'] for run in found[plant, motion]]
            for motion in (first, second)
        ]
        values = [np.array([run['values'] for run in runs])[:, friction] for runs in pair]
        spread = [np.array([run['deviations'] for run in runs])[:, friction] for runs in pair]
        mean = (values[0].mean(axis=0) - values[1].mean(axis=0)) / truth[friction]
        rows.append(
            {
                **{'plant': plant, 'first': first, 'second': second},
                'rms': rms(mean),
                'largest': float(np.abs(mean).max()),
                'in_deviations': rms((values[0] - values[1]) / np.hypot(*spread)),
            }
        )
    return rows


def stage_errors(
    found: Mapping[tuple[str, str], Sequence[Mapping[str, Any]]],
) -> list[dict[str, Any]]:
    """Error of friction after each stage [1], rms over runs and parameters, by start."""
    model = model_of(ROBOT)
    truth, friction = true_base_parameters(model)[friction_mask(model)], friction_mask(model)
    return [
        {
            **{'plant': plant, 'motion': motion, 'start': start},
            **{
                stage: rms(
                    [np.array(run['stages'][start][stage])[friction] / truth - 1 for run in several]
                )
                for stage in STAGES
            },
        }
        for (plant, motion), several in found.items()
        for start in STARTS
    ]


def run(options: Namespace, runner: Runner) -> dict[str, Any]:
    """Record and identify all motions of both plants."""
    cases = list(product(PLANTS, MOTIONS))
    every = [
        {'plant': plant, 'motion': motion, 'seed': options.seed + k}
        for (plant, motion), k in product(cases, range(options.runs))
    ]
    one = partial(one_run, options.periods, options.passive)
    told = runner.map(one, every, 'recording', 'recording')
    count = options.runs
    found = {case: told[k * count : (k + 1) * count] for k, case in enumerate(cases)}
    return {
        'runs': count,
        'friction_share': {
            f'{plant}, {motion}': float(np.mean([run['friction_share'] for run in several]))
            for (plant, motion), several in found.items()
        },
        'estimates': summary(found),
        'directions': directions(found),
        'stages': stage_errors(found),
    }


STUDY = Study(
    'stages',
    'friction and inertia in stages against all parameters together [O 5.3]',
    'The simulated UF-PKM, whose friction dominates, under control in sines of x, z, and x and y, '
    'each identified on its own, from the described and from a rough start; with friction in the '
    'drives alone, and in the passive joints, too, which the model does not know.',
    (
        Option('periods', COUNT, 'of the sine a recording, of 0.5 s', 5, '1'),
        Option('passive', POSITIVE, 'Coulomb friction of a passive joint', 2.0, 'N m'),
        *runs(5),
    ),
    run,
)
