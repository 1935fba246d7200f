"""`pkm describe --contributions`: what the forces of a motion are made of."""

from __future__ import annotations

import sys
from typing import Any

import pkm_dynamics
from pkm_bringup.arguments import TRAJECTORY
from pkm_bringup.views.console import print_table

SAMPLES = 1000
SINES = 'sines'


def add_options(parser: Any) -> None:
    """Add --contributions and the motion that it looks at."""
    parser.add_argument(
        '--contributions',
        action='store_true',
        help='print the shares [%%] of inertia, velocity products, weight, friction and rotors in '
        'the actuator forces of a motion, and how far they depend on the centres of mass [%%/mm]',
    )
    parser.add_argument(
        '--motion',
        metavar='MOTION',
        help=f'motion for --contributions: {TRAJECTORY}, or sines (one of its own frequency, up '
        'to 1 Hz, on every actuator); the circle by default, sines for robots with fewer than six '
        'degrees of freedom',
    )


def figures(model: pkm_dynamics.ClosedChainModel, name: str | None) -> dict[str, Any]:
    """Return groups, their forces' figures and sensitivities; SI units, shares in per cent."""
    import numpy as np

    from pkm_bringup.trajectory_inputs import load_trajectory  # loads identification
    from pkm_dynamics.analysis.com_sensitivity import com_sensitivity
    from pkm_dynamics.analysis.contributions import contributions

    name = name or ('circle' if model.platform_determines_joints else SINES)
    trajectory = sines(model) if name == SINES else load_trajectory(name, model)
    time = np.linspace(0.0, trajectory.duration, SAMPLES)
    motion = model.with_joint_states(trajectory.motion(time, model))
    parts = contributions(model, motion)
    share, range_ = parts.percent(), parts.variation()
    rms = {
        group: dict(zip(parts.actuated_joints, np.sqrt(np.mean(force**2, axis=0)), strict=True))
        for group, force in parts.forces.items()
    }
    return {
        'motion': name,
        'duration': float(trajectory.duration),
        'groups': [
            {'name': group, 'percent': share[group], 'range_percent': range_[group], 'rms': each}
            for group, each in rms.items()
        ],
        'percent_per_millimetre': com_sensitivity(model, motion).percent_per_millimetre(),
    }


def sines(model: pkm_dynamics.ClosedChainModel) -> pkm_dynamics.Trajectory:
    """One sine of its own frequency on every actuator, about home: a tenth of the stroke."""
    import numpy as np

    from pkm_dynamics.trajectories import FourierTrajectory

    period, harmonics, stroke = 2.0, 2, model.upper - model.lower
    size = 0.05 * np.where(np.isfinite(stroke), np.minimum(stroke, 2.0), 1.0)
    turns = 2.0 * np.pi * harmonics / period
    size = np.minimum(size, 0.5 * model.velocity_limit / turns)
    cosine, sine = np.zeros((model.n_a, harmonics)), np.zeros((model.n_a, harmonics))
    index = np.arange(model.n_a)
    sine[index, index % harmonics] = size * (-1.0) ** (index // harmonics)
    series, joints = (model.home_actuators, sine, cosine), model.actuated_joints
    return FourierTrajectory(period, *series, 'actuators', joints, model.description.name)


def print_figures(overview: dict[str, Any], everything: bool) -> None:
    """Print the contributions as tables, of one body of each design unless `everything`."""
    content = overview['contributions']
    alike = set() if everything else {n for group in overview['same_design'] for n in group[1:]}
    sys.stdout.write(
        f"\nactuator forces of the motion '{content['motion']}' ({content['duration']:.4g} s)\n"
    )
    rows: list[tuple[Any, ...]] = []
    for group in content['groups']:
        joint, rms = max(group['rms'].items(), key=lambda item: float(item[1]))
        shares = (round(group['percent'], 2), round(group['range_percent'], 2))
        rows.append((group['name'], *shares, float(rms), joint if rms else '-'))
    shares = ('mean norm [% of total]', 'range [% of total]')
    print_table(('group', *shares, 'largest rms [N, N m]', 'of'), rows)
    sys.stdout.write('\nchange of the forces if a centre of mass is moved along its link\n')
    rows = [
        (link, *(round(float(value), 6) for value in row))
        for link, row in content['percent_per_millimetre'].items()
        if link not in alike
    ]
    print_table(('link', 'x [%/mm]', 'y [%/mm]', 'z [%/mm]'), rows)
