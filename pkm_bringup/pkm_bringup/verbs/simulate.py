"""`pkm simulate`: data of a simulated robot under control, without ROS."""

from __future__ import annotations

import sys
from typing import Any

from pkm_bringup.arguments import (
    FEEDFORWARD,
    NATURAL,
    PERIODS_OPTION,
    RAMP_TIME,
    ROBOT,
    TRAJECTORY,
    add_arguments,
    add_json,
)
from pkm_bringup.views.console import print_json, print_note, print_table, progress
from pkm_identification.excitation_options import FRACTION, SERVO
from pkm_identification.option import TEXT, Option, choice

EFFECTS = ('all', 'modelled', 'none')


def add_parser(subparsers: Any) -> None:
    """Add the verb."""
    text = 'drive a simulated robot along a trajectory and write what was measured'
    parser = subparsers.add_parser(
        'simulate',
        help=text,
        description=f'{text}: the whole periods at full speed, or one run from rest to rest, at '
        '1 kHz, in a fast loop without ROS.',
    )
    parser.add_argument('robot', metavar='ROBOT', help=ROBOT)
    parser.add_argument('--trajectory', required=True, metavar='FILE', help=TRAJECTORY)
    output = (
        'to write, must not exist: a file .npz with time [s], positions [m, rad], currents [A] and '
        'noise-free signals; or a folder, a bag as a driver leaves it: from rest to rest, '
        'joint_states with positions, motor_currents with currents in the efforts '
        '(--effort-unit A says so when it is read)'
    )
    parser.add_argument('--output', required=True, metavar='DATA', help=output)
    add_arguments(
        parser,
        PERIODS_OPTION,
        RAMP_TIME,
        Option('seed', NATURAL, 'of the noise, at least 0', 0, '1'),
        Option(
            'effects',
            choice(*EFFECTS),
            'all that the description declares; modelled: without Stribeck friction and cogging; '
            'none: rigid bodies without friction, noise and limits',
            'all',
        ),
        FEEDFORWARD,
        Option(
            'payload',
            TEXT,
            'body fixed to the platform, which the controller does not know: YAML text or file '
            'with mass [kg], centre [m, platform frame], inertia [kg m^2, about the centre: Ixx, '
            'Ixy, Ixz, Iyy, Iyz, Izz]',
            'none',
            metavar='PAYLOAD',
        ),
        Option(
            'constant_error',
            FRACTION,
            'largest error of the force constants in the description [1]: those of the simulated '
            'drives differ from them, at random by the seed --drive-seed',
            0.0,
            metavar='FRACTION',
        ),
        Option('drive_seed', NATURAL, 'of --constant-error, at least 0', 0, '1'),
        *SERVO,
    )
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: Any) -> int:
    """Simulate, write the data, print the tracking errors."""
    import numpy as np

    from pkm_bringup.inputs import load_mechanism, load_payload
    from pkm_bringup.offline import effects_of, feedforward_of, measured_arrays, plant_of, simulate
    from pkm_bringup.outputs import check_output, write_output
    from pkm_bringup.servo_arguments import options_of, servo_of
    from pkm_bringup.simulated_bag import write_bag
    from pkm_bringup.trajectory_inputs import load_trajectory, periods_of, ramp_time_of

    output = check_output(arguments.output, ('.npz', ''))
    with progress('simulating') as update:
        model = load_mechanism(arguments.robot, update)
        trajectory = load_trajectory(arguments.trajectory, model)
        payload = load_payload(arguments.payload)
        plant = plant_of(model.description, payload, arguments.constant_error, arguments.drive_seed)
        periods = periods_of(arguments.periods, arguments.trajectory, trajectory)
        recording = simulate(
            model,
            trajectory,
            periods,
            ramp_time=ramp_time_of(arguments.ramp_time, arguments.trajectory, model),
            effects=effects_of(model.description, arguments.effects),
            feedforward=feedforward_of(model, arguments.feedforward),
            gains=servo_of(model, arguments),
            options=options_of(arguments.max_error),
            seed=arguments.seed,
            plant=plant,
            progress=update,
        )
        is_file = bool(output.suffix)
        period = trajectory.period
        arrays = measured_arrays(recording, model, period, payload, at_rest=not is_file)
    if is_file:
        write_output(output, lambda path: np.savez_compressed(path, **arrays))
    else:
        write_bag(output, arrays)
    run = recording.running
    rms, largest = recording.tracking_rms(), np.abs(recording.errors[run]).max(axis=0)
    saturated = float(recording.saturated[run].any(axis=1).mean())
    if arguments.json:
        content = {'robot': model.description.name, 'samples': len(arrays['time'])}
        content |= {'periods': periods, 'period': trajectory.period}
        content |= {'joints': model.actuated_joints, 'tracking_rms': rms, 'tracking_max': largest}
        print_json({**content, 'saturated_fraction': saturated, 'output': str(output)})
        return 0
    rows = list(zip(model.actuated_joints, rms.tolist(), largest.tolist(), strict=True))
    print_table(('joint', 'RMS error [m, rad]', 'largest [m, rad]'), rows)
    length = f'{trajectory.duration:.5g} s'
    what = f'one run of {length}' if trajectory.period is None else f'{periods} periods of {length}'
    sys.stdout.write(
        f'\n{what}, {len(arrays["time"])} samples, {100 * saturated:.2g} % of them with a force at '
        'its limit\n'
    )
    print_note(f"wrote '{output}'")
    return 0
