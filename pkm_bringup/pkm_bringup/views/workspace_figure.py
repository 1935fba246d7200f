"""A picture of a workspace: what can be reached, and what stops the robot elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from pkm_dynamics import ClosedChainModel
from pkm_dynamics.analysis.reachability import CRITERIA
from pkm_dynamics.analysis.workspace import (
    is_planar,
    largest_box,
    region,
    workspace,
    workspace_slice,
    yaw_of,
)

POINTS = 61  # a side of a slice
BORDER = 0.5  # of the declared box around it on each side
# Okabe and Ito's palette, told apart by the colour-blind; reachable first.
COLOURS = ('#e8f3ec', '#000000', '#e69f00', '#56b4e9', '#cc79a7', '#d55e00', '#bbbbbb')
DOTS = ('#2a7f4f', *COLOURS[1:])
LABELS = ('reachable', *CRITERIA)


def workspace_figure(model: ClosedChainModel, samples: int) -> Figure:
    """Slices across z and y through home, or the positions that random strokes lead to."""
    figure = Figure(figsize=(10.5, 5.2), layout='constrained')
    axes = figure.subplots(1, 2)
    name = model.description.name
    if model.platform_determines_joints:
        used, colours = _slices(model, axes), COLOURS
        figure.suptitle(f'{name}: positions with the rotation of home')
    else:
        used, colours = _positions(model, axes, samples), DOTS
        figure.suptitle(f'{name}: platform at {samples} random positions of the actuators')
    handles = [_patch(k, colours) for k in sorted(used)]
    figure.legend(handles=handles, loc='outside lower center', ncols=len(handles), frameon=False)
    return figure


def _slices(model: ClosedChainModel, axes: Any) -> set[int]:
    lower, upper = region(model, 'platform')
    wide = BORDER * (upper - lower)
    box = largest_box(model)
    colours, used = ListedColormap(COLOURS), set()
    for ax, across in zip(axes, 'zy', strict=True):
        cut = workspace_slice(model, across, points=POINTS, lower=lower - wide, upper=upper + wide)
        used |= set(cut.verdict.ravel().tolist())
        norm = BoundaryNorm(np.arange(len(COLOURS) + 1) - 0.5, len(COLOURS))
        grid = (cut.columns, cut.rows, cut.verdict)
        ax.pcolormesh(*grid, cmap=colours, shading='nearest', norm=norm)
        first, second = ('xyz'.index(axis) for axis in cut.axes)
        _rectangle(ax, lower, upper, first, second, '--', 'declared box')
        if np.all(np.isfinite(box[0])):
            _rectangle(ax, *box, first, second, '-', 'largest box found')
        ax.plot(model.home_position[first], model.home_position[second], 'k+', markersize=9)
        ax.set_title(f'{cut.fixed} = {cut.height:.4g} m', fontsize=10)
        _label(ax, cut.axes)
    axes[0].legend(loc='upper right', fontsize=8, framealpha=0.9)
    return used


def _positions(model: ClosedChainModel, axes: Any, samples: int) -> set[int]:
    found = workspace(model, samples, coordinates='actuators').samples
    names = found.first_failure
    codes = np.array([LABELS.index(name) if name else 0 for name in names])
    used = set()
    planar = is_planar(model)
    places, home = found.position, np.array(model.home_position)
    if planar:  # the third axis is yaw
        places = np.column_stack([places[:, :2], yaw_of(model, found.rotation)])
        home[2] = 0.0
    for ax, (first, second) in zip(axes, ((0, 1), (0, 2)), strict=True):
        for code in sorted(set(codes.tolist()) - {LABELS.index('assembly')}, reverse=True):
            here = places[codes == code]
            ax.plot(here[:, first], here[:, second], '.', color=DOTS[code], markersize=3)
            used.add(code)
        ax.plot(home[first], home[second], 'k+', markersize=9)
        if planar and second == 2:
            ax.set_xlabel('x [m]')
            ax.set_ylabel('yaw from home [rad]')
        else:
            _label(ax, ('xyz'[first], 'xyz'[second]))
    return used


def _rectangle(
    ax: Axes, lower: Any, upper: Any, first: int, second: int, style: str, label: str
) -> None:
    x, y = (lower[first], upper[first]), (lower[second], upper[second])
    around = ([x[0], x[1], x[1], x[0], x[0]], [y[0], y[0], y[1], y[1], y[0]])
    ax.plot(*around, 'k' + style, linewidth=1.2, label=label)


def _label(ax: Axes, names: tuple[str, ...]) -> None:
    ax.set_xlabel(f'{names[0]} [m]')
    ax.set_ylabel(f'{names[1]} [m]')
    ax.set_aspect('equal', adjustable='datalim')


def _patch(code: int, colours: tuple[str, ...]) -> Any:
    label = LABELS[code] if code == 0 else f'stopped by {LABELS[code]}'
    if LABELS[code] == 'workspace':
        label = 'outside the declared workspace'
    return Patch(facecolor=colours[code], edgecolor='#555555', linewidth=0.5, label=label)
