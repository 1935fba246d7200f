"""Inertias that are moved and divided, and those of links that have none.

Some tools refuse or replace links without mass.
"""

from __future__ import annotations

import numpy as np

from pkm_description.assembly import Assembly
from pkm_description.description import Array, Description, Inertial, Joint, Pose, frozen

#: Inertia of a link that has none [kg, kg m^2]: forces of the H4, whose legs have none at all,
#: differ by 4e-10. With less MuJoCo's loops of such legs open by micrometres.
TINY_MASS = 1e-10
TINY_INERTIA = 1e-12
_TURNING = ('revolute', 'continuous')


def scaled(inertial: Inertial, factor: float) -> Inertial:
    """Return the inertia of a body of the same shape and `factor` times the density."""
    return Inertial(factor * inertial.mass, inertial.com, frozen(factor * inertial.inertia))


def without(inertial: Inertial, part: Inertial) -> Inertial | None:
    """Return what is left of a body when a part of it is taken away, in the same axes.

    None where no rigid body is left.
    """
    mass = inertial.mass - part.mass
    if not mass > 0:
        return None
    com = (inertial.mass * inertial.com - part.mass * part.com) / mass
    moments = inertial.inertia + inertial.mass * _point(inertial.com - com)
    moments = moments - part.inertia - part.mass * _point(part.com - com)
    smallest, middle, largest = np.linalg.eigvalsh(moments)
    if smallest <= 0 or largest > (smallest + middle) * (1 + 1e-9):
        return None
    return Inertial(mass, frozen(com), frozen(moments))


def not_below(inertial: Inertial, mass: float, inertia: float) -> Inertial:
    """Return a body whose mass [kg] and principal inertias [kg m^2] are no smaller than these."""
    size = np.linalg.eigvalsh(inertial.inertia)
    if inertial.mass >= mass and size[0] >= inertia:
        return inertial
    # all three are raised by as much: a body with a large and two small ones is none
    raised = inertial.inertia + max(inertia - size[0], 0.0) * np.eye(3)
    return Inertial(max(inertial.mass, mass), inertial.com, frozen(raised))


def _point(arm: Array) -> Array:
    """Return the inertia (3, 3) of a unit mass at a distance `arm`."""
    return np.asarray(np.dot(arm, arm) * np.eye(3) - np.outer(arm, arm))


class StandIns:
    """Inertias of all links, none without mass among them that moves by a joint of its own.

    The mass of a stand-in is taken from a neighbour wherever the link's origin is a fixed
    point of that neighbour, as the centre of a cardan ring is; then only the rotational
    inertia is new. A massless link that is fixed to a body takes all of its stand-in from
    that body, which leaves the dynamics as they are. `welded` says whether links that are
    fixed to their parent need one too; `mass` [kg] and `inertia` [kg m^2] are those of a stand-in.

    `inertials` are those of the links by name, None for the base and where none is needed;
    `moving` are the links that any joint moves; `losses` say what differs from the description,
    one sentence for each link.
    """

    def __init__(
        self,
        description: Description,
        welded: bool,
        mass: float = TINY_MASS,
        inertia: float = TINY_INERTIA,
    ) -> None:
        self.description = description
        self.added = (f'{mass:g} kg', f'{inertia:g} kg m^2')
        self.stand_in = Inertial(mass, frozen(np.zeros(3)), frozen(inertia * np.eye(3)))
        self.inertials: dict[str, Inertial | None] = {
            link.name: link.inertial if link.inertial and link.inertial.mass > 0 else None
            for link in description.links
        }
        self.losses: list[str] = []
        self._given = {name for name, value in self.inertials.items() if value is not None}
        tree = Assembly(description).tree
        self.moving = {
            name for body, name in enumerate(tree.body_names) if np.any(tree.ancestors[body])
        }
        joints = {joint.child: joint for joint in description.joints}
        for name in tree.body_names:
            if name not in self._given and (welded or joints[name].type != 'fixed'):
                self._fill(name, joints[name])

    def _fill(self, name: str, joint: Joint) -> None:
        self.inertials[name] = self.stand_in
        if name not in self.moving or self._taken_whole(name):
            return
        point = Inertial(self.stand_in.mass, self.stand_in.com, frozen(np.zeros((3, 3))))
        made_up = joint.type in _TURNING and joint.parent not in self.moving
        made_up = made_up or any(
            self._take(donor, place, point) for donor, place in self._beside(name, joint)
        )
        added = ' and '.join(self.added[1:] if made_up else self.added)
        self.losses.append(f"link '{name}' has no mass: {added} are added to it")

    def _taken_whole(self, name: str) -> bool:
        """Take the stand-in of a link from a body that it is fixed to."""
        welds = [joint for joint in self.description.joints if joint.type == 'fixed']
        beside = [(j.parent, j.origin) for j in welds if j.child == name]
        beside += [(j.child, j.origin.inverse()) for j in welds if j.parent == name]
        return any(self._take(donor, place, self.stand_in) for donor, place in beside)

    def _beside(self, name: str, joint: Joint) -> list[tuple[str, Pose]]:
        """Return neighbours of which the link's origin is a fixed point, and where it is."""
        found = [(joint.parent, joint.origin)] if joint.type in _TURNING else []
        found += [
            (other.child, Pose())
            for other in self.description.joints
            if other.parent == name
            and other.type in _TURNING
            and float(np.linalg.norm(other.origin.position)) < 1e-12
        ]
        return found

    def _take(self, donor: str, place: Pose, part: Inertial) -> bool:
        """Take a part, whose frame stands at `place` in the donor, if the donor has it."""
        whole = self.inertials[donor]
        if donor not in self._given or whole is None:
            return False
        rest = without(whole, part.seen_from(place.inverse()))
        if rest is None:
            return False
        self.inertials[donor] = rest
        return True
