"""C++ of robots, compiled and compared with Python."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest
from cpp_robot import COMPILERS, WARNINGS, foreign_symbols
from every_model import model_of

import pkm_description
from pkm_description.errors import ExportError
from pkm_dynamics import ClosedChainModel, PlatformMotion
from pkm_dynamics.cpp import build_cpp
from pkm_dynamics.friction_laws import DriveFriction
from pkm_dynamics.random_motion import random_motion

pytestmark = pytest.mark.skipif(not COMPILERS, reason='no C++ compiler (g++ or clang++)')
DRIVEN = [name for name in pkm_description.library() if name != 'cart_pendulum']
MADE_UP = ['geared_arm', 'rippling_five_bar', 'skew_hexapod', 'chain_prismatic', 'chain_fixed']
OTHERS = ['delta rods:=ball', *MADE_UP]
EXACT = 1e-12  # of the largest force


@pytest.fixture(scope='module')
def robot(request, tmp_path_factory):
    from cpp_robot import CppRobot

    model = model_of(request.param)
    name = model.description.name
    return model, CppRobot(build_cpp(model).files, name, tmp_path_factory.mktemp(name))


def by_robot(names):
    return pytest.mark.parametrize('robot', names, indirect=True, ids=names)


def reach(robot, model, q) -> None:
    """Let the C++ follow the actuators from home to q (n_a,)."""
    robot.restart()
    for share in np.linspace(0.1, 1.0, 10):
        home = model.home_actuators
        status, _ = robot.call('forward', home + share * (q - home))
        assert status == 'ok'


def configuration(robot, model) -> PlatformMotion:
    """Where the C++ stands, as a motion of one sample at rest."""
    n = len(model.joint_names)
    joints, position, rotation = np.split(robot.at, [n, n + 3])
    still = np.zeros((1, 6))
    place = position[None], rotation.reshape(1, 3, 3)
    return PlatformMotion(*place, still, still, joints[None])


def assert_near(found, expected, exact=EXACT) -> None:
    size = np.abs(expected).max()
    np.testing.assert_allclose(found, np.ravel(expected), rtol=0, atol=exact * size)


@by_robot([*DRIVEN, *OTHERS])
def test_forces_and_regressor_are_those_of_python(robot) -> None:
    """At the very configuration that the C++ has found: both close their loops to 1e-11 only."""
    model, cpp = robot
    motion = random_motion(model, 5, seed=1, scale=0.5)
    states = model.actuator_states(motion)
    for k in range(len(motion)):
        moving = states.positions[k], states.velocities[k], states.accelerations[k]
        reach(cpp, model, moving[0])
        status, found = cpp.call('by_actuators', *moving, out=model.n_a)
        assert status == 'ok'
        same = model.motion_from_actuators(
            *(each[None] for each in moving), configuration(cpp, model)
        )
        assert_near(found, model.inverse_dynamics(same))
        regressor = model.regressor(same)[0]
        status, columns = cpp.call('columns', *moving, out=regressor.size)
        assert status == 'ok'
        assert_near(columns, regressor)
        status, found = cpp.call('at_rest', moving[0], out=model.n_a)
        still = np.zeros((1, model.n_a))
        rest = model.motion_from_actuators(moving[0][None], still, still, configuration(cpp, model))
        assert status == 'ok'
        assert_near(found, model.inverse_dynamics(rest))


@by_robot(['palida', 'ford', 'skew_hexapod', 'five_bar'])
def test_motions_of_the_platform(robot) -> None:
    model, cpp = robot
    motion = random_motion(model, 5, seed=2, scale=0.5)
    states = model.actuator_states(motion)
    for k in range(len(motion)):
        reach(cpp, model, states.positions[k])
        moving = motion.position[k], motion.rotation[k], motion.twist[k], motion.acceleration[k]
        status, found = cpp.call('by_platform', *moving, out=model.n_a)
        if not model.platform_determines_joints:
            assert status == 'not_available'
            continue
        assert status == 'ok'
        here = motion[[k]]
        place = here.position, here.rotation, here.twist, here.acceleration
        joints = cpp.at[None, : len(model.joint_names)]
        assert_near(found, model.inverse_dynamics(PlatformMotion(*place, joints)))


@by_robot(['palida', 'delta', 'h4', 'rps_upv'])
def test_kinematics_there_and_back(robot) -> None:
    model, cpp = robot
    states = model.actuator_states(random_motion(model, 5, seed=3, scale=0.5))
    for q in states.positions:
        reach(cpp, model, q)
        n = len(model.joint_names)
        position, rotation = model.forward_kinematics(q[None])
        np.testing.assert_allclose(cpp.at[n : n + 3], position[0], atol=1e-10)
        np.testing.assert_allclose(cpp.at[n + 3 :], rotation[0].ravel(), atol=1e-10)
        if model.platform_determines_joints:
            cpp.restart()
            middle = 0.5 * (position[0] + model.home_position)
            cpp.call('inverse', middle, model.home_rotation)
            status, _ = cpp.call('inverse', position[0], rotation[0])
            assert status == 'ok'
            index = [model.joint_names.index(name) for name in model.actuated_joints]
            np.testing.assert_allclose(cpp.at[index], q, atol=1e-10)


@by_robot(['palida', 'delta', 'five_bar'])
def test_what_cannot_be_is_said_and_changes_nothing(robot) -> None:
    model, cpp = robot
    cpp.restart()
    before = cpp.at.copy()
    q, still = np.array(model.home_actuators), np.zeros(model.n_a)
    bad = q.copy()
    bad[0] = np.nan
    assert cpp.call('forward', bad)[0] == 'not_finite'
    assert cpp.call('by_actuators', q, bad, still, out=model.n_a)[0] == 'not_finite'
    far = q + 100.0 * model.length_scale
    assert cpp.call('forward', far)[0] in ('too_far', 'not_converged', 'singular')
    np.testing.assert_array_equal(cpp.at, before)


@by_robot(['palida', 'rps_upv'])
def test_a_robot_that_is_led_out_of_reach_stays_at_its_end(robot) -> None:
    model, cpp = robot
    cpp.restart()
    way = 3.0 * model.length_scale * np.eye(model.n_a)[0]
    status, reached = 'ok', 0.0
    for share in np.linspace(0.0, 1.0, 400):
        status, _ = cpp.call('forward', model.home_actuators + share * way)
        if status != 'ok':
            break
        reached = share
    assert status in ('too_far', 'not_converged', 'singular', 'wrong_branch')
    assert 0.01 < reached < 1.0
    index = [model.joint_names.index(name) for name in model.actuated_joints]
    last = model.home_actuators + reached * way
    np.testing.assert_allclose(cpp.at[index], last, atol=1e-9)


def test_friction_laws_of_drives(tmp_path) -> None:
    from cpp_robot import CppRobot

    model = model_of('serial_arm')
    joints = model.actuated_joints
    laws = {
        'stribeck': {'force': 2.0, 'velocity': 0.05, 'exponent': 1.3},
        'atan': {'force': 1.5, 'slope': 20.0},
        'power': {'force': 3.0, 'exponent': 0.4},
    }
    values = {
        f'{joint}.{law}_{field}': value
        for joint, (law, fields) in zip(joints[:3], laws.items(), strict=True)
        for field, value in fields.items()
    }
    v0 = model.description.transition_velocity
    friction = DriveFriction.from_parameters(values, joints, v0)
    sources = build_cpp(model, friction, ['line one', 'line two'])
    name = model.description.name
    assert sources.files[f'{name}_model.cpp'].startswith('// line one\n// line two\n')
    cpp = CppRobot(sources.files, name, tmp_path)
    q, still = np.array(model.home_actuators), np.zeros(model.n_a)
    for speed in (0.0, 0.3 * v0, -0.7 * v0, 0.05, -0.4, 3.0):
        qd = np.full(model.n_a, speed)
        motion = model.motion_from_actuators(q[None], qd[None], still[None])
        expected = model.inverse_dynamics(motion) + friction.forces(qd[None])
        status, found = cpp.call('by_actuators', q, qd, still, out=model.n_a)
        assert status == 'ok'
        assert_near(found, expected)


@pytest.mark.parametrize('name', ['palida', 'delta'])
@pytest.mark.parametrize('compiler', COMPILERS)
def test_nothing_is_allocated_or_thrown(name, compiler, tmp_path) -> None:
    """The object needs mathematical functions alone: no memory, no exceptions, no output."""
    for file, text in build_cpp(model_of(name)).files.items():
        (tmp_path / file).write_text(text)
    assert foreign_symbols(tmp_path, f'{name}_model.cpp', compiler) == set()


def arm_with_memory() -> ClosedChainModel:
    """An arm whose friction depends on loads and on the past."""
    arm = model_of('skew_arm').description
    terms = {'joint1': {'presliding': 0.01}, 'joint2': {'warm_up': {'times': [60.0]}}}
    arm = pkm_description.with_drive_terms(arm, terms)
    return ClosedChainModel(pkm_description.with_load_friction(arm, {'joint3': 0.05}))


def parity(folder, files, name) -> str:
    """What the comparison with Python prints, its exit status at the end."""
    for file, text in files.items():
        (folder / file).write_text(text)
    sources = f'{name}_model.cpp', f'{name}_parity.cpp'
    build = [COMPILERS[-1], '-std=c++17', '-O1', *WARNINGS, *sources, '-o', 'parity']
    subprocess.run(build, cwd=folder, check=True)
    run = subprocess.run(['./parity'], cwd=folder, capture_output=True, text=True)
    return f'{run.stdout}{run.returncode}'


@pytest.mark.parametrize('name', ['palida', 'delta', 'geared_arm', 'rippling_five_bar'])
def test_the_program_beside_compares_with_python(name, tmp_path) -> None:
    model = model_of(name)
    name, files = model.description.name, build_cpp(model).files
    told = parity(tmp_path, files, name)
    assert told.endswith('\n0') and 'FAILED' not in told
    rows = 4 if model.platform_determines_joints else 3
    assert told.count('; 0 refused') == rows
    assert max(float(each) for each in re.findall(r': (\S+) of the largest', told)) < 1e-10


def test_a_compiled_model_of_another_robot_is_seen(tmp_path) -> None:
    model = model_of('delta')
    other = replace(model.description, gravity=1.00001 * model.description.gravity)
    files = {**build_cpp(ClosedChainModel(other)).files}
    files['delta_parity.cpp'] = build_cpp(model).files['delta_parity.cpp']
    told = parity(tmp_path, files, 'delta')
    assert told.endswith('\n1') and told.count('FAILED') == 3


def test_the_comparison_knows_friction_laws_and_leaves_out_what_cpp_does(tmp_path) -> None:
    model = arm_with_memory()
    name = model.description.name
    joint = model.actuated_joints[0]
    laws = {f'{joint}.atan_force': 1.5, f'{joint}.atan_slope': 20.0}
    v0 = model.description.transition_velocity
    friction = DriveFriction.from_parameters(laws, model.actuated_joints, v0)
    told = parity(tmp_path, build_cpp(model, friction).files, name)
    assert told.endswith('\n0')
    without = dict(build_cpp(model).files)
    without[f'{name}_parity.cpp'] = build_cpp(model, friction).files[f'{name}_parity.cpp']
    assert parity(tmp_path, without, name).endswith('\n1')


@pytest.mark.skipif(shutil.which('cmake') is None, reason='no CMake')
def test_the_package_builds_and_its_benchmark_runs(tmp_path) -> None:
    for file, text in build_cpp(model_of('five_bar')).files.items():
        (tmp_path / file).write_text(text)
    for command in (
        ['cmake', '-S', '.', '-B', 'build', '-DPKM_BENCHMARK=ON'],
        ['cmake', '--build', 'build'],
        ['ctest', '--test-dir', 'build', '--no-tests=error'],
        ['cmake', '--install', 'build', '--prefix', 'installed'],
    ):
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    assert (tmp_path / 'installed/include/five_bar_model.hpp').exists()
    assert list(tmp_path.glob('installed/lib*/**/five_bar_modelConfig.cmake'))
    run = subprocess.run(
        ['build/five_bar_benchmark', '1000'], cwd=tmp_path, check=True, capture_output=True
    )
    figures = r'(\S+) mean, (\S+) median, (\S+) 99.9 %, (\S+) 99.999 %, (\S+) worst of 1000\n'
    told = re.findall(figures, run.stdout.decode())
    assert told
    for mean, *quantiles in told:
        times = [float(each) for each in quantiles]
        assert 0.0 < times[0] and times == sorted(times) and float(mean) <= times[-1]


def test_robots_that_are_not_driven_in_full() -> None:
    with pytest.raises(ExportError, match='lower_joint, upper_joint'):
        build_cpp(ClosedChainModel(pkm_description.load('cart_pendulum')))


def test_what_is_left_out_is_named() -> None:
    losses = build_cpp(arm_with_memory()).losses
    assert [re.search(r"'(\w+)': (\S+)", line).groups() for line in losses] == [
        ('joint3', 'friction'),
        ('joint1', 'presliding'),
        ('joint2', 'warm-up'),
    ]
