"""Recordings of motors: turned to the side of the joints once, whatever file they come from."""

from __future__ import annotations

import numpy as np
import pytest
from slides import TURNED_GEARS, slides, three_sines

import pkm_description
from pkm_description import DatasetError, EstimationError, MotorSide
from pkm_dynamics import ClosedChainModel
from pkm_identification import identify, load
from pkm_identification.datasets import Recording

PERIOD, RATE, NOISE = 2.0, 250.0, 0.1  # [s, Hz, N]


@pytest.fixture(scope='module')
def model():
    plain = slides()
    return ClosedChainModel(pkm_description.loads(plain.urdf, plain.yaml_text + TURNED_GEARS))


@pytest.fixture(scope='module')
def side(model):
    return MotorSide.of(model.description)


@pytest.fixture(scope='module')
def joints(model):
    """A recording of the joints with noise."""
    time = np.arange(round(3 * PERIOD * RATE)) / RATE
    motion = three_sines(model, time, 1, PERIOD)
    states = model.actuator_states(motion)
    forces = model.inverse_dynamics(motion)
    forces = forces + NOISE * np.random.default_rng(2).normal(size=forces.shape)
    return Recording.from_arrays(
        time, model.actuated_joints, states.positions, forces, period=PERIOD,
        velocities=states.velocities,
    )  # fmt: skip


@pytest.fixture(scope='module')
def arrays(joints, side):
    """The same samples as the motors see them."""
    return {
        'time': joints.time,
        'positions': side.motor_positions(joints.positions),
        'efforts': side.motor_efforts(joints.efforts),
        'velocities': side.motor_rates(joints.velocities),
    }


@pytest.fixture(scope='module')
def motors(arrays, side):
    return Recording.from_arrays(joint_names=side.motors, side='motor', period=PERIOD, **arrays)


def assert_same(found, joints, model):
    own = found.for_model(model)
    assert (own.side, own.joint_names) == ('joint', tuple(model.actuated_joints))
    for name in ('positions', 'efforts'):
        expected = getattr(joints.for_model(model), name)
        np.testing.assert_allclose(getattr(own, name), expected, rtol=1e-9, atol=1e-9)


def test_both_sides_identify_to_the_same_values(motors, joints, model):
    one, other = identify(motors, model), identify(joints, model)
    deviation = other.standard_deviation
    np.testing.assert_allclose(one.values, other.values, rtol=1e-7, atol=1e-7 * deviation.max())
    np.testing.assert_allclose(one.standard_deviation, deviation, rtol=1e-6)


def test_velocities_and_other_orders_of_columns_come_along(arrays, joints, side, model):
    order = [2, 0, 3, 1]
    mixed = {name: arrays[name][:, order] for name in arrays if name != 'time'}
    names = [side.motors[k] for k in order]
    found = Recording.from_arrays(arrays['time'], names, **mixed, side='motor').for_model(model)
    np.testing.assert_allclose(found.velocities, joints.velocities, atol=1e-9)


def test_npz_files_say_their_side(tmp_path, arrays, joints, side, model):
    path = tmp_path / 'run.npz'
    np.savez(path, joint_names=list(side.motors), side='motor', **arrays)
    assert_same(load(path), joints, model)
    with pytest.raises(DatasetError, match="says that it is of motors: side='joint'"):
        load(path, side='joint')
    np.savez(path, joint_names=list(side.motors), side='left', **arrays)
    with pytest.raises(DatasetError, match=r"run\.npz': side of the metadata is 'left'"):
        load(path)


@pytest.mark.parametrize('form', ['option', 'mapping'])
def test_tables_are_told_their_side(tmp_path, arrays, joints, side, model, form):
    path = tmp_path / 'run.csv'
    signals = {'position': arrays['positions'], 'effort': arrays['efforts']}
    header = ','.join(['time', *(f'{m}.{s}' for s in signals for m in side.motors)])
    table = np.column_stack([arrays['time'], *signals.values()])
    np.savetxt(path, table, delimiter=',', header=header, comments='', fmt='%.17g')
    if form == 'option':
        found = load(path, side='motor')
    else:
        names = {'time': 'time', 'side': 'motor', 'joints': list(side.motors)}
        found = load(path, columns={**names, **{s: f'{{joint}}.{s}' for s in signals}})
    assert_same(found, joints, model)


def test_bags_say_their_side_and_what_was_true(tmp_path, bag_of, joints, side, model, arrays):
    truth = (arrays['positions'], arrays['velocities'], arrays['efforts'])
    constants = dict(zip(side.motors, [0.5, 0.25, 0.1, 20.0], strict=True))
    currents = arrays['efforts'] / list(constants.values())
    metadata = {'side': 'motor', 'force_constants': constants}
    path = tmp_path / 'bag'
    bag_of(path, arrays['time'], arrays['positions'], currents, names=list(side.motors),
           metadata=metadata, truth=truth)  # fmt: skip
    found = load(path)
    assert_same(found, joints, model)
    own = found.for_model(model)
    np.testing.assert_allclose(own.truth.forces, joints.for_model(model).efforts, atol=1e-9)
    np.testing.assert_allclose(own.truth.velocities, joints.velocities, atol=1e-9)


def test_a_joint_is_valid_where_all_motors_that_it_needs_are(arrays, side, model):
    positions, efforts = arrays['positions'].copy(), arrays['efforts'].copy()
    one, screw = side.motors.index('one'), side.motors.index('screw')
    positions[7, one] = efforts[20, screw] = np.nan
    position_valid, effort_valid = np.isfinite(positions), np.isfinite(efforts)
    found = Recording.from_arrays(
        arrays['time'], side.motors, positions, efforts, side='motor',
        position_valid=position_valid, effort_valid=effort_valid,
    ).for_model(model)  # fmt: skip
    named = np.array(found.joint_names)
    assert set(named[~found.position_valid[7]]) == {'lift', 'tip'}
    assert set(named[~found.effort_valid[20]]) == {'across'}
    assert (~found.position_valid).sum() == 2 and (~found.effort_valid).sum() == 1
    assert np.isfinite(found.positions[found.position_valid]).all()


def test_what_is_wrong_with_a_motor_is_said_of_its_joints(tmp_path, arrays, side, model):
    positions = arrays['positions'].copy()
    positions[30, side.motors.index('two')] = np.nan
    path = tmp_path / 'run.npz'
    content = arrays | {'positions': positions}
    np.savez(path, joint_names=list(side.motors), side='motor', **content)
    found = load(path).for_model(model)
    assert {each.joint for each in found.defects if each.kind == 'not_finite'} == {'lift', 'tip'}


def test_currents_of_single_motors_stay_currents(arrays, joints):
    """A force constant is then that of the joint, and may be uncertain."""
    plain = slides()
    text = '\ntransmissions: {rail: {joints: [across], motors: [screw], lead: -0.005}}'
    model = ClosedChainModel(pkm_description.loads(plain.urdf, plain.yaml_text + text))
    side = MotorSide.of(model.description)
    constants = np.array([20.0, 20.0, 0.102, 20.0])  # the description says 20 of all joints
    found = Recording.from_arrays(
        arrays['time'], side.motors, side.motor_positions(joints.positions),
        currents=side.motor_efforts(joints.efforts) / constants, side='motor',
        force_constants=dict(zip(side.motors, constants, strict=True)),
        force_constant_deviations={'screw': 0.01},
    )  # fmt: skip
    assert_same(found, joints, model)
    own = found.for_model(model)
    across = model.actuated_joints.index('across')
    assert own.force_constants['across'] == pytest.approx(0.102 / 0.005)
    np.testing.assert_allclose(own.currents * own.constants_for(model), own.efforts)
    np.testing.assert_allclose(own.effort_scale_deviation[across], 0.01 / 0.102)


def of_currents(arrays, side, **further):
    known = {'lift': 3.0, 'tip': 2.0, 'screw': 0.1, 'along': 20.0}
    return Recording.from_arrays(
        arrays['time'], side.motors, arrays['positions'], currents=arrays['efforts'],
        side='motor', force_constants={n: c for n, c in known.items() if n in side.motors},
        **further,
    )  # fmt: skip


def test_currents_of_coupled_motors_become_efforts(arrays, side, model):
    """With the constants of the description, where the recording says none."""
    own = of_currents(arrays, side).for_model(model)
    assert own.currents is None
    factors = [{'one': 0.5, 'two': 0.25, 'screw': 0.1, 'along': 20.0}[n] for n in side.motors]
    np.testing.assert_allclose(own.efforts, side.joint_efforts(arrays['efforts'] * factors))


def test_force_constants_of_coupled_motors_are_none_of_joints(arrays, side, model):
    currents = of_currents(arrays, side)
    with pytest.raises(EstimationError, match='has currents of coupled motors'):
        identify(currents, model, drive_gains=True)
    with pytest.raises(DatasetError, match='these currents are those of coupled motors'):
        currents.for_model(model, dict.fromkeys(model.actuated_joints, 1.0))
    uncertain = of_currents(arrays, side, force_constant_deviations={'one': 0.1})
    with pytest.raises(DatasetError, match="constant of motor 'one' has a standard deviation"):
        uncertain.for_model(model)
    both = of_currents(arrays, side).changed(efforts=4 * arrays['efforts'])
    with pytest.raises(DatasetError, match="efforts of '.*' .* disagree"):
        both.for_model(model)


def test_missing_motors_are_named(arrays, model, joints):
    wrong = Recording.from_arrays(
        arrays['time'], joints.joint_names, joints.positions, joints.efforts, side='motor'
    )
    with pytest.raises(DatasetError, match="lacks joints 'one', 'two', 'screw'.*has the motors"):
        wrong.for_model(model)
    with pytest.raises(DatasetError, match="side is 'left'"):
        Recording.from_arrays(
            arrays['time'], joints.joint_names, joints.positions, joints.efforts, side='left'
        )


def test_long_recordings_are_turned_block_by_block(monkeypatch, tmp_path, arrays, joints, side):
    from pkm_identification.datasets import source

    monkeypatch.setattr(source, 'LONG', 1000)
    monkeypatch.setattr(source, 'BLOCK', 256)
    plain = slides()
    model = ClosedChainModel(pkm_description.loads(plain.urdf, plain.yaml_text + TURNED_GEARS))
    path = tmp_path / 'run.npz'
    np.savez(path, joint_names=list(side.motors), side='motor', **arrays)
    found = load(path)
    assert found.is_long
    own = found.for_model(model)
    assert own.is_long
    expected = joints.for_model(model).efforts
    np.testing.assert_allclose(own.efforts, expected, atol=1e-9)
    low, high = own.source.scan.effort_range
    np.testing.assert_allclose([low, high], [expected.min(axis=0), expected.max(axis=0)])
