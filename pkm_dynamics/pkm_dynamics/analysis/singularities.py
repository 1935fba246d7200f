"""How far a mechanism is from its singularities, for any closed chain.

Closed motions are the rates v of all coordinates with A v = 0, A the Jacobian of the
closing rows; regular mechanisms have as many of them as actuators. With lengths divided
by L, an orthonormal basis of what the actuators and the platform do in these motions,

    [G_q; G_x],  G_q (n_a, n_a) actuator rates, G_x (6, n_a) platform twist,

has G_q' G_q + G_x' G_x = 1, so every singular value lies between 0 and 1 and none ever
grows without bound. Three things can go wrong, each with its own measure:

- `parallel` (type 2, of the actuation): the smallest singular value of G_q. At 0 the
  platform moves while all actuators are locked, and actuator forces grow without bound.
- `serial` (type 1): the smallest singular value of G_x. At 0 actuators move while the
  platform stands still: the end of a leg's reach, a boundary of the workspace.
- `constraint`: the smallest singular value of A that is not zero at home, as a fraction
  of that at home. At 0 the loops allow a further motion, which no actuator controls.
  `passive` is the same for joints that turn with neither actuators nor platform.

(Gosselin and Angeles 1990 name the first two; Zlatanov et al. the others.) The conditioning of
the actuator Jacobian, which limits and designs look at, stands here too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pkm_description.errors import KinematicsError
from pkm_description.kinematic_tree import POINT_ROW
from pkm_description.tree_geometry import TreeGeometry
from pkm_dynamics.array_types import Floats
from pkm_dynamics.model import ClosedChainModel
from pkm_dynamics.motion import PlatformMotion

NEGLIGIBLE = 1e-9  # share of a motion that the platform does not do, but for rounding
SINGULAR = 1e3  # condition number of the actuator Jacobian that counts as a singularity
MEASURES = ('parallel', 'serial', 'constraint', 'passive')


@dataclass(frozen=True)
class Singularities:
    """Measures of N configurations; 0 at the singularity, dimensionless."""

    # (N,) see the module. Where `constraint` or `passive` vanishes, the others mean nothing
    parallel: Floats
    serial: Floats  # (N,)
    constraint: Floats  # (N,)
    passive: Floats  # (N,)
    length: float  # L [m], by which lengths were divided

    @property
    def smallest(self) -> Floats:
        """The smallest measure (N,)."""
        return np.min([getattr(self, name) for name in MEASURES], axis=0)


def characteristic_length(model: ClosedChainModel) -> float:
    """Length [m] at which the platform's translation and rotation weigh the same at home.

    `rotation_length`; where the platform does only one of them, the size of the mechanism.
    """
    if model.platform_determines_joints:
        return rotation_length(model)
    jacobian = model.platform_jacobian(np.asarray(model.home_actuators)[None])[0]
    linear, angular = (float(np.linalg.norm(part)) for part in np.split(jacobian, 2))
    if min(linear, angular * model.length_scale) < NEGLIGIBLE * max(linear, model.length_scale):
        return float(model.length_scale)
    return linear / angular


def singularities(
    model: ClosedChainModel, motion: PlatformMotion, length: float | None = None
) -> Singularities:
    """Measures along a motion, L [m] by default the characteristic length of the home pose.

    Raises KinematicsError where the mechanism has more actuators than its platform has degrees
    of freedom (a redundant arm has no serial Jacobian of full rank).
    """
    joints = model.joint_states(motion).positions
    return singularities_of_joints(model, joints, motion.position, motion.rotation, length)


def singularities_of_joints(
    model: ClosedChainModel,
    joints: ArrayLike,
    position: ArrayLike,
    rotation: ArrayLike,
    length: float | None = None,
) -> Singularities:
    """Measures of closed configurations: joints (N, n_j), platform (N, 3), (N, 3, 3)."""
    if length is not None and not length > 0.0:
        raise KinematicsError(f'length must be positive [m], not {length:g}')
    scale = characteristic_length(model) if length is None else float(length)
    if model.n_a > 6:
        raise KinematicsError(
            f"robot '{model.description.name}' has {model.n_a} actuators: more than its platform "
            'has degrees of freedom'
        )
    home = _spectra(model, *model.home_configuration, scale)
    here = _spectra(model, np.asarray(joints), np.asarray(position), np.asarray(rotation), scale)
    return Singularities(
        parallel=here.inputs[:, -1],
        serial=here.outputs[:, -1],
        constraint=here.closure / home.closure if home.closure[0] > 0.0 else here.closure,
        passive=here.shown / home.shown,
        length=scale,
    )


@dataclass(frozen=True)
class _Spectra:
    inputs: Floats  # (N, n_a) singular values of G_q
    outputs: Floats  # (N, n_a) of G_x
    closure: Floats  # (N,) smallest of A that counts; 1 for open chains
    shown: Floats  # (N,) smallest of [actuators; platform] over closed motions of unit size


def _spectra(
    model: ClosedChainModel, joints: Floats, p: Floats, r: Floats, length: float
) -> _Spectra:
    layout = model.tree_layout
    tree = layout.tree
    geometry = TreeGeometry.build(layout, joints, p, r)
    unit = np.where(tree.lengths, length, 1.0)  # of a scaled rate of 1 (n_v,)
    motions, closure = _closed_motions(geometry, unit, length, model.n_a)
    body = tree.platform_body
    twist = np.einsum(
        'nki,nkm->nim', geometry.screws * layout.moved[body][:, None], unit[:, None] * motions
    )
    twist[:, :3] += np.cross(twist[:, 3:], geometry.position[:, body, :, None], axis=1)
    twist[:, :3] /= length
    seen = np.concatenate([motions[:, model.mechanism.actuated], twist], axis=1)
    u, s, _ = np.linalg.svd(seen, full_matrices=False)
    return _Spectra(
        np.linalg.svd(u[:, : model.n_a], compute_uv=False),
        np.linalg.svd(u[:, model.n_a :], compute_uv=False),
        closure,
        s[:, -1],
    )


def _closed_motions(
    geometry: TreeGeometry, unit: Floats, length: float, count: int
) -> tuple[Floats, Floats]:
    """Orthonormal closed motions (N, n_v, count), scaled, and the singular value before them."""
    n, n_r, n_v = geometry.row_jacobian.shape
    if n_r == 0:
        return np.repeat(np.eye(n_v)[None], n, axis=0), np.ones(n)
    point = geometry.layout.tree.row_kind == POINT_ROW
    scaled = geometry.row_jacobian * unit / np.where(point, length, 1.0)[:, None]
    _, s, vt = np.linalg.svd(scaled, full_matrices=True)
    return vt[:, n_v - count :].transpose(0, 2, 1), s[:, n_v - count - 1]


def has_singularities(model: ClosedChainModel) -> bool:
    """Whether actuator forces can grow without bound: only where loops are closed."""
    return bool(model.description.constraints)


def rotation_length(model: ClosedChainModel) -> float:
    """Length [m] at which translation and rotation weigh the same in the home pose."""
    if model.platform_determines_joints:
        home = model.jacobian(model.home_position[None], model.home_rotation[None])[0]
        return _ratio(home[:, 3:], home[:, :3])
    home = model.platform_jacobian(np.asarray(model.home_actuators)[None])[0]
    return _ratio(home[:3], home[3:])


def reciprocal_condition(
    model: ClosedChainModel,
    position: ArrayLike,
    rotation: ArrayLike,
    actuators: ArrayLike,
    joints: ArrayLike | None = None,
    length: float | None = None,
) -> Floats:
    """Reciprocal condition number (N,) of the scaled Jacobian; 0 where it is singular.

    Of the actuators' rates by the platform's twist where the platform has six degrees of
    freedom, else of the twist by the rates; the twist's angular part is multiplied by `length`
    [m] (`rotation_length` by default), so that the unit of length does not matter. `joints`
    (N, n_j) are the joint positions of these poses, where they are known; that saves time.
    """
    length = rotation_length(model) if length is None else length
    if model.platform_determines_joints:
        jacobian = np.array(model.jacobian(position, rotation, joints))
        jacobian[:, :, 3:] /= length
    else:
        if joints is None:
            jacobian = np.array(model.platform_jacobian(actuators))
        else:
            jacobian = np.array(model.platform_jacobian_at(joints, position, rotation))
        jacobian[:, 3:] *= length
    values = np.linalg.svd(jacobian, compute_uv=False)
    return np.asarray(values[:, -1] / values[:, 0])


def jacobian_condition(model: ClosedChainModel, motion: PlatformMotion) -> Floats | None:
    """Condition number (N,) of the scaled Jacobian along a motion; None for open chains."""
    if not has_singularities(model):
        return None
    joints = model.joint_states(motion).positions
    actuators = joints[:, model.mechanism.actuated_scalar]
    reciprocal = reciprocal_condition(model, motion.position, motion.rotation, actuators, joints)
    return np.asarray(1.0 / np.maximum(reciprocal, 1e-300))


def _ratio(numerator: Floats, denominator: Floats) -> float:
    """Ratio of two Frobenius norms; 1 where either vanishes but for rounding."""
    top, bottom = float(np.linalg.norm(numerator)), float(np.linalg.norm(denominator))
    return top / bottom if min(top, bottom) > 1e-9 * max(top, bottom) else 1.0
