"""Package of ROS 2 with a chainable ros2_control controller of one robot."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from pkm_control.control_types import ControllerOptions
from pkm_control.cpp_controller.controller_source import controller_headers, option_values
from pkm_control.safeguards.bound_changes import ERRORS
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.cpp import CppSources
from pkm_dynamics.cpp.cpp_sources import cpp_name
from pkm_dynamics.cpp.emitter import literal
from pkm_dynamics.cpp.packages import in_package, package_name
from pkm_dynamics.joint_servo.gains import ServoGains

TEMPLATES = Path(__file__).parent / 'ros2_control'
# [s] without a reference until the robot stops: some missed cycles of a controller at 100 Hz
REFERENCE_TIMEOUT = 0.04
MAY_BE_ZERO = (*ERRORS, 'stroke_tolerance', 'force_rise_time')


def ros2_control_package(
    sources: CppSources,
    model: ClosedChainModel,
    gains: ServoGains | None = None,
    options: ControllerOptions | None = None,
) -> CppSources:
    """Add the controller of a robot to its C++, as a package of ROS 2.

    Parameters
    ----------
    sources
        C++ of the robot, of `pkm_dynamics.cpp.build_cpp`.
    model, gains, options
        As for `controller_headers`; options are the defaults of the controller's parameters.
    """
    name = cpp_name(model.description)
    chosen = option_values(options)
    joints = model.actuated_joints
    read = 'options_.{key} = node->get_parameter("{key}").as_double();'
    values = {
        'package': package_name(name, 'controller'),
        'guard': f'PKM_{name.upper()}_CHAINED_HPP',
        'timeout': literal(REFERENCE_TIMEOUT),
        'checks': ''.join(
            f'  if (!(options.{key} {">=" if key in MAY_BE_ZERO else ">"} 0.0)) return "{key}";\n'
            for key in chosen
        ),
        'declared': ''.join(
            f'      auto_declare<double>("{key}", options_.{key});\n' for key in chosen
        ),
        'read': ''.join(f'    {read.format(key=key)}\n' for key in chosen),
        'joints': ', '.join(map(json.dumps, joints)),
        'command_joints': ', '.join(json.dumps(f'{name}_controller/{joint}') for joint in joints),
        'values': ''.join(f'    {key}: {float(value)!r}\n' for key, value in chosen.items()),
    }
    header = controller_headers(model, gains, options)
    return in_package(replace(sources, files={**sources.files, **header}), name, TEMPLATES, values)
