"""The demo's two pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from pkm_identification import Validation
from pkm_identification.arrays import Array
from pkm_identification.datasets.bags.bag_reader import matching, read_bag
from pkm_identification.datasets.bags.bag_recording import RUN, STATE

MEASURED_COLOUR = '0.65'
SHOWN_TIME = 3.0  # [s]
COLOURS = ('#b2432f', '#d99a2b', '#2f6f8f')


def draw_forces(validation: Validation, path: Path, title: str) -> Path:
    """Measured against predicted forces of each actuator, with the prediction's band."""
    names = [
        f'{name}   residual RMS {error:.1f} N'
        for name, error in zip(
            validation.joint_names, validation.against_measured.residual_rms, strict=True
        )
    ]
    figure, axes = _grid(names, 'force [N]', 'time in the period [s]', same_scale=False)
    time = validation.time - validation.time[0]
    for k, axis in enumerate(axes):
        predicted, spread = validation.predicted[:, k], 3 * validation.standard_deviation[:, k]
        told = 'measured, averaged over the periods'
        axis.plot(time, validation.measured[:, k], color=MEASURED_COLOUR, lw=0.6, label=told)
        look = {'alpha': 0.3, 'lw': 0, 'label': '3 standard deviations of the model'}
        axis.fill_between(time, predicted - spread, predicted + spread, color=COLOURS[2], **look)
        axis.plot(time, predicted, color=COLOURS[2], lw=1.4, label='predicted')
    return _save(figure, axes, path, title)


def draw_tracking(bags: dict[str, Path], joint_names: list[str], path: Path, title: str) -> Path:
    """Position errors of each actuator over the circle, one line a run."""
    figure, axes = _grid(joint_names, 'error [mm]', 'time at full speed [s]', same_scale=True)
    for colour, (name, bag) in zip(COLOURS, bags.items(), strict=False):
        time, error = tracking_errors(bag, joint_names)
        shown = time <= SHOWN_TIME
        rms = 1e3 * float(np.sqrt(np.mean(error**2)))
        for k, axis in enumerate(axes):
            label = f'{name} ({rms:.3f} mm RMS)'
            axis.plot(time[shown], 1e3 * error[shown, k], color=colour, lw=0.9, label=label)
    return _save(figure, axes, path, title)


def _grid(titles: list[str], ylabel: str, xlabel: str, same_scale: bool) -> tuple[Any, list[Any]]:
    """Return a figure and one labelled pair of axes for each title, in two columns."""
    from matplotlib.figure import Figure

    rows = (len(titles) + 1) // 2
    figure = Figure(figsize=(11, 2.2 * rows + 1), layout='constrained')
    grid = figure.subplots(rows, 2, sharex=True, sharey=same_scale, squeeze=False)
    axes = list(grid.ravel()[: len(titles)])
    for axis, title in zip(axes, titles, strict=True):
        axis.set_title(title, fontsize=9)
        axis.set_ylabel(ylabel, fontsize=8)
        axis.tick_params(labelsize=8)
        axis.grid(alpha=0.25)
    for axis in grid[-1]:
        axis.set_xlabel(xlabel, fontsize=8)
    for axis in grid.ravel()[len(titles) :]:
        axis.set_visible(False)
    return figure, axes


def _save(figure: Any, axes: list[Any], path: Path, title: str) -> Path:
    """Write the figure with one legend below it."""
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc='outside lower center', ncol=3, fontsize=9, frameon=False)
    figure.suptitle(title)
    figure.savefig(path, dpi=120)
    return path


def tracking_errors(bag: Path, joint_names: list[str]) -> tuple[Array, Array]:
    """Times (N,) [s] at full speed and desired minus measured positions (N, n_a) [m, rad]."""
    wanted = ('phase', 'trajectory_time', 'desired_position', 'position')
    recording = read_bag(bag, [STATE], numbers={STATE: wanted})
    topic = matching(list(recording.topics), STATE)[0]
    table = recording.table(topic)
    running = table.numbers('phase') == RUN
    names, columns = table.by_joint(('desired_position', 'position'))
    order = [names.index(name) for name in joint_names]
    error = (columns['desired_position'] - columns['position'])[running][:, order]
    return table.numbers('trajectory_time')[running], error
