"""Parameters of the node `trajectory_controller`."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from pkm_control.control_types import ControllerOptions
from pkm_control.learning.learning_law import SHARE
from pkm_control.safeguards.bound_changes import TUNABLE
from pkm_control.safeguards.lost_states import BRIDGED_CYCLES
from pkm_control.shutdown import ShutdownTimes
from pkm_description.nodes.node_parameters import NodeParameter
from pkm_dynamics.drive_types import COMMANDS, FORCES
from pkm_dynamics.joint_servo.gains import BANDWIDTH, DAMPING, VELOCITY_CUTOFF

UPDATE_MODES = ('timer', 'state')
FEEDFORWARDS = ('none', 'nominal')
_DEFAULT, _TIMES = ControllerOptions(), ShutdownTimes()
LOCKSTEP_INTERVAL = 0.1  # [s] longest between the stamps of two states in lockstep
# Options of the controller: name, description, unit, lower and upper bound.
_BOUNDS = (
    (
        'max_position_error',
        'position error of a smooth stop; 0: by unit and stroke of each joint',
        'm, rad',
        0.0,
        100.0,
    ),
    (
        'fault_position_error',
        "position error that ends all commands; 0: twice that, or the joint's own if larger",
        'm, rad',
        0.0,
        100.0,
    ),
    ('stroke_tolerance', 'beyond the stroke: smooth stop', 'm, rad', 0.0, 1.0),
    ('stop_time', 'of a smooth stop, at most a period', 's', 1e-3, 60.0),
    ('overspeed', 'measured speed over its limit that ends all commands', '1', 1.0, 1e3),
    ('reaction_time', 'until braking takes hold; wrong speeds last as long', 's', 1e-3, 1.0),
    (
        'force_rise_time',
        'a force, or a signal, changes no faster than from 0 to its limit in this',
        's',
        0.0,
        1.0,
    ),
    ('model_change_time', 'in which another feedforward takes over', 's', 0.0, 60.0),
)

PARAMETERS = (
    NodeParameter('robot', 'palida', 'library name of the robot, or path of a description'),
    NodeParameter('drives', FORCES, f'what drives are told: {", ".join(COMMANDS)}'),
    NodeParameter(
        'update_mode',
        'timer',
        "'timer': own thread at `rate`; 'state': one command for each joint state (lockstep)",
    ),
    NodeParameter('rate', 1000.0, 'control cycles per second in timer mode', 'Hz', 1.0, 1e4),
    NodeParameter(
        'state_timeout', 0.1, 'no joint state for this long: stop; timer mode', 's', 1e-3, 10.0
    ),
    NodeParameter(
        'lockstep_timeout',
        5.0,
        'no joint state for this long: stop; state mode, elapsed',
        's',
        1e-2,
        600.0,
    ),
    NodeParameter(
        'bridged_cycles',
        BRIDGED_CYCLES,
        'cycles with a lost joint state until a smooth stop; timer mode',
        '1',
        0,
        100000,
    ),
    NodeParameter(
        'bandwidth', BANDWIDTH, 'natural frequency of each axis of the servo', 'Hz', 0.01, 1e3
    ),
    NodeParameter('damping', DAMPING, 'damping ratio of each axis of the servo', '1', 0.01, 10.0),
    NodeParameter('gain_scale', 1.0, 'factor on the gains of servo or valves', '1', 1e-3, 100.0),
    NodeParameter(
        'velocity_cutoff', VELOCITY_CUTOFF, 'low pass of the derivative part', 'Hz', 0.1, 1e4
    ),
    *(
        NodeParameter(
            *(name, getattr(_DEFAULT, name), text, unit, lower, upper),
            read_only=name not in TUNABLE,
        )
        for name, text, unit, lower, upper in _BOUNDS
    ),
    NodeParameter(
        'settle_time', _TIMES.settle_time, 'at rest before the brakes close', 's', 0.0, 10.0
    ),
    NodeParameter(
        'brake_time', _TIMES.brake_time, 'brakes have closed, where none reports it', 's', 0.0, 10.0
    ),
    NodeParameter(
        'brake_opening_time',
        1.0,
        'a goal waits for brakes that say that they are closed; refused then',
        's',
        0.0,
        10.0,
    ),
    NodeParameter(
        'max_model_difference',
        0.5,
        'of an identified model from the description, in force limits of a drive; also on the way',
        '1',
        0.0,
        1e6,
    ),
    NodeParameter('feedforward', 'none', "feedforward to begin with: 'none' or 'nominal'"),
    NodeParameter(
        'feasibility_rate', 500.0, 'sampling rate of the check of a goal', 'Hz', 1.0, 1e4
    ),
    NodeParameter('feedback_rate', 10.0, 'feedback messages of a goal', 'Hz', 0.1, 100.0),
    NodeParameter(
        'learning_folder', '', 'of what motions have taught; empty: kept while the node runs'
    ),
    NodeParameter(
        'learning_share', SHARE, 'of a force limit: what is learned at most', '1', 0.0, 1.0
    ),
    NodeParameter('drives_say_ready', False, 'activation waits for true on `drives/ready`'),
    NodeParameter('drives_say_homed', False, 'activation waits for true on `drives/homed`'),
    NodeParameter('enabling_device', False, 'motions need `~/enabling_device`'),
    NodeParameter(
        'enabling_timeout', 0.2, 'longest silence of the enabling device', 's', 1e-2, 10.0
    ),
    NodeParameter(
        'reduced_speed', 0.25, 'of the platform under the enabling device', 'm/s', 1e-3, 10.0
    ),
    NodeParameter(
        'autostart', False, 'configure at once and activate when joint states come; holds the pose'
    ),
)


def controller_options(values: dict[str, Any]) -> ControllerOptions:
    """Return the bounds of the controller among the parameter values."""
    given = {field.name: values[field.name] for field in fields(_DEFAULT) if field.name in values}
    timed = values['update_mode'] == 'timer'
    return ControllerOptions(
        **given, max_interval=values['state_timeout'] if timed else LOCKSTEP_INTERVAL
    )
