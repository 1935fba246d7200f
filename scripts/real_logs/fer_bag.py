"""Franka Emika Robot: a bag of joint states at the 30 Hz of the driver's default."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from arm_urdf import arm_urdf
from bag_part import BagPart
from panda import AXES, SIDECAR
from real_log import Converted, RealLog

JOINTS = tuple(f'fer_joint{number}' for number in range(1, 8))
BAG = 'franka_inria_inverse_dynamics_solver/bagfiles/panda_exciting_trajectory.db3'


def convert(source: Path) -> Converted:
    """Cut the bag in two."""
    parts = {'train': BagPart(source / BAG, 0.0, 0.7), 'test': BagPart(source / BAG, 0.7, 1.0)}
    axes = [replace(axis, velocity=2.61) for axis in AXES]
    sidecar = SIDECAR.replace('panda_joint', 'fer_joint')
    return Converted(JOINTS, arm_urdf('fer', axes, JOINTS), sidecar, parts)


LOG = RealLog(
    name='fer_bag',
    robot='Franka Emika Robot (Panda), seven axes',
    source='https://github.com/unisa-acg/inverse-dynamics-solver, commit 41e196d',
    licence='BSD-3-Clause',
    conventions='sensor_msgs/JointState at 30 Hz, stamps jitter by 1 %, 2 % of the samples repeat '
    'the one before; efforts [N m] of the torque sensors, gravity included.',
    split='one motion of 24 s: the first 70 % train, the last 30 % test',
    convert=convert,
)
