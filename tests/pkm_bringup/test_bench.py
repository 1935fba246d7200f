"""The benchmarks measure what they say."""

import json
import time

import numpy as np
import pytest
from chances import deviation_range, normal_limit
from every_model import model_of

from pkm_bringup import cli
from pkm_bringup.bench.frame import cost, spread
from pkm_bringup.bench.identify_cost import write_recording
from pkm_bringup.bench.identify_process import in_memory
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
    assert 'MuJoCo RNE and projection' in model['agreement']
    assert all(difference < 1e-9 for difference in model['agreement'].values())
    assert 0.0 < model['import'] < 60.0
    for name, ratio in model['ratios'].items():
        what, peer = name.split(' / ')
        expected = model['inverse_dynamics'][what] / model['peers'][peer]
        assert ratio == pytest.approx(expected)
    assert result['machine']['cores'] >= 1


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
