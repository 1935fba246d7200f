"""What the texts of arguments name: robots and payloads."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pkm_description import DescriptionError, Payload, load, payload_of
from pkm_description.untrusted.bounded_yaml import MAX_CHARACTERS
from pkm_description.untrusted.named_files import file_text
from pkm_dynamics import ClosedChainModel, mechanism_model


def load_model(
    robot: str, update: Callable[[str], object] = lambda phase: None
) -> ClosedChainModel:
    """Return the model of a library robot or of a description file; `update` gets what is done."""
    update('reading the robot; the first run compiles')
    return ClosedChainModel(load(robot))


def load_mechanism(
    robot: str, update: Callable[[str], object] = lambda phase: None
) -> ClosedChainModel:
    """Return the model of a robot at its coordinates, where it has redundant drives, too."""
    update('reading the robot; the first run compiles')
    return mechanism_model(load(robot))


def load_payload(text: str) -> Payload | None:
    """Return a payload from `none`, `unknown`, YAML text or a YAML file."""
    path = Path(text)
    if path.suffix not in ('.yaml', '.yml'):
        return payload_of(text)
    content = file_text(path, DescriptionError, MAX_CHARACTERS, 'payload file')
    return payload_of(content, f"'{text}': ")
