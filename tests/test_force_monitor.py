"""The force monitor beside the controller: pushes stop the robot, its own motion does not."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip('rclpy')

from laboratory import CONTROLLER, MODEL, RATE, Laboratory, shake
from std_msgs.msg import Bool

from pkm_bringup.offline import measured_arrays
from pkm_bringup.studies.runs.plants import excitation_of, recorded
from pkm_control.closed_loop import run_closed_loop
from pkm_control.control_types import ErrorCode
from pkm_control.controller import TrajectoryController
from pkm_control.feedforward import nominal_feedforward
from pkm_description.errors import EstimationError
from pkm_description.nodes.qos import LATCHED
from pkm_dynamics.joint_servo.gains import servo_gains
from pkm_dynamics.simulation import PlantEffects, SimulatedPlant
from pkm_identification import identify
from pkm_identification.monitoring.references import RobotMonitor, references
from pkm_identification.nodes.force_monitor import ForceMonitorNode
from pkm_identification.result.reading import load_result
from pkm_msgs.msg import ForceResiduals

pytestmark = pytest.mark.ros
# Of the reference. By the mean velocity of a window, which says nothing of a drive that rests in a
# part of it, and without the noise of speeds, its slow reversals were something that no noise
# explains.
SEED = 10
PUSHES = {'measured': [60.0, 0.0, 0.0], 'commanded': [0.0, 0.0, 60.0]}  # [N]


@pytest.fixture(scope='module')
def files(tmp_path_factory):
    """An identified model, and a recording of the laboratory's motion from rest to rest."""
    folder = tmp_path_factory.mktemp('monitor')
    effects = PlantEffects.from_description(MODEL.description)
    data = recorded(MODEL, excitation_of(MODEL), 'robot', effects, 3, 1)
    model = identify(data, MODEL, 'wls', friction='auto').save(folder / 'model.yaml')
    plant = SimulatedPlant(MODEL.description, effects, seed=SEED, step=1.0 / RATE)
    controller = TrajectoryController(MODEL, servo_gains(MODEL), nominal_feedforward(MODEL))
    run = run_closed_loop(plant, controller, shake(), 16, ramp_time=0.3)
    reference = folder / 'reference.npz'
    np.savez(reference, **measured_arrays(run, MODEL, None, at_rest=True))
    return f'model:={model}', f'references:={reference}'


def told(lab) -> list[bool]:
    return [message.data for message in lab.heard['force_monitor/alarm']]


def test_slow_reversals_of_the_reference_are_no_reason_for_high_levels(files) -> None:
    """All together: 7.0 for normal noise; 13.9 before."""
    model, reference = (each.split(':=')[1] for each in files)
    result = load_result(model, MODEL)
    monitor, _ = RobotMonitor.calibrated(result, *references([reference], result, 'commanded'))
    assert monitor.levels.levels[-1] < 8.0


@pytest.mark.parametrize('forces', PUSHES)
def test_a_push_stops_the_robot_and_its_own_motion_does_not(files, forces: str) -> None:
    """Along z, where the legs share the push, the noise of measured forces would hide it."""
    with Laboratory(*files, f'forces:={forces}') as lab:
        lab.listen(Bool, 'force_monitor/alarm', LATCHED)
        lab.listen(ForceResiduals, 'force_monitor/residuals')
        monitor = lab.add(ForceMonitorNode)
        lab.fresh()
        handle = lab.moving(2)
        lab.until(lambda: lab.heard['force_monitor/residuals'])
        assert True not in told(lab)
        body = lab.plant.mujoco_model.body(MODEL.description.platform).id
        begin, gaps = lab.rows[-1].time, monitor._monitor.stream.gaps
        lab.plant.mujoco_data.xfrc_applied[body, :3] = PUSHES[forces]
        lab.until(lambda: lab.loop.stopping)
        lab.plant.mujoco_data.xfrc_applied[body, :3] = 0.0
        code, message = lab.result(handle)
        assert code is ErrorCode.PROTECTIVE_STOP and 'protective_stop' in message
        assert told(lab)[-1] is True
        last = [each for each in lab.heard['force_monitor/residuals'] if each.alarm][0]
        # by the stamps: in lockstep the robot does not wait for who listens, and a loaded machine
        # may lose samples, after which the window fills anew
        seen = last.header.stamp.sec + 1e-9 * last.header.stamp.nanosec - begin  # [s]
        lost = monitor._monitor.stream.gaps - gaps
        assert lost or seen < 0.06
        assert last.name == list(MODEL.actuated_joints)
        scores = np.abs(last.residual) / last.standard_deviation
        assert (scores > last.level).any() or last.together > 1.0
        # brakes bear the robot: there is nothing to watch, and the stop can be reset
        lab.until(lambda: told(lab)[-1] is False)
        lab.until(lambda: lab.trigger(f'{CONTROLLER}/reset_protective_stop'))
        lab.until(lab.try_to_activate)
        lab.moving(1)
        assert told(lab)[-1] is False
        # the tree of diagnostics knows it by the name of the node
        names = {status.name for array in lab.heard['diagnostics'] for status in array.status}
        assert '/force_monitor' in names


def test_a_drive_that_gives_less_than_it_is_told_stops_the_robot(files) -> None:
    with Laboratory(*files) as lab:
        lab.listen(ForceResiduals, 'force_monitor/residuals')
        lab.add(ForceMonitorNode)
        lab.fresh()
        handle = lab.moving(1.5)
        step, share = lab.plant.step, np.ones(MODEL.n_a)
        lab.plant.step = lambda command: step(share * command)
        lab.pass_by(0.2)
        assert not lab.loop.stopping
        share[2] = 0.7
        lab.until(lambda: lab.loop.stopping)
        assert lab.result(handle)[0] is ErrorCode.PROTECTIVE_STOP
        # the force that is missing may be seen before the drive's own residual has grown
        heard = [each for each in lab.heard['force_monitor/residuals'] if each.alarm]
        largest = np.abs([each.drive_residual for each in heard]).max(axis=0)
        assert int(np.argmax(largest)) == 2


def test_without_its_files_it_says_what_it_needs() -> None:
    with Laboratory() as lab, pytest.raises(EstimationError, match='references'):
        lab.add(ForceMonitorNode)
