"""Limits of a design along 20000 samples a second, without the project's feasibility code.

Kinematics and forces are the model's, which other tests compare with other engines; what
is a limit, its margin, and the extremum are found here once more, plainly.
"""

import numpy as np

from pkm_dynamics.analysis.apertures import apertures_of_joints
from pkm_dynamics.analysis.clearances import BodyDistances

RATE = 20000.0  # [Hz]


def excesses(model, motion, limits, duration, rate=RATE):
    """Worst of every kind of limit, relative to its size: positive beyond the limit.

    Parameters
    ----------
    motion : callable
        Times (N,) [s] to a motion of the platform.
    limits : DesignLimits
    duration : float
        [s].
    """
    worst = {}
    count = int(np.ceil(duration * rate)) + 1
    for time in np.array_split(np.linspace(0.0, duration, count), max(count // 4000, 1)):
        part = model.with_joint_states(motion(time))
        for kind, values in _block(model, part, limits):
            values = np.asarray(values)[np.isfinite(values)]
            if values.size:
                worst[kind] = max(worst.get(kind, -np.inf), float(values.max()))
    return worst


def _block(model, motion, limits):
    joints = model.joint_states(motion)
    names = list(model.joint_names)
    driven = np.isin(names, model.actuated_joints)
    ends = [model.description.joint(name).limit for name in names]
    lower, upper, speed = (
        np.array([getattr(end, field) for end in ends]) for field in ('lower', 'upper', 'velocity')
    )
    inset = limits.stroke_margin * np.where(np.isfinite(upper - lower), upper - lower, 0.0)
    beyond = np.maximum(joints.positions - upper + inset, lower + inset - joints.positions)
    yield 'stroke', beyond[:, driven]
    yield 'joint', beyond[:, ~driven]
    fast = np.abs(joints.velocities) / (speed * (1.0 - limits.velocity_margin)) - 1.0
    yield 'velocity', fast[:, driven & np.isfinite(speed)]
    yield 'joint_velocity', fast[:, ~driven & np.isfinite(speed)]
    if limits.acceleration is not None:
        order = [names.index(name) for name in model.actuated_joints]
        yield 'acceleration', np.abs(joints.accelerations[:, order]) / limits.acceleration - 1.0
    yield 'force', _forces(model, motion, limits)
    workspace = model.description.sidecar.get('workspace') or {}
    if 'position_lower' in workspace:
        low, high = (np.array(workspace[f'position_{end}'], float) for end in ('lower', 'upper'))
        inset = limits.stroke_margin * (high - low)
        yield 'workspace', np.maximum(motion.position - high + inset, low + inset - motion.position)
    if 'tilt' in workspace:
        tilt = np.arccos(np.clip(motion.rotation[:, 2, 2], -1.0, 1.0))
        yield 'tilt', tilt / (workspace['tilt'] * (1.0 - limits.stroke_margin)) - 1.0
    if model.description.constraints:
        yield 'conditioning', _conditioning(model, motion) / limits.condition_factor - 1.0
    apertures = apertures_of_joints(model, joints.positions, motion.position, motion.rotation)
    allowed = apertures.limits * (1.0 - limits.stroke_margin)
    if limits.aperture is not None:
        allowed = np.minimum(allowed, limits.aperture)
    yield 'aperture', apertures.angles / allowed - 1.0
    distances = BodyDistances(model)
    if distances.pairs and limits.clearance is not None:
        gaps = distances.clearances(joints.positions, motion.position, motion.rotation)
        yield 'clearance', limits.clearance - gaps


def _forces(model, motion, limits):
    forces, uncertainty = np.abs(model.inverse_dynamics(motion)), limits.force_uncertainty
    if np.ndim(uncertainty) == 0:
        forces = forces * (1.0 + uncertainty)
    else:
        factor = np.linalg.cholesky(uncertainty + 1e-15 * np.eye(len(uncertainty)))
        forces = forces + 3.0 * np.linalg.norm(model.regressor(motion) @ factor, axis=2)
    return forces / (model.force_limit * (1.0 - limits.force_margin)) - 1.0


def _conditioning(model, motion):
    """Condition numbers (N,) of the Jacobian, rotation made a length, as multiples of home's."""
    if model.platform_determines_joints:
        home = model.jacobian(model.home_position[None], model.home_rotation[None])
        here = model.jacobian(motion.position, motion.rotation)
        length = np.linalg.norm(home[:, :, 3:]) / np.linalg.norm(home[:, :, :3])
        home, here = (J / np.repeat([1.0, length], 3) for J in (home, here))
    else:
        home = model.platform_jacobian(np.asarray(model.home_actuators)[None])
        here = model.platform_jacobian(model.actuator_states(motion).positions)
        turning = np.linalg.norm(home[:, 3:])
        length = np.linalg.norm(home[:, :3]) / turning if turning > 1e-9 else 1.0
        home, here = (J * np.repeat([1.0, length], 3)[:, None] for J in (home, here))
    return np.linalg.cond(here) / np.linalg.cond(home)[0]
