"""Universal Robots UR10: a bag of joint states with torques."""

from __future__ import annotations

from math import pi
from pathlib import Path

from arm_urdf import Axis, arm_urdf
from bag_part import BagPart
from real_log import Converted, RealLog

JOINTS = (
    'shoulder_pan_joint',
    'shoulder_lift_joint',
    'elbow_joint',
    'wrist_1_joint',
    'wrist_2_joint',
    'wrist_3_joint',
)
BAG = 'ur10_inverse_dynamics_solver/bagfiles/ur10_exciting_trajectory.db3'
AXES = (
    Axis(0.0, 0.0, 0.1273, effort=330, velocity=2.1, mass=7.1),
    Axis(0.0, pi / 2, 0.0, effort=330, velocity=2.1, mass=12.7),
    Axis(-0.612, 0.0, 0.0, effort=150, velocity=3.2, mass=4.3),
    Axis(-0.5723, 0.0, 0.163941, effort=56, velocity=3.2, mass=2.0),
    Axis(0.0, pi / 2, 0.1157, effort=56, velocity=3.2, mass=2.0),
    Axis(0.0, -pi / 2, 0.0922, effort=56, velocity=3.2, mass=0.4),
)


def convert(source: Path) -> Converted:
    """Cut the bag in two."""
    parts = {'train': BagPart(source / BAG, 0.0, 0.7), 'test': BagPart(source / BAG, 0.7, 1.0)}
    return Converted(JOINTS, arm_urdf('ur10', AXES, JOINTS), SIDECAR, parts)


SIDECAR = """title: Universal Robots UR10 without tool
home: {joints: {shoulder_pan_joint: 0, shoulder_lift_joint: -1.57, elbow_joint: 0.5,
  wrist_1_joint: -1.57, wrist_2_joint: 0.5, wrist_3_joint: 0}}
transition_velocity: 0.01
sources: {'*.origin': 'Denavit-Hartenberg parameters of the manufacturer', '*.mass': manufacturer}
"""

LOG = RealLog(
    name='ur10_bag',
    robot='Universal Robots UR10, six axes',
    source='https://github.com/unisa-acg/inverse-dynamics-solver, commit 41e196d; V. Petrone, '
    'E. Ferrentino, P. Chiacchio, IEEE Trans. Industrial Informatics 2025',
    licence='BSD-3-Clause',
    conventions='sensor_msgs/JointState at 125 Hz, even stamps; efforts [N m] are motor currents '
    'times the drive gains that the authors identified.',
    split='one motion of 27.5 s: the first 70 % train, the last 30 % test',
    convert=convert,
)
