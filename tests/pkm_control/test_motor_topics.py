"""A robot whose topics are of motors: every node that reads or writes them, and offline too."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import yaml
from every_model import geared_arm

pytest.importorskip('rclpy')

from builtin_interfaces.msg import Time  # noqa: E402
from graph import Graph  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import Float64MultiArray  # noqa: E402

import pkm_description  # noqa: E402
from pkm_bringup.offline import dataset_of, measured_arrays  # noqa: E402
from pkm_control.control_types import StepResult  # noqa: E402
from pkm_control.nodes.controller_publishers import ControllerPublishers  # noqa: E402
from pkm_control.nodes.joint_state_reader import JointStateReader  # noqa: E402
from pkm_control.nodes.trajectory_controller import TrajectoryControllerNode  # noqa: E402
from pkm_description import DescriptionError, MotorSide  # noqa: E402
from pkm_description.nodes.state_completer import StateCompleter  # noqa: E402
from pkm_dynamics import ClosedChainModel  # noqa: E402
from pkm_dynamics.nodes.simulated_robot import SimulatedRobot  # noqa: E402
from pkm_dynamics.simulation import SimulatedPlant  # noqa: E402
from pkm_dynamics.trajectories import CircleTrajectory, Phase  # noqa: E402
from pkm_identification.datasets.force_messages import ARRAY, MOTOR_CURRENTS, ForceMessages  # noqa: E402
from pkm_identification.nodes.online_estimator import OnlineEstimator  # noqa: E402
from pkm_identification.recording.metadata import dump_metadata, recording_metadata  # noqa: E402
from pkm_msgs.msg import MotorCurrents  # noqa: E402

QUIET = ('effects.force_noise:=false', 'effects.position_noise:=false')


@pytest.fixture(scope='module')
def robot():
    arm = geared_arm()
    text = arm.yaml_text + 'side: motor\n'
    for motor, constant in (('one', 0.5), ('two', 0.25)):
        text = text.replace(f'{motor}: {{', f'{motor}: {{force_constant: {constant}, ')
    return pkm_description.loads(arm.urdf, text)


@pytest.fixture(scope='module')
def side(robot):
    return MotorSide.of(robot)


@pytest.fixture
def path(robot, tmp_path):
    (tmp_path / 'arm.urdf').write_text(robot.urdf)
    (tmp_path / 'arm.yaml').write_text(robot.yaml_text)
    return tmp_path / 'arm.urdf'


def test_the_side_is_checked(robot):
    plain = robot.yaml_text.split('transmissions:')[0]
    for text, message in (
        ('side: motor', 'side is motor, but there are no transmissions'),
        ('side: both', "side must be joint or motor, not 'both'"),
    ):
        with pytest.raises(DescriptionError, match=message):
            pkm_description.loads(robot.urdf, f'{plain}{text}\n')


def test_states_of_motors_become_those_of_joints(side):
    reader = JointStateReader(side.joints, side)
    motors = np.array([3.0, -1.0, 2.0])
    names = list(side.motors)
    read = reader.read(JointState(name=names[::-1], position=motors[::-1].tolist()))
    np.testing.assert_allclose(read, side.joint_positions(motors))


def test_commands_are_torques_of_motors_and_states_stay_those_of_joints(side):
    messages, vectors = [], [np.arange(3.0) + k for k in range(6)]
    topic = SimpleNamespace(publish=messages.append)
    node = SimpleNamespace(create_publisher=lambda kind, name, qos: topic)
    done = StepResult(
        7.0, Phase.RUN, 1.5, 3, 0.4, 2.5, *vectors, *np.zeros((2, 3), dtype=bool), 'wls', None
    )
    ControllerPublishers(node, side.joints, side).publish(done, Time(), 0.0)
    command, state = messages
    np.testing.assert_allclose(command.data, side.motor_efforts(done.command))
    assert list(state.command) == done.command.tolist() and list(state.name) == list(side.joints)


def test_the_metadata_of_a_recording_say_the_side(robot):
    model = ClosedChainModel(robot)
    circle = CircleTrajectory(np.zeros(6), np.zeros(3), 0.1, 0.2)
    text = dump_metadata(recording_metadata(model, circle, 1, 1.0))
    content = yaml.safe_load(text)
    assert content['side'] == 'motor'
    assert {'one': 0.5, 'two': 0.25}.items() <= content['force_constants'].items()


def test_offline_recordings_are_of_the_motors(robot, side):
    model, random = ClosedChainModel(robot), np.random.default_rng(5)
    constants = np.asarray(model.force_constants)
    names = ('drive_positions', 'drive_commands', 'currents')
    names += ('truth_positions', 'truth_velocities', 'truth_forces')
    signals = {name: random.normal(size=(4, 3)) for name in names}
    time = np.arange(4) * 1e-3
    run = SimpleNamespace(running=slice(None), time=time, current_time=time, **signals)
    arrays = measured_arrays(run, model, None)
    assert list(arrays['joint_names']) == list(side.motors) and arrays['side'] == 'motor'
    found = dataset_of(arrays).for_model(model)
    np.testing.assert_allclose(found.positions, signals['drive_positions'])
    efforts = signals['currents'] * np.where(np.isfinite(constants), constants, 1.0)
    np.testing.assert_allclose(found.efforts, efforts)
    truth = side.joint_efforts(arrays['truth_forces'])
    np.testing.assert_allclose(truth, signals['truth_forces'])
    commands = side.joint_efforts(arrays['commands'])
    np.testing.assert_allclose(commands, signals['drive_commands'])


@pytest.mark.ros
def test_the_simulated_robot_takes_torques_and_shows_motors(path, robot, side):
    torques = np.array([0.1, -0.4, 0.2])
    with Graph(f'robot:={path}', 'lockstep:=true', *QUIET) as graph:
        for kind, topic in (
            (JointState, 'joint_states'),
            (JointState, 'ground_truth'),
            (MotorCurrents, 'motor_currents'),
        ):
            graph.listen(kind, topic)
        commands = graph.tester.create_publisher(
            Float64MultiArray, 'effort_controller/commands', 10
        )
        graph.add(SimulatedRobot)
        heard = graph.heard['joint_states']
        graph.until(lambda: heard and commands.get_subscription_count() > 0)
        for step in range(1, 11):
            commands.publish(Float64MultiArray(data=torques.tolist()))
            graph.until(lambda step=step: heard[-1].header.stamp.nanosec >= step * 1_000_000 - 1)
        graph.until(lambda: graph.heard['ground_truth'][-1].header.stamp.nanosec > 9_000_000)
        graph.until(lambda: graph.heard['motor_currents'][-1].header.stamp.nanosec > 9_000_000)
    state, truth = heard[-1], graph.heard['ground_truth'][-1]
    assert list(state.name) == list(side.motors) == list(truth.name)
    np.testing.assert_allclose(truth.effort, torques, atol=1e-12)
    currents = graph.heard['motor_currents'][-1].current
    np.testing.assert_allclose(currents, torques / side.force_constants, atol=1e-12)
    plant = SimulatedPlant(robot)
    for _ in range(10):
        sample = plant.step(side.joint_efforts(torques))
    expected = side.motor_positions(sample.truth_positions)
    np.testing.assert_allclose(truth.position, expected, atol=1e-9)


@pytest.mark.ros
def test_controller_and_robot_hold_the_arm_by_its_motors(path, side):
    """With gravity on it: commands are those torques that hold it, of single motors."""
    model = ClosedChainModel(pkm_description.load(path))
    parameters = (f'robot:={path}', 'lockstep:=true', 'update_mode:=state', *QUIET)
    with Graph(*parameters) as graph:
        graph.listen(Float64MultiArray, 'effort_controller/commands')
        graph.listen(JointState, 'joint_states')
        node = graph.add(TrajectoryControllerNode)
        graph.add(SimulatedRobot)
        node.trigger_configure()
        graph.until(lambda: node.loop.has_recent_state)
        node.trigger_activate()
        states = graph.heard['joint_states']
        graph.until(lambda: states[-1].header.stamp.nanosec >= 300_000_000)
    positions = side.joint_positions(np.array(states[-1].position))
    np.testing.assert_allclose(positions, model.home_actuators, atol=0.02)
    at_rest = model.motion_from_actuators(positions[None], np.zeros((1, 3)), np.zeros((1, 3)))
    weight = side.motor_efforts(model.inverse_dynamics(at_rest)[0])
    command = np.array(graph.heard['effort_controller/commands'][-1].data)
    # friction at standstill carries a part
    np.testing.assert_allclose(command, weight, atol=0.5 * np.abs(weight).max())


@pytest.mark.ros
def test_listeners_turn_motors_to_joints(path, side):
    motors, currents = np.array([5.0, 2.0, -3.0]), np.array([1.0, -2.0, 0.5])
    motors = motors + side.motor_positions(np.zeros(3))
    taken = []
    with Graph(f'robot:={path}') as graph:
        completer = graph.add(StateCompleter)
        completer._publish = lambda message, configuration: taken.append(configuration.joints)
        completer._on_state(JointState(name=list(side.motors), position=motors.tolist()))
        samples, names = graph.add(OnlineEstimator)._samples, tuple(side.motors)
        samples._on_positions = samples._on_forces = lambda stamp, values: taken.append(values)
        samples.take_state(JointState(name=list(side.motors), position=motors.tolist()))
        samples._follow(ForceMessages('motor_currents', MOTOR_CURRENTS, 'A', names))
        samples.take_forces(MotorCurrents(name=list(side.motors), current=currents.tolist()))
        samples._follow(ForceMessages('motor_currents', ARRAY, 'N', names))
        samples.take_forces(Float64MultiArray(data=currents.tolist()))
    joints = side.joint_positions(motors)
    np.testing.assert_allclose(taken[0], joints, atol=1e-9)
    np.testing.assert_allclose(taken[1], joints)
    torques = currents * side.force_constants
    assert np.isfinite(torques).all()
    np.testing.assert_allclose(taken[2], side.joint_efforts(torques))
    np.testing.assert_allclose(taken[3], side.joint_efforts(currents))  # torques already
