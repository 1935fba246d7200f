"""[H]: on a hydraulic robot the actuator's model matters more than that of the mechanism."""

from __future__ import annotations

from argparse import Namespace

import pytest

from pkm_bringup.runner import Runner
from pkm_bringup.studies import hydraulics_study
from pkm_bringup.studies.hydraulics_study import AXES, FORCES
from pkm_bringup.views.study_tables import print_hydraulics
from pkm_description.errors import SimulationError


def given(**other):
    options = {'robot': 'msi', 'frequency': 5.0, 'amplitude': 0.025, 'valve_frequency': None}
    return Namespace(**{**options, 'seed': 0, **other})


def test_what_is_fed_forward_and_how_exact_the_robot_is(monkeypatch, capsys):
    """With valves of 50 Hz, in one direction, over fewer periods."""
    monkeypatch.setattr(hydraulics_study, 'DIRECTIONS', {'z': 2})
    monkeypatch.setattr(hydraulics_study, 'PERIODS', 3)
    monkeypatch.setattr(hydraulics_study, 'PRESSURE_BANDWIDTHS', (30.0,))
    monkeypatch.setattr(hydraulics_study, 'SERVO_BANDWIDTHS', (3.0,))
    content = hydraulics_study.run(given(valve_frequency=50.0), Runner(1))
    assert content['valve_frequency'] == 50.0
    found = {row['law']: row['rms'] for row in content['laws']}
    assert list(found) == [*AXES, FORCES] and None not in found.values()
    assert found['velocity'] < found['feedback'] / 4
    assert found['velocity, actuator'] < found['velocity'] / 10
    # the mechanism's model takes less than a fifth off, with the speed or alone
    assert found['velocity, mechanism'] > 0.8 * found['velocity']
    assert found['mechanism'] > 0.8 * found['feedback']
    assert found[FORCES] > 10 * found['velocity, actuator']
    print_hydraulics(content)
    assert 'spools of 50 Hz' in capsys.readouterr().out


def test_a_path_that_is_lost_has_no_error(capsys):
    lost = {'direction': 'z', 'law': 'forces', 'rms': None, 'largest': None}
    lost |= {'platform': None, 'signal': None}
    print_hydraulics({'robot': 'msi', 'valve_frequency': 5.0, 'gain': 1.0, 'laws': [lost]})
    assert capsys.readouterr().out.count('lost') == 3


def test_electrical_robots_are_refused():
    with pytest.raises(SimulationError, match="robot 'palida' is no hydraulic robot"):
        hydraulics_study.run(given(robot='palida'), Runner(1))
