"""Checks of a robot that holds, moves single axes by a small way, stops and is held by its brakes.

A force against the direction of motion is friction, what both directions have in common is the
load. So the forces of a way there and back tell both, without an identified model.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pkm_bringup.commissioning.check_lines import Finding, failed, ok, skipped, warning
from pkm_bringup.commissioning.graph_at_rest import Brakes
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.array_types import Floats

STEADY = 0.7  # of the peak speed of a way: from here on friction slides and little accelerates
EDGE = 10  # states of rest at either end of a way
FEWEST = 10  # samples of a direction
BLOCK = 10  # states of which forces are averaged before they are compared
GOOD, BAD = 0.2, 0.5  # of the way: how far an axis ends from where it was to
STILL = 0.2  # of the way: what other axes move meanwhile
LOAD_SHARE = 0.1  # of the force limit: a load farther off is not that of the description
EXPECTED_SHARE = 0.05  # a load below this tells nothing of signs
SCALE = 0.2  # by which measured forces may differ from the commanded ones
# Standard error of that scale beyond which it is not judged: the forces hardly changed.
UNSURE = 0.1
SURE = 3.0  # standard errors or deviations
JAMS = 0.5  # of the force limit: more friction leaves too little to move with
LATE = 1.2  # of `stop_time` until the robot stands
STANDS = 0.005  # of the way of a stop: nearer to its end the robot stands
SAG = 1e-3  # [m, rad] that brakes may let an axis move


@dataclass(frozen=True)
class Way:
    """What was measured while the robot held or moved: arrays (N, n_a) at `time` (N,) [s]."""

    time: Floats
    position: Floats  # [m, rad]
    desired_velocity: Floats  # [m/s, rad/s]
    command: Floats  # [N, N m]
    stopping: NDArray[np.bool_]  # (N,) whether the motion is brought to rest
    force: Floats | None = None  # [N, N m] measured; None where nothing is

    @property
    def moved(self) -> Floats:
        """How far each axis (n_a,) has come [m, rad]."""
        ends = self.position[-EDGE:].mean(axis=0) - self.position[:EDGE].mean(axis=0)
        return np.asarray(ends)


def hold(model: ClosedChainModel, way: Way) -> Finding:
    """Judge the first hold: what the commands are beyond the description's forces at rest."""
    limit = np.asarray(model.force_limit)
    beyond = way.command.mean(axis=0) - _at_rest(model, way.position)
    share = np.abs(beyond) / limit
    axis = int(np.argmax(share))
    name, check = model.actuated_joints[axis], 'forces at rest'
    found = f'most off for {name}: {beyond[axis]:.4g} N or N m, {share[axis]:.1%} of its limit'
    if share[axis] > LOAD_SHARE:
        advice = 'load, masses or signs are not those of the description: see the lines of load'
        return warning(check, found, advice)
    return ok(check, found)


def axis_moves(model: ClosedChainModel, axis: int, asked: float, there: Way, back: Way) -> Finding:
    """Judge where an axis came and what the others did; `asked` [m, rad] there, and back."""
    name = model.actuated_joints[axis]
    check = f'way of {name}'
    came = np.array([there.moved[axis], -back.moved[axis]])
    others = np.abs(np.delete(there.moved, axis)).max(initial=0.0)
    found = (
        f'{1e3 * there.moved[axis]:+.3g} and {1e3 * back.moved[axis]:+.3g} of '
        f'{1e3 * asked:+.3g} mm or mrad; others {1e3 * others:.2g}'
    )
    off = float(np.abs(came / asked - 1.0).max())
    if off > BAD:
        return failed(
            check, found, 'it does not go where it is told: drive, encoder, or it is stuck'
        )
    if off > GOOD or others > STILL * abs(asked):
        return warning(
            check, found, 'friction (a feedforward model helps), or a wrong order of the axes'
        )
    longer = 'longer, or turned forward,' if asked > 0.0 else 'shorter, or turned backward,'
    return ok(check, f'{found}; look: it became {longer} and then came back')


def load_and_friction(
    model: ClosedChainModel, axis: int, there: Way, back: Way
) -> tuple[Finding, Finding]:
    """Judge what an axis bears, against the description, and its friction."""
    name, limit = model.actuated_joints[axis], float(np.asarray(model.force_limit)[axis])
    checks = f'load of {name}', f'friction of {name}'
    steady = [_steady(way, axis) for way in (there, back)]
    if min(int(each.sum()) for each in steady) < FEWEST:
        reason = 'too few states while it moved'
        return skipped(checks[0], reason), skipped(checks[1], reason)
    forces = [way.command[each, axis] for way, each in zip((there, back), steady, strict=True)]
    means = [float(each.mean()) for each in forces]
    places = [way.position[each] for way, each in zip((there, back), steady, strict=True)]
    load, friction = 0.5 * (means[0] + means[1]), 0.5 * (means[0] - means[1])
    if there.moved[axis] < 0.0:
        friction = -friction
    expected = float(_at_rest(model, np.vstack(places))[axis])
    off = (load - expected) / limit
    found = f'{load:.4g} N or N m, {expected:.4g} by the description: {off:+.1%} of the limit'
    if abs(expected) > EXPECTED_SHARE * limit and load * expected < 0.0:
        advice = 'the sign of drive and encoder, both, or the description is upside down'
        first = failed(checks[0], found, advice)
    elif abs(off) > LOAD_SHARE:
        first = warning(checks[0], found, 'a payload, masses, a counterbalance or springs')
    else:
        first = ok(checks[0], found)
    spread = float(np.hypot(*(each.std() / np.sqrt(len(each)) for each in forces)))
    found = f'{friction:.4g} N or N m, {friction / limit:.1%} of the limit'
    if friction < -SURE * spread and -friction > EXPECTED_SHARE * limit:
        advice = 'forces that help a motion: something else drives it, or it was pushed'
        return first, warning(checks[1], found, advice)
    if friction > JAMS * limit:
        return first, warning(checks[1], found, 'a brake that drags, a guide that jams')
    return first, ok(checks[1], found)


def measured_force(model: ClosedChainModel, axis: int, there: Way, back: Way) -> Finding:
    """Judge the measured force of an axis by the commanded one: sign and size."""
    check = f'measured force of {model.actuated_joints[axis]}'
    if there.force is None or back.force is None:
        return skipped(check, 'no forces or currents were heard')
    measured = np.hstack([there.force[:, axis], back.force[:, axis]])
    told = np.hstack([there.command[:, axis], back.command[:, axis]])
    known = np.isfinite(measured)
    if known.sum() < FEWEST * BLOCK:
        return skipped(check, 'too few forces with the stamps of states')
    # noise of the servo is in both, but not at the same instants
    measured, told = _blocks(measured[known]), _blocks(told[known])
    design = np.vstack([told, np.ones_like(told)]).T
    (scale, zero), *_ = np.linalg.lstsq(design, measured, rcond=None)
    residual = measured - design @ (scale, zero)
    deviation = float(residual.std() / max(told.std() * np.sqrt(len(told)), 1e-12))
    found = f'{scale:.3g} of the command, standard error {deviation:.2g}, zero at {zero:.3g}'
    if deviation > UNSURE:
        return skipped(check, f'the commands hardly changed: {found}')
    if scale < 0.0:
        return failed(check, found, 'the sign of the current, or of its force constant')
    if abs(scale - 1.0) > SCALE + SURE * deviation:
        return warning(check, found, 'force constant, unit, gear, or a drive that gives less')
    return ok(check, found)


def stop(model: ClosedChainModel, axis: int, stop_time: float, way: Way) -> Finding:
    """Judge the stop of a motion, of which `stop_time` [s] is set."""
    check, name = 'stop', model.actuated_joints[axis]
    if not way.stopping.any():
        return skipped(check, f'the motion of {name} had ended before the stop was asked for')
    since = way.time >= way.time[np.argmax(way.stopping)]
    time, place = way.time[since], way.position[since, axis]
    rest = float(place[-EDGE:].mean())
    away = np.abs(place - rest) > max(STANDS * float(np.ptp(place)), SURE * place[-EDGE:].std())
    stands = float(time[away][-1] - time[0]) if away.any() else 0.0
    travel = abs(rest - float(place[0]))
    found = f'{name} stands {stands:.2f} s and {1e3 * travel:.2g} mm or mrad after'
    if stands > LATE * stop_time:
        return failed(check, f'{found}; {stop_time:g} s are set', 'see the diagnostics of the loop')
    return ok(check, found)


def brakes(model: ClosedChainModel, told: Brakes, before: Floats, after: Floats) -> Finding:
    """Judge what bears the robot without force: positions (n_a,) before and a while after."""
    check = 'brakes bear the robot'
    sag = np.abs(after - before)
    axis = int(np.argmax(sag))
    found = f'{model.actuated_joints[axis]} moved by {1e3 * sag[axis]:.2g} mm or mrad'
    if sag[axis] > SAG:
        advice = 'no brakes, brakes that slip, or they close after the force is gone (`brake_time`)'
        return failed(check, found, advice)
    if not told.listeners:
        found = f'{found}; nobody listens to `{told.close}`'
        return warning(check, found, 'what bears it then?')
    if not told.closed:
        found = f'{found}; they did not report closed'
        return warning(check, found, f'report on `{told.reports}`')
    return ok(check, found)


def _at_rest(model: ClosedChainModel, positions: Floats) -> Floats:
    """Forces (n_a,) [N, N m] of the description at rest in the middle of positions (N, n_a)."""
    place = positions.mean(axis=0)[None]
    still = np.zeros_like(place)
    return np.asarray(model.inverse_dynamics(model.motion_from_actuators(place, still, still))[0])


def _blocks(values: Floats) -> Floats:
    """Means of `BLOCK` values each."""
    count = len(values) // BLOCK
    return np.asarray(values[: count * BLOCK].reshape(count, BLOCK).mean(axis=1))


def _steady(way: Way, axis: int) -> np.ndarray:
    speed = np.abs(way.desired_velocity[:, axis])
    return np.asarray(speed > STEADY * max(float(speed.max(initial=0.0)), 1e-12))
