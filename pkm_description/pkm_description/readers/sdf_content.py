"""What an SDF model says, as data: links, joints and welds."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from pkm_description.description import Array, Inertial, Pose

#: Namespace of what SDF has no element for; other readers skip it.
NAMESPACE = 'urn:pkm-description:sdf'
#: Elements of that namespace: positions that the description has at home, rotors, what drives a
#: joint (`EFFORT`, or `FREE` where nothing does though it is a degree of freedom), the platform,
#: the link that a link is a part of, as a rotor's body is.
HOME, ROTOR, DRIVE, FORCE_CONSTANT, PLATFORM, PART_OF = (
    f'{{{NAMESPACE}}}{name}'
    for name in ('home', 'rotor_inertia', 'drive', 'force_constant', 'platform', 'part_of')
)
EFFORT, FREE = 'effort', 'free'
#: SDF's own word for no limit.
UNLIMITED = 1e16


@dataclass(frozen=True)
class SdfLink:
    """A link: its pose in the model at home and its inertia."""

    name: str
    pose: Pose
    inertial: Inertial | None
    part_of: str | None = None  # the link that it and the link of that name make up


@dataclass(frozen=True)
class SdfAxis:
    """An axis of a joint, in the joint frame; limits count from home."""

    direction: Array
    lower: float = -np.inf
    upper: float = np.inf
    velocity: float = np.inf
    effort: float = np.inf
    coulomb: float = 0.0
    viscous: float = 0.0
    stiffness: float = 0.0
    rest: float = 0.0  # of the spring


@dataclass(frozen=True)
class SdfJoint:
    """A joint; its frame is given in the child link. SDF counts positions from home.

    Of a joint whose ends were exchanged, `frame_in` is the link that the frame is given in.
    """

    name: str
    type: str
    parent: str
    child: str
    frame: Pose = field(default_factory=Pose)
    axes: tuple[SdfAxis, ...] = ()
    home: float | None = None
    rotor_inertia: float | None = None
    drive: str | None = None
    force_constant: float | None = None
    frame_in: str | None = None
    pitch: float | None = None  # of a screw: turns [rad] against the axis by the way along it [m]


@dataclass(frozen=True)
class SdfWeld:
    """Two links that the simulator fixes to each other when it starts."""

    name: str
    parent: str
    child: str
