"""The controller in C++: its servo against that of Python, and on the simulated robot."""

from __future__ import annotations

import ctypes
import subprocess

import numpy as np
import pytest
from cpp_robot import COMPILERS, WARNINGS, foreign_symbols, pointer
from every_model import model_of
from taught_motion import taught

from pkm_control.command_shaping import CommandLimits
from pkm_control.control_types import ControllerOptions
from pkm_control.cpp_controller import controller_headers, learned_header
from pkm_control.cpp_controller.learned_source import table_rows
from pkm_control.learning.learned_force import LearnedForce, Scope
from pkm_control.learning.repetition import FADE_TIME
from pkm_control.learning.watch import LearningWatch
from pkm_control.servo import JointServo
from pkm_dynamics.cpp import build_cpp
from pkm_dynamics.joint_servo.gains import servo_gains
from pkm_dynamics.simulation import PlantEffects, SimulatedPlant
from pkm_dynamics.trajectories import CircleTrajectory

pytestmark = pytest.mark.skipif(not COMPILERS, reason='no C++ compiler (g++ or clang++)')
CALLS = """
#include "{name}_controller.hpp"
#include "{name}_learned.hpp"
using namespace pkm::{name};
namespace {{
Controller controller;
LearnedForces forces;
const ForceTable& table_of(int which) {{ return which == 0 ? learned::table : learned::lead_in; }}
}}
extern "C" {{
void row(int which, double time, double* out) {{ table_of(which).at(time, out); }}
void begin() {{ forces.begin(); }}
int added(int which, double time, double weight, double interval, const double* error,
          double* out) {{
  const bool adds = which >= 0 && forces.add(table_of(which), time, weight);
  forces.forces(true, out);
  forces.take(interval, error);
  return 2 * static_cast<int>(adds) + static_cast<int>(forces.harmful());
}}
int add(double time) {{ return static_cast<int>(controller.add(learned::table, time)); }}
int activate(double time, const double* q) {{ return controller.activate(time, q); }}
void stop() {{ controller.stop(); }}
int step(double time, const double* q, const double* reference, double* out) {{
  Reference wanted;
  const StepResult result = controller.step(
      time, q, reference == nullptr ? nullptr : &wanted, out);
  (void)wanted;
  return 1000 * static_cast<int>(result.phase) + 100 * static_cast<int>(result.saturated) +
         static_cast<int>(result.reason);
}}
int follow(double time, const double* q, const double* reference, double* out) {{
  Reference wanted;
  for (int a = 0; a < actuators; ++a) {{
    wanted.position[a] = reference[a];
    wanted.velocity[a] = reference[actuators + a];
    wanted.acceleration[a] = reference[2 * actuators + a];
  }}
  const StepResult result = controller.step(time, q, &wanted, out);
  return 1000 * static_cast<int>(result.phase) + 100 * static_cast<int>(result.saturated) +
         static_cast<int>(result.reason);
}}
double share() {{ return controller.bandwidth_share(); }}
}}
"""
PHASES = ('off', 'holding', 'following', 'stopping', 'resting')
REASONS = (
    *('none', 'asked', 'tracking_bound', 'tracking_fault', 'stroke_left', 'overspeed'),
    *('model_failed', 'bad_reference', 'runaway', 'bad_state', 'reference_ended'),
)


class CppController:
    """One controller, called from Python."""

    def __init__(self, model, folder) -> None:
        name = model.description.name
        files = {**build_cpp(model).files, **controller_headers(model)}
        files |= learned_header(model, taught(model))
        for file, text in files.items():
            (folder / file).write_text(text)
        (folder / 'calls.cpp').write_text(CALLS.format(name=name))
        command = [COMPILERS[0], '-std=c++17', '-O1', *WARNINGS, '-shared', '-fPIC']
        sources = [f'{name}_model.cpp', 'calls.cpp', '-o', 'controller.so']
        subprocess.run([*command, *sources], cwd=folder, check=True)
        self._library = ctypes.CDLL(str(folder / 'controller.so'))
        for function in (self._library.step, self._library.follow, self._library.activate):
            function.argtypes = [ctypes.c_double, *[ctypes.POINTER(ctypes.c_double)] * 3]
        self._library.activate.argtypes = [ctypes.c_double, ctypes.POINTER(ctypes.c_double)]
        self._library.share.restype = ctypes.c_double
        self.n_a = model.n_a

    def activate(self, time, q) -> bool:
        return bool(self._library.activate(time, pointer(np.array(q))))

    def step(self, time, q, reference=None) -> tuple[str, str, bool, np.ndarray]:
        """Phase, reason, whether a force is at a limit, and the command."""
        out, measured = np.zeros(self.n_a), np.array(q, dtype=float)
        if reference is None:
            code = self._library.step(time, pointer(measured), None, pointer(out))
        else:
            wanted = np.concatenate(reference)
            code = self._library.follow(time, pointer(measured), pointer(wanted), pointer(out))
        return PHASES[code // 1000], REASONS[code % 100], bool(code // 100 % 10), out

    def row(self, which: int, time: float) -> np.ndarray:
        """Row of a table: of the period, or of the way in (1)."""
        out = np.zeros(4 * self.n_a)
        self._library.row(which, ctypes.c_double(time), pointer(out))
        return out

    def begin(self) -> None:
        self._library.begin()

    def added(self, which, time, weight, interval, error) -> tuple[bool, bool, np.ndarray]:
        """Whether forces were added, whether they do harm, and those of the cycle."""
        out, numbers = np.zeros(self.n_a), map(ctypes.c_double, (time, weight, interval))
        code = self._library.added(which, *numbers, pointer(np.array(error)), pointer(out))
        return bool(code // 2), bool(code % 2), out

    def add(self, time: float) -> bool:
        return bool(self._library.add(ctypes.c_double(time)))

    def stop(self) -> None:
        self._library.stop()

    @property
    def share(self) -> float:
        return self._library.share()


@pytest.mark.parametrize('compiler', COMPILERS)
def test_nothing_is_allocated_or_thrown(compiler, tmp_path) -> None:
    """By the controller's whole step and the learned forces, as by the model below them."""
    model = model_of('palida')
    files = {**build_cpp(model).files, **controller_headers(model)}
    files |= learned_header(model, taught(model))
    for file, text in files.items():
        (tmp_path / file).write_text(text)
    (tmp_path / 'calls.cpp').write_text(CALLS.format(name='palida'))
    assert foreign_symbols(tmp_path, 'calls.cpp', compiler) == set()


@pytest.fixture(scope='module')
def palida(tmp_path_factory):
    model = model_of('palida')
    return model, CppController(model, tmp_path_factory.mktemp('controller'))


def test_tables_are_those_of_python(palida) -> None:
    model, cpp = palida
    known = taught(model)
    scale = 1.0 / np.sqrt(known.watched_noise)
    tables = [
        LearnedForce(scope, known.interval, table_rows(force, expected, scale))
        for scope, force, expected in (
            (Scope.PERIOD, known.force, known.expected),
            (Scope.MOTION, known.lead_in.force, known.lead_in.expected),
        )
    ]
    for which, table in enumerate(tables):
        span = known.interval * len(table.values)
        for time in [0.0, span, *np.random.default_rng(1).uniform(-2.0 * span, 3.0 * span, 40)]:
            np.testing.assert_allclose(cpp.row(which, time), table.at(time), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize('change', [0.0, -0.8, 2.0])
def test_the_watch_is_that_of_python(palida, change: float) -> None:
    """As expected; of a robot that does not need the force, or answers otherwise: then it fades."""
    model, cpp = palida
    known, random = taught(model), np.random.default_rng(3)
    noise = known.watched_noise
    given = Scope.PERIOD, known.interval, known.expected, noise
    watch = LearningWatch(*given)
    tables = [
        LearnedForce(Scope.PERIOD, known.interval, each)
        for each in (known.force, known.expected.error, known.expected.effect)
    ]
    interval, left, harms = 1e-3, 1.0, []
    cpp.begin()
    for cycle in range(150):
        time = cycle * interval
        force, error, effect = (each.at(time) for each in tables)
        error = error + change * effect + random.normal(size=model.n_a) * np.sqrt(noise / 1e-3)
        adds, harm, found = cpp.added(0, time, 1.0, interval, error)
        fade = left**2 * (3.0 - 2.0 * left)
        np.testing.assert_allclose(found, fade * force, rtol=1e-9, atol=1e-9)
        harms.append(harm)
        if left < 1.0 or watch.does_harm(interval, time, time, 1.0, error):
            left = max(left - interval / FADE_TIME, 0.0)
        assert harm == (left < 1.0) and adds == (left == 1.0 or harms.index(True) == cycle)
    assert left == pytest.approx(0.0 if change else 1.0, abs=1e-12)
    cpp.begin()
    assert cpp.added(0, 0.0, 1.0, interval, np.zeros(model.n_a))[:2] == (True, False)


def test_forces_that_nobody_adds_fade_and_those_that_cannot_be_are_none(palida) -> None:
    model, cpp = palida
    still = np.zeros(model.n_a)
    cpp.begin()
    for time, weight in ((np.nan, 1.0), (0.0, -0.1), (0.0, 1.1), (0.0, np.nan)):
        adds, _, force = cpp.added(0, time, weight, 1e-3, still)
        assert not adds and not force.any()
    cpp.begin()
    _, _, first = cpp.added(0, 0.0, 0.5, 1e-3, still)
    np.testing.assert_allclose(first, 0.5 * taught(model).force[0])
    faded = np.array([cpp.added(-1, 0.0, 0.0, 1e-3, still)[2] for _ in range(110)])
    share = faded @ first / (first @ first)
    assert np.all(np.diff(share) <= 1e-12) and share[0] > 0.99 and not faded[-1].any()
    assert np.abs(np.diff(share)).max() < 1.6e-3 / FADE_TIME


def test_the_controller_adds_them_while_it_follows(palida) -> None:
    model, cpp = palida
    home, still = np.array(model.home_actuators), np.zeros(model.n_a)
    force = taught(model).force[0]
    steady = []
    for adds in (False, True):
        assert cpp.activate(0.0, home)
        for cycle in range(1, 60):
            if adds:
                assert cpp.add(0.0)
            command = cpp.step(1e-3 * cycle, home, (home, still, still))[3]
        steady.append(command)
    np.testing.assert_allclose(steady[1] - steady[0], force, atol=1e-9)
    cpp.stop()
    for cycle in range(60, 180):
        cpp.add(0.0)
        command = cpp.step(1e-3 * cycle, home)[3]
    np.testing.assert_allclose(command, steady[0], atol=1e-9)


def circle(model) -> CircleTrajectory:
    return CircleTrajectory([*model.home_position, 0, 0, 0], [0.3, 0.2, 1.0], 0.05, 0.3)


def references(model, time) -> list[tuple[np.ndarray, ...]]:
    """Circle from its first point on: positions, velocities, accelerations of the actuators."""
    trajectory = circle(model)
    states = model.actuator_states(trajectory.motion(np.mod(time, trajectory.period), model))
    return list(zip(*states, strict=True))


def test_commands_are_those_of_python(palida) -> None:
    """With samples that come evenly, late, twice and with noise, and forces at their limits."""
    model, cpp = palida
    random = np.random.default_rng(2)
    intervals = np.concatenate([np.full(60, 1e-3), random.uniform(5e-4, 0.03, 40), [0.0, 1e-3]])
    time = np.cumsum(intervals)
    wanted = references(model, time)
    servo, options = JointServo(servo_gains(model)), ControllerOptions()
    limits = CommandLimits(model.force_limit, options.force_rise_time)
    assert cpp.activate(0.0, wanted[0][0])
    clamped = 0
    for interval, now, (q, qd, qdd) in zip(intervals, time, wanted, strict=True):
        error = 2e-3 * random.normal(size=model.n_a)
        feedback = servo.feedback(interval, error)
        motion = model.motion_from_actuators(q[None], qd[None], qdd[None])
        force = model.inverse_dynamics(motion)[0] + feedback
        expected = limits.command(interval, force)
        phase, reason, saturated, found = cpp.step(now, q - error, (q, qd, qdd))
        assert (phase, reason) == ('following', 'none')
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * np.abs(force).max())
        assert cpp.share == pytest.approx(servo.bandwidth_share, rel=1e-9)
        assert saturated == bool(np.any(expected != force))
        clamped += saturated
    assert 0 < clamped < len(time)


class Run:
    """The simulated robot under the C++ controller."""

    def __init__(self, palida) -> None:
        self.model, self.cpp = palida
        effects = PlantEffects.from_description(self.model.description)
        self.plant = SimulatedPlant(self.model.description, effects, seed=3)
        self.sample = self.plant.sample
        assert self.cpp.activate(self.sample.time, self.sample.positions)

    def cycle(self, reference=None):
        phase, reason, _, command = self.cpp.step(
            self.sample.time, self.sample.positions, reference
        )
        self.sample = self.plant.step(command)
        return phase, reason

    def to_circle(self) -> None:
        """To the first point of the circle, smoothly, with its speed at the end left out."""
        begin = references(self.model, np.array([0.0]))[0][0]
        start = np.array(self.sample.positions)
        for k in range(1, 501):
            u = k / 500
            blend = u**3 * (10 - 15 * u + 6 * u**2)
            slope, bend = 60 * u**2 * (1 - u) ** 2, 240 * u * (1 - u) * (1 - 2 * u)
            way = begin - start
            assert self.cycle((start + blend * way, slope * way, bend * way))[0] == 'following'


def test_it_follows_a_circle_stops_and_holds(palida) -> None:
    run = Run(palida)
    for _ in range(100):
        assert run.cycle() == ('holding', 'none')
    held = np.array(run.sample.truth_positions)
    assert np.abs(held - run.model.home_actuators).max() < 1e-3
    run.to_circle()
    time = np.arange(1, 1201) * 1e-3
    errors = []
    for reference in references(run.model, time):
        assert run.cycle(reference)[0] == 'following'
        errors.append(reference[0] - run.sample.truth_positions)
    assert np.sqrt(np.mean(np.square(errors[200:]))) < 1e-3
    run.cpp.stop()
    phases = [run.cycle()[0] for _ in range(600)]
    assert phases[0] == 'stopping' and phases[-1] == 'resting'
    assert phases.index('resting') <= 402
    assert np.abs(run.sample.truth_velocities).max() < 5e-3
    rest = np.array(run.sample.truth_positions)
    for _ in range(200):
        assert run.cycle(references(run.model, np.array([0.0]))[0])[0] == 'resting'
    assert np.abs(run.sample.truth_positions - rest).max() < 1e-3


def test_bounds_stop_it_and_invalid_states_turn_it_off(palida) -> None:
    model, cpp = palida
    home, still = np.array(model.home_actuators), np.zeros(model.n_a)
    away = np.eye(model.n_a)[0]

    def started() -> None:
        assert cpp.activate(0.0, home)
        assert cpp.step(1e-3, home, (home, still, still))[:2] == ('following', 'none')

    started()
    assert cpp.step(2e-3, home - 0.06 * away, (home, still, still))[:2] == (
        'stopping',
        'tracking_bound',
    )
    started()
    assert cpp.step(2e-3, home - 0.11 * away, (home, still, still))[:2] == (
        'stopping',
        'tracking_fault',
    )
    # It brakes from where it is measured: the error is gone, until somebody pushes it again.
    assert cpp.step(3e-3, home - 0.11 * away)[0] == 'stopping'
    phase, reason, _, command = cpp.step(4e-3, home + 0.11 * away)
    assert (phase, reason) == ('off', 'runaway') and not command.any()
    assert cpp.step(5e-3, home)[:2] == ('off', 'runaway')
    started()
    assert cpp.step(2e-3, home, (home, still, still * np.nan))[1] == 'bad_reference'
    started()
    unreachable = home + 5.0 * away
    assert cpp.step(2e-3, home, (unreachable, still, still))[:2] == ('stopping', 'model_failed')
    for bad in (home * np.nan, home):
        started()
        late = 2e-3 if np.isnan(bad).any() else 0.5
        phase, reason, _, command = cpp.step(late, bad, (home, still, still))
        assert (phase, reason) == ('off', 'bad_state') and not command.any()
    started()
    assert cpp.step(0.5e-3, home, (home, still, still))[:2] == ('off', 'bad_state')
    assert not cpp.activate(0.0, home + 5.0 * away)
    assert cpp.step(1e-3, home)[0] == 'off'


def test_gains_and_options_are_those_that_are_given() -> None:
    model = model_of('five_bar')
    gains = servo_gains(model, 20.0, 0.5)
    texts = controller_headers(model, gains, ControllerOptions(stop_time=0.7))
    text = texts['five_bar_controller.hpp']
    assert '@' not in texts['five_bar_force_table.hpp']
    assert 'double stop_time = 0.7;' in text and '@' not in text
    assert repr(float(gains.proportional[0])) in text
