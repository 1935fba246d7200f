"""Motion of every body, and its Jacobian from the actuators' rates.

Batched NumPy on top of the model's joint states; it shares no code with the compiled
kernels and serves as a check of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pkm_description.tree_geometry import TreeGeometry, TreeLayout, cross, solve_rows
from pkm_dynamics.array_types import Floats, Integers
from pkm_dynamics.motion import JointStates, PlatformMotion


@dataclass(frozen=True)
class BodyMotion:
    """Motion of the n_b bodies other than the base, in base axes."""

    names: tuple[str, ...]  # links, in the order of the axis n_b
    position: Floats  # (N, n_b, 3) [m] origins of the link frames
    rotation: Floats  # (N, n_b, 3, 3)
    twist: Floats  # (N, n_b, 6) [v; omega] [m/s, rad/s] v of the link frame's origin
    # (N, n_b, 6) [dv; domega] [m/s^2, rad/s^2] dv is the classical acceleration of the origin,
    # without gravity
    acceleration: Floats
    jacobian: Floats  # (N, n_b, 6, n_a) twists from the actuators' rates
    joints: Floats  # (N, n_j) [m, rad] positions of all scalar joints
    geometry: TreeGeometry  # screws and closing rows, about the base's origin
    actuated: Integers  # (n_a,) velocity coordinates of the actuators
    # (N, n_v) of all velocity coordinates: scalar joints and a floating platform's [v; omega]
    rates: Floats
    rates_dot: Floats  # (N, n_v)
    transfer: Floats  # (N, n_v, n_a) rates of all velocity coordinates from those of the actuators
    spatial_twist: Floats  # (N, n_b, 6) twists about the base's origin
    screw_rates: Floats  # (N, n_v, 6) time derivatives of the screws

    def __len__(self) -> int:
        """Return the number of samples."""
        return len(self.position)

    @property
    def actuator_rates(self) -> Floats:
        """Velocities (N, n_a) of the actuated joints [m/s, rad/s]."""
        return self.rates[:, self.actuated]

    def rates_dot_of(self, actuator_accelerations: Floats) -> Floats:
        """Accelerations (N, n_v) of all coordinates from those of the actuators (N, n_a)."""
        geometry = self.geometry
        change = geometry.row_jacobian_rate(self.spatial_twist, self.screw_rates)
        bias = -change @ self.rates[:, :, None]
        solution = solve_rows(
            geometry.row_jacobian, self.actuated, bias, actuator_accelerations[:, :, None]
        )
        return np.asarray(solution[:, :, 0])

    def accelerated(self, rates_dot: Floats) -> BodyMotion:
        """Return the same state with other accelerations (N, n_v) of all coordinates."""
        acceleration = body_accelerations(
            self.geometry, self.rates, rates_dot, self.spatial_twist, self.screw_rates
        )
        return replace(self, rates_dot=rates_dot, acceleration=acceleration)

    def platform_motion(self) -> PlatformMotion:
        """Return the motion of the platform, with all joint states."""
        layout = self.geometry.layout
        moving = (self.position, self.rotation, self.twist, self.acceleration)
        rates, rates_dot = self.rates[:, layout.scalar], self.rates_dot[:, layout.scalar]
        p, r, v, a = (array[:, layout.tree.platform_body] for array in moving)
        return PlatformMotion(p, r, v, a, self.joints, rates, rates_dot)


def build_body_motion(
    layout: TreeLayout,
    actuated: Integers,
    motion: PlatformMotion,
    states: JointStates,
    transfer: Floats | None = None,
    geometry: TreeGeometry | None = None,
) -> BodyMotion:
    """Motion of the bodies from the platform's and all joints' motion; the loops are closed.

    `actuated` (n_a,) are the velocity coordinates of the actuators; with `transfer` (N, n_v, k)
    all Jacobians are from other independent rates. The `geometry` of these positions saves
    time, where it is at hand. Raises KinematicsError where the actuators do not determine the
    mechanism at one of the samples.
    """
    tree = layout.tree
    if geometry is None:
        geometry = TreeGeometry.build(layout, states.positions, motion.position, motion.rotation)
    rates, rates_dot = np.zeros((len(motion), tree.n_v)), np.zeros((len(motion), tree.n_v))
    rates[:, layout.scalar], rates_dot[:, layout.scalar] = states.velocities, states.accelerations
    if tree.floating_body >= 0:
        rates[:, tree.floating] = motion.twist
        rates_dot[:, tree.floating] = motion.acceleration
    if transfer is None:
        transfer = actuator_transfer(geometry, actuated)
    spatial = geometry.twists(rates)
    screw_rates = geometry.screw_rates(spatial)
    acceleration = body_accelerations(geometry, rates, rates_dot, spatial, screw_rates)
    return BodyMotion(
        names=tree.body_names,
        position=geometry.position,
        rotation=geometry.rotation,
        twist=shifted(spatial, geometry.position),
        acceleration=acceleration,
        jacobian=shifted_columns(geometry.jacobians(transfer), geometry.position),
        joints=states.positions,
        geometry=geometry,
        actuated=actuated,
        rates=rates,
        rates_dot=rates_dot,
        transfer=transfer,
        spatial_twist=spatial,
        screw_rates=screw_rates,
    )


def actuator_transfer(geometry: TreeGeometry, actuated: Integers) -> Floats:
    """Rates of all velocity coordinates (N, n_v, n_a) from those of the actuators."""
    n, n_r, _ = geometry.row_jacobian.shape
    n_a = len(actuated)
    unit = np.broadcast_to(np.eye(n_a), (n, n_a, n_a))
    return solve_rows(geometry.row_jacobian, actuated, np.zeros((n, n_r, n_a)), unit)


def body_accelerations(
    geometry: TreeGeometry,
    rates: Floats,
    rates_dot: Floats,
    spatial: Floats,
    screw_rates: Floats | None = None,
) -> Floats:
    """[dv; domega] (N, n_b, 6) of the bodies' origins, classical, without gravity.

    `rates`, `rates_dot` (N, n_v) of all coordinates; `spatial` (N, n_b, 6) are the twists
    that belong to the rates, about the base's origin; `screw_rates` (N, n_v, 6) theirs.
    """
    if screw_rates is None:
        screw_rates = geometry.screw_rates(spatial)
    terms = geometry.screws * rates_dot[:, :, None] + screw_rates * rates[:, :, None]
    spatial_dot = geometry.layout.moved @ terms
    speed = shifted(spatial, geometry.position)[..., :3]
    acceleration = shifted(spatial_dot, geometry.position)
    acceleration[..., :3] += cross(spatial[..., 3:], speed)
    return np.asarray(acceleration)


def shifted(twist: Floats, point: Floats) -> Floats:
    """Twists (..., 6) about a point further by `point` (..., 3): v + omega x point."""
    linear = twist[..., :3] + cross(twist[..., 3:], point)
    return np.concatenate([linear, twist[..., 3:]], axis=-1)


def shifted_columns(jacobian: Floats, point: Floats) -> Floats:
    """`shifted` for every column of Jacobians (..., 6, k)."""
    columns = shifted(np.swapaxes(jacobian, -1, -2), point[..., None, :])
    return np.asarray(np.swapaxes(columns, -1, -2))
