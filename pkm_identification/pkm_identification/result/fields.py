"""Entries of a file: plain values to write, and what is read, each of the type that it must have.

Errors name the entry.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING
from enum import Enum
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from pkm_identification.arrays import Array

Entries = TypeVar('Entries')
UNSYMMETRIC = 1e-9  # of the standard deviations: larger differences are no rounding
BEYOND_ONE = 1e-6  # of a correlation
EQUAL = 1e-9  # relative difference of figures that a file holds twice


class Fields:
    """A mapping that a file holds; `where` are the keys that lead to it, empty for the whole file.

    Here and in all methods a `ValueError` where the entry is missing or is something else.
    """

    def __init__(self, content: Any, where: str = '') -> None:
        if not isinstance(content, Mapping):
            raise ValueError(f"'{where}' must be a mapping, not {_shown(content)}")
        self.content, self.where = content, where

    def __contains__(self, key: str) -> bool:
        """Whether there is such an entry."""
        return key in self.content

    def path(self, key: str) -> str:
        """Return the keys that lead to an entry."""
        return f'{self.where}.{key}' if self.where else key

    def get(self, key: str) -> Any:
        """Return an entry of any type."""
        if key not in self.content:
            raise ValueError(f"lacks '{self.path(key)}'")
        return self.content[key]

    def text(self, key: str) -> str:
        """Return a text."""
        return self._of_type(key, str, 'a text')

    def flag(self, key: str) -> bool:
        """Return true or false."""
        return self._of_type(key, bool, 'true or false')

    def _of_type(self, key: str, kind: type[Entries], what: str) -> Entries:
        value = self.get(key)
        if not isinstance(value, kind):
            raise self._wrong(key, what, value)
        return value

    def number(self, key: str, least: float = -np.inf, most: float = np.inf) -> float:
        """Return a number between two others; nan only where there are no bounds."""
        value = self.get(key)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        is_bounded = np.isfinite(least) or np.isfinite(most)
        if not is_number or (is_bounded and not least <= value <= most):
            what = f'a number from {least:g} to {most:g}' if is_bounded else 'a number'
            raise self._wrong(key, what, value)
        return float(value)

    def finite(self, key: str) -> float:
        """Return a finite number."""
        value = self.number(key)
        if not np.isfinite(value):
            raise ValueError(f"'{self.path(key)}' is not finite")
        return value

    def numbers(self, key: str, shape: tuple[int, ...] | None, finite: bool = False) -> Array:
        """Return an array of this shape, or of any; -1 stands for any length."""
        value = self.get(key)
        try:
            array = np.array(value, dtype=float)
        except (TypeError, ValueError, OverflowError):
            raise self._wrong(key, 'numbers', value) from None
        if shape is None:
            return array
        if not array.size and 0 in shape:
            array = np.zeros(shape)
        fits = array.ndim == len(shape) and all(
            asked in (-1, found) for asked, found in zip(shape, array.shape, strict=True)
        )
        if not fits:
            raise ValueError(f"'{self.path(key)}' has shape {array.shape}, expected {shape}")
        if finite and not np.isfinite(array).all():
            raise ValueError(f"'{self.path(key)}' holds a value that is not finite")
        return array

    def covariance(self, key: str, size: int) -> Array:
        """Return a covariance (size, size); variances may be infinite."""
        array = self.numbers(key, (size, size))
        variance = np.diag(array)
        if np.isnan(array).any() or (variance < 0).any():
            raise ValueError(f"'{self.path(key)}' has a negative variance or NaN")
        known = np.isfinite(variance)
        block, deviation = array[np.ix_(known, known)], np.sqrt(variance[known])
        reach = np.outer(deviation, deviation)
        if not (np.abs(block) <= reach * (1 + BEYOND_ONE)).all():
            raise ValueError(f"'{self.path(key)}' holds a correlation beyond one")
        if (np.abs(block - block.T) > UNSYMMETRIC * reach).any():
            raise ValueError(f"'{self.path(key)}' is not symmetric")
        return array

    def texts(self, key: str) -> list[str]:
        """Return a list of texts."""
        value = self.get(key)
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self._wrong(key, 'a list of texts', value)
        return list(value)

    def names(self, key: str) -> list[str]:
        """Return a list of texts that all differ."""
        return different(self.texts(key), self.path(key))

    def mapping(self, key: str) -> Fields:
        """Return a mapping."""
        return Fields(self.get(key), self.path(key))

    def mappings(self, key: str) -> list[Fields]:
        """Return a list of mappings."""
        items = self._of_type(key, list, 'a list')
        return [Fields(item, f'{self.path(key)}[{i}]') for i, item in enumerate(items)]

    def optional(self, key: str) -> list[Fields]:
        """Return a list of mappings, empty where there is no such entry."""
        return self.mappings(key) if key in self else []

    def read(self, kind: type[Entries]) -> Entries:
        """Return a dataclass from the entries with the names of its fields.

        Entries of fields that have a default may be missing or null.
        """
        types = get_type_hints(kind)
        found = {}
        for each in dataclasses.fields(kind):  # type: ignore[arg-type]
            has_default = each.default is not MISSING or each.default_factory is not MISSING
            if not (has_default and self.content.get(each.name) is None):
                found[each.name] = self._read(each.name, types[each.name])
        return kind(**found)

    def _read(self, key: str, kind: Any) -> Any:
        """Return an entry as the type of a field, which may be optional or a tuple."""
        origin, inner = get_origin(kind), get_args(kind)
        if origin in (Union, UnionType):
            some = [each for each in inner if each is not NoneType]
            return self._read(key, some[0]) if len(some) == 1 else self.get(key)
        if origin is tuple and inner[0] is float:
            return tuple(self.numbers(key, (-1,)).tolist())
        if origin is tuple and inner[0] is int:
            return tuple(int(number) for number in self.numbers(key, (-1,), finite=True))
        if origin is tuple and isinstance(inner[0], type) and dataclasses.is_dataclass(inner[0]):
            return tuple(each.read(inner[0]) for each in self.mappings(key))
        if origin is tuple and get_origin(inner[0]) is not None:
            return tuple(each.content for each in self.mappings(key))
        if origin is tuple and issubclass(inner[0], Enum):
            return tuple(self._member(key, inner[0], each) for each in self.texts(key))
        if origin is tuple:
            return tuple(self.texts(key))
        if origin is np.ndarray:
            return self.numbers(key, None)
        if isinstance(kind, type) and dataclasses.is_dataclass(kind):
            return self.mapping(key).read(kind)
        if isinstance(kind, type) and issubclass(kind, Enum):
            return self._member(key, kind, self.get(key))
        if kind is int:
            return int(self.number(key, least=0.0))
        readers: dict[Any, Callable[[str], Any]] = {
            float: self.number,
            str: self.text,
            bool: self.flag,
        }
        return readers.get(kind, lambda key: self.mapping(key).content)(key)

    def _member(self, key: str, kind: type[Enum], value: Any) -> Enum:
        try:
            return kind(value)
        except ValueError:
            valid = ', '.join(str(each.value) for each in kind)
            raise self._wrong(key, f'one of {valid}', value) from None

    def _wrong(self, key: str, what: str, value: Any) -> ValueError:
        return ValueError(f"'{self.path(key)}' must be {what}, not {_shown(value)}")


def different(names: list[str], where: str) -> list[str]:
    """Return names; ValueError where one of them stands there twice."""
    twice = [name for i, name in enumerate(names) if name in names[:i]]
    if twice:
        raise ValueError(f"'{where}' names '{twice[0]}' twice")
    return names


def check_deviations(rows: list[Fields], deviation: Array) -> None:
    """Refuse standard deviations, which a person reads, that are not those of the covariance."""
    for row, expected in zip(rows, deviation, strict=True):
        given = row.number('standard_deviation')
        if not (given == expected or abs(given - expected) <= EQUAL * expected):
            raise ValueError(
                f"'{row.path('standard_deviation')}' is {given:g}, but the variance in "
                f"'covariance' makes it {expected:g}"
            )


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f'{text[:40]}...'


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
    if hasattr(value, 'to_dict'):  # says itself what a file holds of it: a trajectory, a result
        return plain(value.to_dict())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {each.name: plain(getattr(value, each.name)) for each in dataclasses.fields(value)}
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
