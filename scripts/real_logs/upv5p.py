"""Parallel robot 3UPS-RPU of the UPV, the large one: forces asked of four ball screws."""

from __future__ import annotations

from pathlib import Path

from real_log import Converted, RealLog
from upv import CONVENTIONS, LICENCE, SOURCE, Geometry, converted, recording

GEOMETRY = Geometry(
    base=((-0.5, 0.0), (0.45, 1.22173), (0.45, -1.22173)),
    platform=((-0.3, 0.0), (0.3, 0.174533), (0.3, -0.174533)),
    centre=0.15,
)
RECORDINGS = {
    'train': '20_01_2021-16_15_33',
    'test_1': '01_02_2021-12_29_00',
    'test_2': '01_02_2021-10_29_52',
}


def convert(source: Path) -> Converted:
    """Read three experiments of the controller that asks for forces."""
    recordings = {
        stem: recording(source / f'exp_data/exp_{name}') for stem, name in RECORDINGS.items()
    }
    home = (
        'outer_1_strut: 0.8216, outer_2_strut: 0.8322, outer_3_strut: 0.8236, centre_strut: 0.7888'
    )
    return converted('upv5p', GEOMETRY, home, recordings)


LOG = RealLog(
    name='upv5p',
    robot='parallel robot 3UPS-RPU of the Universitat Politecnica de Valencia, four ball screws',
    source=SOURCE,
    licence=LICENCE,
    conventions=CONVENTIONS.format('They are in newtons. '),
    split='one motion of 90 s trains; another one (41 s), and the first one repeated twelve days '
    'later, test',
    convert=convert,
)
