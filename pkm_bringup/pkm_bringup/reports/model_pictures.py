"""Pictures of a model and of what tracking it brought."""

from __future__ import annotations

import numpy as np

from pkm_bringup.reports.svg import BLUE, COLOURS, DASHES, GREY, INK, ORANGE, drawn, thinned
from pkm_bringup.views.band_picture import draw_bands
from pkm_bringup.views.tracking_view import TrackedRun
from pkm_identification import IdentificationResult
from pkm_identification.model_selection.identifiability import Identifiability

LEAST, MOST = 1e-2, 1e3  # [%] that are drawn, others at the edge
ROW = 0.17  # [in] of one parameter
SHOWN = 3.0  # [s] of the errors


def certainty_picture(known: Identifiability) -> str:
    """Return the relative standard deviation of each parameter."""
    from matplotlib.ticker import FuncFormatter

    count = len(known.names)
    label = f'relative standard deviations of {count} parameters; {known.count} are proper'
    with drawn(label, 1.0 + ROW * count, width=4.6) as (figure, svg):
        axis = figure.subplots()
        place = np.arange(count)[::-1]
        shown = np.clip(np.nan_to_num(known.relative, nan=MOST, posinf=MOST), LEAST, MOST)
        groups = (
            (known.is_proper, 'o', BLUE, BLUE, 'properly identified'),
            (known.is_determined & known.is_possible & ~known.is_proper, 'D', ORANGE, ORANGE)
            + ('uncertain',),
            (known.is_determined & ~known.is_possible, 's', ORANGE, 'none', 'impossible sign'),
            (~known.is_determined & known.is_estimated, 'X', INK, INK, 'not determined'),
        )
        for chosen, mark, edge, fill, name in groups:
            if chosen.any():
                look = {'color': edge, 'markerfacecolor': fill, 'markersize': 4.5}
                axis.plot(shown[chosen], place[chosen], mark, label=name, **look)
        axis.axvline(known.threshold, color=INK, lw=0.9, ls='--')
        axis.set_xscale('log')
        axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f'{value:g}'))
        axis.set_yticks(place, known.names)
        axis.set_ylim(-0.7, count - 0.3)
        axis.set_xlabel(f'standard deviation by value [%]; dashed: {known.threshold:g} %')
        axis.grid(axis='y', alpha=0.0)
        figure.legend(loc='outside upper left', ncols=2, handletextpad=0.3)
    return svg[0]


def band_picture(result: IdentificationResult) -> str:
    """Return errors of held-out forces over the cutoffs that were tried."""
    with drawn('error of held-out forces over the cutoff of the filter', 2.9, 4.6) as (figure, svg):
        draw_bands(figure.subplots(), result)
    return svg[0]


def tracking_pictures(runs: list[TrackedRun], units: dict[str, str]) -> tuple[str, ...]:
    """Return the position errors over time, one picture a joint, one line a run."""
    pictures = []
    for k, joint in enumerate(runs[0].joint_names):
        with drawn(f'{joint}: position errors of {len(runs)} runs', 1.9) as (figure, svg):
            axis = figure.subplots()
            for number, run in enumerate(runs):
                shown = run.time <= run.time[0] + SHOWN
                error = 1e3 * run.errors[shown, k]
                colour, dashes = (each[number % len(each)] for each in (COLOURS, DASHES))
                time = run.time[shown] - run.time[0]
                axis.plot(*thinned(time, error, by=error), color=colour, ls=dashes, lw=1.1)
            axis.set_title(joint)
            axis.set_ylabel(f'error [m{units[joint]}]')
            axis.set_xlabel('time at full speed [s]')
            axis.margins(x=0.0)
        pictures += svg
    return tuple(pictures)


def tracking_key(runs: list[TrackedRun]) -> str:
    """Return which line is which run."""
    from matplotlib.lines import Line2D

    rows = -(-len(runs) // 2)
    with drawn('lines of the runs', 0.1 + 0.2 * rows, 4.6) as (figure, svg):
        lines = []
        for number, run in enumerate(runs):
            colour, dashes = (each[number % len(each)] for each in (COLOURS, DASHES))
            lines.append(Line2D([], [], color=colour, ls=dashes, lw=1.4, label=run.name))
        figure.legend(handles=lines, loc='upper left', ncols=2, handlelength=2.6)
    return svg[0]


def tracking_bars(runs: list[TrackedRun], unit: str) -> str:
    """Return the RMS errors of all joints together, one bar a run."""
    names, values = [run.name for run in runs], [1e3 * run.overall for run in runs]
    height = 0.7 + 0.28 * len(runs)
    with drawn('RMS position errors of all joints by run', height, 4.6) as (figure, svg):
        axis = figure.subplots()
        place = np.arange(len(runs))[::-1]
        colours = [COLOURS[number % len(COLOURS)] for number in range(len(runs))]
        bars = axis.barh(place, values, 0.62, color=colours)
        axis.bar_label(bars, [f'{value:.3g}' for value in values], padding=3, color=INK)
        axis.set_yticks(place, names)
        axis.set_xlabel(f'RMS error of all joints [m{unit}]')
        axis.margins(x=0.12)
        axis.grid(axis='y', alpha=0.0)
        axis.spines['left'].set_color(GREY)
    return svg[0]
