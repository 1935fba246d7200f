"""Drives that answer with the opposite force, and what only looks like them."""

from __future__ import annotations

import numpy as np
import pytest
from every_model import model_of
from gantry import Gantry

from pkm_control.control_types import ControlFault, ControllerOptions, ErrorCode
from pkm_control.controller import TrajectoryController
from pkm_control.feedforward import no_feedforward, nominal_feedforward
from pkm_control.safeguards.drive_response import PERSISTS, WINDOW, DriveResponse
from pkm_control.stops import StopEvent
from pkm_dynamics.equations.actuator_inertia import inertia_matrix
from pkm_dynamics.joint_servo.gains import servo_gains
from pkm_dynamics.simulation import SimulatedPlant
from pkm_identification.excitation.excitation_design import load_excitation

STEP = 1e-3  # [s]
ONSET = 0.3  # [s] from which on the drives do something else


def until_a_fault(
    robot,
    drive,
    feedforward=nominal_feedforward,
    moving=True,
    push=0.0,
    time=0.5,
    options=ControllerOptions(),  # noqa: B008
    step=STEP,
):
    """Message and time [s] since the onset of a fault that takes the force away, and the way."""
    model = model_of(robot)
    forces = feedforward() if feedforward is no_feedforward else feedforward(model)
    controller = TrajectoryController(model, servo_gains(model), forces, options)
    plant = SimulatedPlant(model.description, seed=3, step=step)
    controller.activate(plant.sample.positions)
    begun, rest = not moving, plant.time
    platform = plant.mujoco_model.body(model.description.platform).id
    at_onset = None
    while plant.time - rest < ONSET + time:
        sample = plant.sample
        if not begun:
            controller.start(controller.plan(load_excitation(robot), 2, 0.1, 0.5))
            begun = True
        try:
            command = controller.step(sample.time, sample.positions).command
        except ControlFault as fault:
            assert at_onset is not None
            way = np.abs(sample.truth_positions - at_onset).max()
            return str(fault), fault.code, sample.time - rest - ONSET, way
        if sample.time - rest >= ONSET:
            if at_onset is None:
                at_onset = sample.truth_positions
            plant.mujoco_data.xfrc_applied[platform, :3] = push
            command = drive(command)
        plant.step(command)
    return '', None, np.inf, np.inf


@pytest.mark.parametrize('moving', [False, True])
@pytest.mark.parametrize('axis', range(6))
def test_a_drive_that_pushes_the_wrong_way_is_named_soon(axis, moving) -> None:
    signs = np.ones(6)
    signs[axis] = -1.0
    message, code, after, way = until_a_fault(
        'palida', lambda forces: signs * forces, moving=moving
    )
    assert message.startswith(f'{model_of("palida").actuated_joints[axis]}: the drive answers')
    assert code is ErrorCode.TRACKING_ERROR
    assert after < 0.1 and way < 0.03  # as soon as the command is more than small


@pytest.mark.parametrize('step', [1e-3, 4e-3])
@pytest.mark.parametrize('axis', range(6))
def test_a_drive_is_named_as_soon_where_a_small_bound_is_braked_for_before(axis, step) -> None:
    signs = np.ones(6)
    signs[axis] = -1.0
    small = ControllerOptions(max_position_error=0.003)
    message, _, after, way = until_a_fault(
        'palida', lambda forces: signs * forces, moving=False, options=small, step=step
    )
    assert message.startswith(f'{model_of("palida").actuated_joints[axis]}: the drive answers')
    assert 'it braked already' in message
    assert after < 0.04 and way < 0.012  # a servo that begins anew is blind for two cycles more


@pytest.mark.parametrize('robot', ['delta', 'rps_upv'])
def test_other_robots(robot) -> None:
    model = model_of(robot)
    signs = np.ones(model.n_a)
    signs[0] = -1.0
    message, _, after, _ = until_a_fault(robot, lambda forces: signs * forces)
    assert message.startswith(f'{model.actuated_joints[0]}: the drive answers')
    assert after < 0.1


MODEL = Gantry()  # three axes of 12 kg
MASS = 12.0
COMMAND = np.array([30.0, 0.0, 0.0])  # [N] of 200


def found(disturbance, command=COMMAND, share=1.0, interval=STEP, time=0.2):
    """Time [s] at which the axes are named that a disturbance (t) -> (3,) [N] moves, exactly.

    `share` of the commands are feedback; the desired motion rests, friction does not count.
    """
    response = DriveResponse(MODEL)
    velocity = np.zeros(3)
    for t in np.arange(0.0, time, interval):
        finding = response.check(
            t, -velocity, 0.0 * velocity, velocity, (1.0 - share) * command, command
        )
        if finding is not None:
            assert finding.event is StopEvent.DRIVE_OPPOSES and finding.message.startswith('x: ')
            return t
        # the desired motion rests by the feedforward alone
        velocity = velocity + interval * (share * command - disturbance(t)) / MASS
    return None


@pytest.mark.parametrize('share', [0.0, 0.3, 1.0])
@pytest.mark.parametrize('interval', [5e-4, 1e-3, 4e-3, 10e-3])
def test_twice_the_command_on_one_axis_is_a_drive_that_opposes(share, interval) -> None:
    after = found(lambda t: 2.0 * COMMAND, share=share, interval=interval)
    window = max(WINDOW, 4 * interval)
    assert after == pytest.approx(window + max(PERSISTS, interval), abs=1.01 * interval)


@pytest.mark.parametrize(
    ('name', 'disturbance'),
    [
        ('nothing', lambda t: 0.0 * COMMAND),
        ('a drive without force', lambda t: COMMAND),
        ('a push that the servo withstands', lambda t: 1.3 * COMMAND),
        ('a push beyond what it withstands', lambda t: 3.0 * COMMAND),
        ('a push on all axes', lambda t: np.full(3, 60.0)),
        ('blows', lambda t: 10.0 * COMMAND * (t % 0.1 < 0.004)),
        ('a help', lambda t: -2.0 * COMMAND),
    ],
)
def test_what_is_no_such_drive(name, disturbance) -> None:
    assert found(disturbance) is None


@pytest.mark.parametrize(('sign', 'named'), [(1.0, False), (-1.0, True)])
def test_what_the_described_robot_does_there_is_no_such_drive(sign, named, monkeypatch) -> None:
    """Away from home the inertia may be any other one: the forces of the motion decide."""
    model = model_of('five_bar')
    home = np.asarray(model.home_actuators)
    command = np.array([0.3, 0.0]) * model.force_limit
    time = STEP * np.arange(45)
    acceleration = np.linalg.solve(inertia_matrix(model), sign * command)
    velocity = time[:, None] * acceleration
    position = home + 0.5 * time[:, None] * velocity
    rest = model.inverse_dynamics(model.motion_from_actuators(home[None], *np.zeros((2, 1, 2))))[0]
    response = DriveResponse(model)
    if sign > 0.0:  # as wrong as can be: it makes every answer look opposite
        monkeypatch.setattr(response, '_inertia', -inertia_matrix(model))
    findings = [
        response.check(t, -qd, q, qd, rest, rest + command)
        for t, q, qd in zip(time, position, velocity, strict=True)
    ]
    assert any(finding is not None for finding in findings) == named
    if sign > 0.0:  # it is the explanation that makes the difference
        monkeypatch.setattr(response, '_explained', lambda axis: False)
        response.begin()
        late = [
            response.check(t, -qd, q, qd, rest, rest + command)
            for t, q, qd in zip(time, position, velocity, strict=True)
        ]
        assert any(finding is not None for finding in late)


@pytest.mark.parametrize('share', [0.3, 6.3])  # of 15 % of the force limit
def test_small_commands_and_those_at_the_limit_prove_nothing(share) -> None:
    assert found(lambda t: 2.0 * share * COMMAND, share * COMMAND) is None


@pytest.mark.parametrize('feedforward', [nominal_feedforward, no_feedforward])
@pytest.mark.parametrize(
    ('share', 'push'),
    [(1.0, 0.0), (0.0, 0.0), (1.0, [0.0, 0.0, -300.0]), (1.0, [150.0, 100.0, 0.0])],
)
def test_a_robot_whose_drives_obey_is_not_powered_off(share, push, feedforward) -> None:
    """One drive without force, and pushes; unloaded or with a model that knows nothing."""
    obeys = np.array([share, 1.0, 1.0, 1.0, 1.0, 1.0])
    message, *_ = until_a_fault('palida', lambda c: obeys * c, feedforward, push=push)
    assert 'opposite' not in message
