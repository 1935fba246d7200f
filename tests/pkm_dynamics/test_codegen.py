"""Recorded arithmetic and its machine code, against NumPy."""

from __future__ import annotations

import ctypes
import math
import os
import threading
import uuid
from dataclasses import replace

import llvmlite.binding as llvm
import mechanisms
import numpy as np
import pytest

import pkm_description
from pkm_description.assembly import Assembly
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.codegen import machine_code, program_set, programs, store
from pkm_dynamics.codegen.expression import (
    Graph,
    absolute,
    choose,
    cosine,
    larger,
    reachable,
    root,
    sine,
    smaller,
)
from pkm_dynamics.codegen.machine_code import MachineCode
from pkm_dynamics.codegen.mechanism_equations import eliminate, inverse
from pkm_dynamics.codegen.program_set import ProgramSet
from pkm_dynamics.layout import LANES
from pkm_dynamics.mechanism import build_mechanism
from pkm_dynamics.random_motion import random_motion


def new_origin():
    """Bytes that no code in the store was made from."""
    return uuid.uuid4().bytes


def evaluate(graph, outputs, values, uniforms=(0.0,)):
    """Values (n, LANES) of the outputs, compiled and called."""
    code = MachineCode()
    address = code.function('f', new_origin(), lambda: (graph, outputs))
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)(address)
    inputs = np.ascontiguousarray(values, dtype=float)
    shared, out = np.array(uniforms, dtype=float), np.empty((len(outputs), LANES))
    function(inputs.ctypes.data, shared.ctypes.data, out.ctypes.data)
    return out


def test_what_is_known_is_not_recorded():
    graph = Graph()
    x, y = graph.inputs(0, 2)
    assert 0.0 * x == 0.0
    assert 1.0 * x is x
    assert x - x == 0.0
    negative = -x
    assert (-negative).index == x.index
    assert (x + y).index == (y + x).index
    assert ((-x) * (-y)).index == (x * y).index
    assert sine(0.5) == math.sin(0.5)
    rotation = np.array([[1.0, 0.0], [0.0, 1.0]], dtype=object)
    assert (rotation @ np.array([x, y], dtype=object))[1] is y
    used = reachable(graph, [x * y])
    assert [graph.nodes[k][0] for k in used] == ['input', 'input', 'mul']


def test_every_operation_matches_numpy():
    rng = np.random.default_rng(0)
    x, y = values = rng.normal(size=(2, LANES)) * 3.0
    graph = Graph()
    a, b = graph.inputs(0, 2)
    (u,) = graph.uniforms(0, 1)
    outputs = [
        a + b,
        a - b,
        a * b,
        a / b,
        -a,
        2.0 - a,
        1.0 / a,
        a * u,
        root(absolute(a)),
        smaller(a, b),
        larger(a, 0.5),
        choose((a, b), a + 1.0, -b),
        choose((0.0, a), 1.0, 0.0),
    ]
    expected = [
        x + y,
        x - y,
        x * y,
        x / y,
        -x,
        2.0 - x,
        1.0 / x,
        x * 7.5,
        np.sqrt(np.abs(x)),
        np.minimum(x, y),
        np.maximum(x, 0.5),
        np.where(x < y, x + 1.0, -y),
        np.where(x > 0, 1, 0),
    ]
    np.testing.assert_allclose(evaluate(graph, outputs, values, [7.5]), expected, rtol=4e-16)


def test_sine_and_cosine_are_exact_to_the_last_place():
    graph = Graph()
    (x,) = graph.inputs(0, 1)
    outputs = [sine(x), cosine(x)]
    rng = np.random.default_rng(1)
    special = np.concatenate([[0.0, -0.0, 1e-300], np.arange(-8, 9) * np.pi / 4])
    drawn = [special, rng.uniform(-7, 7, 400), rng.uniform(-1e4, 1e4, 100)]
    for angles in np.resize(np.concatenate(drawn), (65, LANES)):
        out = evaluate_once(graph, outputs, angles)
        np.testing.assert_allclose(out, [np.sin(angles), np.cos(angles)], rtol=0, atol=1.2e-16)
        small = np.abs(angles) < 0.7
        np.testing.assert_allclose(out[0][small], np.sin(angles[small]), rtol=2.3e-16)


_COMPILED: dict = {}


def evaluate_once(graph, outputs, values):
    """Evaluate with a function compiled once."""
    if 'f' not in _COMPILED:
        _COMPILED['code'] = MachineCode()
        address = _COMPILED['code'].function('f', new_origin(), lambda: (graph, outputs))
        _COMPILED['f'] = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)(address)
    inputs, out = np.ascontiguousarray(values), np.empty((len(outputs), LANES))
    _COMPILED['f'](inputs.ctypes.data, inputs.ctypes.data, out.ctypes.data)
    return out


@pytest.mark.parametrize('n', [1, 2, 3])
def test_small_inverses(n):
    matrices = np.random.default_rng(n).normal(size=(LANES, n, n))
    graph = Graph()
    result, determinant = inverse(graph.inputs(0, n, n))
    out = evaluate(graph, [*result.ravel(), determinant], matrices.reshape(LANES, -1).T)
    np.testing.assert_allclose(out[-1], np.linalg.det(matrices), rtol=1e-12)
    np.testing.assert_allclose(
        out[:-1].T.reshape(LANES, n, n), np.linalg.inv(matrices), rtol=1e-9, atol=1e-12
    )


def test_elimination_exchanges_rows_in_each_sample_by_itself():
    rng = np.random.default_rng(5)
    matrices = rng.normal(size=(LANES, 6, 6))
    matrices[0, 0, 0] = 0.0  # needs an exchange
    matrices[1] = np.eye(6)[rng.permutation(6)]
    matrices[2] *= 10.0 ** rng.uniform(-6, 6, (6, 1))
    right = rng.normal(size=(LANES, 6, 2))
    graph = Graph()
    solution, determinant = eliminate(graph.inputs(0, 6, 6), graph.inputs(36, 6, 2))
    inputs = np.vstack([matrices.reshape(LANES, -1).T, right.reshape(LANES, -1).T])
    out = evaluate(graph, [*solution.ravel(), determinant], inputs)
    np.testing.assert_allclose(out[-1], np.linalg.det(matrices), rtol=1e-10)
    x = out[:-1].T.reshape(LANES, 6, 2)
    residual = np.abs(matrices @ x - right).max(axis=(1, 2))
    size = np.abs(matrices).max(axis=(1, 2)) * np.abs(x).max(axis=(1, 2))
    assert np.all(residual < 1e-14 * size)


def test_equations_in_plain_numbers_equal_the_compiled_ones():
    """The same equations, run by NumPy on floats, give what the machine code gives."""
    assembly = Assembly(mechanisms.tripod())
    mechanism, _ = build_mechanism(assembly)
    graph, outputs = programs.systems(mechanism)
    home = assembly.home()
    pose = assembly.platform_pose(home)
    values = np.concatenate([home.joints, pose.position, pose.rotation.ravel()])
    compiled = evaluate(graph, outputs, np.repeat(values[:, None], LANES, axis=1))
    residual, jacobian = assembly.closure(home)
    n_r = len(residual)
    np.testing.assert_allclose(compiled[:n_r, 0], residual, atol=1e-12)
    rows, columns = mechanism.component_rows, mechanism.component_coordinates
    block = compiled[n_r : n_r + len(rows) ** 2, 0].reshape(len(rows), len(rows))
    expected = np.linalg.det(jacobian[np.ix_(rows, columns)])
    np.testing.assert_allclose(np.linalg.det(block), expected, rtol=1e-9)


@pytest.mark.parametrize('name', ['hexapod', 'tripod'])
def test_a_batch_gives_what_its_samples_give(name):
    build = {'hexapod': lambda: pkm_description.load('palida'), 'tripod': mechanisms.tripod}[name]
    model = ClosedChainModel(build())
    motion = random_motion(model, 2 * LANES + 3, seed=4)
    together, regressor = model.inverse_dynamics(motion), model.regressor(motion)
    for k in (0, LANES - 1, LANES, 2 * LANES + 2):
        np.testing.assert_array_equal(model.inverse_dynamics(motion[k : k + 1])[0], together[k])
        np.testing.assert_array_equal(model.regressor(motion[k : k + 1])[0], regressor[k])


class Watch:
    """Tells when the process is about to fork, while it is switched on."""

    def __init__(self):
        self.forking = threading.Event()
        self.on = False
        # Called before the hooks that were registered earlier, that of the compiler's lock too.
        os.register_at_fork(before=lambda: self.on and self.forking.set())


def test_a_fork_waits_for_a_thread_that_compiles(tmp_path, monkeypatch):
    """A child that inherits LLVM in the middle of a compilation can never compile itself."""
    monkeypatch.setattr(store, 'store_folder', lambda: tmp_path)
    mechanism, _ = build_mechanism(Assembly(mechanisms.tripod()))
    watch, done, forked = Watch(), threading.Event(), threading.Event()
    build = programs.systems

    def slow(mechanism):
        watch.forking.wait()
        forked.wait(0.5)  # in vain, as the fork waits for this thread
        done.set()
        return build(mechanism)

    monkeypatch.setitem(programs.BUILDERS, 'systems', slow)
    compiling = ProgramSet(mechanism)
    thread = threading.Thread(target=compiling.code, args=('systems',))
    thread.start()
    while not program_set._COMPILING.locked():
        thread.join(0.001)
    watch.on = True
    child = os.fork()
    forked.set()
    if child == 0:
        os._exit(0 if done.is_set() else 1)
    watch.on = False
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_kept_code_is_used_without_its_equations(tmp_path, monkeypatch):
    """What another process compiled is found by the mechanism, and gives the same numbers."""
    monkeypatch.setattr(store, 'store_folder', lambda: tmp_path)
    mechanism, _ = build_mechanism(Assembly(mechanisms.tripod()))

    def pose(mechanism):
        code = ProgramSet(mechanism).code('twist')
        values = np.random.default_rng(3).normal(size=(100, LANES))
        out = np.empty((6, LANES))
        function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)(code.twist)
        function(values.ctypes.data, values.ctypes.data, out.ctypes.data)
        return out

    def never(mechanism):
        raise AssertionError('the equations were built again')

    first = pose(mechanism)
    build = programs.BUILDERS['twist']
    monkeypatch.setitem(programs.BUILDERS, 'twist', never)
    np.testing.assert_array_equal(pose(mechanism), first)
    tree = mechanism.tree
    others = [
        mechanism._replace(tree=replace(tree, origin_position=tree.origin_position + 1e-9)),
        mechanism._replace(gravity=mechanism.gravity + 1e-9),
        mechanism._replace(friction_kind=mechanism.friction_kind + 1),
        mechanism._replace(length_scale=mechanism.length_scale * 2.0),
    ]
    for other in others:
        with pytest.raises(AssertionError, match='built again'):
            pose(other)
    monkeypatch.setitem(programs.BUILDERS, 'twist', build)
    monkeypatch.setattr(machine_code, 'GENERATOR', b'another generator')
    np.testing.assert_array_equal(pose(mechanism), first)
    assert len(list(tmp_path.glob('*.object'))) == 2


def test_code_is_kept_by_the_processor_that_numba_compiles_for(tmp_path, monkeypatch):
    for name in ('NUMBA_CPU_NAME', 'NUMBA_CPU_FEATURES'):
        monkeypatch.delenv(name, raising=False)
    assert store.processor()[0] == llvm.get_host_cpu_name()
    store.Store(tmp_path).write(b'origin', b'code')
    monkeypatch.setenv('NUMBA_CPU_NAME', 'nehalem')
    assert store.processor() == ('nehalem', '')
    assert store.Store(tmp_path).read(b'origin') is None
    monkeypatch.delenv('NUMBA_CPU_NAME')
    assert store.Store(tmp_path).read(b'origin') == b'code'


def test_code_is_kept_and_read_back(tmp_path):
    kept = store.Store(tmp_path)
    assert kept.read(b'text') is None
    kept.write(b'text', b'code')
    assert kept.read(b'text') == b'code'
    assert kept.read(b'other text') is None
    assert [path.suffix for path in tmp_path.iterdir()] == ['.object']


def test_damaged_code_does_not_count(tmp_path):
    kept = store.Store(tmp_path)
    code = bytes(range(200))
    kept.write(b'text', code)
    kept.write(b'other text', code[::-1])
    path, other = kept.path(b'text'), kept.path(b'other text')
    sound = path.read_bytes()
    flipped = bytearray(sound)
    flipped[100] ^= 1
    for damaged in (b'', b'code', sound[:100], bytes(len(sound)), flipped, other.read_bytes()):
        path.write_bytes(damaged)
        assert kept.read(b'text') is None
    path.write_bytes(sound)
    assert kept.read(b'text') == code


def test_only_the_newest_code_is_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(store, 'MOST_FILES', 3)
    kept = store.Store(tmp_path)
    for k in range(6):
        kept.write(f'text {k}'.encode(), b'code')
    assert len(list(tmp_path.iterdir())) == 3


def test_without_a_folder_nothing_is_kept(tmp_path):
    file = tmp_path / 'not_a_folder'
    file.write_text('')
    kept = store.Store(file)
    kept.write(b'text', b'code')
    assert kept.read(b'text') is None


def test_a_user_without_a_home_gets_no_folder_in_the_working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(store, '__file__', '/proc/nowhere/store.py')  # where nothing can be made
    monkeypatch.delenv('XDG_CACHE_HOME', raising=False)
    monkeypatch.setattr(store.os.path, 'expanduser', lambda path: path)
    assert store.store_folder() is None
    assert not list(tmp_path.iterdir())
