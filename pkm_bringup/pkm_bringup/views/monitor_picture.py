"""Picture of `pkm monitor`: quantities over the recordings, with bounds and changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from pkm_bringup.views.monitor_view import SHOWN, verdict
from pkm_identification.monitoring.causes import Kind
from pkm_identification.monitoring.findings import Track
from pkm_identification.monitoring.shape_in_time import Course
from pkm_identification.requests.monitor_request import Monitored

PANELS = (
    (Kind.PAYLOAD, 'payload'),
    (Kind.FRICTION, 'friction of drives'),
    (Kind.COMMON_FRICTION, 'all friction of drives'),
    (Kind.FORCE_CONSTANT, 'force constants'),
    (Kind.ENCODER, 'encoder offsets'),
    (Kind.ROTOR, 'rotor inertias'),
)
BOUND = 1.96  # standard deviations of a 95 % bound
LONGEST_TITLE = 110  # characters a line
TICKS = 12
# of what did not change: no red, which marks changes
COLOURS = ('C0', 'C2', 'C1', 'C4', 'C5', 'C9', 'C7', 'C8')


def plot_monitored(monitored: Monitored, path: Path) -> None:
    """Draw what may change over the recordings: estimates with 95 % bounds, changes marked."""
    import textwrap

    from matplotlib.figure import Figure

    panels = [(kind, title) for kind, title in PANELS if _tracks(monitored, kind)]
    figure = Figure(figsize=(10, 1.2 + 2.1 * len(panels)), layout='constrained')
    axes = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
    for axis, (kind, title) in zip(axes, panels, strict=True):
        _draw(axis, monitored, _tracks(monitored, kind), title)
    count = len(monitored.names)
    step = max(1, -(-count // TICKS))
    axes[-1].set_xticks(range(0, count, step), monitored.names[::step], rotation=30, ha='right',
                        fontsize='small')  # fmt: skip
    lines = verdict(monitored).replace(' -> ', ' | -> ').split(' | ')
    text = '\n'.join(part for line in lines for part in textwrap.wrap(line, LONGEST_TITLE))
    changed = bool(monitored.findings.changes)
    colour = 'firebrick' if changed else 'darkgreen'
    figure.suptitle(text, fontsize='medium', color=colour, x=0.01, ha='left')
    figure.savefig(path, dpi=110)


def _tracks(monitored: Monitored, kind: Kind) -> list[Track]:
    """Tracks of a panel: of passive joints only those that changed."""
    found = {each.detection.cause.key for each in monitored.findings.changes}
    return [
        track
        for track in monitored.findings.tracks
        if track.cause.kind == kind
        and (track.cause.joint in ('', *monitored.joint_names) or track.cause.key in found)
        and np.isfinite(track.values).any()
    ]


def _draw(axis: Any, monitored: Monitored, tracks: list[Track], title: str) -> None:
    found = monitored.findings
    changes = {each.detection.cause.key: each for each in (*found.changes, *found.notices)}
    factor, unit = SHOWN.get(tracks[0].unit, (1.0, tracks[0].unit))
    numbers = np.arange(len(monitored.names))
    typical = [float(np.nanmedian(track.deviations)) for track in tracks]
    for place, (track, size) in enumerate(zip(tracks, typical, strict=True)):
        if SHOWN.get(track.unit, (1.0, track.unit))[1] != unit:
            continue
        is_changed = track.cause.key in changes
        if size > 6 * min(typical) and not is_changed:  # so uncertain that it hides the others
            continue
        colour = 'firebrick' if is_changed else COLOURS[place % len(COLOURS)]
        label = track.cause.joint or 'platform' * (track.cause.kind == Kind.PAYLOAD) or 'all'
        axis.errorbar(
            numbers + 0.05 * (place - len(tracks) / 2),
            factor * track.values,
            BOUND * factor * track.deviations,
            fmt='o', color=colour, markersize=5 if is_changed else 3,
            linewidth=1.4 if is_changed else 0.7, alpha=1.0 if is_changed else 0.45,
            label=label, zorder=3 if is_changed else 2,
        )  # fmt: skip
        if is_changed:
            _mark(axis, monitored, changes[track.cause.key].shape, factor)
    axis.axhline(0.0, color='0.4', linewidth=0.8)
    if monitored.references:
        axis.axvspan(-0.5, monitored.references - 0.5, color='0.92', zorder=0)
    axis.set_xlim(-0.5, len(numbers) - 0.5)
    axis.set_ylabel(f'{title}\n[{unit}]', fontsize='small')
    axis.grid(alpha=0.25)
    axis.legend(fontsize='x-small', loc='center left', bbox_to_anchor=(1.0, 0.5))


def _mark(axis: Any, monitored: Monitored, shape: Any, factor: float) -> None:
    """Draw when a change began, and its course."""
    first, last = (monitored.references + each for each in (shape.first, shape.last))
    axis.axvline(first - 0.5, color='firebrick', linestyle='--', linewidth=1)
    value = factor * shape.value
    if shape.course == Course.GROWTH:
        axis.plot([first - 1, last], [0.0, value], color='firebrick', linewidth=1)
        return
    axis.plot([first - 0.5, last + 0.5], [value, value], color='firebrick', linewidth=1)
    if shape.course == Course.PASSING:
        axis.axvline(last + 0.5, color='firebrick', linestyle='--', linewidth=1)
