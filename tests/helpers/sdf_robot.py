"""A closed chain as SDF describes it, read with plain XML and computed with Pinocchio.

Revolute, prismatic, screw and fixed joints make the tree as long as their child has no parent yet;
every link that they do not reach floats. All other joints, and the welds of Gazebo's
`DetachableJoint`, are constraints.
"""

from __future__ import annotations

from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pinocchio as pin

from pkm_dynamics.simulation.closed_tree import ClosedTree, saturated

NOTES = '{urn:pkm-description:sdf}'
KINDS = {'revolute': pin.JointModelRevoluteUnaligned, 'prismatic': pin.JointModelPrismaticUnaligned}


class SdfRobot(ClosedTree):
    """Mechanism of the first model of an SDF world."""

    def __init__(self, text: str, actuated: list[str], transition: float = 0.002) -> None:
        world = ElementTree.fromstring(text).find('world')
        element = world.find('model')
        self.transition = transition
        self.links = {item.get('name'): _link(item) for item in element.findall('link')}
        self.welds = [
            (plugin.find('parent_link').text, plugin.find('child_link').text)
            for plugin in element.findall('plugin')
            if plugin.get('name') == 'gz::sim::systems::DetachableJoint'
        ]
        self.model = pin.Model()
        self.model.gravity.linear = _numbers(world.find('gravity'))
        joints = [_joint(item) for item in element.findall('joint')]
        with_body = {item.findtext(f'{NOTES}part_of') for item in element.findall('link')}
        for joint in joints:
            if joint.child in with_body:
                joint.rotor = 0.0  # it is a body on a screw
        for joint in joints:
            joint.home_pose = self.links[joint.child].pose * joint.frame
        self._grow(joints)
        self.data = self.model.createData()
        self.nv = self.model.nv
        self.actuated = [self.model.joints[self.model.getJointId(n)].idx_v for n in actuated]
        self._addresses = [self.model.joints[self.model.getJointId(n)].idx_q for n in actuated]
        self._offsets = np.array([j.home for n in actuated for j in joints if j.name == n])
        self.q = pin.neutral(self.model)

    def _grow(self, joints) -> None:
        self.placed = {'world': (0, pin.SE3.Identity())}
        self.loops, self.moving = [], []
        pending = list(joints)
        while True:
            ready = next(
                (
                    j
                    for j in pending
                    if j.parent in self.placed
                    and j.child not in self.placed
                    and j.type in (*KINDS, 'screw', 'fixed')
                ),
                None,
            )
            if ready is not None:
                pending.remove(ready)
                self._add(ready)
                continue
            floating = next((name for name in self.links if name not in self.placed), None)
            if floating is None:
                break
            joint = self.model.addJoint(
                0, pin.JointModelFreeFlyer(), self.links[floating].pose, f'float_{floating}'
            )
            self._place(floating, joint, pin.SE3.Identity())
        for joint in pending:
            self._add_loop(joint)
        for parent, child in self.welds:
            home = self.links[child].pose
            self._add_loop(
                SimpleNamespace(type='fixed', parent=parent, child=child, axes=[], home_pose=home)
            )

    def _place(self, link, joint, placement) -> None:
        self.placed[link] = (joint, placement)
        self.model.appendBodyToJoint(joint, self.links[link].inertia, placement)

    def _add(self, joint) -> None:
        above, placement = self.placed[joint.parent]
        parent = self.links[joint.parent].pose if joint.parent != 'world' else pin.SE3.Identity()
        here = placement * parent.inverse() * joint.home_pose
        if joint.type == 'fixed':
            self._place(joint.child, above, here * joint.frame.inverse())
            return
        axis = np.asarray(joint.axes[0].xyz)
        if joint.type == 'screw':
            kind = pin.JointModelHelicalUnaligned(axis, -1.0 / joint.pitch)
        else:
            kind = KINDS[joint.type](axis)
        index = self.model.addJoint(above, kind, here, joint.name)
        self._place(joint.child, index, joint.frame.inverse())
        self.moving.append((index, joint))

    def _add_loop(self, joint) -> None:
        ends = []
        for link in (joint.parent, joint.child):
            index, placement = self.placed[link]
            ends.append((index, placement * self.links[link].pose.inverse() * joint.home_pose))
        eye = np.eye(3)
        points, directions = list(eye), []
        if joint.type in ('revolute', 'prismatic'):
            axis = joint.axes[0].xyz
            side = np.cross(axis, eye[np.argmin(np.abs(axis))])
            side /= np.linalg.norm(side)
            sides = [side, np.cross(axis, side)]
        if joint.type == 'revolute':
            directions = [(side, axis) for side in sides]
        elif joint.type == 'universal':
            directions = [(joint.axes[0].xyz, joint.axes[1].xyz)]
        elif joint.type == 'prismatic':
            points = sides
        else:
            assert joint.type in ('ball', 'fixed'), joint.type
        if joint.type in ('fixed', 'prismatic'):
            directions = [(eye[0], eye[1]), (eye[1], eye[2]), (eye[2], eye[0])]
        self.loops.append((ends, points, directions, joint))

    def integrate(self, q, change):
        return pin.integrate(self.model, q, change)

    def positions(self, q):
        return q[self._addresses] + self._offsets

    def _end(self, end):
        index, placement = end
        if index == 0:
            return placement, np.zeros((3, self.nv)), np.zeros((3, self.nv))
        pose = self.data.oMi[index] * placement
        jacobian = pin.getJointJacobian(self.model, self.data, index, pin.LOCAL_WORLD_ALIGNED)
        arm = pose.translation - self.data.oMi[index].translation
        return pose, jacobian[:3] - pin.skew(arm) @ jacobian[3:], jacobian[3:]

    def rows(self, q):
        pin.computeJointJacobians(self.model, self.data, q)
        residual, rows = [], []
        for (first, second), points, directions, _ in self.loops:
            (m1, v1, w1), (m2, v2, w2) = self._end(first), self._end(second)
            gap = m2.translation - m1.translation
            for point in points:
                n = m1.rotation @ point
                residual.append(n @ gap)
                rows.append(n @ (v2 - v1) + np.cross(n, gap) @ w1)
            for one, other in directions:
                a, b = m1.rotation @ one, m2.rotation @ other
                residual.append(a @ b)
                rows.append(np.cross(a, b) @ (w1 - w2))
        return np.array(residual), np.reshape(rows, (-1, self.nv))

    def tree_forces(self, q, v, a):
        forces = pin.rnea(self.model, self.data, q, v, a)
        for index, joint in self.moving:
            k = self.model.joints[index].idx_v
            forces[k] += self._friction(joint.axes[0], v[k]) + joint.rotor * a[k]
            axis = joint.axes[0]
            if axis.spring_stiffness:
                at = q[self.model.joints[index].idx_q]
                forces[k] += axis.spring_stiffness * (at - axis.spring_reference)
        pin.computeJointJacobians(self.model, self.data, q)
        for (first, second), _, _, joint in self.loops:
            (m1, v1, w1), (m2, v2, w2) = self._end(first), self._end(second)
            for k, axis in enumerate(joint.axes):
                direction = (m1, m2)[k].rotation @ axis.xyz
                spin = (v2 - v1) if joint.type == 'prismatic' else (w2 - w1)
                forces += (direction @ spin) * self._friction(axis, direction @ spin @ v)
        return forces

    def _friction(self, axis, rate):
        return axis.damping * rate + axis.friction * saturated(rate, self.transition)


def _numbers(element):
    return np.array([float(part) for part in element.text.split()])


def _pose(element):
    pose = element.find('pose')
    if pose is None:
        return pin.SE3.Identity()
    assert pose.get('rotation_format') == 'quat_xyzw' and pose.get('relative_to') is None
    values = _numbers(pose)
    return pin.SE3(pin.Quaternion(values[3:]).normalized().toRotationMatrix(), values[:3])


def _link(element):
    inertial = element.find('inertial')
    if inertial is None:
        return SimpleNamespace(pose=_pose(element), inertia=pin.Inertia.Zero())
    at = _pose(inertial)
    get = {item.tag: float(item.text) for item in inertial.find('inertia')}
    about = np.array(
        [
            [get['ixx'], get['ixy'], get['ixz']],
            [get['ixy'], get['iyy'], get['iyz']],
            [get['ixz'], get['iyz'], get['izz']],
        ]
    )
    about = at.rotation @ about @ at.rotation.T
    mass = float(inertial.find('mass').text)
    return SimpleNamespace(pose=_pose(element), inertia=pin.Inertia(mass, at.translation, about))


def _joint(element):
    axes = []
    for tag in ('axis', 'axis2'):
        item = element.find(tag)
        if item is not None:
            keys = ('damping', 'friction', 'spring_reference', 'spring_stiffness')
            value = {key: float(item.findtext(f'dynamics/{key}', '0')) for key in keys}
            axes.append(SimpleNamespace(xyz=_numbers(item.find('xyz')), **value))
    note = {key: float(element.findtext(NOTES + key, '0')) for key in ('home', 'rotor_inertia')}
    return SimpleNamespace(
        name=element.get('name'),
        type=element.get('type'),
        parent=element.findtext('parent'),
        child=element.findtext('child'),
        frame=_pose(element),
        axes=axes,
        pitch=float(element.findtext('thread_pitch', 'nan')),
        home=note['home'],
        rotor=note['rotor_inertia'],
    )
