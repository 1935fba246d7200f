"""Picture of how cost grows: CPU time over size, both logarithmic, a panel for each size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

COLUMNS = 3


def plot_growth(series: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Draw all series; those of one size share a panel."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogFormatter, NullLocator

    grown = list(dict.fromkeys(each['over'] for each in series))
    rows = -(-len(grown) // COLUMNS)
    figure = Figure(figsize=(4 * COLUMNS, 3.3 * rows), layout='constrained')
    panels = figure.subplots(rows, COLUMNS, squeeze=False).ravel()
    for panel, over in zip(panels, grown, strict=False):
        for each in series:
            if each['over'] == over:
                exponent = each['exponent']
                power = '' if exponent is None else f', power {exponent:.1f}'
                style = 'o' if exponent is None else 'o-'
                label = each['what'].replace('_', ' ') + power
                panel.loglog(each['sizes'], each['times'], style, markersize=4, label=label)
        sizes = sorted({size for each in series if each['over'] == over for size in each['sizes']})
        panel.set_xticks(sizes, [f'{size:g}' for size in sizes])
        panel.xaxis.set_minor_locator(NullLocator())
        for which in (panel.yaxis.set_major_formatter, panel.yaxis.set_minor_formatter):
            which(LogFormatter(labelOnlyBase=False, minor_thresholds=(2, 0.5)))
        panel.set_xlabel(over)
        panel.set_ylabel('CPU time [us]')
        panel.grid(which='both', alpha=0.25)
        panel.legend(fontsize='small')
    for panel in panels[len(grown) :]:
        panel.set_axis_off()
    figure.savefig(path, dpi=110)
