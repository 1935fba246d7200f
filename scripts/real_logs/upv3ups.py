"""Parallel robot 3UPS-RPU of the UPV, the small one: forces asked of four ball screws."""

from __future__ import annotations

from math import pi
from pathlib import Path

import numpy as np
from real_log import Converted, RealLog
from upv import CONVENTIONS, LICENCE, SOURCE, Geometry, converted, recording

GEOMETRY = Geometry(
    base=((-0.4, 0.0), (0.4, pi / 2), (0.4, -pi / 4)),
    platform=((-0.3, 0.0), (0.3, 0.872664), (0.3, -pi / 2)),
    centre=0.15,
    turned=('outer_1',),
)
#: Force of a volt at the drives [N/V].
GAINS = np.array([28.4628, 28.4628, 28.4628, 246.6779])
#: By stem: experiment, and whether its commands are in volts.
RECORDINGS = {
    'train_1': ('03_03_2021-16_09_42', True),
    'train_2': ('16_03_2021-16_01_24', True),
    'test': ('18_12_2020-12_36_29', False),
}


def convert(source: Path) -> Converted:
    """Read two experiments of a controller of voltages and one of a controller of forces."""
    recordings = {
        stem: recording(source / f'exp_data/exp_{name}', GAINS if volts else 1.0)
        for stem, (name, volts) in RECORDINGS.items()
    }
    home = 'outer_1_strut: 0.68, outer_2_strut: 0.70, outer_3_strut: 0.68, centre_strut: 0.64'
    return converted('upv3ups', GEOMETRY, home, recordings)


LOG = RealLog(
    name='upv3ups',
    robot='parallel robot 3UPS-RPU of the Universitat Politecnica de Valencia for rehabilitation',
    source=SOURCE,
    licence=LICENCE,
    conventions=CONVENTIONS.format(
        'They are in newtons, or in volts at the drives, times the gains of the source. '
    ),
    split='two motions train, a third to a half of which is rest; another motion, under another '
    'controller three months earlier, tests',
    convert=convert,
)
