"""A picture of an excitation: motion, margins, expected standard deviations."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pkm_bringup.outputs import write_output
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.limits.margins import ASSEMBLED, FeasibilityReport
from pkm_dynamics.trajectories import Trajectory
from pkm_identification.arrays import Array
from pkm_identification.model_selection.identifiability import sizes_of_differences

RATE, INSTANTS = 200.0, (1000, 20000)  # [Hz] of the curves, and how many instants they have
WELL_KNOWN = 0.15  # standard deviation over nominal value, up to which a parameter is identified
NEAR = 3.0  # of the span of the curves: limits further away are left out
WIDTH, HEIGHT = 17.0, 8.5  # [in]
ROW = 0.19  # [in] of one parameter
LONGEST = 48  # characters of a name beside an axis: half of its width at its smallest writing
LEFT_OUT = '…'
LIMIT: dict[str, Any] = {'color': '0.4', 'linestyle': ':', 'linewidth': 1.2}  # its lines
COLOURS = {'good': 'tab:blue', 'poor': 'tab:orange', 'broken': 'tab:red'}


def plot_excitation(
    model: ClosedChainModel,
    trajectory: Trajectory,
    path: Path,
    report: FeasibilityReport,
    deviations: Mapping[str, float] | None = None,
    runs: str = 'one run',
) -> None:
    """Write a picture of one run.

    To the left positions, velocities and forces of the actuators with their limits; to the
    right how much of each limit is left, and the expected standard deviations of `runs` (in
    words) next to the nominal values.
    """
    from matplotlib.figure import Figure

    rows = len(deviations or ())
    height = max(HEIGHT, 4.0 + ROW * rows)
    figure = Figure(figsize=(WIDTH, height), layout='constrained', dpi=100)
    halves: Any = figure.subfigures(1, 2, width_ratios=(3, 2))
    left, right = halves
    _plot_motion(left, model, trajectory)
    if deviations:
        shares = (max(len(report.margins), 6) * 0.3, max(ROW * rows, 2.0))
        axes = right.subplots(2, 1, height_ratios=shares)
        _plot_margins(axes[0], report, trajectory)
        _plot_deviations(axes[1], model, deviations, runs)
    else:
        _plot_margins(right.subplots(1, 1), report, trajectory)
    write_output(path, figure.savefig)


def _plot_motion(part: Any, model: ClosedChainModel, trajectory: Trajectory) -> None:
    axes = part.subplots(3, 1, sharex=True)
    count = int(np.clip(trajectory.duration * RATE, *INSTANTS))
    time = np.linspace(0.0, trajectory.duration, count)
    motion = trajectory.motion(time, model)
    states = model.actuator_states(motion)
    forces = model.inverse_dynamics(motion)
    unit, effort = _units(model)
    names = list(model.actuated_joints)
    speed, most = f'{"/s, ".join(unit.split(", "))}/s', model.velocity_limit
    rows = (
        (states.positions, (model.lower, model.upper), f'position [{unit}]'),
        (states.velocities, (-most, most), f'velocity [{speed}]'),
        (forces, (-model.force_limit, model.force_limit), f'force [{effort}]'),
    )
    for axis, (values, limits, label) in zip(axes, rows, strict=True):
        lines = axis.plot(time, values, linewidth=1.2)
        _plot_limits(axis, values, np.concatenate(limits))
        axis.set_ylabel(label)
        axis.grid(alpha=0.25)
    axes[0].set_xlim(0.0, trajectory.duration)
    axes[2].set_xlabel('time [s]')
    what = 'one period' if trajectory.period is not None else 'one run, from rest to rest'
    part.suptitle(f'{model.description.name}: {trajectory.kind.replace("_", " ")}, {what}')
    from matplotlib.lines import Line2D

    handles, labels = [*lines, Line2D([], [], **LIMIT)], [*names, 'limit, where near']
    longest = max(map(len, labels))
    columns = max(min(len(labels), 96 // (longest + 6)), 1)
    part.legend(handles, labels, ncols=columns, fontsize='small', loc='outside lower center')


def _plot_limits(axis: Any, values: Array, limits: Array) -> None:
    """Draw those of the limits that are near the curves."""
    low, high = values.min(), values.max()
    reach = max(high - low, 1e-12)
    for limit in np.unique(limits[np.isfinite(limits)]):
        if low - NEAR * reach < limit < high + NEAR * reach:
            axis.axhline(limit, **LIMIT)


def _units(model: ClosedChainModel) -> tuple[str, str]:
    """Return the units of the actuators' positions and efforts."""
    types = [model.description.joint(name).type for name in model.actuated_joints]
    straight = [kind == 'prismatic' for kind in types]
    if all(straight):
        return 'm', 'N'
    return ('m, rad', 'N, N m') if any(straight) else ('rad', 'N m')


def _plot_margins(axis: Any, report: FeasibilityReport, trajectory: Trajectory) -> None:
    ordered = sorted(report.margins.values(), key=lambda margin: -margin.relative)
    shares = np.array([100.0 * margin.relative for margin in ordered])
    shown = np.clip(np.nan_to_num(shares, nan=-100.0), -100.0, 100.0)
    labels = [f'{margin.constraint.replace("_", " ")}: {margin.name}' for margin in ordered]
    colours = [COLOURS['broken'] if share < 0.0 else COLOURS['good'] for share in shown]
    rows = np.arange(len(ordered))
    axis.barh(rows, shown, color=colours)
    axis.set_yticks(rows, labels, fontsize='small')
    axis.set_xlim(min(-2.0, 1.25 * shown.min(initial=0.0)), 100.0)
    for row, (share, margin) in enumerate(zip(shown, ordered, strict=True)):
        unit = f' {margin.unit}' if margin.unit else ''
        text = f'{margin.value:.4g} of {margin.limit:.4g}{unit}'
        if margin.constraint == ASSEMBLED:
            text = f'does not assemble at {margin.time:.4g} s'
        inside = share > 55.0
        look = {'ha': 'right', 'color': 'white'} if inside else {'ha': 'left', 'color': 'black'}
        look |= {'textcoords': 'offset points', 'va': 'center', 'fontsize': 'x-small'}
        axis.annotate(text, (max(share, 0.0), row), (-4 if inside else 4, 0), **look)
    axis.axvline(0.0, color='k', linewidth=0.8)
    axis.set_xlabel('left of the range, else of the limit [%], where it is least')
    what = 'margins' if trajectory.period is None else 'margins, ramps included'
    count = len(report.broken)
    kept = 'all limits kept' if report.feasible else f'limits broken: {count}'
    axis.set_title(f'{what}; {kept}', fontsize='medium', loc='right')
    axis.grid(axis='x', alpha=0.25)


def _plot_deviations(
    axis: Any, model: ClosedChainModel, deviations: Mapping[str, float], runs: str
) -> None:
    base = model.base_parameters(shared=True, reduced=True)
    given = np.asarray(model.nominal_parameters)
    sizes = np.maximum(np.abs(base.matrix @ given), sizes_of_differences(base.matrix, given))
    nominal = dict(zip(base.names, sizes, strict=True))
    units = dict(zip(base.names, base.units, strict=True))
    expressions = dict(zip(base.names, base.expressions, strict=True))
    names = list(deviations)
    rows = np.arange(len(names))
    sizes = np.array([deviations[name] for name in names])
    values = np.array([nominal.get(name, np.nan) for name in names])
    good = sizes <= WELL_KNOWN * values
    share = f'{100 * WELL_KNOWN:.0f} %'
    for chosen, key, label in (
        (good, 'good', f'standard deviation, up to {share} of the nominal value'),
        (~good, 'poor', f'standard deviation, more than {share} of it'),
    ):
        if chosen.any():
            axis.plot(sizes[chosen], rows[chosen], 'o', color=COLOURS[key], label=label)
    nonzero = values > 0.0
    axis.plot(
        values[nonzero],
        rows[nonzero],
        'k|',
        markersize=9,
        label='|nominal value|, or size of equal parts',
    )
    axis.set_xscale('log')
    labels = [parameter_label(expressions.get(name, name), units.get(name, '')) for name in names]
    axis.set_yticks(rows, labels, fontsize='x-small')
    axis.set_ylim(len(names) - 0.4, -0.6)
    axis.set_xlabel('in the unit of the parameter')
    axis.set_title(f'expected standard deviations of {runs}', fontsize='medium', loc='right')
    axis.grid(alpha=0.25)
    axis.figure.legend(
        *axis.get_legend_handles_labels(), fontsize='x-small', loc='outside lower center'
    )


def parameter_label(expression: str, unit: str = '') -> str:
    """Return an expression, with as many of its terms as there is room for, and its unit."""
    terms = expression.replace(' - ', '\n- ').replace(' + ', '\n+ ').split('\n')
    shown = terms[0] if len(terms[0]) <= LONGEST else f'{terms[0][: LONGEST - 1]}{LEFT_OUT}'
    for count, term in enumerate(terms[1:], 2):
        room = LONGEST - (0 if count == len(terms) else len(f' + {LEFT_OUT}'))
        if len(f'{shown} {term}') > room:
            shown += f' + {LEFT_OUT}'
            break
        shown += f' {term}'
    return f'{shown} [{unit}]' if unit else shown
