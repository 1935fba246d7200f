"""Identification and tracking of a simulated robot with and without what its model lacks.

Each run records the shipped excitation under control, identifies from it, predicts noise-free
forces of other motions, and tracks the first of them without a model and with what it identified.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from pkm_bringup.arguments import COUNT
from pkm_bringup.offline import effects_of, simulate
from pkm_bringup.runner import Runner
from pkm_bringup.studies.declaration import Study, robot, runs
from pkm_bringup.studies.runs.plants import (
    SETTLING,
    excitation_of,
    held_out_motion,
    model_of,
    recorded,
    rms,
)
from pkm_control.feedforward import identified_feedforward, no_feedforward
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.presets import preset, preset_names
from pkm_dynamics.trajectories import Trajectory
from pkm_identification import identify, validate
from pkm_identification.option import Option

ESTIMATOR = 'gauss_markov'
# effects of the plant, and friction of the model
CASES = (('modelled', 'described'), ('all', 'described'), ('all', 'auto'))
FORCES_OF = 15  # periods of motions whose forces are predicted: enough for their averages


def other_motions(model: ClosedChainModel) -> dict[str, Trajectory]:
    """Return motions that are predicted, by name; the first is tracked, too."""
    if 'circle' not in preset_names(model):
        return {'excitation, slower': held_out_motion(model)}
    return {name: preset(model, name) for name in ('circle', 'mirrored_circle')}


def one_run(
    robot_name: str, periods: int, effects: str, friction: str, seed: int
) -> dict[str, Any]:
    """Return relative errors of predicted forces by motion [1], and tracking errors [m, rad]."""
    model = model_of(robot_name)
    plant = effects_of(model.description, effects)
    data = recorded(model, excitation_of(model), 'robot', plant, periods, seed)
    result = identify(data, model, ESTIMATOR, friction=friction)
    motions = other_motions(model)
    predicted = {}
    for name, motion in motions.items():
        test = recorded(model, motion, 'robot', plant, FORCES_OF, seed + 1)
        found = validate(test, result, model).against_truth
        assert found is not None
        predicted[name] = found.overall
    known = result.controller_parameters
    identified = identified_feedforward(model, 'identified', list(known), list(known.values()))
    tracked = [
        simulate(
            model,
            next(iter(motions.values())),
            SETTLING + 1,
            effects=plant,
            feedforward=feedforward,
            seed=seed + 2,
        ).tracking_rms()
        for feedforward in (no_feedforward(), identified)
    ]
    without, with_model = (rms(each) for each in tracked)
    return {
        'predicted': predicted,
        'without': without,
        'with_model': with_model,
        'factor': without / with_model,
    }


def summary(effects: str, friction: str, found: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return means over the runs of a case."""

    def mean(key: str) -> float:
        return float(np.mean([each[key] for each in found]))

    motions = found[0]['predicted']
    return {
        'effects': effects,
        'friction': friction,
        'runs': len(found),
        'predicted': {
            name: float(np.mean([each['predicted'][name] for each in found])) for name in motions
        },
        **{key: mean(key) for key in ('without', 'with_model', 'factor')},
    }


def run(options: Namespace, runner: Runner) -> dict[str, Any]:
    """Run all cases with the same seeds."""
    model_of(options.robot)
    cases = []
    for effects, friction in CASES:
        seeds = [
            {'effects': effects, 'friction': friction, 'seed': options.seed + 10 * k}
            for k in range(options.runs)
        ]
        text = f'effects {effects}, friction {friction}: run'
        found = runner.map(
            partial(one_run, options.robot, options.periods), seeds, text, f'{effects}_{friction}'
        )
        cases.append(summary(effects, friction, found))
    return {'robot': options.robot, 'seed': options.seed, 'cases': cases}


STUDY = Study(
    'effects',
    'identification and tracking with and without the effects that a model lacks',
    f'By {ESTIMATOR}, from the shipped excitation of a simulated robot under control; effects '
    'modelled: without Stribeck friction and cogging; friction auto: terms of the drives that the '
    'data ask for.',
    (robot('palida'), Option('periods', COUNT, 'of the excitation', 30, '1'), *runs(3)),
    run,
)
