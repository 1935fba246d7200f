"""Identification and tracking of a simulated robot with and without what its model lacks.

Each run records the shipped excitation under control, identifies from it, predicts noise-free
forces of other motions, and tracks the first of them without a model, with the rigid body that it
identified, and with all of it [H Figs 4, 5].
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
from pkm_control.closed_loop import ClosedLoopRecording
from pkm_control.feedforward import Feedforward, identified_feedforward, no_feedforward
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.presets import preset, preset_names
from pkm_dynamics.trajectories import Trajectory
from pkm_dynamics.trajectories.execution import Phase
from pkm_identification import identify, validate
from pkm_identification.option import Option

ESTIMATOR = 'gauss_markov'
# effects of the plant, and friction of the model
CASES = (('modelled', 'described'), ('all', 'described'), ('all', 'auto'))
RAMPS = (Phase.RAMP_IN, Phase.RAMP_OUT)
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
    given = (list(known), list(known.values()))
    bodies = identified_feedforward(model, 'rigid body', *given, friction=False)
    laws = {
        'nothing': no_feedforward(),
        'rigid_body': bodies,
        'identified': identified_feedforward(model, 'identified', *given),
    }
    first = next(iter(motions.values()))

    def simulated(feedforward: Feedforward) -> ClosedLoopRecording:
        return simulate(
            model, first, SETTLING + 1, effects=plant, feedforward=feedforward, seed=seed + 2
        )

    tracked = {law: errors_of(simulated(feedforward)) for law, feedforward in laws.items()}
    without, with_model = (tracked[law]['full_speed'] for law in ('nothing', 'identified'))
    return {
        'predicted': predicted,
        'tracked': tracked,
        'without': without,
        'with_model': with_model,
        'factor': without / with_model,
    }


def errors_of(recording: ClosedLoopRecording) -> dict[str, float]:
    """RMS errors [m, rad] of the actuators at full speed and on the ramps to it and from it."""
    ramps = np.isin(recording.phase, RAMPS)
    return {'full_speed': rms(recording.tracking_rms()), 'ramps': rms(recording.errors[ramps])}


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
        'tracked': {
            law: {
                phase: float(np.mean([each['tracked'][law][phase] for each in found]))
                for phase in errors
            }
            for law, errors in found[0]['tracked'].items()
        },
        **{key: mean(key) for key in ('without', 'with_model', 'factor')},
        'factors': [each['factor'] for each in found],
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
