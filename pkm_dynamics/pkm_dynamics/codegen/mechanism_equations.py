"""What is computed of a mechanism: its linear systems, motions, forces and regressor.

The rows of a component read `A d = -(B i)`: A (n, n) multiplies the component's dependent
rates d, B (n, n_i) the independent ones i.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from pkm_description.kinematic_tree import BASE, FIXED, FLOATING, PRISMATIC
from pkm_dynamics.array_types import Floats
from pkm_dynamics.codegen.chain import Chain, Rates, cross, zeros
from pkm_dynamics.codegen.expression import Number, Objects, absolute, choose, larger, root, smaller
from pkm_dynamics.mechanism import Mechanism
from pkm_dynamics.parameters import parameter_table as table

INLINE_SIZE = 3  # systems up to here are solved inside the generated code


def components(m: Mechanism) -> list[tuple[list[int], list[int]]]:
    """Dependent coordinates and rows of each component."""
    bounds = zip(m.component_start[:-1], m.component_start[1:], strict=True)
    return [
        (m.component_coordinates[a:b].tolist(), m.component_rows[a:b].tolist()) for a, b in bounds
    ]


def is_inline(m: Mechanism) -> bool:
    """Whether all components are small enough to be solved in the generated code."""
    return all(len(coordinates) <= INLINE_SIZE for coordinates, _ in components(m))


def system(chain: Chain, component: tuple[list[int], list[int]]) -> Objects:
    """Matrix A (n, n) of a component."""
    coordinates, rows = component
    return matrix_of([[chain.entry(row, c) for c in coordinates] for row in rows])


def coupling(chain: Chain, component: tuple[list[int], list[int]]) -> Objects:
    """Matrix B (n, n_i) of a component."""
    independent = chain.m.independent
    return matrix_of([[chain.entry(row, c) for c in independent] for row in component[1]])


def matrix_of(rows: list[list[Number]]) -> Objects:
    """Floats (n, k) of symbols."""
    return np.array(rows, dtype=object).reshape(len(rows), -1 if rows else 0)


def inverse(a: Objects) -> tuple[Objects, Number]:
    """Inverse and determinant of a matrix up to 3 x 3, by cofactors."""
    n = len(a)
    if n == 1:
        return matrix_of([[1.0 / a[0, 0]]]), a[0, 0]
    if n == 2:
        determinant = a[0, 0] * a[1, 1] - a[0, 1] * a[1, 0]
        r = 1.0 / determinant
        return matrix_of([[a[1, 1] * r, -a[0, 1] * r], [-a[1, 0] * r, a[0, 0] * r]]), determinant
    rows = [cross(a[1], a[2]), cross(a[2], a[0]), cross(a[0], a[1])]
    determinant = rows[0] @ a[0]
    r = 1.0 / determinant
    return matrix_of([[rows[j][i] * r for j in range(3)] for i in range(3)]), determinant


def eliminate(a: Objects, right: Objects) -> tuple[Objects, Number]:
    """Solution (n, k) of `a` (n, n) x = `right` (n, k) and the determinant of `a`.

    Gauss with partial pivoting: rows are compared and exchanged in each sample by itself.
    """
    n = len(a)
    rows = [[*a[i], *right[i]] for i in range(n)]
    determinant: Number = 1.0
    for k in range(n):
        for i in range(k + 1, n):
            order = (absolute(rows[k][k]), absolute(rows[i][k]))
            pairs = [
                (choose(order, y, x), choose(order, x, y))
                for x, y in zip(rows[k][k:], rows[i][k:], strict=True)
            ]
            rows[k][k:] = [x for x, _ in pairs]
            rows[i][k:] = [y for _, y in pairs]
            determinant = determinant * choose(order, -1.0, 1.0)
        determinant = determinant * rows[k][k]
        scale = 1.0 / rows[k][k]
        rows[k][k + 1 :] = [x * scale for x in rows[k][k + 1 :]]
        for i in range(k + 1, n):
            factor = rows[i][k]
            rows[i][k + 1 :] = [
                x - factor * y for x, y in zip(rows[i][k + 1 :], rows[k][k + 1 :], strict=True)
            ]
    out = np.empty(right.shape, dtype=object)
    for k in range(n - 1, -1, -1):
        out[k] = rows[k][n:]
        for j in range(k + 1, n):
            out[k] = out[k] - out[j] * rows[k][j]
    return out, determinant


def with_independent(m: Mechanism, independent: Objects) -> Objects:
    """Rates (n_v,) with the independent ones set and the dependent ones zero."""
    out = zeros(m.tree.n_v)
    out[m.independent] = independent
    return out


class Inline:
    """Solutions of all components inside the generated code."""

    def __init__(self, chain: Chain) -> None:
        self.chain = chain
        self.components = components(chain.m)
        solved = [inverse(system(chain, c)) for c in self.components]
        self.inverses = [matrix for matrix, _ in solved]
        self.determinants = [determinant for _, determinant in solved]

    def complete(self, rates: Objects) -> Objects:
        """Rates (n_v,) of all coordinates from the independent ones in `rates`."""
        out = rates.copy()
        velocities = self.chain.velocities(rates)
        return self._answered(out, lambda row: self.chain.row_rates(row, velocities))

    def accelerate(self, rates: Objects, rates_dot: Objects, velocities: Rates) -> Objects:
        """Derivatives (n_v,) of all rates from the independent ones in `rates_dot`."""
        out = rates_dot.copy()
        start = self.chain.accelerations(rates, rates_dot, velocities)
        return self._answered(out, lambda row: self.chain.row_accelerations(row, velocities, start))

    def close(self, residual: Callable[[int], Number]) -> Objects:
        """Changes (n_v,) of the dependent coordinates that take the rows' residuals away."""
        return self._answered(zeros(self.chain.m.tree.n_v), residual)

    def _answered(self, out: Objects, value: Callable[[int], Number]) -> Objects:
        """Fill the dependent coordinates of `out` with what takes the values of the rows away."""
        for (coordinates, rows), matrix in zip(self.components, self.inverses, strict=True):
            missing = np.array([value(row) for row in rows], dtype=object)
            out[coordinates] = [-x for x in matrix @ missing]
        return out

    def project(self, force: Objects) -> Objects:
        """Forces (n_i,) along the independent coordinates of forces (n_v,) on all."""
        out = force[self.chain.m.independent].copy()
        for component, matrix in zip(self.components, self.inverses, strict=True):
            reaction = matrix.T @ force[component[0]]
            out = out - coupling(self.chain, component).T @ reaction
        return out

    def drive(self, force: Objects) -> tuple[Objects, Number]:
        """Forces (n_a,) of the actuators for forces (n_i,) along the independent coordinates.

        And the determinant of the actuators' rates by the independent ones.
        """
        if not self.chain.m.independent_is_platform:
            return force, 1.0
        found, determinant = eliminate(self.actuation().T, force[:, None])
        return found[:, 0], determinant

    def platform_rates(self, actuators: Objects) -> Objects:
        """Rates (n_i,) of the independent coordinates for rates (n_a,) of the actuators."""
        if not self.chain.m.independent_is_platform:
            return actuators
        return eliminate(self.actuation(), actuators[:, None])[0][:, 0]

    def transfer(self) -> Objects:
        """Rates of all coordinates from the actuators (n_v, n_a)."""
        m = self.chain.m
        n_a = len(m.actuated)
        given = np.array(np.eye(n_a).tolist(), dtype=object)
        if m.independent_is_platform:
            given = eliminate(self.actuation(), given)[0]
        columns = [self.complete(with_independent(m, given[:, a])) for a in range(n_a)]
        return np.array(columns, dtype=object).reshape(n_a, m.tree.n_v).T

    def branch(self, actuation: Number | None = None) -> Number:
        """Smallest of the determinants, each by its value at home: negative on other branches.

        That of the actuation is computed where it is not given.
        """
        m = self.chain.m
        smallest: Number = 1.0
        for determinant, home in zip(self.determinants, m.component_determinant, strict=True):
            smallest = smaller(smallest, determinant * (1.0 / float(home)))
        if m.independent_is_platform:
            if actuation is None:
                none = np.empty((len(m.actuated), 0), dtype=object)
                actuation = eliminate(self.actuation(), none)[1]
            smallest = smaller(smallest, actuation * (1.0 / float(m.actuation_determinant)))
        return smallest

    def actuation(self) -> Objects:
        """Rates of the actuators from the independent coordinates (n_a, n_i)."""
        m = self.chain.m
        n_i = len(m.independent)
        out = np.empty((len(m.actuated), n_i), dtype=object)
        independent = m.independent.tolist()
        rows = {c: (k, i) for k, (cs, _) in enumerate(self.components) for i, c in enumerate(cs)}
        couplings: dict[int, Objects] = {}
        for a, coordinate in enumerate(m.actuated.tolist()):
            if coordinate in independent:
                out[a] = [float(i == independent.index(coordinate)) for i in range(n_i)]
                continue
            k, i = rows[coordinate]
            if k not in couplings:
                couplings[k] = coupling(self.chain, self.components[k])
            out[a] = [-x for x in self.inverses[k][i] @ couplings[k]]
        return out


# -- forces ---------------------------------------------------------------------------


def friction_factor(kind: int, rate: Number, v0: float) -> Number:
    """Multiplier of one friction parameter at a rate: saturated sign or the rate."""
    if kind == table.VISCOUS:
        return rate
    if v0 > 0.0:
        sign = smaller(1.0, larger(-1.0, rate * (1.0 / v0)))
    else:
        sign = choose((0.0, rate), 1.0, choose((rate, 0.0), -1.0, 0.0))
    if kind == table.COULOMB_POSITIVE:
        return larger(sign, 0.0)
    if kind == table.COULOMB_NEGATIVE:
        return smaller(sign, 0.0)
    return sign


def along(shaft: Floats, rates: Objects) -> Any:
    """Rate of a shaft, or its row of a matrix, from those (n_v, ...) of the coordinates."""
    used = np.flatnonzero(shaft)
    total = _times(float(shaft[used[0]]), rates[used[0]])
    for k in used[1:]:
        total = total + _times(float(shaft[k]), rates[k])
    return total


def add_along(out: Objects, shaft: Floats, force: Number) -> None:
    """Add a moment about a shaft to the generalised forces (n_v,)."""
    for k in np.flatnonzero(shaft):
        out[k] = out[k] + _times(float(shaft[k]), force)


def shaft_friction(m: Mechanism, kind: int, shaft: Floats, rates: Objects) -> Number:
    """Multiplier of a motor's friction parameter at the rates (n_v,) of the coordinates."""
    rate: Number = along(shaft, rates)
    if kind != table.VISCOUS:
        rate = rate * (1.0 / table.shaft_size(shaft))
    return friction_factor(kind, rate, m.transition_velocity)


def _times(factor: float, value: Any) -> Any:
    return value if factor == 1.0 else value * factor


def cut_friction(chain: Chain, velocities: Rates, term: int) -> tuple[int, Objects, Objects]:
    """Force and moment (3,) at a cut joint's point, per unit parameter, that it needs.

    They act from the parent on the child: the actuators have to supply them.
    """
    m = chain.m
    row, where = int(m.friction_target[term]), m.friction_where[term]
    kind = int(m.friction_kind[term])
    parent, child = int(m.tree.row_parent[row]), int(m.tree.row_child[row])
    zero, spin = zeros(), zeros()
    if child != BASE:
        spin = spin + velocities.angular[child]
    if parent != BASE:
        spin = spin - velocities.angular[parent]
    if where in (table.ON_AXIS_ROTATION, table.ON_AXIS_SLIDE):
        axis = chain.joint_axis(row)
        turning = where == table.ON_AXIS_ROTATION
        motion = spin if turning else chain.sliding(row, velocities)
        load: Objects = axis * friction_factor(kind, axis @ motion, m.transition_velocity)
        return (row, zero, load) if turning else (row, load, zero)
    if kind != table.COULOMB:
        return row, zero, spin
    speed = larger(root(spin @ spin), max(float(m.transition_velocity), 1e-12))
    return row, zero, np.array([x / speed for x in spin], dtype=object)


def tree_forces(
    chain: Chain,
    coordinates: tuple[Objects, Objects],
    velocities: Rates,
    accelerations: Rates,
    parameters: Objects,
) -> Objects:
    """Generalised forces (n_v,) of the spanning tree, by rates and derivatives (n_v,)."""
    m, (rates, rates_dot) = chain.m, coordinates
    out = zeros(len(rates))
    forces = [zeros() for _ in m.tree.parent]
    moments = [zeros() for _ in m.tree.parent]
    for k, body in enumerate(m.inertial_body.tolist()):
        own = parameters[10 * k : 10 * k + 10]
        f, n = _body_wrench(chain, body, velocities, accelerations, own)
        forces[body], moments[body] = forces[body] + f, moments[body] + n
    for term, target in enumerate(m.friction_target.tolist()):
        value = parameters[m.friction_parameter[term]]
        kind = int(m.friction_kind[term])
        if m.friction_where[term] == table.ON_COORDINATE:
            factor = friction_factor(kind, rates[target], m.transition_velocity)
            out[target] = out[target] + value * factor
            continue
        if m.friction_where[term] == table.ON_SHAFT:
            shaft = m.shafts[target]
            add_along(out, shaft, value * shaft_friction(m, kind, shaft, rates))
            continue
        row, force, moment = cut_friction(chain, velocities, term)
        force, moment = force * value, moment * value
        for body, sign in ((int(m.tree.row_child[row]), 1.0), (int(m.tree.row_parent[row]), -1.0)):
            if body != BASE:
                arm = chain.point(row, child=True) - chain.position[body]
                forces[body] = forces[body] + force * sign
                moments[body] = moments[body] + (moment + cross(arm, force)) * sign
    for k, shaft in enumerate(m.shafts[m.rotor_shaft]):
        add_along(out, shaft, parameters[m.rotor_parameter[k]] * along(shaft, rates_dot))
    for body in range(len(m.tree.parent) - 1, -1, -1):
        kind, first, above = m.tree.joint_kind[body], m.tree.coordinate[body], m.tree.parent[body]
        if kind == FLOATING:
            out[first : first + 3] = out[first : first + 3] + forces[body]
            out[first + 3 : first + 6] = out[first + 3 : first + 6] + moments[body]
            continue
        if kind != FIXED:
            load = forces[body] if kind == PRISMATIC else moments[body]
            out[first] = out[first] + chain.axis[body] @ load
        if above != BASE:
            forces[above] = forces[above] + forces[body]
            carried = cross(chain.offset[body], forces[body])
            moments[above] = moments[above] + moments[body] + carried
    return out


def local_motion(
    chain: Chain, body: int, velocities: Rates, accelerations: Rates
) -> tuple[Objects, Objects, Objects]:
    """Acceleration less gravity, omega and its derivative, (3,) each, in the body's axes."""
    back = chain.rotation[body].T
    return (
        back @ accelerations.linear[body],
        back @ velocities.angular[body],
        back @ accelerations.angular[body],
    )


def _body_wrench(
    chain: Chain, body: int, velocities: Rates, accelerations: Rates, p: Objects
) -> tuple[Objects, Objects]:
    """Force and moment (3,) at a body's origin, in base axes, that move it."""
    a, w, dw = local_motion(chain, body, velocities, accelerations)
    h = p[1:4]
    inertia = np.array([[p[4], p[5], p[6]], [p[5], p[7], p[8]], [p[6], p[8], p[9]]], dtype=object)
    force = a * p[0] + cross(dw, h) + cross(w, cross(w, h))
    moment = inertia @ dw + cross(w, inertia @ w) + cross(h, a)
    return chain.rotation[body] @ force, chain.rotation[body] @ moment


def inertial_columns(a: Objects, w: Objects, dw: Objects, jacobian: Objects) -> Objects:
    """Forces (n_a, 10) per inertial parameter of a body, from its local motion.

    `jacobian` (6, n_a): velocity of its origin and its angular velocity, in its axes, by
    actuator rates.
    """
    n_a = jacobian.shape[1]
    out = np.empty((n_a, 10), dtype=object)
    turn = matrix_of(
        [
            [-(w[1] * w[1] + w[2] * w[2]), w[0] * w[1] - dw[2], w[0] * w[2] + dw[1]],
            [w[0] * w[1] + dw[2], -(w[0] * w[0] + w[2] * w[2]), w[1] * w[2] - dw[0]],
            [w[0] * w[2] - dw[1], w[1] * w[2] + dw[0], -(w[0] * w[0] + w[1] * w[1])],
        ]
    )
    for j in range(n_a):
        v, o = jacobian[:3, j], jacobian[3:, j]
        out[j, 0] = v @ a
        first = v @ turn + cross(a, o)  # force of the first moments, and their moment h x a
        out[j, 1:4] = first
        s = cross(o, w)
        for k, (x, y) in enumerate(combinations_with_replacement(range(3), 2), start=4):
            out[j, k] = o[x] * dw[y] + s[x] * w[y]
            if x != y:
                out[j, k] = o[x] * dw[y] + o[y] * dw[x] + s[x] * w[y] + s[y] * w[x]
    return out


def largest_change(m: Mechanism, change: Objects) -> Number:
    """Largest of the changes (n_v,): angles [rad], lengths in units of the mechanism's size."""
    largest: Number = 0.0
    for body, kind in enumerate(m.tree.joint_kind.tolist()):
        first = int(m.tree.coordinate[body])
        if kind == FLOATING:
            sizes = [(first + k, 1.0 / m.length_scale if k < 3 else 1.0) for k in range(6)]
        elif kind != FIXED:
            sizes = [(first, 1.0 / m.length_scale if kind == PRISMATIC else 1.0)]
        else:
            continue
        for coordinate, factor in sizes:
            largest = larger(largest, absolute(change[coordinate] * factor))
    return largest
