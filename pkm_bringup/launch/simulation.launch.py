"""Simulated robot with the controller and the servers that excite and identify it.

Usage: ros2 launch pkm_bringup simulation.launch.py viewer:=rviz
The arguments of view.launch.py and control.launch.py are arguments of this file, too.
"""

from __future__ import annotations

from pathlib import Path

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription, Shutdown
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import (
    IfElseSubstitution,
    LaunchConfiguration,
    NotEqualsSubstitution,
    PathJoinSubstitution,
)
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from pkm_dynamics.worlds import MUJOCO, WORLDS

HERE = Path(__file__).parent
ARGUMENTS = (
    DeclareLaunchArgument(
        'lockstep',
        default_value='true',
        choices=['true', 'false'],
        description='Let the robot wait for the command of each step: as fast as it goes, with '
        'results that do not depend on the load of the machine. false: in real time.',
    ),
    DeclareLaunchArgument(
        'world',
        default_value=MUJOCO,
        choices=list(WORLDS),
        description='Simulator that the robot moves in.',
    ),
    DeclareLaunchArgument(
        'seed', default_value='0', description='Seed of the measurement noise, 0 to 2147483647.'
    ),
    DeclareLaunchArgument(
        'autostart',
        default_value='true',
        choices=['true', 'false'],
        description='Configure and activate the controller, which then holds the measured pose.',
    ),
    DeclareLaunchArgument(
        'use_sim_time',
        default_value='true',
        choices=['true', 'false'],
        description='Whether the viewer takes its time from /clock.',
    ),
)


def include(name: str) -> IncludeLaunchDescription:
    """Include a launch file of this folder; arguments of one name are one argument."""
    return IncludeLaunchDescription(PythonLaunchDescriptionSource(str(HERE / name)))


def robot() -> ParameterValue:
    """Return the robot as the nodes read it, with the calibration where there is one."""
    calibration = LaunchConfiguration('calibration')
    given = NotEqualsSubstitution(calibration, '')
    behind = IfElseSubstitution(given, [' calibration:=', calibration], '')
    return ParameterValue([LaunchConfiguration('robot'), behind], value_type=str)


def simulated_robot() -> Node:
    """Return the plant; without it everything ends."""
    return Node(
        package='pkm_dynamics',
        executable='simulated_robot',
        name='simulated_robot',
        namespace=LaunchConfiguration('namespace'),
        parameters=[
            PathJoinSubstitution([LaunchConfiguration('config'), 'simulated_robot.yaml']),
            {
                'robot': robot(),
                'world': ParameterValue(LaunchConfiguration('world'), value_type=str),
                'drives': ParameterValue(LaunchConfiguration('drives'), value_type=str),
                'lockstep': ParameterValue(LaunchConfiguration('lockstep'), value_type=bool),
                'seed': ParameterValue(LaunchConfiguration('seed'), value_type=int),
            },
        ],
        remappings=[
            ('joint_states', LaunchConfiguration('joint_states')),
            ('motor_currents', LaunchConfiguration('motor_currents')),
            ('effort_controller/commands', LaunchConfiguration('effort_commands')),
            ('valve_controller/commands', LaunchConfiguration('valve_commands')),
            ('brakes/close', LaunchConfiguration('brakes_close')),
            ('brakes/closed', LaunchConfiguration('brakes_closed')),
        ],
        ros_arguments=[
            *('--log-level', LaunchConfiguration('log_level')),
            *('--enclave', [LaunchConfiguration('enclaves'), '/simulated_robot']),
        ],
        output='screen',
        sigterm_timeout='15',
        on_exit=Shutdown(reason='the simulated robot has ended'),
    )


def generate_launch_description() -> LaunchDescription:
    """Return a whole laboratory without hardware."""
    return LaunchDescription(
        [*ARGUMENTS, include('view.launch.py'), include('control.launch.py'), simulated_robot()]
    )
