"""Lines of the check-list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any


class Verdict(Enum):
    """What came of a check."""

    OK = 'ok'
    WARNING = 'warning'
    FAILED = 'failed'
    SKIPPED = 'skipped'


@dataclass(frozen=True)
class Finding:
    """One line: what was checked, what was found, and what to do about it."""

    check: str
    verdict: Verdict
    found: str  # with figures and units
    advice: str = ''

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self) | {'verdict': self.verdict.value}


def ok(check: str, found: str) -> Finding:
    """Return a line of what is as it should be."""
    return Finding(check, Verdict.OK, found)


def warning(check: str, found: str, advice: str) -> Finding:
    """Return a line of what should be looked at."""
    return Finding(check, Verdict.WARNING, found, advice)


def failed(check: str, found: str, advice: str) -> Finding:
    """Return a line of what must be mended."""
    return Finding(check, Verdict.FAILED, found, advice)


def skipped(check: str, reason: str) -> Finding:
    """Return a line of what was not checked."""
    return Finding(check, Verdict.SKIPPED, reason)


def any_failed(findings: Sequence[Finding]) -> bool:
    """Whether a check has failed."""
    return any(each.verdict is Verdict.FAILED for each in findings)
