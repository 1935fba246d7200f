"""The command line with a robot that has more drives than degrees of freedom."""

from __future__ import annotations

from pathlib import Path

import pytest

import pkm_description
from pkm_bringup.cli import main

ROBOT = str(Path(pkm_description.__file__).parent / 'examples' / 'planar_4rrr.urdf.xacro')


def test_describe_says_which_drives_are_redundant(capsys):
    assert main(['describe', ROBOT]) == 0
    text = capsys.readouterr().out
    assert 'mobility    3: 4 drives, 1 of them redundant (motor4)' in text
    assert '4 with a drive, 4 passive' in text


@pytest.mark.parametrize(
    'arguments',
    [
        ['describe', ROBOT, '--workspace'],
        ['export', ROBOT, '--to', 'mjcf', '--output', 'robot.xml'],
        ['excite', 'design', '--robot', ROBOT, '--output', 'design.yaml'],
        ['simulate', ROBOT, '--trajectory', 'sine_x', '--output', 'run.npz'],
    ],
)
def test_what_is_not_made_for_it_refuses_it(arguments, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) != 0
    said = capsys.readouterr().err
    assert "robot 'planar_4rrr' has more drives than degrees of freedom (motor4)" in said
