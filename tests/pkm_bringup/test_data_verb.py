"""`pkm data`: what a recording holds, and the file of names that it proposes."""

from __future__ import annotations

import json

import numpy as np
import pytest

from pkm_bringup import cli

TIME = 0.01 * np.arange(30)
Q = 1.2 + 0.3 * np.sin(TIME)


@pytest.fixture
def foreign(tmp_path):
    path = tmp_path / 'run.csv'
    np.savetxt(path, np.column_stack([TIME, Q, -Q]), '%.9f', ',', header='t,q1,tau1', comments='')
    return path


def test_a_proposal_for_the_robot_makes_the_recording_readable(foreign, capsys):
    assert cli.main(['data', str(foreign), 'four_bar']) == 1
    shown = capsys.readouterr()
    assert 'tau1' in shown.out and '-1.2858' in shown.out
    line, proposal = shown.err.split('\n\n')
    assert line.endswith("run.columns.yaml':") and 'crank_joint: {position: q1' in proposal
    foreign.with_name('run.columns.yaml').write_text(proposal)
    assert cli.main(['data', str(foreign), 'four_bar']) == 0
    shown = capsys.readouterr()
    assert '30 samples in 0.29 s, one every 10 ms (100 Hz)' in shown.out and not shown.err
    assert cli.main(['data', f'{foreign}:0.1-', 'four_bar', '--json']) == 0
    content = json.loads(capsys.readouterr().out)
    assert content['samples'] == 20 and content['refusal'] is None
    assert content['joints'][0]['positions'] == pytest.approx([Q[10], Q[-1]], abs=1e-9)
    assert [each['name'] for each in content['columns']] == ['t', 'q1', 'tau1']


def test_a_recording_of_another_robot_is_shown_and_refused(tmp_path, capsys):
    path = tmp_path / 'run.npz'
    values = np.column_stack([Q, Q])
    np.savez(path, time=TIME, joint_names=['a', 'b'], positions=values, efforts=values)
    assert cli.main(['data', str(path), 'four_bar']) == 1
    shown = capsys.readouterr()
    assert '[positions, 1]' in shown.out and "lacks joint 'crank_joint'" in shown.err


def test_measured_velocities_are_shown(foreign, capsys):
    names = '{time: t, joints: [crank_joint], position: q1, velocity: tau1, effort: t}'
    foreign.with_name('columns.yaml').write_text(
        names.replace('effort: t', 'effort: {column: tau1}')
    )
    assert cli.main(['data', str(foreign)]) == 1  # one column for two signals
    assert "are the same column 'tau1'" in capsys.readouterr().err
    rows = np.column_stack([TIME, Q, 2 * Q, -Q])
    np.savetxt(foreign, rows, '%.9f', ',', header='t,q1,v1,tau1', comments='')
    foreign.with_name('columns.yaml').write_text(
        '{time: t, joints: [crank_joint], position: q1, velocity: v1, effort: tau1}'
    )
    assert cli.main(['data', str(foreign)]) == 0
    out = capsys.readouterr().out
    assert 'velocities [m/s, rad/s]' in out and f'{2 * Q.min():.5g} ... {2 * Q.max():.5g}' in out


def test_positions_in_degrees_are_told_by_the_stroke(foreign, capsys):
    names = '{time: t, joints: [crank_joint], position: {column: q1, scale: 57.3}, effort: tau1}'
    foreign.with_name('columns.yaml').write_text(names)
    assert cli.main(['data', str(foreign), 'four_bar']) == 0
    assert "'crank_joint' leave its stroke" in capsys.readouterr().out
