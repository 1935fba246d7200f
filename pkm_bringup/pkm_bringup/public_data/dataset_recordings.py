"""What a robot's part of a dataset holds: description, motion, truth, recordings.

Each robot follows its motion exactly; positions and forces have the noise of its description. No
simulation in time is needed, whose errors would add up differently on each type of processor.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache

import numpy as np

from pkm_bringup.public_data.dataset_cases import (
    TEST,
    TEST_PERIODS,
    TRAIN,
    WITH,
    WITHOUT,
    Case,
    DatasetOptions,
    drawing,
)
from pkm_bringup.public_data.dataset_contents import FORCES, MOTION, RECORDING, Content
from pkm_bringup.public_data.dataset_manifest import RECORDINGS
from pkm_bringup.public_data.dataset_truth import TrueRobot
from pkm_bringup.studies.runs.plants import (
    excitation_of,
    held_out_motion,
    model_of,
    noisy_effects,
    noisy_periods,
    sampled_period,
    scaled_noise,
)
from pkm_dynamics import ClosedChainModel, PlatformMotion
from pkm_identification.arrays import Array

Contents = Mapping[str, Content | str]  # by path in the dataset, without an ending where several
MOTIONS, ROBOT_FILES, TRUTH = 'motions', 'robots', 'truth'


@lru_cache(maxsize=2)
def _true_robot(robot: str, seed: int) -> TrueRobot:
    return TrueRobot.drawn(model_of(robot), seed)


@lru_cache(maxsize=4)
def _period(robot: str, part: str) -> tuple[Array, float, PlatformMotion]:
    """Stamps (n,) [s], interval [s] and motion of one period of a robot's motion."""
    model = model_of(robot)
    trajectory = excitation_of(model) if part == TRAIN else held_out_motion(model)
    time, motion = sampled_period(model, trajectory.ordered(model.actuated_joints))
    return time, float(time[1]), motion


def robot_contents(robot: str, seed: int) -> Contents:
    """Return description and test motion of a robot, and its truth."""
    model, true = model_of(robot), _true_robot(robot, seed)
    time, _, motion = _period(robot, TEST)
    states, joints = model.actuator_states(motion), model.actuated_joints
    rows = zip(model.parameter_names, true.parameters.tolist(), strict=True)
    folder = f'{ROBOT_FILES}/{robot}/{robot}'
    return {
        f'{folder}.urdf': model.description.urdf,
        f'{folder}.yaml': model.description.yaml_text,
        f'{MOTIONS}/{robot}': Content.of(
            joints, MOTION, time, states.positions, states.velocities, states.accelerations
        ),
        f'{TRUTH}/{robot}_parameters.csv': 'name,value\n'
        + ''.join(f'{name},{value!r}\n' for name, value in rows),
        f'{TRUTH}/{robot}_effects.json': json.dumps(true.effects.to_dict(joints), indent=2) + '\n',
        **{
            f'{TRUTH}/{robot}_{name}': Content.of(
                joints, FORCES, time, true.forces(motion, name == WITH)
            )
            for name in (WITHOUT, WITH)
        },
    }


def case_contents(case: Case, options: DatasetOptions) -> Contents:
    """Return both recordings of a case."""
    return {
        f'{RECORDINGS}/{case.name}/{part}': _recorded(case, part, periods, options.seed)
        for part, periods in ((TRAIN, options.periods), (TEST, TEST_PERIODS))
    }


def period_of(robot: str, part: str) -> float:
    """Period of a motion [s], whole samples."""
    time, interval, _ = _period(robot, part)
    return len(time) * interval


def _recorded(case: Case, part: str, periods: int, seed: int) -> Content:
    model = model_of(case.robot)
    noise = scaled_noise(noisy_effects(model.description), case.noise, case.noise)
    time, interval, motion = _period(case.robot, part)
    forces = _true_robot(case.robot, seed).forces(motion, case.effects)
    positions = model.actuator_states(motion).positions
    random = drawing(seed, f'{case.name}/{part}')
    measured = noisy_periods(positions, forces, periods, noise, random)
    stamps = np.asarray(interval * np.arange(periods * len(time)), dtype=float)
    return Content.of(model.actuated_joints, RECORDING, stamps, *measured)


def require_robot(model: ClosedChainModel) -> None:
    """Raise the error of a robot that has no noise or no excitation: nothing can be recorded."""
    noisy_effects(model.description)
    excitation_of(model)
