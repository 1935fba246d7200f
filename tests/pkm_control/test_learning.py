"""Iterative learning: the inverse of the servo loop, the law, its watch and its file."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from every_model import model_of

from pkm_control.closed_loop import run_closed_loop
from pkm_control.controller import TrajectoryController
from pkm_control.feedforward import nominal_feedforward
from pkm_control.learning.learned_force import LearnedForce, LearningError, Scope, along, motion_key
from pkm_control.learning.learning_file import load_learning, save_learning
from pkm_control.learning.learning_grid import learning_grid
from pkm_control.learning.learning_law import LearningOptions, Verdict, learned_from
from pkm_control.learning.loop_inverse import (
    Deviation,
    ServoTiming,
    contraction,
    trusted_cutoff,
    zero_phase,
)
from pkm_control.learning.repetition import FADE_TIME, RecordedRepetition, Repetition
from pkm_control.learning.watch import (
    LIMIT,
    UNKNOWN,
    Expectation,
    LeadIn,
    LearningWatch,
    least_noise,
    noise_density,
)
from pkm_description import Payload, with_payload
from pkm_dynamics.joint_servo.gains import servo_gains
from pkm_dynamics.simulation import PlantEffects, SimulatedPlant
from pkm_dynamics.trajectories import Execution, FourierTrajectory, PointToPoint

ROBOT = 'five_bar'
MODEL = model_of(ROBOT)
SERVO = ServoTiming(servo_gains(MODEL), 1e-3)
FEEDFORWARD = nominal_feedforward(MODEL, friction=False)  # what is learned is the friction


def there_and_back(duration: float = 0.4) -> PointToPoint:
    home = np.array(MODEL.home_actuators)
    points = [home, home + [0.25, -0.15], home]
    names = MODEL.actuated_joints
    return PointToPoint([0.0, duration, 2 * duration], points, 'actuators', names)


def swing() -> FourierTrajectory:
    home, names = np.array(MODEL.home_actuators), MODEL.actuated_joints
    return FourierTrajectory(0.5, home, [[0.1], [0.0]], [[0.0], [0.08]], 'actuators', names)


def execution(scope: Scope) -> Execution:
    home = MODEL.home_actuators
    if scope is Scope.MOTION:
        return Execution(there_and_back(), start=home)
    return Execution(swing(), periods=3, ramp_time=0.3, start=home)


@pytest.mark.parametrize('scope', Scope)
def test_a_table_is_on_lines_between_its_points(scope: Scope) -> None:
    table = LearnedForce(scope, 0.5, np.array([[0.0], [1.0], [3.0]]))
    assert table.at(0.75) == pytest.approx(2.0)
    after = {Scope.MOTION: 0.0, Scope.PERIOD: 1.5}[scope]  # at rest, or on the way to the begin
    assert table.at(1.25) == pytest.approx(after)
    assert table.at(-0.25) == pytest.approx(after)


def test_a_period_fades_in_with_the_speed_and_a_motion_begins_behind_the_approach() -> None:
    periodic, whole = execution(Scope.PERIOD), execution(Scope.MOTION)
    begin = periodic.ramp_start
    assert along(periodic, Scope.PERIOD, begin + 0.15)[1] == pytest.approx(0.5)
    time, weight = along(periodic, Scope.PERIOD, periodic.run_start + 0.7)
    assert (time, weight) == (pytest.approx(0.7), 1.0)
    assert along(whole, Scope.MOTION, whole.ramp_start + 0.1) == (pytest.approx(0.1), 1.0)
    assert along(periodic, Scope.MOTION, begin - 0.1)[1] == 0.0


@pytest.mark.parametrize('scope', Scope)
def test_the_inverse_of_the_loop_undoes_its_answer(scope: Scope) -> None:
    grid = learning_grid(MODEL, FEEDFORWARD, SERVO, execution(scope), scope)
    time = np.linspace(0.0, 1.0, grid.count)
    wave = np.sin(2 * np.pi * 3 * time) * np.sin(np.pi * time) ** 4
    force = np.stack([2.0 * wave, -wave], axis=1)
    found = grid.force(grid.effect(force))
    np.testing.assert_allclose(found, force, atol=0.02)


def test_the_answer_to_a_force_is_that_of_the_simulated_robot() -> None:
    grid = learning_grid(MODEL, FEEDFORWARD, SERVO, execution(Scope.MOTION), Scope.MOTION)
    time = np.linspace(0.0, 1.0, grid.count)
    force = np.stack([np.sin(np.pi * time) ** 4, np.zeros_like(time)], axis=1)
    table = LearnedForce(Scope.MOTION, grid.interval, force)
    without, with_force = (repeated(there_and_back(), each)[0] for each in (None, table))
    change = grid.of(without.time, without.error) - grid.of(with_force.time, with_force.error)
    expected = grid.effect(force)
    assert np.abs(change - expected).max() < 0.1 * np.abs(expected).max()


def repeated(trajectory, table=None, description=None, begin=None, before_step=None, ramp_time=0.3):
    """One repetition on the simulated robot: what was recorded, and the repetition."""
    plant_of = description or MODEL.description
    effects = PlantEffects.from_description(plant_of).switched(
        force_noise=False, position_noise=False, quantisation=False
    )
    controller = TrajectoryController(MODEL, SERVO.gains, FEEDFORWARD)
    made = []

    def repetition_of(plan: Execution) -> Repetition:
        of = Scope.MOTION if trajectory.period is None else Scope.PERIOD
        made.append(Repetition(plan, of, MODEL.n_a, table) if begin is None else begin(plan))
        return made[0]

    how = (1 if trajectory.period is None else 3, 0.3, 1.0, 0.05)
    run_closed_loop(
        SimulatedPlant(plant_of, effects, 0),
        controller,
        trajectory,
        *how,
        before_step=before_step,
        repetition_of=repetition_of,
    )
    return made[0].recorded(), made[0]


def size(values) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


@pytest.fixture(scope='module')
def learned():
    """Errors of three repetitions on the simulated robot, and what they have taught."""
    errors, state = [], None
    for _ in range(3):
        begin = None if state is None else state.repetition
        heard, repetition = repeated(there_and_back(), begin=begin)
        assert not repetition.spoiled and not repetition.harmful
        plan = repetition.execution
        key = motion_key(MODEL, plan, FEEDFORWARD, Scope.MOTION)
        state = learned_from(MODEL, FEEDFORWARD, SERVO, plan, key, state, heard)
        errors.append(size(heard.error[heard.time > plan.ramp_start]))
    return errors, state, key


def test_repetitions_learn_the_friction_that_the_model_lacks(learned) -> None:
    errors, state, _ = learned
    assert errors[1] < 0.5 * errors[0] and errors[2] < 0.5 * errors[0]
    in_band = [each.rms for each in state.history]
    assert in_band[1] < 0.3 * in_band[0] and in_band[2] < 1.1 * in_band[1]
    assert [each.verdict for each in state.history] == [Verdict.FIRST, *[Verdict.LEARNED] * 2]
    # Where a drive moves steadily its friction is what is missing.
    friction = [MODEL.description.joint(name).friction for name in MODEL.actuated_joints]
    for axis, each in enumerate(friction):
        steady = np.abs(state.velocities[:, axis]) > 0.5 * np.abs(state.velocities[:, axis]).max()
        forwards = steady & (state.velocities[:, axis] > 0.0)
        backwards = steady & (state.velocities[:, axis] < 0.0)
        width = state.force[forwards, axis].mean() - state.force[backwards, axis].mean()
        speed = np.abs(state.velocities[steady, axis]).mean()
        expected = sum(each.levels) + 2.0 * each.viscous * speed
        assert width == pytest.approx(expected, rel=0.25)


def test_a_force_learned_with_a_payload_is_taken_away_without_it(learned) -> None:
    _, state, _ = learned
    heavy = with_payload(MODEL.description, Payload(2.0, np.zeros(3), 0.0))
    plan = execution(Scope.MOTION)
    key = state.key
    loaded, _ = repeated(there_and_back(), begin=state.repetition, description=heavy)
    with_it = learned_from(MODEL, FEEDFORWARD, SERVO, plan, key, state, loaded)
    assert with_it.history[-1].verdict is Verdict.CHANGED
    better, _ = repeated(there_and_back(), begin=with_it.repetition, description=heavy)
    late = loaded.time > plan.ramp_start + 0.3  # what acted before has taught nothing
    assert size(better.error[late]) < 0.3 * size(loaded.error[late])
    gone, repetition = repeated(there_and_back(), begin=with_it.repetition)
    assert repetition.harmful and not np.any(gone.applied[-50:])
    anew = learned_from(MODEL, FEEDFORWARD, SERVO, plan, key, with_it, gone)
    assert anew.history[-1].harmful and anew.history[-1].verdict is Verdict.WORSE
    assert np.abs(anew.force).max() < np.abs(with_it.force).max()


def test_a_motion_that_is_stopped_or_slower_teaches_nothing() -> None:
    def stop(elapsed, controller):
        if elapsed > 0.5:
            controller.stop()

    def slower(elapsed, controller):
        if elapsed > 0.5:
            controller.set_rate(0.5)

    for disturb in (stop, slower):
        _, repetition = repeated(there_and_back(0.3), before_step=disturb)
        assert repetition.spoiled


def test_gaps_and_forces_at_their_limits_teach_nothing() -> None:
    plan, zero = execution(Scope.MOTION), np.zeros(2)
    for later, saturated in ((0.05, False), (0.002, True)):
        repetition = Repetition(plan, Scope.MOTION, 2)
        repetition.take(0.0, 1.0, zero, zero)
        assert not repetition.spoiled
        repetition.take(later, 1.0, zero, zero, saturated)
        assert repetition.spoiled


WATCHED = 1e-3 * np.arange(4000)  # [s]
EFFECT = 3e-5 * np.sin(2 * np.pi * 0.5 * WATCHED)[:, None] * [1.0, -0.5]  # [m]
NOISE = np.array([4e-12, 1e-12])  # [m^2 s]


def alarm(errors, alone=1e-3, noise=NOISE) -> int | None:
    """Cycle in which the watch of a table like `EFFECT` calls errors harmful."""
    zero = np.zeros_like(EFFECT)
    watch = LearningWatch(Scope.MOTION, 1e-3, Expectation(zero, EFFECT, alone + zero), noise)
    for cycle, (time, error) in enumerate(zip(WATCHED, errors, strict=True)):
        if watch.does_harm(1e-3, time, time, 1.0, error):
            return cycle
    return None


@pytest.mark.parametrize('seed', range(3))
def test_the_watch_bounds_the_harm_and_is_silent_without_it(seed: int) -> None:
    """A false alarm in 4000 cycles has a chance below 4e-5 by Wald's inequality."""
    white = np.random.default_rng(seed).normal(size=EFFECT.shape) * np.sqrt(NOISE / 1e-3)
    assert alarm(white) is None
    assert alarm(white - 0.2 * EFFECT) is None  # much better than without the force
    for gone in (0.7, 1.0, 3.0):
        errors = white - gone * EFFECT
        when = alarm(errors)
        assert when is not None
        before = slice(0, when)
        with_it, without = np.square(errors)[before], np.square(errors + EFFECT)[before]
        assert 1e-3 * np.sum((with_it - without) / NOISE) <= 2.0 * LIMIT


def test_the_watch_sees_a_robot_that_answers_the_other_way() -> None:
    alone = EFFECT
    assert alarm(0.9 * alone, alone) is None  # of little use, no harm
    assert alarm(2.0 * alone, alone) is not None


def test_the_noise_is_the_density_of_what_changes() -> None:
    random, interval = np.random.default_rng(7), 2e-3
    white = random.normal(size=(20_000, 2)) * np.sqrt([4e-12, 1e-12]) / np.sqrt(interval)
    found = noise_density(white, interval)
    # the largest of some thousand means of nine segments
    assert np.all((found > [4e-12, 1e-12]) & (found < [2e-11, 5e-12]))


def test_an_uncertain_effect_and_a_small_harm_never_reach_the_limit() -> None:
    """The largest harm of an error in proportion to a new effect is its own square."""
    new, expected = EFFECT, np.full_like(EFFECT, 1e-6)
    floor = least_noise(expected, new, 1e-3)
    harm = np.sum((np.square(UNKNOWN * new) / floor) * 1e-3)
    assert harm <= 2.0 * LIMIT * 2  # drives
    assert np.all(floor > least_noise(expected, 0.0 * new, 1e-3))


@pytest.fixture(scope='module')
def swinging():
    """Learn a period with a payload."""
    heavy = with_payload(MODEL.description, Payload(2.0, np.zeros(3), 0.0))
    heard, repetition = repeated(swing(), description=heavy)
    plan = repetition.execution
    key = motion_key(MODEL, plan, FEEDFORWARD, Scope.PERIOD)
    return learned_from(MODEL, FEEDFORWARD, SERVO, plan, key, None, heard)


def test_a_period_learned_with_a_payload_fades_in_the_ramp_without_it(swinging) -> None:
    state = swinging
    alone, _ = repeated(swing())
    gone, repetition = repeated(swing(), begin=state.repetition)
    assert repetition.harmful
    plan = repetition.execution
    faded = gone.time[np.flatnonzero(np.any(gone.applied, axis=1))[-1]]
    assert faded < plan.run_start + FADE_TIME
    run = (gone.time > plan.run_start) & (gone.time < plan.run_end)
    assert size(gone.error[run]) < 1.1 * size(alone.error[run])


def test_with_other_ramps_a_period_fades_in_along_its_second_round(swinging) -> None:
    state = swinging
    plan = Execution(swing(), periods=3, ramp_time=0.4, start=MODEL.home_actuators)
    repetition = state.repetition(plan)
    largest = np.abs(state.force).max()

    def added(begin: float, end: float) -> float:
        times = np.linspace(begin, end, 100)
        return max(np.abs(repetition.force(time, 1.0)).max() for time in times)

    assert added(0.0, plan.run_start + 0.5) == 0.0
    assert 0.3 * largest < added(plan.run_start + 0.5, plan.run_start + 1.0) < largest
    assert added(plan.run_start + 1.0, plan.run_end) > 0.99 * largest


def answered(grid, alone, applied, answer: float, harmful: bool = False) -> RecordedRepetition:
    """Record what a robot that answers `answer` times as the model would have shown."""
    time = grid.execution.ramp_start + grid.interval * np.arange(grid.count)
    error = alone - answer * grid.effect(applied)
    return RecordedRepetition(time, error, applied, harmful)


def course(answer: float, repetitions: int, options: LearningOptions | None = None, change=None):
    """Sizes of the errors of a robot that answers differently from the model, and its learning."""
    plan = execution(Scope.MOTION)
    key = motion_key(MODEL, plan, FEEDFORWARD, Scope.MOTION)
    grid = learning_grid(MODEL, FEEDFORWARD, SERVO, plan, Scope.MOTION)
    time = np.linspace(0.0, 1.0, grid.count)[:, None]
    alone = 1e-3 * np.sin(np.pi * time) ** 4 * np.sin([4 * np.pi, 7 * np.pi] * time)
    state, sizes = None, []
    for number in range(repetitions):
        now = alone if change is None or number < change else 10.0 * alone
        applied = np.zeros_like(alone) if state is None else state.force
        heard = answered(grid, now, applied, answer)
        state = learned_from(MODEL, FEEDFORWARD, SERVO, plan, key, state, heard, options)
        sizes.append(size(heard.error))
    return np.array(sizes), state


def test_it_converges_for_a_robot_half_as_stiff_as_the_model_says() -> None:
    sizes, state = course(0.6, 5)
    assert np.all(sizes[1:] < 1.01 * sizes[:-1]) and sizes[-1] < 0.2 * sizes[0]
    assert {each.verdict for each in state.history[1:]} == {Verdict.LEARNED}


def test_what_does_not_converge_goes_back_to_its_best_and_is_given_up() -> None:
    sizes, state = course(-1.0, 10)
    verdicts = [each.verdict for each in state.history]
    assert Verdict.WORSE in verdicts and verdicts[-1] is Verdict.GIVEN_UP
    assert sizes[-1] == pytest.approx(sizes[0], rel=1e-6)
    assert not state.force.any()


def test_noise_is_not_learned() -> None:
    """Errors of white noise alone, and of that with an error of the model that is thrice it."""
    plan = execution(Scope.MOTION)
    key = motion_key(MODEL, plan, FEEDFORWARD, Scope.MOTION)
    grid = learning_grid(MODEL, FEEDFORWARD, SERVO, plan, Scope.MOTION)
    noise = 1e-4 * np.random.default_rng(8).normal(size=(grid.count, 2))
    wave = np.sin(np.pi * np.linspace(0.0, 1.0, grid.count))[:, None] ** 4
    learned = []
    for error in (noise, noise + 9.0 * size(grid.smooth(noise)) * wave):
        heard = answered(grid, error, np.zeros_like(error), 1.0)
        state = learned_from(MODEL, FEEDFORWARD, SERVO, plan, key, None, heard)
        learned.append(size(state.expected.effect) / size(grid.smooth(error)))
    assert learned[0] < 0.5 and learned[1] > 0.8


def test_a_changed_robot_is_learned_anew() -> None:
    sizes, state = course(0.9, 7, change=4)
    verdicts = [each.verdict for each in state.history]
    assert verdicts[4] is Verdict.CHANGED and verdicts[5] is Verdict.LEARNED
    assert sizes[5] < 0.3 * sizes[4]


def test_forces_stay_within_their_share_of_the_limits() -> None:
    _, free = course(0.9, 3)
    share = 0.25 * float((np.abs(free.force) / np.asarray(MODEL.force_limit)).max())
    _, state = course(0.9, 3, LearningOptions(share))
    assert np.all(np.abs(state.force) <= share * np.asarray(MODEL.force_limit))
    assert np.any(np.abs(state.force) >= 0.99 * share * np.asarray(MODEL.force_limit))


def test_contraction_is_that_of_a_mass_at_high_frequencies() -> None:
    frequency = np.array([0.01, 200.0])
    q = MODEL.home_actuators
    exact = contraction(MODEL, FEEDFORWARD, SERVO, q, frequency, [Deviation()])
    heavy = contraction(MODEL, FEEDFORWARD, SERVO, q, frequency, [Deviation(4.0 / 3.0)])
    np.testing.assert_allclose(exact, 0.0, atol=1e-9)
    # The servo does almost nothing there: the robot moves by 3/4 of what the model says.
    np.testing.assert_allclose(heavy, [0.0, 0.25], atol=0.03)
    late = contraction(MODEL, FEEDFORWARD, SERVO, q, [100.0], [Deviation(delay=1e-3)])
    assert 0.3 < late[0] < 1.0
    same = Deviation(parameters=MODEL.nominal_parameters)
    damped = contraction(MODEL, nominal_feedforward(MODEL), SERVO, q, [50.0], [same])
    assert damped[0] < 0.05


def test_the_cutoff_keeps_every_factor_below_one() -> None:
    frequency = np.linspace(0.5, 100.0, 200)
    factors = frequency / 40.0
    cutoff = trusted_cutoff(factors, frequency, 60.0)
    assert np.all(zero_phase(frequency, cutoff) * factors <= 0.9)
    assert not np.all(zero_phase(frequency, cutoff + 1.5) * factors <= 0.9)
    assert trusted_cutoff(np.full(200, 3.0), frequency, 60.0) == 0.0
    assert trusted_cutoff(np.zeros(200), frequency, 60.0) == 60.0


def test_keys_differ_by_motion_model_and_scope() -> None:
    plan = execution(Scope.MOTION)
    key = motion_key(MODEL, plan, FEEDFORWARD, Scope.MOTION)
    other = motion_key(MODEL, Execution(there_and_back(0.5)), FEEDFORWARD, Scope.MOTION)
    assert key.difference(other) == 'motion'
    nominal = motion_key(MODEL, plan, nominal_feedforward(MODEL), Scope.MOTION)
    assert key.difference(nominal) == 'model' and key.difference(key) == ''
    longer = [Execution(swing(), periods, 0.3) for periods in (2, 3)]
    of_period, of_motion = (
        [motion_key(MODEL, each, FEEDFORWARD, scope) for each in longer]
        for scope in (Scope.PERIOD, Scope.MOTION)
    )
    assert of_period[0] == of_period[1] and of_motion[0] != of_motion[1]
    with pytest.raises(LearningError, match='no period'):
        motion_key(MODEL, plan, FEEDFORWARD, Scope.PERIOD)
    with pytest.raises(LearningError, match='two periods'):
        motion_key(MODEL, Execution(swing(), 1, 0.3), FEEDFORWARD, Scope.PERIOD)


def test_a_period_is_the_mean_of_those_after_the_first() -> None:
    plan = execution(Scope.PERIOD)
    grid = learning_grid(MODEL, FEEDFORWARD, SERVO, plan, Scope.PERIOD)
    time = np.arange(0.0, plan.duration, 1e-3)
    path = time - plan.run_start
    wave = np.sin(2 * np.pi * path / 0.5)
    errors = np.stack([wave, np.where(path < 0.5, 9.0, np.floor(path / 0.5))], axis=1)
    found = grid.of(time, errors)
    at = grid.interval * np.arange(grid.count)
    np.testing.assert_allclose(found[:, 0], np.sin(2 * np.pi * at / 0.5), atol=0.01)
    np.testing.assert_allclose(found[5:-5, 1], 1.5, atol=1e-6)
    with pytest.raises(LearningError, match='from its begin to its end'):
        grid.of(time[:900], errors[:900])


def test_files_keep_everything_and_replace_each_other(tmp_path, learned) -> None:
    _, state, key = learned
    path = tmp_path / 'learned.json'
    for _ in range(2):
        save_learning(path, state)
    found = load_learning(path, MODEL, key)
    assert (found.key, found.history, found.joints) == (state.key, state.history, state.joints)
    for name in ('force', 'best_force', 'limit', 'noise', 'floor', 'positions'):
        np.testing.assert_array_equal(getattr(found, name), getattr(state, name))
    for name, values in vars(state.expected).items():
        np.testing.assert_array_equal(getattr(found.expected, name), values)
    lead_in = LeadIn(0.3, state.force[:5], Expectation(*[state.error[:5]] * 3))
    save_learning(path, replace(state, lead_in=lead_in))
    found = load_learning(path).lead_in
    assert found is not None and found.ramp_time == 0.3
    np.testing.assert_array_equal(found.force, lead_in.force)
    np.testing.assert_array_equal(found.expected.alone, lead_in.expected.alone)
    save_learning(path, replace(state, best_error=np.inf))
    assert load_learning(path).best_error == np.inf
    with pytest.raises(LearningError, match='another motion'):
        load_learning(path, MODEL, replace(key, motion='0' * 64))
    with pytest.raises(LearningError, match='joints'):
        load_learning(path, model_of('four_bar'))
    with pytest.raises(LearningError, match='does not exist'):
        load_learning(tmp_path / 'nowhere.json')


@pytest.mark.parametrize(
    ('entry', 'value', 'named'),
    [
        ('format', 'pkm_learning/1', 'format'),
        ('force', [[1.0]], 'force'),
        ('force', 1e9, 'force'),
        ('error', float('nan'), 'error'),
        ('expected', {'error': [[1.0]]}, 'error'),
        ('lead_in', {'ramp_time': 1.0, 'force': [], 'error': []}, 'lead_in|force'),
        ('noise', -1.0, 'noise'),
        ('interval', -1.0, 'interval'),
        ('limit', 1e9, 'limit'),
        ('joints', ['a', 'a'], 'joints'),
        ('key', {}, 'broken'),
        ('history', [{'rms': 1.0}], 'broken'),
        ('caution', 3.0, 'caution'),
    ],
)
def test_broken_files_are_refused_by_name(tmp_path, learned, entry, value, named) -> None:
    _, state, _ = learned
    path = tmp_path / 'learned.json'
    save_learning(path, state)
    content = json.loads(path.read_text())
    if isinstance(content[entry], list) and isinstance(value, float):
        content[entry] = np.full(np.shape(content[entry]), value).tolist()
    else:
        content[entry] = value
    path.write_text(json.dumps(content))
    with pytest.raises(LearningError, match=named):
        load_learning(path, MODEL)
