"""Default designs of twenty robots on the simulated robot under the default servo, first try.

`python tests/helpers/followed_designs.py` prints for each robot the largest position error as a
share of its bound; the exit status is 1 where one was not followed (about ten minutes).
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from mechanisms import skew_hexapod

import pkm_description
from pkm_bringup.offline import effects_of, simulate
from pkm_description.errors import PkmError
from pkm_dynamics import mechanism_model
from pkm_dynamics.joint_servo.gains import largest_errors
from pkm_identification.excitation import design_excitation

EXAMPLES = sorted((Path(pkm_description.__file__).parent / 'examples').glob('*.urdf.xacro'))
UNDRIVEN = 'cart_pendulum'  # in part: it has no excitation


def robots() -> list[pkm_description.Description]:
    """The library, robots with ball joints at both ends of rods, the examples, one by chance."""
    names = [name for name in pkm_description.library() if name != UNDRIVEN]
    names += ['delta rods:=ball', 'h4 rods:=ball', *map(str, EXAMPLES)]
    return [*map(pkm_description.load, names), skew_hexapod()]


def followed(description: pkm_description.Description) -> str:
    """Design and run; what came of it. Raises PkmError where the robot does not follow."""
    model = mechanism_model(description)
    design = design_excitation(model)
    effects = effects_of(description, 'all')
    run = simulate(model, design.trajectory, 2, ramp_time=design.ramp_time, effects=effects)
    share = (np.abs(run.errors[run.running]).max(axis=0) / largest_errors(model)).max()
    saturated = run.saturated[run.running].any(axis=1).mean()
    return (
        f'period {design.period:.3g} s, {design.trajectory.highest_frequency:.2g} Hz: error '
        f'{share:.2f} of its bound, {100 * saturated:.2g} % of the samples at a force limit'
    )


def main() -> int:
    """Print a line a robot."""
    failed = 0
    for description in robots():
        try:
            found = followed(description)
        except PkmError as error:
            failed += 1
            found = f'NOT FOLLOWED: {error}'
        print(f'{description.name}: {found}', flush=True)
    return int(failed > 0)


if __name__ == '__main__':
    sys.exit(main())
