"""Stops from random moments of a circle and of an excitation.

`python tests/helpers/random_stops.py 50` takes 50 of each and prints how they are distributed.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from itertools import product

import numpy as np
from laboratory import CONTROLLER, LONGEST, MODEL, RATE, Laboratory, shake
from lifecycle_msgs.msg import Transition

from pkm_control.control_types import ControllerOptions, ErrorCode
from pkm_dynamics.nodes.trajectory_messages import to_message
from pkm_dynamics.trajectories import CircleTrajectory, Phase

MOTIONS = ('circle', 'excitation')
CIRCLE = CircleTrajectory([*MODEL.home_position, 0, 0, 0], [0.3, 0.2, 1.0], 0.05, 0.4)
STOP_TIME = ControllerOptions().stop_time
REST = 0.5  # [s] within which the robot stands
UNTIL_IT_ACTS = 2.0 / RATE  # [s] from the question to a command that brakes, at most


def stop_by_cancel(lab: Laboratory, handle) -> None:
    handle.cancel_goal_async()


def deactivate(lab: Laboratory, handle) -> None:
    assert lab.change(Transition.TRANSITION_DEACTIVATE)


def protect(lab: Laboratory, handle) -> None:
    assert lab.trigger(f'{CONTROLLER}/protective_stop')


def interrupt(lab: Laboratory, handle) -> None:
    """What SIGINT and SIGTERM call in `run_node`, until it has ended."""
    lab.until(lab.controller.wind_down)
    assert lab.change(Transition.TRANSITION_DEACTIVATE)  # here the process does not end


def leave(lab: Laboratory, handle) -> None:
    """The client's heartbeat stops."""
    lab.controller._client._heard = -np.inf  # [s] of the steady clock: lockstep has no time of it


STOPS = {
    'cancel': (ErrorCode.CANCELED, stop_by_cancel),
    'deactivate': (ErrorCode.DEACTIVATED, deactivate),
    'protective stop': (ErrorCode.PROTECTIVE_STOP, protect),
    'SIGINT': (ErrorCode.DEACTIVATED, interrupt),
    'client gone': (ErrorCode.CLIENT_LOST, leave),
}


@dataclass(frozen=True)
class Stop:
    """What one stop did."""

    time: float  # [s] until the robot stood
    travel: float  # [m] of the farthest leg
    allowed: float  # [m] that the smooth stop travels from the largest speed of the motion
    code: ErrorCode
    inside: bool  # whether no leg left its stroke
    expected: ErrorCode

    @property
    def good(self) -> bool:
        """Whether the robot rested as it should."""
        in_time = self.time <= REST and self.travel <= self.allowed
        return in_time and self.inside and self.code is self.expected


def stopped(lab: Laboratory, moment: int, stop: str, motion: str) -> Stop:
    """Stop the robot at a random moment of a motion.

    Time counts since the controller is asked: in lockstep the robot runs on while a request is on
    its way, however fast the machine is.
    """
    code, act = STOPS[stop]
    random = np.random.default_rng([moment, list(STOPS).index(stop), motion == 'circle'])
    lab.fresh()
    timeout = 600.0 if stop == 'client gone' else 0.0
    trajectory = CIRCLE if motion == 'circle' else shake()
    handle = lab.send(to_message(trajectory), heartbeat_timeout=timeout)
    lab.until(lambda: lab.phase is Phase.RUN, LONGEST)
    lab.pass_by(random.uniform(0.0, 0.9))
    act(lab, handle)
    found = lab.result(handle)[0]
    assert lab.asked is not None
    duration, travel = lab.rest(lab.asked)
    fastest = max(np.abs(row.speeds).max() for row in lab.rows)
    legs = np.array([row.legs for row in lab.rows])
    inside = bool((legs > MODEL.lower).all() and (legs < MODEL.upper).all())
    allowed = (0.5 * STOP_TIME + UNTIL_IT_ACTS) * fastest + 2e-3
    return Stop(duration, travel, allowed, found, inside, code)


def main() -> int:
    """Stop at as many moments as are asked for; print how the stops are distributed.

    A second argument is the time [s] after which no further moment is begun.
    """
    count, failed = int(sys.argv[1]), 0
    end = time.monotonic() + float((sys.argv[2:] or ['inf'])[0])
    found: dict[tuple[str, str], list[Stop]] = {key: [] for key in product(MOTIONS, STOPS)}
    with Laboratory() as lab:
        for moment in range(count):
            for motion, stop in found if time.monotonic() < end else ():
                found[motion, stop].append(stopped(lab, moment, stop, motion))
    for (motion, stop), stops in found.items():
        if not stops:
            continue
        wrong = [each for each in stops if not each.good]
        times, travels = (
            np.array([getattr(each, n) for each in stops]) for n in ('time', 'travel')
        )
        share = max(each.travel / each.allowed for each in stops)
        print(
            f'{motion}, {stop}: {len(stops)} stops, {len(wrong)} wrong; rest after '
            f'{np.median(times):.3f} s (median), {times.max():.3f} s at most; travel '
            f'{1e3 * np.median(travels):.1f} mm, {1e3 * travels.max():.1f} mm at most, '
            f'{share:.0%} of what is allowed {wrong[:3] or ""}'
        )
        failed += len(wrong)
    return int(failed > 0)


if __name__ == '__main__':
    sys.exit(main())
