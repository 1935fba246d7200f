"""What the package exports: names that exist, the same in its stub, and nothing loaded early."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import pkm_dynamics


@pytest.mark.parametrize('name', pkm_dynamics.__all__)
def test_every_name_is_there(name):
    assert getattr(pkm_dynamics, name).__name__ == name


def test_the_stub_has_the_same_names():
    stub = Path(pkm_dynamics.__file__).with_suffix('.pyi')
    imports = [node for node in ast.parse(stub.read_text()).body if hasattr(node, 'names')]
    assert sorted(alias.asname for node in imports for alias in node.names) == sorted(
        pkm_dynamics.__all__
    )


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="'pkm_dynamics' has no attribute 'ClosedModel'"):
        pkm_dynamics.ClosedModel  # noqa: B018


def test_writing_a_file_loads_neither_numba_nor_scipy():
    script = (
        'import sys, pkm_dynamics.atomic_write\n'
        "print(sorted({'numba', 'scipy', 'mujoco'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, '-c', script], check=True, capture_output=True, text=True
    )
    assert done.stdout.strip() == '[]'
