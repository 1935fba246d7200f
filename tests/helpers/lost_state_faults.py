"""More rows of the table of faults: joint states that are lost on their way."""

from __future__ import annotations

import time
from types import SimpleNamespace

from fault_scenarios import RESEND, Happened, ended, fault, undisturbed
from laboratory import BRIDGED, RATE, Laboratory

from pkm_control.nodes import control_loop
from pkm_control.stops import StopEvent
from pkm_dynamics.nodes.command_stamps import stamp_command


def lose(lab: Laboratory, count: int) -> None:
    """Lose states in a row, each with a cycle of a loop at deadlines, whose clock is the robot's.

    The robot takes each command as one without a label: it waits for no answer meanwhile.
    """
    loop, clock = lab.loop, SimpleNamespace(**vars(time))

    def now() -> float:
        latest = loop._states.latest
        return latest.arrival + lab.rows[-1].time - 1e-9 * latest.nanoseconds

    clock.monotonic = now
    left = [count]

    def lost(message):
        if not left[0]:
            return message
        left[0] -= 1
        stamp_command(loop._output._command, message.header.stamp)
        control_loop.time, loop._period = clock, 1.0 / RATE
        try:
            loop.cycle()
        finally:
            control_loop.time, loop._period = time, None
        return None

    cycles = loop.statistics.cycles + 10
    lab.tap = lost
    lab.until(lambda: not left[0] and loop.statistics.cycles > cycles, 60.0)


@fault(
    'joint states are missing for 20 ms',
    None,
    'these samples; the motion goes on without looking',
    'look at network and load (the diagnostics count bridged cycles)',
    'goes on',
)
def states_bridged(lab):
    handle, since = lab.moving(), len(lab.rows)
    lose(lab, 5)
    assert 3 <= lab.loop.statistics.bridged <= 5
    return undisturbed(lab, handle, since, 'goes on')


@fault(
    'joint states are missing for more than `bridged_cycles` cycles, then come again',
    StopEvent.STATES_LOST,
    'the rest of the motion; its stop begins without looking',
    'look at network and load, ' + RESEND,
)
def states_lost(lab):
    handle, since = lab.moving(), len(lab.rows)
    lose(lab, BRIDGED + 5)
    assert lab.loop.statistics.bridged > BRIDGED
    found = ended(lab, handle, since)
    assert f'{BRIDGED} cycles are bridged' in found.message
    return Happened(since + BRIDGED + 1, found.code, found.message)
