"""Packages that are built against a ROS 2 with more than the wheels have."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path


def found(package: str) -> bool:
    """Whether a package of ROS is installed for C++, and can be built against."""
    prefixes = os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep)
    config = f'share/{package}/cmake/{package}Config.cmake'
    return shutil.which('cmake') is not None and any((Path(p) / config).exists() for p in prefixes)


def build_package(files: Mapping[str, str], folder: Path, prefix: Path) -> Path:
    """Build files as a package, install it below a prefix, and return that."""
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_text(text)
    for command in (
        ['cmake', '-S', '.', '-B', 'build', '-DCMAKE_CXX_FLAGS=-Werror -O1'],
        ['cmake', '--build', 'build'],
        ['cmake', '--install', 'build', '--prefix', str(prefix)],
    ):
        subprocess.run(command, cwd=folder, env=installed(os.environ, prefix), check=True)
    return prefix


def installed(environment: Mapping[str, str], prefix: Path) -> dict[str, str]:
    """Environment in which what is installed below a prefix is found."""
    prefixes = [str(prefix), *environment.get('AMENT_PREFIX_PATH', '').split(os.pathsep)]
    libraries = [f'{each}/lib' for each in prefixes if each]
    libraries += environment.get('LD_LIBRARY_PATH', '').split(os.pathsep)
    return {
        **environment,
        'AMENT_PREFIX_PATH': os.pathsep.join(each for each in prefixes if each),
        'CMAKE_PREFIX_PATH': os.pathsep.join(each for each in prefixes if each),
        'LD_LIBRARY_PATH': os.pathsep.join(each for each in libraries if each),
        'PATH': os.pathsep.join([str(Path(sys.executable).parent), environment['PATH']]),
    }
