"""The benchmarks measure what they say."""

import json
import time

import numpy as np
import pytest

from pkm_bringup import cli
from pkm_bringup.bench.timing import cost, spread


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

    from pkm_bringup.nodes.bench_listener import HEAD, _answered_stamp, _state_stamp
    from pkm_dynamics.nodes.command_stamps import stamp_command

    stamp = Time(sec=7, nanosec=42)
    state = JointState(name=['a', 'b'], position=[1.0, 2.0])
    state.header.stamp = stamp
    command = Float64MultiArray(data=[1.0] * 6)
    assert _answered_stamp(serialize_message(command)[:HEAD]) is None
    stamp_command(command, stamp)
    assert _state_stamp(serialize_message(state)[:HEAD]) == 7_000_000_042
    assert _answered_stamp(serialize_message(command)[:HEAD]) == 7_000_000_042


@pytest.mark.ros
@pytest.mark.slow
def test_loop_on_ros(capfd):
    pytest.importorskip('rclpy')
    loop = bench(capfd, '--only', 'loop', '--duration', '3')['loop']
    assert loop['duration'] == pytest.approx(3.0, abs=1.5)
    assert loop['rate'] == pytest.approx((loop['commands'] - 1) / loop['duration'])
    assert loop['cycles'] > 100
    # a command answers a state after it was computed
    assert loop['state_to_command']['p50'] > 50
    assert loop['step_time']['p50'] > 50


def test_identification_of_two_lengths(capfd):
    """Ten times the data in the same memory: what is kept of them does not grow."""
    both = bench(capfd, '--robot', 'planar_3rrr', '--only', 'identify', '--recording', '70')
    for kind in both['identify'].values():
        short, long = kind['short'], kind['long']
        assert (short['duration'], long['duration']) == (70.0, 700.0)
        assert kind['memory_ratio'] == pytest.approx(long['memory'] / short['memory'])
        # 63e4 numbers more would be 45 MB, their signals several times that
        assert long['memory'] - short['memory'] < 60e6
        assert kind['time_ratio'] == pytest.approx(long['cpu'] / short['cpu'])
        assert short['equations'] > short['parameters']
