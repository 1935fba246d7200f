"""The robots of the library: they load, close and move, and every number says where it is from."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import numpy as np
import pytest
import yaml
from number_sources import STATUSES, idle_sources, numbers_of, source_of, unsourced

import pkm_description
from pkm_description import DescriptionError
from pkm_description.assembly import Assembly

PACKAGE = Path(__file__).resolve().parents[2] / 'pkm_description'
HEXAPODS = ('palida', 'msi', 'uf_pkm', 'hexel', 'ford')

#: Masses [kg]: the papers' where they print them. Links not named here have none.
MASSES = {
    'palida': {'platform': 3.107, 'ring': 1.2, 'stator': 6.0, 'slider': 2.2},
    'msi': {'platform': 62.0, 'stator': 22.0, 'slider': 7.0},
    'uf_pkm': {'platform': 4.82, 'stator': 7.72, 'slider': 1.79},
    'hexel': {'platform': 93.0, 'stator': 2.11, 'slider': 4.64},
    'ford': {'platform': 7500.0, 'stator': 100.0, 'slider': 54.5},
    'rps_upv': {'platform': 10.845, 'stator': 6.0, 'slider': 1.8},
    'h4': {'platform': 0.7914},
    'delta': {'platform': 0.6, 'arm': 1.2, 'rod': 0.12},
    'five_bar': {'platform': 0.4, 'arm': 0.9, 'forearm': 0.5},
    'four_bar': {'platform': 1.2, 'crank': 0.6, 'rocker': 0.8},
    'serial_arm': {
        'platform': 0.5,
        'column': 8.0,
        'upper_arm': 6.5,
        'forearm': 3.8,
        'wrist_roll': 1.6,
        'wrist_pitch': 0.9,
    },
    'cart_pendulum': {'platform': 0.5, 'lower_pendulum': 0.75, 'cart': 1.5},
}

#: Degrees of freedom, bodies with mass, loops.
COUNTS = {
    'palida': (6, 19, 6),
    'msi': (6, 13, 6),
    'uf_pkm': (6, 13, 6),
    'hexel': (6, 13, 6),
    'ford': (6, 13, 6),
    'rps_upv': (3, 7, 3),
    'h4': (4, 1, 8),
    'delta': (3, 10, 6),
    'five_bar': (2, 5, 1),
    'four_bar': (1, 3, 1),
    'serial_arm': (6, 6, 0),
    'cart_pendulum': (3, 3, 0),
}

#: Joints A in the base and B in the platform of the first and the fourth strut, home height,
#: and strut lengths at home [m], as the papers' geometry was worked out by hand (to 1e-6).
HEXAPOD_GEOMETRY = {
    'msi': (
        ((0.595528, -0.073122, 0.0), (-0.361089, 0.479181, 0.0)),
        ((0.197012, -0.252163, -0.06), (-0.316886, 0.044535, -0.06)),
        0.86,
        (0.9115, 0.9115),
    ),
    'uf_pkm': (
        ((0.0, 0.46927, 0.0), (-0.16256, -0.234635, 0.0)),
        ((0.12192, 0.175976, 0.0), (0.0, -0.351953, 0.0)),
        -0.35,
        (0.4726, 0.4033),
    ),
    'hexel': (
        ((0.330764, -0.1007, 0.0), (-0.252591, 0.2361, 0.0)),
        ((0.175976, -0.3048, 0.0), (-0.351953, 0.0, 0.0)),
        -0.6,
        (0.652, 0.652),
    ),
    'ford': (
        ((2.041568, -0.3705, 0.0), (-1.341647, 1.5828, 0.0)),
        ((1.150428, -1.7634, 0.0), (-2.102363, 0.1146, 0.0)),
        3.3,
        (3.691, 3.691),
    ),
}


@pytest.fixture(scope='module')
def robots():
    return {name: pkm_description.load(name) for name in pkm_description.library()}


def test_library_is_complete():
    assert set(pkm_description.library()) == set(COUNTS) == set(MASSES)


@pytest.mark.parametrize('name', COUNTS)
def test_mobility_and_home(robots, name):
    robot = robots[name]
    freedom, bodies, loops = COUNTS[name]
    assembly = Assembly(robot)
    home = assembly.home()
    residual, _ = assembly.closure(home)
    assert np.max(np.abs(residual), initial=0.0) < 1e-9
    assert assembly.mobility(home) == freedom == len(robot.actuated_joints)
    assert sum(link.inertial is not None for link in robot.links) == bodies
    assert len(robot.constraints) == loops
    for joint in robot.scalar_joints:
        limit, place = robot.joint(joint).limit, robot.home_joints[joint]
        margin = 0.08 * (limit.upper - limit.lower)
        assert np.isfinite(margin), f'{joint} has no limits'
        assert limit.lower + margin < place < limit.upper - margin, f'{joint} at a limit'
        assert np.isfinite(limit.velocity)
        assert np.isfinite(limit.effort)


@pytest.mark.parametrize('name', MASSES)
def test_masses(robots, name):
    expected = MASSES[name]
    found = {}
    for link in robots[name].links:
        if link.inertial is None:
            continue
        kind = next(
            k for k in sorted(expected, key=len, reverse=True) if k in link.name
        )  # 'forearm' before 'arm'
        found.setdefault(kind, set()).add(link.inertial.mass)
    assert found == {kind: {mass} for kind, mass in expected.items()}


@pytest.mark.parametrize('name', HEXAPOD_GEOMETRY)
def test_hexapod_geometry(robots, name):
    robot = robots[name]
    bases, tops, height, lengths = HEXAPOD_GEOMETRY[name]
    np.testing.assert_allclose(robot.home.position, [0.0, 0.0, height])
    tops_found = {c.name: c.child_origin.position for c in robot.constraints}
    for leg, base, top, length in zip((1, 4), bases, tops, lengths, strict=True):
        np.testing.assert_allclose(robot.joint(f'leg{leg}_alpha').origin.position, base, atol=1e-6)
        np.testing.assert_allclose(tops_found[f'leg{leg}_top'], top, atol=1e-6)
        assert robot.home_joints[f'leg{leg}_strut'] == pytest.approx(length, abs=5e-4)


def test_hexel_struts_meet_in_three_platform_points(robots):
    tops = np.array([c.child_origin.position for c in robots['hexel'].constraints])
    for first, second in ((1, 2), (3, 4), (5, 0)):
        np.testing.assert_allclose(tops[first], tops[second], atol=1e-12)
    distances = np.linalg.norm(tops[[0, 1, 3]] - tops[[1, 3, 0]], axis=1)
    np.testing.assert_allclose(distances, 0.6096, rtol=1e-12)


def test_rps_platform_frame_and_drives(robots):
    """[M]: B1 is the origin, B2 on x, B3 towards y; rotor and screw 483.1 kg a drive."""
    robot = robots['rps_upv']
    tops = np.array([c.child_origin.position for c in robot.constraints])
    np.testing.assert_allclose(
        tops, [[0, 0, 0], [0.4563, 0, 0], [0.22815, 0.39516739, 0]], atol=1e-8
    )
    assert [a.rotor_inertia for a in robot.actuators] == [483.1] * 3
    frictions = {robot.joint(name).friction for name in robot.actuated_joints}
    assert {(f.model, f.coulomb, f.coulomb_negative, f.viscous) for f in frictions} == {
        ('asymmetric', 227.96, 228.04, 3272.0)
    }
    inertias = {link.name: link.inertial for link in robot.links if link.inertial}
    about_axis = sum(
        inertias[f'leg2_{part}'].standard_parameters()[7] for part in ('stator', 'slider')
    )
    assert about_axis == pytest.approx(0.1555, abs=1e-6)  # [M] Table 5, p16


@pytest.mark.parametrize('name', COUNTS)
def test_every_number_has_a_source(robots, name):
    assert unsourced(robots[name]) == []
    assert idle_sources(robots[name]) == []


@pytest.mark.parametrize('name', ['uf_pkm', 'h4'])
def test_removing_any_source_is_noticed(robots, name):
    robot = robots[name]
    sources = robot.sidecar['sources']
    assert len(numbers_of(robot)) > 50
    for key in sources:
        rest = {other: text for other, text in sources.items() if other != key}
        reduced = dataclasses.replace(robot, sidecar={**robot.sidecar, 'sources': rest})
        lost = unsourced(reduced)
        covered_twice = all(
            source_of(reduced, number) is not None
            for number in numbers_of(robot)
            if source_of(robot, number) == sources[key]
        )
        assert lost or covered_twice, f"nothing depends on the source '{key}'"


def test_a_new_number_needs_a_source():
    robot = pkm_description.load('rps_upv')
    text = robot.yaml_text.replace('notes:\n', 'notes:\n  made_up: 3.0\n')
    assert unsourced(pkm_description.loads(robot.urdf, text)) == ['notes.made_up']
    urdf = robot.urdf.replace('<axis xyz="0 1 0"/>', '<axis xyz="0 1 0"/><dynamics damping="2"/>')
    assert unsourced(pkm_description.loads(urdf, robot.yaml_text)) == [
        f'leg{k}_hinge.damping' for k in (1, 2, 3)
    ]


@pytest.mark.parametrize('text', ['somewhere', 3, None])
def test_a_source_says_its_status(text):
    robot = pkm_description.load('five_bar')
    content = yaml.safe_load(robot.yaml_text)
    content['sources']['gravity'] = text
    changed = pkm_description.loads(robot.urdf, yaml.safe_dump(content))
    with pytest.raises(DescriptionError, match=f"'gravity' must .*{', '.join(STATUSES)}"):
        unsourced(changed)


@pytest.mark.parametrize('name', HEXAPODS)
def test_struts_of_one_design_share_parameters(robots, name):
    groups = robots[name].same_design
    for part in ('stator', 'slider'):
        assert tuple(f'leg{k}_{part}' for k in range(1, 7)) in groups


@pytest.mark.parametrize('name', COUNTS)
def test_robots_can_be_drawn(robots, name):
    """The link `platform` and every body with mass that others hang on have a shape."""
    shapes = {number for number in numbers_of(robots[name]) if number.endswith('.shape')}
    massive = {link.name for link in robots[name].links if link.inertial is not None}
    ringless = {link for link in massive if not link.endswith('_ring')}
    assert {f'{link}.shape' for link in ringless} <= shapes


@pytest.mark.parametrize('name', COUNTS)
def test_text_alone_rebuilds_a_robot(robots, name):
    """A bag holds texts: shared xacro files must be expanded into them."""
    robot = robots[name]
    again = pkm_description.loads(robot.urdf, robot.yaml_text)
    assert again.digest == robot.digest
    assert 'xacro' not in robot.urdf
    assert again.home_joints == pytest.approx(robot.home_joints)


def test_the_readme_shows_every_robot_with_its_counts():
    """A row a robot: picture, name, degrees of freedom, bodies with mass, loops."""
    row = r'^\| <img src="(\w+)\.png"[^|]*\| `(\w+)`:[^|]*\| (\d+) \| (\d+) \| (\d+) \|'
    text = (PACKAGE / 'doc' / 'robots.md').read_text()
    found = {}
    for picture, name, *counts in re.findall(row, text, re.MULTILINE):
        assert picture == name
        found[name] = tuple(int(count) for count in counts)
    assert found == COUNTS
    of_example = r'^\| <img src="(\w+)\.png"[^|]*\| `(\w+)` \| (\d+) \|'
    examples = re.findall(of_example, text, re.MULTILINE)
    assert sorted(name for _, name, _ in examples) == pkm_description.examples()
    for picture, name, freedom in examples:
        robot = pkm_description.load(name)
        beyond = robot.redundant_actuation
        drives = len(robot.actuators) - (len(beyond.drives) if beyond else 0)
        assert (picture, int(freedom)) == (name, drives)
    for name in (*COUNTS, *pkm_description.examples()):
        picture = (PACKAGE / 'doc' / f'{name}.png').read_bytes()
        assert picture[:8] == b'\x89PNG\r\n\x1a\n'
        assert 2_000 < len(picture) < 60_000


@pytest.mark.parametrize(
    ('robot', 'number', 'status'),
    [
        ('palida', 'simulation.position_noise.standard_deviation', 'assumed'),  # [H]: repeatability
        ('palida', 'simulation.force_noise.standard_deviation', 'derived'),  # [A] prints variances
        ('palida', 'leg1_strut.effort', 'paper'),
        ('ford', 'leg1_alpha.origin', 'assumed'),  # the scale is
        ('ford', 'leg1_top.child_origin', 'assumed'),
        ('hexel', 'leg1_alpha.origin', 'derived'),
    ],
)
def test_status_is_that_of_the_weakest_part(robots, robot, number, status):
    assert source_of(robots[robot], number).startswith(status)
