"""What was learned of a motion: a table of its repetitions, and a picture of the forces."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

from pkm_bringup.views.console import Column, print_columns
from pkm_control.learning.learning_law import MotionLearning

COLUMNS: dict[str, Column] = {
    'repetition': 'repetition',
    'error [um, urad]': lambda row: f'{1e6 * row["rms"]:.2f}',
    'of the bound [%]': ('largest_force', '.0f%'),
    'verdict': 'verdict',
}
SHOWN = 200  # repetitions of a table: the latest


def as_dict(learning: MotionLearning) -> dict[str, Any]:
    """Return plain values, SI units."""
    drives = zip(learning.joints, learning.limit.tolist(), learning.force.T, strict=True)
    return {
        'robot': learning.key.robot,
        'scope': learning.key.scope.value,
        'cutoff': learning.cutoff,
        'duration': learning.interval * len(learning.force),
        'drives': [
            {'joint': joint, 'bound': bound, 'largest': float(np.abs(force).max())}
            for joint, bound, force in drives
        ],
        'repetitions': [
            {'repetition': number, **vars(each), 'verdict': each.verdict.value}
            for number, each in enumerate(learning.history)
        ],
    }


def print_learned(learning: MotionLearning) -> None:
    """Print the repetitions and the largest forces."""
    content = as_dict(learning)
    what = 'a motion' if content['scope'] == 'motion' else 'a period'
    title = (
        f'{content["robot"]}: {what} of {content["duration"]:.3f} s, '
        f'learned below {content["cutoff"]:.3g} Hz'
    )
    print_columns(content['repetitions'][-SHOWN:], COLUMNS, title)
    sys.stdout.write('\n')
    columns: dict[str, Column] = {'drive': 'joint'}
    columns |= {'largest force [N, N m]': ('largest', '.3g'), 'bound': ('bound', '.3g')}
    print_columns(content['drives'], columns)


def plot_learning(learning: MotionLearning, path: Path) -> None:
    """Draw the learned force of each drive over time, its position and its velocity.

    Over the position a force ripple of the drive shows, whichever way it moves (blue forwards,
    orange backwards); over the velocity friction.
    """
    from matplotlib.figure import Figure

    count = len(learning.joints)
    figure = Figure(figsize=(13, 0.8 + 2.0 * count), layout='constrained')
    axes = figure.subplots(count, 3, squeeze=False, sharey='row')
    time = learning.interval * np.arange(len(learning.force))
    for number, joint in enumerate(learning.joints):
        force = learning.force[:, number]
        position, velocity = learning.positions[:, number], learning.velocities[:, number]
        over_time, over_position, over_velocity = axes[number]
        over_time.plot(time, force, linewidth=1)
        for forwards, colour in ((velocity > 0.0, 'C0'), (velocity < 0.0, 'C1')):
            at = np.where(forwards, position, np.nan)
            over_position.plot(at, force, linewidth=1, color=colour)
            at = np.where(forwards, velocity, np.nan)
            over_velocity.plot(at, force, linewidth=1, color=colour)
        over_time.set_ylabel(f'{joint}\n[N, N m]')
        for axis in axes[number]:
            axis.grid(alpha=0.25)
            axis.axhline(0.0, color='0.5', linewidth=0.7)
    for axis, name in zip(
        axes[-1], ('time [s]', 'position [m, rad]', 'velocity [m/s, rad/s]'), strict=True
    ):
        axis.set_xlabel(name)
    repetitions = len(learning.history)
    figure.suptitle(
        f'{learning.key.robot}: force that the model lacks, learned from {repetitions} repetitions '
        f'below {learning.cutoff:.3g} Hz (blue: forwards, orange: backwards)',
        fontsize='medium',
    )
    figure.savefig(path, dpi=110)
