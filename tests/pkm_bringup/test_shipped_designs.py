"""Shipped excitations on the simulated robot: no limit is touched, from rest to rest."""

from __future__ import annotations

import json

import numpy as np
import pytest
from every_model import model_of

import pkm_description
from pkm_bringup import cli
from pkm_bringup.executed import executed_margins
from pkm_bringup.offline import effects_of, simulate
from pkm_description.errors import UnderactuatedError
from pkm_dynamics.model import require_drives
from pkm_dynamics.trajectories import FourierTrajectory
from pkm_identification.excitation import ExcitationDesign, shipped_excitations
from pkm_identification.excitation.excitation_design import excitation_path

LIMITS = {'acceleration': 1e4, 'condition_limit': 1e3}
PARTS = {'stroke', 'velocity', 'acceleration', 'force', 'workspace'}
PASSIVE = {'joint', 'joint_velocity'}


def driven(name):
    try:
        require_drives(model_of(name), 'an excitation')
    except UnderactuatedError:
        return False
    return True


def test_every_robot_with_all_drives_has_a_design():
    """The others are refused by the name of what has no drive."""
    names = [name for name in pkm_description.library() if driven(name)]
    assert shipped_excitations() == sorted(names)
    assert set(pkm_description.library()) - set(names) == {'cart_pendulum'}
    with pytest.raises(UnderactuatedError, match="'cart_pendulum'.*'lower_joint'.*no drive"):
        require_drives(model_of('cart_pendulum'), 'an excitation')


@pytest.mark.parametrize('name', ['palida', 'delta', 'rps_upv', 'serial_arm'])
def test_no_limit_is_touched_in_the_plant(name):
    """Friction, cogging and noise, and nothing but feedback to follow with."""
    model = model_of(name)
    design = ExcitationDesign.load(excitation_path(name), model)
    recording = simulate(
        model,
        design.trajectory,
        1,
        ramp_time=design.ramp_time,
        effects=effects_of(model.description, 'all'),
        seed=1,
    )
    assert not recording.saturated.any()
    report = executed_margins(recording, model, **LIMITS)
    assert report.feasible, report.message
    closed = bool(model.description.constraints)
    assert set(report.margins) >= (PARTS | PASSIVE if closed else PARTS)
    assert ('conditioning' in report.margins) == closed
    assert ('clearance' in report.margins) == (name != 'rps_upv')
    assert ('aperture' in report.margins) == (name == 'rps_upv')
    # It did move: most of the designed strokes was used, as commanded.
    run = recording.running
    moved = np.ptp(recording.truth_positions[run], axis=0)
    wanted = np.ptp(recording.desired_positions[run], axis=0)
    assert np.all(moved > 0.7 * wanted) and np.all(wanted > 0.02 * (model.upper - model.lower))


def test_executed_margins_see_what_the_command_does_not(monkeypatch):
    """Limits between commanded and real motion are found, by the real one."""
    model = model_of('five_bar')
    design = ExcitationDesign.load(excitation_path('five_bar'), model)
    recording = simulate(model, design.trajectory, 1, ramp_time=design.ramp_time, seed=0)
    real = np.abs(recording.truth_velocities).max()
    report = executed_margins(recording, model)
    velocity = report.margins['velocity']
    assert abs(velocity.value) == pytest.approx(real, rel=1e-3)
    assert velocity.margin == pytest.approx(model.velocity_limit[0] - real, rel=1e-3)
    forces = np.abs(recording.truth_forces).max()
    assert abs(report.margins['force'].value) == pytest.approx(forces, rel=0.02)


@pytest.mark.parametrize('name', ['five_bar', 'four_bar'])
def test_verbs_take_shipped(name, tmp_path, capsys):
    assert cli.main(['excite', 'check', 'shipped', '--robot', name, '--json']) == 0
    assert json.loads(capsys.readouterr().out)['feasible']
    assert cli.main(['excite', 'show', 'shipped', '--robot', name, '--json']) == 0
    capsys.readouterr()
    data = tmp_path / 'data.npz'
    arguments = ['simulate', name, '--trajectory', 'shipped', '--periods', '1']
    assert cli.main([*arguments, '--output', str(data), '--json']) == 0
    shown = json.loads(capsys.readouterr().out)
    design = ExcitationDesign.load(excitation_path(name))
    assert isinstance(design.trajectory, FourierTrajectory)
    assert shown['period'] == pytest.approx(design.period) and shown['saturated_fraction'] == 0.0


def test_an_underactuated_robot_is_refused_by_name(capsys):
    assert cli.main(['excite', 'check', 'shipped', '--robot', 'cart_pendulum']) == 1
    assert "'lower_joint', 'upper_joint' is free (no drive)" in capsys.readouterr().err
