"""Hydraulic cylinders: what the loader takes, what it refuses."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hexapods import seven_struts
from mechanisms import five_bar
from yaml import safe_load

import pkm_description
from pkm_description import DescriptionError, RedundantActuationError, build_export
from pkm_description.actuation.hydraulic_drives import HYDRAULIC_KEYS, read_hydraulics
from pkm_description.sidecar_sections import check_sections


def changed(robot, **section):
    """The robot with another section, or with keys of it that are other or, None, missing."""
    found = {**robot.sidecar.get('hydraulics', {}), **section}
    found = {key: value for key, value in found.items() if value is not None}
    return dataclasses.replace(robot, sidecar={**robot.sidecar, 'hydraulics': found})


@pytest.fixture(scope='module')
def msi():
    return pkm_description.load('msi')


def test_numbers_of_the_library(msi):
    drives = read_hydraulics(msi)
    limits = [msi.joint(name).limit for name in msi.actuated_joints]
    np.testing.assert_allclose(drives.largest_force, [each.effort for each in limits], rtol=1e-4)
    np.testing.assert_allclose(drives.largest_speed, [each.velocity for each in limits], rtol=1e-4)
    np.testing.assert_allclose(drives.middle, 0.5 * (0.76 + 1.07))
    assert read_hydraulics(pkm_description.load('palida')) is None


def test_values_by_joint_and_without_leakage(msi):
    areas = {name: 7e-4 + 1e-6 * k for k, name in enumerate(msi.actuated_joints)}
    drives = read_hydraulics(changed(msi, piston_area=areas, leakage=None))
    np.testing.assert_array_equal(drives.piston_area, list(areas.values()))
    assert not drives.leakage.any()
    oil = 4 * 1.2e9 * np.array(list(areas.values())) ** 2 / 2.8786e-4
    np.testing.assert_allclose(drives.stiffness, oil)


@pytest.mark.parametrize(
    ('section', 'message'),
    [
        ({'piston': 1.0}, "unknown key 'piston'.*keys are supply_pressure"),
        ({'bulk_modulus': None}, "hydraulics has no 'bulk_modulus'"),
        ({'bulk_modulus': 0.0}, r'hydraulics.bulk_modulus must be positive, not 0'),
        ({'leakage': -1e-12}, r'hydraulics.leakage must not be negative'),
        ({'valve_damping': float('nan')}, 'valve_damping must be a finite number'),
        ({'piston_area': {'leg1_strut': 7e-4}}, "piston_area has no 'leg2_strut'"),
        ({'piston_area': {'leg7_strut': 7e-4}}, "piston_area has the unknown key 'leg7_strut'"),
        ({'valve_natural_frequency': 2e4}, 'valve_natural_frequency must be at most 10000'),
        ({'valve_damping': 200.0}, 'valve_damping must be at most 10'),
        ({'chamber_volume': 1e-4}, 'is not more than the piston of joint .leg1_strut. sweeps'),
    ],
)
def test_what_is_wrong_is_named(msi, section, message):
    with pytest.raises(DescriptionError, match=message):
        check_sections(changed(msi, **section))


def test_a_drive_that_turns_is_no_cylinder(msi):
    section = {key: 1.0 for key in HYDRAULIC_KEYS}
    robot = five_bar()
    with pytest.raises(DescriptionError, match=f"'{robot.actuated_joints[0]}' is no cylinder"):
        read_hydraulics(changed(robot, **section))


def test_what_else_drives_a_joint_is_no_cylinder(msi):
    section = msi.sidecar['hydraulics']
    motors = pkm_description.with_force_constants(msi, dict.fromkeys(msi.actuated_joints, 5.0))
    with pytest.raises(DescriptionError, match="'leg1_strut' has a force constant"):
        read_hydraulics(motors)
    with pytest.raises(DescriptionError, match='has no drive'):
        cart = pkm_description.load('cart_pendulum')
        bare = tuple(dataclasses.replace(each, force_constant=np.nan) for each in cart.actuators)
        read_hydraulics(changed(dataclasses.replace(cart, actuators=bare[::-1]), **section))
    with pytest.raises(RedundantActuationError, match='hydraulics'):
        read_hydraulics(
            changed(seven_struts('redundant_actuation: {drives: [drive7]}\n'), **section)
        )


def test_the_oil_is_stiffest_at_the_ends(msi):
    drives = read_hydraulics(msi)
    one, other = (
        0.5 * drives.chamber_volume + k * drives.piston_area * drives.reach for k in (1, -1)
    )
    expected = drives.bulk_modulus * drives.piston_area**2 * (1 / one + 1 / other)
    np.testing.assert_allclose(drives.stiffest, expected)
    assert np.all(drives.stiffest > 1.5 * drives.stiffness)


@pytest.mark.parametrize('format', ['mjcf', 'sdf'])
def test_exports_say_that_the_oil_is_lost(msi, format):
    lost = build_export(msi, format).losses
    assert sum('hydraulic cylinders' in each for each in lost) == 1
    assert 'hydraulics' in safe_load(build_export(msi, 'urdf').sidecar)
