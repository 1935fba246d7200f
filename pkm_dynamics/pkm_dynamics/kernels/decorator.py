"""How kernels are compiled: cached beside the source, IEEE division without checks.

Numba drops a cached kernel when its own file changes, but not when a kernel that it
calls changes in another file. The caches of this folder therefore carry a stamp of all
its sources and are dropped together.
"""

from __future__ import annotations

import contextlib
import hashlib
from pathlib import Path

from numba import njit

_FOLDER = Path(__file__).parent


def drop_stale_caches(folder: Path = _FOLDER) -> bool:
    """Remove the compiled kernels of other sources; returns whether any source changed."""
    digest = hashlib.sha256()
    for source in sorted([*folder.glob('*.py'), folder.parent / 'layout.py']):
        digest.update(source.read_bytes())
    cache = folder / '__pycache__'
    stamp = cache / 'kernels.sha256'
    with contextlib.suppress(OSError):
        if stamp.read_text() == digest.hexdigest():
            return False
    with contextlib.suppress(OSError):
        for compiled_file in [*cache.glob('*.nbi'), *cache.glob('*.nbc')]:
            compiled_file.unlink(missing_ok=True)
        cache.mkdir(exist_ok=True)
        stamp.write_text(digest.hexdigest())
    return True


drop_stale_caches()
# Without the interpreter lock: a long batch in one thread must not stop a control loop in another.
compiled = njit(cache=True, error_model='numpy', nogil=True)
