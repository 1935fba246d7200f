"""What the packages say of their nodes: executables and declared parameters."""

import ast
import importlib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


def executables() -> dict[str, tuple[str, str]]:
    """Package and module of every executable, by its name, from the `setup.py` files."""
    found = {}
    for setup in sorted(ROOT.glob('pkm_*/setup.py')):
        for node in ast.walk(ast.parse(setup.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                name, equals, function = node.value.partition(' = ')
                if equals and function.endswith(':main'):
                    found[name] = (setup.parent.name, function.removesuffix(':main'))
    return found


def nodes() -> list[str]:
    """Names of all nodes: the executables whose module lies in a `nodes` folder."""
    return [name for name, (_, module) in executables().items() if '.nodes.' in module]


def declared_parameters(name: str) -> dict[str, Any]:
    """The table of a node's parameters, by name."""
    module = importlib.import_module(executables()[name][1])
    return {entry.name: entry for entry in module.PARAMETERS}
