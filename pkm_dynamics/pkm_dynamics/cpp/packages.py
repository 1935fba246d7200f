"""Packages of ROS around the C++ of a robot, from templates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from pkm_dynamics.cpp.cpp_sources import CppSources, build_cpp, cpp_name
from pkm_dynamics.cpp.emitter import filled
from pkm_dynamics.friction_laws import DriveFriction
from pkm_dynamics.model import ClosedChainModel

SOLVER = Path(__file__).parent / 'inverse_dynamics_solver'
SOURCES = ('.hpp', '.cpp')


def in_package(
    sources: CppSources, name: str, templates: Path, values: Mapping[str, str]
) -> CppSources:
    """Put the C++ of a robot into the package that a folder of templates describes.

    Sources of the package get the robot's name before theirs; its build takes the place of the
    build without ROS, of the benchmark and of the comparison with Python.
    """
    files = {
        path.name if path.suffix not in SOURCES else f'{name}_{path.name}': filled(
            path.read_text(), {'name': name, **values}
        )
        for path in sorted(templates.iterdir())
    }
    programs = '_benchmark.cpp', '_parity.cpp'
    kept = {key: text for key, text in sources.files.items() if not key.endswith(programs)}
    return replace(sources, files={**kept, **files})


def package_name(name: str, what: str) -> str:
    """Name of a ROS package: lower case."""
    return f'pkm_{name.lower()}_{what}'


def build_solver(
    model: ClosedChainModel, friction: DriveFriction | None = None, remarks: Iterable[str] = ()
) -> CppSources:
    """Write a model as a package with a plugin of `inverse_dynamics_solver`.

    Arguments and errors are those of `build_cpp`.
    """
    name = cpp_name(model.description)
    sources = build_cpp(model, friction, remarks)
    return in_package(sources, name, SOLVER, {'package': package_name(name, 'solver')})
