"""States of the drives along time: the bristles of presliding.

Near standstill the contacts of a joint yield before they slip. With z' = v - |v| z / d their
deflection follows the motion (Dahl; LuGre with a constant level), and s = z / d takes the place
of the sign of v in Coulomb friction: the sign itself after a travel of some d, and a hysteresis
after each reversal. It depends on the path alone: while a drive moves by x in one direction,

    s -> sign(x) + (s - sign(x)) exp(-|x| / d)

exactly, so that steps may be as long as one likes; a step in which the drive turns is two.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pkm_description import Description
from pkm_description.description import DriveTerms
from pkm_description.errors import DescriptionError
from pkm_dynamics.array_types import Floats

# Parameters of Coulomb friction, and the range that s has in the force of each
SIDES = {'coulomb': (-1.0, 1.0), 'coulomb_positive': (0.0, 1.0), 'coulomb_negative': (-1.0, 0.0)}


@dataclass(frozen=True)
class DriveStates:
    """Drives whose friction has a past; false where there is none."""

    deflections: tuple[float, ...]  # d (n_a,) [m, rad]; infinite where Coulomb friction has no past
    # of these drives: standard parameter of each Coulomb friction, its axis and range of s
    parameters: tuple[int, ...]
    axes: tuple[int, ...]
    ranges: tuple[tuple[float, float], ...]
    transition_velocity: float  # where Coulomb friction has no past [m/s, rad/s]

    @classmethod
    def of(
        cls,
        description: Description,
        parameter_names: list[str],
        terms: Mapping[str, DriveTerms] | None = None,
    ) -> DriveStates:
        """Collect what a description says, or other terms by joint.

        Raises DescriptionError where a drive with presliding has no Coulomb friction.
        """
        terms = description.drive_terms if terms is None else terms
        joints = description.actuated_joints
        deflections = [np.inf] * len(joints)
        found = []
        for axis, joint in enumerate(joints):
            deflection = terms[joint].presliding if joint in terms else None
            if deflection is None:
                continue
            deflections[axis] = deflection
            named = {field: f'{joint}.{field}' for field in SIDES}
            own = [(name, SIDES[field]) for field, name in named.items() if name in parameter_names]
            if not own:
                raise DescriptionError(
                    f"joint '{joint}' has presliding, but no Coulomb friction that it is of"
                )
            found += [(parameter_names.index(name), axis, sides) for name, sides in own]
        parameters, axes, ranges = zip(*found, strict=True) if found else ((), (), ())
        slow = float(description.transition_velocity)
        return cls(tuple(deflections), parameters, axes, ranges, slow)

    def __bool__(self) -> bool:
        return bool(self.axes)

    def along(
        self,
        time: ArrayLike,
        positions: ArrayLike,
        velocities: ArrayLike,
        start: ArrayLike | None = None,
        settled: bool = False,
    ) -> Floats:
        """States (N, n_a) along a motion: s of each drive.

        Parameters
        ----------
        time : (N,) [s]
        positions, velocities : (N, n_a) [m, rad], [m/s, rad/s]
        start : (n_a,)
            States at the first sample; zero, bristles without load, when absent.
        settled
            The samples are one period of a motion that has gone on for long.
        """
        t, q, qd = (np.asarray(each, dtype=float) for each in (time, positions, velocities))
        first = np.zeros(q.shape[1]) if start is None else np.asarray(start, dtype=float)
        if settled and len(t) > 1:
            interval = (t[-1] - t[0]) / (len(t) - 1)
            t = np.append(t, t[-1] + interval)
            q, qd = (np.concatenate([each, each[:1]]) for each in (q, qd))
            kept, gained = self._steps(t, q, qd)
            last = recurrence(kept, gained, np.zeros(q.shape[1]))[-1]
            # where a drive stands still for a whole period, its bristles keep what they have
            lost = 1.0 - kept.prod(axis=0)
            first = np.where(lost > 0.0, last / np.where(lost > 0.0, lost, 1.0), first)
            return recurrence(kept, gained, first)[:-1]
        return recurrence(*self._steps(t, q, qd), first)

    def further_forces(self, values: Floats, states: Floats, velocities: Floats) -> Floats:
        """Forces (N, n_a) beyond those of the signs of velocities (N, n_a), for values (n_p,)."""
        v, slow = np.asarray(velocities), self.transition_velocity
        sign = np.clip(v / slow, -1.0, 1.0) if slow > 0.0 else np.sign(v)
        found = np.zeros(v.shape)
        for parameter, axis, sides in zip(self.parameters, self.axes, self.ranges, strict=True):
            change = np.clip(states[:, axis], *sides) - np.clip(sign[:, axis], *sides)
            found[:, axis] += values[parameter] * change
        return found

    def write(self, regressor: Floats, states: Floats) -> None:
        """Put the states (N, n_a) in place of the signs in a regressor (N, n_a, n_p)."""
        for parameter, axis, sides in zip(self.parameters, self.axes, self.ranges, strict=True):
            regressor[:, axis, parameter] = np.clip(states[:, axis], *sides)

    def _steps(self, t: Floats, q: Floats, qd: Floats) -> tuple[Floats, Floats]:
        """Factors and summands (N - 1, n_a) that take the states from sample to sample."""
        before, after, whole = qd[:-1], qd[1:], np.diff(q, axis=0)
        turning = before * after < 0.0
        # with a constant acceleration it turns after this share of the step
        share = np.where(turning, before / np.where(turning, before - after, 1.0), 0.0)
        step = np.diff(t)[:, None]
        ahead = np.where(turning, 0.5 * before * share * step, 0.0)
        back = np.where(turning, 0.5 * after * (1.0 - share) * step, whole)
        depth = np.array(self.deflections)
        first, second = np.exp(-np.abs(ahead) / depth), np.exp(-np.abs(back) / depth)
        gained = np.sign(ahead) * (1.0 - first) * second + np.sign(back) * (1.0 - second)
        return first * second, gained


def recurrence(factors: Floats, summands: Floats, start: Floats) -> Floats:
    """States (N + 1, c) of x[k + 1] = factors[k] x[k] + summands[k] from x[0] = start (c,).

    By doubling: after k passes each entry holds the last 2^k steps as one.
    """
    factors, summands = factors.copy(), summands.copy()
    reach = 1
    while reach < len(factors):
        summands[reach:] += factors[reach:] * summands[:-reach]
        factors[reach:] *= factors[:-reach].copy()
        reach *= 2
    return np.concatenate([start[None], factors * start + summands])
