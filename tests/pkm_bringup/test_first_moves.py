"""The lines of the first moves, from ways whose forces are written by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from gantry import Gantry

from pkm_bringup.commissioning import first_moves
from pkm_bringup.commissioning.check_lines import Verdict
from pkm_bringup.commissioning.first_moves import Way
from pkm_bringup.commissioning.graph_at_rest import Brakes
from pkm_dynamics.trajectories.point_to_point import quintic_area, quintic_blend

MODEL = Gantry(force_limit=400.0)  # 10 kg along z
WAY, DURATION, STEP = 5e-3, 0.5, 1e-3  # [m], [s], [s]
Z, LOAD, FRICTION = 2, 98.0665, 12.0  # axis, [N], [N]


def way(distance, load=LOAD, friction=FRICTION, came=1.0, axis=Z, noise=0.0):
    """Rest, a smooth way, rest: command is load plus friction against the motion."""
    rng = np.random.default_rng(1)
    time = np.arange(-0.05, DURATION + 0.05, STEP)
    u = np.clip(time / DURATION, 0.0, 1.0)
    blend = np.array([quintic_blend(each) for each in u])
    position, speed = np.zeros((2, len(time), 3))
    position[:, axis] = came * distance * blend[:, 0]
    speed[:, axis] = distance / DURATION * blend[:, 1]
    command = np.zeros((len(time), 3))
    command[:, axis] = load + friction * np.sign(speed[:, axis])
    command += noise * rng.normal(size=command.shape)
    return Way(time, position, speed, command, np.zeros(len(time), dtype=bool))


def both(**how):
    return way(WAY, **how), way(-WAY, **how)


def test_load_and_friction_are_what_the_forces_have_in_common_and_not() -> None:
    load, friction = first_moves.load_and_friction(MODEL, Z, *both(noise=0.5))
    assert load.verdict is friction.verdict is Verdict.OK
    assert '98.' in load.found and friction.found.startswith('12')
    load, friction = first_moves.load_and_friction(MODEL, Z, *both()[::-1])
    assert load.verdict is Verdict.OK and friction.found.startswith('12 ')


@pytest.mark.parametrize(
    ('load', 'verdict'),
    [(LOAD + 30.0, Verdict.OK), (LOAD + 50.0, Verdict.WARNING), (-LOAD, Verdict.FAILED)],
)
def test_a_load_that_is_not_the_descriptions(load, verdict) -> None:
    found, _ = first_moves.load_and_friction(MODEL, Z, *both(load=load))
    assert found.verdict is verdict


@pytest.mark.parametrize('friction', [-60.0, 250.0])
def test_friction_that_cannot_be(friction) -> None:
    found = first_moves.load_and_friction(MODEL, Z, *both(friction=friction))[1]
    assert found.verdict is Verdict.WARNING


@pytest.mark.parametrize(
    ('came', 'verdict'),
    [
        (1.0, 'ok'),
        (0.9, 'ok'),
        (0.7, 'warning'),
        (0.3, 'failed'),
        (0.0, 'failed'),
        (-1.0, 'failed'),
    ],
)
def test_where_an_axis_comes(came, verdict) -> None:
    found = first_moves.axis_moves(MODEL, Z, WAY, *both(came=came))
    assert found.verdict.value == verdict


def test_another_axis_that_moves_along() -> None:
    there, back = both()
    along = there.position.copy()
    along[:, 0] = 0.5 * along[:, Z]
    found = first_moves.axis_moves(MODEL, Z, WAY, replace(there, position=along), back)
    assert found.verdict is Verdict.WARNING
    found = first_moves.axis_moves(MODEL, 0, WAY, there, back)  # the wrong one
    assert found.verdict is Verdict.FAILED


@pytest.mark.parametrize(
    ('scale', 'verdict'), [(1.0, 'ok'), (1.1, 'ok'), (0.5, 'warning'), (-1.0, 'failed')]
)
def test_measured_forces(scale, verdict) -> None:
    rng = np.random.default_rng(2)
    ways = [
        replace(each, force=scale * each.command + rng.normal(size=each.command.shape))
        for each in both()
    ]
    ways[0].force[0] = np.nan  # before the first force was heard
    assert first_moves.measured_force(MODEL, Z, *ways).verdict.value == verdict


def test_measured_forces_that_tell_nothing() -> None:
    assert first_moves.measured_force(MODEL, Z, *both()).verdict is Verdict.SKIPPED
    rng = np.random.default_rng(2)
    ways = [replace(each, force=50.0 * rng.normal(size=(len(each.time), 3))) for each in both()]
    assert first_moves.measured_force(MODEL, Z, *ways).verdict is Verdict.SKIPPED


@pytest.mark.parametrize(('duration', 'verdict'), [(0.38, 'ok'), (0.8, 'failed')])
def test_the_time_of_a_stop(duration, verdict) -> None:
    time = np.arange(-0.3, 1.0, STEP)
    speed = 0.02
    u = np.clip(time / duration, 0.0, 1.0)
    place = np.zeros((len(time), 3))
    stopped = np.array([each - quintic_area(each) for each in u]) * duration
    place[:, Z] = speed * (np.minimum(time, 0.0) + stopped)
    stopping = (time >= 0.0) & (time < duration)
    still = np.zeros_like(place)
    found = first_moves.stop(MODEL, Z, 0.4, Way(time, place, still, still, stopping))
    assert found.verdict.value == verdict
    travel = 1e3 * speed * 0.5 * duration
    assert f'{travel:.2g} mm' in found.found
    none = Way(time, place, still, still, np.zeros_like(stopping))
    assert first_moves.stop(MODEL, Z, 0.4, none).verdict is Verdict.SKIPPED


@pytest.mark.parametrize(
    ('sag', 'listeners', 'closed', 'verdict'),
    [(1e-4, 1, True, 'ok'), (5e-3, 1, True, 'failed'), (0.0, 0, None, 'warning'),
     (0.0, 1, False, 'warning')],
)  # fmt: skip
def test_brakes(sag, listeners, closed, verdict) -> None:
    before = np.zeros(3)
    after = np.array([0.0, -sag, 0.0])
    assert (
        first_moves.brakes(MODEL, Brakes(listeners, closed), before, after).verdict.value == verdict
    )


def test_forces_at_rest_that_are_not_the_descriptions() -> None:
    still = way(0.0)
    assert first_moves.hold(MODEL, still).verdict is Verdict.OK
    heavy = replace(still, command=still.command + [0.0, -90.0, 0.0])
    found = first_moves.hold(MODEL, heavy)
    assert found.verdict is Verdict.WARNING and found.found.startswith('most off for y: -90')
