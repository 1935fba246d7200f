"""`pkm bench`: rate, deadlines, latency and compute times, in one run."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from pkm_bringup.argument_types import count, positive
from pkm_bringup.arguments import add_json, add_robot
from pkm_bringup.inputs import load_model
from pkm_bringup.views.bench_view import print_benchmark
from pkm_bringup.views.console import Update, print_json, progress

PARTS = ('step', 'model', 'library', 'loop', 'lockstep', 'identify', 'filters', 'design')
ON_REQUEST = ('design',)  # takes minutes
SAMPLES = 10_000  # of the batches
SPEED = 0.3  # [m/s] of the circle: times do not depend on it, lost cycles hurt less


def add_parser(subparsers: Any) -> None:
    """Add the verb."""
    text = 'measure control loop, compute times and lockstep speed on this machine'
    parser = subparsers.add_parser('bench', help=text, description=text)
    add_robot(parser, 'palida')
    parser.add_argument(
        '--only',
        action='append',
        choices=PARTS,
        metavar='PART',
        help='repeatable; step: one feedforward + PD step offline; model: inverse dynamics and '
        'regressor beside other engines; library: the same for every library robot; loop: the '
        '1 kHz loop on ROS 2; lockstep: lockstep steps through ROS 2; identify: time and memory of '
        'weighted least squares from recordings of two lengths and of maximum likelihood; '
        'filters: updates of the Kalman filters and of the recursive estimator; design: search of '
        'an excitation beside SLSQP (minutes); default: all but design',
    )
    parser.add_argument(
        '--duration',
        type=positive,
        default=10.0,
        help='measured time of the 1 kHz loop, half of it for lockstep [s]; default: 10',
    )
    parser.add_argument(
        '--steps', type=count, default=5000, help='offline controller steps [1]; default: 5000'
    )
    parser.add_argument(
        '--search-time',
        type=positive,
        default=60.0,
        help='search of the excitation [s]; default: 60',
    )
    parser.add_argument(
        '--reference-time',
        type=positive,
        help='a longer search from other starts that the first is compared with [s]; default: none',
    )
    parser.add_argument(
        '--recording',
        type=positive,
        default=600.0,
        help='length of the recordings to identify from; others are ten times as long [s]; '
        'default: 600',
    )
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: Any) -> int:
    """Measure and print."""
    from pkm_bringup.bench.machine import load_average, machine_facts

    parts = arguments.only or [part for part in PARTS if part not in ON_REQUEST]
    result: dict[str, Any] = {'robot': arguments.robot, 'machine': machine_facts()}
    with progress('benchmark') as update:
        update('reading the robot; the first run compiles')
        model = load_model(arguments.robot)
        trajectory = _motion(model)
        for part in PARTS:
            if part in parts:
                result[part] = _measure(part, arguments, model, trajectory, update)
    result['machine']['load_after'] = load_average()
    if arguments.json:
        print_json(result)
    else:
        print_benchmark(result)
    return 0


def _measure(part: str, arguments: Any, model: Any, trajectory: Any, update: Update) -> Any:
    import numpy as np

    if part == 'step':
        from pkm_bringup.bench.control_step import measure_control_step

        update('controller steps')
        return measure_control_step(model, trajectory, arguments.steps)

    def report(phase: str, fraction: float | None) -> None:
        update(f'{part}: {phase}', fraction)

    if part == 'model':
        from pkm_bringup.bench.model_cost import measure_import, measure_model

        update('inverse dynamics and regressor')
        time = np.arange(SAMPLES) / SAMPLES * trajectory.duration
        return {**measure_model(model, trajectory.motion(time, model)), 'import': measure_import()}
    if part == 'library':
        from pkm_bringup.bench.model_cost import measure_library

        return measure_library(report)
    if part == 'filters':
        from pkm_bringup.bench.filter_cost import measure_filters

        update('filters')
        return measure_filters(model)
    if part == 'design':
        from pkm_bringup.bench.design_search import measure_design

        return measure_design(model, arguments.search_time, arguments.reference_time, report)
    if part == 'identify':
        from pkm_bringup.bench.identify_cost import measure_identification

        return measure_identification(model, arguments.robot, arguments.recording, report)
    from pkm_bringup.nodes.bench_client import measure_free_running, measure_lockstep

    measure = measure_free_running if part == 'loop' else measure_lockstep
    duration = arguments.duration if part == 'loop' else arguments.duration / 2
    with tempfile.TemporaryDirectory(prefix='pkm_bench_') as logs:
        return measure(arguments.robot, trajectory, duration, Path(logs), report)


def _motion(model: Any) -> Any:
    """Return the inclined circle, else a slow periodic motion of all actuators about home."""
    import numpy as np

    from pkm_dynamics.trajectories import FourierTrajectory, benchmark_circle

    if model.platform_determines_joints:
        return benchmark_circle(model, speed=SPEED)
    room = np.minimum(model.upper - model.home_actuators, model.home_actuators - model.lower)
    amplitude = 0.1 * np.where(np.isfinite(room), room, 1.0)[:, None]
    return FourierTrajectory(
        2.0,
        model.home_actuators,
        amplitude,
        np.zeros_like(amplitude),
        'actuators',
        model.actuated_joints,
    )
