"""What argparse makes of the text of an option, each a `type`."""

from __future__ import annotations

import argparse
import math


def number(text: str) -> float:
    """Return a finite number."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"'{text}' is not a number")
    return value


def positive(text: str) -> float:
    """Return a positive finite number."""
    value = number(text)
    if value <= 0.0:
        raise argparse.ArgumentTypeError(f"'{text}' is not a positive number")
    return value


def not_negative(text: str) -> float:
    """Return a finite number that is not negative."""
    value = number(text)
    if value < 0.0:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number >= 0")
    return value


def fraction(text: str) -> float:
    """Return a number in [0, 1)."""
    value = number(text)
    if not 0.0 <= value < 1.0:
        raise argparse.ArgumentTypeError(f"'{text}' is not a fraction, at least 0 and below 1")
    return value


def share(text: str) -> float:
    """Return a number between 0 and 1, both excluded."""
    value = number(text)
    if not 0.0 < value < 1.0:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number between 0 and 1")
    return value


def whole(text: str) -> int:
    """Return a whole number that is not negative."""
    return _whole(text, 0)


def count(text: str) -> int:
    """Return a whole number of at least one."""
    return _whole(text, 1)


def _whole(text: str, least: int) -> int:
    try:
        value = int(text)
    except ValueError:
        value = least - 1
    if value < least:
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number >= {least}")
    return value
