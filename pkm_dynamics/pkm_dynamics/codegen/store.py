"""Machine code kept on disk, so that a robot's functions are compiled once a machine.

A file's name is the digest of the text it was compiled from, of the processor and of
LLVM's version: what is found fits, and nothing has to be invalidated. LLVM ends the
process over a damaged file, so each carries a checksum and a damaged one does not count.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path

import llvmlite
import llvmlite.binding as llvm

MOST_FILES = 400
_CHECKSUM_BYTES = hashlib.sha256().digest_size


def store_folder() -> Path | None:
    """Folder of the compiled functions: beside this module, else the user's cache folder."""
    user = os.environ.get('XDG_CACHE_HOME') or os.path.join(os.path.expanduser('~'), '.cache')
    for folder in (Path(__file__).parent / '__pycache__', Path(user) / 'pkm_dynamics'):
        if not folder.is_absolute():
            continue  # a user without a home
        with contextlib.suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            if os.access(folder, os.W_OK):
                return folder
    return None


class Store:
    """Object code by the text of its module; without a writable folder it keeps nothing."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = store_folder() if folder is None else folder
        machine = (llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten())
        self._machine = '\0'.join((*machine, llvmlite.__version__))

    def path(self, text: str) -> Path | None:
        """Where the code of a module is kept."""
        if self._folder is None:
            return None
        return self._folder / f'{self._key(text).hex()[:40]}.object'

    def read(self, text: str) -> bytes | None:
        """Code of a module, None where there is none or it is damaged."""
        path = self.path(text)
        if path is None:
            return None
        try:
            kept = path.read_bytes()
        except OSError:
            return None
        checksum, code = kept[:_CHECKSUM_BYTES], kept[_CHECKSUM_BYTES:]
        return code if checksum == self._checksum(text, code) else None

    def write(self, text: str, code: bytes) -> None:
        """Keep the code of a module; what cannot be written is compiled again next time."""
        path = self.path(text)
        if path is None:
            return
        with contextlib.suppress(OSError):
            handle, temporary = tempfile.mkstemp(dir=path.parent, suffix='.part')
            with os.fdopen(handle, 'wb') as file:
                file.write(self._checksum(text, code) + code)
            os.replace(temporary, path)
            self._drop_oldest(path.parent)

    def _key(self, text: str) -> bytes:
        return hashlib.sha256(f'{self._machine}\0{text}'.encode()).digest()

    def _checksum(self, text: str, code: bytes) -> bytes:
        return hashlib.sha256(self._key(text) + code).digest()

    @staticmethod
    def _drop_oldest(folder: Path) -> None:
        files = sorted(folder.glob('*.object'), key=lambda f: f.stat().st_mtime)
        for file in files[:-MOST_FILES]:
            file.unlink(missing_ok=True)
