"""[H]: on a hydraulic robot the actuator's model matters more than that of the mechanism."""

from __future__ import annotations

from argparse import Namespace

import pytest

from pkm_bringup.runner import Runner
from pkm_bringup.studies import hydraulics_study
from pkm_bringup.studies.hydraulics_study import AXES, FORCES
from pkm_bringup.views.study_views.study_tables import print_hydraulics
from pkm_description.errors import SimulationError


def given(**other):
    options = {'robot': 'msi', 'frequency': 5.0, 'amplitude': 0.025, 'valve_frequency': None}
    return Namespace(**{**options, 'seed': 0, **other})


def test_what_is_fed_forward_and_how_exact_the_robot_is(monkeypatch, capsys):
    """With valves of 50 Hz, over fewer periods."""
    monkeypatch.setattr(hydraulics_study, 'PERIODS', 2)
    monkeypatch.setattr(hydraulics_study, 'PRESSURE_BANDWIDTHS', (100.0,))
    monkeypatch.setattr(hydraulics_study, 'SERVO_BANDWIDTHS', (6.0,))
    content = hydraulics_study.run(given(valve_frequency=50.0), Runner(1))
    assert content['valve_frequency'] == 50.0
    every = {(row['direction'], row['law']): row['rms'] for row in content['laws']}
    assert len(every) == 2 * (len(AXES) + len(FORCES)) and None not in every.values()
    for direction in 'xz':
        found = {law: every[direction, law] for law in (*AXES, *FORCES)}
        assert found['velocity'] < found['feedback'] / 4
        assert found['velocity, actuator'] < found['velocity'] / 5
        # the mechanism's model takes a quarter off at most, with the speed or alone
        for law, more in (('velocity', 'velocity, mechanism'), ('feedback', 'mechanism')):
            assert 0.75 < found[more] / found[law] < 1.05
        measured, desired = (found[law] for law in FORCES)
        assert desired < 0.8 * measured and desired > 5 * found['velocity, actuator']
    ratio = every['x', 'velocity, actuator, mechanism'] / every['x', 'velocity, actuator']
    assert ratio < 0.6  # along x its forces are largest
    assert 1e3 < content['force'] < 3e3
    print_hydraulics(content)
    assert 'spools of 50 Hz' in capsys.readouterr().out


def test_a_path_that_is_lost_has_no_error(capsys):
    lost = {'direction': 'z', 'law': 'forces', 'rms': None, 'largest': None}
    lost |= {'platform': None, 'signal': None}
    print_hydraulics(
        {'robot': 'msi', 'valve_frequency': 5.0, 'gain': 1.0, 'force': 1.0, 'laws': [lost]}
    )
    assert capsys.readouterr().out.count('lost') == 3


def test_electrical_robots_are_refused():
    with pytest.raises(SimulationError, match="robot 'palida' is no hydraulic robot"):
        hydraulics_study.run(given(robot='palida'), Runner(1))
