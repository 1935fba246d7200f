"""Rokae xMate ER3 Pro: small sines and a path of the end effector with joint torques."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import xmate3
from arm_urdf import arm_urdf
from real_log import Converted, RealLog, Samples, table
from xmate3 import AXES, JOINTS, RATE

FOLDER = 'build'
CONTROL = ('position_ly', 'velocity_file', 'torque_file')
#: By stem: folder, and its files of positions, velocities and torques.
RECORDINGS = {
    'train_1': ('ly_data/testset', CONTROL),
    'train_2': ('ly_data/SGPR_cartesian/PD', CONTROL),
    'test_1': ('PD_error', CONTROL),
    'test_2': ('ly_data/SGPR_joint/collect', ('position', 'velocity', 'torque')),
}
SIDECAR = xmate3.SIDECAR.replace('xMate 3 Pro', 'xMate ER3 Pro').replace(
    'beside the data', 'of xmate3; Cartesian positions beside the data agree'
)


def convert(source: Path) -> Converted:
    """Read the rows that all files of a motion have; some files have brackets and commas."""
    recordings = {}
    for stem, (folder, files) in RECORDINGS.items():
        columns = [table(source / FOLDER / folder / f'{file}.txt', 7, '[],') for file in files]
        count = min(map(len, columns))
        positions, velocities, efforts = (each[:count] for each in columns)
        recordings[stem] = Samples(
            time=np.arange(count) / RATE,
            positions=positions,
            velocities=velocities,
            efforts=efforts,
        )
    return Converted(JOINTS, arm_urdf('xmate_er', AXES, JOINTS), SIDECAR, recordings)


LOG = RealLog(
    name='xmate_er',
    robot='Rokae xMate ER3 Pro, seven axes',
    source='https://github.com/Stray8/roake_param_identify, commit 4a83790',
    licence='none stated in the repository: for own studies only',
    conventions='SI, 1 kHz without stamps (period of the control loop). Torques [N m] of the '
    'joint sensors (robot.jointTorque). Sines over 5 to 10 degrees about one pose; axis 7 stands '
    'still on the path. Motions led by hand are left out: the hand bears load.',
    split='sines of all axes under torque control (20 s) and a path of the end effector (11 s) '
    'train; other sines under torque control (10 s) and under position control (10 s) test',
    convert=convert,
)
