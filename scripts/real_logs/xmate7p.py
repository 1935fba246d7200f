"""Rokae xMate 7 Pro: periodic exciting motions with joint torques."""

from __future__ import annotations

from math import pi
from pathlib import Path

import numpy as np
from arm_urdf import Axis, arm_urdf
from real_log import Converted, RealLog, Samples, table

JOINTS = tuple(f'xmate_joint_{number}' for number in range(1, 8))
RATE = 50.0  # [Hz]
AXES = (
    Axis(0.0, 0.0, 0.404, effort=85, velocity=2.2),
    Axis(0.0, -pi / 2, 0.0, effort=85, velocity=2.2),
    Axis(0.0, pi / 2, 0.4375, effort=85, velocity=2.2),
    Axis(0.0, -pi / 2, 0.0, effort=85, velocity=2.2),
    Axis(0.0, pi / 2, 0.4125, effort=36, velocity=2.6),
    Axis(0.0, -pi / 2, 0.0, effort=36, velocity=2.6),
    Axis(0.0, pi / 2, 0.2755, effort=36, velocity=2.6),
)
RECORDINGS = {
    'train': '50Hz 3周期/xMate7p_traj1_results.csv',
    'test_1': '50Hz 3周期/xMate7p_traj2_results.csv',
    'test_2': '50Hz 3周期/xMate7p_traj3_results.csv',
}


def convert(source: Path) -> Converted:
    """Read the logs: positions, velocities, accelerations (left out) and torques."""
    recordings = {}
    for stem, file in RECORDINGS.items():
        values = table(source / 'data/recdata' / file, 28, delimiter=',')
        recordings[stem] = Samples(
            time=np.arange(len(values)) / RATE,
            positions=values[:, :7],
            velocities=values[:, 7:14],
            efforts=values[:, 21:28],
        )
    return Converted(JOINTS, arm_urdf('xmate7p', AXES, JOINTS), SIDECAR, recordings)


SIDECAR = """title: Rokae xMate 7 Pro without tool
home: {joints: {xmate_joint_1: 0, xmate_joint_2: 0.5, xmate_joint_3: 0, xmate_joint_4: 1,
  xmate_joint_5: 0, xmate_joint_6: 0.5, xmate_joint_7: 0}}
transition_velocity: 0.01
sources: {'*.origin': 'modified Denavit-Hartenberg parameters beside the data', '*.mass': assumed}
"""

LOG = RealLog(
    name='xmate7p',
    robot='Rokae xMate 7 Pro, seven axes',
    source='https://github.com/NKU-ZiXuan/xMate7p_dyn_ident, commit 7d8c924',
    licence='CC BY-NC-SA 4.0 (the repository)',
    conventions='SI, 50 Hz without stamps. Joint torques of the controller in steps of 0.12 N m at '
    'the first axes.',
    split='three periods of 20 s train; the same motion 0.71 times as large (three periods) and '
    'another motion (three periods) test',
    convert=convert,
)
