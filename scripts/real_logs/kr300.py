"""KUKA KR 300 R2500 ultra: three motions, positions and torques of the motors."""

from __future__ import annotations

from math import pi
from pathlib import Path

import numpy as np
from arm_urdf import Axis, arm_urdf
from real_log import Converted, RealLog, Samples, found
from scipy.io import loadmat

JOINTS = tuple(f'joint_{number}' for number in range(1, 7))
RECORDINGS = {'train_1': 'A', 'train_2': 'B', 'test': 'C'}
#: Turns of a motor per turn of its joint.
GEARS = np.array([1798 / 7, 1872 / 7, 757 / 3, 221, 5032 / 21, 206793 / 1340])
AXES = (
    Axis(0.0, pi, -0.675, effort=12e3, velocity=1.8, mass=395),
    Axis(0.35, pi / 2, 0.0, effort=12e3, velocity=1.6, mass=339),
    Axis(1.15, 0.0, 0.0, pi / 2, effort=12e3, velocity=1.7, mass=105),
    Axis(0.041, -pi / 2, -1.0, effort=8e3, velocity=2.3, mass=36),
    Axis(0.0, pi / 2, 0.0, effort=8e3, velocity=2.2, mass=31),
    Axis(0.0, -pi / 2, -0.24, effort=5e3, velocity=3.3, mass=218),
)


def convert(source: Path) -> Converted:
    """Read the recorded part of the workspaces."""
    recordings = {}
    for stem, motion in RECORDINGS.items():
        path = source / f'data/recorded_trajectories/2020-10-21 10s FF {motion} 08ms/data.mat'
        recorded = loadmat(found(path), simplify_cells=True)['rec']
        recordings[stem] = Samples(
            time=recorded['time_cont'],
            positions=np.deg2rad(recorded['act_pos_mot_deg']).T,
            velocities=np.deg2rad(recorded['act_vel_mot_deg_per_s']).T,
            efforts=recorded['act_torque_abs_nm'].T * GEARS,
        )
    return Converted(JOINTS, arm_urdf('kr300', AXES, JOINTS), SIDECAR, recordings)


SIDECAR = """title: KUKA KR 300 R2500 ultra with a load
home: {joints: {joint_1: 0, joint_2: -1.5, joint_3: 1.5, joint_4: 0, joint_5: 0.3, joint_6: 0}}
transition_velocity: 0.01
sources: {'*.origin': 'Denavit-Hartenberg parameters beside the data', '*.mass': beside the data}
"""

LOG = RealLog(
    name='kr300',
    robot='KUKA KR 300 R2500 ultra, six axes',
    source='https://github.com/JonasWeigand/Robot_Identification, commit 9e403c0; J. Weigand, '
    'J. Ulmen, A. Janot, M. Ruskowski, 2021',
    licence='MIT (the repository)',
    conventions='Positions of the motors over their gears and torques of the motors times their '
    'gears, every 4 ms. A hydraulic cylinder carries a part of the weight on axis 2.',
    split='motions of 10 s: two train, the third tests',
    convert=convert,
)
