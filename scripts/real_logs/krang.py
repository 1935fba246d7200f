"""Left arm of Golem Krang (Schunk modules): exciting motions with motor currents."""

from __future__ import annotations

import re
from pathlib import Path

from arm_urdf import drives
from real_log import Converted, RealLog, Samples, found, table

URDF = '09-URDF/7DOFArm/singlearm.urdf'
FOLDER = '29-ArmDataCollection'
RECORDINGS = {'train': 'trainData', 'test': 'testData'}
#: Torque of a current at the joint: constant of the motor times gear [N m/A].
CONSTANTS = {
    'LJ1': 31.4e-3 * 596,
    'LJ2': 31.4e-3 * 596,
    'LJ3': 38e-3 * 625,
    'LJ4': 38e-3 * 625,
    'LJ5': 16e-3 * 552,
    'LJ6': 16e-3 * 552,
    'LJFT': 16e-3 * 552,
}
JOINTS = tuple(CONSTANTS)
VELOCITY = 2.0  # [rad/s] in place of 0.1 in the URDF, which the motions exceed ten times


def convert(source: Path) -> Converted:
    """Read stamps, positions, unfiltered velocities and currents; add the drives to the URDF."""
    text = found(source / URDF).read_text(encoding='utf-8')
    text = re.sub(r'<(visual|collision)>.*?</\1>', '', text, flags=re.DOTALL)
    text = text.replace('velocity="0.1"', f'velocity="{VELOCITY:g}"')
    text = text.replace('</robot>', drives('krang', CONSTANTS) + '\n</robot>')
    recordings = {}
    for stem, motion in RECORDINGS.items():
        time, positions, velocities, currents = (
            table(source / FOLDER / motion / f'data{name}.txt', columns)
            for name, columns in (('TimeStamp', 1), ('Q', 7), ('DotQ_NF', 7), ('Cur', 7))
        )
        recordings[stem] = Samples(
            time=time[:, 0], positions=positions, velocities=velocities, currents=currents
        )
    return Converted(JOINTS, text, SIDECAR, recordings)


SIDECAR = """title: left arm of Golem Krang
base: world
platform: L7_EFF
gravity: [0, -9.81, 0]
home: {joints: {LJ1: 0, LJ2: 0.3, LJ3: 0, LJ4: 0.5, LJ5: 0, LJ6: 0.3, LJFT: 0}}
transition_velocity: 0.01
sources: {gravity: Get_phi_ArmDynamics.cpp beside the data,
  '*.force_constant': motors and gears of Get_phi_ArmDynamics.cpp beside the data}
"""

LOG = RealLog(
    name='krang',
    robot='left arm of Golem Krang, Schunk modules, seven axes',
    source='https://github.com/zubair-irshad/manipulator_parameter_identification, commit c84fded',
    licence='none stated in the repository: for own studies only',
    conventions='SI. Positions, velocities and motor currents [A] as the drives gave them (dataQ, '
    'dataDotQ_NF, dataCur), with stamps in steps of 1 ms, every 10 to 33 ms; a quarter of the rows '
    'repeats the row before. Constants of the motors times gears, and gravity along -y, are those '
    'of Get_phi_ArmDynamics.cpp. URDF beside the data; its limit of 0.1 rad/s is raised.',
    split='one exciting motion of 48 s trains, another of 33 s tests',
    convert=convert,
)
