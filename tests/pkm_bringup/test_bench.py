"""The benchmarks measure what they say."""

import json
import shutil
import time

import numpy as np
import pytest
from chances import deviation_range, normal_limit
from every_model import model_of

from pkm_bringup import cli
from pkm_bringup.bench import growth, model_cost, open_trees
from pkm_bringup.bench.frame import cost, slow_motion, spread
from pkm_bringup.bench.identify_cost import write_recording
from pkm_bringup.bench.identify_process import in_memory
from pkm_bringup.bench.model_cost import MUJOCO
from pkm_dynamics.random_motion import random_motion
from pkm_dynamics.trajectories import CircleTrajectory, FourierTrajectory
from pkm_identification import identify, load


def bench(capfd, *arguments):
    assert cli.main(['bench', '--json', *arguments]) == 0
    return json.loads(capfd.readouterr().out)


def test_spread_is_in_microseconds():
    figures = spread(np.arange(1, 101) * 1e-6)
    assert figures == pytest.approx({'p50': 50.5, 'p99': 99.01, 'max': 100.0})


def test_cost_is_that_of_one_thing_and_counts_no_sleep():
    def busy():
        end = time.thread_time() + 2e-3
        while time.thread_time() < end:
            pass
        time.sleep(5e-3)

    assert cost(busy, 5, 4) == pytest.approx(500.0, rel=0.2)


def test_offline_parts(capfd):
    result = bench(capfd, '--only', 'step', '--only', 'model', '--steps', '300')
    assert set(result) == {'robot', 'machine', 'step', 'model'}
    step = result['step']
    assert step['steps'] == 300
    for clock in ('wall', 'cpu'):
        assert 10 < step[clock]['p50'] <= step[clock]['p99'] <= step[clock]['max']
    model = result['model']
    assert model['inverse_dynamics']['batch'] < model['inverse_dynamics']['single']
    # The engines that compute the same forces must find the same.
    beside = model['engines']
    assert MUJOCO in beside['agreement'] and model['mujoco_step'] > 0.0
    assert all(difference < 1e-9 for difference in beside['agreement'].values())
    for name, ratio in beside['ratios'].items():
        assert ratio == pytest.approx(beside['ours'] / beside['times'][name])
    assert 0.03 < model['import'] < 60.0  # numpy and scipy, at least
    assert result['machine']['cores'] >= 1


@pytest.mark.parametrize('robot', ['serial_arm', 'five_bar', 'rps_upv', 'palida', 'h4'])
def test_other_engines_find_the_same_forces(robot):
    """Open trees with and without a floating platform; Drake where it is installed."""
    pytest.importorskip('pinocchio')
    pytest.importorskip('casadi')
    model = model_of(robot)
    found = model_cost.measure_engines(model, random_motion(model, 20, seed=1))
    compiled = {'CasADi, compiled'} if any(map(shutil.which, open_trees.COMPILERS)) else set()
    assert {MUJOCO, 'Pinocchio', *compiled} <= set(found['agreement'])
    assert max(found['agreement'].values()) < 1e-9 and found['left_out'] == {}
    assert set(found['times']) == set(found['agreement'])
    for name, time_of_it in found['times'].items():
        assert found['ratios'][name] == pytest.approx(found['ours'] / time_of_it)


def test_an_engine_that_refuses_a_robot_is_named(monkeypatch, capfd):
    def refuse(model):
        raise RuntimeError('no such joint')

    monkeypatch.setattr(open_trees, 'pinocchio_tree', refuse)
    monkeypatch.setattr(model_cost, 'library', lambda: ('five_bar',))
    assert cli.main(['bench', '--only', 'library']) == 0
    printed = capfd.readouterr().out
    assert 'Pinocchio left out: RuntimeError: no such joint' in printed and MUJOCO in printed


def test_a_robot_that_does_not_reach_the_circle_moves_about_home():
    for robot, kind in (('palida', CircleTrajectory), ('six_rss', FourierTrajectory)):
        assert isinstance(slow_motion(model_of(robot)), kind)


def test_stamps_are_read_from_serialised_messages():
    pytest.importorskip('rclpy')
    from builtin_interfaces.msg import Time
    from rclpy.serialization import serialize_message
    from sensor_msgs.msg import JointState
    from std_msgs.msg import Float64MultiArray

    from pkm_bringup.nodes.bench_listener import HEAD, _answered_stamp
    from pkm_dynamics.nodes.command_stamps import stamp_command
    from pkm_identification.nodes.recorder import header_stamp

    stamp = Time(sec=7, nanosec=42)
    state = JointState(name=['a', 'b'], position=[1.0, 2.0])
    state.header.stamp = stamp
    command = Float64MultiArray(data=[1.0] * 6)
    assert _answered_stamp(serialize_message(command)[:HEAD]) is None
    stamp_command(command, stamp)
    assert header_stamp(serialize_message(state)[:HEAD]) == 7_000_000_042
    assert _answered_stamp(serialize_message(command)[:HEAD]) == 7_000_000_042


@pytest.mark.ros
@pytest.mark.slow
def test_loop_on_ros(capfd):
    pytest.importorskip('rclpy')
    for _ in range(5):  # a machine that stalls ends a run, and says why
        ended = cli.main(['bench', '--json', '--only', 'loop', '--duration', '3'])
        told = capfd.readouterr()
        if ended == 0:
            break
    assert ended == 0, told.err
    loop = json.loads(told.out)['loop']
    assert loop['duration'] == pytest.approx(3.0, abs=1.5)
    assert loop['rate'] == pytest.approx((loop['commands'] - 1) / loop['duration'])
    assert loop['cycles'] > 100
    # a command answers a state after it was computed
    assert loop['state_to_command']['p50'] > 50
    assert loop['step_time']['p50'] > 50


def test_recordings_for_the_benchmark(tmp_path):
    model = model_of('five_bar')
    path = write_recording(tmp_path / 'data.npz', model, 45.0, 40.0, named=True)
    data = load(path).for_model(model)
    assert len(data) == 45000 and data.period == 40.0
    assert data.interval == pytest.approx(1e-3)
    later = data.efforts[40000:] - data.efforts[:5000]
    low, high = deviation_range(later.size)
    assert low < later.std(ddof=1) / (5.0 * np.sqrt(2)) < high
    result = identify(data, model, method='filter')
    z = (result.values - result.matrix @ model.nominal_parameters) / result.standard_deviation
    assert np.abs(z).max() < normal_limit(len(z))


def test_the_peer_in_memory_finds_the_same(tmp_path):
    model = model_of('five_bar')
    path = write_recording(tmp_path / 'data.npz', model, 20.0, 20.0, named=False)
    data = load(path).for_model(model)
    result = identify(data, model, method='filter')
    off = (in_memory(data, model) - result.values) / result.standard_deviation
    assert np.abs(off).max() < 2


def test_filters(capfd):
    filters = bench(capfd, '--robot', 'five_bar', '--only', 'filters')['filters']
    assert filters['agreement'] < 1e-6  # the textbook's filter finds the same
    rates, recursive = filters['updates_per_second'], filters['recursive']
    assert filters['ratios']['ukf'] == pytest.approx(
        rates['ukf, constant'] / rates['ukf, textbook']
    )
    assert all(0 < row['p50'] <= row['p99'] <= row['max'] for row in recursive.values())


@pytest.mark.slow
def test_identification_of_two_lengths(capfd):
    both = bench(capfd, '--robot', 'five_bar', '--only', 'identify', '--recording', '8')
    likelihood = both['identify'].pop('maximum_likelihood')
    assert (likelihood['duration'], likelihood['periods']) == (50.0, 10)
    assert 0 < likelihood['derivative']['ours'] < likelihood['derivative']['differences']
    peer = both['identify']['filter']['peer']
    assert peer['duration'] == 8.0 and peer['memory'] > 0
    assert set(both['identify']) == {'filter', 'fourier'}
    for kind in both['identify'].values():
        short, long = kind['short'], kind['long']
        assert (short['duration'], long['duration']) == (8.0, 80.0)
        assert kind['memory_ratio'] == pytest.approx(long['memory'] / short['memory'])
        assert kind['time_ratio'] == pytest.approx(long['cpu'] / short['cpu'])
        assert short['equations'] > short['parameters']
    assert both['identify']['fourier']['long']['periods'] == 40


def test_growth_of_costs(monkeypatch, capfd, tmp_path):
    for name, few in (('BODIES', (2, 4)), ('SAMPLES', (1, 2000)), ('HARMONICS', (2, 3))):
        monkeypatch.setattr(growth, name, few)
    monkeypatch.setattr(growth.pkm_description, 'library', lambda: ('serial_arm', 'five_bar'))
    picture = tmp_path / 'growth.png'
    options = ['--only', 'growth', '--picture', str(picture), '--json']
    assert cli.main(['bench', '--robot', 'five_bar', *options]) == 0
    found = json.loads(capfd.readouterr().out)['growth']
    series = {(each['what'], each['over']): each for each in found['series']}
    assert series['regressor', 'loops']['of'] == ['five_bar']
    first, last = series['regressor', 'samples of a call']['times']
    assert 0 < first < last
    assert series['least_squares', 'parameters']['sizes'] == [arm_rank(2), arm_rank(4)]
    assert 0 < found['written_share'] < 1 and found['flops'] > 1e8
    assert picture.stat().st_size > 10_000


def arm_rank(bodies):
    """Base parameters of an arm whose first axis is vertical, and friction of its joints."""
    return growth.arm(bodies).base_parameters().rank


def test_an_arm_has_the_inertia_of_a_pendulum():
    model = growth.arm(2)
    motion = model.motion_from_actuators(np.zeros((1, 2)), np.zeros((1, 2)), [[0.0, 1.0]])
    assert growth.AXES[2] == '1 0 0'  # of joint 2
    offset = growth.MASS * (0.02**2 + (growth.LENGTH / 2) ** 2)
    weight = model.motion_from_actuators(np.zeros((1, 2)), np.zeros((1, 2)), np.zeros((1, 2)))
    moved = model.inverse_dynamics(motion) - model.inverse_dynamics(weight)
    assert moved[0, 1] == pytest.approx(growth.INERTIA + offset)


def test_the_exponent_is_that_of_a_power_law():
    sizes = [1.0, 2.0, 4.0, 8.0]
    found = growth.line('x', 'y', sizes, [3.0 * size**1.5 for size in sizes])
    assert found['exponent'] == pytest.approx(1.5)


def test_a_picture_needs_its_part(capfd, tmp_path):
    assert cli.main(['bench', '--only', 'step', '--picture', str(tmp_path / 'a.png')]) != 0
    assert 'give --only growth' in capfd.readouterr().err
