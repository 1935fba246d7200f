"""Where a result came from: data, description, options, versions."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import cache, cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from pkm_description import Description
from pkm_description.description import digest_of
from pkm_description.loader import is_of_library
from pkm_identification.datasets import Recording
from pkm_identification.result.diagnostics import RecordedDescription
from pkm_identification.result.fields import PlainMapping, plain

PACKAGES = ('pkm_identification', 'pkm_dynamics', 'pkm_description', 'numpy', 'scipy', 'clarabel')


@dataclass(frozen=True, eq=False)
class Provenance(PlainMapping):
    """What made a result; as a mapping it holds the same as plain values by key."""

    data: tuple[Mapping[str, Any], ...] = ()  # files with their hashes, one a recording
    recording: tuple[Mapping[str, Any], ...] = ()  # what the recordings say of themselves
    options: Mapping[str, Any] = field(default_factory=dict)  # of `identify`, as they were given
    versions: Mapping[str, Any] = field(default_factory=dict)  # of Python and the packages

    @property
    def shared(self) -> bool:
        """Whether links and joints of one design shared their parameters."""
        return bool(self.options.get('shared', True))

    @property
    def reduced(self) -> bool | str:
        """Which parameters were left out because the description declares them zero."""
        found: bool | str = self.options.get('reduced', True)
        return found

    @cached_property
    def _content(self) -> dict[str, Any]:
        content = {}
        for each in fields(self):
            value = getattr(self, each.name)
            content[each.name] = value[0] if isinstance(value, tuple) and len(value) == 1 else value
        found: dict[str, Any] = plain(content)
        return found

    @classmethod
    def from_mapping(cls, given: Mapping[str, Any]) -> Provenance:
        """Read the entries of a file; a ValueError names what is malformed."""
        found: dict[str, Any] = {}
        for key in ('data', 'recording'):
            value = given.get(key, [])
            found[key] = tuple(value) if isinstance(value, list) else (value,)
        for key in ('options', 'versions'):
            found[key] = given.get(key, {})
            if not isinstance(found[key], Mapping):
                raise ValueError(f"'provenance.{key}' must be a mapping, not {found[key]!r}")
        return cls(**found)


def recorded_description(dataset: Recording, digest: str) -> RecordedDescription:
    """Whether the data carry the description that they are identified with."""
    if not dataset.urdf:
        return RecordedDescription.NONE
    is_same = digest_of(dataset.urdf, dataset.sidecar) == digest
    return RecordedDescription.SAME if is_same else RecordedDescription.ANOTHER


def description_path(description: Description) -> str:
    """Where a description lies that is not in the library."""
    if description.path is None or is_of_library(description):
        return ''
    return str(Path(description.path).absolute())


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that a result depends on."""
    return dict(_own_versions())


@cache
def _own_versions() -> Mapping[str, str]:
    """The same, looked up once: what a process has imported does not change."""
    return {'python': platform.python_version(), **installed(PACKAGES)}


def installed(names: Iterable[str]) -> dict[str, str]:
    """Versions of those of the distributions that are installed."""
    found = {}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
