"""Margins of a motion to the limits of a robot, as plain rows and as tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pkm_bringup.views.console import print_table
from pkm_dynamics.limits.margins import FeasibilityReport, Margin


def margin_rows(report: FeasibilityReport) -> list[dict[str, Any]]:
    """Return the worst case of every constraint, the tightest first."""
    return _rows(sorted(report.margins.values(), key=lambda margin: margin.relative))


def broken_rows(report: FeasibilityReport) -> list[dict[str, Any]]:
    """Return every limit that is exceeded, joint by joint, the worst first."""
    return _rows(report.broken)


def _rows(margins: Sequence[Margin]) -> list[dict[str, Any]]:
    return [
        {
            'constraint': margin.constraint,
            'where': margin.name,
            'time': margin.time,
            'value': margin.value,
            'limit': margin.limit,
            'margin': margin.margin,
            'unit': margin.unit,
        }
        for margin in margins
    ]


def print_margins(rows: list[dict[str, Any]]) -> None:
    """Print the worst case of each constraint."""
    keys = ('constraint', 'where', 'time', 'value', 'limit', 'margin', 'unit')
    header = ('constraint', 'where', 'at [s]', 'value', 'limit', 'margin', 'unit')
    print_table(header, [[row[key] for key in keys] for row in rows])


def print_broken(rows: list[dict[str, Any]]) -> None:
    """Print every limit that is exceeded."""
    keys = ('constraint', 'where', 'time', 'value', 'limit')
    header = ('broken limit', 'where', 'worst at [s]', 'value', 'limit', 'exceeded by', 'unit')
    cells = ([*(row[key] for key in keys), -row['margin'], row['unit']] for row in rows)
    print_table(header, cells)
