"""A robot in MuJoCo under ros2_control (mujoco_ros2_control), with controller and servers.

Usage: ros2 launch pkm_bringup mujoco.launch.py robot:=palida headless:=true
The exported MJCF, a URDF with the <ros2_control> tag and the parameters of the controllers are
written into the folder of the launch log. The arguments of view.launch.py and control.launch.py are
arguments of this file, too. simulation.launch.py needs none of the packages that this one does.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from ament_index_python.packages import PackageNotFoundError, get_package_prefix
from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity
from launch.actions import (
    DeclareLaunchArgument,
    ExecuteProcess,
    IncludeLaunchDescription,
    OpaqueFunction,
    RegisterEventHandler,
    Shutdown,
)
from launch.event_handlers import OnProcessExit
from launch.events.process import ProcessExited
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.logging import launch_config
from launch_ros.actions import Node

HERE = Path(__file__).parent
NEEDED = (
    'mujoco_ros2_control',
    'controller_manager',
    'joint_state_broadcaster',
    'forward_command_controller',
    'robot_state_publisher',
)
CONTROLLERS = ('joint_state_broadcaster', 'effort_controller')
# The URDF with the <ros2_control> tag has a topic of its own: `robot_description` is the one that
# the nodes of this project read.
DESCRIPTION = 'ros2_control_description'
SIMULATION = '/mujoco_ros2_control_node'  # the name that the interface gives its node
ARGUMENTS = (
    DeclareLaunchArgument(
        'headless',
        default_value='false',
        choices=['true', 'false'],
        description='Run MuJoCo without its window.',
    ),
    DeclareLaunchArgument(
        'speed',
        default_value='1.0',
        description='Simulated over elapsed time; the controller keeps to elapsed time, so only 1 '
        'gives its rate.',
    ),
    DeclareLaunchArgument(
        'autostart',
        default_value='true',
        choices=['true', 'false'],
        description='Configure and activate the controller, which then holds the measured pose.',
    ),
    DeclareLaunchArgument(
        'force_unit',
        default_value='newton',
        choices=['auto', 'ampere', 'newton'],
        description='Unit of the measured currents or forces: efforts of the joint states here.',
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


def arguments_of(name: str) -> list[LaunchDescriptionEntity]:
    """Return the arguments of a launch file that is included later."""
    source = PythonLaunchDescriptionSource(str(HERE / name))
    entities = source.get_launch_description(LaunchContext()).entities
    return [entity for entity in entities if isinstance(entity, DeclareLaunchArgument)]


def check_packages() -> None:
    """Refuse to begin where a package is missing or a graph is secured; name it."""
    missing = []
    for package in NEEDED:
        try:
            get_package_prefix(package)
        except PackageNotFoundError:
            missing.append(package)
    if missing:
        raise RuntimeError(
            f'not installed: {", ".join(missing)} (for example ros-jazzy-mujoco-ros2-control and '
            'ros-jazzy-ros2-controllers); simulation.launch.py runs the robot in MuJoCo without '
            'ros2_control'
        )
    if os.environ.get('ROS_SECURITY_ENABLE') == 'true':
        raise RuntimeError(
            'the nodes of ros2_control have no policies here: set ROS_SECURITY_ENABLE to false'
        )


def simulator(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """Start MuJoCo and its controllers, bring the robot home, then start what moves it.

    Without commands the robot falls: the controllers get the forces that hold it at home, it is put
    there at rest, and only then the trajectory controller takes over.
    """
    check_packages()
    from pkm_bringup.exports.simulator_files import KEYFRAME, write_mujoco_files
    from pkm_description.nodes.transport import avoid_shared_memory

    udp = dict(os.environ)  # the states of the simulator, too, must not wait for nodes that start
    avoid_shared_memory(udp)
    values = context.launch_configurations
    robot = values['robot']
    if values['calibration']:
        robot += f' calibration:={values["calibration"]}'
    namespace = values['namespace'].strip('/')
    folder = Path(launch_config.log_dir) / 'mujoco'
    files = write_mujoco_files(
        robot, folder, namespace, values['headless'] == 'true', float(values['speed'])
    )
    prefix = f'/{namespace}' if namespace else ''
    description = Node(
        package='robot_state_publisher',
        executable='robot_state_publisher',
        name=DESCRIPTION,
        namespace=namespace,
        parameters=[{'robot_description': files.urdf}],
        # a description alone: its frames are those of view.launch.py
        remappings=[
            (name, f'{DESCRIPTION}/{name.strip("/")}')
            for name in ('joint_states', '/tf', '/tf_static')
        ]
        + [('robot_description', DESCRIPTION)],
        output='screen',
    )
    manager = Node(
        package='mujoco_ros2_control',
        executable='ros2_control_node',
        namespace=namespace,
        parameters=[{'use_sim_time': True}, str(files.controllers)],
        remappings=[('robot_description', DESCRIPTION), ('~/robot_description', DESCRIPTION)],
        additional_env=dict(udp.items() - os.environ.items()),
        output='screen',
        on_exit=Shutdown(reason='MuJoCo has ended'),
    )
    spawner = Node(
        package='controller_manager',
        executable='spawner',
        namespace=namespace,
        arguments=[*CONTROLLERS, '--controller-manager', f'{prefix}/controller_manager'],
        output='screen',
    )
    forces = ', '.join(f'{force!r}' for force in files.forces)
    hold = ExecuteProcess(
        cmd=[
            *('ros2', 'topic', 'pub', '--once', '--wait-matching-subscriptions', '1'),
            *(f'{prefix}/effort_controller/commands', 'std_msgs/msg/Float64MultiArray'),
            f'{{data: [{forces}]}}',
        ],
        name='hold',
        output='screen',
    )
    home = ExecuteProcess(
        cmd=[
            *('ros2', 'service', 'call', f'{SIMULATION}/reset_world'),
            *('mujoco_ros2_control_msgs/srv/ResetWorld', f'{{keyframe: {KEYFRAME}}}'),
        ],
        name='home',
        output='screen',
    )
    steps = (spawner, hold, home)
    following = (hold, home, include('control.launch.py'))
    chain = [
        RegisterEventHandler(OnProcessExit(target_action=step, on_exit=after(then)))
        for step, then in zip(steps, following, strict=True)
    ]
    return [*chain, description, manager, spawner]


def after(
    then: LaunchDescriptionEntity,
) -> Callable[[ProcessExited, LaunchContext], LaunchDescriptionEntity]:
    """Return what follows a process: `then`, or the end where the process failed."""

    def follow(event: ProcessExited, context: LaunchContext) -> LaunchDescriptionEntity:
        if event.returncode:
            return Shutdown(reason=f'{event.process_name} failed with status {event.returncode}')
        return then

    return follow


def generate_launch_description() -> LaunchDescription:
    """Return a robot in MuJoCo, its controllers, and what moves and shows it."""
    return LaunchDescription(
        [
            *ARGUMENTS,
            *arguments_of('control.launch.py'),
            include('view.launch.py'),
            OpaqueFunction(function=simulator),
        ]
    )
