"""A robot in Gazebo with the controller and the servers that excite and identify it.

Usage: ros2 launch pkm_bringup gazebo.launch.py robot:=palida headless:=true
The node simulated_robot runs Gazebo's server in its own process and steps it: nothing moves before
the first command, /clock is its time, and results do not depend on the load of the machine. The
arguments of simulation.launch.py are arguments of this file, too.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity
from launch.actions import (
    DeclareLaunchArgument,
    ExecuteProcess,
    IncludeLaunchDescription,
    OpaqueFunction,
)
from launch.launch_description_sources import PythonLaunchDescriptionSource

HERE = Path(__file__).parent
ARGUMENTS = (
    DeclareLaunchArgument(
        'headless',
        default_value='false',
        choices=['true', 'false'],
        description="Run Gazebo's server without its window (gz sim -g).",
    ),
    DeclareLaunchArgument(
        'world',
        default_value='gazebo',
        choices=['gazebo'],
        description='Simulator that the robot moves in; this file is for one.',
    ),
)


def window(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """Start Gazebo's window where it is wanted; errors name what is missing."""
    from pkm_dynamics.worlds.named_worlds import why_missing

    if missing := why_missing('gazebo'):
        raise RuntimeError(f'{missing}; simulation.launch.py runs the robot in MuJoCo')
    if context.launch_configurations['headless'] == 'true':
        return []
    program = shutil.which('gz')
    if program is None:
        raise RuntimeError("the program 'gz' is not installed: headless:=true runs without it")
    return [ExecuteProcess(cmd=[program, 'sim', '-g'], name='window', output='screen')]


def generate_launch_description() -> LaunchDescription:
    """Return a whole laboratory whose robot is in Gazebo."""
    simulation = PythonLaunchDescriptionSource(str(HERE / 'simulation.launch.py'))
    return LaunchDescription(
        [*ARGUMENTS, OpaqueFunction(function=window), IncludeLaunchDescription(simulation)]
    )
