"""`pkm describe --workspace`: what a robot reaches, what stops it, how far it is from singular."""

from __future__ import annotations

import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import pkm_dynamics
from pkm_bringup.arguments import COUNT
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
    text = f'number [1] of random poses for --workspace, at least 1 (default {SAMPLES})'
    parser.add_argument('--samples', type=COUNT.read, metavar='N', help=text)
    text = 'write a picture of the workspace, slices through home in m, to this .png or .svg'
    parser.add_argument('--plot', metavar='FILE', help=text)


def check_options(arguments: Any) -> None:
    """Refuse what cannot work before time is spent."""
    from pkm_bringup.outputs import check_output
    from pkm_description.errors import KinematicsError

    if arguments.samples and not (arguments.workspace or arguments.plot):
        raise KinematicsError('--samples needs --workspace or --plot')
    if arguments.plot:
        check_output(arguments.plot, ('.png', '.svg'))


def figures(model: pkm_dynamics.ClosedChainModel, samples: int) -> dict[str, Any]:
    """Return shares, boxes and measures; SI units."""
    import numpy as np

    from pkm_dynamics.analysis.singularities import MEASURES, singularities
    from pkm_dynamics.analysis.workspace import largest_box, workspace

    found = workspace(model, samples, seed=0)
    content: dict[str, Any] = {field.name: getattr(found, field.name) for field in fields(found)}
    content |= {'samples': samples, 'failed': found.samples.counts}
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
    inside, is_platform = 'within the strokes', content['coordinates'] == 'platform'
    if is_platform:
        inside = f'within {_box(content)}, rotations up to {content["tilt"]:.3g} rad'
    share, deviation = 100 * content['share'], 100 * content['share_deviation']
    count = content['samples']
    lines = [f'reached     {share:.1f} +- {deviation:.1f} % of {count} random samples {inside}']
    if is_platform:
        volume, deviation = content['volume'], content['volume_deviation']
        lines.append(f'volume      {volume:.4g} +- {deviation:.2g} m^3')
    elif content['reached_yaw']:
        volume, deviation = content['volume'], content['volume_deviation']
        lines.append(f'volume      {volume:.4g} +- {deviation:.2g} m^2 rad, of x, y and yaw')
    lines.append(f'positions   {_box(content, "reached_")}')
    if content['reached_yaw']:
        least, most = content['reached_yaw']
        lines.append(f'yaw         {least:.3g} to {most:.3g} rad from home')
    if 'box_lower' in content:
        lines.append(f'box         {_box(content, "box_")}, about home with its rotation')
    sys.stdout.write('\nWORKSPACE\n' + ''.join(f'  {line}\n' for line in lines))
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


def _box(content: dict[str, Any], kind: str = '') -> str:
    pairs = zip(content[f'{kind}lower'], content[f'{kind}upper'], strict=True)
    return f'x, y, z {", ".join(f"{a:.3g} to {b:.3g}" for a, b in pairs)} m'
