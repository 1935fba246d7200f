"""One robot in several worlds: the same excitation, identified from each.

The worlds share the description alone: MuJoCo gets its MJCF, Gazebo and Dart its SDF, and the
project's own equations of motion its numbers. So their parameters beside the truth, and beside
each other, try the exporters. Nothing is noisy; friction is what the description says.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from pkm_bringup.arguments import COUNT
from pkm_bringup.offline import dataset_of, measured_arrays
from pkm_bringup.runner import Runner
from pkm_bringup.studies.declaration import Study, robot, seed
from pkm_bringup.studies.runs.plants import (
    SETTLING,
    excitation_of,
    model_of,
    rms,
    settled_periods,
    true_base_parameters,
)
from pkm_control.closed_loop import run_closed_loop
from pkm_control.controller import TrajectoryController
from pkm_control.feedforward import nominal_feedforward
from pkm_description.errors import SimulationError
from pkm_dynamics.joint_servo.gains import servo_gains
from pkm_dynamics.simulation import PlantEffects
from pkm_dynamics.worlds import MUJOCO, WORLDS
from pkm_dynamics.worlds.named_worlds import plant_in, why_missing
from pkm_dynamics.worlds.stepped_plant import STEP
from pkm_identification import identify
from pkm_identification.option import Option

TITLES = {'mujoco': 'MuJoCo', 'gazebo': 'Gazebo', 'dart': 'Dart', 'equations': 'own equations'}
SUBSTEP = 1e-4  # [s] of the MuJoCo plant, as in its node
APPROACH = 0.5  # of the limits: what comes before the motion is not identified from
KNOWN = 0.01  # relative standard deviation below which the motion shows a parameter well


def one_world(robot: str, periods: int, substeps: int, world: str) -> dict[str, Any]:
    """Identify from the excitation in a world: values, deviations, largest gap [m], tracking."""
    model = model_of(robot)
    exact = dict.fromkeys(('force_noise', 'position_noise', 'quantisation'), False)
    effects = PlantEffects.from_description(model.description).without_unmodelled()
    substep = SUBSTEP if world == MUJOCO else STEP / substeps
    plant = plant_in(world, model.description, effects.switched(**exact), substep=substep)
    controller = TrajectoryController(model, servo_gains(model), nominal_feedforward(model))
    trajectory, gaps = excitation_of(model), [0.0]
    recording = run_closed_loop(
        plant,
        controller,
        trajectory,
        SETTLING + periods,
        approach_speed=APPROACH,
        before_step=lambda elapsed, controller: gaps.append(plant.closure_gap()),
    )
    outcome = recording.outcome
    if outcome is None or not outcome.succeeded:
        reason = 'it took too long' if outcome is None else outcome.message
        raise SimulationError(f"robot '{robot}' did not follow in {TITLES[world]}: {reason}")
    arrays = measured_arrays(recording, model, trajectory.period)
    result = identify(dataset_of(settled_periods(arrays, trajectory.period, SETTLING)), model)
    return {
        'names': result.names,
        'units': result.units,
        'values': result.values,
        'standard_deviation': result.standard_deviation,
        'gap': max(gaps),
        'tracking': rms(recording.tracking_rms()),
        'step': plant.step_time / plant.substeps,
    }


def parameter_rows(
    truth: Sequence[float], found: Mapping[str, Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Return a row a parameter: its truth, and by world deviations over it [1].

    `between`: largest difference of two worlds over the truth; `well_known`: its reported
    standard deviation is below `KNOWN` of the truth in every world. None where the truth is zero.
    """
    values = np.array([each['values'] for each in found.values()])
    deviations = np.array([each['standard_deviation'] for each in found.values()])
    first = next(iter(found.values()))
    rows = []
    for i, (name, unit, true) in enumerate(zip(first['names'], first['units'], truth, strict=True)):
        row: dict[str, Any] = {'name': name, 'unit': unit, 'true': float(true)}
        if true:
            off = values[:, i] / true - 1.0
            spread = float(deviations[:, i].max() / abs(true))
            row |= {'deviations': dict(zip(found, off.tolist(), strict=True))}
            row |= {'between': float(np.ptp(off)), 'standard_deviation': spread}
            row['well_known'] = spread < KNOWN
        else:
            row |= dict.fromkeys(('between', 'standard_deviation'))
            row |= {'deviations': dict.fromkeys(found), 'well_known': False}
        rows.append(row)
    return rows


def world_rows(
    rows: Sequence[Mapping[str, Any]], found: Mapping[str, Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Return a row a world: root mean square and largest of the well-known deviations [1]."""
    known = [row for row in rows if row['well_known']]
    worlds = []
    for world, each in found.items():
        off = {row['name']: row['deviations'][world] for row in known}
        worst = max(off, key=lambda name: abs(off[name]), default=None)
        worlds.append(
            {
                'world': world,
                'rms': rms(list(off.values())) if off else None,
                'largest': None if worst is None else abs(off[worst]),
                'where': worst,
                **{key: each[key] for key in ('gap', 'tracking', 'step')},
            }
        )
    return worlds


def run(options: Namespace, runner: Runner) -> dict[str, Any]:
    """Run the worlds that are there, and name those that are not."""
    model = model_of(options.robot)
    reasons = {world: why_missing(world) for world in WORLDS}
    there = [world for world in WORLDS if not reasons[world]]
    cases = [{'world': world} for world in there]
    one = partial(one_world, options.robot, options.periods, options.substeps)
    # the numbers of kept runs are those of the worlds that are there
    results = runner.map(one, cases, 'world', '_'.join(['world', *there]))
    found = dict(zip([TITLES[world] for world in there], results, strict=True))
    rows = parameter_rows(true_base_parameters(model).tolist(), found)
    return {
        'robot': model.description.name,
        'parameters': rows,
        'worlds': world_rows(rows, found),
        'missing': {TITLES[world]: reason for world, reason in reasons.items() if reason},
        'found': found,
    }


STUDY = Study(
    'worlds',
    'one robot in MuJoCo, Gazebo, Dart and our equations of motion, identified from each',
    'The same excitation under the same servo, without noise, with the described friction: '
    'deviations of the parameters from the truth and between the worlds. Gazebo and Dart are '
    'found by their Python modules; what is not installed is named.',
    (
        robot('palida'),
        Option('periods', COUNT, 'of the excitation that are identified from', 2, '1'),
        Option(
            'substeps',
            COUNT,
            f'of each control interval of {1e3 * STEP:g} ms in Gazebo, Dart and our equations',
            4,
            '1',
        ),
        seed()[1],
    ),
    run,
)
