"""`pkm bench`: rate, deadlines, latency and compute times, in one run."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from pkm_bringup.arguments import add_json, count, load_model, positive
from pkm_bringup.console import Update, print_json, print_table, progress

PARTS = ('step', 'model', 'library', 'loop', 'lockstep', 'identify', 'filters', 'design')
ON_REQUEST = ('design',)  # takes minutes
SAMPLES = 10_000  # of the batches
SPEED = 0.3  # [m/s] of the circle: times do not depend on it, lost cycles hurt less


def add_parser(subparsers: Any) -> None:
    """Add the verb."""
    text = 'measure control loop, compute times and lockstep speed on this machine'
    parser = subparsers.add_parser('bench', help=text, description=text)
    parser.add_argument(
        '--robot', default='palida', metavar='ROBOT',
        help='library name or path of a .urdf or .xacro file; default: palida',
    )  # fmt: skip
    parser.add_argument(
        '--only', action='append', choices=PARTS, metavar='PART',
        help='repeatable; step: one feedforward + PD step offline; model: inverse dynamics and '
        'regressor beside other engines; library: the same for every library robot; loop: the '
        '1 kHz loop on ROS 2; lockstep: lockstep steps through ROS 2; identify: time and memory of '
        'weighted least squares from recordings of two lengths and of maximum likelihood; '
        'filters: updates of the Kalman filters and of the recursive estimator; design: search of '
        'an excitation beside SLSQP (minutes); default: all but design',
    )  # fmt: skip
    parser.add_argument(
        '--duration', type=positive, default=10.0,
        help='measured time of the 1 kHz loop, half of it for lockstep [s]; default: 10',
    )  # fmt: skip
    parser.add_argument(
        '--steps', type=count, default=5000, help='offline controller steps [1]; default: 5000'
    )
    parser.add_argument(
        '--search-time', type=positive, default=60.0,
        help='search of the excitation [s]; default: 60',
    )  # fmt: skip
    parser.add_argument(
        '--reference-time', type=positive,
        help='a longer search from other starts that the first is compared with [s]; default: none',
    )  # fmt: skip
    parser.add_argument(
        '--recording', type=positive, default=600.0,
        help='length of the recordings to identify from; others are ten times as long [s]; '
        'default: 600',
    )  # fmt: skip
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
        _print(result)
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
        return {
            **measure_model(model, trajectory.motion(time, model)), 'import': measure_import()
        }  # fmt: skip
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
        2.0, model.home_actuators, amplitude, np.zeros_like(amplitude), 'actuators',
        model.actuated_joints,
    )  # fmt: skip


def _print(result: dict[str, Any]) -> None:
    out, machine = sys.stdout.write, result['machine']
    versions = ', '.join(f'{name} {text}' for name, text in machine['versions'].items())
    out(
        f'{machine["processor"]}, {machine["cores"]} cores, load {machine["load"]:.1f} before and '
        f'{machine["load_after"]:.1f} after, Linux {machine["kernel"]}, Python '
        f'{machine["python"]}, {versions}\nrobot {result["robot"]}\n'
    )
    if 'step' in result:
        step = result['step']
        out(f'\none controller step with feedforward, offline, {step["steps"]} steps [us]\n')
        _spreads({'wall time': step['wall'], 'CPU time': step['cpu']})
    if 'model' in result:
        _print_model(result['model'])
    if 'library' in result:
        _print_library(result['library'])
    if 'loop' in result:
        _print_loop(result['loop'])
    if 'filters' in result:
        _print_filters(result['filters'])
    if 'design' in result:
        _print_design(result['design'])
    if 'identify' in result:
        _print_identification(result['identify'])
    if 'lockstep' in result:
        lockstep = result['lockstep']
        out(
            f'\nlockstep through ROS: {lockstep["steps_per_second"]:.0f} steps a second '
            f'({lockstep["steps"]} steps in {lockstep["duration"]:.1f} s)\n'
        )


def _print_model(model: dict[str, Any]) -> None:
    sys.stdout.write(f'\nmodel, CPU time [us], batches of {model["samples"]} samples\n')
    keys = ('batch', 'batch_with_joint_states', 'single', 'single_with_joint_states')
    header = ('', 'a sample', 'a sample, joints known', 'single call', 'single, joints known')
    rows = [
        (name.replace('_', ' '), *(model[name][key] for key in keys))
        for name in ('inverse_dynamics', 'regressor')
    ]
    print_table(header, rows)
    rows = [
        (
            name, time, *(model['ratios'][f'{what} / {name}'] for what in ('batch', 'single')),
            model['agreement'].get(name),
        )
        for name, time in model['peers'].items()
    ]  # fmt: skip
    sys.stdout.write('\n')
    print_table(
        (
            'other engines', 'a sample [us]', 'ours a sample / it', 'ours single / it',
            'difference of the forces',
        ),
        rows,
    )  # fmt: skip
    sys.stdout.write(f'\nimport of pkm_dynamics, fresh process: {model["import"]:.2f} s\n')


def _print_identification(kinds: dict[str, Any]) -> None:
    parameters = kinds['filter']['short']['parameters']
    sys.stdout.write(f"\nidentify('wls'), {parameters} parameters, NPZ at 1 kHz\n")
    rows = [
        (
            'periodic' if kind == 'fourier' else 'not periodic',
            *(run[key] for run in (both['short'], both['long']) for key in ('duration', 'wall')),
            *(run['memory'] / 1e6 for run in (both['short'], both['long'])),
            both['time_ratio'], both['memory_ratio'],
        )
        for kind, both in ((kind, kinds[kind]) for kind in ('filter', 'fourier'))
    ]  # fmt: skip
    header = (
        'motion', 'data [s]', 'time [s]', 'data [s]', 'time [s]', 'peak [MB]', 'peak [MB]',
        'CPU time ratio', 'memory ratio',
    )  # fmt: skip
    print_table(header, rows)
    ours, peer = kinds['filter']['short'], kinds['filter']['peer']
    sys.stdout.write(
        f'all in memory with NumPy and SciPy, {peer["duration"]:g} s not periodic: '
        f'{peer["wall"]:.1f} s, {peer["memory"] / 1e6:.0f} MB; '
        f'{peer["cpu"] / ours["cpu"]:.1f} times our CPU time, '
        f'{peer["memory"] / ours["memory"]:.1f} times our memory\n'
    )
    likelihood = kinds['maximum_likelihood']
    slope = likelihood['derivative']
    sys.stdout.write(
        f"\nidentify('maximum_likelihood'), {likelihood['periods']} periods, "
        f'{likelihood["duration"]:g} s: {likelihood["wall"]:.1f} s, CPU time '
        f'{likelihood["cpu"]:.1f} s, {likelihood["memory"] / 1e6:.0f} MB\n'
        f'its derivative with {slope["unknowns"]} unknowns of the motion: {slope["ours"]:.2f} s; '
        f'forward differences would take {slope["differences"]:.0f} s, '
        f'{slope["differences"] / slope["ours"]:.0f} times as long\n'
    )


def _print_filters(filters: dict[str, Any]) -> None:
    rates = ', '.join(f'{name} {rate:.0f}' for name, rate in filters['updates_per_second'].items())
    sys.stdout.write(
        f'\nKalman filters, {filters["parameters"]} parameters, regressor known, updates a second '
        f'of CPU time: {rates}\nrecursive estimator, one sample with its regressor, CPU time [us]\n'
    )
    _spreads(filters['recursive'])
    ratios = filters['ratios']
    sys.stdout.write(
        f'textbook: the covariance is updated, not its root; CPU times over ours: unscented '
        f'filter {ratios["ukf"]:.1f}, recursion {ratios["recursive"]:.1f}; estimates differ by '
        f'{filters["agreement"]:.1e} standard deviations\n'
    )


def _print_design(design: dict[str, Any]) -> None:
    search, same = design['search'], design['same_start']
    sys.stdout.write(
        f'\nd-optimal excitation, {design["unknowns"]} unknowns, {design["parameters"]} '
        f'parameters, one second at 1 kHz: -ln det F\n'
        f'search of {search["duration"]:.1f} s, {search["starts"]} starts: '
        f'{search["criterion"]:.2f} (period {search["period"]:.3f} s)\n'
        f'{_reference(design)}random feasible motions: best {design["random"]["best"]:.2f}, median '
        f'{design["random"]["median"]:.2f}\n'
        f'from one start, CPU time: ours {same["ours"]["criterion"]:.2f} in '
        f'{same["ours"]["cpu_time"]:.2f} s; SLSQP with finite differences '
        f'{same["slsqp"]["criterion"]:.2f} in {same["slsqp"]["cpu_time"]:.2f} s: '
        f'{"" if same["slsqp_reaches_ours"] else "not there after "}{same["ratio"]:.0f} times as '
        f'long\n'
    )


def _reference(design: dict[str, Any]) -> str:
    if 'reference' not in design:
        return ''
    reference = design['reference']
    return (
        f'reference search of {reference["duration"]:.0f} s, {reference["starts"]} starts: '
        f'{reference["criterion"]:.2f} (period {reference["period"]:.3f} s); the first is '
        f'{design["above_reference"]:.2%} of its magnitude above it\n'
    )


def _print_library(robots: dict[str, dict[str, Any]]) -> None:
    sys.stdout.write('\nlibrary robots, CPU time [us], random motions\n')
    header = ('robot', 'actuators', 'parameters', 'inverse dynamics', 'regressor', 'single call')
    rows = [
        (
            name, robot['actuators'], robot['parameters'], robot['inverse_dynamics']['batch'],
            robot['regressor']['batch'], robot['inverse_dynamics']['single'],
        )
        for name, robot in robots.items()
    ]  # fmt: skip
    print_table(header, rows)


def _print_loop(loop: dict[str, Any]) -> None:
    sys.stdout.write(
        f'\n1 kHz loop on ROS 2, controller and robot in processes of their own, '
        f'{loop["duration"]:.1f} s\n'
        f'rate {loop["rate"]:.1f} Hz, {loop["commands"]} commands; missed deadlines: controller '
        f'{loop["missed_deadlines"]}, robot {loop["missed_deadlines_robot"]}; cycles without a '
        f'new state {loop["repeated_commands"]}\n[us]\n'
    )
    _spreads(
        {
            'interval of the commands': loop['command_interval'],
            'joint state to command': loop['state_to_command'],
            'controller step, wall time': loop['step_time'],
            'start after the deadline': loop['lateness'],
        }
    )


def _spreads(rows: dict[str, dict[str, float]]) -> None:
    keys = ('p50', 'p99', 'max')
    print_table(
        ('', *keys), [(name, *(row.get(key) for key in keys)) for name, row in rows.items()]
    )
