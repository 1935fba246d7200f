"""What the texts of arguments name: robots and payloads."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pkm_description import DescriptionError, Payload, load, payload_of
from pkm_dynamics import ClosedChainModel


def load_model(
    robot: str, update: Callable[[str], object] = lambda phase: None
) -> ClosedChainModel:
    """Return the model of a library robot or of a description file; `update` gets what is done."""
    update('reading the robot; the first run compiles')
    return ClosedChainModel(load(robot))


def load_payload(text: str) -> Payload | None:
    """Return a payload from `none`, `unknown`, YAML text or a YAML file."""
    path = Path(text)
    if path.suffix not in ('.yaml', '.yml'):
        return payload_of(text)
    try:
        content = path.read_text(encoding='utf8')
    except (OSError, UnicodeDecodeError) as error:
        raise DescriptionError(f"payload file '{text}' cannot be read: {error}") from error
    return payload_of(content, f"'{text}': ")
