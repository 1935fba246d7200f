"""Picture of the excitation study."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from pkm_bringup.studies.excitation_study import MAIN
from pkm_bringup.studies.spread_statistics import TOLERANCE
from pkm_bringup.views.excitation_study_table import TOLD


def plot_spreads(content: dict[str, Any], path: Path, estimator: str = MAIN) -> None:
    """Write a picture: standard deviations relative to T_d, and predicted against observed."""
    from matplotlib.figure import Figure

    part = content[estimator]
    figure = Figure(figsize=(13, 7), layout='constrained')
    axes = figure.subplots(1, 2, width_ratios=(3, 2))
    _draw_ratios(axes[0], content, part)
    axes[0].set_title(
        f'{content["robot"]}, plant: {content["plant"]}; {part["smaller"]} of '
        f'{len(content["parameters"])} smaller with T_s ({content["runs"]} runs each, {estimator})'
    )
    _draw_agreement(axes[1], content, part)
    for axis in axes:
        axis.grid(alpha=0.25)
        axis.legend(fontsize='small')
    figure.savefig(path)


def _draw_ratios(axis: Any, content: dict[str, Any], part: dict[str, Any]) -> None:
    names = content['parameters']
    rows = np.arange(len(names))[::-1]
    ratio, interval = np.array(part['ratio']), np.array(part['ratio_interval'])
    width, told = np.abs(interval.T - ratio), 'observed, 95 % interval'
    axis.errorbar(ratio, rows, xerr=width, fmt='o', capsize=2, label=told)
    foreseen = np.divide(part['of']['T_s']['predicted'], part['of']['T_d']['predicted'])
    axis.plot(foreseen, rows, 'k|', markersize=10, label='predicted by the motions')
    axis.axvline(1.0, color='0.5')
    axis.set_xscale('log')
    axis.set_yticks(rows, names, fontsize='small')
    axis.set_xlabel('standard deviation with T_s over that with T_d')


def _draw_agreement(axis: Any, content: dict[str, Any], part: dict[str, Any]) -> None:
    """Draw one column a parameter: both trajectories, against both kinds of figures."""
    columns = np.arange(len(content['parameters']))
    for name, key, mark, shift in (('T_d', 'sigma_d', 's', -0.15), ('T_s', 'sigma_s', 'o', 0.15)):
        for source, filled in (('predicted', True), ('executed', False)):
            ratio = np.divide(part[key], part['of'][name][source])
            axis.plot(
                columns + shift,
                ratio,
                mark,
                color='C0' if name == 'T_d' else 'C1',
                markerfacecolor=None if filled else 'none',
                markersize=6 if filled else 9,
                label=f'{name}, over {TOLD[source]}',
            )
    axis.axhspan(1.0 - TOLERANCE, 1.0 + TOLERANCE, color='0.93', zorder=0)
    axis.axhline(1.0, color='0.5')
    axis.set_xticks(columns, content['parameters'], rotation=90, fontsize='x-small')
    axis.set_yscale('log')
    ticks = [0.1, 0.2, 0.5, 0.8, 1.0, 1.2, 1.5]
    axis.set_yticks(ticks, ticks)
    axis.set_yticks([], minor=True)
    axis.set_ylabel('observed standard deviation over that foreseen')
    axis.set_title(f'within {100 * TOLERANCE:.0f} %: shaded')
