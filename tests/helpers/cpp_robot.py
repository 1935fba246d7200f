"""C++ of a robot, compiled to a library and called from Python."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np

WARNINGS = ('-Wall', '-Wextra', '-Wpedantic', '-Werror')
# What an object may need: mathematics, and what compilers put in themselves.
MATHEMATICS = {'sin', 'cos', 'sincos', 'sqrt', 'exp', 'pow', 'atan', 'fabs', 'fmax', 'fmin', 'fmod'}
OF_COMPILERS = {'_GLOBAL_OFFSET_TABLE_', '__stack_chk_fail', 'memcpy', 'memset', 'memmove'}
COMPILERS = [name for name in ('g++', 'clang++') if shutil.which(name)]
CALLS = """
#include "{name}_model.hpp"
using namespace pkm::{name};
extern "C" {{
int size() {{ return static_cast<int>(sizeof(Configuration) / sizeof(double)); }}
void start(double* at) {{ *reinterpret_cast<Configuration*>(at) = home(); }}
int by_platform(const double* p, const double* r, const double* t, const double* a, double* at,
                double* f) {{
  return static_cast<int>(
      forces_of_platform(p, r, t, a, *reinterpret_cast<Configuration*>(at), f));
}}
int by_actuators(const double* q, const double* v, const double* a, double* at, double* f) {{
  return static_cast<int>(forces_of_actuators(q, v, a, *reinterpret_cast<Configuration*>(at), f));
}}
int at_rest(const double* q, double* at, double* f) {{
  return static_cast<int>(gravity(q, *reinterpret_cast<Configuration*>(at), f));
}}
int inverse(const double* p, const double* r, double* at) {{
  return static_cast<int>(inverse_kinematics(p, r, *reinterpret_cast<Configuration*>(at)));
}}
int forward(const double* q, double* at) {{
  return static_cast<int>(forward_kinematics(q, *reinterpret_cast<Configuration*>(at)));
}}
int columns(const double* q, const double* v, const double* a, double* at, double* out) {{
  return static_cast<int>(regressor(q, v, a, *reinterpret_cast<Configuration*>(at), out));
}}
}}
"""
STATUS = ('ok', 'not_converged', 'too_far', 'singular', 'wrong_branch', 'not_finite')
STATUS = (*STATUS, 'not_available')


class CppRobot:
    """The functions of one robot's C++; each call starts where the last one ended."""

    def __init__(self, files, name, folder: Path, compiler=COMPILERS[0], options=('-O1',)) -> None:
        for file, text in files.items():
            (folder / file).write_text(text)
        (folder / 'calls.cpp').write_text(CALLS.format(name=name))
        library = folder / 'robot.so'
        subprocess.run(
            [
                *(compiler, '-std=c++17', *options, *WARNINGS, '-shared', '-fPIC'),
                *(f'{name}_model.cpp', 'calls.cpp', '-o', library.name),
            ],
            cwd=folder,
            check=True,
            timeout=500,
        )
        self._library = ctypes.CDLL(str(library))
        self.at = np.zeros(self._library.size())
        self.restart()

    def restart(self) -> None:
        """Go home."""
        self._library.start(pointer(self.at))

    def call(self, function: str, *inputs, out: int = 0) -> tuple[str, np.ndarray]:
        """Status and outputs of a function."""
        arrays = [np.ascontiguousarray(each, dtype=float).ravel() for each in inputs]
        found = np.zeros(out)
        given = [*map(pointer, arrays), pointer(self.at), *([pointer(found)] if out else [])]
        return STATUS[getattr(self._library, function)(*given)], found


def pointer(array: np.ndarray):
    return array.ctypes.data_as(ctypes.POINTER(ctypes.c_double))


def foreign_symbols(folder: Path, source: str, compiler: str) -> set[str]:
    """Symbols that a source needs from elsewhere, but for mathematics: memory, exceptions, output.

    It is compiled without exceptions, and with all warnings as errors.
    """
    options = ['-std=c++17', '-O1', '-fno-exceptions', '-fno-rtti', *WARNINGS, '-c']
    subprocess.run([compiler, *options, source, '-o', 'object.o'], cwd=folder, check=True)
    listed = subprocess.run(
        ['nm', '-u', '--demangle', 'object.o'], cwd=folder, check=True, capture_output=True
    )
    needed = set(re.findall(r'U (\S+)', listed.stdout.decode()))
    ours = {each for each in needed if each.startswith('pkm::')}
    return needed - ours - OF_COMPILERS - MATHEMATICS
