"""Trajectory controller with the excitation and estimation servers.

Usage: ros2 launch pkm_bringup control.launch.py robot:=palida autostart:=true
"""

from __future__ import annotations

from launch import LaunchContext, LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.conditions import IfCondition
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

from pkm_dynamics.drive_types import COMMANDS, FORCES

# A node that has failed comes back after this [s], and so many times: what always fails must not
# keep the machine busy, and its end must be seen.
RESPAWN_DELAY = 2.0
RESPAWNS = 5
# They only listen and answer. The controller never comes back by itself: somebody has to look at
# the robot first. Nor does the excitation server, which moves the robot and whose clients wait.
RESPAWNED = ('estimation_server', 'online_estimator', 'force_monitor')
# Topics of the robot with the arguments that rename them.
TOPICS = {
    'joint_states': 'joint_states',
    'motor_currents': 'motor_currents',
    'effort_controller/commands': 'effort_commands',
    'valve_controller/commands': 'valve_commands',
    'brakes/close': 'brakes_close',
    'brakes/closed': 'brakes_closed',
    'drives/ready': 'drives_ready',
    'drives/homed': 'drives_homed',
    'trajectory_controller/joint_trajectory': 'joint_trajectory',
}
# Parameters of the joint servo that are arguments, too.
SERVO = {
    'bandwidth': 'Natural frequency of each axis under its servo [Hz]',
    'damping': 'Damping ratio of each axis under its servo [1]',
    'gain_scale': 'Factor on both gains of the servo [1]',
    'max_position_error': 'Position error of an actuator that ends a motion [m, rad]',
}
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
        'motor_currents',
        default_value='motor_currents',
        description='Topic of the measured currents or forces (pkm_msgs/MotorCurrents, '
        'sensor_msgs/JointState or std_msgs/Float64MultiArray); without one, efforts of the joint '
        'states.',
    ),
    DeclareLaunchArgument(
        'force_unit',
        default_value='auto',
        choices=['auto', 'ampere', 'newton'],
        description='Unit of the measured currents or forces (newton: also N m), where their '
        'messages do not say it.',
    ),
    DeclareLaunchArgument(
        'effort_commands',
        default_value='effort_controller/commands',
        description='Topic of the force commands (std_msgs/Float64MultiArray) to the robot, '
        'as forward_command_controller takes them.',
    ),
    DeclareLaunchArgument(
        'valve_commands',
        default_value='valve_controller/commands',
        description='Topic of the signals of valves (std_msgs/Float64MultiArray) to the robot.',
    ),
    DeclareLaunchArgument(
        'brakes_close',
        default_value='brakes/close',
        description='Topic on which brakes are asked to close or to open (std_msgs/Bool).',
    ),
    DeclareLaunchArgument(
        'brakes_closed',
        default_value='brakes/closed',
        description='Topic on which brakes report that they are closed (std_msgs/Bool).',
    ),
    DeclareLaunchArgument(
        'drives_ready',
        default_value='drives/ready',
        description='Topic on which the drives say whether they are ready (std_msgs/Bool).',
    ),
    DeclareLaunchArgument(
        'drives_homed',
        default_value='drives/homed',
        description='Topic on which the drives say whether their positions are valid '
        '(std_msgs/Bool).',
    ),
    DeclareLaunchArgument(
        'joint_trajectory',
        default_value='trajectory_controller/joint_trajectory',
        description='Topic of motions of the actuated joints (trajectory_msgs/JointTrajectory).',
    ),
    DeclareLaunchArgument(
        'lockstep',
        default_value='false',
        choices=['true', 'false'],
        description='Command once for each joint state instead of at an own rate: for a robot '
        'that waits for each command.',
    ),
    DeclareLaunchArgument(
        'autostart',
        default_value='false',
        choices=['true', 'false'],
        description='Configure and activate the controller, which then holds the measured pose.',
    ),
    DeclareLaunchArgument(
        'drives',
        default_value=FORCES,
        choices=list(COMMANDS),
        description='What the drives are told: forces, or signals of the valves of cylinders.',
    ),
    DeclareLaunchArgument(
        'feedforward',
        default_value='none',
        choices=['none', 'nominal'],
        description='Model that the controller begins with.',
    ),
    *(
        DeclareLaunchArgument(
            name, default_value='', description=f'{text}; empty: as the parameter file says.'
        )
        for name, text in SERVO.items()
    ),
    DeclareLaunchArgument(
        'servers',
        default_value='true',
        choices=['true', 'false'],
        description='Start the excitation and estimation servers.',
    ),
    DeclareLaunchArgument(
        'online',
        default_value='false',
        choices=['true', 'false'],
        description='Start the online estimator, which follows the joint states and currents.',
    ),
    DeclareLaunchArgument(
        'monitor_model',
        default_value='',
        description='Model file by which the force monitor watches the robot; empty: none does.',
    ),
    DeclareLaunchArgument(
        'monitor_references',
        default_value='',
        description='Recordings, separated by commas, in which nothing disturbed the robot: the '
        'alarm levels of the force monitor come from them.',
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


def robot() -> ParameterValue:
    """Return the robot as the nodes read it, with the calibration where there is one."""
    calibration = LaunchConfiguration('calibration')
    given = NotEqualsSubstitution(calibration, '')
    behind = IfElseSubstitution(given, [' calibration:=', calibration], '')
    return ParameterValue([LaunchConfiguration('robot'), behind], value_type=str)


def node(
    package: str, name: str, condition: Substitution | str = 'true', **parameters: ParameterValue
) -> Node:
    """Return a node with its parameter file and the parameters that arguments set."""
    return Node(
        package=package,
        executable=name,
        name=name,
        namespace=LaunchConfiguration('namespace'),
        condition=IfCondition(condition),
        parameters=[
            PathJoinSubstitution([LaunchConfiguration('config'), f'{name}.yaml']),
            {'robot': robot(), **parameters},
        ],
        remappings=[(topic, LaunchConfiguration(argument)) for topic, argument in TOPICS.items()],
        ros_arguments=[
            *('--log-level', LaunchConfiguration('log_level')),
            *('--enclave', PathJoinSubstitution([LaunchConfiguration('enclaves'), name])),
        ],
        output='screen',
        sigterm_timeout='15',  # [s] the robot stops, a bag is closed
        respawn=name in RESPAWNED,
        respawn_delay=RESPAWN_DELAY,
        respawn_max_retries=RESPAWNS if name in RESPAWNED else 0,
    )


def controller(context: LaunchContext) -> list[Node]:
    """Return the trajectory controller; its servo is that of the parameter file or of arguments."""
    values = {name: LaunchConfiguration(name) for name in SERVO}
    servo = {
        name: ParameterValue(value, value_type=float)
        for name, value in values.items()
        if value.perform(context)
    }
    update_mode = IfElseSubstitution(LaunchConfiguration('lockstep'), 'state', 'timer')
    return [
        node(
            'pkm_control',
            'trajectory_controller',
            update_mode=ParameterValue(update_mode, value_type=str),
            autostart=ParameterValue(LaunchConfiguration('autostart'), value_type=bool),
            drives=ParameterValue(LaunchConfiguration('drives'), value_type=str),
            feedforward=ParameterValue(LaunchConfiguration('feedforward'), value_type=str),
            **servo,
        )
    ]


def generate_launch_description() -> LaunchDescription:
    """Return the nodes that move a robot and learn its model."""
    servers = LaunchConfiguration('servers')
    force_unit = ParameterValue(LaunchConfiguration('force_unit'), value_type=str)
    return LaunchDescription(
        [
            *ARGUMENTS,
            OpaqueFunction(function=controller),
            node('pkm_identification', 'excitation_server', servers, force_unit=force_unit),
            node('pkm_identification', 'estimation_server', servers),
            node(
                'pkm_identification',
                'online_estimator',
                LaunchConfiguration('online'),
                force_unit=force_unit,
            ),
            node(
                'pkm_identification',
                'force_monitor',
                NotEqualsSubstitution(LaunchConfiguration('monitor_model'), ''),
                force_unit=force_unit,
                model=ParameterValue(LaunchConfiguration('monitor_model'), value_type=str),
                references=ParameterValue(
                    LaunchConfiguration('monitor_references'), value_type=str
                ),
            ),
        ]
    )
