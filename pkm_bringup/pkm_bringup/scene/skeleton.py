"""A robot drawn from its kinematics: rods between joints, plates, telescopes and slides."""

from __future__ import annotations

import numpy as np

from pkm_bringup.scene.meshes import Mesh, along, box, cylinder, joined, plate, rod, sphere
from pkm_description.description import Constraint, Joint
from pkm_description.tree_geometry import TreeGeometry
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.array_types import Floats

THICKNESS = 0.014  # radius of a rod by the size of the robot
FAR = 1e-6  # share of the size below which two points are one


class Skeleton:
    """Meshes of the links of a robot, each in its link's frame, and markers of its joints."""

    def __init__(self, model: ClosedChainModel) -> None:
        self._model = model
        self._description = model.description
        self.size = robot_size(model)
        self._radius = THICKNESS * self.size
        home = model.home_configuration.joints[0]
        self._home = dict(zip(model.joint_names, home.tolist(), strict=True))

    def link(self, name: str, only_long: bool = False) -> Mesh | None:
        """Return the mesh of a link; None for a point, such as a cardan ring, if `only_long`."""
        parts = [self._rails(joint) for joint in self._slides if joint.parent == name]
        parts += [self._piston(joint) for joint in self._slides if joint.child == name]
        points = self._points(name)
        is_flat = len(points) > 2 and np.linalg.matrix_rank(points - points[0], 1e-3) > 1
        if name == self._description.base_link:
            parts += self._outline(points) if is_flat else self._star(points)
        elif name == self._description.platform and is_flat:
            parts.append(plate(points, self._radius))
        else:
            parts += self._star(points)
        if not parts and only_long:
            return None
        return joined(parts or [sphere(1.2 * self._radius)])

    def joint(self, joint: Joint) -> Mesh | None:
        """Return the marker of a joint in its child's frame; None where it has none."""
        if joint.type in ('revolute', 'continuous'):
            pin = cylinder(1.3 * self._radius, 4.0 * self._radius)
            return pin.moved(np.zeros(3), along(joint.axis))
        return None

    def closure(self, constraint: Constraint) -> Mesh | None:
        """Return the marker of a constraint in its parent's frame; None where it has none."""
        place = constraint.parent_origin
        if constraint.type in ('spherical', 'universal'):
            return sphere(1.8 * self._radius).moved(place.position, place.rotation)
        if constraint.type == 'revolute':
            pin = cylinder(1.3 * self._radius, 4.0 * self._radius)
            return pin.moved(place.position, place.rotation @ along(constraint.parent_axis))
        return None

    @property
    def _slides(self) -> list[Joint]:
        return [joint for joint in self._description.joints if joint.type == 'prismatic']

    def _points(self, name: str) -> Floats:
        """Where other links are attached to a link (n, 3), in its frame, each once."""
        robot = self._description
        slides = {joint.name for joint in self._slides}
        points = [np.zeros(3)]
        points += [
            joint.origin.position
            for joint in robot.joints
            if joint.parent == name and joint.type != 'floating' and joint.name not in slides
        ]
        points += [c.parent_origin.position for c in robot.constraints if c.parent == name]
        points += [c.child_origin.position for c in robot.constraints if c.child == name]
        inertial = robot.link(name).inertial
        if len(points) == 1 and inertial is not None:  # the end of a chain: towards its centre
            points.append(inertial.com)
        found: list[Floats] = []
        for point in points:
            if all(np.linalg.norm(point - other) > FAR * self.size for other in found):
                found.append(point)
        if name == robot.base_link and len(found) > 3:  # its origin is none of them
            del found[0]
        return np.array(found)

    def _star(self, points: Floats) -> list[Mesh]:
        """Rods from the first point to all others, or between two."""
        return [rod(points[0], point, self._radius) for point in points[1:]]

    def _outline(self, points: Floats) -> list[Mesh]:
        """Rods around points, in the order of their angles."""
        centre = points - points.mean(axis=0)
        first, second = np.linalg.svd(centre)[2][:2]
        rim = points[np.argsort(np.arctan2(centre @ second, centre @ first))]
        return [
            rod(a, b, self._radius)
            for a, b in zip(rim, np.roll(rim, -1, axis=0), strict=True)
            if np.linalg.norm(b - a) > FAR * self.size
        ]

    def _stroke(self, joint: Joint) -> tuple[float, float, float, float]:
        """Ends of a slide, and the lengths of tube and rod of a telescope, 0 for a rail [m].

        What slides on the base is a carriage on a rail, wherever its zero is. A telescope hangs on
        a link that moves and never gets as short as nothing; lengths against its axis are negative.
        It looks like one between its shortest length and home, and up to its longest one where it
        is less than twice as long as at home.
        """
        home, limit = self._home[joint.name], joint.limit
        far = 0.6 * self.size
        lower, upper = max(limit.lower, home - far), min(limit.upper, home + far)
        side = -1.0 if upper < 0.0 else 1.0
        shortest, longest = sorted((abs(lower), abs(upper)))
        if lower * upper <= 0.0 or shortest <= 0.05 * self.size or self._stands(joint.parent):
            return lower, upper, 0.0, 0.0
        tube = max(shortest, 0.5 * abs(home))
        return lower, upper, side * tube, side * min(longest - tube, abs(home))

    def _stands(self, link: str) -> bool:
        """Whether a link is the base, or fixed to it."""
        above = {joint.child: joint for joint in self._description.joints}
        while link != self._description.base_link:
            if link not in above or above[link].type != 'fixed':
                return False
            link = above[link].parent
        return True

    def _rails(self, joint: Joint) -> Mesh:
        """Return a rail over the stroke, or the tube of a telescope, in the parent's frame."""
        lower, upper, tube, _ = self._stroke(joint)
        axis, radius = joint.axis, 0.5 * self._radius
        begin, end = lower * axis, upper * axis
        if tube:
            begin, end, radius = 0.0 * axis, tube * axis, 1.6 * self._radius
        if np.linalg.norm(end - begin) < FAR * self.size:
            end = begin + self._radius * axis
        return rod(begin, end, radius).moved(joint.origin.position, joint.origin.rotation)

    def _piston(self, joint: Joint) -> Mesh:
        """Return the rod of a telescope, or a block on a rail, in the child's frame."""
        _, _, _, long = self._stroke(joint)
        if abs(long) > FAR * self.size:
            return rod(-long * joint.axis, 0.0 * joint.axis, self._radius)
        block = box([k * self._radius for k in (5.0, 5.0, 8.0)])
        return block.moved(np.zeros(3), along(joint.axis))


def robot_size(model: ClosedChainModel) -> float:
    """Return the diagonal [m] of a box around the frames and closures at home; 1 for a point."""
    geometry = TreeGeometry.build(model.tree_layout, *model.home_configuration)
    position, rotation = geometry.position[0], geometry.rotation[0]
    names = model.tree_layout.tree.body_names
    points = [np.zeros((1, 3)), position]
    for constraint in model.description.constraints:
        if constraint.child in names:
            k = names.index(constraint.child)
            points.append((position[k] + rotation[k] @ constraint.child_origin.position)[None])
    size = float(np.linalg.norm(np.ptp(np.concatenate(points), axis=0)))
    return size if size > 0.0 else 1.0
