"""What takes seconds to compute and never changes, kept in the user's cache folder."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pkm_dynamics.atomic_write import replace_atomically, user_cache


def kept(name: str, key: str, make: Callable[[], Any]) -> Any:
    """Return what `make` returned for this key, of the last key of each name alone.

    Plain values and arrays become those of JSON (nan and infinities stay), whether kept or new. A
    file that is damaged or cannot be written is no error.
    """
    # A hash: the name may be a robot's, and that any text.
    stem = hashlib.sha256(name.encode()).hexdigest()[:16]
    file = user_cache('pkm_bringup') / f'{stem}.json'
    with suppress(OSError, ValueError, KeyError, TypeError):
        found = json.loads(file.read_text(encoding='utf-8'))
        if found['key'] == key:
            return found['value']
    text = json.dumps({'key': key, 'value': make()}, default=_plain)
    with suppress(OSError):
        replace_atomically(file, text.encode())
    return json.loads(text)['value']


def sources_digest(*packages: str) -> str:
    """Digest of names, sizes and times of the sources and descriptions of packages."""
    state = []
    for package in packages:
        for _, path in _sources(package):
            status = path.stat()
            state.append((str(path), status.st_size, status.st_mtime_ns))
    return hashlib.sha256(repr(state).encode()).hexdigest()


def contents_digest(*packages: str) -> str:
    """Digest of names and contents of the sources and descriptions of packages.

    Slower than `sources_digest`, and the same on all machines that have the same sources.
    """
    total = hashlib.sha256()
    for package in packages:
        for folder, path in _sources(package):
            total.update(f'{package}/{path.relative_to(folder).as_posix()}\0'.encode())
            total.update(hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()


def _sources(package: str) -> Iterator[tuple[Path, Path]]:
    """Folder of a package, and each of its sources and descriptions."""
    # found, not imported: that would load NumPy
    spec = find_spec(package)
    if spec is None:
        raise ModuleNotFoundError(f'no module {package}', name=package)
    for folder in map(Path, spec.submodule_search_locations or ()):
        for path in sorted(folder.rglob('*')):
            if path.suffix in ('.py', '.xacro', '.yaml'):
                yield folder, path


def _plain(value: Any) -> Any:
    """Plain values of what JSON does not know: arrays, numbers of NumPy, mappings."""
    return value.tolist() if hasattr(value, 'tolist') else dict(value)
