"""What `ros_gz_bridge` carries between ROS and the topics of an exported world of Gazebo."""

from __future__ import annotations

from collections.abc import Iterable

import yaml

HEAD = (
    '# ros2 run ros_gz_bridge parameter_bridge --ros-args -p config_file:=THIS FILE\n'
    '# Positions of the joint states count from home, as SDF does; forces in N, N m.\n'
)


def build_bridge(world: str, model: str, driven: Iterable[str]) -> str:
    """Return the configuration (YAML): clock and joint states to ROS, a force a driven joint back.

    The topics of Gazebo are those that the systems of `build_sdf` have.
    """
    states = f'/world/{world}/model/{model}/joint_state'
    entries = [
        _entry('/clock', '/clock', 'rosgraph_msgs/msg/Clock', 'gz.msgs.Clock', 'GZ_TO_ROS'),
        _entry(
            f'{model}/joint_states_from_home',
            states,
            'sensor_msgs/msg/JointState',
            'gz.msgs.Model',
            'GZ_TO_ROS',
        ),
    ]
    for joint in driven:
        topic = f'/model/{model}/joint/{joint}/cmd_force'
        types = ('std_msgs/msg/Float64', 'gz.msgs.Double')
        entries.append(_entry(f'{model}/{joint}/force', topic, *types, 'ROS_TO_GZ'))
    return HEAD + str(yaml.safe_dump(entries, sort_keys=False))


def _entry(
    ros: str, gazebo: str, ros_type: str, gazebo_type: str, direction: str
) -> dict[str, str]:
    return {
        'ros_topic_name': ros,
        'gz_topic_name': gazebo,
        'ros_type_name': ros_type,
        'gz_type_name': gazebo_type,
        'direction': direction,
    }
