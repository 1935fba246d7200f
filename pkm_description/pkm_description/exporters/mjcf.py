"""MJCF (MuJoCo): the tree as bodies, the loop closures as equality constraints."""

from __future__ import annotations

import numpy as np
from lxml import etree
from transforms3d.quaternions import mat2quat

from pkm_description.assembly import Assembly
from pkm_description.description import Description, Inertial, Joint, Pose
from pkm_description.errors import ExportError
from pkm_description.exporters.mjcf_closures import MjcfClosure
from pkm_description.exporters.mjcf_elements import (
    add_inertial,
    number,
    numbers,
    pose_attributes,
)


def export_mjcf(
    description: Description,
    timestep: float = 1e-4,
    joint_friction: bool = True,
    joint_limits: bool = True,
) -> str:
    """Write a robot as MJCF.

    Each link is a body, with its inertia in link axes about its centre of mass. A
    floating link hangs on a free joint in the world. Every closing constraint is an
    equality between sites, so it does not depend on the configuration in which the
    model is compiled: `spherical` is a `connect`, `fixed` a `weld`, `revolute` two
    `connect` on the axis, `universal` and `prismatic` an auxiliary body on a joint of
    its own that is closed to the other link (that of a `prismatic` one is welded to the
    child link and carries half of its inertia). Closures are stiff (time constant of two
    steps, impedance 0.9999), which keeps their gap below a micrometre at 0.1 ms. The
    keyframe `home` is the closed home configuration. Actuated joints get a `motor` of
    gear one, limited to the joint's effort limit, and their rotor inertia as
    `armature`.

    MuJoCo refuses moving bodies without inertia: a massless link, and a universal closure's
    ring, gets 1e-6 kg and 1e-8 kg m^2, and a principal inertia below 1e-8 kg m^2 is
    raised by as much. A closure at such a body is soft unless its `body_invweight0` is
    bounded after loading, as the simulated plant does. MJCF has symmetric friction only:
    of an asymmetric one the mean of both directions is written. Friction in closing
    constraints is not written.

    Parameters
    ----------
    description : Description
        The robot.
    timestep : float
        Integration step [s]; the stiffness of the closures follows it.
    joint_friction : bool
        Write the joints' viscous and Coulomb friction as `damping` and `frictionloss`.
    joint_limits : bool
        Write the joints' ranges; MuJoCo makes soft end stops of them.

    Returns
    -------
    str
        The XML text.

    Raises
    ------
    ExportError
        If MJCF cannot hold an element of the description; names the element.
    """
    if not timestep > 0.0:
        raise ExportError(f'the MJCF time step must be positive, not {timestep} s')
    root = _Writer(description, timestep, joint_friction, joint_limits).build()
    text: str = etree.tostring(root, pretty_print=True, encoding='unicode')
    return text


class _Writer:
    def __init__(
        self, description: Description, timestep: float, friction: bool, limits: bool
    ) -> None:
        self.description = description
        self.timestep = timestep
        self.friction = friction
        self.limits = limits
        self.rotor = {a.joint: a.rotor_inertia or 0.0 for a in description.actuators}
        assembly = Assembly(description)
        position, rotation = assembly.body_poses(assembly.home())
        self.poses = {description.base_link: Pose()}
        for name, place, turn in zip(
            assembly.tree.body_names, position, rotation, strict=True
        ):
            self.poses[name] = Pose(place, turn)
        self.closures = [
            MjcfClosure(
                constraint,
                _compose(self.poses[constraint.parent], constraint.parent_origin),
                _compose(self.poses[constraint.child], constraint.child_origin),
                timestep,
            )
            for constraint in description.constraints
        ]
        self.bodies: dict[str, etree._Element] = {}
        self.home: list[float] = []

    def build(self) -> etree._Element:
        root = etree.Element('mujoco', model=self.description.name)
        etree.SubElement(root, 'compiler', angle='radian', autolimits='true')
        self._add_option(root)
        world = etree.SubElement(root, 'worldbody')
        base = etree.SubElement(world, 'body', name=self.description.base_link)
        self._fill(base, self.description.base_link, moving=False)
        for joint in self.description.joints:
            if joint.type == 'floating':
                self._add_floating(world, joint)
        equality = etree.SubElement(root, 'equality')
        for closure in self.closures:
            closure.close(equality, self.bodies)
        self._add_actuators(root)
        keyframe = etree.SubElement(root, 'keyframe')
        etree.SubElement(keyframe, 'key', name='home', qpos=numbers(self.home))
        return root

    def _add_option(self, root: etree._Element) -> None:
        option = etree.SubElement(
            root,
            'option',
            timestep=number(self.timestep),
            gravity=numbers(self.description.gravity),
            integrator='Euler',
            solver='Newton',
            tolerance='1e-12',
        )
        etree.SubElement(option, 'flag', contact='disable', autoreset='disable')

    def _fill(self, body: etree._Element, link: str, moving: bool = True) -> None:
        """Add a link's inertia and everything that hangs on the link."""
        self.bodies[link] = body
        inertial = self._share(link)
        if moving or inertial is not None:
            add_inertial(body, link, inertial)
        for joint in self.description.joints:
            if joint.parent == link and joint.type != 'floating':
                attributes = pose_attributes(joint.origin)
                child = etree.SubElement(body, 'body', name=joint.child, **attributes)
                if joint.is_scalar:
                    self._add_joint(child, joint)
                self._fill(child, joint.child)
        for closure in self.closures:
            if closure.auxiliary is not None and closure.constraint.parent == link:
                self.home.append(0.0)
                share = self._share(closure.constraint.child)
                self.bodies[closure.auxiliary] = closure.add_auxiliary(body, share)

    def _share(self, link: str) -> Inertial | None:
        """Return a link's inertia, divided by the bodies that are welded to carry it."""
        inertial = self.description.link(link).inertial
        carriers = sum(
            closure.constraint.type == 'prismatic' and closure.constraint.child == link
            for closure in self.closures
        )
        if inertial is None or carriers == 0:
            return inertial
        part = 1.0 / (1 + carriers)
        return Inertial(part * inertial.mass, inertial.com, part * inertial.inertia)

    def _add_floating(self, world: etree._Element, joint: Joint) -> None:
        base = self.description.base_link
        if joint.parent != base:
            raise ExportError(
                f"joint '{joint.name}': MJCF has free joints in the world only, so a floating "
                f"joint must hang on the base link '{base}', not on '{joint.parent}'"
            )
        body = etree.SubElement(world, 'body', name=joint.child)
        etree.SubElement(body, 'freejoint', name=joint.name)
        pose = self.poses[joint.child]
        self.home += [*pose.position, *mat2quat(pose.rotation)]
        self._fill(body, joint.child)

    def _add_joint(self, body: etree._Element, joint: Joint) -> None:
        attributes = {
            'name': joint.name,
            'type': 'slide' if joint.type == 'prismatic' else 'hinge',
            'axis': numbers(joint.axis),
        }
        limit = joint.limit
        bounded = bool(np.all(np.isfinite([limit.lower, limit.upper])))
        if self.limits and bounded and limit.lower < limit.upper:
            attributes['range'] = numbers([limit.lower, limit.upper])
        if self.rotor.get(joint.name):
            attributes['armature'] = number(self.rotor[joint.name])
        if self.friction and joint.friction is not None:
            friction = joint.friction
            coulomb = friction.coulomb
            if friction.model == 'asymmetric':
                coulomb = 0.5 * (friction.coulomb + friction.coulomb_negative)
            attributes['damping'] = number(friction.viscous)
            attributes['frictionloss'] = number(coulomb)
        etree.SubElement(body, 'joint', attributes)
        self.home.append(float(self.description.home_joints[joint.name]))

    def _add_actuators(self, root: etree._Element) -> None:
        actuators = etree.SubElement(root, 'actuator')
        for name in self.description.driven_joints:
            attributes = {'name': name, 'joint': name, 'gear': '1'}
            effort = self.description.joint(name).limit.effort
            if np.isfinite(effort):
                attributes['forcerange'] = numbers([-effort, effort])
            etree.SubElement(actuators, 'motor', attributes)


def _compose(first: Pose, second: Pose) -> Pose:
    return Pose(
        first.position + first.rotation @ second.position, first.rotation @ second.rotation
    )
