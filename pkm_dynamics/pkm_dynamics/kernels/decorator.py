"""How kernels are compiled: cached where Numba may write, IEEE division without checks.

Numba drops a cached kernel when its own file changes, but not when a kernel that it
calls changes in another file. The caches of this folder therefore carry a stamp of all
sources that the kernels are made of and are dropped together.
"""

from __future__ import annotations

import contextlib
import hashlib
import warnings
from collections.abc import Sequence
from pathlib import Path

from numba import njit

from pkm_description import kinematic_tree

_FOLDER = Path(__file__).parent
_SOURCES = (
    *sorted(_FOLDER.glob('*.py')),
    _FOLDER.parent / 'layout.py',
    Path(kinematic_tree.__file__),
)


def _nothing() -> None:
    """Only there to be asked where Numba would keep it."""


def cache_folder() -> Path | None:
    """Where Numba keeps the kernels of this folder; None where it may not write anywhere.

    Beside the sources, or else in the user's cache folder or that of `NUMBA_CACHE_DIR`.
    """
    try:
        return Path(njit(cache=True)(_nothing).stats.cache_path)
    except RuntimeError:
        return None


def drop_stale_caches(cache: Path, sources: Sequence[Path] = _SOURCES) -> bool:
    """Remove the compiled kernels of other sources; returns whether any source changed."""
    digest = hashlib.sha256()
    for source in sources:
        digest.update(source.read_bytes())
    stamp = cache / 'kernels.sha256'
    with contextlib.suppress(OSError):
        if stamp.read_text() == digest.hexdigest():
            return False
    with contextlib.suppress(OSError):
        for compiled_file in [*cache.glob('*.nbi'), *cache.glob('*.nbc')]:
            compiled_file.unlink(missing_ok=True)
        cache.mkdir(parents=True, exist_ok=True)
        stamp.write_text(digest.hexdigest())
    return True


_cache = cache_folder()
if _cache is None:
    warnings.warn(
        f"neither {_FOLDER} nor the user's cache folder can be written: every process compiles "
        'the loops anew, for about a minute; NUMBA_CACHE_DIR may name a folder for them',
        stacklevel=2,
    )
else:
    drop_stale_caches(_cache)
# Without the interpreter lock: a long batch in one thread must not stop a control loop in another.
compiled = njit(cache=_cache is not None, error_model='numpy', nogil=True)
# For a kernel that only other kernels call, from one or two places. Numba compiles whatever a
# `compiled` function calls once more into it, so that each level of calls costs seconds at set-up;
# what is `inlined` is copied into its caller before that, and never compiled for itself.
inlined = njit(inline='always', error_model='numpy', nogil=True)
