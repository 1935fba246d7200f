"""States of the drives along time: the bristles of presliding.

Near standstill the contacts of a joint yield before they slip. With z' = v - |v| z / d their
deflection follows the motion (Dahl; LuGre with a constant level), and s = z / d takes the place
of the sign of v in Coulomb friction: the sign itself after a travel of some d, and a hysteresis
after each reversal. It depends on the path alone: while a drive moves by x in one direction,

    s -> sign(x) + (s - sign(x)) exp(-|x| / d)

exactly, so that steps may be as long as one likes; a step in which the drive turns is two.

And the temperature: viscous friction changes with what friction has heated the drive by, as low
passes T z' = P - z of its power P [W] show; within a step P counts as constant.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pkm_description import Description
from pkm_description.description import DriveTerms
from pkm_description.errors import DescriptionError
from pkm_description.exporters.exported import symmetric
from pkm_dynamics.array_types import Floats, Integers
from pkm_dynamics.drive_forces import DriveForces
from pkm_dynamics.friction_laws import smoothed_sign
from pkm_dynamics.kernels.bristles import drive_steps

# Parameters of Coulomb friction, and the range that s has in the force of each
SIDES = {'coulomb': (-1.0, 1.0), 'coulomb_positive': (0.0, 1.0), 'coulomb_negative': (-1.0, 0.0)}


class WarmState(NamedTuple):
    """One low pass of the friction power of a drive."""

    axis: int
    time: float  # [s]
    coulomb: float  # [N, N m], viscous [N s/m, N m s/rad]: of the power
    viscous: float
    start: float  # [W]

    def power(self, velocities: Floats) -> Floats:
        """Friction power (N,) [W] at velocities (N, n_a)."""
        speed = np.abs(velocities[..., self.axis])
        return np.asarray((self.coulomb + self.viscous * speed) * speed)


def warm_states(
    description: Description, terms: Mapping[str, DriveTerms] | None = None
) -> tuple[WarmState, ...]:
    """Low passes of a description, or other terms by joint, in the order of the parameters.

    Raises DescriptionError where the friction that heats a drive is not known.
    """
    terms = description.drive_terms if terms is None else terms
    found = []
    for axis, joint in enumerate(description.actuated_joints):
        warm = terms[joint].warm_up if joint in terms else None
        if warm is None:
            continue
        dry, wet = symmetric(description.joint(joint).friction)
        level = dry if warm.coulomb is None else warm.coulomb
        damping = wet if warm.viscous is None else warm.viscous
        if level == damping == 0.0:
            raise DescriptionError(
                f"joint '{joint}' warms up, but its friction is not known: give 'coulomb' and "
                "'viscous' of the power that heats it"
            )
        starts = warm.start or (0.0,) * len(warm.times)
        own = zip(warm.times, starts, strict=True)
        found += [WarmState(axis, time, level, damping, start) for time, start in own]
    return tuple(found)


@dataclass(frozen=True)
class DriveStates:
    """Drives whose friction has a past; false where there is none."""

    deflections: tuple[float, ...]  # d (n_a,) [m, rad]; infinite where Coulomb friction has no past
    # of these drives: standard parameter of each Coulomb friction, its axis and range of s
    parameters: tuple[int, ...]
    axes: tuple[int, ...]
    ranges: tuple[tuple[float, float], ...]
    warm: tuple[WarmState, ...]  # (n_w,)
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
        warm = warm_states(description, terms)
        return cls(tuple(deflections), parameters, axes, ranges, warm, slow)

    def __bool__(self) -> bool:
        return bool(self.axes or self.warm)

    @property
    def size(self) -> int:
        """Number of states, n_a + n_w."""
        return len(self.deflections) + len(self.warm)

    def along(
        self,
        time: ArrayLike,
        positions: ArrayLike,
        velocities: ArrayLike,
        start: ArrayLike | None = None,
        settled: bool = False,
    ) -> Floats:
        """States (N, n_a + n_w) along a motion: s of each drive, then z [W] of all low passes.

        Parameters
        ----------
        time : (N,) [s]
        positions, velocities : (N, n_a) [m, rad], [m/s, rad/s]
        start : (n_a + n_w,)
            States at the first sample; bristles without load, and temperatures as described,
            when absent.
        settled
            The samples are one period of a motion that has gone on for long.
        """
        t, q, qd = (np.asarray(each, dtype=float) for each in (time, positions, velocities))
        first = np.array([*np.zeros(q.shape[1]), *(each.start for each in self.warm)])
        first = first if start is None else np.asarray(start, dtype=float)
        if settled and len(t) > 1:
            interval = (t[-1] - t[0]) / (len(t) - 1)
            t = np.append(t, t[-1] + interval)
            q, qd = (np.concatenate([each, each[:1]]) for each in (q, qd))
            kept, gained = self._steps(t, q, qd)
            last = recurrence(kept, gained, np.zeros(len(first)))[-1]
            # where a drive stands still for a whole period, its bristles keep what they have
            lost = 1.0 - kept.prod(axis=0)
            first = np.where(lost > 0.0, last / np.where(lost > 0.0, lost, 1.0), first)
            return recurrence(kept, gained, first)[:-1]
        return recurrence(*self._steps(t, q, qd), first)

    def taken_over(
        self, before: DriveStates | None, states: ArrayLike | None, velocities: ArrayLike
    ) -> Floats:
        """States (n_a + n_w,) that go on from those of other drives, as of another model.

        Coulomb friction goes on with the share that it has: of bristles that share, else the
        smoothed sign of the velocities (n_a,). A low pass takes the power of those of the drive
        before, by its time constant between theirs; without any it is as described.
        """
        known = None if before is None or states is None else before
        old = np.zeros(0) if known is None else np.asarray(states, dtype=float)
        share = smoothed_sign(np.asarray(velocities, dtype=float), self.transition_velocity)
        if known is not None:
            share = known.shares(old[None], np.asarray(velocities)[None])[0]
        warm = [] if known is None else list(zip(known.warm, old[len(share) :], strict=True))
        powers = []
        for each in self.warm:
            own = sorted((other.time, power) for other, power in warm if other.axis == each.axis)
            times, values = zip(*own, strict=True) if own else ((1.0,), (each.start,))
            powers.append(np.interp(np.log(each.time), np.log(times), values))
        return np.concatenate([share, powers])

    def drawn(self, count: int, rng: np.random.Generator) -> Floats:
        """States (N, n_a + n_w) of so many samples that have nothing to do with each other."""
        bristles = rng.uniform(-1.0, 1.0, (count, len(self.deflections)))
        return np.concatenate([bristles, rng.uniform(size=(count, len(self.warm)))], axis=1)

    def past_forces(
        self,
        values: Floats,
        states: Floats,
        velocities: Floats,
        drives: DriveForces,
        own: Floats | None = None,
    ) -> Floats:
        """Forces (N, n_a) that friction with a past adds to that which slides.

        For standard parameters (n_p,), states (N, n_a + n_w) and velocities (N, n_a), and for
        parameters (n_d,) of the forces of the drives, or nominal ones.
        """
        warm = drives.warm_forces(self.heat(states, velocities), own)
        return self.further_forces(values, states, velocities) + warm

    def heat(self, states: Floats, velocities: Floats) -> Floats:
        """Products (N, n_w) of z [W] and the velocities (N, n_a) of their drives."""
        return np.asarray(states[:, len(self.deflections) :] * velocities[:, self.warm_axes])

    @cached_property
    def warm_axes(self) -> list[int]:
        """Drive of each low pass."""
        return [each.axis for each in self.warm]

    @cached_property
    def _coulomb(self) -> tuple[list[int], list[int], Floats, Floats, Floats]:
        """Columns, axes (k,), ranges of s and axes as a matrix (k, n_a) of `parameters`."""
        lower, upper = np.array(self.ranges).reshape(-1, 2).T
        of_axes = np.array(self.axes, dtype=int)[:, None] == np.arange(len(self.deflections))
        return list(self.parameters), list(self.axes), lower, upper, of_axes.astype(float)

    @cached_property
    def _depths(self) -> Floats:
        return np.array(self.deflections)

    @cached_property
    def _passes(self) -> tuple[Integers, Floats, Floats, Floats]:
        """Drives, times, Coulomb and viscous friction (n_w,) of the low passes."""
        numbers = np.array([each[1:4] for each in self.warm]).reshape(-1, 3).T
        time, coulomb, viscous = np.ascontiguousarray(numbers)
        return np.array(self.warm_axes, dtype=np.int64), time, coulomb, viscous

    def further_forces(self, values: Floats, states: Floats, velocities: Floats) -> Floats:
        """Coulomb friction (N, n_a) beyond that of the signs of velocities, for values (n_p,)."""
        v = np.asarray(velocities)
        sign = smoothed_sign(v, self.transition_velocity)
        columns, *_, of_axes = self._coulomb
        change = self._within_sides(states) - self._within_sides(sign)
        return np.asarray((change * values[columns]) @ of_axes)

    def shares(self, states: Floats, velocities: Floats) -> Floats:
        """Share (N, n_a) of Coulomb friction at states and velocities, from -1 to 1 by its sign."""
        yielding = np.isfinite(self.deflections)
        sign = smoothed_sign(velocities, self.transition_velocity)
        return np.where(yielding, states[:, : len(yielding)], sign)

    def write(self, regressor: Floats, states: Floats) -> None:
        """Put the states (N, n_a) in place of the signs in a regressor (N, n_a, n_p)."""
        columns, axes, *_ = self._coulomb
        regressor[:, axes, columns] = self._within_sides(states)

    def write_powers(self, powers: Floats, states: Floats, velocities: Floats) -> None:
        """Put the powers of friction with these states in powers (N, n_p) by parameter [W]."""
        columns, axes, *_ = self._coulomb
        powers[:, columns] = self._within_sides(states) * velocities[:, axes]

    def _within_sides(self, signs: Floats) -> Floats:
        """Force (N, k) of each parameter of Coulomb friction with a past, of signs (N, n_a ..)."""
        _, axes, lower, upper, _ = self._coulomb
        return np.minimum(np.maximum(signs[:, axes], lower), upper)

    def _steps(self, t: Floats, q: Floats, qd: Floats) -> tuple[Floats, Floats]:
        """Factors and summands (N - 1, n_a + n_w) that take the states from sample to sample."""
        motion = (np.ascontiguousarray(each) for each in (t, q, qd))
        kept, gained = drive_steps(*motion, self._depths, *self._passes)
        return kept, gained


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
