"""Forces in the joints: of the constraints that close the loops, and of the tree.

Cut at its closing constraints, the mechanism is a tree whose joints would need the
generalised forces tau (n_v) for the motion. The drives give some of them, the
constraints the rest, by their multipliers:

    A^T lambda = tau - S^T Q

Where rows are redundant (loops that are planar in space), only part of lambda follows
from the motion of rigid bodies; the least solution is taken, moments divided by the
mechanism's length, and what depends on that choice is marked. The wrenches of the
tree's joints follow body by body from the tips to the base.

A spherical constraint transmits three forces; a revolute one also the two moments
across its axis, a universal one the moment across both its axes; a prismatic one three
moments and the two forces across its axis; a fixed one all six. To these comes the
friction of the constraint.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pkm_description.description import Constraint, Joint
from pkm_description.kinematic_tree import BASE, POINT_ROW
from pkm_dynamics.equations.joint_loads import JointLoads, subtree_sums
from pkm_dynamics.equations.wrench import PlatformWrench
from pkm_dynamics.kinematics.body_motion import BodyMotion
from pkm_dynamics.kinematics.tree_geometry import cross
from pkm_dynamics.parameters.parameter_table import checked_parameters

if TYPE_CHECKING:
    from pkm_dynamics.model import ClosedChainModel
    from pkm_dynamics.motion import PlatformMotion

Floats = NDArray[np.float64]

_IDLE_TOLERANCE = 1e-7  # of unit multipliers: what changes less does not depend on them


@dataclass(frozen=True)
class JointReaction:
    """What one joint or closing constraint transmits.

    Attributes
    ----------
    name, type : str
        Of the joint or constraint.
    parent, child : str
        Links.
    force : (N, 3) [N]
        That the parent exerts on the child, at `point`, in the axes of the frame below.
    moment : (N, 3) [N m]
        About `point`.
    point : (N, 3) [m]
        In the base frame: origin of the child link's frame, or of the constraint's
        frame on the child.
    rotation : (N, 3, 3)
        Axes: those of the child link's frame (a tree's joint), or of the constraint's
        frame on the parent.
    determined : (6,) bool
        Which components of force and moment follow from the motion; False where the
        rows of a loop are redundant and only an elastic model could tell.
    """

    name: str
    type: str
    parent: str
    child: str
    force: Floats
    moment: Floats
    point: Floats
    rotation: Floats
    determined: NDArray[np.bool_]

    def in_base(self) -> tuple[Floats, Floats]:
        """Force and moment (N, 3) each, in base axes, about `point`."""
        turned = [
            np.einsum('nij,nj->ni', self.rotation, part) for part in (self.force, self.moment)
        ]
        return turned[0], turned[1]


@dataclass(frozen=True)
class Reactions:
    """Forces in all joints of a mechanism along a motion.

    Attributes
    ----------
    constraints : dict
        `JointReaction` by name of the constraints that close the loops: what the
        constraint transmits and its friction.
    joints : dict
        `JointReaction` by name of the tree's joints, driving force and friction included.
    multipliers : (N, n_r) [N, N m]
        Of the closing rows.
    actuator_forces : (N, n_a) [N, N m]
        Inverse dynamics, under the wrench on the platform.
    redundant : bool
        Whether some reactions are not determined.
    base_wrench : (N, 6) [N, N m]
        That the ground exerts on the base for the moving bodies, about the base's origin.
    residual : (N,) [N, N m]
        What the multipliers leave of the passive joints' forces: rounding.
    """

    constraints: dict[str, JointReaction]
    joints: dict[str, JointReaction]
    multipliers: Floats
    actuator_forces: Floats
    redundant: bool
    base_wrench: Floats
    residual: Floats


def reactions(
    model: ClosedChainModel,
    motion: PlatformMotion,
    parameters: ArrayLike | None = None,
    wrench: PlatformWrench | None = None,
) -> Reactions:
    """Forces in the joints of a motion.

    Parameters
    ----------
    model : ClosedChainModel
    motion : PlatformMotion
        N samples.
    parameters : (n_p,), optional
        Standard parameters; the description's when absent.
    wrench : PlatformWrench, optional
        Acts on the platform.
    """
    values = checked_parameters(parameters, model.nominal_parameters)
    bodies = model.body_motion(motion)
    geometry, tree = bodies.geometry, bodies.geometry.layout.tree
    loads = JointLoads(model, bodies, values, wrench)
    forces = np.einsum('nva,nv->na', bodies.transfer, loads.tau)
    passive = loads.tau.copy()
    passive[:, bodies.actuated] -= forces
    scale = np.where(tree.row_kind == POINT_ROW, 1.0, max(model.length_scale, 1e-12))
    multipliers, null = _multipliers(geometry.row_jacobian, passive, scale, model.n_a)
    left = passive - np.einsum('nrv,nr->nv', geometry.row_jacobian, multipliers)
    through = _Joints(model, bodies)
    closing = through.constraints(multipliers, loads.cut_friction)
    joints = through.tree(multipliers, loads.needed)
    for k in range(null.shape[2]):
        through.mark(closing, joints, null[:, :, k])
    return Reactions(
        constraints=closing,
        joints=joints,
        multipliers=multipliers,
        actuator_forces=forces,
        redundant=null.shape[2] > 0,
        base_wrench=loads.single.sum(axis=1),
        residual=np.abs(left).max(axis=1, initial=0.0),
    )


def _multipliers(
    jacobian: Floats, passive: Floats, scale: Floats, n_a: int
) -> tuple[Floats, Floats]:
    """Least multipliers (N, n_r) of jacobian^T x = passive, and those that do nothing.

    The latter (N, n_r, d) span what the motion leaves open. The norm is that of the
    multipliers divided by `scale` (n_r,).
    """
    n, n_r, n_v = jacobian.shape
    if n_r == 0:
        return np.zeros((n, 0)), np.zeros((n, 0, 0))
    left, singular, right = np.linalg.svd(jacobian * scale[:, None])
    rank = n_v - n_a
    along = np.einsum('nkv,nv->nk', right[:, :rank], passive) / singular[:, :rank]
    least = np.einsum('nrk,nk->nr', left[:, :, :rank], along)
    return scale * least, scale[:, None] * left[:, :, rank:]


class _Joints:
    """Express what joints transmit at their own points and in their own axes."""

    def __init__(self, model: ClosedChainModel, bodies: BodyMotion) -> None:
        self.description = model.description
        self.bodies = bodies

    def constraints(self, multipliers: Floats, friction: Floats) -> dict[str, JointReaction]:
        """Closing constraints, less the wrenches that overcome their friction (N, n_c, 6)."""
        bodies, tree = self.bodies, self.bodies.geometry.layout.tree
        rows = bodies.geometry.row_wrench * multipliers[:, :, None]
        found = {}
        for index, constraint in enumerate(self.description.constraints):
            wrench = rows[:, tree.row_constraint == index].sum(axis=1) - friction[:, index]
            turn, _ = self._frame(constraint.parent)
            turn_c, place = self._frame(constraint.child)
            point = place + turn_c @ constraint.child_origin.position
            axes = turn @ constraint.parent_origin.rotation
            found[constraint.name] = _reaction(constraint, wrench, point, axes)
        return found

    def tree(self, multipliers: Floats, needed: Floats) -> dict[str, JointReaction]:
        """Joints of the tree: what all beyond needs (N, n_b, 6), less what closes loops there."""
        bodies, tree = self.bodies, self.bodies.geometry.layout.tree
        rows = bodies.geometry.row_wrench * multipliers[:, :, None]
        given = np.zeros_like(needed)
        for row in range(len(tree.row_kind)):
            for body, sign in ((tree.row_child[row], 1.0), (tree.row_parent[row], -1.0)):
                if body != BASE:
                    given[:, body] += sign * rows[:, row]
        wrench = needed - subtree_sums(bodies, given)
        found = {}
        for joint in self.description.joints:
            k = tree.body_names.index(joint.child)
            place, turn = bodies.position[:, k], bodies.rotation[:, k]
            found[joint.name] = _reaction(joint, wrench[:, k], place, turn)
        return found

    def mark(
        self, constraints: dict[str, JointReaction], joints: dict[str, JointReaction], idle: Floats
    ) -> None:
        """Mark the components that multipliers (N, n_r) without effect on the motion change."""
        n, n_b = len(self.bodies), len(self.bodies.names)
        stress = self.constraints(idle, np.zeros((n, len(constraints), 6)))
        inner = self.tree(idle, np.zeros((n, n_b, 6)))
        for found, changed in ((constraints, stress), (joints, inner)):
            for name, reaction in changed.items():
                parts = np.concatenate([reaction.force, reaction.moment], axis=1)
                still = np.abs(parts).max(axis=0) < _IDLE_TOLERANCE
                found[name] = replace(found[name], determined=found[name].determined & still)

    def _frame(self, link: str) -> tuple[Floats, Floats]:
        """Rotation (N, 3, 3) and position (N, 3) of a link; of the base too."""
        n = len(self.bodies)
        if link not in self.bodies.names:
            return np.broadcast_to(np.eye(3), (n, 3, 3)), np.zeros((n, 3))
        body = self.bodies.names.index(link)
        return self.bodies.rotation[:, body], self.bodies.position[:, body]


def _reaction(
    owner: Constraint | Joint, wrench: Floats, point: Floats, axes: Floats
) -> JointReaction:
    """Express a wrench (N, 6) about the base's origin at a point and in some axes."""
    moment = wrench[:, 3:] - cross(point, wrench[:, :3])
    force, moment = (np.einsum('nji,nj->ni', axes, part) for part in (wrench[:, :3], moment))
    return JointReaction(
        owner.name,
        owner.type,
        owner.parent,
        owner.child,
        force,
        moment,
        point,
        axes,
        np.ones(6, dtype=bool),
    )
