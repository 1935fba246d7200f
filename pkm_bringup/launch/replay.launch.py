"""A recorded bag, played for viewing.

Usage: ros2 launch pkm_bringup replay.launch.py bag:=path/of/a/bag viewer:=rviz
`ros2 bag play` (package ros2bag) plays it; estimation reads the file itself and needs no
replay. The arguments of view.launch.py are arguments of this file, too.
"""

from __future__ import annotations

import os
from pathlib import Path

from ament_index_python.packages import PackageNotFoundError, get_package_prefix
from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity
from launch.actions import (
    DeclareLaunchArgument,
    ExecuteProcess,
    IncludeLaunchDescription,
    LogInfo,
    OpaqueFunction,
    Shutdown,
    TimerAction,
)
from launch.events.process import ProcessExited
from launch.launch_description_sources import PythonLaunchDescriptionSource

HERE = Path(__file__).parent
CLOCK_RATE = '100'  # [Hz]
# Commands must not reach a robot; the others are made anew by the nodes started here.
NOT_PLAYED = (
    'commands',
    'robot_description',
    'robot_description_yaml',
    'joint_states_complete',
    'platform_pose',
    'tf',
    'tf_static',
)
ARGUMENTS = (
    DeclareLaunchArgument('bag', description='Folder or .mcap file of the recording.'),
    DeclareLaunchArgument(
        'rate', default_value='1.0', description='Speed of the replay over that of the recording.'
    ),
    DeclareLaunchArgument(
        'start_offset', default_value='0.0', description='Where in the recording to begin [s].'
    ),
    DeclareLaunchArgument(
        'delay',
        default_value='3.0',
        description='Wait before the replay, while the nodes that listen start [s].',
    ),
    DeclareLaunchArgument(
        'loop',
        default_value='false',
        choices=['true', 'false'],
        description='Begin again at the end, until interrupted.',
    ),
    DeclareLaunchArgument(
        'use_sim_time',
        default_value='true',
        choices=['true', 'false'],
        description='Publish the time of the recording on /clock, where the viewer takes it from.',
    ),
)


def play(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """Start `ros2 bag play`; errors name the missing bag or package, or the security."""
    values = context.launch_configurations
    bag = Path(values['bag']).expanduser()
    if not bag.exists():
        raise RuntimeError(f'bag:={values["bag"]}: no such folder or file')
    if os.environ.get('ROS_SECURITY_ENABLE') == 'true':
        raise RuntimeError(
            'a replay publishes what only the robot may, and has no key: where ROS_SECURITY_ENABLE '
            'is true nothing is played; set it to false, and another ROS_DOMAIN_ID'
        )
    try:
        get_package_prefix('ros2bag')
    except PackageNotFoundError as error:
        raise RuntimeError(
            "rosbag2 is not installed (package 'ros2bag' not found), so nothing can play "
            f"'{bag}'; install it (for example ros-jazzy-rosbag2 with ros-jazzy-"
            'rosbag2-storage-mcap), or open the bag in Foxglove without ROS'
        ) from error
    command = ['ros2', 'bag', 'play', str(bag), '--disable-keyboard-controls']
    command += ['--rate', values['rate'], '--start-offset', values['start_offset']]
    command += ['--exclude-regex', f'^.*/({"|".join(NOT_PLAYED)})$']
    if values['loop'] == 'true':
        command += ['--loop']
    if values['use_sim_time'] == 'true':
        command += ['--clock', CLOCK_RATE]
    player = ExecuteProcess(cmd=command, name='player', output='screen', on_exit=ended)
    return [TimerAction(period=float(values['delay']), actions=[player])]


def ended(event: ProcessExited, context: LaunchContext) -> LaunchDescriptionEntity:
    """Leave the last pose to be seen, or end where the replay failed."""
    if event.returncode:
        return Shutdown(reason=f'the replay failed with status {event.returncode}')
    return LogInfo(msg='the bag has been played; Ctrl-C ends the viewer')


def generate_launch_description() -> LaunchDescription:
    """Return the player and what shows the robot."""
    view = PythonLaunchDescriptionSource(str(HERE / 'view.launch.py'))
    return LaunchDescription(
        [*ARGUMENTS, OpaqueFunction(function=play), IncludeLaunchDescription(view)]
    )
