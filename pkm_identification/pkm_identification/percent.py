"""Shares in texts."""

from __future__ import annotations


def percent(share: float) -> str:
    """Return a share in percent with two digits, never as a power of ten: 0.027, 83, 120 %."""
    return f'{float(f"{100 * share:.2g}"):.10g} %'
