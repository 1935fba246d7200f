"""Checks of who talks and listens in the graph of a robot that rests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pkm_bringup.commissioning.check_lines import Finding, failed, ok, skipped, warning

FEW_FORCES = 0.5  # of the states: fewer currents leave states without one


@dataclass(frozen=True)
class Brakes:
    """What the graph tells of the brakes."""

    listeners: int  # nodes that hear when they are to close
    closed: bool | None  # what they reported last
    close: str = 'brakes/close'  # the topics
    reports: str = 'brakes/closed'


def forces(came: int, states: int, seconds: float, what: str) -> Finding:
    """Judge whether currents or forces come; `what` they are, in `seconds` [s] of listening."""
    check = 'currents or forces'
    if not came:
        advice = 'let the driver publish them: without them nothing can be identified'
        return failed(check, f'none heard in {seconds:.3g} s', advice)
    found = f'{what}, {came / max(seconds, 1e-9):.4g} Hz heard'
    if came < FEW_FORCES * states:
        return warning(check, f'{found}, {came} for {states} states', 'one for each state')
    return ok(check, found)


def commands(senders: Sequence[str], listeners: Sequence[str], controller: str) -> list[Finding]:
    """Judge which nodes send commands and which take them."""
    strangers = sorted({name for name in senders if name != controller})
    if strangers:
        found, advice = f'{", ".join(strangers)} too', f'end what commands beside {controller}'
        sent = failed('senders of commands', found, advice)
    elif controller not in senders:
        sent = warning('senders of commands', 'nobody', f'configure {controller}')
    else:
        sent = ok('senders of commands', f'{controller} alone')
    if not listeners:
        advice = 'start the driver, or compare the topic of the commands'
        return [sent, failed('takers of commands', 'nobody', advice)]
    return [sent, ok('takers of commands', ', '.join(sorted(set(listeners))))]


def brakes(found: Brakes) -> Finding:
    """Judge who heeds the brakes' topic, and what they said last."""
    if not found.listeners:
        advice = f'where the robot has brakes, let the driver listen to `{found.close}`'
        return warning('brakes', f'nobody listens to `{found.close}`', advice)
    if found.closed is None:
        advice = f'let the driver report on `{found.reports}`'
        return warning('brakes', f'nothing heard on `{found.reports}`', advice)
    return ok('brakes', 'reported closed' if found.closed else 'reported open')


def drives(what: str, topic: str, said: bool | None, awaited: bool) -> Finding:
    """Judge whether drives are 'ready' or 'homed'; `awaited` where activation waits for it."""
    check = f'drives {what}'
    if said:
        return ok(check, 'said so')
    if said is False:
        return failed(check, 'the drives say no', 'look at the drives, then again')
    if awaited:
        advice = f'let the driver publish `{topic}`, or set `drives_say_{what}` to false'
        return failed(check, 'nothing heard, and the controller waits for it', advice)
    return skipped(check, f'nobody publishes `{topic}`')


def controller(label: str | None, active: bool, hindrance: str | None) -> list[Finding]:
    """Judge the controller's state (None: silent) and what `~/ready_to_move` said last."""
    if label is None:
        advice = 'start the graph: ros2 launch pkm_bringup robot.launch.py'
        return [failed('controller', 'silent', advice)]
    state = ok('controller', label)
    if hindrance is None:
        return [state, skipped('ready to move', 'nothing heard')]
    if not hindrance:
        return [state, ok('ready to move', 'nothing speaks against it')]
    judge = failed if active else warning
    return [state, judge('ready to move', hindrance, 'see `diagnostics`')]
