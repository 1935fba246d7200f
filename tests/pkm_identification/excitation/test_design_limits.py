"""Designs keep every limit between the samples, too, and start and stop at rest."""

import numpy as np
import pytest
from dense_limits import excesses
from every_model import model_of

from pkm_dynamics.trajectories import Execution
from pkm_identification.excitation import DesignLimits, design_excitation

QUICK = {'starts': 1, 'candidates': 2, 'workers': 1}
NARROW = {'acceleration': 3.0, 'aperture': 0.12, 'force_uncertainty': 0.3}
BASIC = {'stroke', 'velocity', 'force', 'joint', 'workspace'}
EVERY = BASIC | {'joint_velocity', 'tilt', 'conditioning', 'acceleration', 'aperture', 'clearance'}


def covariance_of(model):
    """Ten per cent of each standard parameter."""
    return np.diag((0.1 * np.abs(model.nominal_parameters)) ** 2)


@pytest.fixture(scope='module')
def designs():
    """Designs by name, made once: (model, limits, design, kinds that must be there)."""
    made = {}

    def get(name):
        if name not in made:
            robot, harmonics, iterations, options, kinds = CASES[name]
            model = model_of(robot)
            if options.get('force_uncertainty') == 'covariance':
                options = {**options, 'force_uncertainty': covariance_of(model)}
            limits = DesignLimits(**options)
            found = design_excitation(
                model, harmonics=harmonics, iterations=iterations, limits=limits, seed=1, **QUICK
            )
            made[name] = model, limits, found, kinds
        return made[name]

    return get


CASES = {
    'palida, every limit': ('palida', 3, 12, NARROW, EVERY),
    'palida, uncertain parameters': (
        'palida',
        3,
        12,
        {'force_uncertainty': 'covariance', 'condition_factor': 1.3},
        BASIC,
    ),
    'delta, near singular': (
        'delta',
        3,
        20,
        {'condition_factor': 1.1},
        BASIC - {'joint'} | {'conditioning'},
    ),
    'five-bar, fast': ('five_bar', 5, 25, {'force_margin': 0.0}, BASIC),
    'struts and hinges': ('rps_upv', 3, 12, {}, BASIC | {'tilt', 'aperture'}),
    'serial arm': ('serial_arm', 2, 6, {}, {'stroke', 'velocity', 'force', 'workspace'}),
}
each = pytest.mark.parametrize('name', list(CASES))


@each
def test_a_period_keeps_every_limit_at_20_khz(designs, name):
    model, limits, found, kinds = designs(name)
    worst = excesses(model, found.motion, limits, found.period)
    assert kinds <= set(worst), kinds - set(worst)
    assert all(value <= 1e-5 for value in worst.values()), worst
    assert max(worst.values()) > -0.05  # some limit is used: not a motion of next to nothing


@each
def test_ramps_keep_every_limit(designs, name):
    model, limits, found, _ = designs(name)
    execution = Execution(found.trajectory, 1, found.ramp_time)
    worst = excesses(
        model, lambda t: execution.motion(t, model), limits, execution.duration, rate=4000.0
    )
    assert all(value <= 1e-5 for value in worst.values()), worst


@pytest.mark.parametrize('name', ['palida, every limit', 'five-bar, fast'])
def test_recorded_periods_are_exactly_periodic_between_two_rests(designs, name):
    _, _, found, _ = designs(name)
    execution = Execution(found.trajectory, 3, found.ramp_time)
    phase = np.linspace(0.0, found.period, 101)
    run = [
        np.stack(execution.evaluate(execution.run_start + k * found.period + phase))
        for k in range(3)
    ]
    scale = np.abs(run[0]).max(axis=(1, 2), keepdims=True)
    for other in run[1:]:
        assert np.abs((other - run[0]) / scale).max() < 1e-11
    series = np.stack(found.trajectory.evaluate(phase))
    assert np.abs((run[0] - series) / scale).max() < 1e-11
    for time in (0.0, execution.duration):
        _, speed, acceleration = execution.evaluate([time])
        assert np.abs(speed).max() == 0.0 and np.abs(acceleration).max() == 0.0
    # no jump of position, velocity or acceleration where ramps meet the recorded periods
    for seam in (execution.run_start, execution.run_end):
        before, after = (np.stack(execution.evaluate([seam + s])) for s in (-1e-9, 1e-9))
        assert np.abs((after - before) / scale).max() < 1e-5


def test_margins_are_the_worst_of_a_period(designs):
    """Value, limit and time of each margin against dense samples of the same quantity."""
    model, _, found, _ = designs('palida, every limit')
    time = np.linspace(0.0, found.period, int(20000 * found.period))
    motion = model.with_joint_states(found.motion(time))
    states = model.actuator_states(motion)
    signals = {
        'stroke': states.positions,
        'velocity': states.velocities,
        'acceleration': states.accelerations,
    }
    for kind, values in signals.items():
        margin = found.margins[kind]
        column = model.actuated_joints.index(margin['name'])
        at = np.argmin(np.abs(time - margin['time']))
        assert values[at, column] == pytest.approx(margin['value'], rel=1e-3)
        assert margin['margin'] == pytest.approx(abs(margin['limit'] - margin['value']))
    left = model.velocity_limit - np.abs(states.velocities)
    assert found.margins['velocity']['margin'] == pytest.approx(left.min(), abs=1e-4)
    assert found.margins['velocity']['limit'] in (*model.velocity_limit, *-model.velocity_limit)
