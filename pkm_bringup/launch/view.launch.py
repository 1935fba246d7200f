"""Description, completed joint states and frames of a robot, with a viewer where one is asked for.

Usage: ros2 launch pkm_bringup view.launch.py robot:=palida viewer:=rviz
The joint states come from a robot, a simulated robot or a bag.
"""

from __future__ import annotations

from pathlib import Path

from ament_index_python.packages import PackageNotFoundError, get_package_share_directory
from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity
from launch.actions import DeclareLaunchArgument, LogInfo, OpaqueFunction
from launch.substitution import Substitution
from launch.substitutions import (
    IfElseSubstitution,
    LaunchConfiguration,
    NotEqualsSubstitution,
    PathJoinSubstitution,
)
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare

import pkm_description

# A node that has failed comes back after this [s], and so many times: what always fails must not
# keep the machine busy, and its end must be seen.
RESPAWN_DELAY = 2.0
RESPAWNS = 5
ARGUMENTS = (
    DeclareLaunchArgument(
        'robot',
        default_value='palida',
        description='Library name of the robot, or path of a description (.urdf or .xacro).',
    ),
    DeclareLaunchArgument(
        'calibration',
        default_value='',
        description='File of the zeros and signs of the encoders and drives of this machine; '
        'empty: they are as described.',
    ),
    DeclareLaunchArgument(
        'namespace', default_value='', description='Namespace of the nodes and their topics.'
    ),
    DeclareLaunchArgument(
        'config',
        default_value=PathJoinSubstitution([FindPackageShare('pkm_bringup'), 'config']),
        description='Folder of the parameter files, one file a node.',
    ),
    DeclareLaunchArgument(
        'joint_states',
        default_value='joint_states',
        description='Topic of the measured positions (sensor_msgs/JointState).',
    ),
    DeclareLaunchArgument(
        'viewer',
        default_value='none',
        choices=['none', 'rviz', 'foxglove'],
        description='Program to see the robot with.',
    ),
    DeclareLaunchArgument(
        'use_sim_time',
        default_value='false',
        choices=['true', 'false'],
        description='Whether the viewer takes its time from /clock.',
    ),
    DeclareLaunchArgument(
        'diagnostics',
        default_value='true',
        choices=['true', 'false'],
        description='Gather the diagnostics of all nodes into one tree on diagnostics_agg, where '
        'diagnostic_aggregator is installed.',
    ),
    DeclareLaunchArgument(
        'enclaves',
        default_value='/pkm',
        description='Enclaves of SROS 2 below which each node has its own, which is named after '
        'it; of no effect unless ROS_SECURITY_ENABLE is true.',
    ),
    DeclareLaunchArgument(
        'log_level',
        default_value='info',
        choices=['debug', 'info', 'warn', 'error', 'fatal'],
        description='Least severity of the log messages of all nodes.',
    ),
)


def enclave(name: str) -> Substitution:
    """Return the enclave of a node."""
    return PathJoinSubstitution([LaunchConfiguration('enclaves'), name])


def ros_arguments(name: str) -> list[Substitution | str]:
    """Return what every node of this file is told."""
    return [*('--log-level', LaunchConfiguration('log_level')), *('--enclave', enclave(name))]


def robot() -> ParameterValue:
    """Return the robot as the nodes read it, with the calibration where there is one."""
    calibration = LaunchConfiguration('calibration')
    given = NotEqualsSubstitution(calibration, '')
    behind = IfElseSubstitution(given, [' calibration:=', calibration], '')
    return ParameterValue([LaunchConfiguration('robot'), behind], value_type=str)


def node(package: str, name: str) -> Node:
    """Return one of this project's nodes with its parameter file."""
    return Node(
        package=package,
        executable=name,
        name=name,
        namespace=LaunchConfiguration('namespace'),
        parameters=[
            PathJoinSubstitution([LaunchConfiguration('config'), f'{name}.yaml']),
            {'robot': robot()},
        ],
        remappings=[('joint_states', LaunchConfiguration('joint_states'))],
        ros_arguments=ros_arguments(name),
        output='screen',
        sigterm_timeout='15',
        # Neither moves anything: both may come back.
        respawn=True,
        respawn_delay=RESPAWN_DELAY,
        respawn_max_retries=RESPAWNS,
    )


def link_frames(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """Frames of all links by robot_state_publisher; the state completer adds the platform's."""
    if not is_installed('robot_state_publisher'):
        return [
            LogInfo(
                msg='robot_state_publisher is not installed: no frames but that of the platform'
            )
        ]
    urdf = pkm_description.load(context.launch_configurations['robot']).urdf
    return [
        Node(
            package='robot_state_publisher',
            executable='robot_state_publisher',
            name='robot_state_publisher',
            namespace=LaunchConfiguration('namespace'),
            parameters=[
                {
                    'robot_description': ParameterValue(urdf, value_type=str),
                    # A bag that starts again goes back in time.
                    'ignore_timestamp': True,
                    'use_sim_time': use_sim_time(),
                }
            ],
            remappings=[
                ('joint_states', 'joint_states_complete'),
                ('robot_description', 'robot_state_publisher/robot_description'),
            ],
            ros_arguments=ros_arguments('robot_state_publisher'),
            output='screen',
        )
    ]


def diagnostic_tree(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """Return the aggregator of the diagnostics, or what to install for it."""
    if context.launch_configurations['diagnostics'] != 'true':
        return []
    if not is_installed('diagnostic_aggregator'):
        return [
            LogInfo(
                msg='diagnostic_aggregator is not installed: the diagnostics are not gathered '
                'into one tree (ros-jazzy-diagnostic-aggregator; diagnostics:=false says nothing)'
            )
        ]
    config = LaunchConfiguration('config')
    return [
        Node(
            package='diagnostic_aggregator',
            executable='aggregator_node',
            name='diagnostic_aggregator',
            namespace=LaunchConfiguration('namespace'),
            parameters=[PathJoinSubstitution([config, 'diagnostic_aggregator.yaml'])],
            # It takes absolute names; our nodes have theirs in their namespace.
            remappings=[
                (f'/{topic}', topic)
                for topic in ('diagnostics', 'diagnostics_agg', 'diagnostics_toplevel_state')
            ],
            ros_arguments=ros_arguments('diagnostic_aggregator'),
            output='screen',
            respawn=True,
            respawn_delay=RESPAWN_DELAY,
            respawn_max_retries=RESPAWNS,
        )
    ]


def viewer(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """Return the viewer, or what to install for it."""
    chosen = context.launch_configurations['viewer']
    if chosen == 'none':
        return []
    package, executable = {
        'rviz': ('rviz2', 'rviz2'),
        'foxglove': ('foxglove_bridge', 'foxglove_bridge'),
    }[chosen]
    if not is_installed(package):
        return [
            LogInfo(msg=f"viewer:={chosen}: package '{package}' is not installed; goes on without")
        ]
    share = Path(get_package_share_directory('pkm_bringup'))
    layout = share / 'foxglove' / 'pkm.json'
    started = Node(
        package=package,
        executable=executable,
        name=executable,
        arguments=['-d', str(share / 'rviz' / 'pkm.rviz')] if chosen == 'rviz' else [],
        parameters=[{'use_sim_time': use_sim_time()}],
        remappings=namespaced_topics(context.launch_configurations['namespace']),
        ros_arguments=['--enclave', enclave(executable)],
        output='screen',
    )
    if chosen == 'rviz':
        return [started]
    return [started, LogInfo(msg=f'Foxglove: connect to ws://localhost:8765, import {layout}')]


def namespaced_topics(namespace: str) -> list[tuple[str, str]]:
    """Return the remappings of the topics that the RViz configuration names."""
    prefix = f'/{namespace.strip("/")}' if namespace.strip('/') else ''
    topics = ('/robot_description', '/platform_pose')
    return [(topic, prefix + topic) for topic in topics] if prefix else []


def use_sim_time() -> ParameterValue:
    """Return the argument as a parameter."""
    return ParameterValue(LaunchConfiguration('use_sim_time'), value_type=bool)


def is_installed(package: str) -> bool:
    """Whether the ament index knows a package."""
    try:
        get_package_share_directory(package)
    except PackageNotFoundError:
        return False
    return True


def generate_launch_description() -> LaunchDescription:
    """Return the nodes that show a robot."""
    return LaunchDescription(
        [
            *ARGUMENTS,
            node('pkm_description', 'description_publisher'),
            node('pkm_description', 'state_completer'),
            OpaqueFunction(function=link_frames),
            OpaqueFunction(function=diagnostic_tree),
            OpaqueFunction(function=viewer),
        ]
    )
