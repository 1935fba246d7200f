"""How exact a motion becomes by its repetitions, beside the same repetitions with the model alone.

Each run identifies the robot from its shipped excitation, then repeats a motion. Every repetition
is also driven with the model alone, with the same noise; errors are those of the noise-free path.
"""

from __future__ import annotations

from argparse import Namespace
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import numpy as np

from pkm_bringup.arguments import COUNT, NOT_NEGATIVE
from pkm_bringup.offline import effects_of, simulate
from pkm_bringup.runner import Runner
from pkm_bringup.studies.declaration import Study, robot, runs
from pkm_bringup.studies.effects_study import ESTIMATOR, other_motions
from pkm_bringup.studies.runs.plants import excitation_of, model_of, recorded
from pkm_control.closed_loop import ClosedLoopRecording
from pkm_control.feedforward import Feedforward, identified_feedforward
from pkm_control.learning.learned_force import Scope, motion_key
from pkm_control.learning.learning_law import MotionLearning, learned_from
from pkm_control.learning.loop_inverse import ServoTiming
from pkm_control.learning.repetition import Repetition
from pkm_description import Payload, with_payload
from pkm_description.errors import SimulationError
from pkm_dynamics.joint_servo.gains import servo_gains
from pkm_dynamics.simulation import PlantEffects
from pkm_dynamics.trajectories import Execution
from pkm_identification import identify
from pkm_identification.option import Option, choice

EXCITATION_PERIODS = 10
RAMP_TIME = 1.0  # [s]
# Repetitions in which a payload is on the platform, after the first CHANGE
CHANGE = 3
CASES = {'same robot': (False, False), 'payload on': (False, True), 'payload off': (True, False)}


@lru_cache(maxsize=4)
def identified(robot_name: str, friction: str, seed: int) -> Feedforward:
    """Return what the shipped excitation tells of a robot with all effects."""
    model = model_of(robot_name)
    plant = effects_of(model.description, 'all')
    data = recorded(model, excitation_of(model), 'robot', plant, EXCITATION_PERIODS, seed)
    known = identify(data, model, ESTIMATOR, friction=friction).controller_parameters
    return identified_feedforward(model, 'identified', list(known), list(known.values()))


def path_error(run: ClosedLoopRecording) -> float:
    """RMS distance [m, rad] of the noise-free actuator positions from the path at full speed.

    At the centres of the intervals that the plant averages over.
    """
    into = (run.current_time - run.time)[:, None]
    error = run.desired_positions + into * run.desired_velocities - run.truth_positions
    return float(np.sqrt(np.mean(error[run.running] ** 2)))


def noisy(effects: PlantEffects, factor: float) -> PlantEffects:
    """Return effects with the noise of positions and forces times a factor."""
    return replace(
        effects,
        force_covariance=factor**2 * effects.force_covariance,
        position_covariance=factor**2 * effects.position_covariance,
    )


def one_run(
    robot_name: str,
    friction: str,
    scope: str,
    periods: int,
    repetitions: int,
    mass: float,
    noise: float,
    case: str,
    seed: int,
) -> list[dict[str, Any]]:
    """Return each repetition's error [m, rad] with and without what was learned."""
    model = model_of(robot_name)
    feedforward = identified(robot_name, friction, seed)
    motion = next(iter(other_motions(model).values()))
    effects, gains = noisy(effects_of(model.description, 'all'), noise), servo_gains(model)
    loaded = with_payload(model.description, Payload(mass, np.zeros(3), 0.0))
    found: list[dict[str, Any]] = []
    state: MotionLearning | None = None
    for number in range(repetitions + 1):
        plant = loaded if CASES[case][number >= CHANGE] else model.description
        common: dict[str, Any] = {'effects': effects, 'seed': seed + 1 + number, 'plant': plant}
        common |= {'feedforward': feedforward, 'ramp_time': RAMP_TIME}
        alone = path_error(simulate(model, motion, periods, **common))
        begun: list[Repetition] = []

        def begin(
            execution: Execution,
            state: MotionLearning | None = state,
            begun: list[Repetition] = begun,
        ) -> Repetition:
            first = Repetition(execution, Scope(scope), model.n_a)
            begun.append(first if state is None else state.repetition(execution))
            return begun[0]

        error = path_error(simulate(model, motion, periods, repetition_of=begin, **common))
        repetition = begun[0]
        if repetition.spoiled:
            raise SimulationError(f'repetition {number}: {repetition.spoiled}')
        key = motion_key(model, repetition.execution, feedforward, Scope(scope))
        heard = repetition.recorded()
        servo = ServoTiming(gains, heard.interval)
        state = learned_from(model, feedforward, servo, repetition.execution, key, state, heard)
        record = state.history[-1]
        found.append(
            {
                'repetition': number,
                'alone': alone,
                'error': error,
                'ratio': error / alone,
                'force_share': record.largest_force,
                'verdict': record.verdict.name,
                'taken_away': record.harmful,
            }
        )
    return found


def run(options: Namespace, runner: Runner) -> dict[str, Any]:
    """Run all cases with the same seeds."""
    model_of(options.robot)
    given = (
        *(options.robot, options.friction, options.scope, options.periods),
        *(options.repetitions, options.payload, options.noise),
    )
    seeds = [options.seed + 100 * k for k in range(options.runs)]
    names = [name for name in CASES if options.payload or not any(CASES[name])]
    cases = [{'case': name, 'seed': seed} for name in names for seed in seeds]
    every = runner.map(partial(one_run, *given), cases, 'repeated: run')
    content: dict[str, Any] = {'robot': options.robot, 'cases': {}}
    for name in names:
        found = [each for case, each in zip(cases, every, strict=True) if case['case'] == name]
        content['cases'][name] = [_summary(rows) for rows in zip(*found, strict=True)]
    return content


def _summary(rows: tuple[dict[str, Any], ...]) -> dict[str, Any]:
    """One repetition over the runs."""
    return {
        'repetition': rows[0]['repetition'],
        'alone': float(np.mean([row['alone'] for row in rows])),
        'error': float(np.mean([row['error'] for row in rows])),
        'ratio': float(np.mean([row['ratio'] for row in rows])),
        'worst_ratio': max(row['ratio'] for row in rows),
        'force_share': max(row['force_share'] for row in rows),
        'taken_away': sum(row['taken_away'] for row in rows),
        'verdicts': sorted({row['verdict'] for row in rows}),
    }


STUDY = Study(
    'learning',
    'errors of a repeated motion, with what its repetitions have taught and with the model alone',
    f'Of the simulated robot with all its effects; the model is identified by {ESTIMATOR}. The '
    f'first repetition has learned nothing. A payload is put on, or taken off, after {CHANGE}.',
    (
        robot('palida'),
        Option(
            'friction', choice('auto', 'described'), 'which terms of drives are identified', 'auto'
        ),
        Option(
            'scope',
            choice(*(each.value for each in Scope)),
            'motion: all of it from rest to rest; period: one at full speed, again and again',
            Scope.MOTION.value,
        ),
        Option('periods', COUNT, 'of the motion at full speed', 1, '1'),
        Option('repetitions', COUNT, 'after the first', 6, '1'),
        Option(
            'payload',
            NOT_NEGATIVE,
            'that is put on and taken off; 0: only the same robot',
            2.0,
            'kg',
        ),
        Option(
            'noise', NOT_NEGATIVE, 'of sensors while it repeats, over that of the robot', 1.0, '1'
        ),
        *runs(3),
    ),
    run,
)
