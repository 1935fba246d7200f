"""Goals of `~/follow_platform_trajectory` that learn, on the running graph in lockstep."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip('rclpy')

from laboratory import MODEL, Laboratory  # noqa: E402

from pkm_control.control_types import ErrorCode  # noqa: E402
from pkm_control.learning.learning_law import Verdict  # noqa: E402
from pkm_dynamics.nodes.trajectory_messages import to_message  # noqa: E402
from pkm_dynamics.trajectories import FourierTrajectory  # noqa: E402
from pkm_msgs.action import FollowPlatformTrajectory  # noqa: E402

pytestmark = pytest.mark.ros
LEARN = FollowPlatformTrajectory.Goal.LEARN
LEGS = np.asarray(MODEL.home_actuators)
# Legs as sines of 8 mm at 2 Hz
SHORT = FourierTrajectory(
    *(0.5, LEGS, 8e-3 * np.ones((6, 1)), np.zeros((6, 1)), 'actuators', MODEL.actuated_joints)
)


@pytest.fixture(scope='module')
def lab(tmp_path_factory):
    folder = tmp_path_factory.mktemp('learned')
    with Laboratory(f'learning_folder:={folder}') as lab:
        lab.folder = folder
        yield lab


def repeated(lab):
    """Result of one repetition that learns."""
    handle = lab.send(to_message(SHORT), periods=1, learning=LEARN)
    future = handle.get_result_async()
    lab.until(future.done, 60.0)
    result = future.result().result
    assert ErrorCode(result.error_code) is ErrorCode.NONE
    return result


def test_repetitions_become_exact_and_a_load_is_seen(lab) -> None:
    lab.fresh()
    first, second = repeated(lab), repeated(lab)
    assert first.learning_msg == Verdict.FIRST.value
    assert second.learning_msg == Verdict.LEARNED.value and second.learning_repetitions == 2
    assert second.learning_rms[1] < 0.6 * second.learning_rms[0]
    (file,) = lab.folder.iterdir()
    kept = file.read_bytes()
    lab.plant.mujoco_data.xfrc_applied[lab.plant.mujoco_model.body('platform').id, 2] = -30.0  # [N]
    assert repeated(lab).learning_msg == Verdict.CHANGED.value
    assert file.read_bytes() != kept
