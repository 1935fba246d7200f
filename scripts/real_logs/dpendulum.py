"""Double pendulum of the DFKI, design C.1: sines of torque on two quasi direct drives."""

from __future__ import annotations

from math import pi
from pathlib import Path

from arm_urdf import Axis, arm_urdf
from real_log import Converted, RealLog, Samples, table

JOINTS = ('shoulder', 'elbow')
FOLDER = 'data/experiment_records/design_C.1/sys_id/20230629'
RECORDINGS = {
    'train_1': '20230629-143339',
    'train_2': '20230629-143524',
    'train_3': '20230629-143704',
    'train_4': '20230629-143747',
    'train_5': '20230629-144115',
    'test_1': '20230629-143601',
    'test_2': '20230629-144003',
}
AXES = (
    Axis(0.0, pi / 2, 0.0, -pi / 2, effort=6, velocity=25, mass=0.5),
    Axis(0.2, 0.0, 0.0, effort=6, velocity=25, mass=0.6),
)


def recording(path: Path) -> Samples:
    """Read time, measured positions and velocities, and in the last columns torques."""
    values = table(path, 7, delimiter=',', skiprows=1)
    return Samples(
        time=values[:, 0],
        positions=values[:, 1:3],
        velocities=values[:, 3:5],
        efforts=values[:, -2:],
    )


def convert(source: Path) -> Converted:
    """Read seven motions."""
    recordings = {
        stem: recording(source / FOLDER / motion / 'trajectory.csv')
        for stem, motion in RECORDINGS.items()
    }
    return Converted(JOINTS, arm_urdf('dpendulum', AXES, JOINTS), SIDECAR, recordings)


SIDECAR = """title: double pendulum of the DFKI, design C.1
home: {joints: {shoulder: 0.3, elbow: 0.3}}
transition_velocity: 0.02
sources: {'*.origin': 'l1 of data/system_identification/identified_parameters/design_C.1',
  '*.mass': 'nominal, near those identified there'}
"""
ROBOT = 'double pendulum of the DFKI, two quasi direct drives AK80-6 (6:1)'
SOURCE = 'https://github.com/dfki-ric-underactuated-lab/double_pendulum, commit 1e8544e'
LICENCE = 'BSD-3-Clause'
CONVENTIONS = (
    'SI at the joints: angles [rad] from hanging, that of the elbow relative to the first link '
    '(docs/text/dynamics.rst). '
)

LOG = RealLog(
    name='dpendulum',
    robot=f'{ROBOT}, design C.1, first link 0.2 m',
    source=SOURCE,
    licence=LICENCE,
    conventions=CONVENTIONS + 'Torques [N m] that the motors report (tau_meas), in steps of '
    '0.006 N m; about 500 Hz, the stamps jitter.',
    split='five motions of 10 s with sines of torque on one or both motors train; one with other '
    'frequencies and one of the shoulder only test',
    convert=convert,
)
