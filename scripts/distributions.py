"""Builds the sdist and the wheel of packages: `python scripts/distributions.py OUTPUT PACKAGE...`.

Each is built by setuptools as it is installed here; the wheel comes from the unpacked sdist, so
that it has nothing which that lacks.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

BACKEND = (
    'import sys\n'
    'from setuptools import build_meta\n'
    'print(getattr(build_meta, sys.argv[1])(sys.argv[2]))'
)


def build(package: Path, output: Path) -> Path:
    """Write the sdist and the wheel of a package's folder to `output`; return the wheel's path."""
    output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        source = Path(name) / package.name  # setuptools writes beside what it packs
        shutil.copytree(
            package, source, ignore=shutil.ignore_patterns('__pycache__', '*.egg-info', 'build')
        )
        archive = _built('build_sdist', source, output)
        shutil.unpack_archive(archive, Path(name) / 'unpacked')
        (unpacked,) = (Path(name) / 'unpacked').iterdir()
        return _built('build_wheel', unpacked, output)


def _built(kind: str, source: Path, output: Path) -> Path:
    command = [sys.executable, '-c', BACKEND, kind, str(output.resolve())]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f'{source.name}: {kind} failed:\n{done.stderr[-4000:]}')
    return output / done.stdout.splitlines()[-1]


if __name__ == '__main__':
    for each in sys.argv[2:]:
        print(build(Path(each), Path(sys.argv[1])))
