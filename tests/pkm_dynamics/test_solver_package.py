"""Package with a plugin of inverse_dynamics_solver: its files and, where it builds, its forces."""

from __future__ import annotations

import os
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest
from every_model import model_of
from ros2_build import build_package, found, installed

from pkm_dynamics.cpp import build_solver
from pkm_dynamics.random_motion import random_motion

HARNESS = """
cmake_minimum_required(VERSION 3.16)
project(harness CXX)
find_package(Eigen3 REQUIRED)
find_package(inverse_dynamics_solver REQUIRED)
find_package(pluginlib REQUIRED)
find_package(rclcpp REQUIRED)
add_executable(harness {source})
target_compile_features(harness PRIVATE cxx_std_17)
target_include_directories(harness SYSTEM PRIVATE ${{inverse_dynamics_solver_INCLUDE_DIRS}})
target_link_libraries(harness PRIVATE Eigen3::Eigen pluginlib::pluginlib rclcpp::rclcpp)
install(TARGETS harness DESTINATION lib)
"""


def test_the_package_names_what_it_has() -> None:
    files = build_solver(model_of('palida')).files
    assert all('@' not in text.replace('@example', '') for text in files.values())
    package = ElementTree.fromstring(files['package.xml']).findtext('name')
    plugin = ElementTree.fromstring(files['plugins.xml'])
    assert plugin.get('path') == package == 'pkm_palida_solver'
    kind, base = plugin[0].get('type'), plugin[0].get('base_class_type')
    assert f'{kind}, {base})' in files['palida_plugin.cpp']
    assert not {'palida_benchmark.cpp', 'palida_parity.cpp'} & set(files)
    for name in ('palida_plugin.cpp', 'palida_model.cpp', 'plugins.xml'):
        assert name in files and name in files['CMakeLists.txt']


@pytest.mark.skipif(
    not found('inverse_dynamics_solver'), reason='no inverse_dynamics_solver was found'
)
def test_its_parts_are_those_of_python(tmp_path) -> None:
    model = model_of('palida')
    prefix = tmp_path / 'installed'
    build_package(build_solver(model).files, tmp_path / 'package', prefix)
    source = Path(__file__).parents[1] / 'helpers' / 'solver_harness.cpp'
    build = {'CMakeLists.txt': HARNESS.format(source=source)}
    build_package(build, tmp_path / 'harness', prefix)
    states = model.actuator_states(random_motion(model, 1, seed=4, scale=0.5))
    q, qd, qdd = (each[0] for each in (states.positions, states.velocities, states.accelerations))
    run = subprocess.run(
        [prefix / 'lib/harness', 'pkm_palida_solver/InverseDynamicsSolver', str(model.n_a)],
        input=' '.join(repr(float(each)) for each in (*q, *qd, *qdd)),
        env=installed(os.environ, prefix),
        text=True,
        check=True,
        capture_output=True,
    )
    n = model.n_a
    answered = np.array(run.stdout.split(), dtype=float)
    inertia = answered[: n * n].reshape(n, n)
    coriolis, gravity, friction, torques = answered[n * n :].reshape(4, n)

    def forces(at, velocity, acceleration):
        given = (np.array(each)[None] for each in (at, velocity, acceleration))
        return model.inverse_dynamics(model.motion_from_actuators(*given))[0]

    still = np.zeros(n)
    size = np.abs(torques).max()
    near = {'rtol': 0, 'atol': 1e-9 * size}  # both close their loops to 1e-11 only
    np.testing.assert_allclose(torques, forces(q, qd, qdd), **near)
    np.testing.assert_allclose(gravity, forces(q, still, still), **near)
    np.testing.assert_allclose(inertia, inertia.T, rtol=0, atol=1e-9 * np.abs(inertia).max())
    inertial = forces(q, qd, qdd) - forces(q, qd, still)
    np.testing.assert_allclose(inertia @ qdd, inertial, **near)
    home = model.home_actuators
    odd = 0.5 * (forces(home, qd, still) - forces(home, -qd, still))
    np.testing.assert_allclose(friction, odd, **near)
    even = 0.5 * (forces(q, qd, still) + forces(q, -qd, still)) - gravity
    np.testing.assert_allclose(coriolis, even, **near)
