"""Pictures of forces: predicted against measured ones, and what is left of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from pkm_bringup.reports.svg import BLUE, GREY, INK, ORANGE, drawn, thinned
from pkm_identification import Validation
from pkm_identification.arrays import Array

REACH = 3.0  # standard deviations of the parameters, around the prediction
BINS = 24  # of positions and velocities, in which residuals are averaged
FEWEST = 5  # samples of a mean
HEIGHT, HIGH = 1.9, 4.3  # [in]
POINTS = 3000  # in a picture of residuals


def force_pictures(found: Validation, units: dict[str, str]) -> tuple[str, ...]:
    """Return measured and predicted forces over time, one picture a joint."""
    time = found.time - found.time[0]
    pictures = []
    for k, joint in enumerate(found.joint_names):
        error = found.against_measured.residual_rms[k]
        label = f'{joint}: measured and predicted force over time, residual RMS {error:.4g}'
        with drawn(label, HEIGHT) as (figure, svg):
            axis = figure.subplots()
            measured, predicted = found.measured[:, k], found.predicted[:, k]
            axis.plot(*thinned(time, measured, by=measured), color=GREY, lw=0.7, label='measured')
            spread = REACH * found.standard_deviation[:, k]
            ends = thinned(time, predicted - spread, predicted + spread, by=predicted)
            axis.fill_between(*ends, color=BLUE, alpha=0.25, lw=0)
            line = thinned(time, predicted, by=predicted)
            axis.plot(*line, color=BLUE, lw=1.5, label='predicted')
            axis.set_title(joint)
            axis.set_ylabel(f'force [{units[joint]}]')
            axis.set_xlabel('time [s]')
            axis.margins(x=0.0)
            axis.legend(loc='upper right', ncols=2, bbox_to_anchor=(1.0, 1.22), handlelength=1.4)
        pictures += svg
    return tuple(pictures)


def residual_pictures(found: Validation, units: dict[str, str]) -> tuple[str, ...]:
    """Return residuals over position, velocity and time, one picture a joint.

    Points are samples, lines their means at a position, or in a direction and at a speed; between
    the dotted lines lie two of three samples of the noise, where that is known.
    """
    time = found.time - found.time[0]
    pictures = []
    noise = found.noise_covariance
    for k, joint in enumerate(found.joint_names):
        residual = found.measured[:, k] - found.predicted[:, k]
        with drawn(f'{joint}: residuals over position, velocity and time', HIGH) as (figure, svg):
            axes = figure.subplots(3, 1, sharey=True)
            length = {'N': 'm'}.get(units[joint], 'rad')
            forwards = found.velocities[:, k] >= 0.0
            position, velocity = found.positions[:, k], found.velocities[:, k]
            for axis, values, groups, label in (
                (axes[0], position, (forwards, ~forwards), f'position [{length}]'),
                (axes[1], velocity, (forwards | True,), f'velocity [{length}/s]'),
            ):
                _points(axis, values, residual)
                for group, colour, dashes in zip(groups, (BLUE, ORANGE), ('-', '--'), strict=False):
                    middle, mean = binned(values[group], residual[group])
                    axis.plot(middle, mean, color=colour, lw=1.6, ls=dashes)
                axis.set_xlabel(label)
            axes[2].plot(*thinned(time, residual, by=residual), color=INK, lw=0.7)
            axes[2].set_xlabel('time [s]')
            for axis in axes:
                axis.margins(x=0.02)
                axis.axhline(0.0, color=INK, lw=0.6)
                if noise is not None:
                    for end in (-1.0, 1.0):
                        level = end * float(np.sqrt(noise[k, k]))
                        axis.axhline(level, color=INK, lw=0.9, ls=':')
            axes[0].set_title(joint)
            axes[1].set_ylabel(f'residual [{units[joint]}]')
        pictures += svg
    return tuple(pictures)


def _points(axis: Any, values: Array, residual: Array) -> None:
    """Draw at most `POINTS` samples, as an image: paths of so many would be large."""
    few = slice(None, None, -(-len(values) // POINTS))
    look = {'color': GREY, 'markersize': 3.0, 'alpha': 0.45, 'rasterized': True}
    axis.plot(values[few], residual[few], '.', markeredgewidth=0, **look)


def binned(values: Array, residual: Array) -> tuple[Array, Array]:
    """Return the middles of `BINS` equal ranges and the mean residual in each, where it has any."""
    if not len(values):
        return np.zeros(0), np.zeros(0)
    edges = np.linspace(values.min(), values.max(), BINS + 1)
    place = np.clip(np.searchsorted(edges, values, side='right') - 1, 0, BINS - 1)
    count = np.bincount(place, minlength=BINS)
    total = np.bincount(place, weights=residual, minlength=BINS)
    kept = count >= FEWEST
    return (0.5 * (edges[1:] + edges[:-1]))[kept], total[kept] / count[kept]
