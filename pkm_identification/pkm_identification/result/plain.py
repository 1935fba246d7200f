"""Values as plain numbers, texts, lists and mappings, which YAML and JSON write."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np


@runtime_checkable
class Describes(Protocol):
    """Something that says itself what a file holds of it: a trajectory, a result."""

    def to_dict(self) -> dict[str, Any]:
        """Return the entries."""


def plain(value: Any) -> Any:
    """Turn arrays, numpy scalars, enums and dataclasses into what YAML and JSON write."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set):
        return [plain(item) for item in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Describes):
        return plain(value.to_dict())
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    return value


class PlainMapping(Mapping[str, Any]):
    """What is a mapping of plain values by key besides; a class says which in `_content`."""

    @property
    def _content(self) -> dict[str, Any]:
        raise NotImplementedError

    def __getitem__(self, key: str) -> Any:
        """Return a plain value."""
        return self._content[key]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the keys."""
        return iter(self._content)

    def __len__(self) -> int:
        """Return the number of entries."""
        return len(self._content)
