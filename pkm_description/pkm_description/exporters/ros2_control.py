"""What ros2_control needs of a robot in a simulator: the tag of its URDF and its controllers."""

from __future__ import annotations

from collections.abc import Mapping

import yaml
from lxml import etree

from pkm_description.description import Description
from pkm_description.errors import ExportError
from pkm_description.exporters.exported import number
from pkm_description.exporters.urdf import build_urdf
from pkm_description.transmissions.motor_side import spoken_by
from pkm_description.xml_elements import parse_xml

#: The controllers; commands go to the topic ``effort_controller/commands``.
BROADCASTER, EFFORT_CONTROLLER = 'joint_state_broadcaster', 'effort_controller'
STATES = ('position', 'velocity', 'effort')


def build_ros2_control_urdf(
    description: Description, plugin: str, parameters: Mapping[str, str]
) -> str:
    """Return the URDF of a robot, loops open, with the `<ros2_control>` tag of a simulator.

    `plugin` is the hardware's class, `parameters` are its `<param>`s. Each actuated joint takes an
    effort [N, N m] and shows position, velocity and effort; it begins at home. The tag of the real
    robot is left out. Raises ExportError
    for a robot that has drives without force or whose topics speak of its motors.
    """
    joints = _commanded(description)
    robot = parse_xml(build_urdf(description, 'tree').text, f"URDF of robot '{description.name}'")
    for real in robot.findall('ros2_control'):
        robot.remove(real)
    system = etree.SubElement(robot, 'ros2_control', name=description.name, type='system')
    hardware = etree.SubElement(system, 'hardware')
    etree.SubElement(hardware, 'plugin').text = plugin
    for name, value in parameters.items():
        etree.SubElement(hardware, 'param', name=name).text = value
    for name in joints:
        joint = etree.SubElement(system, 'joint', name=name)
        etree.SubElement(joint, 'command_interface', name='effort')
        for state in STATES:
            interface = etree.SubElement(joint, 'state_interface', name=state)
            if state == 'position':
                home = number(description.home_joints[name])
                etree.SubElement(interface, 'param', name='initial_value').text = home
    etree.indent(robot)
    return str(etree.tostring(robot, pretty_print=True, encoding='unicode'))


def build_controllers(description: Description, rate: int, namespace: str = '') -> str:
    """Return the parameter file (YAML) of a controller manager at `rate` [Hz] and its controllers.

    A `JointStateBroadcaster`, and a `ForwardCommandController` of efforts in the order of the
    actuated joints. Raises ExportError as `build_ros2_control_urdf` does.
    """
    types = {
        BROADCASTER: 'joint_state_broadcaster/JointStateBroadcaster',
        EFFORT_CONTROLLER: 'forward_command_controller/ForwardCommandController',
    }
    manager = {'update_rate': rate, **{name: {'type': each} for name, each in types.items()}}
    efforts = {'joints': list(_commanded(description)), 'interface_name': 'effort'}
    prefix = f'/{namespace.strip("/")}/' if namespace.strip('/') else ''
    nodes = {'controller_manager': manager, EFFORT_CONTROLLER: efforts}
    content = {f'{prefix}{name}': {'ros__parameters': each} for name, each in nodes.items()}
    return str(yaml.safe_dump(content, sort_keys=False))


def _commanded(description: Description) -> tuple[str, ...]:
    joints = tuple(description.actuated_joints)
    if free := [name for name in joints if name not in description.driven_joints]:
        raise ExportError(
            f"robot '{description.name}' has no drive at {', '.join(free)}: ros2_control commands "
            'all actuated joints'
        )
    if spoken_by(description) is not None:
        raise ExportError(
            f"robot '{description.name}' speaks of its motors, or has a calibration: in a "
            'simulator under ros2_control it has joints as described'
        )
    return joints
