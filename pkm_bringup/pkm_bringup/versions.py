"""Which software made a result."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

LIBRARIES = ('numpy', 'scipy', 'numba', 'mujoco', 'clarabel')


def software() -> dict[str, Any]:
    """Return the versions of Python, of the project's packages and of what they compute with.

    `git` is the commit of the checkout; empty outside of one.
    """
    from pkm_identification.recording.metadata import git_revision, package_versions

    return {
        'python': platform.python_version(),
        **package_versions(),
        **installed(LIBRARIES),
        'git': git_revision(Path(__file__).parent),
    }


def installed(names: Sequence[str]) -> dict[str, str]:
    """Return the versions of those of the distributions that are installed."""
    found = {}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
