"""Which force constants are estimated, and what is known of them before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pkm_description.errors import EstimationError
from pkm_dynamics import ClosedChainModel
from pkm_identification.arrays import Array, Indices
from pkm_identification.regression.selection import matching_names

EACH, SHARED = 'each', 'shared'


@dataclass(frozen=True)
class DriveGains:
    """Force constants that are estimated together with the dynamics.

    Attributes
    ----------
    groups
        `each`: one factor a drive; `shared`: one for all; or lists of the joints (names or
        patterns) that share one, for example drives of one type.
    deviation
        Relative standard deviation of the nominal constants, of the description or the
        recording: one number, or by joint (name or pattern). 0 is exact: such a constant
        is not estimated. None: what the recordings say of the uncertainty, if each drive
        has a factor of its own. Where nothing is said, the nominal constant is a start and
        tells nothing.
    """

    groups: str | Sequence[Sequence[str]] = EACH
    deviation: float | Mapping[str, float] | None = None

    @classmethod
    def of(cls, given: DriveGains | bool | str | None) -> DriveGains | None:
        """Return the choice that an option stands for; None: the constants are as given."""
        if given is None or given is False:
            return None
        if given is True:
            return cls()
        return given if isinstance(given, DriveGains) else cls(groups=given)


@dataclass(frozen=True)
class ForceConstantGroups:
    """The unknown logarithms of force constants over nominal force constants."""

    joints: tuple[tuple[str, ...], ...]  # members of each group, the order of the unknowns (g)
    axes: Indices  # group of each actuator (n_a,); -1 where its constant is known or it has none
    deviations: Array  # prior standard deviation (g,) of each, infinite without one

    @property
    def size(self) -> int:
        """Number g of unknown factors."""
        return len(self.joints)

    @property
    def members(self) -> Array:
        """Which actuators (n_a, g) each unknown acts on, 0 or 1."""
        return np.asarray(self.axes[:, None] == np.arange(self.size), dtype=float)

    def factors(self, logarithms: Array) -> Array:
        """Force constants over nominal ones (n_a,)."""
        return np.exp(self.members @ logarithms)


def build_groups(model: ClosedChainModel, gains: DriveGains | None) -> ForceConstantGroups:
    """Return the unknown factors of a robot's drives.

    EstimationError where a joint is unknown, in two groups, or in none; a deviation is negative
    or differs within a group; or all constants are known.
    """
    joints = list(model.actuated_joints)
    if gains is None:
        return ForceConstantGroups((), np.full(len(joints), -1), np.zeros(0))
    free = set(model.free_joints)
    driven = [name for name in joints if name not in free]
    deviations = _deviations(gains.deviation, driven)
    groups = []
    for members in _members(gains.groups, driven):
        found = {deviations[name] for name in members}
        if len(found) > 1:
            raise EstimationError(
                f'drive_gains: {", ".join(members)} share one factor but have different deviations'
            )
        if 0.0 not in found:
            groups.append((tuple(members), found.pop()))
    if not groups:
        raise EstimationError(
            'drive_gains: all force constants are exact (deviation 0): there are none to estimate'
        )
    axes = np.full(len(joints), -1, dtype=np.int64)
    for number, (group, _) in enumerate(groups):
        axes[[joints.index(name) for name in group]] = number
    return ForceConstantGroups(
        tuple(group for group, _ in groups), axes, np.array([each for _, each in groups])
    )


def _members(groups: str | Sequence[Sequence[str]], driven: list[str]) -> list[list[str]]:
    if isinstance(groups, str):
        if groups == EACH:
            return [[name] for name in driven]
        if groups == SHARED:
            return [driven]
        raise EstimationError(
            f"drive_gains: unknown groups '{groups}'; valid are {EACH}, {SHARED} or lists of joints"
        )
    members: list[list[str]] = []
    for group in groups:
        patterns = [group] if isinstance(group, str) else list(group)
        found = {i for name in patterns for i in matching_names(name, driven, 'drive_gains')}
        members.append([driven[i] for i in sorted(found)])
    flat = [name for group in members for name in group]
    twice = sorted({name for name in flat if flat.count(name) > 1})
    lacking = [name for name in driven if name not in flat]
    if twice or lacking:
        what = f"'{twice[0]}' is in two groups" if twice else f"'{lacking[0]}' is in no group"
        raise EstimationError(f'drive_gains: {what}; drives are at {", ".join(driven)}')
    return members


def _deviations(given: float | Mapping[str, float] | None, driven: list[str]) -> dict[str, float]:
    """Prior deviation of each drive's factor."""
    found = dict.fromkeys(driven, np.inf)
    if given is None:
        return found
    items = given.items() if isinstance(given, Mapping) else [('*', given)]
    for name, value in items:
        try:
            deviation = float(value)
        except (TypeError, ValueError, OverflowError):
            deviation = np.nan
        if not deviation >= 0:
            raise EstimationError(
                f"drive_gains: deviation of '{name}' must be a number >= 0, not {value!r}"
            )
        for i in matching_names(name, driven, 'drive_gains'):
            found[driven[i]] = deviation
    return found
