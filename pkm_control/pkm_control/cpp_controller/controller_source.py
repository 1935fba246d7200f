"""Write the control cycle of one robot as C++: the servo of Python, its bounds and its stops."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import numpy as np

from pkm_control.control_types import ControllerOptions
from pkm_control.learning.learning_law import SHARE
from pkm_control.learning.repetition import FADE_TIME
from pkm_control.learning.watch import BLOCK, CHI_SQUARE, LIMIT, WORSE
from pkm_control.safeguards.allowed_errors import FAULT
from pkm_control.servo import HELD_DAMPING, MEMORY
from pkm_control.supervision import BRAKING_SHARE, SMOOTH_PEAK
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.cpp.cpp_sources import cpp_name
from pkm_dynamics.cpp.emitter import filled, literal
from pkm_dynamics.joint_servo.gains import ServoGains, largest_errors, servo_gains

TEMPLATE = Path(__file__).parent / 'controller.hpp'
FORCE_TABLE = Path(__file__).parent / 'force_table.hpp'
UNUSED = ('model_change_time',)  # options of what the C++ does not have


def controller_headers(
    model: ClosedChainModel,
    gains: ServoGains | None = None,
    options: ControllerOptions | None = None,
) -> dict[str, str]:
    """Return the texts of the headers with the controller of a robot, by name.

    They include the header of `pkm_dynamics.cpp.build_cpp`. Gains and options are those of the
    Python controller, by default its own.
    """
    gains = gains or servo_gains(model)
    name = cpp_name(model.description)
    chosen = option_values(options)
    numbers: Mapping[str, float] = {
        'held_damping': HELD_DAMPING,
        'memory': MEMORY,
        'braking_share': BRAKING_SHARE,
        'smooth_peak': SMOOTH_PEAK,
        'fault_share': FAULT,
    }
    arrays = {
        'proportional': gains.proportional,
        'derivative': gains.derivative,
        'inertia': gains.inertia,
        'force_limit': model.force_limit,
        'velocity_limit': model.velocity_limit,
        'lower': model.lower,
        'upper': model.upper,
        'own_error': largest_errors(model),
    }
    values = {
        'name': name,
        'guard': f'PKM_{name.upper()}_CONTROLLER_HPP',
        'options': ''.join(
            f'  double {key} = {literal(value)};\n' for key, value in chosen.items()
        ),
        **{key: literal(value) for key, value in numbers.items()},
        **{
            key: ', '.join(_bounded(float(each)) for each in np.asarray(value))
            for key, value in arrays.items()
        },
    }
    return {
        f'{name}_controller.hpp': filled(TEMPLATE.read_text(), values),
        f'{name}_force_table.hpp': _force_table(name, values['force_limit']),
    }


def _force_table(name: str, force_limit: str) -> str:
    numbers = {
        'share': SHARE,
        'fade_time': FADE_TIME,
        'worse': WORSE,
        'block': BLOCK,
        'chance': CHI_SQUARE,
        'largest': LIMIT,
    }
    values = {key: literal(value) for key, value in numbers.items()}
    guard = f'PKM_{name.upper()}_FORCE_TABLE_HPP'
    values |= {'name': name, 'guard': guard, 'force_limit': force_limit}
    return filled(FORCE_TABLE.read_text(), values)


def option_values(options: ControllerOptions | None = None) -> dict[str, float]:
    """Options that the C++ has, by default those of the Python controller."""
    values = asdict(options or ControllerOptions())
    return {key: value for key, value in values.items() if key not in UNUSED}


def _bounded(value: float) -> str:
    """Literal of a limit, which may be none."""
    if np.isfinite(value):
        return literal(value)
    return 'unbounded' if value > 0 else '-unbounded'
