"""The check-list as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pkm_bringup.views.console import print_columns

COLUMNS = {'check': 'check', 'verdict': 'verdict', 'found': 'found', 'what to do': 'advice'}


def print_findings(findings: Sequence[Mapping[str, Any]]) -> None:
    """Print one line a check."""
    print_columns(findings, COLUMNS)
