"""Scratch arrays of one block of samples, and the generated functions that work on them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from pkm_dynamics.kernels.decorator import compiled, inlined
from pkm_dynamics.layout import LANES


class Work(NamedTuple):
    """Inputs and outputs of the generated functions, and each lane's linear systems."""

    inputs: np.ndarray  # (n, LANES)
    outputs: np.ndarray  # (n, LANES)
    columns: np.ndarray  # (10 n_a, LANES)
    no_parameters: np.ndarray  # (1,)
    systems: np.ndarray  # (LANES, n_c, k, k) factors of the components' systems
    pivots: np.ndarray  # (LANES, n_c, k)
    mapping: np.ndarray  # (LANES, n_v, n_i) rates of all coordinates from the independent ones
    actuation: np.ndarray  # (LANES, n_a, n_i) factors of the actuators' rows of the mapping
    actuation_pivots: np.ndarray  # (LANES, n_a)
    gap: np.ndarray  # (1,) largest residual of a Newton step
    chosen: np.ndarray  # (n_d,)
    rates: np.ndarray  # (LANES, n_v)
    rates_dot: np.ndarray  # (LANES, n_v)
    change: np.ndarray  # (n_v,)
    independent: np.ndarray  # (n_i,)
    right: np.ndarray  # (max(k, n_a),)
    m1: np.ndarray  # (3, 3)
    m2: np.ndarray  # (3, 3)
    a: np.ndarray  # (3,)


@compiled
def make_work(m):
    """Allocate the scratch arrays of a mechanism."""
    n_v, n_r = m.n_v, m.n_r
    n_i, n_a, n_c = len(m.independent), len(m.actuated), len(m.component_start) - 1
    n_d = len(m.component_rows)
    k, entries = 1, 0
    for c in range(n_c):
        size = m.component_start[c + 1] - m.component_start[c]
        k = max(k, size)
        entries += size * size
    n_terms = len(m.other_parameters)
    most = max(
        24,
        n_r + entries + n_d * n_i,
        2 * n_v + n_a * n_i + 12 + n_i,
        m.inertial_bodies * (9 + 6 * n_a) + n_terms * n_a,
    )
    return Work(
        np.zeros((n_v + 12 + 2 * n_v + n_v * max(n_a, 1), LANES)),
        np.zeros((most, LANES)),
        np.zeros((10 * n_a, LANES)),
        np.zeros(1),
        np.zeros((LANES, n_c, k, k)),
        np.zeros((LANES, n_c, k), np.int64),
        np.zeros((LANES, n_v, n_i)),
        np.zeros((LANES, n_a, n_i)),
        np.zeros((LANES, n_a), np.int64),
        np.zeros(1),
        np.zeros(n_d),
        np.zeros((LANES, n_v)),
        np.zeros((LANES, n_v)),
        np.zeros(n_v),
        np.zeros(n_i),
        np.zeros(max(k, n_a)),
        np.zeros((3, 3)),
        np.zeros((3, 3)),
        np.zeros(3),
    )


@inlined
def put_configuration(w, lane, joints, p, r):
    """Write a configuration into one lane of the inputs; returns the next free row."""
    n_j = len(joints)
    for i in range(n_j):
        w.inputs[i, lane] = joints[i]
    for i in range(3):
        w.inputs[n_j + i, lane] = p[i]
        for j in range(3):
            w.inputs[n_j + 3 + 3 * i + j, lane] = r[i, j]
    return n_j + 12


@inlined
def put_block(w, first, count, joints, p, r):
    """Write the configurations of a block into the inputs; returns the next free row."""
    for lane in range(count):
        put_configuration(w, lane, joints[first + lane], p[first + lane], r[first + lane])
    return joints.shape[1] + 12


@inlined
def put(w, lane, first, values):
    """Write values (n,) into one lane of the inputs from row `first`; returns the next row."""
    for i in range(len(values)):
        w.inputs[first + i, lane] = values[i]
    return first + len(values)


@inlined
def block_of(first, n):
    """Number of samples in the block that starts at `first`."""
    return min(LANES, n - first)


@intrinsic
def _call(typing_context, address, inputs, uniforms, outputs):  # noqa: ARG001
    signature = types.void(types.int64, types.uintp, types.uintp, types.uintp)

    def generate(context, builder, _signature, arguments):
        pointer = ir.DoubleType().as_pointer()
        function = ir.FunctionType(ir.VoidType(), [pointer] * 3).as_pointer()
        target = builder.inttoptr(arguments[0], function)
        builder.call(target, [builder.inttoptr(value, pointer) for value in arguments[1:]])
        return context.get_dummy_value()

    return signature, generate


@compiled
def evaluate(address, inputs, uniforms, outputs):
    """Call the function at `address` on inputs (n, LANES), uniforms (k,), outputs (m, LANES)."""
    _call(address, inputs.ctypes.data, uniforms.ctypes.data, outputs.ctypes.data)


@compiled
def evaluate_part(address, inputs, first, uniforms, outputs):
    """Call the function on the inputs from row `first` on."""
    _call(address, inputs[first:].ctypes.data, uniforms.ctypes.data, outputs.ctypes.data)
