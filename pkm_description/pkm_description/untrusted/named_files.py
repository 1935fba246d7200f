"""Files that a user or a request names: regular, of bounded size, below the folders allowed.

Whoever runs a command may name any file. A server serves whoever reaches it: it does its work
inside `only_below`, and everything that is opened or written by name is checked against that.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from pkm_description.errors import PkmError

# Recordings are read block by block: ten hours of six axes at 1 kHz with all topics.
MAX_RECORDING = 64 << 30
# Forms that are read as a whole, and what their arrays take in memory: an hour of six axes.
MAX_WHOLE = 1 << 30
MAX_ENTRIES = 10_000  # files in the folder of a bag: one is split into some hundred at most

_folders: ContextVar[tuple[Path, ...] | None] = ContextVar('folders', default=None)


class PlaceError(PkmError):
    """A name that leaves the folders in which a server may read and write."""


@contextmanager
def only_below(*folders: Path | str) -> Iterator[None]:
    """Allow names in these folders alone; links are followed before the check."""
    token = _folders.set(tuple(resolved_folder(each) for each in folders))
    try:
        yield
    finally:
        _folders.reset(token)


def resolved_folder(folder: Path | str) -> Path:
    """Return a folder as an absolute path: `~` expanded, links followed; PlaceError if none."""
    try:
        found = Path(folder).expanduser().resolve(strict=True)
    except (OSError, RuntimeError, ValueError) as error:
        raise PlaceError(f"folder '{folder}' cannot be used: {error}") from None
    if not found.is_dir():
        raise PlaceError(f"'{folder}' is not a folder")
    return found


def allowed(path: Path | str, error: type[PkmError] = PlaceError) -> Path:
    """Return the path if it may be named here; `error` where it is empty or leaves the folders."""
    if not str(path):
        raise error('an empty name names no file')
    try:
        whole = Path(path).resolve()
    except (OSError, RuntimeError, ValueError) as reason:
        raise error(f'{str(path)!r} cannot be the name of a file: {reason}') from None
    folders = _folders.get()
    if folders is not None and not any(whole.is_relative_to(each) for each in folders):
        raise error(f"'{path}' lies outside of the data folder '{folders[0]}'")
    return Path(path)


def regular_file(path: Path | str, error: type[PkmError], most: int) -> Path:
    """Return the path of a regular file of at most `most` bytes that may be named here.

    Raises `error`: pipes, devices and sockets would block or never end.
    """
    path = allowed(path, error)
    try:
        status = path.stat()
    except OSError as reason:
        raise error(f"'{path}' cannot be read: {reason.strerror}") from None
    if not stat.S_ISREG(status.st_mode):
        raise error(f"'{path}' cannot be read: it is not a regular file")
    if status.st_size > most:
        raise error(f"'{path}' has {status.st_size} bytes; at most {most} are read")
    return path


def regular_folder(path: Path | str, error: type[PkmError], most: int) -> Path:
    """Return the path of a folder that holds regular files alone, of at most `most` bytes.

    Raises `error`.
    """
    path, total, count = allowed(path, error), 0, 0
    for folder, folders, names in os.walk(path):
        count += len(folders) + len(names)
        if count > MAX_ENTRIES:
            raise error(f"'{path}' holds more than {MAX_ENTRIES} files")
        for name in folders:
            allowed(Path(folder) / name, error)
        for name in names:
            total += regular_file(Path(folder) / name, error, most).stat().st_size
    if total > most:
        raise error(f"'{path}' holds {total} bytes; at most {most} are read")
    return path


def file_text(path: Path | str, error: type[PkmError], most: int, what: str = 'file') -> str:
    """Return the text of a file; `error` where it is none, too large or not UTF-8."""
    path = allowed(path, error)
    if not path.exists():
        raise error(f"{what} '{path}' cannot be read: it does not exist")
    path = regular_file(path, error, most)
    try:
        return path.read_text(encoding='utf-8')
    except (OSError, UnicodeDecodeError) as reason:
        raise error(f"{what} '{path}' cannot be read: {reason}") from None


@contextmanager
def foreign_errors(error: type[PkmError], what: str) -> Iterator[None]:
    """Turn whatever a library raises on broken input into `error`.

    Readers of files raise anything: struct.error, AssertionError, MemoryError, RecursionError.
    """
    try:
        yield
    except PkmError:
        raise
    except Exception as reason:
        text = ' '.join(str(reason).split())
        raise error(f'{what}: {type(reason).__name__}: {text}') from reason
