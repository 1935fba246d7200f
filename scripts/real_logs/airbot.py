"""AIRBOT Play: sweeping and point-to-point motions with currents turned into torques."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from real_log import Converted, RealLog, Samples, found, table

JOINTS = tuple(f'joint{number}' for number in range(1, 7))
FOLDER = 'examples/airbot_play/data'
URDF = 'urdf/airbot_play_v3_0_gripper.urdf'
RECORDINGS = {'train': 'chirp_motion', 'test': 'trapezoidal_motion'}
RATE = 100.0  # [Hz]


def convert(source: Path) -> Converted:
    """Read the tables of both motions and the URDF as it is."""
    urdf = found(source / FOLDER / URDF)
    recordings = {}
    for stem, motion in RECORDINGS.items():
        positions, efforts = (
            table(
                source / FOLDER / f'identification/{motion}/identification_{name}_real.csv',
                6,
                delimiter=',',
                skiprows=1,
            )
            for name in ('q', 'tau')
        )
        recordings[stem] = Samples(
            time=np.arange(len(positions)) / RATE, positions=positions, efforts=efforts
        )
    return Converted(JOINTS, urdf.read_text(encoding='utf-8'), SIDECAR, recordings)


SIDECAR = f"""title: AIRBOT Play with a gripper
base: base_link
platform: link6
actuated_joints: [{', '.join(JOINTS)}]
transition_velocity: 0.01
"""

LOG = RealLog(
    name='airbot',
    robot='AIRBOT Play, six axes and a gripper',
    source='https://github.com/liuyurong129/figaroh_kinova, commit 24b73ff, examples/airbot_play',
    licence='none stated in the repository: for own studies only',
    conventions='SI, without stamps: 100 Hz by the configuration beside the data. Positions in '
    '16-bit counts, torques [N m] in steps of the drives. URDF of the '
    'manufacturer as it lies beside the data.',
    split='a sweep of 30 s trains, point-to-point motions of 28 s test',
    convert=convert,
)
