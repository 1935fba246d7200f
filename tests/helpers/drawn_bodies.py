"""Least squares over physical bodies, drawn at random: robots, regressors, noise, limits."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import every_model
import numpy as np
from urdf_builder import control, joint, random_inertial, robot

import pkm_description
from pkm_description.errors import EstimationError
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.parameters.base_parameters import BaseParameters
from pkm_dynamics.parameters.pseudo_inertia import pseudo_inertia_basis
from pkm_identification.arrays import Array
from pkm_identification.estimators.consistent.physically_consistent import nearby
from pkm_identification.physical.bodies import PhysicalBodies
from pkm_identification.physical.programme import Limits, PhysicalProgram, Solution

ARMS = 12
NOISES = (0.0, 1e-9, 1e-3, 0.05, 1.0)  # standard deviation over the size of the forces
WEIGHING = (1e-9, 1e-6, 1e-3, 1.0)  # what the noise is thought to be, over the size of the forces
ARM_SIZES = (1e-3, 0.1, 1.0, 30.0)  # [m]


class DrawnProblem(NamedTuple):
    """Minimise |design x - target|^2 over the bodies, within limits."""

    robot: str
    base: BaseParameters
    bodies: PhysicalBodies
    rows: Array  # (m, r) over the base parameters, whitened
    target: Array  # (m,)
    limits: Limits
    truth: Array  # (n_g,), physical
    is_possible: bool  # the truth keeps the limits


def drawn_arm(seed: int) -> pkm_description.Description:
    """Two to seven joints in a row, bodies from grams to hundreds of kilograms."""
    random = np.random.default_rng(seed)
    size = ARM_SIZES[seed % len(ARM_SIZES)]
    count = int(random.integers(2, 8))
    parts, previous = ['<link name="base_link"/>'], 'base_link'
    for k in range(count):
        name = 'platform' if k == count - 1 else f'link{k + 1}'
        mass = float(size**1.5 * 10 ** random.uniform(-1.5, 1.5))
        axis = random.normal(size=3) if k % 2 else np.eye(3)[random.integers(3)]
        place = size * random.uniform(-0.5, 0.5, 3)
        limit = (-2.5, 2.5, 10, 100)
        rubs = '<dynamics friction="0.5" damping="0.2"/>' if random.uniform() < 0.7 else ''
        parts += [
            f'<link name="{name}">',
            random_inertial(random, mass, 0.15 * size),
            '</link>',
            joint(
                f'joint{k + 1}',
                'revolute' if random.uniform() < 0.8 else 'prismatic',
                previous,
                name,
                place,
                random.normal(size=3),
                axis,
                limit,
                rubs,
            ),
        ]
        previous = name
    names = [f'joint{k + 1}' for k in range(count)]
    home = ', '.join(f'{name}: 0.3' for name in names)
    return pkm_description.loads(
        robot('arm', [*parts, control(names)]), f'home: {{joints: {{{home}}}}}\n'
    )


@lru_cache(maxsize=None)
def arm_model(seed: int) -> ClosedChainModel:
    """Return the model of a drawn arm."""
    return ClosedChainModel(drawn_arm(seed))


@lru_cache(maxsize=None)
def case_of(name: str, reduced: bool) -> tuple[BaseParameters, PhysicalBodies]:
    """Base parameters and bodies of a robot by name, or of an arm by number."""
    model = arm_model(int(name[3:])) if name.startswith('arm') else every_model.model_of(name)
    base = model.base_parameters(shared=True, reduced=reduced)
    return base, PhysicalBodies(model, base.space)


def drawn_problem(seed: int, names: tuple[str, ...] | None = None) -> DrawnProblem:
    """Draw a robot (of `names`), a regressor, true bodies, noise and limits."""
    random = np.random.default_rng(seed)
    known = names or (*every_model.NAMES, *(f'arm{k}' for k in range(ARMS)))
    name = str(random.choice(known))
    base, bodies = case_of(name, bool(random.integers(2)) or not name.startswith('arm'))
    matrix = np.asarray(base.matrix) @ base.space.expand
    truth = _TRUTHS[int(random.integers(len(_TRUTHS)))](bodies, random)
    rank = base.rank
    count = int(random.choice([1, max(rank // 2, 1), rank, 4 * rank]))
    rows = random.normal(size=(count, rank)) / (np.abs(matrix) @ bodies.sizes)
    if random.uniform() < 0.5:  # columns that hardly show, and rows that nearly repeat
        rows = rows * 10.0 ** random.uniform(-12, 0, rank)
    if random.uniform() < 0.3:
        rows = rows @ _nearly_singular(rank, random)
    forces = rows @ (matrix @ truth)
    size = max(float(np.sqrt(np.mean(forces**2))), 1e-300)
    noise = size * random.choice(NOISES) * random.normal(size=count)
    deviation = size * random.choice(WEIGHING)
    limits, is_possible = _limits(base, bodies, truth, matrix, random)
    rows, target = rows / deviation, (forces + noise) / deviation
    return DrawnProblem(name, base, bodies, rows, target, limits, truth, is_possible)


def _nearly_singular(size: int, random: np.random.Generator) -> Array:
    """Matrix (n, n) with singular values from 1e-12 to 1."""
    turn = np.linalg.qr(random.normal(size=(size, size)))[0]
    return turn * 10.0 ** random.uniform(-12, 0, size) @ turn.T


def _nominal(bodies: PhysicalBodies, random: np.random.Generator) -> Array:
    return bodies.nominal


def _scaled(bodies: PhysicalBodies, random: np.random.Generator) -> Array:
    """Return the nominal bodies, each as a whole a multiple of itself, and coefficients at zero."""
    factor = np.ones(len(bodies.names))
    for block in bodies.blocks.values():
        factor[block.any(axis=0)] = 10.0 ** random.uniform(-1, 1)
    factor[bodies.coefficients] = random.choice([0.0, 1.0, 5.0], len(bodies.coefficients))
    return bodies.nominal * factor


def _of_points(bodies: PhysicalBodies, random: np.random.Generator) -> Array:
    """Bodies of one to five points, where all ten parameters are free: at their limits."""
    found = np.array(_scaled(bodies, random))
    flat = pseudo_inertia_basis().reshape(16, 10)
    for block in bodies.blocks.values():
        own = np.flatnonzero(block.any(axis=0))
        if len(own) != 10 or np.linalg.matrix_rank(block[:, own]) < 10:
            continue
        mass = max(float(block[0] @ bodies.nominal), 1e-9)
        radius = float(np.abs(block[1:4] @ bodies.sizes).max()) / mass
        count = int(random.integers(1, 6))
        points = np.column_stack([radius * random.normal(size=(count, 3)), np.ones(count)])
        whole = np.einsum('ki,kj->ij', points, points) * mass / count
        parameters = np.linalg.lstsq(flat, whole.ravel(), rcond=None)[0]
        found[own] = np.linalg.solve(block[:, own], parameters)
    return found


_TRUTHS: tuple[Callable[[PhysicalBodies, np.random.Generator], Array], ...] = (
    _nominal,
    _scaled,
    _of_points,
)


def _limits(
    base: BaseParameters,
    bodies: PhysicalBodies,
    truth: Array,
    matrix: Array,
    random: np.random.Generator,
) -> tuple[Limits, bool]:
    """Nothing, a base parameter fixed at its true value, or one fixed at what cannot be."""
    kind = random.choice(['none', 'none', 'fixed', 'spread', 'impossible'])
    if kind == 'spread':
        return Limits(spread=float(10.0 ** random.uniform(-3, 1))), True
    if kind == 'none':
        return Limits(), True
    index = int(random.integers(len(matrix)))
    if kind == 'impossible':
        coefficients = np.isin(np.arange(len(bodies.names)), bodies.coefficients)
        alone = [
            k for k, row in enumerate(matrix) if (row != 0).sum() == (row[coefficients] > 0).sum()
        ]
        if not alone:
            return Limits(), True
        index = int(random.choice(alone))
        value = -float(np.abs(matrix[index]) @ bodies.sizes)
        return Limits(bounds={base.names[index]: (matrix[index], value, value)}), False
    value = float(matrix[index] @ truth)
    return Limits(bounds={base.names[index]: (matrix[index], value, value)}), True


def solved(problem: DrawnProblem) -> Solution:
    """Solve a drawn problem."""
    matrix = np.asarray(problem.base.matrix) @ problem.base.space.expand
    free = np.linalg.lstsq(problem.rows, problem.target, rcond=1e-9)[0]
    program = PhysicalProgram(problem.bodies, problem.rows @ matrix, problem.limits)
    return program.solve(problem.target, nearby(problem.bodies, matrix, free))


def verdict(problem: DrawnProblem) -> str:
    """Say what came of a problem: the solver that found it, `refused`, or what is wrong."""
    try:
        found = solved(problem)
    except EstimationError as error:
        named = all(name in str(error) for name in problem.limits.bounds)
        return 'refused' if not problem.is_possible and named else f'failed: {error}'
    except np.linalg.LinAlgError as error:
        return f'failed: {error}'
    if not problem.is_possible:
        return 'failed: nothing has what is asked for'
    if not problem.bodies.contains(found.x, massless=True):
        return 'failed: not physical'
    for name, (row, low, _) in problem.limits.bounds.items():
        size = float(np.abs(row) @ np.maximum(problem.bodies.sizes, np.abs(found.x)))
        if abs(float(row @ found.x) - low) > 1e-6 * size:
            return f'failed: {name} is not {low}'
    return found.solver.name if found.is_accurate else f'{found.solver.name}, not certified'


if __name__ == '__main__':  # how many problems to draw, and the first one
    count, first = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    found: Counter[str] = Counter()
    for seed in range(first, first + count):
        answer = verdict(drawn_problem(seed))
        found[answer] += 1
        if answer.startswith('failed'):
            print(seed, answer, flush=True)
    print('\n'.join(f'{number:5d}  {answer}' for answer, number in found.most_common()))
