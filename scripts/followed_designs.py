"""Write the table of default designs and how simulated robots follow them into the page of designs.

    python scripts/followed_designs.py [ROBOT ...]

With robots it prints their rows and leaves the page alone.

Every robot is designed for with default options and driven along the design, with all effects,
under the default servo and without a feedforward. The exit status is 1 where one is not followed.
It takes about ten minutes.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from page_tables import put_table

import pkm_description
from pkm_bringup.offline import effects_of, simulate
from pkm_description.errors import PkmError
from pkm_dynamics import mechanism_model
from pkm_dynamics.joint_servo.gains import largest_errors
from pkm_identification.excitation import design_excitation

PAGE = Path(__file__).resolve().parents[1] / 'pkm_identification' / 'doc' / 'excitation.md'
BEGIN = '<!-- designs that are followed -->'
HEAD = '| robot | period | highest frequency | error, of its bound | at a force limit |'
EXAMPLES = sorted((Path(pkm_description.__file__).parent / 'examples').glob('*.urdf.xacro'))
UNDRIVEN = 'cart_pendulum'  # in part: it has no excitation
PERIODS = 2


def robots() -> list[str]:
    """The library, robots with ball joints at both ends of their rods, the examples."""
    names = [name for name in pkm_description.library() if name != UNDRIVEN]
    return [*names, 'delta rods:=ball', 'h4 rods:=ball', *map(str, EXAMPLES)]


def followed(name: str) -> str:
    """Design and run; the cells of a row. Raises PkmError where the robot does not follow."""
    description = pkm_description.load(name)
    model = mechanism_model(description)
    design = design_excitation(model)
    effects = effects_of(description, 'all')
    run = simulate(model, design.trajectory, PERIODS, ramp_time=design.ramp_time, effects=effects)
    share = (np.abs(run.errors[run.running]).max(axis=0) / largest_errors(model)).max()
    saturated = run.saturated[run.running].any(axis=1).mean()
    fastest = design.trajectory.highest_frequency
    return f'{design.period:.3g} s | {fastest:.2g} Hz | {share:.2f} | {100 * saturated:.2g} %'


def main(names: list[str]) -> int:
    """Print the rows, and write the table of all."""
    lines, failed = [HEAD, '|---|---|---|---|---|'], 0
    for name in names or robots():
        try:
            found = followed(name)
        except PkmError as error:
            failed += 1
            found = f'not followed: {" ".join(str(error).split())} | | |'
        lines.append(f'| `{Path(name).name.partition(".")[0]}` | {found} |')
        print(lines[-1], flush=True)
    if not names:
        put_table(PAGE, BEGIN, lines)
    return int(failed > 0)


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
