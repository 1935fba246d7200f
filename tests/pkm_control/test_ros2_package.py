"""The ros2_control package: what it does without ROS against Python, and what it consists of."""

from __future__ import annotations

import ctypes
import os
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest
import yaml
from cpp_robot import COMPILERS, WARNINGS, pointer
from every_model import model_of
from ros2_build import build_package, found, installed

from pkm_control.control_types import ControllerOptions
from pkm_control.cpp_controller import ros2_control_package
from pkm_dynamics.cpp import build_cpp

compiled = pytest.mark.skipif(not COMPILERS, reason='no C++ compiler (g++ or clang++)')
CALLS = """
#include "{name}_chained.hpp"
using namespace pkm::{name};
namespace {{
ChainedController controller;
int code(const StepResult& result) {{
  return 100 * static_cast<int>(result.phase) + static_cast<int>(result.reason);
}}
}}
extern "C" {{
int activate(const double* q, const double* v) {{ return controller.activate(q, v); }}
void ask_stop() {{ controller.ask_stop(); }}
int update(double period, const double* q, double* reference, double* command) {{
  return code(controller.update(period, q, reference, command));
}}
void release(const double* q, double* command) {{ controller.release(q, command); }}
const char* invalid(double rise, double bound, double fault) {{
  ControllerOptions options;
  options.force_rise_time = rise;
  options.max_position_error = bound;
  options.fault_position_error = fault;
  return invalid_option(options);
}}
}}
"""
PHASES = ('off', 'holding', 'following', 'stopping', 'resting')
REASONS = {0: 'none', 1: 'asked', 7: 'bad_reference', 9: 'bad_state', 10: 'reference_ended'}
PERIOD = 1e-3
EXACT = 1e-9  # of the largest force: both close their loops to 1e-11 only
ROBOT = 'delta'


class Chained:
    """The controller between the interfaces of a chain, called from Python."""

    def __init__(self, folder) -> None:
        self.model = model_of(ROBOT)
        for file, text in ros2_control_package(build_cpp(self.model), self.model).files.items():
            (folder / file).write_text(text)
        (folder / 'calls.cpp').write_text(CALLS.format(name=ROBOT))
        command = [COMPILERS[0], '-std=c++17', '-O1', *WARNINGS, '-shared', '-fPIC']
        sources = [f'{ROBOT}_model.cpp', 'calls.cpp', '-o', 'chained.so']
        subprocess.run([*command, *sources], cwd=folder, check=True)
        self.library = ctypes.CDLL(str(folder / 'chained.so'))
        array = ctypes.POINTER(ctypes.c_double)
        self.library.update.argtypes = [ctypes.c_double, array, array, array]
        self.library.invalid.argtypes = [ctypes.c_double] * 3
        self.library.invalid.restype = ctypes.c_char_p
        self.n_a = self.model.n_a
        self.home = np.array(self.model.home_actuators)
        self.still = np.zeros(self.n_a)
        self.reference = np.zeros((self.n_a, 3))

    def activate(self, q=None, velocity=None) -> bool:
        q = np.array(self.home if q is None else q)
        velocity = np.array(self.still if velocity is None else velocity)
        return bool(self.library.activate(pointer(q), pointer(velocity)))

    def update(self, q=None, reference=None, period=PERIOD) -> tuple[str, str, np.ndarray]:
        """Phase, reason and command; a reference holds position, velocity, acceleration."""
        self.reference[:] = np.nan
        for column, values in enumerate(reference or ()):
            self.reference[:, column] = values
        q, command = np.array(self.home if q is None else q), np.zeros(self.n_a)
        given = pointer(q), pointer(self.reference), pointer(command)
        code = self.library.update(period, *given)
        assert np.isnan(self.reference).all()  # it is taken
        return PHASES[code // 100], REASONS[code % 100], command

    def release(self, q) -> np.ndarray:
        command = np.zeros(self.n_a)
        self.library.release(pointer(np.array(q)), pointer(command))
        return command

    def forces(self, q, qd=None, qdd=None) -> np.ndarray:
        """Of the model, by Python."""
        given = (self.still if each is None else each for each in (q, qd, qdd))
        motion = self.model.motion_from_actuators(*(np.array(each)[None] for each in given))
        return self.model.inverse_dynamics(motion)[0]


@pytest.fixture(scope='module')
def chained(tmp_path_factory):
    return Chained(tmp_path_factory.mktemp('chained'))


def assert_near(found, expected) -> None:
    np.testing.assert_allclose(found, expected, rtol=0, atol=EXACT * np.abs(expected).max())


def swing(chained, time):
    """Position, velocity, acceleration of a motion about home; measured is what is desired."""
    phase = 6.0 * time + np.arange(chained.n_a)
    position = chained.home + 0.02 * (np.sin(phase) - np.sin(np.arange(chained.n_a)))
    return position, 0.12 * np.cos(phase), -0.72 * np.sin(phase)


@compiled
def test_it_holds_follows_and_holds_again_by_the_forces_of_python(chained) -> None:
    assert chained.activate()
    phase, _, command = chained.update()
    assert phase == 'holding'
    assert_near(command, chained.forces(chained.home))
    for k in range(1, 30):
        reference = swing(chained, k * PERIOD)
        phase, reason, command = chained.update(reference[0], reference)
        assert (phase, reason) == ('following', 'none')
    assert_near(command, chained.forces(*reference))
    # Nobody writes any more: the motion goes on with its acceleration for 40 ms, then it stops.
    q, qd, qdd = reference
    for k in range(1, 40):
        age = k * PERIOD
        place = q + qd * age + 0.5 * qdd * age**2
        phase, reason, command = chained.update(place)
        assert (phase, reason) == ('following', 'none')
    assert_near(command, chained.forces(place, qd + qdd * age, qdd))
    chained.update(place)  # 40 ms, but for rounding
    assert chained.update(place)[:2] == ('stopping', 'reference_ended')


@compiled
def test_a_stop_ends_in_the_forces_that_hold(chained) -> None:
    assert chained.activate()
    reference = swing(chained, 0.0)
    assert chained.update(reference[0], reference)[0] == 'following'
    chained.library.ask_stop()
    q, qd = np.array(reference[0]), np.array(reference[1])
    place = q.copy()
    for k in range(402):
        u = min(k * PERIOD / 0.4, 1.0)
        place = q + 0.4 * (u - u**4 * (2.5 - 3.0 * u + u * u)) * qd
        phase, reason, command = chained.update(place, reference if k % 3 else None)
        assert reason == 'asked' and phase == ('stopping' if u < 1.0 else 'resting')
    assert_near(command, chained.forces(place))
    assert_near(chained.release(place), chained.forces(place))
    phase, _, command = chained.update(place)
    assert phase == 'off' and not command.any()


@compiled
def test_the_end_leaves_the_forces_that_hold_where_the_robot_is(chained) -> None:
    assert chained.activate()
    reference = swing(chained, 0.3)
    for _ in range(3):
        chained.update(reference[0], reference)
    assert_near(chained.release(reference[0]), chained.forces(reference[0]))
    assert chained.activate()
    unread = np.full(chained.n_a, np.nan)
    assert_near(chained.release(unread), chained.forces(chained.home))
    # It was off: nothing is left with the drives.
    assert not chained.release(chained.home).any()


@compiled
def test_a_moving_robot_comes_to_rest_and_holds(chained) -> None:
    speed = np.full(chained.n_a, 0.05)
    assert chained.activate(velocity=speed)
    for _ in range(500):
        phase, reason, command = chained.update(chained.home + 0.01)
    # Half of what it would have gone in the time of a stop: the profile is symmetric.
    assert (phase, reason) == ('holding', 'none')
    servo = command - chained.forces(chained.home + 0.01)
    assert np.abs(servo).max() < 1e-3 * np.abs(command).max()
    # A reference is followed at once.
    assert chained.activate(velocity=speed)
    reference = swing(chained, 0.0)
    assert chained.update(reference[0], reference)[0] == 'following'


@compiled
def test_references_that_are_written_in_part(chained) -> None:
    assert chained.activate()
    phase, _, command = chained.update(chained.home, (chained.home,))
    assert phase == 'following'
    assert_near(command, chained.forces(chained.home))
    for bad in (
        (chained.home, np.r_[np.nan, chained.still[1:]]),
        (np.r_[np.nan, chained.home[1:]],),
        (chained.home * np.inf,),
    ):
        assert chained.activate()
        assert chained.update(chained.home, (chained.home,))[0] == 'following'
        assert chained.update(chained.home, bad)[:2] == ('stopping', 'bad_reference')
    assert chained.activate()
    assert chained.update(chained.home, (chained.still * np.nan, chained.still))[0] == 'holding'


@compiled
def test_states_that_are_not_read(chained) -> None:
    assert chained.activate()
    _, _, before = chained.update()
    unread = np.r_[np.nan, chained.home[1:]]
    for _ in range(99):
        phase, reason, command = chained.update(unread)
        assert phase == 'holding' and np.array_equal(command, before)
    chained.update(unread)  # 0.1 s, but for rounding
    phase, reason, command = chained.update(unread)
    assert (phase, reason) == ('off', 'bad_state') and not command.any()
    assert chained.activate()
    chained.update()
    assert chained.update(period=0.2)[:2] == ('off', 'bad_state')
    assert not chained.activate(q=chained.home + 100.0)


@compiled
def test_options_that_cannot_be_are_named(chained) -> None:
    invalid = chained.library.invalid
    assert invalid(0.0, 0.05, 0.1) is None
    assert invalid(-1.0, 0.05, 0.1) == b'force_rise_time'
    assert invalid(np.nan, 0.05, 0.1) == b'force_rise_time'
    assert invalid(0.002, 0.0, 0.0) is None  # those of the joints
    assert invalid(0.002, -0.1, 0.1) == b'max_position_error'
    assert invalid(0.002, 0.0, 0.1) == b'max_position_error'
    assert invalid(0.002, 0.2, 0.1) == b'max_position_error'


def test_the_package_names_what_it_has() -> None:
    model = model_of('palida')
    options = ControllerOptions(stop_time=0.7)
    files = ros2_control_package(build_cpp(model), model, options=options).files
    assert all('@' not in text.replace('@example', '') for text in files.values())
    package = ElementTree.fromstring(files['package.xml']).findtext('name')
    plugin = ElementTree.fromstring(files['plugins.xml'])
    kind, base = plugin[0].get('type'), plugin[0].get('base_class_type')
    assert plugin.get('path') == package == 'pkm_palida_controller'
    assert f'{kind}, {base})' in files['palida_plugin.cpp']
    for name in ('palida_plugin.cpp', 'palida_model.cpp', 'plugins.xml', 'controllers.yaml'):
        assert name in files and name in files['CMakeLists.txt']
    settings = yaml.safe_load(files['controllers.yaml'])
    manager = settings['controller_manager']['ros__parameters']
    assert manager['palida_controller']['type'] == plugin[0].get('name')
    own = settings['palida_controller']['ros__parameters']
    assert own.pop('joints') == list(model.actuated_joints)
    assert own['stop_time'] == 0.7
    assert all(f'get_parameter("{key}")' in files['palida_plugin.cpp'] for key in own)
    following = settings['trajectory_controller']['ros__parameters']
    assert following['command_joints'] == [f'palida_controller/{j}' for j in model.actuated_joints]


HARNESS = """
cmake_minimum_required(VERSION 3.16)
project(harness CXX)
find_package(controller_interface REQUIRED)
find_package(pluginlib REQUIRED)
find_package(std_srvs REQUIRED)
add_executable(harness {source})
target_link_libraries(harness PRIVATE controller_interface::controller_interface
  pluginlib::pluginlib ${{std_srvs_TARGETS}})
install(TARGETS harness DESTINATION lib)
"""


def words(*values) -> str:
    """Numbers of a line for the harness."""
    return ' '.join(repr(float(each)) for value in values for each in np.ravel(value))


@pytest.mark.skipif(not found('controller_interface'), reason='no ros2_control was found')
def test_in_ros2_control_it_gives_the_same_forces(chained, tmp_path) -> None:
    """Loaded as a plug-in, driven by its interfaces, it is the controller without ROS."""
    model = chained.model
    files = ros2_control_package(build_cpp(model), model).files
    prefix = build_package(files, tmp_path / 'package', tmp_path / 'installed')
    harness = Path(__file__).parents[1] / 'helpers' / 'ros2_control_harness.cpp'
    build = {'CMakeLists.txt': HARNESS.format(source=harness)}
    build_package(build, tmp_path / 'harness', prefix)
    steps = [(0.0, None)] + [(k * PERIOD, swing(chained, k * PERIOD)) for k in range(1, 30)]
    unwritten = np.full((chained.n_a, 3), np.nan)
    lines = [f'activate {words(chained.home, chained.still)}']
    for _, reference in steps:
        q = chained.home if reference is None else reference[0]
        given = unwritten if reference is None else np.column_stack(reference)
        lines.append(f'update {words(PERIOD, q, given)}')
    lines += ['stop', f'update {words(PERIOD, q, unwritten)}', f'deactivate {words(q)}']
    lines += [f'activate {words(chained.home + 100.0, chained.still)}']
    plugin = 'pkm_delta_controller/ChainableController'
    run = subprocess.run(
        [prefix / 'lib/harness', plugin, 'delta_controller', *model.actuated_joints],
        input='\n'.join(lines),
        env=installed(os.environ, prefix),
        text=True,
        check=True,
        capture_output=True,
    )
    answers = [np.array(line.split(), dtype=float) for line in run.stdout.splitlines()]
    assert answers[0] == 1.0 and answers[-1] == 0.0
    updates, stopping = answers[1 : 1 + len(steps)], answers[2 + len(steps)]
    assert chained.activate()
    for (_, reference), (failed, allocations, phase, *efforts) in zip(steps, updates, strict=True):
        q = chained.home if reference is None else reference[0]
        expected, _, command = chained.update(q, reference)
        assert (failed, allocations, PHASES[int(phase)]) == (0.0, 0.0, expected)
        np.testing.assert_allclose(efforts, command, rtol=0, atol=1e-12 * np.abs(command).max())
    assert answers[1 + len(steps)] == 1.0 and PHASES[int(stopping[2])] == 'stopping'
    assert_near(answers[3 + len(steps)], chained.forces(q))
