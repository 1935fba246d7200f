"""More drives than degrees of freedom: what the loader takes, what it refuses."""

from __future__ import annotations

import pytest
from hexapods import seven_struts

from pkm_description import DescriptionError, RedundantActuationError, export
from pkm_description.actuation.redundant_drives import coordinate_description, drive_description
from pkm_description.assembly import Assembly

SECTION = 'redundant_actuation: {drives: [drive7]'


def test_the_coordinates_are_the_drives_that_are_not_redundant():
    robot = seven_struts('redundant_actuation: {drives: [drive2]}\n')
    names = [f'drive{n}' for n in range(1, 8)]
    assert robot.driven_joints == robot.actuated_joints == names
    assert robot.coordinate_joints == [name for name in names if name != 'drive2']
    core = coordinate_description(robot)
    assert core.actuated_joints == robot.coordinate_joints
    assert [each.joint for each in core.followers] == ['drive2']
    assert core.digest == robot.digest
    assert coordinate_description(core) is core
    again = drive_description(core)
    assert again.actuators == robot.actuators and not again.followers
    assert drive_description(robot) is robot
    assembly = Assembly(robot)
    assert assembly.mobility(assembly.home()) == 6
    positions = {name: robot.home_joints[name] for name in robot.coordinate_joints}
    closed = assembly.solve({**positions, 'drive1': positions['drive1'] + 0.02})
    assert assembly.platform_pose(closed).position[2] != pytest.approx(0.7, abs=1e-4)


def test_scale_and_preload_have_defaults():
    found = seven_struts(f'{SECTION}, scale: {{drive3: 7}}, preload: {{drive7: -40}}}}\n')
    redundant = found.redundant_actuation
    assert redundant.scale.tolist() == [500, 500, 7, 500, 500, 500, 500]
    assert redundant.preload.tolist() == [0, 0, 0, 0, 0, 0, -40]


def test_drives_that_are_not_declared_redundant_are_an_error_that_says_how():
    with pytest.raises(DescriptionError, match=r'redundant_actuation: \{drives: \[drive7\]\}'):
        seven_struts('')


@pytest.mark.parametrize(
    'section, message',
    [
        ('redundant_actuation: {drives: [drive8]}', "drives names 'drive8', which is no joint"),
        ('redundant_actuation: {drives: [drive7, drive7]}', "lists 'drive7' twice"),
        ('redundant_actuation: {drives: []}', 'at least one drive'),
        ('redundant_actuation: {drives: drive7}', 'must be a list'),
        ('redundant_actuation: {drives: [drive6, drive7]}', 'mobility 6.*5 actuated joints.*'),
        (f'{SECTION}, weight: 1}}', 'weight'),
        (f'{SECTION}, scale: {{drive1: 0}}}}', 'scale.drive1 must be positive'),
        (f'{SECTION}, preload: {{drive9: 1}}}}', "preload names 'drive9'"),
    ],
)
def test_mistakes_are_named(section, message):
    with pytest.raises(DescriptionError, match=message):
        seven_struts(f'{section}\n')


@pytest.mark.parametrize(
    'more, feature',
    [
        ('drives: {drive7: {offset: 1}}', 'a drive term'),
        ('friction: {drive1: {model: load, load: 0.1}}', 'friction by load'),
        ('transmissions: {gear: {joints: [drive1], reduction: 50}}', 'a transmission'),
        ('free_joints: [first1]', 'a free joint'),
    ],
)
def test_what_does_not_go_with_it_is_refused_by_name(more, feature):
    with pytest.raises(RedundantActuationError, match=rf"'hexapod'.*\(drive7\): {feature} is not"):
        seven_struts(f'{SECTION}}}\n{more}\n')


def test_exports_are_refused():
    with pytest.raises(RedundantActuationError, match=r"'hexapod'.*\(drive7\): an export"):
        export(seven_struts(), 'urdf')
