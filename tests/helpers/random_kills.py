"""Client, excitation server and controller, killed at random moments of an excitation.

`python tests/helpers/random_kills.py 20` kills each of them 20 times and prints who was told when,
and how the robot came to rest; `... 20 2` does so beside two processes that only take time.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
from action_msgs.msg import GoalStatus, GoalStatusArray
from fault_table import REST, SPEED, TOLD
from laboratory import PERIOD
from process_laboratory import (
    ATTEMPTS,
    COMMAND_TIMEOUT,
    PATIENCE,
    SERVER,
    SLOWNESS,
    ProcessLaboratory,
)

from pkm_control.control_types import ControllerOptions
from pkm_description.nodes.qos import LATCHED
from pkm_dynamics.trajectories import Phase

STATUS = f'{SERVER}/excite/_action/status'
BUSY = 'while True: pass'
GONE = b"'excitation_server' is gone"  # what the client of a killed server says
VICTIMS = ('client', 'server', 'controller')
# [m] of a leg: the time until somebody knows, and the smooth stop, as in `fault_table`
ALLOWED = SPEED * (TOLD / SLOWNESS + 0.5 * ControllerOptions().stop_time) + 5e-3


class Killed(NamedTuple):
    """What followed."""

    # [s] elapsed: of a killed client, until the robot stops; of a server, until its client says so;
    # of a controller, until the server has ended its goal
    told: float
    rest: float  # [s] of the robot, since the process was killed
    travel: float  # [m] of the farthest leg since then

    def wrong(self, victim: str) -> bool:
        """Whether somebody was told late, or the robot rested late or far away."""
        longest = COMMAND_TIMEOUT + 0.02 if victim == 'controller' else REST + TOLD / SLOWNESS
        return self.told > TOLD or self.rest > longest or self.travel > ALLOWED


def moving(lab: ProcessLaboratory, bag: str, seconds: float) -> subprocess.Popen[str]:
    """Let a client move the robot for some time [s]; the client."""
    for attempt in range(ATTEMPTS):
        lab.ready(server=True)
        client = lab.run_client(f'{bag}_{attempt}')

        def ended(client=client) -> bool:
            return client.poll() is not None

        lab.at_full_speed(ended)
        lab.pass_by(seconds)
        if lab.phase is Phase.RUN and not lab.brakes_closed and not ended():
            return client
        client.kill()
        print('a stall of the machine:', client.communicate()[1])
    raise TimeoutError('the machine stalls again and again')


def killed(lab: ProcessLaboratory, victim: str, moment: int) -> Killed:
    """Kill a process at a random moment of the motion's period."""
    random = np.random.default_rng([moment, VICTIMS.index(victim)])
    client = moving(lab, f'{victim}_{moment}', random.uniform(0.0, PERIOD))
    assert client.stderr is not None
    errors, said = client.stderr.fileno(), b''
    os.set_blocking(errors, False)
    statuses = lab.heard[STATUS]

    def told() -> bool:
        nonlocal said
        if victim == 'client':
            return lab.phase is Phase.STOPPING
        if victim == 'controller':
            return statuses[-1].status_list[-1].status == GoalStatus.STATUS_ABORTED
        with suppress(BlockingIOError):
            said += os.read(errors, 4096)
        return GONE in said

    since, begun = len(lab.rows), time.monotonic()
    if victim == 'client':
        client.kill()
    else:
        lab.kill(SERVER if victim == 'server' else lab.controller)
    lab.until(told, PATIENCE)
    seconds = time.monotonic() - begun
    rest, travel = lab.rest(since)
    client.wait()
    client.stderr.close()
    return Killed(seconds, rest, travel)


def main() -> int:
    """Print the figures of all moments; the exit status is 1 where one is wrong."""
    count, beside = int(sys.argv[1]), int((sys.argv[2:] or ['0'])[0])
    found: dict[str, list[Killed]] = {victim: [] for victim in VICTIMS}
    busy = [subprocess.Popen([sys.executable, '-c', BUSY]) for _ in range(beside)]
    try:
        with TemporaryDirectory() as folder, ProcessLaboratory(Path(folder)) as lab:
            lab.listen(GoalStatusArray, STATUS, LATCHED)
            for moment in range(count):
                for victim, each in found.items():
                    each.append(killed(lab, victim, moment))
                    print(moment, victim, each[-1], flush=True)
    finally:
        for process in busy:
            process.kill()
    for victim, each in found.items():
        told, rest, travel = np.array(each).T
        wrong = [one for one in each if one.wrong(victim)]
        print(
            f'{victim} killed: {len(each)} times, {len(wrong)} wrong; told after '
            f'{np.median(told):.2f} s (median), {told.max():.2f} s at most; rest after '
            f'{np.median(rest):.2f} s, {rest.max():.2f} s at most; travel '
            f'{1e3 * np.median(travel):.0f} mm, {1e3 * travel.max():.0f} mm at most {wrong or ""}'
        )
    return int(any(one.wrong(victim) for victim, each in found.items() for one in each))


if __name__ == '__main__':
    sys.exit(main())
