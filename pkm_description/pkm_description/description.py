"""The closed-chain description: links, joints, constraints, actuators.

Plain frozen data. Reading is in `readers`, checks in `checks`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pkm_description.errors import DescriptionError

Array = NDArray[np.float64]

JOINT_TYPES = ('fixed', 'revolute', 'continuous', 'prismatic', 'floating')
CONSTRAINT_TYPES = ('fixed', 'spherical', 'revolute', 'universal', 'prismatic')
JOINT, MOTOR = SIDES = ('joint', 'motor')  # between which transmissions lie
BOTH_WAYS = ('coulomb_positive', 'coulomb_negative')
# parameters of each model of friction, beside the load factor
FRICTION_MODELS: dict[str, tuple[str, ...]] = {
    'coulomb_viscous': ('coulomb', 'viscous'),
    'coulomb': ('coulomb',),
    'viscous': ('viscous',),
    'asymmetric': (*BOTH_WAYS, 'viscous'),
    'asymmetric_coulomb': BOTH_WAYS,
    'load': (),
    'none': (),
}


def frozen(values: Any) -> Array:
    """Copy `values` into a read-only float array."""
    array = np.array(values, dtype=float)
    array.setflags(write=False)
    return array


@dataclass(frozen=True)
class Pose:
    """Position (3,) [m] and rotation (3, 3) of a frame in its parent frame."""

    position: Array = field(default_factory=lambda: frozen(np.zeros(3)))
    rotation: Array = field(default_factory=lambda: frozen(np.eye(3)))

    def __matmul__(self, inner: Pose) -> Pose:
        """Return a pose that is given in this frame, where this frame is given."""
        position = self.position + self.rotation @ inner.position
        return Pose(frozen(position), frozen(self.rotation @ inner.rotation))

    def inverse(self) -> Pose:
        """Return the pose of the outer frame in the inner one."""
        turn = self.rotation.T
        return Pose(frozen(-turn @ self.position), frozen(turn))


@dataclass(frozen=True)
class Inertial:
    """Mass [kg], centre of mass (3,) [m] and inertia (3, 3) [kg m^2].

    Both in the axes of the link frame; the inertia is about the centre of mass.
    """

    mass: float
    com: Array
    inertia: Array

    def standard_parameters(self) -> Array:
        """Return m, mx, my, mz, Ixx, Ixy, Ixz, Iyy, Iyz, Izz about the link frame's origin."""
        c = self.com
        about_origin = self.inertia + self.mass * (np.dot(c, c) * np.eye(3) - np.outer(c, c))
        return np.array(
            [self.mass, *(self.mass * c), *about_origin[np.triu_indices(3)]], dtype=float
        )

    def seen_from(self, frame: Pose) -> Inertial:
        """Return the same body in the axes of a frame that is given in the present ones."""
        turn = frame.rotation.T
        com = turn @ (self.com - frame.position)
        return Inertial(self.mass, frozen(com), frozen(turn @ self.inertia @ turn.T))


@dataclass(frozen=True)
class Link:
    """A rigid body; without `inertial` it has no mass and no parameters."""

    name: str
    inertial: Inertial | None = None


@dataclass(frozen=True)
class Friction:
    """Friction of a joint: F = (coulomb + load N) sat(v / v0) + viscous v, against the motion.

    `coulomb` in N or N m, `viscous` in N s/m or N m s/rad. The model says which
    parameters exist; `asymmetric` and `asymmetric_coulomb` have one Coulomb value per direction
    [M eq. 14], `load` none but the load factor, which any model may have. N is the magnitude [N]
    of the force that the joint transmits across its axis (all of it where it has no single one).
    """

    coulomb: float = 0.0
    viscous: float = 0.0
    coulomb_negative: float = 0.0
    model: str = 'coulomb_viscous'
    # friction force per reaction force: a number for a prismatic joint, for the others a length
    # [m], the coefficient of friction times the radius of the bearing; None without it
    load: float | None = None

    @property
    def parameters(self) -> dict[str, float]:
        """Values of the model's parameters by label, without the load factor."""
        values = {'coulomb_positive': self.coulomb}
        return {name: values.get(name, getattr(self, name, 0.0)) for name in self._labels}

    @property
    def is_asymmetric(self) -> bool:
        """Whether Coulomb friction has one parameter per direction."""
        return BOTH_WAYS[0] in self._labels

    @property
    def levels(self) -> tuple[float, float]:
        """Coulomb friction forwards and backwards [N, N m]."""
        if self.is_asymmetric:
            return self.coulomb, self.coulomb_negative
        level = self.coulomb if 'coulomb' in self._labels else 0.0
        return level, level

    @property
    def damping(self) -> float:
        """Viscous friction [N s/m, N m s/rad]."""
        return self.viscous if 'viscous' in self._labels else 0.0

    @property
    def _labels(self) -> tuple[str, ...]:
        return FRICTION_MODELS[self.model]


@dataclass(frozen=True)
class Limit:
    """Stroke, speed and effort limits of a joint, infinite where none is given."""

    lower: float = -np.inf
    upper: float = np.inf
    velocity: float = np.inf
    effort: float = np.inf


@dataclass(frozen=True)
class Joint:
    """A joint of the spanning tree; the child link's frame is the joint frame."""

    name: str
    type: str
    parent: str
    child: str
    origin: Pose
    axis: Array
    limit: Limit
    friction: Friction | None = None

    @property
    def is_scalar(self) -> bool:
        """Whether the joint has one degree of freedom."""
        return self.type in ('revolute', 'continuous', 'prismatic')


@dataclass(frozen=True)
class Constraint:
    """A joint that closes a loop of the spanning tree.

    Origins are given in the parent and the child link's frames, axes in the origins' frames.
    """

    name: str
    type: str
    parent: str
    child: str
    parent_origin: Pose
    child_origin: Pose
    parent_axis: Array
    child_axis: Array
    friction: Friction | None = None
    # of a spherical one that an idle spin goes through: directions (3,) in the parent's and the
    # child's origin that stay perpendicular, so that the spin stops
    gauge: tuple[Array, Array] | None = None

    @property
    def holds(self) -> str:
        """Type of the joint whose closing rows it has: with a gauge those of a universal one."""
        return self.type if self.gauge is None else 'universal'

    @property
    def held_axes(self) -> tuple[Array, Array]:
        """Directions of parent and child, in their origins, that the closing rows are about."""
        return (self.parent_axis, self.child_axis) if self.gauge is None else self.gauge


@dataclass(frozen=True)
class IdleSpin:
    """A rotation of a body that neither platform nor drives notice, about an axis in its frame.

    `point` (3,) [m] and `axis` (3,), zero where the body has no mass. It is stopped by the gauge of
    a constraint, or by a joint that is fixed.
    """

    body: str
    point: Array
    axis: Array
    stopped_by: str


@dataclass(frozen=True)
class Ripple:
    """Force periodic in the position: sum of c_k cos(2 pi k q / period) + s_k sin(...)."""

    period: float  # [m, rad]
    harmonics: tuple[int, ...]  # k
    cosine: tuple[float, ...]  # c_k [N, N m]
    sine: tuple[float, ...]  # s_k [N, N m]


@dataclass(frozen=True)
class WarmUp:
    """Viscous friction that follows the temperature: viscous + sum_i values_i z_i.

    times_i z_i' = P - z_i with the friction power P = coulomb |v| + viscous v^2.
    """

    times: tuple[float, ...]  # [s]
    values: tuple[float, ...]  # [N s/m, N m s/rad] by W
    coulomb: float | None = None  # [N, N m] of the power; None: those of the joint's friction
    viscous: float | None = None  # [N s/m, N m s/rad]
    start: tuple[float, ...] = ()  # z_i [W] where a motion begins; empty: cold


@dataclass(frozen=True)
class DriveTerms:
    """Forces that a drive needs at a position q, beside friction; None where it has none.

    offset + stiffness (q - rest) + ripple, positive as the force of the drive that overcomes
    them. A spring always comes with an offset: their ratio moves its rest position.
    """

    offset: float | None = None  # [N, N m]
    stiffness: float | None = None  # [N/m, N m/rad]
    rest: float = 0.0  # [m, rad]
    ripple: Ripple | None = None
    # [m, rad] by which the joint yields before it slips: Coulomb friction has a past
    presliding: float | None = None
    warm_up: WarmUp | None = None
    # [kg, kg m^2] of the drive, where the description itself has none; the actuator has it too
    rotor: float | None = None
    # [N, N m] half of what Coulomb friction is larger forwards than backwards, where the
    # description has one value for both; the joint's friction is `asymmetric` then
    asymmetry: float | None = None


@dataclass(frozen=True)
class Actuator:
    """An actuated joint: `force_constant` in N/A or N m/A (nan where unknown).

    A `free` one has no drive: its position is measured and its force is known to be zero.
    """

    joint: str
    force_constant: float
    rotor_inertia: float | None = None
    free: bool = False
    terms: DriveTerms = DriveTerms()


@dataclass(frozen=True)
class Motor:
    """A motor behind a transmission: `force_constant` in N m/A of the motor (nan: unknown).

    Rotor and friction act on the motor's own motion; None where they are no parameters.
    """

    name: str
    force_constant: float = np.nan
    rotor_inertia: float | None = None  # [kg m^2]
    friction: Friction | None = None  # [N m, N m s/rad]
    effort: float = np.inf  # limit [N m]
    velocity: float = np.inf  # limit [rad/s]


@dataclass(frozen=True)
class Transmission:
    """Joints that motors move: q_joint = matrix q_motor + offset, tau_motor = matrix^T tau_joint.

    `matrix` (k, k) [1, m/rad] and its `inverse`, `offset` (k,) [m, rad].
    """

    name: str
    joints: tuple[str, ...]
    motors: tuple[Motor, ...]
    matrix: Array
    inverse: Array
    offset: Array

    @property
    def coupled(self) -> NDArray[np.bool_]:
        """Which joints (k,) share motors with others; those of the others have their own."""
        apart = (self.matrix != 0.0) & ~np.eye(len(self.matrix), dtype=bool)
        return np.asarray(apart.any(axis=0) | apart.any(axis=1))


@dataclass(frozen=True)
class EncoderAndDrive:
    """How one machine counts: position = encoder measured + offset, force sent = drive force.

    Position and force are those of the joint, or of its motor where topics are of motors.
    """

    encoder: int = 1  # sign
    offset: float = 0.0  # [m, rad]
    drive: int = 1  # sign


@dataclass(frozen=True)
class RedundantActuation:
    """Drives beyond the degrees of freedom, and how forces are shared among all drives.

    Of the forces that make a motion those are taken whose sum of ((force - preload) / scale)^2 is
    least. `scale` and `preload` (n_d,) [N, N m] are in the order of `joints`.
    """

    drives: tuple[str, ...]  # their positions follow from those of the others
    joints: tuple[str, ...]  # with a drive, all of them
    scale: Array
    preload: Array


@dataclass(frozen=True)
class Description:
    """A closed-chain robot as read from a URDF and its sidecar YAML.

    `warnings` say what was read in another way than it is written; `remarks` finds more.
    """

    name: str
    links: tuple[Link, ...]
    joints: tuple[Joint, ...]
    constraints: tuple[Constraint, ...]
    actuators: tuple[Actuator, ...]
    base_link: str
    urdf: str
    yaml_text: str
    sidecar: Mapping[str, Any]
    gravity: Array
    home: Pose
    home_joints: Mapping[str, float]
    same_design: tuple[tuple[str, ...], ...] = ()
    zero_parameters: tuple[str, ...] = ()
    transition_velocity: float = 0.002
    platform: str = 'platform'
    path: Path | None = None
    warnings: tuple[str, ...] = ()
    transmissions: tuple[Transmission, ...] = ()
    side: str = JOINT  # whose states and efforts the robot's topics have, or `MOTOR`
    # of this machine, by joint, or by motor with that side; no part of the digest
    calibration: Mapping[str, EncoderAndDrive] = field(default_factory=dict)
    idle_spins: tuple[IdleSpin, ...] = ()
    redundant_actuation: RedundantActuation | None = None
    # drives beyond the actuators, which then are coordinates alone: `coordinate_description`
    followers: tuple[Actuator, ...] = ()

    def link(self, name: str) -> Link:
        """Return the link of that name."""
        return _named(self.links, name, 'link', self.name)

    def joint(self, name: str) -> Joint:
        """Return the joint of that name."""
        return _named(self.joints, name, 'joint', self.name)

    @property
    def actuated_joints(self) -> list[str]:
        """Names of the actuated joints: those with a drive as `<ros2_control>` lists them.

        Free joints (degrees of freedom without a drive) stand at the end.
        """
        return [actuator.joint for actuator in self.actuators]

    @property
    def coordinate_joints(self) -> list[str]:
        """Names of the actuated joints whose positions determine the configuration."""
        redundant = self.redundant_actuation
        beyond = () if redundant is None else redundant.drives
        return [name for name in self.actuated_joints if name not in beyond]

    @property
    def driven_joints(self) -> list[str]:
        """Names of the actuated joints that have a drive."""
        return [actuator.joint for actuator in self.actuators if not actuator.free]

    @property
    def free_joints(self) -> list[str]:
        """Names of the actuated joints that have no drive, in the order of the sidecar."""
        return [actuator.joint for actuator in self.actuators if actuator.free]

    @property
    def drive_terms(self) -> dict[str, DriveTerms]:
        """Forces of the drives by their position, of the joints that have any."""
        none = DriveTerms()
        return {item.joint: item.terms for item in self.actuators if item.terms != none}

    @property
    def scalar_joints(self) -> list[str]:
        """Names of all joints with one degree of freedom, in tree order."""
        return [joint.name for joint in self.joints if joint.is_scalar]

    @property
    def simulation(self) -> Mapping[str, Any]:
        """Effects of a simulated plant, as the sidecar declares them."""
        return self.sidecar.get('simulation', {})

    @property
    def digest(self) -> str:
        """SHA-256 over the expanded URDF and the sidecar: which robot a model belongs to."""
        return digest_of(self.urdf, self.yaml_text)


def digest_of(urdf: str, yaml_text: str) -> str:
    """SHA-256 over an expanded URDF and its sidecar."""
    return hashlib.sha256(f'{urdf}\0{yaml_text}'.encode()).hexdigest()


def _named(items: Any, name: str, kind: str, robot: str) -> Any:
    for item in items:
        if item.name == name:
            return item
    valid = ', '.join(item.name for item in items)
    raise DescriptionError(f"robot '{robot}' has no {kind} '{name}'; it has {valid}")
