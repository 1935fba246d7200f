"""Kinematics and dynamics of closed chains; README.md has a start, `__init__.pyi` the types.

A name is imported when it is asked for: who writes a file or reads a trajectory does not wait for
Numba.
"""

from __future__ import annotations

from pkm_description.lazy_names import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        'ActuatorStates': 'motion',
        'BaseParameters': 'parameters.base_parameters',
        'ClosedChainModel': 'model',
        'FeasibilityReport': 'limits.margins',
        'JointStates': 'motion',
        'PlantEffects': 'simulation',
        'PlatformMotion': 'motion',
        'RedundantModel': 'redundant_model',
        'SimulatedPlant': 'simulation',
        'Trajectory': 'trajectories',
        'benchmark_circle': 'trajectories',
        'check_feasibility': 'limits.feasibility',
        'load_trajectory': 'trajectories',
        'mechanism_model': 'redundant_model',
        'preset': 'presets',
        'preset_names': 'presets',
    },
)
