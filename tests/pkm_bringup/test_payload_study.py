"""`pkm study payload` in small, and payloads and force constants on the command line."""

from __future__ import annotations

import json

import mujoco
import numpy as np
import pytest
import yaml
from chances import normal_limit
from every_model import model_of

from pkm_bringup import cli
from pkm_bringup.offline import plant_of
from pkm_bringup.studies.payload_study import CASES, case_figures
from pkm_bringup.studies.runs.payload_recordings import Setting, payloads_of, record
from pkm_description import Payload
from pkm_dynamics.simulation import SimulatedPlant


@pytest.fixture(scope='module')
def model():
    return model_of('rps_upv')


def test_the_study_finds_the_payload_with_a_known_one(capsys, tmp_path):
    path = tmp_path / 'study.json'
    command = ['study', 'payload', '--robot', 'rps_upv', '--runs', '1', '--periods', '10']
    assert cli.main([*command, '--output', str(path)]) == 0
    shown = capsys.readouterr().out
    assert all(text in shown for text in CASES.values())
    content = json.loads(path.read_text())
    cases = content['cases']
    assert list(cases) == list(CASES)
    for case in ('payload', 'sequence'):
        found = cases[case]
        assert found['mass_largest'] < normal_limit() * found['mass_deviation']
        assert found['constant_rms'] < normal_limit(3) * found['constant_deviation']
        assert max(found['mass_deviation'], found['constant_deviation']) < 0.02
    assert cases['prior']['mass_deviation'] > 0.08  # 20 % of each drive, 12 % of their mean
    assert content['without_payload']['common_deviation'] is None  # infinite
    assert content['without_payload']['ratio_rms'] < 1e-3


@pytest.mark.parametrize(
    ('options', 'status', 'words'),
    [
        (['--periods', '1'], 1, 'at least 2'),
        (['--effects', 'all'], 1, '--effects needs --plant robot'),
        (['--seed', '-1'], 2, '--seed'),
        (['--spread', '1'], 2, '--spread'),
        (['--robot', 'cart_pendulum'], 1, 'declares no force constants'),
    ],
)
def test_what_cannot_be_recorded_is_refused(options, status, words, fails):
    assert words in fails('study', 'payload', *options, status=status)


def test_figures_of_knlargest_errors():
    runs = [
        {
            'mass_error': error,
            'mass_deviation': 0.02,
            'centre_error': 0.001,
            'constant_errors': np.array([error, -error]),
            'constant_deviations': np.array([0.1, 0.1]),
        }
        for error in (0.01, -0.04)
    ]
    content = case_figures(runs)
    assert content['mass_rms'] == pytest.approx(np.sqrt((0.01**2 + 0.04**2) / 2))
    assert content['mass_largest'] == 0.04 and content['mass_bias'] == pytest.approx(-0.015)
    assert content['mass_bias_deviation'] == pytest.approx(0.025)  # 0.05 / sqrt(2) / sqrt(2)
    assert case_figures(runs[:1])['mass_bias_deviation'] is None
    assert content['within_limit'] == 0.5
    assert content['constant_rms'] == pytest.approx(content['mass_rms'])
    assert content['reported_to_observed'] == pytest.approx(0.02 / content['mass_rms'])


def test_a_plant_with_a_payload_and_other_drives(model):
    payload = Payload(mass=2.0, centre=(0.2, 0.1, 0.1), inertia=(0.006, 0.008, 0.01))
    description = plant_of(model.description, payload, 0.2, 3)
    constants = np.array([each.force_constant for each in description.actuators])
    factors = constants / model.force_constants
    assert np.all(np.abs(factors - 1) <= 0.2) and np.ptp(factors) > 0.01
    assert plant_of(model.description, None, 0.0, 3) is model.description
    plain, loaded = SimulatedPlant(model.description), SimulatedPlant(description)

    def moments(plant: SimulatedPlant) -> tuple[float, np.ndarray]:
        robot = plant.mujoco_model
        body = mujoco.mj_name2id(robot, mujoco.mjtObj.mjOBJ_BODY, 'platform')
        return robot.body_mass[body], robot.body_mass[body] * robot.body_ipos[body]

    mass, moment = (b - a for a, b in zip(moments(plain), moments(loaded), strict=True))
    assert mass == pytest.approx(2.0)
    np.testing.assert_allclose(moment, [0.4, 0.2, 0.2], atol=1e-9)
    forces = loaded.step(np.full(3, 50.0))
    np.testing.assert_allclose(forces.truth_forces, 50.0)
    still = SimulatedPlant(description, plain.effects.switched(force_noise=False))
    np.testing.assert_allclose(still.step(np.full(3, 50.0)).currents, 50.0 / constants)


def test_identify_with_payloads_from_files(model, tmp_path, capsys):
    setting = Setting(periods=4)
    factors = np.array([0.9, 1.1, 1.15])
    known, _ = payloads_of(model, 2.0)
    for name, payload in (('empty', None), ('loaded', known)):
        data = record(model, factors, payload, setting, len(name))
        extra = {'payload': payload.to_text()} if payload else {}
        np.savez(
            tmp_path / f'{name}.npz',
            time=data.time,
            joint_names=data.joint_names,
            positions=data.positions,
            currents=data.currents,
            period=data.period,
            **extra,
        )
    files = [str(tmp_path / f'{name}.npz') for name in ('empty', 'loaded')]
    common = ['--robot', 'rps_upv', '--drive-gains', 'each']
    output = tmp_path / 'model.yaml'
    assert cli.main(['identify', *files, *common, '--output', str(output)]) == 0
    printed = capsys.readouterr().out
    constants = yaml.safe_load(output.read_text())['force_constants']
    for i, joint in enumerate(model.actuated_joints):
        value, deviation = constants['values'][joint], constants['standard_deviation'][joint]
        assert abs(value - factors[i] * 200.0) < normal_limit(3) * deviation
        assert deviation < 7.5
        line = f'<joint name="{joint}">: <param name="force_constant">{value:.6g}</param>'
        assert line in printed
    assert 'known in data 2' in printed
    payload = '{mass: 2.0, centre: [0, 0, 0.02], inertia: 0, name: pin}'
    again = ['--payload', 'none', '--payload', payload, '--gain-deviation', 'leg1_strut=0.01']
    output = tmp_path / 'again.yaml'
    assert cli.main(['identify', *files, *common, *again, '--output', str(output), '--json']) == 0
    content = json.loads(capsys.readouterr().out)
    assert content['payloads'][0]['name'] == 'pin'
    assert content['force_constants']['common_deviation'] < 0.01
    for options, message in (
        (['--payload', 'none'], '1 --payload for 2 DATA'),
        (['--payload', 'none', '--payload', '{mas: 2}'], "no 'mas' (is 'mass' meant?)"),
        (['--payload', 'none', '--payload', 'absent.yaml'], "'absent.yaml' cannot be read"),
    ):
        refused = ['identify', *files, *common, *options, '--output', str(tmp_path / 'no.yaml')]
        assert cli.main(refused) != 0
        assert message in capsys.readouterr().err
