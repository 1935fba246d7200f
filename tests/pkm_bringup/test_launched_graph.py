"""The simulation under launch itself: in a namespace, in lockstep, up to a recording."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from declared_nodes import ROOT
from ros_domain import fresh_domain

pytest.importorskip(
    'launch_ros', reason='launch and launch_ros are not on PyPI; they are part of every ROS 2'
)
pytest.importorskip('rclpy')

from pkm_bringup import cli  # noqa: E402

pytestmark = [pytest.mark.ros, pytest.mark.slow]
LAUNCH = """\
import sys
from launch import LaunchService
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource

source = PythonLaunchDescriptionSource(sys.argv[1])
arguments = [tuple(argument.split(':=')) for argument in sys.argv[2:]]
service = LaunchService()
service.include_launch_description(
    IncludeLaunchDescription(source, launch_arguments=arguments)
)
sys.exit(service.run())
"""
ENOUGH = 60.0  # [s] in which everything ends


def test_a_recording_of_a_launched_robot_is_accepted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setenv('ROS_DOMAIN_ID', str(fresh_domain()))
    monkeypatch.setenv('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    monkeypatch.setenv('ROS_LOG_DIR', str(tmp_path / 'log'))
    monkeypatch.chdir(tmp_path)
    file = ROOT / 'pkm_bringup' / 'launch' / 'simulation.launch.py'
    command = [sys.executable, '-c', LAUNCH, str(file), 'robot:=four_bar', 'namespace:=cell']
    with open('launch.log', 'wb') as log:
        launched = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
    try:
        run = ['excite', 'run', 'shipped', '--robot', 'four_bar', '--bag', 'recording', '--json']
        more = ['--periods', '1', '--server', '/cell/excitation_server', '--timeout', '60']
        assert cli.main([*run, *more]) == 0, Path('launch.log').read_text()
        assert json.loads(capsys.readouterr().out)['usable']
    finally:
        launched.send_signal(signal.SIGINT)
        ended = launched.wait(ENOUGH)
    assert ended == 0, Path('launch.log').read_text()
