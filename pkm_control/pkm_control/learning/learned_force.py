"""A table of forces over the time along a motion, and which motion, robot and model it is of."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from pkm_control.feedforward import Feedforward
from pkm_description.description import frozen
from pkm_description.errors import PkmError
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.array_types import Floats
from pkm_dynamics.trajectories import Execution


class LearningError(PkmError):
    """What is learned does not belong to the motion, or a motion cannot be learned."""


class Scope(Enum):
    """What a table covers, and so what a repetition is."""

    MOTION = 'motion'  # the whole path from rest to rest, ramps and all periods included
    PERIOD = 'period'  # one period at full speed; a repetition is the mean of the periods of a run


@dataclass(frozen=True)
class MotionKey:
    """What a table belongs to; one of them applies to nothing else."""

    robot: str
    description: str  # digest of the description
    motion: str  # digest of the trajectory, and what else the scope makes part of the motion
    model: str  # digest of the feedforward that the table is added to
    scope: Scope

    def difference(self, other: MotionKey) -> str:
        """Return what the other one is of that this is not; empty where they are the same."""
        names = {
            'robot': 'robot',
            'description': 'description of the robot',
            'motion': 'motion',
            'model': 'model',
            'scope': 'scope',
        }
        for field, name in names.items():
            if getattr(self, field) != getattr(other, field):
                return name
        return ''


def motion_key(
    model: ClosedChainModel, execution: Execution, feedforward: Feedforward, scope: Scope
) -> MotionKey:
    """Return what is learned of a motion with a feedforward.

    The approach is no part of it. Raises LearningError where the scope does not fit the motion.
    """
    trajectory = execution.trajectory
    motion: dict[str, Any] = {'trajectory': trajectory.to_dict()}
    if scope is Scope.MOTION:
        motion |= {'periods': execution.periods, 'ramp_time': execution.ramp_time}
    elif trajectory.period is None:
        raise LearningError("a motion that ends at rest has no period: learn the 'motion'")
    elif execution.periods < 2:
        raise LearningError('learning a period takes two periods at least: the first settles')
    text = json.dumps(motion, sort_keys=True)
    description = model.description
    return MotionKey(
        description.name,
        description.digest,
        hashlib.sha256(text.encode()).hexdigest(),
        model_digest(model, feedforward),
        scope,
    )


def model_digest(model: ClosedChainModel, feedforward: Feedforward) -> str:
    """Digest of the forces of a feedforward: its parameters and what it has beyond them."""
    digest = hashlib.sha256()
    parts = [feedforward.parameters, feedforward.rotors, feedforward.asymmetry]
    if feedforward.friction is not None:
        parts.append(feedforward.friction.values)
        digest.update(repr(feedforward.friction.names).encode())
    if feedforward.loaded is not None:
        parts.append(feedforward.loaded.load_parameters)
    for part in parts:
        digest.update(b'-' if part is None else np.ascontiguousarray(part, dtype=float).tobytes())
    digest.update(repr(feedforward.drives).encode())
    return digest.hexdigest()


@dataclass(frozen=True)
class LearnedForce:
    """Values over the time along a motion, on an even grid, on lines between."""

    scope: Scope
    interval: float  # [s]
    values: Floats  # (n, ...) from time 0 on; of a period its first value is not repeated

    def __post_init__(self) -> None:
        """Copy and freeze the values."""
        object.__setattr__(self, 'values', frozen(self.values))

    def at(self, time: float) -> Floats:
        """Values at a time [s] along the motion: of a period again and again, else zero outside."""
        place = time / self.interval
        count = len(self.values)
        if self.scope is Scope.PERIOD:
            place %= count
            index = min(int(place), count - 1)
            after = (index + 1) % count
        elif not 0.0 <= place <= count - 1:
            return np.zeros_like(self.values[0])
        else:
            index = min(int(place), count - 2)
            after = index + 1
        share = place - index
        return np.asarray((1.0 - share) * self.values[index] + share * self.values[after])


def along(
    execution: Execution, scope: Scope, time: float, known: bool = True
) -> tuple[float, float]:
    """Time [s] along the motion at the execution's `time` [s], and the weight of the table there.

    The weight is 0 in the approach. What is learned of a period fades in and out with the speed
    along the ramps; where it is not `known` what to expect there, it fades in along the second
    period.
    """
    if scope is Scope.MOTION:
        return time - execution.ramp_start, float(time >= execution.ramp_start)
    path, rate, _ = execution.path_parameter(time)
    if not known:
        risen = min(max(path / execution.trajectory.duration - 1.0, 0.0), 1.0)
        rate *= 0.5 - 0.5 * math.cos(math.pi * risen)
    return path, rate
