#!/usr/bin/env python3
"""Make and check the excitations that pkm_identification ships.

Usage: scripts/ship_designs.py make FOLDER [ROBOT ...]
       scripts/ship_designs.py check [FOLDER] [ROBOT ...]

make: every robot of the library that can be commanded gets a d-optimal design with a free
fundamental; under-actuated robots are named and left out. A design that feedback alone cannot
follow on the simulated robot is made again with a period of a second, then with less of each
limit. The files depend on the seed and the options below alone, not on the number of processes.
Copy them to pkm_identification/pkm_identification/excitation/designs.

check: runs the designs of a folder, by default the shipped ones, on the simulated robot with
all its effects and feedback alone, and prints what was left of each limit from rest to rest.
The exit status is 1 where a limit was touched.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import pkm_description
from pkm_bringup.executed import executed_margins
from pkm_bringup.offline import effects_of, simulate
from pkm_description.errors import FeasibilityError, SimulationError, UnderactuatedError
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.joint_servo.gains import largest_errors
from pkm_identification.excitation import DesignLimits, ExcitationDesign, design_excitation
from pkm_identification.excitation.excitation_design import DESIGNS

SEED = 0
STARTS = 8
HARMONICS = 5
PERIODS = 3
#: Fractions of forces and speeds that are used. A joint servo has to follow before there is any
#: model to feed forward.
FORCE, SPEED = 0.5, 0.7
FREQUENCY = 10.0  # [Hz], the highest of the motion: below the structural modes of such machines
FOLLOWED = 0.95  # of the tracking error at which the controller stops, at most: noise differs
#: Period [s] (None: free), what the fractions are divided by, and what is left of the ranges;
#: tried one after the other.
ATTEMPTS = (
    (None, 1.0, 0.06),
    (None, 1.0, 0.12),
    (1.0, 1.4, 0.12),
    (1.0, 2.0, 0.15),
    (2.0, 2.0, 0.15),
    (2.0, 3.0, 0.18),
)


def limits(share: float, free_range: float) -> DesignLimits:
    """Return the limits of a design that uses one `share`-th of forces and speeds."""
    return DesignLimits(
        force_margin=round(1.0 - FORCE / share, 3),
        velocity_margin=round(1.0 - SPEED / share, 3),
        stroke_margin=free_range,
        condition_factor=2.5,
        clearance=0.01,
        frequency=FREQUENCY,
    )


def make(folder: Path, robots: list[str]) -> int:
    """Design for the robots named, or for all."""
    for robot in robots or pkm_description.library():
        begin = time.monotonic()
        model = ClosedChainModel(pkm_description.load(robot))
        try:
            design = followed_design(model)
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


def followed_design(model: ClosedChainModel) -> ExcitationDesign:
    """Return the first design that feedback alone follows without touching a limit."""
    for period, share, free_range in ATTEMPTS:
        design = design_excitation(
            model,
            harmonics=HARMONICS,
            period=period,
            limits=limits(share, free_range),
            starts=STARTS,
            seed=SEED,
        )
        if is_followed(model, design):
            return design
    raise FeasibilityError(f"no design for '{model.description.name}' can be followed")


def is_followed(model: ClosedChainModel, design: ExcitationDesign) -> bool:
    """Whether feedback alone follows and touches no limit."""
    try:
        recording = run(model, design)
    except SimulationError as error:
        sys.stderr.write(f'period {design.period:.4g} s: {error}\n')
        return False
    report = executed_margins(recording, model)
    if not report.feasible:
        sys.stderr.write(f'period {design.period:.4g} s: {report.message}\n')
    errors = np.abs(recording.errors[recording.running]).max(axis=0)
    if (errors > FOLLOWED * largest_errors(model)).any():
        sys.stderr.write(f'period {design.period:.4g} s: tracking errors of {errors}\n')
        return False
    return report.feasible and not bool(recording.saturated.any())


def run(model: ClosedChainModel, design: ExcitationDesign) -> Any:
    """Run a design on the simulated robot with all its effects and feedback alone."""
    return simulate(
        model,
        design.trajectory,
        PERIODS,
        ramp_time=design.ramp_time,
        effects=effects_of(model.description, 'all'),
        seed=SEED,
    )


def check(folder: Path, robots: list[str]) -> int:
    """Run the designs on the simulated robot; 1 where a limit was touched."""
    touched = 0
    for robot in robots or sorted(path.stem for path in folder.glob('*.yaml')):
        model = ClosedChainModel(pkm_description.load(robot))
        design = ExcitationDesign.load(folder / f'{robot}.yaml', model)
        try:
            recording = run(model, design)
        except SimulationError as error:
            sys.stdout.write(f'{robot}: {error}\n')
            touched += 1
            continue
        report = executed_margins(recording, model)
        errors = np.abs(recording.errors[recording.running]).max(axis=0)
        sys.stdout.write(
            f'{robot}: {"feasible" if report.feasible else "LIMIT TOUCHED"}, period '
            f'{design.period:.4g} s, largest tracking error {np.max(errors):.3g}, '
            f'saturated {100.0 * recording.saturated.any(axis=1).mean():.2g} %\n'
        )
        for margin in sorted(report.margins.values(), key=lambda m: m.relative):
            sys.stdout.write(f'  {margin}\n')
        sys.stdout.flush()
        touched += not report.feasible
    return int(touched > 0)


def main(arguments: list[str]) -> int:
    """Make or check."""
    match arguments:
        case ['make', folder, *robots]:
            return make(Path(folder), robots)
        case ['check', folder, *robots] if Path(folder).is_dir():
            return check(Path(folder), robots)
        case ['check', *robots]:
            return check(DESIGNS, robots)
    sys.stderr.write(f'{__doc__}\n')
    return 2


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
