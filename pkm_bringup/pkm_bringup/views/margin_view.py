"""Margins of a motion to the limits of a robot, as plain rows and as tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pkm_bringup.views.console import Column, print_columns
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
    keys = ('value', 'limit', 'margin', 'unit')
    columns: dict[str, Column] = {'constraint': 'constraint', 'where': 'where', 'at [s]': 'time'}
    print_columns(rows, columns | {key: key for key in keys})


def print_broken(rows: list[dict[str, Any]]) -> None:
    """Print every limit that is exceeded."""
    columns: dict[str, Column] = {'broken limit': 'constraint', 'where': 'where'}
    columns |= {'worst at [s]': 'time', 'value': 'value', 'limit': 'limit'}
    columns |= {'exceeded by': lambda row: -row['margin'], 'unit': 'unit'}
    print_columns(rows, columns)
