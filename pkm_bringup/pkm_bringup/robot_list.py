"""The robots of the library with their numbers, kept from one call to the next."""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any


def robot_list() -> list[dict[str, Any]]:
    """Return name, title, counts and path of each robot of the library.

    Expanding and checking every description takes two seconds, so the list is kept in the
    user's cache folder until a file of `pkm_description` changes.
    """
    key = _state_of_sources()
    user = os.environ.get('XDG_CACHE_HOME') or os.path.join(os.path.expanduser('~'), '.cache')
    file = Path(user) / 'pkm_bringup' / 'robots.json'
    with suppress(OSError, ValueError, KeyError, TypeError):
        kept = json.loads(file.read_text(encoding='utf-8'))
        if kept['key'] == key:
            return list(kept['robots'])
    robots = _read_library()
    with suppress(OSError):
        _write(file, json.dumps({'key': key, 'robots': robots}))
    return robots


def _state_of_sources() -> str:
    """Digest of names, sizes and times of the files that the list is made from."""
    # found, not imported: that would load NumPy
    spec = find_spec('pkm_description')
    if spec is None:
        raise ModuleNotFoundError('no module pkm_description', name='pkm_description')
    state = []
    for folder in spec.submodule_search_locations or ():
        for path in sorted(Path(folder).rglob('*')):
            if path.suffix in ('.py', '.xacro', '.yaml'):
                status = path.stat()
                state.append((str(path), status.st_size, status.st_mtime_ns))
    return hashlib.sha256(repr(state).encode()).hexdigest()


def _read_library() -> list[dict[str, Any]]:
    # Imported here: loads NumPy and lxml, which a kept list does without.
    import pkm_description

    robots = []
    for name in pkm_description.library():
        description = pkm_description.load(name)
        robots.append(
            {
                'name': name,
                'title': str(description.sidecar.get('title', '')),
                'actuators': len(description.driven_joints),
                'links': len(description.links),
                'constraints': len(description.constraints),
                'path': str(description.path),
            }
        )
    return robots


def _write(file: Path, text: str) -> None:
    """Write at once, so that another process never reads half a file."""
    file.parent.mkdir(parents=True, exist_ok=True)
    temporary = file.with_suffix(f'.{os.getpid()}')
    temporary.write_text(text, encoding='utf-8')
    os.replace(temporary, file)
