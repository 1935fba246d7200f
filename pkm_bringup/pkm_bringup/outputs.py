"""Result files: never overwritten, never half-written."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from pkm_description.errors import PkmError
from pkm_dynamics.atomic_write import write_atomically


class OutputError(PkmError):
    """A result cannot go where the user wants it."""


def check_output(path: str | Path, suffixes: tuple[str, ...] = ()) -> Path:
    """Return the path of a result that can be made there, before time is spent on making it.

    A suffix '' stands for a folder.
    """
    path = Path(path)
    if suffixes and path.suffix not in suffixes:
        folder = ', or have no suffix: a folder' if '' in suffixes else ''
        raise OutputError(f"'{path}' must end in {' or '.join(filter(None, suffixes))}{folder}")
    if path.exists() or path.is_symlink():
        raise OutputError(f"'{path}' exists already and is not overwritten")
    parent = path.absolute().parent
    while not parent.exists():
        parent = parent.parent
    try:  # permissions alone do not tell: read-only or virtual file systems, a full disk
        with tempfile.TemporaryFile(dir=parent):
            pass
    except OSError:
        raise OutputError(
            f"'{path}' cannot be written: '{parent}' is not a writable folder"
        ) from None
    return path


# lets a function fill a temporary file of the same suffix, then puts it in place
write_output = partial(write_atomically, error=OutputError)


def write_output_folder(folder: Path, write: Callable[[Path], object]) -> Path:
    """Let `write` fill a temporary folder, then put it in place."""
    temporary: Path | None = None
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix='.pkm_', dir=folder.parent))
        write(temporary)
        temporary.chmod(0o755)
        if folder.exists() or folder.is_symlink():
            raise OutputError(f"'{folder}' exists already and is not overwritten")
        temporary.rename(folder)
    except OSError as cause:
        raise OutputError(f"'{folder}' cannot be written: {cause.strerror or cause}") from cause
    finally:
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)
    return folder
