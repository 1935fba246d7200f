"""Controller, servers and viewer for a real robot.

Usage: ros2 launch pkm_bringup robot.launch.py robot:=my_robot.urdf joint_states:=/arm/joint_states
The robot publishes joint states with or beside currents or forces and takes effort commands, as
forward_command_controller of ros2_control does. The arguments of view.launch.py and
control.launch.py are arguments of this file, too.
"""

from __future__ import annotations

from pathlib import Path

from launch import LaunchDescription
from launch.actions import IncludeLaunchDescription, LogInfo
from launch.conditions import UnlessCondition
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration

HERE = Path(__file__).parent
CONTROLLER = [LaunchConfiguration('namespace'), '/trajectory_controller']


def include(name: str) -> IncludeLaunchDescription:
    """Include a launch file of this folder; arguments of one name are one argument."""
    return IncludeLaunchDescription(PythonLaunchDescriptionSource(str(HERE / name)))


def generate_launch_description() -> LaunchDescription:
    """Return everything but the robot."""
    return LaunchDescription(
        [
            include('control.launch.py'),
            include('view.launch.py'),
            LogInfo(
                msg=[
                    'Nothing is commanded before the controller is active: ros2 lifecycle set ',
                    *CONTROLLER,
                    ' configure, then: ros2 lifecycle set ',
                    *CONTROLLER,
                    ' activate; it then holds the measured pose',
                ],
                condition=UnlessCondition(LaunchConfiguration('autostart')),
            ),
        ]
    )
