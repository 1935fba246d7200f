"""The functions that are generated for a mechanism: which numbers go in and come out.

Every function starts with the configuration: joint positions (n_j), platform position
(3) and rotation (9, by rows). Sizes: n_r closing rows, n_d dependent coordinates, n_i
independent ones, n_v = n_d + n_i, n_a actuators.

============ ============================================ =================================
function     further inputs                               outputs
============ ============================================ =================================
newton       -                                            joints after one step (n_j), size
                                                          of the step
approach     actuator positions (n_a)                     change of all coordinates (n_v),
                                                          largest residual, branch
branch       -                                            smallest determinant, by its value
                                                          at home: negative on another branch
                                                          than home's, 0 where singular (1)
pose         -                                            platform position (3),
                                                          rotation (9)
twist        rates (n_v)                                  platform twist (6)
systems      -                                            residuals (n_r), A of each
                                                          component, B (n_d, n_i)
kinematics   rates and derivatives of the independent     rates (n_v), derivatives (n_v),
             coordinates (n_i) each                       platform twist (6), derivative (6)
actuated     as kinematics, of the actuators (n_a)        as kinematics
dynamics     as kinematics; parameters                    as kinematics; actuator forces (n_a)
bias         rates (n_v), derivatives (n_v)               row accelerations (n_d)
platform     rates (n_v), derivatives (n_v)               platform twist (6), derivative (6)
forces       rates (n_v), derivatives (n_v); parameters   platform twist (6), derivative (6),
                                                          forces (n_v)
columns      rates (n_v), derivatives (n_v), and where    of each body: acceleration, omega,
             components are too large to be solved        its derivative (9), Jacobian
             inline the transfer matrix (n_v, n_a)        (6, n_a); columns of friction and
                                                          rotor parameters (.., n_a)
inertial     only: those 9, the Jacobian (6, n_a)         columns (n_a, 10)
============ ============================================ =================================
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from pkm_description.kinematic_tree import BASE
from pkm_dynamics.codegen import mechanism_equations as equations
from pkm_dynamics.codegen.chain import Chain, Rates, zeros
from pkm_dynamics.codegen.expression import Graph, Number, Objects, absolute, choose, larger
from pkm_dynamics.layout import LARGEST_STEP, STEP_TOLERANCE
from pkm_dynamics.mechanism import Mechanism
from pkm_dynamics.parameters.parameter_table import ON_COORDINATE, ON_SHAFT


class _Symbols:
    """Hands out inputs one after another."""

    def __init__(self, m: Mechanism) -> None:
        self.m = m
        self.graph = Graph()
        self._next = 0

    def take(self, *shape: int) -> Objects:
        values = self.graph.inputs(self._next, *shape)
        self._next += values.size
        return values

    def chain(self) -> Chain:
        self.joints = self.take(int(np.max(self.m.tree.scalar_index, initial=-1)) + 1)
        return Chain(self.m, self.joints, self.take(3), self.take(3, 3))

    def moving(self) -> tuple[Chain, tuple[Objects, Objects], Rates, Rates]:
        """Chain, rates and derivatives (n_v,) of all its coordinates, motion of its bodies."""
        chain, n_v = self.chain(), self.m.tree.n_v
        rates, rates_dot = self.take(n_v), self.take(n_v)
        velocities = chain.velocities(rates)
        accelerations = chain.accelerations(rates, rates_dot, velocities)
        return chain, (rates, rates_dot), velocities, accelerations

    def parameters(self, known: Sequence[float] | None = None) -> Objects:
        """Parameters as inputs, or as numbers where they are known."""
        if known is not None:
            return np.array([float(value) for value in known], dtype=object)
        return self.graph.uniforms(0, self.m.n_parameters)


def _flat(*arrays: Objects | list) -> list[Number]:
    return [x for array in arrays for x in np.asarray(array, dtype=object).ravel()]


def newton(m: Mechanism) -> tuple[Graph, list[Number]]:
    """One Newton step of the dependent joints towards a given platform pose."""
    s = _Symbols(m)
    chain = s.chain()
    change = equations.Inline(chain).close(chain.residual)
    longest = equations.largest_change(m, change)
    scale = choose((longest, LARGEST_STEP), 1.0, LARGEST_STEP / longest)
    scale = choose((longest, STEP_TOLERANCE), 0.0, scale)
    joints = s.joints.copy()
    for body, index in enumerate(m.tree.scalar_index.tolist()):
        if index >= 0:
            joints[index] = joints[index] + change[m.tree.coordinate[body]] * scale
    return s.graph, _flat(joints, [longest])


def systems(m: Mechanism) -> tuple[Graph, list[Number]]:
    """Residuals and linear systems of the closing rows."""
    s = _Symbols(m)
    chain = s.chain()
    parts = equations.components(m)
    return s.graph, _flat(
        [chain.residual(row) for row in range(len(m.tree.row_kind))],
        *(equations.system(chain, part) for part in parts),
        *(equations.coupling(chain, part) for part in parts),
    )


def approach(m: Mechanism) -> tuple[Graph, list[Number]]:
    """Change of all coordinates that would bring the actuators to given positions."""
    s = _Symbols(m)
    chain = s.chain()
    target = s.take(len(m.actuated))
    solved = equations.Inline(chain)
    residuals = [chain.residual(row) for row in range(len(m.tree.row_kind))]
    closing = solved.close(residuals.__getitem__)
    missing = target - s.joints[m.actuated_scalar] - closing[m.actuated]
    moving = equations.with_independent(m, solved.platform_rates(missing))
    gap: Number = 0.0
    for residual in residuals:
        gap = larger(gap, absolute(residual))
    return s.graph, _flat(closing + solved.complete(moving), [gap, solved.branch()])


def branch(m: Mechanism) -> tuple[Graph, list[Number]]:
    """Which branch of the mechanism's assemblies a configuration belongs to."""
    s = _Symbols(m)
    return s.graph, [equations.Inline(s.chain()).branch()]


def pose(m: Mechanism) -> tuple[Graph, list[Number]]:
    """Pose of the platform."""
    s = _Symbols(m)
    chain = s.chain()
    return s.graph, _flat(
        chain.position[m.tree.platform_body], chain.rotation[m.tree.platform_body]
    )


def twist(m: Mechanism) -> tuple[Graph, list[Number]]:
    """Twist of the platform from the rates of all coordinates."""
    s = _Symbols(m)
    chain = s.chain()
    velocities = chain.velocities(s.take(m.tree.n_v))
    body = m.tree.platform_body
    return s.graph, _flat(velocities.linear[body], velocities.angular[body])


def _platform(chain: Chain, velocities: Rates, accelerations: Rates) -> list[Number]:
    """Twist of the platform and its derivative."""
    body = chain.m.tree.platform_body
    acceleration = accelerations.linear[body] + chain.gravity
    twist = (velocities.linear[body], velocities.angular[body])
    return _flat(*twist, acceleration, accelerations.angular[body])


def kinematics(m: Mechanism) -> tuple[Graph, list[Number]]:
    """Rates and derivatives of all coordinates from the independent ones."""
    s = _Symbols(m)
    motion = _Motion(s, s.chain(), len(m.independent))
    return s.graph, motion.outputs()


def actuated(m: Mechanism) -> tuple[Graph, list[Number]]:
    """Rates and derivatives of all coordinates from the actuators'."""
    s = _Symbols(m)
    return s.graph, _Motion(s, s.chain(), len(m.actuated), by_actuators=True).outputs()


def dynamics(m: Mechanism, known: Sequence[float] | None = None) -> tuple[Graph, list[Number]]:
    """Kinematics, and the forces of the actuators; with `known` parameters also the branch."""
    s = _Symbols(m)
    motion = _Motion(s, s.chain(), len(m.independent))
    forces, determinant = motion.forces(s.parameters(known))
    branch = [] if known is None else [motion.solved.branch(determinant)]
    return s.graph, motion.outputs() + _flat(forces) + branch


class _Motion:
    """Motion of a mechanism whose components are solved inside the generated code."""

    def __init__(self, s: _Symbols, chain: Chain, given: int, by_actuators: bool = False) -> None:
        m = s.m
        self.chain = chain
        self.solved = solved = equations.Inline(chain)
        rates, rates_dot = s.take(given), s.take(given)
        if by_actuators:
            rates = solved.platform_rates(rates)
        self.rates = solved.complete(equations.with_independent(m, rates))
        self.velocities = chain.velocities(self.rates)
        if by_actuators:
            still = equations.with_independent(m, zeros(given))
            bias = solved.accelerate(self.rates, still, self.velocities)
            rates_dot = solved.platform_rates(rates_dot - bias[m.actuated])
        self.rates_dot = solved.accelerate(
            self.rates, equations.with_independent(m, rates_dot), self.velocities
        )
        self.accelerations = chain.accelerations(self.rates, self.rates_dot, self.velocities)

    def outputs(self) -> list[Number]:
        """Rates, their derivatives, the platform's twist and its derivative."""
        platform = _platform(self.chain, self.velocities, self.accelerations)
        return _flat(self.rates, self.rates_dot) + platform

    def forces(self, parameters: Objects) -> tuple[Objects, Number]:
        """Actuator forces (n_a,), and the determinant of the actuation."""
        rates, moving = (self.rates, self.rates_dot), (self.velocities, self.accelerations)
        force = equations.tree_forces(self.chain, rates, *moving, parameters)
        return self.solved.drive(self.solved.project(force))


def bias(m: Mechanism) -> tuple[Graph, list[Number]]:
    """Second derivatives of the chosen closing rows."""
    s = _Symbols(m)
    chain, _, velocities, start = s.moving()
    rows = [row for _, rows in equations.components(m) for row in rows]
    return s.graph, _flat([chain.row_accelerations(row, velocities, start) for row in rows])


def platform(m: Mechanism) -> tuple[Graph, list[Number]]:
    """Platform motion from the rates of all coordinates."""
    s = _Symbols(m)
    chain, _, velocities, accelerations = s.moving()
    return s.graph, _platform(chain, velocities, accelerations)


def forces(m: Mechanism, known: Sequence[float] | None = None) -> tuple[Graph, list[Number]]:
    """Platform motion and generalised forces of the spanning tree."""
    s = _Symbols(m)
    chain, rates, velocities, accelerations = s.moving()
    force = equations.tree_forces(chain, rates, velocities, accelerations, s.parameters(known))
    return s.graph, _platform(chain, velocities, accelerations) + _flat(force)


def columns(m: Mechanism) -> tuple[Graph, list[Number]]:
    """Local motions and Jacobians of the bodies, columns of friction and rotors."""
    s = _Symbols(m)
    chain, (rates, rates_dot), velocities, accelerations = s.moving()
    n_v, n_a = m.tree.n_v, len(m.actuated)
    inline = equations.is_inline(m)
    transfer = equations.Inline(chain).transfer() if inline else s.take(n_v, n_a)
    units = [chain.velocities(transfer[:, a]) for a in range(n_a)]
    out: list[Number] = []
    for body in m.inertial_body.tolist():
        out += _flat(*equations.local_motion(chain, body, velocities, accelerations))
        back = chain.rotation[body].T
        jacobian = np.array(
            [[*(back @ unit.linear[body]), *(back @ unit.angular[body])] for unit in units],
            dtype=object,
        )
        out += _flat(jacobian.T)
    for term, target in enumerate(m.friction_target.tolist()):
        if m.friction_where[term] == ON_COORDINATE:
            factor = equations.friction_factor(
                int(m.friction_kind[term]), rates[target], m.transition_velocity
            )
            out += _flat(transfer[target] * factor)
            continue
        if m.friction_where[term] == ON_SHAFT:
            shaft = m.shafts[target]
            factor = equations.shaft_friction(m, int(m.friction_kind[term]), shaft, rates)
            out += _flat(equations.along(shaft, transfer) * factor)
            continue
        row, force, moment = equations.cut_friction(chain, velocities, term)
        out += [_power(chain, row, force, moment, unit) for unit in units]
    for shaft in m.shafts[m.rotor_shaft]:
        out += _flat(equations.along(shaft, transfer) * equations.along(shaft, rates_dot))
    return s.graph, out


def _power(chain: Chain, row: int, force: Objects, moment: Objects, unit: Rates) -> Number:
    """Power of a cut joint's force and moment in the motion of one actuator's unit rate."""
    total: Number = force @ chain.sliding(row, unit)
    for body, sign in (
        (int(chain.m.tree.row_child[row]), 1.0),
        (int(chain.m.tree.row_parent[row]), -1.0),
    ):
        if body != BASE:
            total = total + (moment @ unit.angular[body]) * sign
    return total


def inertial(n_a: int) -> tuple[Graph, list[Number]]:
    """Columns of one body's inertial parameters."""
    graph = Graph()
    motion, jacobian = graph.inputs(0, 3, 3), graph.inputs(9, 6, n_a)
    a, omega, omega_dot = motion
    return graph, _flat(equations.inertial_columns(a, omega, omega_dot, jacobian))


BUILDERS: dict[str, Callable[..., tuple[Graph, list[Number]]]] = {
    'newton': newton,
    'systems': systems,
    'approach': approach,
    'branch': branch,
    'pose': pose,
    'twist': twist,
    'kinematics': kinematics,
    'actuated': actuated,
    'dynamics': dynamics,
    'bias': bias,
    'platform': platform,
    'forces': forces,
    'columns': columns,
    'inertial': lambda m: inertial(len(m.actuated)),
}
