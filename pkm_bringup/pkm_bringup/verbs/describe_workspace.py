"""`pkm describe --workspace`: what a robot reaches, what stops it, how far it is from singular."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pkm_dynamics
from pkm_bringup.arguments import count
from pkm_bringup.views.console import print_table

SAMPLES = 2000
BOX_POINTS = 13


def add_options(parser: Any) -> None:
    """Add --workspace, its number of samples and its picture."""
    parser.add_argument(
        '--workspace',
        action='store_true',
        help='print which share of its workspace the robot reaches, what stops it elsewhere, the '
        'largest box [m], and measures of singularity [1] at home',
    )
    parser.add_argument(
        '--samples',
        type=count,
        metavar='N',
        help=f'number [1] of random poses for --workspace, at least 1 (default {SAMPLES})',
    )
    parser.add_argument(
        '--plot',
        metavar='FILE',
        help='write a picture of the workspace, slices through home in m, to this .png or .svg',
    )


def check_options(arguments: Any) -> None:
    """Refuse what cannot work before time is spent.

    Raises
    ------
    PkmError
        --samples without a workspace, or the picture cannot be written there.
    """
    from pkm_bringup.outputs import check_output
    from pkm_description.errors import KinematicsError

    if arguments.samples and not (arguments.workspace or arguments.plot):
        raise KinematicsError('--samples needs --workspace or --plot')
    if arguments.plot:
        check_output(arguments.plot, ('.png', '.svg'))


def figures(model: pkm_dynamics.ClosedChainModel, samples: int) -> dict[str, Any]:
    """Return shares, boxes and measures; SI units.

    Raises
    ------
    PkmError
        The strokes have no ends to sample between.
    """
    import numpy as np

    from pkm_dynamics.analysis.singularities import MEASURES, singularities
    from pkm_dynamics.analysis.workspace import largest_box, workspace

    found = workspace(model, samples, seed=0)
    content: dict[str, Any] = {
        'coordinates': found.coordinates,
        'samples': samples,
        'seed': found.seed,
        'lower': found.lower,
        'upper': found.upper,
        'tilt': found.tilt,
        'share': found.share,
        'share_deviation': found.share_deviation,
        'volume': found.volume,
        'volume_deviation': found.volume_deviation,
        'reached_lower': found.reached_lower,
        'reached_upper': found.reached_upper,
        'failed': found.samples.counts,
    }
    if model.platform_determines_joints:
        content['box_lower'], content['box_upper'] = largest_box(model, BOX_POINTS)
    if model.n_a <= 6:
        still = np.zeros((1, model.n_a))
        home = model.motion_from_actuators(model.home_actuators[None], still, still)
        measures = singularities(model, home)
        content['home'] = {name: float(getattr(measures, name)[0]) for name in MEASURES}
        content['length'] = measures.length
    return content


def print_figures(content: dict[str, Any]) -> None:
    """Print what `figures` found."""
    inside = (
        f'within x, y, z {_box(content["lower"], content["upper"])}, rotations up to '
        f'{content["tilt"]:.3g} rad'
        if content['coordinates'] == 'platform'
        else 'within the strokes'
    )
    share, deviation = 100 * content['share'], 100 * content['share_deviation']
    lines = [
        '',
        'WORKSPACE',
        f'  reached     {share:.1f} +- {deviation:.1f} % of {content["samples"]} random samples '
        f'{inside}',
    ]
    if content['coordinates'] == 'platform':
        lines.append(
            f'  volume      {content["volume"]:.4g} +- {content["volume_deviation"]:.2g} m^3'
        )
    lines.append(
        f'  positions   x, y, z {_box(content["reached_lower"], content["reached_upper"])}'
    )
    if 'box_lower' in content:
        lines.append(
            f'  box         x, y, z {_box(content["box_lower"], content["box_upper"])}, about home '
            'with its rotation'
        )
    sys.stdout.write('\n'.join(lines) + '\n')
    stopped = [(name, count, _REASONS[name]) for name, count in content['failed'].items() if count]
    if stopped:
        print_table(('stopped by', 'samples', 'which is'), stopped, indent='  ')
    if 'home' in content:
        rows = [(name, value, _MEANING[name]) for name, value in content['home'].items()]
        title = f'singularity at home, lengths in units of {content["length"]:.4g} m'
        print_table(('measure', 'value', 'what happens at 0'), rows, title, '  ')


_REASONS = {
    'assembly': 'the loops do not close on the assembly of home',
    'stroke': 'an actuator beyond its limits',
    'joint': 'a passive joint beyond its limits',
    'aperture': 'a spherical or universal joint that bends too far',
    'singularity': 'a measure of singularity that is too small',
    'workspace': 'a position or tilt outside what the YAML declares',
}
_MEANING = {
    'parallel': 'the platform moves while the actuators are locked',
    'serial': 'the actuators move while the platform stands still',
    'constraint': 'the loops allow one motion more (1 at home)',
    'passive': 'joints turn that neither actuators nor platform show (1 at home)',
}


def write_plot(model: pkm_dynamics.ClosedChainModel, samples: int, path: str) -> None:
    """Write the picture: slices through home, or reached positions in actuator coordinates."""
    from pkm_bringup.outputs import write_output
    from pkm_bringup.views.workspace_figure import workspace_figure

    figure = workspace_figure(model, samples)
    write_output(Path(path), lambda file: figure.savefig(file, dpi=140))


def _box(lower: Any, upper: Any) -> str:
    return ', '.join(f'{a:.3g} to {b:.3g}' for a, b in zip(lower, upper, strict=True)) + ' m'
