"""Hydraulic cylinders: what the loader takes, what it refuses."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from mechanisms import five_bar

import pkm_description
from pkm_description import DescriptionError
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
