"""Double pendulum of the DFKI, design A.0: a slow motion under position control, and swings."""

from __future__ import annotations

from math import pi
from pathlib import Path

import dpendulum
from arm_urdf import Axis, arm_urdf
from dpendulum import JOINTS, recording
from real_log import Converted, RealLog

FOLDER = 'data/experiment_records/design_A.0/20220812/sys_id'
#: By stem: file, and the share of it in which the motors had power.
RECORDINGS = {
    'train_1': ('20220812-061157-PM_measured.csv', 1.0),
    'train_2': ('20220812-060143-PM_measured.csv', 0.5),
    'test_1': ('20220812-060245-PM_measured.csv', 0.5),
    'test_2': ('20220812-061705-PM_measured.csv', 1.0),
}
AXES = (
    Axis(0.0, pi / 2, 0.0, -pi / 2, effort=12, velocity=25, mass=0.6),
    Axis(0.3, 0.0, 0.0, effort=12, velocity=25, mass=0.6),
)
SIDECAR = dpendulum.SIDECAR.replace('C.1', 'A.0')


def convert(source: Path) -> Converted:
    """Read four motions."""
    recordings = {
        stem: recording(source / FOLDER / file).part(0.0, last)
        for stem, (file, last) in RECORDINGS.items()
    }
    return Converted(JOINTS, arm_urdf('dpendulum_a', AXES, JOINTS), SIDECAR, recordings)


LOG = RealLog(
    name='dpendulum_a',
    robot=f'{dpendulum.ROBOT}, design A.0, first link 0.3 m',
    source=dpendulum.SOURCE,
    licence=dpendulum.LICENCE,
    conventions=dpendulum.CONVENTIONS + 'Torques [N m] are taken as those asked of the motors, not '
    'measured ones: they are finer than the steps in which the motors report, the same on both '
    'axes where a lift begins, and zero in a free swing. 200 to 300 Hz, the stamps jitter.',
    split='a slow motion of 75 s through +-3 rad and a lift of 5 s train; another lift of 5 s and '
    'a swing-up of 5 s test; the free swings after the lifts, without power, are left out',
    convert=convert,
)
