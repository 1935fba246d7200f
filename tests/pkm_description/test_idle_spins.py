"""Idle spins: found from the kinematics, stopped by a gauge, refused where a body is not round."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from lxml import etree

import pkm_description
from pkm_description import DescriptionError, load, loads
from pkm_description.assembly import Assembly
from pkm_description.exporters.mjcf import build_mjcf
from pkm_description.exporters.sdf import build_sdf
from pkm_description.loader import loads_sdf
from pkm_description.mobility import actuation_margin
from pkm_description.remarks import remarks
from pkm_description.spins.round_bodies import averaging

RODS = [f'rod{n}{letter}' for n in (1, 2, 3) for letter in 'ab']


@pytest.fixture(scope='module')
def delta():
    return load('delta rods:=ball')


def test_rods_between_ball_joints_spin_idly(delta):
    assert [spin.body for spin in delta.idle_spins] == RODS
    for spin in delta.idle_spins:
        np.testing.assert_allclose(np.abs(spin.axis), [0, 0, 1], atol=1e-12)
        np.testing.assert_allclose(spin.point, 0, atol=1e-12)
    assert delta.actuated_joints == ['arm1_joint', 'arm2_joint', 'arm3_joint']
    assert load('delta').idle_spins == ()


def test_the_gauge_holds_the_rods_wherever_the_arms_are(delta):
    assembly = Assembly(delta)
    for drives in ([0.2, 0.2, 0.2], [-0.4, 0.8, 0.6], [1.2, 1.1, -0.2]):
        configuration = assembly.solve(drives)
        assert assembly.mobility(configuration) == 3
        assert actuation_margin(assembly, configuration) > 1e-3


def test_the_published_text_reads_back_as_the_same_robot(delta):
    again = loads(delta.urdf, delta.yaml_text)
    assert again.digest == delta.digest
    for one, other in zip(delta.constraints, again.constraints, strict=True):
        assert one.type == other.type == 'spherical'
        np.testing.assert_array_equal(one.gauge, other.gauge)


def test_a_telescopic_leg_between_ball_joints_spins_as_a_whole():
    hexapod = load('uf_pkm')
    urdf = re.sub(r'(name="leg\d_alpha" type=)"revolute"', r'\1"fixed"', hexapod.urdf)
    urdf = re.sub(
        r'(name="leg\d_beta" type=)"revolute"(.*?)<axis[^>]*>.*?</joint>',
        r'\1"spherical"\2</joint>',
        urdf,
        flags=re.DOTALL,
    )
    spinning = loads(urdf, hexapod.yaml_text)
    struts = [f'leg{n}_{part}' for n in range(1, 7) for part in ('stator', 'slider')]
    assert sorted(spin.body for spin in spinning.idle_spins) == sorted(struts)
    assert len({spin.stopped_by for spin in spinning.idle_spins}) == 6


def test_a_loop_without_a_ball_joint_that_closes_it():
    """SDF has ball joints in its tree: there, a joint that turns with the rod is fixed."""
    quattro = load(Path(pkm_description.__file__).parent / 'examples' / 'quattro.urdf.xacro')
    read = loads_sdf(build_sdf(quattro).text)
    assert sorted(spin.body for spin in read.idle_spins) == sorted(
        spin.body for spin in quattro.idle_spins
    )
    fixed = [spin.stopped_by for spin in read.idle_spins if spin.stopped_by in _fixed(read)]
    assert fixed
    assembly = Assembly(read)
    assert assembly.mobility(assembly.home()) == 4


def _fixed(description):
    return [joint.name for joint in description.joints if joint.type == 'fixed']


def test_mujoco_gets_rods_that_nothing_spins_up(delta):
    """No inertia about the axis beside that which MuJoCo asks for, and the rest as it is."""
    bodies = etree.fromstring(build_mjcf(delta).text.encode()).iter('body')
    rod = next(body for body in bodies if body.get('name') == 'rod1a').find('inertial')
    moments = sorted(float(each) for each in rod.get('diaginertia').split())
    np.testing.assert_allclose(moments, [0, 0.0064, 0.0064], atol=1e-11)
    assert float(rod.get('mass')) == pytest.approx(0.12)


@pytest.mark.parametrize(
    ('old', 'new', 'wrong'),
    [
        ('xyz="0 0 0.4"', 'xyz="0.03 0 0.4"', "'rod1a' may spin .*not round.*13.* off the axis"),
        (
            'ixx="0.0064" ixy="0" ixz="0" iyy="0.0064" iyz="0" izz="6e-06"',
            'ixx="0.0070" ixy="0" ixz="0" iyy="0.0060" iyz="0" izz="2e-03"',
            "'rod1a' may spin .*not round.*inertia is 7.7% from round",
        ),
    ],
)
def test_what_would_swing_is_refused(delta, old, new, wrong):
    assert old in delta.urdf
    with pytest.raises(DescriptionError, match=wrong):
        loads(delta.urdf.replace(old, new), delta.yaml_text.replace('- rod??.m[xy]\n', ''))


def test_a_rod_that_is_almost_round_is_remarked(delta):
    yaml_text = delta.yaml_text.replace('- rod??.m[xy]\n', '').replace('- rod??.I[xy]z\n', '')
    oval = loads(delta.urdf.replace('xyz="0 0 0.4"', 'xyz="0.002 0 0.4"'), yaml_text)
    assert any('not quite round' in text and 'rod1a' in text for text in remarks(oval))
    assert not any('not quite round' in text for text in remarks(delta))


def test_averaging_is_the_mean_over_the_turned_body():
    """Against the inertia of a cloud of points, turned about the axis in even steps."""
    rng = np.random.default_rng(5)
    points, masses = rng.normal(size=(9, 3)), rng.uniform(0.5, 1.5, 9)
    axis = np.array([0.36, 0.48, 0.8])
    point = np.cross(axis, [0.3, -0.2, 0.5])

    def standard(places):
        tensor = np.einsum('k,kij->ij', masses, _tensors(places))
        return np.array([masses.sum(), *(masses @ places), *tensor[np.triu_indices(3)]])

    def _tensors(places):
        square = np.einsum('ki,ki->k', places, places)
        return square[:, None, None] * np.eye(3) - np.einsum('ki,kj->kij', places, places)

    mean = np.zeros(10)
    for angle in 2.0 * np.pi * np.arange(12) / 12:
        k = np.cross(np.eye(3), axis)
        turn = np.eye(3) + np.sin(angle) * k + (1.0 - np.cos(angle)) * k @ k
        mean += standard((points - point) @ turn.T + point) / 12
    about = np.zeros((3, 3))
    about[np.triu_indices(3)] = mean[4:] - averaging(point, axis)[4:] @ standard(points)
    # what is left out is the moment about the axis alone
    expected = np.einsum('k,ki,ki->', masses, *[np.cross(axis, points - point)] * 2)
    np.testing.assert_allclose(about, np.triu(expected * np.outer(axis, axis)), atol=1e-12)
    np.testing.assert_allclose(
        mean[:4], (averaging(point, axis) @ standard(points))[:4], atol=1e-12
    )


class TestBallJoints:
    """`<joint type="spherical">` becomes three revolute joints."""

    def test_the_last_axis_lies_along_the_rod_and_the_first_along_the_arm_s(self, delta):
        axes = [delta.joint(f'rod2b_ball_{k}').axis for k in (1, 2, 3)]
        np.testing.assert_allclose(axes, [[0, 1, 0], [-1, 0, 0], [0, 0, 1]], atol=1e-12)
        np.testing.assert_allclose(delta.joint('rod2b_ball_1').origin.position, [0.35, -0.05, 0])
        assert np.all(delta.joint('rod2b_ball_2').origin.position == 0)

    def test_a_given_axis_is_the_last_one(self):
        delta = load('delta rods:=ball')
        assert '<joint name="rod1a_ball_1" type="continuous">' in delta.urdf
        source = _with_balls(delta.urdf, '<axis xyz="0 2 0"/>')
        axes = [loads(source, delta.yaml_text).joint(f'rod1a_ball_{k}').axis for k in (1, 2, 3)]
        np.testing.assert_allclose(axes[2], [0, 1, 0])
        np.testing.assert_allclose(np.linalg.det(axes), 1.0)

    @pytest.mark.parametrize('tag', ['dynamics damping="1"', 'limit effort="1" velocity="1"'])
    def test_friction_and_limits_are_refused(self, tag):
        delta = load('delta rods:=ball')
        with pytest.raises(
            DescriptionError, match=f"ball joint 'rod1a_ball' has <{tag.split()[0]}>"
        ):
            loads(_with_balls(delta.urdf, f'<{tag}/>'), delta.yaml_text)


def _with_balls(urdf: str, inside: str) -> str:
    """Put the first rod's ball joint back in place of its three angles."""
    start = urdf.index('<joint name="rod1a_ball_1"')
    end = urdf.index('</joint>', urdf.index('<joint name="rod1a_ball_3"')) + len('</joint>')
    ball = (
        '<joint name="rod1a_ball" type="spherical"><parent link="arm1"/><child link="rod1a"/>'
        f'<origin xyz="0.35 0.05 0" rpy="0 {np.pi!r} 0"/>{inside}</joint>'
    )
    return urdf[:start] + ball + urdf[end:]
