"""Files that are never seen half-written: results, never overwritten, and caches."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from pkm_description.errors import PkmError


def write_atomically(
    path: str | Path, write: Callable[[Path], object], error: type[PkmError] = PkmError
) -> Path:
    """Let `write` fill a temporary file of the same suffix, then put it in place.

    Missing folders are made. Raises `error` where the file exists or cannot be written.
    """
    path = Path(path)
    if path.exists() or path.is_symlink():
        raise error(f"'{path}' exists already and is not overwritten")
    temporary: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(suffix=path.suffix, prefix='.pkm_', dir=path.parent)
        temporary = Path(name)
        os.close(handle)
        write(temporary)
        with temporary.open('rb') as file:
            os.fsync(file.fileno())
        temporary.chmod(0o644)
        try:
            os.link(temporary, path)  # fails where the file has appeared meanwhile
        except FileExistsError:
            raise error(f"'{path}' exists already and is not overwritten") from None
    except OSError as cause:
        raise error(f"'{path}' cannot be written: {cause.strerror or cause}") from cause
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
    return path


def write_text_atomically(path: str | Path, text: str, error: type[PkmError] = PkmError) -> Path:
    """Write a text in UTF-8 as `write_atomically` does."""
    return write_atomically(path, lambda part: part.write_text(text, encoding='utf-8'), error)


def replace_atomically(path: Path, data: bytes) -> None:
    """Put a file of a cache in place, over an older one. Missing folders are made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, suffix='.part')
    with os.fdopen(handle, 'wb') as file:
        file.write(data)
    os.replace(temporary, path)


def user_cache(package: str) -> Path:
    """Folder of a package in the user's cache folder; relative for a user without a home."""
    user = os.environ.get('XDG_CACHE_HOME') or os.path.join(os.path.expanduser('~'), '.cache')
    return Path(user) / package
