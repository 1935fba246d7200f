"""A machine whose encoders and drives count otherwise than its description says."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip('rclpy')

import mechanisms  # noqa: E402
from five_bar_loop import two_motor_waves  # noqa: E402
from graph import Graph  # noqa: E402
from rclpy.action import ActionClient  # noqa: E402
from rclpy.serialization import deserialize_message  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import String  # noqa: E402

import pkm_description  # noqa: E402
from pkm_control.nodes.trajectory_controller import TrajectoryControllerNode  # noqa: E402
from pkm_description.nodes.description_publisher import DescriptionPublisher  # noqa: E402
from pkm_description.nodes.qos import LATCHED  # noqa: E402
from pkm_dynamics import ClosedChainModel  # noqa: E402
from pkm_dynamics.nodes.simulated_robot import SimulatedRobot  # noqa: E402
from pkm_dynamics.nodes.trajectory_messages import to_message  # noqa: E402
from pkm_identification import identify, load  # noqa: E402
from pkm_identification.datasets.bags.bag_writer import BagWriter  # noqa: E402
from pkm_identification.nodes.recorder import header_stamp, installed_definitions  # noqa: E402
from pkm_identification.recording.metadata import dump_metadata, recording_metadata  # noqa: E402
from pkm_msgs.action import FollowPlatformTrajectory  # noqa: E402
from pkm_msgs.msg import ControllerState, MotorCurrents  # noqa: E402

pytestmark = pytest.mark.ros
MACHINE = """
robot: five_bar
joints:
  shoulder1: {encoder: -1, offset: 0.4}
  shoulder2: {offset: -0.7, drive: -1}
"""
QUIET = ('effects.force_noise:=false', 'effects.position_noise:=false')
TOPICS = {
    JointState: 'joint_states',
    MotorCurrents: 'motor_currents',
    ControllerState: 'trajectory_controller/state',
}
TEXTS = 'robot_description', 'robot_description_yaml'
LOCKSTEP = ('rate:=250.0', 'lockstep:=true', 'update_mode:=state', 'feedforward:=nominal')


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    folder, robot = tmp_path_factory.mktemp('machine'), mechanisms.five_bar()
    (folder / 'arm.urdf').write_text(robot.urdf)
    (folder / 'arm.yaml').write_text(robot.yaml_text)
    (folder / 'machine.yaml').write_text(MACHINE.replace('five_bar', robot.name))
    return folder


@pytest.fixture(scope='module')
def model(folder):
    return ClosedChainModel(pkm_description.load(folder / 'arm.urdf'))


def moved(robot, bag, model):
    """Record a motion with all that is published; the first joint state that was heard."""
    goal = FollowPlatformTrajectory.Goal(periods=2, ramp_time=0.3, approach_speed=2.0)
    goal.trajectory = to_message(two_motor_waves(model))
    with Graph(f'robot:={robot}', *LOCKSTEP, *QUIET) as graph:
        for kind, topic in TOPICS.items():
            take = graph.heard[topic].append
            graph.tester.create_subscription(kind, topic, take, 1000, raw=True)
        for topic in TEXTS:
            graph.listen(String, topic, LATCHED)
        graph.add(DescriptionPublisher)
        controller = graph.add(TrajectoryControllerNode)
        graph.add(SimulatedRobot)
        controller.trigger_configure()
        graph.until(lambda: controller.loop.has_recent_state)
        controller.trigger_activate()
        graph.until(lambda: len(graph.heard['joint_states']) > 50)
        action = 'trajectory_controller/follow_platform_trajectory'
        client = ActionClient(graph.tester, FollowPlatformTrajectory, action)
        graph.until(client.server_is_ready)
        sent = client.send_goal_async(goal)
        graph.until(sent.done)
        answer = sent.result().get_result_async()
        graph.until(answer.done, timeout=300.0)
        graph.until(lambda: all(graph.heard[topic] for topic in TEXTS))
        heard = dict(graph.heard)
    result = answer.result().result
    assert result.error_code == result.NONE, result.error_msg
    metadata = dump_metadata(recording_metadata(model, two_motor_waves(model), 2, 0.3))
    with BagWriter(bag, definitions=installed_definitions()) as writer:
        for kind, topic in TOPICS.items():
            name = f'{kind.__module__.split(".")[0]}/msg/{kind.__name__}'
            writer.add_topic(f'/{topic}', name)
            # in lockstep a state that is not answered soon is published again
            for stamp, data in {header_stamp(data): data for data in heard[topic]}.items():
                writer.write(f'/{topic}', name, data, stamp)
        for topic in TEXTS:
            writer.write_text(f'/{topic}', heard[topic][-1].data, 1)
        writer.write_text('/pkm/metadata', metadata, 1)
    first = deserialize_message(heard['joint_states'][0], JointState)
    return dict(zip(first.name, first.position, strict=True))


def test_it_is_moved_recorded_and_identified_as_any_other(folder, model, tmp_path):
    plain, robot = folder / 'arm.urdf', f'{folder}/arm.urdf calibration:={folder}/machine.yaml'
    at_home = moved(plain, tmp_path / 'described', model)
    said = moved(robot, tmp_path / 'machine', model)
    assert said['shoulder1'] == pytest.approx(0.4 - at_home['shoulder1'])
    assert said['shoulder2'] == pytest.approx(at_home['shoulder2'] + 0.7)
    expected = identify(load(tmp_path / 'described'), model)
    recording = load(tmp_path / 'machine')
    assert (recording.urdf, recording.sidecar) == (
        model.description.urdf,
        model.description.yaml_text,
    )
    scale = np.abs(expected.values).max()
    for reader in (model, ClosedChainModel(pkm_description.load(robot))):
        found = identify(recording, reader)
        np.testing.assert_allclose(found.values, expected.values, rtol=1e-5, atol=1e-5 * scale)
    commanded = load(tmp_path / 'machine', forces='commanded').for_model(model)
    measured = recording.for_model(model)
    error = commanded.efforts - measured.efforts[-len(commanded.efforts) :]
    assert np.abs(error).max() < 0.2 * np.abs(measured.efforts).max()
    raw = recording.positions
    np.testing.assert_allclose(measured.positions, raw * [-1.0, 1.0] + [0.4, -0.7])
    constants = model.force_constants
    np.testing.assert_allclose(measured.efforts, recording.currents * [1.0, -1.0] * constants)
