"""Inertias that exporters move, divide and make up, against the bodies put together again."""

import dataclasses

import numpy as np
import pytest
from urdf_builder import control, inertial, joint, robot

from pkm_description import Inertial, loads
from pkm_description.description import Pose
from pkm_description.exporters.inertias import TINY_INERTIA, TINY_MASS, StandIns, scaled, without
from pkm_description.payload import joined
from pkm_description.rotation_formats import rotation_from_rpy

FIRST = Pose(np.array([1.0, -2.0, 0.5]), rotation_from_rpy((0.3, -0.7, 1.1)))
SECOND = Pose(np.array([0.2, 0.4, -0.9]), rotation_from_rpy((-1.2, 0.4, 0.6)))
BODY = Inertial(
    2.0, np.array([0.1, 0.2, -0.3]), np.array([[0.5, 0.1, 0], [0.1, 0.4, 0], [0, 0, 0.3]])
)


def matrix(pose):
    found = np.eye(4)
    found[:3, :3], found[:3, 3] = pose.rotation, pose.position
    return found


def assert_same_body(found, expected, atol=1e-15):
    assert found.mass == pytest.approx(expected.mass, rel=1e-14)
    np.testing.assert_allclose(found.com, expected.com, rtol=0, atol=atol)
    np.testing.assert_allclose(found.inertia, expected.inertia, rtol=0, atol=atol)


def test_poses_follow_each_other_and_turn_round_as_matrices_do():
    np.testing.assert_allclose(matrix(FIRST @ SECOND), matrix(FIRST) @ matrix(SECOND))
    np.testing.assert_allclose(matrix(FIRST.inverse()), np.linalg.inv(matrix(FIRST)), atol=1e-15)


def test_a_body_in_the_axes_of_another_frame():
    """Its points are the same: moments about the link's axes are found again from the frame."""
    found = BODY.seen_from(FIRST)
    assert found.mass == 2.0
    np.testing.assert_allclose(FIRST.position + FIRST.rotation @ found.com, BODY.com)
    turned = FIRST.rotation @ found.inertia @ FIRST.rotation.T
    np.testing.assert_allclose(turned, BODY.inertia, atol=1e-15)


def test_a_body_of_another_density():
    found = scaled(BODY, 0.25)
    assert_same_body(found, Inertial(0.5, BODY.com, 0.25 * BODY.inertia))


def test_what_is_left_and_what_was_taken_are_the_whole():
    part = Inertial(0.5, np.array([-0.1, 0.05, 0.2]), np.diag([0.01, 0.02, 0.015]))
    assert_same_body(without(joined(BODY, part), part), BODY)


def test_nothing_is_taken_that_leaves_no_rigid_body():
    """Mass, principal moments and triangle inequality of what is left, each at its border."""
    zero = np.zeros(3)

    def left(mass, *moments):
        whole = Inertial(2.0, zero, np.diag([4.0, 4.0, 4.0]))
        part = Inertial(2.0 - mass, zero, np.diag(4.0 - np.array(moments)))
        return without(whole, part)

    assert left(0.5, 1.0, 2.0, 2.5).mass == 0.5
    assert left(1e-9, 1.0, 2.0, 2.5) is not None
    assert left(0.0, 1.0, 2.0, 2.5) is None
    assert left(-0.5, 1.0, 2.0, 2.5) is None
    assert left(0.5, 1e-3, 2.0, 2.0) is not None
    assert left(0.5, 0.0, 2.0, 2.0) is None
    assert left(0.5, -0.5, 2.0, 2.0) is None
    assert left(0.5, 1.0, 2.0, 3.0) is not None  # a plate
    assert left(0.5, 1.0, 2.0, 3.0 + 1e-6) is None
    assert left(0.5, 1.0, 1.0, 3.0) is None
    assert left(0.5, 0.25, 0.25, 0.375) is not None


MASS, PLACE = 1.0, (0.4, 0.1, 0.2)


def chain(*links, massless=(), welded=True, masses=(), **kinds):
    """Stand-ins of a chain of links on revolute joints, but for other `kinds` (name: kind)."""
    parts, parent, driven = ['<link name="base_link"/>'], 'base_link', []
    for name in (*links, 'platform'):
        mass = dict(masses).get(name, MASS)
        inside = inertial(mass, (0.02, 0.01, -0.03), mass * np.diag([0.3, 0.25, 0.2]))
        parts.append(f'<link name="{name}">{"" if name in massless else inside}</link>')
        kind, place = kinds.get(name, 'revolute'), PLACE
        if kind == 'here':  # revolute, and its axis goes through the parent's origin
            kind, place = 'revolute', (0.0, 0.0, 0.0)
        free = kind == 'fixed'
        axis, limit = (None, None) if free else ((0, 0, 1), (-1, 1, 1, 1))
        parts.append(joint(f'to_{name}', kind, parent, name, place, (0.1, 0.2, 0.3), axis, limit))
        driven += [] if free else [f'to_{name}']
        parent = name
    description = loads(robot('chain', [*parts, control(driven)]))
    found = StandIns(description, welded)
    return description, found


def taken(description, found, donor, place, tensor=0.0):
    """Whether a donor and what was taken at a place in it are the donor that is described."""
    point = Inertial(TINY_MASS, np.array(place), tensor * np.eye(3))
    assert_same_body(joined(found.inertials[donor], point), description.link(donor).inertial, 1e-15)


STAND_IN = Inertial(TINY_MASS, np.zeros(3), TINY_INERTIA * np.eye(3))
ONLY_TURNING = "link '{}' has no mass: 1e-12 kg m^2 are added to it"
ALL_ADDED = "link '{}' has no mass: 1e-10 kg and 1e-12 kg m^2 are added to it"


def untouched(description, found, *names):
    for name in names:
        assert found.inertials[name] is description.link(name).inertial


def test_the_mass_of_a_hinged_link_comes_from_the_link_that_it_turns_on():
    description, found = chain('a', 'b', massless=['b'])
    assert_same_body(found.inertials['b'], STAND_IN)
    taken(description, found, 'a', PLACE)
    untouched(description, found, 'platform')
    assert found.losses == [ONLY_TURNING.format('b')]
    assert found.moving == {'a', 'b', 'platform'}


def test_the_mass_of_a_ring_comes_from_the_link_that_turns_about_its_centre():
    """The link before it slides, so that its origin is no fixed point there."""
    description, found = chain('a', 'b', massless=['b'], b='prismatic', platform='here')
    taken(description, found, 'platform', (0.0, 0.0, 0.0))
    untouched(description, found, 'a')
    assert found.losses == [ONLY_TURNING.format('b')]


def test_the_mass_of_a_ring_comes_from_one_neighbour_only():
    description, found = chain('a', 'b', massless=['b'], platform='here')
    taken(description, found, 'a', PLACE)
    untouched(description, found, 'platform')
    assert found.losses == [ONLY_TURNING.format('b')]


def test_mass_is_made_up_where_no_neighbour_has_it():
    for kinds in ({'b': 'prismatic'}, {'b': 'prismatic', 'platform': 'prismatic'}):
        description, found = chain('a', 'b', massless=['b'], **kinds)
        assert_same_body(found.inertials['b'], STAND_IN)
        untouched(description, found, 'a', 'platform')
        assert found.losses == [ALL_ADDED.format('b')]


def test_mass_is_made_up_where_the_neighbour_is_too_light_or_has_none():
    description, found = chain('a', 'b', massless=['b'], masses=[('a', 0.5e-10)])
    untouched(description, found, 'a', 'platform')
    assert found.losses == [ALL_ADDED.format('b')]
    description, found = chain('a', 'b', 'c', massless=['b', 'c'])
    taken(description, found, 'a', PLACE)
    assert_same_body(found.inertials['b'], STAND_IN)
    assert_same_body(found.inertials['c'], STAND_IN)
    assert found.losses == [ONLY_TURNING.format('b'), ALL_ADDED.format('c')]


def test_mass_on_a_hinge_of_the_base_moves_nothing():
    description, found = chain('a', 'b', massless=['a'])
    assert_same_body(found.inertials['a'], STAND_IN)
    untouched(description, found, 'b', 'platform')
    assert found.losses == [ONLY_TURNING.format('a')]
    _, sliding = chain('a', 'b', massless=['a'], a='prismatic')
    assert sliding.losses == [ALL_ADDED.format('a')]


def test_a_link_that_is_fixed_to_a_body_takes_all_of_it_from_there():
    """From the body that it is fixed to, or from one that is fixed to it; nothing is lost."""
    description, found = chain('a', 'b', massless=['b'], b='fixed')
    assert_same_body(found.inertials['b'], STAND_IN)
    taken(description, found, 'a', PLACE, TINY_INERTIA)
    untouched(description, found, 'platform')
    assert found.losses == []
    description, found = chain('a', 'b', massless=['b'], platform='fixed')
    place = description.joint('to_platform').origin.inverse().position
    taken(description, found, 'platform', place, TINY_INERTIA)
    untouched(description, found, 'a')
    assert found.losses == []


def test_fixed_links_need_none_where_a_tool_takes_them_without():
    description, found = chain('a', 'b', massless=['b'], b='fixed', welded=False)
    assert found.inertials['b'] is None and found.losses == []
    untouched(description, found, 'a', 'platform')
    _, moving = chain('a', 'b', massless=['b'], welded=False)
    assert_same_body(moving.inertials['b'], STAND_IN)


def test_what_stands_still_gets_an_inertia_that_nobody_feels():
    """Fixed to the base: no loss, and nobody gives anything for it."""
    description, found = chain('a', 'b', massless=['a'], a='fixed')
    assert_same_body(found.inertials['a'], STAND_IN)
    untouched(description, found, 'b', 'platform')
    assert found.losses == [] and found.moving == {'b', 'platform'}
    assert found.inertials['base_link'] is None


def test_a_mass_of_zero_is_none():
    description, _ = chain('a')
    links = tuple(
        dataclasses.replace(link, inertial=Inertial(0.0, np.zeros(3), np.zeros((3, 3))))
        if link.name == 'a'
        else link
        for link in description.links
    )
    found = StandIns(dataclasses.replace(description, links=links), welded=False)
    assert_same_body(found.inertials['a'], STAND_IN)
    assert found.losses == [ONLY_TURNING.format('a')]
