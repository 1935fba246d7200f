"""How cost grows: with bodies, loops, samples, parameters and harmonics, beside what limits it.

Each series has points of a size and a CPU time in one thread, and the exponent of the power law
through the upper half of its sizes: where what does not grow has become small.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import pkm_description
from pkm_bringup.bench.frame import MICRO, Bench, cost
from pkm_dynamics import ClosedChainModel, PlatformMotion
from pkm_dynamics.random_motion import random_motion
from pkm_identification.arrays import Array
from pkm_identification.excitation.design import build_design_problem
from pkm_identification.excitation.search.constraints import DesignLimits
from pkm_identification.excitation.search.starts import random_start

FUNCTIONS = ('inverse_dynamics', 'regressor')
BODIES = (2, 4, 8, 16, 32)  # of arms in a row
SAMPLES = (1, 10, 100, 1000, 10_000)
HARMONICS = (2, 4, 8, 16)
BATCH = 1000  # samples, where their number is not what grows
REPEATS = 5
LENGTH, MASS, INERTIA = 0.3, 2.0, 0.02  # [m, kg, kg m^2] of each body of an arm
AXES = ('0 0 1', '0 1 0', '1 0 0')  # of joints in turn
COPIED = 4_000_000  # numbers: more than any cache holds
CANDIDATES = 3  # random motions, of which the best is where a step is measured
ORDER = 500  # of the matrices whose product shows the arithmetic


def arm(bodies: int) -> ClosedChainModel:
    """Return a model of so many bodies in a row, on revolute joints about x, y and z in turn."""
    links, joints, drives = ['<link name="link0"/>'], [], []
    for k in range(1, bodies + 1):
        links.append(
            f'<link name="link{k}"><inertial><origin xyz="0.01 0.02 {LENGTH / 2}"/>'
            f'<mass value="{MASS}"/><inertia ixx="{INERTIA}" iyy="{INERTIA}" izz="{INERTIA}" '
            'ixy="0" ixz="0" iyz="0"/></inertial></link>'
        )
        joints.append(
            f'<joint name="joint{k}" type="revolute"><parent link="link{k - 1}"/>'
            f'<child link="link{k}"/><origin xyz="0 0 {LENGTH}"/><axis xyz="{AXES[k % 3]}"/>'
            '<limit lower="-1" upper="1" effort="1000" velocity="5"/>'
            '<dynamics damping="0.1" friction="0.1"/></joint>'
        )
        drives.append(f'<joint name="joint{k}"><command_interface name="effort"/></joint>')
    control = f'<ros2_control name="arm" type="system">{"".join(drives)}</ros2_control>'
    body = f'{"".join(links)}{"".join(joints)}{control}'
    urdf = f'<robot name="arm{bodies}">{body}</robot>'
    return ClosedChainModel(pkm_description.loads(urdf, f'platform: link{bodies}'))


def measure(bench: Bench) -> dict[str, Any]:
    """Measure all series (see `line`) and the machine's limits (see `limits`)."""
    bench.update('bodies', 0.0)
    arms = [arm(bodies) for bodies in BODIES]
    series = [
        line(
            what, 'bodies in a row; a sample', BODIES, [sample_cost(model, what) for model in arms]
        )
        for what in FUNCTIONS
    ]
    bench.update('loops', 0.3)
    robots = [ClosedChainModel(pkm_description.load(name)) for name in pkm_description.library()]
    closed = sorted((model for model in robots if loops(model)), key=loops)
    for what in FUNCTIONS:
        found = line(
            what, 'loops', list(map(loops, closed)), [sample_cost(m, what) for m in closed]
        )
        names = [model.description.name for model in closed]
        series.append({**found, 'exponent': None, 'of': names})  # of robots of several kinds
    bench.update('samples', 0.6)
    motion = random_motion(bench.model, max(SAMPLES), seed=0)
    for what in FUNCTIONS:
        times = [call_cost(bench.model, what, motion[:count]) for count in SAMPLES]
        series.append(line(what, 'samples of a call', SAMPLES, times))
    bench.update('parameters', 0.7)
    ranks, solved = zip(*map(least_squares_cost, arms), strict=True)
    series.append(line('least_squares', 'parameters', ranks, solved))
    bench.update('harmonics', 0.8)
    times = [design_cost(bench.model, harmonics) for harmonics in HARMONICS]
    series.append(line('step of the design', 'harmonics', HARMONICS, times))
    return {'series': series, **limits(bench.model, motion[:BATCH])}


def loops(model: ClosedChainModel) -> int:
    """Return the number of closures."""
    return len(model.description.constraints)


def line(what: str, over: str, sizes: Sequence[float], times: Sequence[float]) -> dict[str, Any]:
    """Return a series: CPU times [us] of what, over which sizes, and its exponent.

    None where all sizes of the upper half are equal.
    """
    size, cpu = np.log(np.asarray(sizes, dtype=float)), np.log(times)
    upper = size >= np.median(size)
    grows = np.ptp(size[upper]) > 0
    exponent = float(np.polyfit(size[upper], cpu[upper], 1)[0]) if grows else None
    given = {'sizes': list(map(float, sizes)), 'times': list(map(float, times))}
    return {'what': what, 'over': over, **given, 'exponent': exponent}


def call_cost(model: ClosedChainModel, what: str, motion: PlatformMotion) -> float:
    """CPU time [us] of a call of `inverse_dynamics` or `regressor`."""
    function = getattr(model, what)
    return cost(lambda: function(motion), REPEATS)


def sample_cost(model: ClosedChainModel, what: str) -> float:
    """CPU time [us] of a sample in a batch."""
    return call_cost(model, what, random_motion(model, BATCH, seed=0)) / BATCH


def least_squares_cost(model: ClosedChainModel) -> tuple[int, float]:
    """Number of base parameters, and the CPU time [us] of the solution from rows of a motion."""
    base = model.base_parameters()
    motion = random_motion(model, BATCH, seed=0)
    rows = base.regressor(motion).reshape(-1, base.rank)
    target = rows @ np.ones(base.rank)

    def solved() -> Array:
        triangle = np.asarray(np.linalg.qr(np.column_stack([rows, target]), mode='r'))
        return np.asarray(np.linalg.solve(triangle[:-1, :-1], triangle[:-1, -1]))

    return base.rank, cost(solved, REPEATS)


def design_cost(model: ClosedChainModel, harmonics: int) -> float:
    """CPU time [us] of criterion, constraints and their slopes at one motion."""
    base, weights = model.base_parameters(), {'d_optimal': 1.0}
    problem = build_design_problem(model, base, weights, harmonics, None, DesignLimits())
    z, _ = random_start(problem, CANDIDATES, np.random.default_rng(0))
    return cost(lambda: problem.linearise(z), REPEATS)


def limits(model: ClosedChainModel, motion: PlatformMotion) -> dict[str, float]:
    """Return what the machine copies [byte/s] and multiplies [1/s].

    `written`: bytes of regressors a second, and `written_share` of what is copied.
    """
    source, target = np.ones(COPIED), np.empty(COPIED)
    copy = 2 * source.nbytes / (cost(lambda: np.copyto(target, source), REPEATS) / MICRO)
    matrix = np.random.default_rng(0).normal(size=(ORDER, ORDER))
    flops = 2 * ORDER**3 / (cost(lambda: matrix @ matrix, REPEATS) / MICRO)
    seconds = call_cost(model, 'regressor', motion) / MICRO
    written = model.regressor(motion).nbytes / seconds
    return {'copy': copy, 'flops': flops, 'written': written, 'written_share': written / copy}
