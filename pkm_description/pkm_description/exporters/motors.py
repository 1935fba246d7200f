"""Motors behind transmissions, as formats without them can say them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from lxml import etree

from pkm_description.description import Description, Motor, Transmission
from pkm_description.exporters.exported import number, symmetric
from pkm_description.readers.urdf_transmissions import OFFSET

SIMPLE = 'transmission_interface/SimpleTransmission'
INTERFACE = 'hardware_interface/EffortJointInterface'


def motors_of(description: Description) -> Iterator[tuple[Motor, dict[str, float]]]:
    """Yield each motor behind a transmission and its rate by those of its joints."""
    for each in description.transmissions:
        for motor, row in zip(each.motors, each.inverse.tolist(), strict=True):
            moved = zip(each.joints, row, strict=True)
            yield motor, {joint: factor for joint, factor in moved if factor}


def reflected_rotors(description: Description) -> dict[str, float]:
    """Inertia [kg, kg m^2] at the joint of rotors that turn with one joint alone."""
    found: dict[str, float] = {}
    for motor, factors in motors_of(description):
        if motor.rotor_inertia and len(factors) == 1:
            [(joint, factor)] = factors.items()
            found[joint] = found.get(joint, 0.0) + factor**2 * motor.rotor_inertia
    return found


def is_one_branch(description: Description, joints: Sequence[str]) -> bool:
    """Whether each of the joints carries, or hangs on, each other one."""
    above = {joint.child: joint for joint in description.joints}

    def carrying(name: str) -> set[str]:
        link, found = description.joint(name).parent, set()
        while link in above:
            found.add(above[link].name)
            link = above[link].parent
        return found

    carriers = {name: carrying(name) for name in joints}
    return all(
        one == other or one in carriers[other] or other in carriers[one]
        for one in joints
        for other in joints
    )


def add_tendons(root: etree._Element, description: Description, friction: bool) -> list[str]:
    """Add a fixed tendon of MJCF for each motor with a rotor or friction; return what is lost.

    MuJoCo's inertia of a tendon acts between joints of one branch of the tree only.
    """
    tendons, losses = etree.Element('tendon'), []
    for motor, factors in motors_of(description):
        rotor, (coulomb, viscous) = motor.rotor_inertia or 0.0, symmetric(motor.friction)
        if rotor and not is_one_branch(description, list(factors)):
            losses.append(
                f"motor '{motor.name}': rotor inertia {rotor:g} is left out, as MJCF has none "
                f'between branches of the tree ({", ".join(factors)})'
            )
            rotor = 0.0
        if not friction:
            coulomb = viscous = 0.0
        values = {'armature': rotor, 'damping': viscous, 'frictionloss': coulomb}
        given = {key: number(value) for key, value in values.items() if value}
        if given:
            tendon = etree.SubElement(tendons, 'fixed', name=motor.name, **given)
            for joint, factor in factors.items():
                etree.SubElement(tendon, 'joint', joint=joint, coef=number(factor))
    if len(tendons):
        root.append(tendons)
    return losses


def sdf_losses(description: Description) -> list[str]:
    """Say what of motors is no part of SDF: friction, and rotors that several joints turn."""
    losses = []
    for motor, factors in motors_of(description):
        coulomb, viscous = symmetric(motor.friction)
        rotor = motor.rotor_inertia if len(factors) > 1 else None
        lost = {'rotor inertia': rotor, 'Coulomb friction': coulomb, 'viscous friction': viscous}
        losses += _motor_loss(motor, lost, 'SDF')
    return losses


def _motor_loss(motor: Motor, lost: Mapping[str, float | None], form: str) -> list[str]:
    """One line on what is lost of a motor; none where nothing is."""
    texts = [f'{name} {value:g}' for name, value in lost.items() if value]
    if not texts:
        return []
    return [
        f"motor '{motor.name}': {' and '.join(texts)} {'are' if texts[1:] else 'is'} no part of "
        f'{form}'
    ]


def add_transmissions(robot: etree._Element, description: Description) -> list[str]:
    """Add a URDF's element for each single joint that has none; return what is lost."""
    known = {joint.get('name'): joint for joint in robot.iterfind('.//transmission/joint')}
    losses = []
    for each in description.transmissions:
        if each.coupled.any():
            losses.append(
                f"transmission '{each.name}' couples {', '.join(each.joints)}: it is left out"
            )
        for place, (joint, motor) in enumerate(zip(each.joints, each.motors, strict=True)):
            offset = float(each.offset[place])
            if not each.coupled[place]:
                element = known[joint] if joint in known else _add_transmission(robot, each, place)
                if offset and element.find(OFFSET) is None:
                    etree.SubElement(element, OFFSET).text = number(offset)
            coulomb, viscous = symmetric(motor.friction)
            losses += _motor_loss(
                motor,
                {
                    'rotor inertia': motor.rotor_inertia,
                    'Coulomb friction': coulomb,
                    'viscous friction': viscous,
                    'offset': offset if each.coupled[place] else 0.0,
                },
                'URDF',
            )
    return losses


def _add_transmission(robot: etree._Element, each: Transmission, place: int) -> etree._Element:
    """Add an element of one joint; return that of the joint in it."""
    name = each.name if len(each.joints) == 1 else f'{each.name}_{each.joints[place]}'
    element = etree.SubElement(robot, 'transmission', name=name)
    etree.SubElement(element, 'type').text = SIMPLE
    joint = etree.SubElement(element, 'joint', name=each.joints[place])
    etree.SubElement(joint, 'hardwareInterface').text = INTERFACE
    actuator = etree.SubElement(element, 'actuator', name=each.motors[place].name)
    ratio = number(each.inverse[place, place])
    etree.SubElement(actuator, 'mechanicalReduction').text = ratio
    return joint
