"""Checks of the joint states of a robot that rests: names, stamps, places, noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pkm_bringup.commissioning.check_lines import Finding, failed, ok, skipped, warning
from pkm_description.errors import PkmError
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.array_types import Floats

FEWEST = 20  # states: fewer tell neither rate nor noise
LONG = 1.5  # periods: a longer interval has lost a state
MANY_LOST = 0.01  # of the states
# States a period of the servo: below the first its phase margin is gone, below the second the
# controller lowers its bandwidth.
LEAST_STATES, FEW_STATES = 10.0, 20.0
JITTER = 0.2  # standard deviation of the intervals over the period that is worth a look
OLD = 0.05  # [s] between stamp and arrival that costs phase margin
NOISY = 1e-3  # of the stroke
UNBOUNDED = 2.0 * np.pi  # [m, rad] stroke of a joint without limits


@dataclass(frozen=True)
class Heard:
    """Joint states in the order in which they came, of one message's names."""

    names: tuple[str, ...]
    stamps: Floats  # (N,) [s]
    arrivals: Floats  # (N,) [s] of this machine's clock
    positions: Floats  # (N, n) [m, rad], columns as `names`


def names_and_order(joints: Sequence[str], heard: Heard) -> Finding:
    """Judge the names of the joints against those of the description."""
    check = 'joints'
    missing = [name for name in joints if name not in heard.names]
    foreign = [name for name in heard.names if name not in joints]
    if missing:
        found = f'missing {", ".join(missing)}; heard {", ".join(heard.names)}'
        return failed(check, found, 'let the driver publish them by the names of the description')
    twice = sorted({name for name in heard.names if heard.names.count(name) > 1})
    if twice:
        return failed(check, f'twice in a message: {", ".join(twice)}', 'give each joint one name')
    others = f'; foreign, left out: {", ".join(foreign)}' if foreign else ''
    if [name for name in heard.names if name in joints] != list(joints):
        found = f'all {len(joints)}, in another order than the description{others}'
        advice = 'states go by name, commands by the order of the description: compare the driver'
        return warning(check, found, advice)
    return ok(check, f'all {len(joints)}, in the order of the description{others}')


def timing(
    heard: Heard,
    bandwidth: float,  # [Hz] of the servo
    timeout: float,  # [s] without a new stamp that ends the commands
    lockstep: bool,  # a robot that waits for each command
) -> list[Finding]:
    """Judge rate, jitter, lost and repeated stamps, and age."""
    if lockstep:
        reason = 'lockstep: the robot waits for each command'
        return [skipped(check, reason) for check in ('rate', 'stamps', 'age')]
    steps = np.diff(heard.stamps)
    new = steps[steps > 0.0]
    if len(new) < FEWEST:
        found = f'{len(new)} new stamps in {len(heard.stamps)} states'
        return [failed('rate', found, 'stamp each state at its measurement, with a running clock')]
    return [_rate(new, heard, bandwidth), _stamps(steps, timeout), _age(heard)]


def _rate(new: Floats, heard: Heard, bandwidth: float) -> Finding:
    period = float(np.median(new))
    rate, jitter = 1.0 / period, float(np.std(new)) / period
    arrived = (len(new) + 1) / max(float(np.ptp(heard.arrivals)), 1e-9)
    found = f'{rate:.5g} Hz by the stamps, {arrived:.4g} Hz heard, jitter {jitter:.1%} of a period'
    if rate < LEAST_STATES * bandwidth:
        advice = f'{LEAST_STATES * bandwidth:g} Hz at least for a servo of {bandwidth:g} Hz'
        return failed('rate', found, f'{advice}: faster states, or a lower `bandwidth`')
    if rate < FEW_STATES * bandwidth:
        return warning('rate', found, f'{FEW_STATES * bandwidth:g} Hz keep the whole bandwidth')
    if jitter > JITTER:
        return warning('rate', found, 'stamp states where they are measured, not where they arrive')
    return ok('rate', found)


def _stamps(steps: Floats, timeout: float) -> Finding:
    period, count = float(np.median(steps[steps > 0.0])), len(steps)
    lost = int(np.sum(np.round(steps[steps > LONG * period] / period) - 1.0))
    repeated, back = int(np.sum(steps == 0.0)), int(np.sum(steps < 0.0))
    longest = float(steps.max())
    found = (
        f'{lost} lost, {repeated} repeated, {back} out of order of {count}; '
        f'longest interval {1e3 * longest:.3g} ms'
    )
    if back:
        return failed('stamps', found, 'one publisher and one clock: stamps must not go back')
    if longest > timeout:
        return failed('stamps', found, f'the controller stops after {1e3 * timeout:g} ms')
    if lost + repeated > MANY_LOST * count:
        return warning('stamps', found, 'look at the driver, the network and the load')
    return ok('stamps', found)


def _age(heard: Heard) -> Finding:
    age = heard.arrivals - heard.stamps
    middle, most = float(np.median(age)), float(np.max(age))
    if abs(middle) > 1.0:
        return ok('age', 'the stamps are of another clock than this machine')
    found = f'{1e3 * middle:.3g} ms, {1e3 * most:.3g} ms at most, until heard here'
    if middle > OLD:
        return warning('age', found, 'look for queues between the drives and this machine')
    return ok('age', found)


def places(model: ClosedChainModel, positions: Floats) -> list[Finding]:
    """Judge where the joints (n_a,) are: within their strokes, and the loops closed."""
    if not np.isfinite(positions).all():
        names = [model.actuated_joints[i] for i in np.flatnonzero(~np.isfinite(positions))]
        return [failed('strokes', f'no number from {", ".join(names)}', 'look at the encoders')]
    lower, upper = np.asarray(model.lower), np.asarray(model.upper)
    beyond = np.maximum(lower - positions, positions - upper)
    axis = int(np.argmax(beyond))
    name, stroke = model.actuated_joints[axis], f'{lower[axis]:g} to {upper[axis]:g}'
    if beyond[axis] > 0.0:
        found = f'{name} at {positions[axis]:.5g}, its stroke is {stroke}'
        advice = 'zero, sign, unit or order of the encoders; where the robot is there: `~/recover`'
        strokes = failed('strokes', found, advice)
    else:
        found = f'all within; {name} is {-beyond[axis]:.3g} from the end of {stroke}'
        strokes = ok('strokes', found)
    try:
        place, _ = model.forward_kinematics(positions[None])
    except PkmError as error:
        advice = 'the positions belong to no pose: zero, sign, unit or order of the encoders'
        return [strokes, failed('loops', f'they do not close: {error}', advice)]
    x, y, z = place[0]
    found = f'closed, platform at {x:.4f}, {y:.4f}, {z:.4f} m: compare with a tape measure'
    return [strokes, ok('loops', found)]


def noise(model: ClosedChainModel, positions: Floats) -> list[Finding]:
    """Judge noise and resolution of each axis from positions (N, n_a) at rest."""
    findings = []
    stroke = np.asarray(model.upper) - np.asarray(model.lower)
    stroke = np.where(np.isfinite(stroke), stroke, UNBOUNDED)
    slope = np.linspace(-0.5, 0.5, len(positions))[:, None]
    centred = positions - positions.mean(axis=0)
    drift = (slope * centred).sum(axis=0) / max(float((slope**2).sum()), 1e-12)
    spread = (centred - slope * drift).std(axis=0)
    for axis, name in enumerate(model.actuated_joints):
        steps = np.abs(np.diff(np.unique(positions[:, axis])))
        resolution = float(steps.min()) if len(steps) else 0.0
        found = f'standard deviation {spread[axis]:.2g}, smallest step {resolution:.2g} m or rad'
        check = f'noise of {name}'
        if spread[axis] > NOISY * stroke[axis]:
            advice = 'shielding, grounding, a loose encoder; or the robot moves'
            findings.append(warning(check, found, advice))
        elif not len(steps):
            advice = 'a coarse encoder, or one that is stuck: move the axis by hand'
            findings.append(warning(check, 'the same digits in all states', advice))
        else:
            findings.append(ok(check, found))
    return findings
