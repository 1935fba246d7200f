"""Which poses a robot can take, and which criterion stands against the others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pkm_description.sidecar_sections import read_workspace
from pkm_dynamics.analysis.apertures import apertures_of_joints
from pkm_dynamics.analysis.singularities import singularities_of_joints
from pkm_dynamics.array_types import Booleans, Floats
from pkm_dynamics.kinematics.restricted_poses import Configurations
from pkm_dynamics.model import ClosedChainModel

# In the order in which they are reported.
CRITERIA = ('assembly', 'stroke', 'joint', 'aperture', 'singularity', 'workspace')
SINGULARITY_LIMIT = 0.02  # of a measure: actuator forces grow as its reciprocal, fifty-fold here
_TOLERANCE = 1e-9  # [m, rad]: a pose at a limit is within it, whatever rounding says


@dataclass(frozen=True)
class Reachability:
    """Verdict on N poses or actuator positions."""

    reachable: Booleans  # (N,) whether all criteria hold
    # (N,) by criterion, where it does not hold. `assembly`: the loops do not close on the
    # assembly of home, or the platform has not the freedom; `stroke`: an actuator beyond its
    # limits; `joint`: a passive joint beyond them; `aperture`: a spherical or universal joint bends
    # too far; `singularity`: a measure of `singularities` below the limit; `workspace`: outside the
    # box or tilt that the YAML declares. Where the loops do not close, nothing else is judged
    failed: dict[str, Booleans]
    # (N,) by criterion: smallest distance to its limits, negative beyond them, nan where not
    # judged [m or rad, of the joint that is closest in relation to its range; singularity: measure
    # less limit]
    margins: dict[str, Floats]
    offenders: dict[str, NDArray[np.str_]]
    joints: Floats  # (N, n_j) [m, rad] nan where the loops do not close
    position: Floats  # (N, 3) [m] of the platform; nan where the loops do not close
    rotation: Floats  # (N, 3, 3)

    def __len__(self) -> int:
        """Return the number of samples."""
        return len(self.reachable)

    @property
    def first_failure(self) -> NDArray[np.str_]:
        """Name (N,) of the first criterion that does not hold; empty where reachable."""
        names = np.full(len(self), '', dtype=f'<U{max(map(len, CRITERIA))}')
        for name in reversed(CRITERIA):
            names[self.failed[name]] = name
        return names

    def reason(self, sample: int) -> str:
        """What stands against one sample, or `reachable`."""
        name = str(self.first_failure[sample])
        if not name:
            return 'reachable'
        offender = str(self.offenders[name][sample])
        return f'{name} of {offender}' if offender else name

    @property
    def counts(self) -> dict[str, int]:
        """Number of samples that fail by each criterion; a sample may fail by several."""
        return {name: int(np.sum(mask)) for name, mask in self.failed.items()}


def reachable(
    model: ClosedChainModel,
    position: ArrayLike,
    rotation: ArrayLike,
    singularity_limit: float = SINGULARITY_LIMIT,
    nearest: str | None = None,
) -> Reachability:
    """Judge platform poses (N, 3) [m], (N, 3, 3), each on its own; no pose raises.

    `singularity_limit` is the smallest measure of `singularities` that is accepted. With
    `nearest`, judge the nearest pose (`pose`) or the nearest position (`position`, whatever the
    rotation there) that a platform with fewer than six degrees of freedom can take, instead of
    calling a pose that it has not the freedom for unreachable.
    """
    found, closed = model.configurations_of_poses(position, rotation, nearest)
    return judge(model, found, closed, singularity_limit)


def reachable_actuators(
    model: ClosedChainModel, q: ArrayLike, singularity_limit: float = SINGULARITY_LIMIT
) -> Reachability:
    """Judge actuator positions (N, n_a), each approached straight from home."""
    found, closed = model.configurations_of_actuators(q)
    return judge(model, found, closed, singularity_limit)


def judge(
    model: ClosedChainModel, found: Configurations, closed: Booleans, singularity_limit: float
) -> Reachability:
    """Judge configurations, of which only the `closed` ones (N,) have a meaning."""
    n = len(closed)
    failed = {name: np.zeros(n, dtype=bool) for name in CRITERIA}
    margins = {name: np.full(n, np.nan) for name in CRITERIA}
    offenders = {name: np.full(n, '', dtype='<U64') for name in CRITERIA}
    failed['assembly'] = ~closed
    index = np.flatnonzero(closed)
    at = found.take(index)

    def keep(name: str, values: Floats, spans: Floats, names: list[str]) -> None:
        if values.shape[1] == 0 or len(index) == 0:
            return
        worst = np.argmin(values / spans, axis=1)
        margin = values[np.arange(len(index)), worst]
        margins[name][index] = margin
        failed[name][index] = margin < -_TOLERANCE
        offenders[name][index] = np.array(names, dtype='<U64')[worst]

    for name, selected in (('stroke', True), ('joint', False)):
        keep(name, *_joint_margins(model, at.joints, selected))
    keep('workspace', *_workspace_margins(model, at))
    apertures = apertures_of_joints(model, *at)
    limited = np.isfinite(apertures.limits)
    keep(
        'aperture',
        apertures.limits[limited] - apertures.angles[:, limited],
        apertures.limits[limited],
        [name for name, has in zip(apertures.names, limited, strict=True) if has],
    )
    if model.n_a <= 6 and len(index):
        smallest = singularities_of_joints(model, *at).smallest
        keep('singularity', smallest[:, None] - singularity_limit, np.ones(1), [''])
    judged = [np.array(array) for array in found]
    for array in judged:
        array[~closed] = np.nan
    good = ~np.any([failed[name] for name in CRITERIA], axis=0)
    return Reachability(good, failed, margins, offenders, *judged)


def _joint_margins(
    model: ClosedChainModel, joints: Floats, actuated: bool
) -> tuple[Floats, Floats, list[str]]:
    """Distances (N, k) of actuated or passive joints to their limits, ranges and names."""
    own = set(model.actuated_joints)
    chosen = [i for i, name in enumerate(model.joint_names) if (name in own) == actuated]
    limits = [model.description.joint(model.joint_names[i]).limit for i in chosen]
    lower = np.array([limit.lower for limit in limits])
    upper = np.array([limit.upper for limit in limits])
    finite = np.isfinite(lower) | np.isfinite(upper)
    chosen = [i for i, has in zip(chosen, finite, strict=True) if has]
    lower, upper = lower[finite], upper[finite]
    values = joints[:, chosen]
    span = np.where(np.isfinite(upper - lower), upper - lower, 1.0)
    margin = np.minimum(values - lower, upper - values)
    return margin, np.maximum(span, 1e-12), [model.joint_names[i] for i in chosen]


def _workspace_margins(
    model: ClosedChainModel, at: Configurations
) -> tuple[Floats, Floats, list[str]]:
    """Distances (N, k) to the declared box and tilt."""
    workspace = read_workspace(model.description)
    tilt = np.arccos(np.clip(at.rotation[:, 2, 2], -1.0, 1.0))
    values = np.column_stack([at.position, tilt])
    lower, upper = np.append(workspace.lower, -np.inf), np.append(workspace.upper, workspace.tilt)
    margin = np.minimum(values - lower, upper - values)
    span = np.append(workspace.upper - workspace.lower, workspace.tilt)
    span = np.where(np.isfinite(span), span, 1.0)
    names = ['x', 'y', 'z', 'tilt']
    keep = np.isfinite(lower) | np.isfinite(upper)
    return (
        margin[:, keep],
        np.maximum(span[keep], 1e-12),
        [n for n, k in zip(names, keep, strict=True) if k],
    )
