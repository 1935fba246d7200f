#!/usr/bin/env python3
"""Make the excitations that pkm_identification ships, the same for anybody who runs this.

Usage: scripts/ship_designs.py FOLDER [ROBOT ...]

Every robot of the library that can be commanded gets a d-optimal design with a free
fundamental; under-actuated robots are named and left out. The files depend on the seed
and the options below alone, not on the number of processes. Copy them to
pkm_identification/pkm_identification/excitation/designs.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pkm_description
from pkm_description.errors import UnderactuatedError
from pkm_dynamics import ClosedChainModel
from pkm_identification.excitation import design_excitation

SEED = 0
STARTS = 8
HARMONICS = 5


def main(arguments: list[str]) -> int:
    """Design for the robots named, or for all."""
    if not arguments or arguments[0].startswith('-'):
        sys.stderr.write(f'{__doc__}\n')
        return 2
    folder = Path(arguments[0])
    for robot in arguments[1:] or pkm_description.library():
        begin = time.monotonic()
        model = ClosedChainModel(pkm_description.load(robot))
        try:
            design = design_excitation(model, harmonics=HARMONICS, starts=STARTS, seed=SEED)
        except UnderactuatedError as error:
            sys.stdout.write(f'{robot}: left out, {error}\n')
            continue
        design.save(folder / f'{robot}.yaml')
        sys.stdout.write(
            f'{robot}: {design.figures["parameters"]} parameters, period {design.period:.4g} s, '
            f'-ln det F {design.figures["d_optimal"]:.2f}, {time.monotonic() - begin:.0f} s\n'
        )
        sys.stdout.flush()
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
