"""The whole graph on real rclpy, every node its own process: excite, identify, apply, drive."""

from __future__ import annotations

import signal

import numpy as np
import pytest
from ros_domain import fresh_domain

import pkm_description
from pkm_bringup.demo.play import MODULES
from pkm_bringup.processes import NodeProcesses, ProcessError
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.trajectories import CircleTrajectory, benchmark_circle
from pkm_identification import load, load_result
from pkm_identification.datasets.bags.bag_reader import read_bag
from pkm_identification.excitation import load_excitation

pytest.importorskip('rclpy')

from pkm_bringup.nodes.robot_client import GraphError, RobotClient  # noqa: E402

pytestmark = [pytest.mark.ros, pytest.mark.slow]

SILENT = {'state_timeout': 1.0, 'lockstep_timeout': 2.0}
RATE = 500.0  # [Hz] half of what is default: most of a cycle's cost is ROS


@pytest.fixture(scope='module')
def model():
    return ClosedChainModel(pkm_description.load('palida'))


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp('graph')


@pytest.fixture(scope='module')
def graph(folder):
    """All nodes of the demo in lockstep; yields the processes and a client.

    The last tests take nodes away that those before them need.
    """
    special = {
        'simulated_robot': {'lockstep': True, 'seed': 3, 'rate': RATE},
        'trajectory_controller': {'update_mode': 'state', 'autostart': True, **SILENT},
        'excitation_server': {'silence_timeout': 3.0, 'data_folder': str(folder), 'rate': RATE},
        'estimation_server': {'data_folder': str(folder)},
    }
    with pytest.MonkeyPatch.context() as patch, NodeProcesses(folder / 'log') as processes:
        patch.setenv('ROS_DOMAIN_ID', str(fresh_domain()))
        patch.setenv('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
        patch.setenv('ROS_LOG_DIR', str(folder / 'log' / 'ros'))
        for node, module in MODULES.items():
            processes.start(node, module, {'robot': 'palida', **special.get(node, {})})
        with RobotClient(processes.check) as client:
            client.wait_until_ready()
            yield processes, client


def heard(phases):
    return lambda phase, fraction: phases.append((phase, fraction))


def test_from_excitation_to_feedforward(graph, model, folder):
    _, client = graph
    client.switch_unmodelled_effects(False)
    phases: list = []
    bag = folder / 'excitation'
    result = client.excite(load_excitation('palida'), 3, bag, heard(phases))
    assert result.quality.periods == 3 and result.quality.gaps == 0
    assert {'running', 'verifying'} <= {phase for phase, _ in phases}

    dataset = load(bag)
    assert dataset.joint_names == tuple(model.actuated_joints)
    recorded = pkm_description.loads(dataset.urdf, dataset.sidecar)
    assert recorded.digest == model.description.digest  # the bag alone is enough

    model_file = folder / 'model.yaml'
    answer = client.identify(bag, 'gauss_markov', model_file)
    assert len(answer.parameters.value) == 24
    found = load_result(model_file, model)
    np.testing.assert_allclose(answer.parameters.value, found.values)
    truth = found.matrix @ model.nominal_parameters
    assert np.mean(np.abs(found.values - truth) <= 3 * found.standard_deviation) >= 0.9
    with pytest.raises(GraphError, match='model.yaml.*exist'):
        client.identify(bag, 'gauss_markov', model_file)
    with pytest.raises(GraphError, match="'nonsense'.*gauss_markov"):
        client.identify(bag, 'nonsense', folder / 'other.yaml')
    assert not (folder / 'other.yaml').exists()

    errors = {}
    for name in ('without', 'with'):
        if name == 'with':
            client.apply_model(model_file)
        drive = client.excite(benchmark_circle(model), 1, folder / name, heard([]))
        errors[name] = np.array(drive.quality.tracking_rms)
    assert np.all(errors['with'] < 0.25 * errors['without'])


def test_what_leaves_the_stroke_is_refused_and_the_robot_stays(graph, model, folder):
    _, client = graph
    home = model.home_position
    wide = CircleTrajectory(
        [home[0], home[1], home[2], 0, 0, 0], [0, 0, 0], radius=0.4, speed=0.5, robot='palida'
    )
    with pytest.raises(GraphError, match='leg.*limit'):
        client.excite(wide, 1, folder / 'wide', heard([]))
    assert not list(folder.glob('wide*'))


def test_a_killed_plant_ends_the_run_with_the_reason(graph, folder):
    processes, client = graph
    killed = []

    def kill_when_running(phase, fraction):
        if phase == 'running' and fraction > 0.3 and not killed:
            killed.append(processes.kill('simulated_robot', signal.SIGKILL))

    with pytest.raises(GraphError, match='silent|STATE_TIMEOUT|no joint state'):
        client.excite(load_excitation('palida'), 3, folder / 'cut', kill_when_running)
    assert killed
    # What was recorded is a closed bag that says that it was aborted, not a torn one.
    assert [path.name for path in folder.glob('cut*')] == ['cut']
    assert 'outcome: aborted' in read_bag(folder / 'cut', ['pkm/metadata']).text('/pkm/metadata')


def test_a_node_that_ends_is_named(graph):
    processes, client = graph
    processes.kill('estimation_server', signal.SIGKILL, watched=True)
    with pytest.raises(ProcessError, match="'estimation_server' ended with status -9"):
        client.wait_until_ready()
