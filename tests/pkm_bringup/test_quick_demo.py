"""`pkm demo --quick`: the whole way in one process, without ROS 2."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from pkm_identification import load

WITHOUT_ROS = """
import sys
from pkm_bringup import cli
status = cli.main(sys.argv[1:])
assert not {'rclpy', 'pkm_msgs', 'sensor_msgs'} & set(sys.modules)
sys.exit(status)
"""


@pytest.mark.slow
def test_a_hexapod_is_identified_and_its_circle_followed_without_ros(tmp_path):
    output = tmp_path / 'demo'
    few = ('--periods', '9', '--circle-periods', '1', '--validation-periods', '3')
    command = [sys.executable, '-c', WITHOUT_ROS, 'demo', '--quick', '--output', output, '--json']
    done = subprocess.run([*command, *few], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told == json.loads((output / 'summary.json').read_text())
    assert told['within_three_standard_deviations'] >= told['with_known_truth'] - 2
    assert told['circle']['truth'] < 0.15
    assert told['tracking_factors']['whole model'] > 20.0
    assert told['high_gain_tracking_factors']['whole model'] > 10.0
    recordings = sorted((output / 'bags').glob('*.npz'))
    assert len(recordings) == 7 and len(load(recordings[0])) > 1000
    # each drive has noise of its own
    first, second = (load(output / 'bags' / f'{name}.npz') for name in ('no_model', 'rigid_body'))
    assert abs(first.positions[0] - second.positions[0]).max() > 0.0
    for picture in ('forces.png', 'tracking.png', 'report.html'):
        assert (output / picture).stat().st_size > 10_000


def test_it_is_mujoco_that_moves_the_robot(tmp_path, fails):
    message = fails('demo', '--quick', '--world', 'gazebo', '--output', tmp_path / 'demo')
    assert 'without nodes the robot moves in mujoco, not in gazebo' in message
    assert not (tmp_path / 'demo').exists()


def test_where_ros_is_missing_the_way_without_is_named(tmp_path, fails, monkeypatch):
    for module in [name for name in sys.modules if name.startswith('pkm_bringup.demo.through')]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, 'lifecycle_msgs', None)
    monkeypatch.setitem(sys.modules, 'lifecycle_msgs.msg', None)
    monkeypatch.setitem(sys.modules, 'rclpy', None)
    monkeypatch.delitem(sys.modules, 'pkm_bringup.nodes.robot_client', raising=False)
    message = fails('demo', '--output', tmp_path / 'demo')
    assert 'is not installed: nodes need ROS 2; with --quick' in message
    assert not (tmp_path / 'demo').exists()
