"""Force constants and payloads from currents, on the 3-RPS robot with drives unlike described."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import yaml
from scipy.optimize import approx_fprime, least_squares

import pkm_description
from pkm_description import EstimationError, Payload, with_payload
from pkm_dynamics import ClosedChainModel
from pkm_identification import DriveGains, identify, load, load_excitation, load_result, validate
from pkm_identification.datasets import Recording
from pkm_identification.force_constants import bilinear_problem
from pkm_identification.force_constants.bilinear_build import build_bilinear_problem
from pkm_identification.force_constants.force_constant_request import build_request
from pkm_identification.force_constants.payload_columns import (
    build_bodies,
    standard_jacobian,
    standard_parameters,
)
from pkm_identification.signals import process

SAMPLES = 225  # of a period, at about 100 Hz
FACTORS = np.array([1.18, 0.83, 1.07])  # real over described force constants
KNOWN = Payload(mass=2.0, centre=(0.2, 0.1, 0.1), inertia=(0.006, 0.008, 0.01), name='weight')
OTHER = Payload(mass=3.0, centre=(0.25, 0.15, 0.05), inertia=(0.01, 0.01, 0.02), name='gripper')


@pytest.fixture(scope='module')
def model():
    return ClosedChainModel(pkm_description.load('rps_upv'))


@pytest.fixture(scope='module')
def motion(model):
    """One period of the shipped excitation."""
    return load_excitation('rps_upv').period, motion_whole(model)


@pytest.fixture(scope='module')
def record(model, motion):
    """The function that gives currents of the robot with a payload, of the description's forces."""
    period, path = motion
    positions = model.actuator_states(path).positions
    forces = {}

    def of(payload=None, noise=0.0, periods=3, seed=0):
        key = None if payload is None else payload.name
        if key not in forces:
            plant = ClosedChainModel(with_payload(model.description, payload))
            forces[key] = plant.inverse_dynamics(path)
        random = np.random.default_rng(seed)
        measured = np.tile(forces[key], (periods, 1))
        measured = measured + noise * random.normal(size=measured.shape)
        time = period / len(positions) * np.arange(len(measured))
        return Recording.from_arrays(
            time,
            model.actuated_joints,
            np.tile(positions, (periods, 1)),
            currents=measured / (FACTORS * model.force_constants),
            period=period,
        )

    return of


@pytest.fixture(scope='module')
def three(record, model):
    """Without payload, with a known one, with an unknown one; little noise."""
    data = [record(None, 1.0, seed=1), record(KNOWN, 1.0, seed=2), record(OTHER, 1.0, seed=3)]
    payloads = [None, KNOWN, Payload(inertia=OTHER.inertia, name='gripper')]
    return identify(data, model, 'gauss_markov', payloads=payloads, drive_gains=True)


def test_exact_currents_give_everything(record, model):
    data = [record(), record(KNOWN), record(OTHER)]
    result = identify(data, model, payloads=[None, KNOWN, Payload()], drive_gains=True)
    np.testing.assert_allclose(result.force_constants.values / model.force_constants, FACTORS, 1e-5)
    nominal = result.matrix @ model.nominal_parameters
    np.testing.assert_allclose(result.predict_currents(motion_of(model)), expected(model), 1e-4)
    big = np.abs(nominal) > 0.1
    np.testing.assert_allclose(result.values[big], nominal[big], rtol=2e-3)
    weight, gripper = result.payloads
    assert weight.datasets == (1,) and not weight.standard_deviation.any()
    np.testing.assert_allclose(gripper.values[:4], OTHER.values[:4], atol=1e-3)


def motion_of(model):
    return load_excitation('rps_upv').motion(np.array([0.1, 0.6]), model)


def expected(model):
    return model.inverse_dynamics(motion_of(model)) / (FACTORS * model.force_constants)


def test_estimates_lie_within_their_uncertainty(three, model):
    constants = three.force_constants
    error = constants.values / (FACTORS * model.force_constants) - 1
    assert np.all(np.abs(error) < 3 * constants.standard_deviation / constants.values)
    assert constants.common_deviation < 0.006
    gripper = three.payloads[1]
    assert abs(gripper.mass - 3.0) < 3 * gripper.standard_deviation[0] < 0.06
    distance = np.abs(gripper.centre - OTHER.centre)
    assert np.all(distance < 3.5 * gripper.standard_deviation[1:4])
    assert not three.diagnostics['warnings']
    rms = three.residual_rms
    np.testing.assert_allclose(rms, rms.mean(), rtol=0.1)  # of forces: noise is alike in all


def test_estimate_and_covariance_are_those_of_nonlinear_least_squares(record, model):
    data = [record(None, 5.0, seed=1), record(KNOWN, 5.0, seed=2)]
    heavy = replace(KNOWN, mass_deviation=0.01)
    payloads = [None, heavy]
    result = identify(data, model, 'gauss_markov', payloads=payloads, drive_gains=True)
    request = build_request(data, payloads, True)
    signals = [process(each) for each in request.forces_of(data, model)]
    found = build_bilinear_problem(request, signals, model, True, True, None, None, None)
    size = len(result.values)
    bodies = build_bodies(model, payloads)

    def residuals(unknown):
        """Currents as a person would write them down, whitened; then the prior of the mass."""
        base, mass, logarithms = unknown[:size], unknown[size], unknown[size + 1 :]
        parts = [np.array([(mass - 2.0) / 0.01])]
        for run in found.problem.runs:
            q = standard_parameters(np.r_[mass, bodies.start[0, 1:]])
            force = run.rows.regressor[..., :size] @ base + run.rows.regressor[..., size:] @ q
            left = run.rows.forces - force / np.exp(logarithms)
            root = np.linalg.inv(np.linalg.cholesky(run.covariance))
            parts.append((root @ left[..., None]).ravel())
        return np.concatenate(parts)

    start = np.concatenate([result.values * 1.02, [1.9], np.zeros(3)])
    fit = least_squares(residuals, start, x_scale='jac', xtol=1e-14, ftol=1e-14, gtol=1e-14)
    deviation = np.sqrt(np.diag(np.linalg.inv(fit.jac.T @ fit.jac)))
    assert result.diagnostics['covariance_scale'] == 1.0
    assert np.all(np.abs(result.values - fit.x[:size]) < 0.01 * deviation[:size])
    np.testing.assert_allclose(result.standard_deviation, deviation[:size], rtol=2e-3)
    constants = result.force_constants
    np.testing.assert_allclose(
        np.log(constants.values / constants.nominal), fit.x[-3:], atol=0.01 * deviation[-3:].min()
    )
    np.testing.assert_allclose(
        constants.standard_deviation / constants.values, deviation[-3:], rtol=2e-3
    )
    assert result.payloads[0].mass == pytest.approx(fit.x[size], abs=1e-4)
    assert result.payloads[0].standard_deviation[0] == pytest.approx(deviation[size], rel=2e-3)


def test_without_a_payload_only_ratios_are_determined(record, model):
    result = identify(record(None, 1.0), model, drive_gains=True)
    constants = result.force_constants
    assert np.isinf(constants.standard_deviation).all() and np.isinf(constants.common_deviation)
    ratios = FACTORS / np.prod(FACTORS) ** (1 / 3)
    found = constants.values / constants.nominal
    assert np.prod(found) == pytest.approx(1.0)
    assert np.all(np.abs(found / ratios - 1) < 4 * constants.ratio_deviation)
    assert np.all((constants.ratio_deviation > 0) & (constants.ratio_deviation < 0.01))
    nominal = result.matrix @ model.nominal_parameters
    assert np.isinf(result.standard_deviation[np.abs(nominal) > 0.1]).all()
    assert np.isinf(result.predict(motion_of(model), True)[1]).all()
    assert any('known payload' in text for text in result.diagnostics['warnings'])


def test_currents_are_known_without_the_common_factor(record, model, tmp_path):
    data = record(None, 1.0)
    result = identify(data, model, 'gauss_markov', drive_gains=True)
    one_given = DriveGains(deviation={'leg1_strut': 0.0})
    held = identify(data, model, 'gauss_markov', drive_gains=one_given)
    currents, deviation = result.predict_currents(motion_of(model), True)
    expected, known = held.predict_currents(motion_of(model), True)
    np.testing.assert_allclose(currents, expected, rtol=1e-6)
    np.testing.assert_allclose(deviation, known, rtol=1e-4)
    loaded = load_result(result.save(tmp_path / 'model.yaml'), model)
    again = loaded.predict_currents(motion_of(model), True)[1]
    np.testing.assert_array_equal(again, deviation)
    payload = Payload(name='weight')
    unknown = identify(
        [data, record(KNOWN, 1.0)],
        model,
        'gauss_markov',
        payloads=[None, payload],
        drive_gains=True,
    )
    assert np.isfinite(unknown.predict_currents(motion_of(model), True)[1]).all()


def test_currents_with_nonlinear_friction_and_given_constants(record, model):
    constants = dict(zip(model.actuated_joints, FACTORS * model.force_constants, strict=True))
    data = record(None, 1.0)
    result = identify(data, model, 'nonlinear_friction', force_constants=constants, starts=1)
    deviation = result.predict_currents(motion_of(model), True)[1]
    forces = result.predict(motion_of(model), True)[1]
    np.testing.assert_allclose(deviation, forces / (FACTORS * model.force_constants))


def test_a_known_parameter_or_an_uncertain_payload_determine_the_common_factor(record, model):
    base = model.base_parameters(shared=True, reduced=True)
    values = base.matrix @ model.nominal_parameters
    name, value = base.names[int(np.argmax(values))], float(np.max(values))
    by_parameter = identify(
        record(None, 1.0), model, drive_gains=True, fixed={name: (value, 0.01 * value)}
    ).force_constants
    assert by_parameter.common_deviation == pytest.approx(0.01, rel=0.02)
    heavy = replace(KNOWN, mass_deviation=0.04)  # 2 %, more than the noise leaves
    by_payload = identify(
        [record(None, 1.0), record(KNOWN, 1.0, seed=4)],
        model,
        drive_gains=True,
        payloads=[None, heavy],
    ).force_constants
    assert by_payload.common_deviation == pytest.approx(0.02, rel=0.06)
    for constants in (by_parameter, by_payload):
        error = constants.values / (FACTORS * model.force_constants) - 1
        assert np.all(np.abs(error) < 0.015)


def test_a_known_constant_determines_the_common_factor(record, model):
    gains = DriveGains(deviation={'leg2_strut': 0.01})
    found = identify(record(None, 1.0), model, drive_gains=gains).force_constants
    assert found.common_deviation == pytest.approx(0.01, rel=0.01)
    # all follow the one that is described wrongly
    np.testing.assert_allclose(
        found.values / model.force_constants, FACTORS / FACTORS[1], rtol=1e-3
    )
    exact = DriveGains(deviation={'leg2_strut': 0.0})
    fixed = identify(record(None, 1.0), model, drive_gains=exact).force_constants
    assert fixed.values[1] == model.force_constants[1] and fixed.standard_deviation[1] == 0.0
    np.testing.assert_allclose(fixed.values, found.values, rtol=1e-4)
    assert fixed.groups == (('leg1_strut',), ('leg3_strut',))


def test_an_earlier_result_as_prior_is_as_good_as_its_data(record, three, model):
    unknown = Payload(inertia=OTHER.inertia, name='gripper')
    earlier = identify(
        [record(None, 1.0, seed=1), record(KNOWN, 1.0, seed=2)],
        model,
        'gauss_markov',
        payloads=[None, KNOWN],
        drive_gains=True,
    )
    later = identify(
        record(OTHER, 1.0, seed=3),
        model,
        'gauss_markov',
        payloads=[unknown],
        drive_gains=True,
        prior=earlier,
    )
    joint, alone = three.payloads[1], later.payloads[0]
    deviation = joint.standard_deviation[:4]
    np.testing.assert_allclose(alone.standard_deviation[:4], deviation, rtol=0.05)
    assert np.all(np.abs(alone.values[:4] - joint.values[:4]) < 0.3 * deviation)


def test_payload_alone_with_given_constants(record, model):
    data = [record(None, 1.0, seed=1), record(OTHER, 1.0, seed=3)]
    data = [each.changed(currents=each.currents * FACTORS) for each in data]
    result = identify(data, model, payloads=[None, Payload()])
    assert result.force_constants is None
    gripper = result.payloads[0]
    assert abs(gripper.mass - 3.0) < 4 * gripper.standard_deviation[0] < 0.05
    assert gripper.as_payload().mass == gripper.mass


def test_uncertainty_of_constants_in_the_recording(record, model):
    deviations = {'leg1_strut': 2.0, 'leg2_strut': 2.0, 'leg3_strut': 2.0}  # 1 %
    data = [record(None, 1.0, seed=1), record(OTHER, 1.0, seed=3)]
    data = [
        each.changed(currents=each.currents * FACTORS, force_constant_deviations=deviations)
        for each in data
    ]
    said = identify(data, model, payloads=[None, Payload()], drive_gains=True)
    alike = identify(
        data, model, payloads=[None, Payload()], drive_gains=DriveGains(deviation=0.01)
    )
    np.testing.assert_allclose(said.force_constants.values, alike.force_constants.values)
    assert said.force_constants.common_deviation == pytest.approx(0.01 / np.sqrt(3), rel=0.01)
    given = identify(data, model, payloads=[None, Payload()])
    np.testing.assert_allclose(given.covariance, alike.covariance)
    assert given.payloads[0].standard_deviation[0] > 0.01 / np.sqrt(3) * 3.0


def test_shared_factor_and_groups(record, model):
    data = [record(None, 1.0, seed=1), record(KNOWN, 1.0, seed=2)]
    data = [each.changed(currents=each.currents * FACTORS / 0.9) for each in data]
    both = {'payloads': [None, KNOWN]}
    result = identify(data, model, drive_gains='shared', **both)
    factors = result.force_constants.values / model.force_constants
    np.testing.assert_allclose(factors, 0.9, atol=4 * result.force_constants.common_deviation)
    assert np.ptp(factors) < 1e-12
    groups = DriveGains([['leg1_strut', 'leg3*'], ['leg2_strut']])
    result = identify(data, model, drive_gains=groups, **both)
    assert result.force_constants.groups == (('leg1_strut', 'leg3_strut'), ('leg2_strut',))


def test_deviation_of_currents_is_that_of_drawn_parameters(three, model):
    path = motion_of(model)
    currents, deviation = three.predict_currents(path, standard_deviation=True)
    constants = three.force_constants
    whole = np.block(
        [
            [three.covariance, constants.with_parameters.T],
            [constants.with_parameters, constants.covariance],
        ]
    )
    random = np.random.default_rng(0)
    centre = np.concatenate([three.values, constants.values])
    drawn = random.multivariate_normal(centre, whole, 4000, method='eigh')
    size = len(three.values)
    regressor = model.regressor(path) @ three.columns
    forces = np.einsum('nar,sr->sna', regressor, drawn[:, :size])
    made = forces / drawn[:, None, size:]
    np.testing.assert_allclose(made.std(axis=0), deviation, rtol=0.06)
    np.testing.assert_allclose(made.mean(axis=0), currents, atol=0.1 * deviation.max())


def test_constants_far_from_the_described_ones(record, model):
    data = [record(None, 1.0, seed=1), record(KNOWN, 1.0, seed=2)]
    near = identify(data, model, payloads=[None, KNOWN], drive_gains=True)
    guess = dict(zip(model.actuated_joints, [20.0, 1000.0, 400.0], strict=True))
    lacking = ClosedChainModel(
        replace(
            model.description,
            actuators=tuple(
                replace(each, force_constant=np.nan) for each in model.description.actuators
            ),
        )
    )
    rough = [replace(each, force_constants=guess) for each in data]
    far = identify(rough, lacking, payloads=[None, KNOWN], drive_gains=True)
    assert dict(zip(far.joint_names, far.force_constants.nominal, strict=True)) == guess
    deviation = near.force_constants.standard_deviation
    np.testing.assert_allclose(
        far.force_constants.values, near.force_constants.values, atol=0.5 * deviation.min()
    )
    np.testing.assert_allclose(far.force_constants.standard_deviation, deviation, rtol=0.1)
    with pytest.raises(EstimationError, match='in dataset 1 and .* in dataset 2'):
        mixed = [rough[0], replace(data[1], force_constants={**guess, 'leg1_strut': 21.0})]
        identify(mixed, lacking, drive_gains=True)
    with pytest.raises(EstimationError, match='give one of them'):
        identify(data[0], model, drive_gains=DriveGains(deviation=0.2), prior=near)


def test_any_estimator_with_the_constants_found(record, three, model, tmp_path):
    data = replace(
        record(None, 1.0, seed=5),
        force_constants=dict(zip(model.actuated_joints, model.force_constants, strict=True)),
    )
    found = identify(data, model, 'irls', force_constants=three)
    factors = three.force_constants.values / model.force_constants
    by_hand = identify(data.changed(currents=data.currents * factors), model, 'irls')
    np.testing.assert_allclose(found.values, by_hand.values, rtol=1e-9)
    warning = next(text for text in found.diagnostics['warnings'] if 'taken as exact' in text)
    assert f'{100 * three.force_constants.common_deviation:.2g} %' in warning
    again = load_result(found.save(tmp_path / 'model.yaml'), model)
    currents, deviation = again.predict_currents(motion_of(model), standard_deviation=True)
    np.testing.assert_allclose(currents, expected(model), rtol=0.02)
    forces, spread = found.predict(motion_of(model), standard_deviation=True)
    np.testing.assert_allclose(deviation, spread / three.force_constants.values)
    loaded = replace(record(KNOWN, 1.0, seed=6), payload=KNOWN)
    both = identify([data, loaded], model, force_constants=three.force_constants.by_joint)
    np.testing.assert_allclose(both.force_constants.values, three.force_constants.values)
    assert both.payloads[0].name == 'weight'
    ratios = identify(data, model, drive_gains=True)
    for constants, message in (
        (ratios, 'only their ratios'),
        (by_hand, 'the result given has none'),
        ({'leg1_strut': 20.0}, "'leg[23]_strut' has no positive force constant"),
        ({**three.force_constants.by_joint, 'leg9': 1.0}, "'leg9' is no drive"),
    ):
        with pytest.raises(EstimationError, match=message):
            identify(data, model, force_constants=constants)
    with pytest.raises(EstimationError, match='no currents'):
        efforts = data.changed(efforts=data.currents, currents=None)
        identify(efforts, model, force_constants=three)


def test_jacobian_of_a_body():
    values = np.array([2.0, 0.1, -0.2, 0.3, 0.01, 0.001, 0.002, 0.02, -0.003, 0.03])
    numeric = approx_fprime(values, standard_parameters, 1e-7)
    np.testing.assert_allclose(standard_jacobian(values), numeric, atol=1e-6)
    body = pkm_description.Inertial(2.0, values[1:4], Payload(inertia=values[4:]).inertia)
    np.testing.assert_allclose(standard_parameters(values), body.standard_parameters())


def test_result_file(three, model, tmp_path):
    again = load_result(three.save(tmp_path / 'model.yaml'), model)
    for name in ('values', 'covariance', 'with_parameters', 'nominal', 'ratio_deviation'):
        np.testing.assert_array_equal(
            getattr(again.force_constants, name), getattr(three.force_constants, name)
        )
    assert again.force_constants.groups == three.force_constants.groups
    for old, new in zip(three.payloads, again.payloads, strict=True):
        np.testing.assert_array_equal(old.covariance, new.covariance)
        assert (old.name, old.link, old.datasets) == (new.name, new.link, new.datasets)
    content = yaml.safe_load((tmp_path / 'model.yaml').read_text())
    del content['force_constants'], content['payloads']
    (tmp_path / 'old.yaml').write_text(yaml.safe_dump(content, sort_keys=False))
    old = load_result(tmp_path / 'old.yaml', model)
    assert old.force_constants is None and old.payloads == ()
    np.testing.assert_allclose(
        old.predict_currents(motion_of(model)),
        old.predict(motion_of(model)) / model.force_constants,
    )


def test_validation_uses_the_constants_found(record, three, model):
    checked = validate(record(None, 1.0, seed=9), three, model)
    assert checked.against_measured.overall < 0.02
    np.testing.assert_allclose(
        checked.measured.std(axis=0),
        model.inverse_dynamics(motion_whole(model)).std(axis=0),
        rtol=0.01,
    )
    with pytest.raises(EstimationError, match=r"payload \('weight'\)"):
        validate(replace(record(KNOWN), payload=KNOWN), three, model)


def motion_whole(model):
    trajectory = load_excitation('rps_upv')
    return trajectory.motion(trajectory.period / SAMPLES * np.arange(SAMPLES), model)


def test_payload_travels_with_npz(record, model, tmp_path):
    data = record(KNOWN, 1.0)
    np.savez(
        tmp_path / 'run.npz',
        time=data.time,
        joint_names=data.joint_names,
        positions=data.positions,
        currents=data.currents,
        period=data.period,
        payload=KNOWN.to_text(),
    )
    loaded = load(tmp_path / 'run.npz')
    assert loaded.payload.to_mapping() == KNOWN.to_mapping()
    request = build_request([loaded, record()], None, False)
    assert request.payloads[1] is None and request.payloads[0].mass == 2.0
    assert request.options['payloads'][0] == KNOWN.to_mapping()


def test_refusals(record, model):
    data = record(None, 1.0)
    efforts = data.changed(efforts=data.currents, currents=None)
    for arguments, message in (
        ((efforts, {'drive_gains': True}), 'no currents'),
        ((data, {'drive_gains': 'all'}), "unknown groups 'all'; valid are each, shared"),
        ((data, {'drive_gains': DriveGains([['leg1_strut']])}), "'leg2_strut' is in no group"),
        ((data, {'drive_gains': DriveGains(deviation=0.0)}), 'none to estimate'),
        ((data, {'drive_gains': DriveGains(deviation={'leg9*': 0.1})}), 'leg9'),
        ((data, {'payloads': [None, KNOWN]}), '2 for 1 datasets'),
        ((data, {'payloads': ['{weight: 2}']}), "payloads: .*has no 'weight'"),
        ((data, {'payloads': [Payload(link='hook')]}), "no link 'hook'.*platform"),
        ((data, {'drive_gains': True, 'estimator': 'irls'}), "'irls' takes no payloads"),
    ):
        dataset, options = arguments
        with pytest.raises(EstimationError, match=message):
            identify(dataset, model, **options)


def test_a_search_without_end_says_so(model, record, monkeypatch):
    monkeypatch.setattr(bilinear_problem, 'MAX_STEPS', 1)
    with pytest.raises(EstimationError, match='in 1 steps: the data hardly tell .* of leg2_strut'):
        identify(record(None, 1.0), model, drive_gains=True)


@pytest.mark.parametrize(
    ('logarithms', 'is_free', 'named'),
    [
        ([0.0, 1.0, 0.0], True, ['b']),
        ([0.5, 0.5, 0.0], True, ['c']),
        ([0.5, 0.5, 0.01], False, ['a', 'b']),
        ([0.3, 0.0, -0.7], False, ['c', 'a']),
        ([0.0, 0.0, 0.0], False, []),
    ],
)
def test_constants_that_still_move_are_named(logarithms, is_free, named):
    joints = [('a',), ('b',), ('c',)]
    assert bilinear_problem.moving_constants(joints, np.array(logarithms), is_free) == named
