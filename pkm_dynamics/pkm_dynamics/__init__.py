"""Kinematics and dynamics of closed chains; README.md has a start, `__init__.pyi` the types.

A name is imported when it is asked for: who writes a file or reads a trajectory does not wait for
Numba.
"""

from __future__ import annotations

from importlib import import_module

_MODULES = {
    'ActuatorStates': 'motion',
    'BaseParameters': 'parameters.base_parameters',
    'ClosedChainModel': 'model',
    'FeasibilityReport': 'limits.margins',
    'JointStates': 'motion',
    'PlantEffects': 'simulation',
    'PlatformMotion': 'motion',
    'SimulatedPlant': 'simulation',
    'Trajectory': 'trajectories',
    'benchmark_circle': 'trajectories',
    'check_feasibility': 'limits.feasibility',
    'load_trajectory': 'trajectories',
    'preset': 'presets',
    'preset_names': 'presets',
}
__all__ = list(_MODULES)  # noqa: PLE0605


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(import_module(f'{__name__}.{_MODULES[name]}'), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
