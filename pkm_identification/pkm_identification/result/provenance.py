"""Where a result came from: description, options, versions."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pkm_description
from pkm_description.description import digest_of
from pkm_identification.datasets import Recording
from pkm_identification.result.result import IdentificationResult

PACKAGES = ('pkm_identification', 'pkm_dynamics', 'pkm_description', 'numpy', 'scipy', 'cvxpy')


def selection_options(
    estimate: Sequence[str] | str | None,
    fixed: Mapping[str, Any] | None,
    prior: IdentificationResult | Mapping[str, Any] | None,
    left_out: Sequence[str],
) -> dict[str, Any]:
    """Return the options that were given, as a file can say them."""
    given: dict[str, Any] = {'estimate': estimate, 'fixed': fixed, 'prior': prior}
    given['left_out'] = list(left_out) or None
    if isinstance(prior, IdentificationResult):
        given['prior'] = {'estimator': prior.estimator, 'file': prior.file, **prior.provenance}
    return {name: value for name, value in given.items() if value is not None}


def recorded_description(dataset: Recording, digest: str) -> str:
    """Whether the data carry the description that they are identified with."""
    if not dataset.urdf:
        return 'none'
    return 'same' if digest_of(dataset.urdf, dataset.sidecar) == digest else 'another'


def description_path(description: Any) -> str:
    """Where a description lies that is not in the library."""
    if description.path is None:
        return ''
    if description.name in pkm_description.library():
        if _library_digest(description.name) == description.digest:
            return ''
    return str(Path(description.path).absolute())


@cache
def _library_digest(name: str) -> str:
    return pkm_description.load(name).digest


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that a result depends on."""
    found = {'python': platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
