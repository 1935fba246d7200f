"""Rokae xMate 3 Pro: an exciting motion at 1 kHz with the torques of its joint sensors."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import xmate7p
from arm_urdf import arm_urdf
from real_log import Converted, RealLog, Samples, table

JOINTS = xmate7p.JOINTS
FOLDER = 'filtering/data/excit'
RATE = 1000.0  # [Hz]
HEIGHTS = (0.3415, 0.0, 0.394, 0.0, 0.366, 0.0, 0.2503)  # [m]
AXES = tuple(replace(axis, d=height) for axis, height in zip(xmate7p.AXES, HEIGHTS, strict=True))
SIDECAR = xmate7p.SIDECAR.replace('xMate 7 Pro', 'xMate 3 Pro')


def convert(source: Path) -> Converted:
    """Read the text files of the motion."""
    positions, velocities, efforts = (
        table(source / FOLDER / f'excit_{name}_record.txt', 7) for name in ('ang', 'vel', 'torque')
    )
    log = Samples(
        time=np.arange(len(positions)) / RATE,
        positions=positions,
        velocities=velocities,
        efforts=efforts,
    )
    parts = {'train': log.part(0.0, 0.7), 'test': log.part(0.7, 1.0)}
    return Converted(JOINTS, arm_urdf('xmate3', AXES, JOINTS), SIDECAR, parts)


LOG = RealLog(
    name='xmate3',
    robot='Rokae xMate 3 Pro, seven axes',
    source='https://github.com/YanjunLIU-ac/Dynamic_Parameter_Identification_for_Rokae_xMate, '
    'commit d5855f4',
    licence='none stated in the repository: for own studies only',
    conventions='SI, 1 kHz without stamps, positions in steps of 0.1 mrad, 2 % of the rows repeat '
    'the row before; torques [N m] of the joint sensors.',
    split='one motion of 20 s: the first 70 % train, the last 30 % test',
    convert=convert,
)
