"""Machine code kept on disk, so that a robot's functions are compiled once a machine.

A file's name is the digest of what its code was made from: the mechanism and the function's
name, the sources of the generator, the processor and LLVM's version. What is found fits, and
nothing has to be invalidated. LLVM ends the process over a damaged file, so each carries a
checksum and a damaged one does not count.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path

import llvmlite
import llvmlite.binding as llvm

from pkm_dynamics.atomic_write import replace_atomically, user_cache

MOST_FILES = 1200  # of some 20 kB: a hundred robots; the oldest go first
_CHECKSUM_BYTES = hashlib.sha256().digest_size


def store_folder() -> Path | None:
    """Folder of the compiled functions: beside this module, else the user's cache folder."""
    for folder in (Path(__file__).parent / '__pycache__', user_cache('pkm_dynamics')):
        if not folder.is_absolute():
            continue  # a user without a home
        with contextlib.suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            if os.access(folder, os.W_OK):
                return folder
    return None


def processor() -> tuple[str, str]:
    """Return type and features to compile for: this processor's, or those that Numba is told.

    Numba's own variables count, so that its kernels and ours are made for one processor.
    """
    name = os.environ.get('NUMBA_CPU_NAME')
    if name:
        return name, os.environ.get('NUMBA_CPU_FEATURES', '')
    return llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()


class Store:
    """Object code by the bytes it was made from; without a writable folder it keeps nothing."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = store_folder() if folder is None else folder
        machine = processor()
        self._machine = '\0'.join((*machine, llvmlite.__version__)).encode()

    def path(self, origin: bytes) -> Path | None:
        """Where the code of an origin is kept."""
        folder = self._folder
        return None if folder is None else folder / f'{self._key(origin).hex()[:40]}.object'

    def read(self, origin: bytes) -> bytes | None:
        """Code of an origin, None where there is none or it is damaged."""
        path = self.path(origin)
        if path is None:
            return None
        try:
            kept = path.read_bytes()
        except OSError:
            return None
        checksum, code = kept[:_CHECKSUM_BYTES], kept[_CHECKSUM_BYTES:]
        return code if checksum == self._checksum(origin, code) else None

    def write(self, origin: bytes, code: bytes) -> None:
        """Keep the code of an origin; what cannot be written is compiled again next time."""
        path = self.path(origin)
        if path is None:
            return
        with contextlib.suppress(OSError):
            replace_atomically(path, self._checksum(origin, code) + code)
            self._drop_oldest(path.parent)

    def _key(self, origin: bytes) -> bytes:
        return hashlib.sha256(self._machine + b'\0' + origin).digest()

    def _checksum(self, origin: bytes, code: bytes) -> bytes:
        return hashlib.sha256(self._key(origin) + code).digest()

    @staticmethod
    def _drop_oldest(folder: Path) -> None:
        files = sorted(folder.glob('*.object'), key=lambda f: f.stat().st_mtime)
        for file in files[:-MOST_FILES]:
            file.unlink(missing_ok=True)
