"""MJCF (MuJoCo): the tree as bodies, the loop closures as equality constraints."""

from __future__ import annotations

import numpy as np
from lxml import etree
from transforms3d.quaternions import mat2quat

from pkm_description.description import Description, Inertial, Joint
from pkm_description.errors import ExportError
from pkm_description.exporters import inertias
from pkm_description.exporters.exported import (
    Exported,
    as_text,
    asymmetry_losses,
    cut_loss,
    drive_losses,
    load_losses,
    number,
    numbers,
    poses_at_home,
    spring,
    symmetric,
)
from pkm_description.exporters.mjcf_closures import (
    MjcfClosure,
    add_geometry,
    add_inertial,
    is_thin,
    pose_attributes,
)
from pkm_description.exporters.motors import add_tendons
from pkm_description.exporters.shapes import Shape, read_shapes
from pkm_description.spins.round_bodies import averaged_body


def build_mjcf(
    description: Description,
    timestep: float = 1e-4,  # [s] of the integration; the stiffness of the closures follows it
    # viscous and Coulomb, as `damping` and `frictionloss`, springs of drives as `stiffness`
    joint_friction: bool = True,
    joint_limits: bool = True,  # of which MuJoCo makes soft end stops
    shapes: bool = True,  # boxes, cylinders and spheres, as geoms without mass or contact
) -> Exported:
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
    `armature`. Rotor and friction of a motor behind a transmission are those of a fixed tendon
    of its name.

    MuJoCo refuses moving bodies without inertia: a massless link, and a universal closure's
    ring, gets 1e-10 kg and 1e-12 kg m^2 (the mass is taken from a neighbour where that is
    exact), and a principal inertia below 1e-12 kg m^2 is raised by as much. A closure at
    such a body is soft unless its `body_invweight0` is bounded after loading, as the
    simulated plant does. MJCF has symmetric friction only: of an asymmetric one the mean of
    both directions is written. The spring of a drive is the joint's `stiffness` with its offset
    in `springref`; force ripple is no part of MJCF, nor is
    friction that grows with loads. Of friction in closing constraints only that
    of a prismatic one is written; the others have no joint in MJCF. Raises ExportError where
    MJCF cannot hold an element of the description; names the element.
    """
    if not timestep > 0.0:
        raise ExportError(f'the MJCF time step must be positive, not {timestep} s')
    drawn = read_shapes(description) if shapes else []
    writer = _Writer(description, timestep, joint_friction, joint_limits, drawn)
    root = writer.build()
    return Exported(as_text(root, writer.losses), tuple(writer.losses))


class _Writer:
    def __init__(
        self,
        description: Description,
        timestep: float,
        friction: bool,
        limits: bool,
        shapes: list[Shape],
    ) -> None:
        self.shapes = shapes
        self.losses = asymmetry_losses(description) if friction else []
        self.losses += drive_losses(description, 'MJCF') if friction else []
        self.losses += load_losses(description, 'MJCF') if friction else []
        bodies = inertias.StandIns(description, welded=False)
        self.inertials = dict(bodies.inertials)
        for spin in description.idle_spins:  # nothing spins them, so the axis has no inertia
            if (body := self.inertials[spin.body]) is not None and spin.axis.any():
                self.inertials[spin.body] = averaged_body(body, spin.point, spin.axis)
        self.losses += bodies.losses
        self.description = description
        self.timestep = timestep
        self.friction = friction
        self.limits = limits
        self.rotor = {a.joint: a.rotor_inertia or 0.0 for a in description.actuators}
        self.terms = description.drive_terms
        self.poses = poses_at_home(description)
        self.closures = [
            MjcfClosure(
                item,
                self.poses[item.parent] @ item.parent_origin,
                self.poses[item.child] @ item.child_origin,
                timestep,
            )
            for item in description.constraints
        ]
        self.bodies: dict[str, etree._Element] = {}
        self.home: list[float] = []

    def build(self) -> etree._Element:
        root = etree.Element('mujoco', model=self.description.name)
        etree.SubElement(root, 'compiler', angle='radian', autolimits='true')
        self._add_option(root)
        world = etree.SubElement(root, 'worldbody')
        name = self.description.base_link
        base = world if name == 'world' else etree.SubElement(world, 'body', name=name)
        self._fill(base, name)
        for joint in self.description.joints:
            if joint.type == 'floating':
                self._add_floating(world, joint)
        equality = etree.SubElement(root, 'equality')
        for closure in self.closures:
            closure.close(equality, self.bodies)
            self._note_friction(closure)
        self.losses += add_tendons(root, self.description, self.friction)
        self._add_actuators(root)
        keyframe = etree.SubElement(root, 'keyframe')
        etree.SubElement(keyframe, 'key', name='home', qpos=numbers(self.home))
        return root

    def _add_option(self, root: etree._Element) -> None:
        option = etree.SubElement(root, 'option', timestep=number(self.timestep))
        option.set('gravity', numbers(self.description.gravity))
        for key, value in (('integrator', 'Euler'), ('solver', 'Newton'), ('tolerance', '1e-12')):
            option.set(key, value)
        etree.SubElement(option, 'flag', contact='disable', autoreset='disable')

    def _fill(self, body: etree._Element, link: str) -> None:
        """Add a link's inertia and everything that hangs on the link."""
        self.bodies[link] = body
        inertial = self._share(link)
        if body.tag == 'body' and inertial is not None:
            if is_thin(inertial):
                self.losses.append(
                    f"link '{link}': its inertia is raised by {inertias.TINY_INERTIA:g} kg m^2"
                )
            add_inertial(body, link, inertial)
        for index, shape in enumerate(self.shapes):
            if shape.link == link:
                add_geometry(body, f'{link}_{shape.kind}_{index}', shape)
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
                body_of_closure = closure.add_auxiliary(body, share, self.friction)
                self.bodies[closure.auxiliary] = body_of_closure

    def _share(self, link: str) -> Inertial | None:
        """Return a link's inertia without what auxiliary bodies carry of it."""
        inertial = self.inertials[link]
        if inertial is None:
            return None
        closing = [c.constraint for c in self.closures if c.constraint.child == link]
        carriers = sum(constraint.type == 'prismatic' for constraint in closing)
        if carriers:
            inertial = inertias.scaled(inertial, 1.0 / (1 + carriers))
        for constraint in closing:
            if constraint.holds == 'universal':
                centre = np.asarray(constraint.child_origin.position)
                part = Inertial(inertias.TINY_MASS, centre, np.zeros((3, 3)))
                inertial = inertias.without(inertial, part) or inertial
        return inertial

    def _note_friction(self, closure: MjcfClosure) -> None:
        written = closure.constraint.type == 'prismatic'
        lost = cut_loss(closure.constraint, written, written)
        if lost and self.friction:
            self.losses.append(lost)

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
        ends = np.isfinite([limit.lower, limit.upper])
        if self.limits and ends.any():
            if ends.all() and limit.lower < limit.upper:
                attributes['range'] = numbers([limit.lower, limit.upper])
            else:
                self.losses.append(
                    f"joint '{joint.name}': limits {limit.lower:g} to {limit.upper:g} are left "
                    'out, MJCF needs two that differ'
                )
        if self.rotor.get(joint.name):
            attributes['armature'] = number(self.rotor[joint.name])
        if self.friction and joint.friction is not None:
            coulomb, viscous = symmetric(joint.friction)
            attributes['damping'] = number(viscous)
            attributes['frictionloss'] = number(coulomb)
        stiffness, rest = spring(self.terms.get(joint.name))
        if self.friction and stiffness:
            attributes |= {'stiffness': number(stiffness), 'springref': number(rest)}
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
