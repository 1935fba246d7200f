"""A picture of an excitation: motion, margins, expected standard deviations."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pkm_dynamics.feasibility import check_feasibility
from pkm_dynamics.trajectories import Trajectory

if TYPE_CHECKING:
    from pkm_dynamics import ClosedChainModel

INSTANTS = 1001
LONGEST_NAME = 26


def plot_excitation(
    model: ClosedChainModel,
    trajectory: Trajectory,
    path: Path,
    deviations: Mapping[str, float] | None = None,
) -> None:
    """Write a picture of one run.

    To the left positions, velocities and forces of the actuators with their limits; to the
    right how much of each limit is left, and the expected standard deviations next to the
    nominal values, where `deviations` are given.
    """
    import matplotlib

    matplotlib.use('Agg')
    from matplotlib import pyplot

    figure = pyplot.figure(figsize=(14, 8), layout='constrained')
    left, right = figure.subfigures(1, 2, width_ratios=(3, 2))
    _plot_motion(left.subplots(3, 1, sharex=True), model, trajectory)
    if deviations:
        axes = right.subplots(2, 1, height_ratios=(1, max(len(deviations) / 12.0, 1.0)))
        _plot_margins(axes[0], model, trajectory)
        _plot_deviations(axes[1], model, deviations)
    else:
        _plot_margins(right.subplots(1, 1), model, trajectory)
    figure.savefig(path)
    pyplot.close(figure)


def _plot_motion(axes: Any, model: ClosedChainModel, trajectory: Trajectory) -> None:
    time = np.linspace(0.0, trajectory.duration, INSTANTS)
    motion = trajectory.motion(time, model)
    states = model.actuator_states(motion)
    forces = model.inverse_dynamics(motion)
    for axis, values, limits, label in (
        (axes[0], states.positions, (model.lower, model.upper), 'position [m, rad]'),
        (axes[1], states.velocities, (-model.velocity_limit, model.velocity_limit),
         'velocity [m/s, rad/s]'),
        (axes[2], forces, (-model.force_limit, model.force_limit), 'force [N, N m]'),
    ):  # fmt: skip
        lines = axis.plot(time, values, linewidth=1.2)
        reach = np.abs(values - values.mean()).max()
        for limit in np.unique(np.concatenate(limits)):
            if np.isfinite(limit) and abs(limit - values.mean()) < 3.0 * reach:
                axis.axhline(limit, color='0.5', linestyle=':')
        axis.set_ylabel(label)
        axis.grid(alpha=0.25)
    axes[0].legend(lines, model.actuated_joints, ncols=3, fontsize='small')
    axes[0].set_title(f'{model.description.name}: one run, limits dotted where near')
    axes[2].set_xlabel('time [s]')


def _plot_margins(axis: Any, model: ClosedChainModel, trajectory: Trajectory) -> None:
    report = check_feasibility(model, trajectory)
    ordered = sorted(report.margins.values(), key=lambda margin: -margin.relative)
    ordered = [margin for margin in ordered if np.isfinite(margin.margin)]
    left = np.array([100.0 * min(margin.relative, 1.0) for margin in ordered])
    labels = [f'{margin.constraint.replace("_", " ")}: {margin.name}' for margin in ordered]
    axis.barh(labels, left, color=['tab:red' if value < 0 else 'tab:blue' for value in left])
    axis.axvline(0.0, color='k', linewidth=0.8)
    axis.set_xlabel('left of the limit [%], where it is least')
    axis.set_title('feasible' if report.feasible else 'not feasible')
    axis.grid(axis='x', alpha=0.25)


def _plot_deviations(axis: Any, model: ClosedChainModel, deviations: Mapping[str, float]) -> None:
    base = model.base_parameters(shared=True, reduced=True)
    nominal = dict(zip(base.names, base.matrix @ np.asarray(model.nominal_parameters), strict=True))
    names = list(deviations)[::-1]
    rows = np.arange(len(names))
    axis.plot([deviations[name] for name in names], rows, 'o', label='standard deviation')
    values = np.abs([nominal.get(name, np.nan) for name in names])
    axis.plot(np.where(values > 0.0, values, np.nan), rows, 'k|', label='|nominal value|')
    axis.set_xscale('log')
    shown = [name if len(name) <= LONGEST_NAME else f'{name[:LONGEST_NAME]}…' for name in names]
    axis.set_yticks(rows, shown, fontsize='x-small')
    axis.set_xlabel('SI units')
    axis.set_title('expected standard deviation of one run')
    axis.legend(fontsize='small')
    axis.grid(alpha=0.25)
