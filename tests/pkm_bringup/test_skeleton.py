"""Rails and telescopes: what a slide looks like does not depend on where its zero is."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from page_examples import write_files

from pkm_bringup.scene.skeleton import Skeleton
from pkm_description import load
from pkm_dynamics import ClosedChainModel

PAGE = Path(__file__).resolve().parents[2] / 'doc' / 'own_robot.md'
INERTIAL = (
    '<inertial><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/>'
    '</inertial>'
)
HANGING = f"""<robot name="hanging">
  <link name="base_link"/>
  <link name="tube">{INERTIAL}</link>
  <link name="platform">{INERTIAL}</link>
  <joint name="swing" type="revolute">
    <parent link="base_link"/> <child link="tube"/> <axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" velocity="1" effort="1"/>
  </joint>
  <joint name="strut" type="prismatic">
    <parent link="tube"/> <child link="platform"/> <axis xyz="AXIS 0 0"/>
    <limit lower="LOWER" upper="UPPER" velocity="1" effort="1"/>
  </joint>
  <ros2_control name="hanging" type="system">
    <joint name="swing"><command_interface name="effort"/></joint>
    <joint name="strut"><command_interface name="effort"/></joint>
  </ros2_control>
</robot>
"""


def hanging(folder: Path, **values: float) -> Skeleton:
    """A telescope on a hinge of the base, at 0.6 m along x."""
    text = re.sub('AXIS|LOWER|UPPER', lambda name: str(values[name[0].lower()]), HANGING)
    (folder / 'hanging.urdf').write_text(text)
    home = 0.6 * values['axis']
    (folder / 'hanging.yaml').write_text(f'home: {{joints: {{strut: {home}}}}}\n')
    return Skeleton(ClosedChainModel(load(folder / 'hanging.urdf')))


def extent(skeleton: Skeleton, link: str) -> np.ndarray:
    """Corners of the box around a link, in its frame [m]."""
    mesh = skeleton.link(link)
    assert mesh is not None
    return np.array([mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)])


def test_equal_drives_on_a_rail_look_alike(tmp_path: Path) -> None:
    write_files(PAGE.read_text(encoding='utf-8'), tmp_path)
    skeleton = Skeleton(ClosedChainModel(load(tmp_path / 'biglide.urdf')))
    left, right = (extent(skeleton, f'{side}_carriage') for side in ('left', 'right'))
    assert left == pytest.approx(right)
    rails = extent(skeleton, 'base_link')
    assert rails[:, 0] == pytest.approx([-0.5, 0.5])


def test_a_telescope_may_count_against_its_axis(tmp_path: Path) -> None:
    along = hanging(tmp_path, axis=1.0, lower=0.4, upper=0.8)
    against = hanging(tmp_path, axis=-1.0, lower=-0.8, upper=-0.4)
    for link in ('tube', 'platform'):
        assert extent(along, link) == pytest.approx(extent(against, link)), link
    assert extent(along, 'tube')[1, 0] == pytest.approx(0.4)
    assert extent(along, 'platform')[0, 0] == pytest.approx(-0.4)
