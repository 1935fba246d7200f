"""Physical bodies and nonlinear friction on the 3-RPS, in small."""

from __future__ import annotations

import json

import numpy as np
import pytest
from every_model import model_of

from pkm_bringup import cli
from pkm_bringup.offline import feedforward_of
from pkm_bringup.studies.feasible_study import is_physical_when_read
from pkm_bringup.studies.runs.plants import held_out_motion, recorded, stribeck_friction
from pkm_dynamics.simulation import PlantEffects
from pkm_identification import identify
from pkm_identification.excitation.excitation_design import load_excitation


@pytest.fixture(scope='module')
def rps():
    return model_of('rps_upv')


def test_stribeck_friction_of_the_plant(rps):
    """1.3 times Coulomb friction at standstill, as the description says."""
    effects = PlantEffects.from_description(rps.description)
    friction = stribeck_friction(rps, effects)
    assert friction.names[0] == 'leg1_strut.stribeck_force'
    just = np.full((1, 3), rps.description.transition_velocity)
    expected = (296.0 - 228.0) * np.exp(-0.2)
    np.testing.assert_allclose(friction.forces(just), [[expected] * 3])
    np.testing.assert_allclose(friction.forces(-just), [[-expected] * 3])
    assert stribeck_friction(rps, effects.without_unmodelled()) is None


def test_the_command(tmp_path):
    path = tmp_path / 'study.json'
    arguments = [
        'study',
        'feasible',
        '--robot',
        'rps_upv',
        '--noise',
        '5',
        '--laws',
        'stribeck',
        '--runs',
        '2',
        '--periods',
        '3',
        '--plant',
        'noise',
        '--workers',
        '1',
        '--output',
        str(path),
    ]
    assert cli.main(arguments) == 0
    content = json.loads(path.read_text())
    (level,) = content['limits']['levels']
    assert level['noise'] == 5 and level['feasible']['physical'] == 1.0
    assert level['error_measured_ratio']['largest'] < 1.05
    assert level['error_ratio']['median'] < 1.05
    assert min(level['cpu_time'].values()) > 0.0
    friction = content['friction']
    assert friction['stribeck']['physical'] == friction['feasible']['physical'] == 1.0
    for key in ('error', 'error_measured'):
        assert friction['stribeck'][f'{key}_lower_least'] > 0.1  # [M Table 3]
    assert friction['feasible']['error_lower'] == 0.0


def test_controller_gets_what_was_identified(rps, tmp_path):
    effects = PlantEffects.from_description(rps.description)
    data = recorded(rps, load_excitation('rps_upv'), 'noise', effects, 2, 0)
    result = identify(data, rps, 'nonlinear_friction', exponent=1.0, starts=1)
    assert is_physical_when_read(result, rps)
    assert result.drive_friction.names == [
        f'leg{k}_strut.stribeck_{field}'
        for k in (1, 2, 3)
        for field in ('force', 'velocity', 'exponent')
    ]
    assert np.ptp(result.drive_friction.values[::3]) == 0  # struts of one design
    feedforward = feedforward_of(rps, str(result.save(tmp_path / 'model.yaml')))
    motion = held_out_motion(rps).motion(np.linspace(0.0, 3.0, 50), rps)
    predicted = result.predict(motion)
    scale = np.abs(predicted).max()
    np.testing.assert_allclose(feedforward.forces(rps, motion), predicted, atol=1e-6 * scale)
    _, forces = feedforward.along(rps, motion)
    np.testing.assert_allclose(forces, predicted, atol=1e-6 * scale)


def test_the_second_part_is_checked_before_the_first_runs(fails, monkeypatch):
    monkeypatch.setattr('pkm_bringup.studies.feasible_study.one_run', None)
    told = fails('study', 'feasible', '--friction-robot', 'uf_pkm')
    assert "robot 'uf_pkm' declares no simulation.stribeck" in told
