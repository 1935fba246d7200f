"""Builds the sdist and the wheel of packages: `python scripts/distributions.py OUTPUT PACKAGE...`.

With what is installed here; the wheel comes from the unpacked sdist, so that it has nothing which
that lacks.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from build import BuildException, ProjectBuilder
from pyproject_hooks import quiet_subprocess_runner


def build(package: Path, output: Path) -> Path:
    """Write the sdist and the wheel of a package's folder to `output`; return the wheel's path."""
    with tempfile.TemporaryDirectory() as name:
        source = Path(name) / package.name  # backends write beside what they pack
        shutil.copytree(
            package, source, ignore=shutil.ignore_patterns('__pycache__', '*.egg-info', 'build')
        )
        archive = source_archive(source, output)
        shutil.unpack_archive(archive, Path(name) / 'unpacked')
        (unpacked,) = (Path(name) / 'unpacked').iterdir()
        return _built('wheel', unpacked, output)


def source_archive(source: Path, output: Path) -> Path:
    """Write the sdist of a folder to `output`; return its path."""
    return _built('sdist', source, output)


def _built(kind: str, source: Path, output: Path) -> Path:
    try:
        builder = ProjectBuilder(source, runner=quiet_subprocess_runner)
        return Path(builder.build(kind, output))
    except BuildException as error:
        raise SystemExit(f'{source.name}: {kind} failed: {error}') from error


if __name__ == '__main__':
    for each in sys.argv[2:]:
        print(build(Path(each), Path(sys.argv[1])))
