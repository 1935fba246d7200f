"""Warnings: what may be as it is, but deserves a second look."""

from __future__ import annotations

import mechanisms
import numpy as np
import pytest

from pkm_description import load, loads
from pkm_description.remarks import physical_state, remarks

HOME = 'gravity: [0, -9.81, 0]\nhome: {joints: {crank_joint: 0.2}}\nsame_design: []\n'


def found(old='', new='', yaml_text=HOME) -> str:
    bar = mechanisms.four_bar()
    assert old in bar.urdf
    return '\n'.join(remarks(loads(bar.urdf.replace(old, new, 1), yaml_text)))


def test_nothing_to_say_about_the_library_robot():
    assert remarks(load('palida')) == []


@pytest.mark.parametrize(
    'old, new, message',
    [
        ('', '', r'redundant closing rows .*: last \(3 of 5\)'),
        ('velocity="20"', '', 'no velocity limit.*: crank_joint'),
        ('<param name="force_constant">20.0</param>', '', 'no force constant.*: crank_joint'),
        (
            'lower="-3.0" upper="3.0" velocity="20" effort="50"/></joint><constraint',
            'effort="5"/></joint><constraint',
            'passive joints without limits: rocker_joint',
        ),
        ('ixx="0.002"', 'ixx="2000" ', None),
        ('<mass value="1.2"/>', '<mass value="0.000012"/>', "'rocker' has the radius of gyration"),
        ('xyz="0.15 0.01 0.0"', 'xyz="150 10 0"', "'crank' has its centre of mass 150 m"),
        (
            '<axis xyz="0.0 0.0 1.0"/>',
            '<axis xyz="0 0 2"/>',
            "<axis> of joint 'crank_joint' has the length 2",
        ),
        ('</robot>', '<lights/></robot>', '<lights> in <robot> is not used'),
        ('</link>', '<paint/></link>', "<paint> in link 'crank' is not used"),
        ('lower="-3.0"', 'lower="0.15"', 'at home within 2% of a limit: crank_joint'),
    ],
)
def test_warnings_name_their_elements(old, new, message):
    if message is None:
        with pytest.raises(Exception, match='triangle'):
            found(old, new)
        return
    import re

    text = found(old, new)
    assert re.search(message, text), text


def test_what_the_yaml_leaves_open_or_contradicts():
    assert 'no home is given' in found(yaml_text='')
    assert 'gravity is 1.62 m/s^2' in found(yaml_text=HOME.replace('-9.81', '-1.62'))
    # A crank angle at which the loop does not close is a first guess only, and that is said.
    text = found('xyz="0.2 0.0 0.0"', 'xyz="0.6 0.0 0.0"', HOME.replace('0.2', '2.9'))
    assert "'crank_joint' is declared at 2.9 but the loops close" in text


def test_equal_bodies_that_share_no_design():
    arm = mechanisms.four_bar()
    link = arm.urdf.partition('<link name="crank">')[2].partition('</link>')[0]
    other = arm.urdf.partition('<link name="rocker">')[2].partition('</link>')[0]
    text = '\n'.join(remarks(loads(arm.urdf.replace(other, link), HOME)))
    assert 'not declared `same_design`: crank, rocker' in text
    assert 'same_design' not in '\n'.join(remarks(arm))


def test_close_to_a_singularity():
    # Both lower arms of a five-bar almost in line: the locked shoulders barely hold the tip.
    bar = mechanisms.five_bar()
    assert 'singular' not in '\n'.join(remarks(bar))
    angle = float(np.arccos(0.8 - 2e-8))  # the elbows are 0.6 m less 1e-8 m apart
    home = f'home: {{joints: {{shoulder1: {np.pi - angle - 2.2!r}, shoulder2: {angle - 0.9!r}}}}}'
    assert 'home is close to a singularity' in '\n'.join(remarks(loads(bar.urdf, home)))


def test_kinds_of_bodies():
    bar = mechanisms.four_bar()
    assert physical_state(bar.link('base_link')) == 'massless'
    assert physical_state(bar.link('crank')) == 'yes'
    flat = bar.urdf.replace('izz="0.021"', 'izz="0.022"', 1)
    assert flat != bar.urdf
    assert physical_state(loads(flat, HOME).link('crank')) == 'flat'
    assert np.isfinite(bar.home.position).all()
