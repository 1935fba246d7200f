"""Tables of what `pkm bench` measured."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from pkm_bringup.views.console import Column, print_columns, print_table

FUNCTIONS: dict[str, Column] = {
    '': '',
    'a sample': 'batch',
    'a sample, joints known': 'batch_with_joint_states',
    'single call': 'single',
    'single, joints known': 'single_with_joint_states',
}
PEERS = ('other engines', 'a sample [us]', 'ours / it', 'difference of the forces')
RIGID = 'forces of rigid bodies, motion of all joints known, a sample: ours'
LIBRARY: dict[str, Column] = {
    'robot': 'robot',
    'actuators': 'actuators',
    'parameters': 'parameters',
    'inverse dynamics': lambda robot: robot['inverse_dynamics']['batch'],
    'regressor': lambda robot: robot['regressor']['batch'],
    'single call': lambda robot: robot['inverse_dynamics']['single'],
}
GROWTH: dict[str, Column] = {
    'of': lambda row: row['what'].replace('_', ' '),
    'over': 'over',
    'sizes': lambda row: ', '.join(f'{size:g}' for size in row['sizes']),
    'times': lambda row: ', '.join(f'{time:.3g}' for time in row['times']),
    'power': ('exponent', '.2f'),
}


def print_benchmark(result: dict[str, Any]) -> None:
    """Print what `pkm bench` measured."""
    machine = result['machine']
    versions = ', '.join(f'{name} {text}' for name, text in machine['versions'].items())
    sys.stdout.write(
        f'{machine["processor"]}, {machine["cores"]} cores, load {machine["load"]:.1f} before and '
        f'{machine["load_after"]:.1f} after, Linux {machine["kernel"]}, Python '
        f'{machine["python"]}, {versions}\nrobot {result["robot"]}\n'
    )
    for part, show in VIEWS.items():
        if part in result:
            show(result[part])


def _print_step(step: dict[str, Any]) -> None:
    title = f'one controller step with feedforward, offline, {step["steps"]} steps [us]'
    sys.stdout.write(f'\n{title}\n')
    _spreads({'wall time': step['wall'], 'CPU time': step['cpu']})


def _print_lockstep(lockstep: dict[str, Any]) -> None:
    sys.stdout.write(
        f'\nlockstep through ROS: {lockstep["steps_per_second"]:.0f} steps a second '
        f'({lockstep["steps"]} steps in {lockstep["duration"]:.1f} s)\n'
    )


def _print_model(model: dict[str, Any]) -> None:
    sys.stdout.write(f'\nmodel, CPU time [us], batches of {model["samples"]} samples\n')
    functions = ('inverse_dynamics', 'regressor')
    print_columns([{'': name.replace('_', ' ')} | model[name] for name in functions], FUNCTIONS)
    beside, step = model['engines'], model['mujoco_step']
    ratios, agreement = beside['ratios'], beside['agreement']
    rows = [(name, time, ratios[name], agreement[name]) for name, time in beside['times'].items()]
    sys.stdout.write(f'\n{RIGID} {beside["ours"]:.3g} us\n')
    print_table(PEERS, rows)
    _print_left_out(beside)
    single = model['inverse_dynamics']['single'] / step
    sys.stdout.write(
        f'MuJoCo, step of the closed chain: {step:.3g} us; ours in a single call over it: '
        f'{single:.3g}\n'
    )
    sys.stdout.write(f'\nimport of ClosedChainModel, fresh process: {model["import"]:.2f} s\n')


def _print_identification(kinds: dict[str, Any]) -> None:
    parameters = kinds['filter']['short']['parameters']
    sys.stdout.write(f"\nidentify('wls'), {parameters} parameters, NPZ at 1 kHz\n")
    sizes = ('data [s]', 'time [s]', 'peak [MB]')
    header = ('motion', *sizes, *(f'longer {size}' for size in sizes))
    rows = []
    for kind, motion in (('filter', 'not periodic'), ('fourier', 'periodic')):
        figures = [
            value
            for found in (kinds[kind]['short'], kinds[kind]['long'])
            for value in (found['duration'], found['wall'], found['memory'] / 1e6)
        ]
        rows.append((motion, *figures, kinds[kind]['time_ratio'], kinds[kind]['memory_ratio']))
    print_table((*header, 'CPU time ratio', 'memory ratio'), rows)
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
    sys.stdout.write('\nlibrary robots, CPU time [us], slow motions\n')
    print_columns([{'robot': name} | robot for name, robot in robots.items()], LIBRARY)
    beside = {name: robot['engines'] for name, robot in robots.items()}
    names = list(dict.fromkeys(name for each in beside.values() for name in each['times']))
    rows = [
        (name, each['ours'], *map(each['ratios'].get, names), max(each['agreement'].values()))
        for name, each in beside.items()
    ]
    sys.stdout.write(f'\n{RIGID}, and ours / other engines\n')
    print_table(('robot', 'ours [us]', *names, 'largest difference'), rows)
    for each in beside.values():
        _print_left_out(each)


def _print_left_out(beside: dict[str, Any]) -> None:
    for name, reason in beside['left_out'].items():
        sys.stdout.write(f'{name} left out: {reason}\n')


def _print_growth(growth: dict[str, Any]) -> None:
    sys.stdout.write('\nhow CPU time [us] grows\n')
    print_columns(growth['series'], GROWTH)
    sys.stdout.write(
        f'this machine copies {growth["copy"] / 1e9:.3g} GB/s and multiplies '
        f'{growth["flops"] / 1e9:.3g} Gflop/s; regressors are written at '
        f'{growth["written"] / 1e9:.3g} GB/s, {100 * growth["written_share"]:.2g} % of that\n'
    )


def _print_loop(loop: dict[str, Any]) -> None:
    sys.stdout.write(
        f'\n1 kHz loop on ROS 2, controller and robot in processes of their own, '
        f'{loop["duration"]:.1f} s\n'
        f'rate {loop["rate"]:.1f} Hz, {loop["commands"]} commands; missed deadlines: controller '
        f'{loop["missed_deadlines"]}, robot {loop["missed_deadlines_robot"]}; cycles without a '
        f'new state {loop["cycles_without_state"]}\n[us]\n'
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
    print_table(('', *keys), [(name, *map(row.get, keys)) for name, row in rows.items()])


VIEWS: dict[str, Callable[[dict[str, Any]], None]] = {
    'step': _print_step,
    'model': _print_model,
    'library': _print_library,
    'loop': _print_loop,
    'filters': _print_filters,
    'design': _print_design,
    'identify': _print_identification,
    'lockstep': _print_lockstep,
    'growth': _print_growth,
}
