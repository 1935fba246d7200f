"""The whole graph on real rclpy, every node its own process: excite, identify, apply, drive."""

from __future__ import annotations

import json
import signal
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np
import pytest
from report_pages import (
    Reader,
    check_in_a_browser,
    check_numbers,
    check_parameters,
    check_validation,
)
from ros_domain import fresh_domain

import pkm_description
from pkm_bringup import cli
from pkm_bringup.demo.through_nodes import MODULES
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
PICTURES = 23  # of a page of an excitation, a model and two circles of a hexapod
ROUNDED = 1e-4  # share of an error: a sample more or less at an end of the run
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


@dataclass(frozen=True)
class Run:
    """An excitation, what was identified from it, and a circle without and with that model."""

    excited: Any  # result of the goal
    phases: list[tuple[str, float]]
    identified: Any  # answer of the service
    tracking: dict[str, np.ndarray]  # RMS errors (n_a,) [m] of the circles, by bag


@pytest.fixture(scope='module')
def run(graph, model, folder):
    _, client = graph
    client.switch_unmodelled_effects(False)
    phases: list = []
    excited = client.excite(load_excitation('palida'), 3, folder / 'excitation', heard(phases))
    identified = client.identify(folder / 'excitation', 'gauss_markov', folder / 'model.yaml')
    tracking = {}
    for name in ('without', 'with'):
        if name == 'with':
            client.apply_model(folder / 'model.yaml')
        drive = client.excite(benchmark_circle(model), 1, folder / name, heard([]))
        tracking[name] = np.array(drive.quality.tracking_rms)
    return Run(excited, phases, identified, tracking)


def test_from_excitation_to_feedforward(graph, run, model, folder):
    _, client = graph
    assert run.excited.quality.periods == 3 and run.excited.quality.gaps == 0
    assert {'running', 'verifying'} <= {phase for phase, _ in run.phases}

    bag, model_file = folder / 'excitation', folder / 'model.yaml'
    dataset = load(bag)
    assert dataset.joint_names == tuple(model.actuated_joints)
    recorded = pkm_description.loads(dataset.urdf, dataset.sidecar)
    assert recorded.digest == model.description.digest  # the bag alone is enough

    assert len(run.identified.parameters.value) == 24
    found = load_result(model_file, model)
    np.testing.assert_allclose(run.identified.parameters.value, found.values)
    truth = found.matrix @ model.nominal_parameters
    assert np.mean(np.abs(found.values - truth) <= 3 * found.standard_deviation) >= 0.9
    with pytest.raises(GraphError, match='model.yaml.*exist'):
        client.identify(bag, 'gauss_markov', model_file)
    with pytest.raises(GraphError, match="'nonsense'.*gauss_markov"):
        client.identify(bag, 'nonsense', folder / 'other.yaml')
    assert not (folder / 'other.yaml').exists()
    assert np.all(run.tracking['with'] < 0.25 * run.tracking['without'])


def test_the_report_of_the_run(run, model, folder, tmp_path, capsys):
    """The folder is what the demo leaves, with fewer circles and periods."""
    output = tmp_path / 'report.html'
    assert cli.main(['report', str(folder), '--robot', 'palida', '--output', str(output)]) == 0
    page = Reader(output.read_text())
    check_numbers(page, output, pictures=PICTURES)
    check_parameters(page, folder / 'model.yaml')

    header, *rows = page.tables['tracking'][0]
    assert header[-6:] == model.actuated_joints and '[mm]' in header[3]
    shown = {row[0]: np.array(row[-6:]) for row in rows}
    assert set(shown) == set(run.tracking)
    for name, errors in run.tracking.items():
        np.testing.assert_allclose(shown[name], 1e3 * errors, rtol=ROUNDED)

    capsys.readouterr()
    given = ('--robot', 'palida', '--model', str(folder / 'model.yaml'), '--json')
    assert cli.main(['validate', str(folder / 'with'), *given]) == 0
    check_validation(page, str(folder / 'with'), json.loads(capsys.readouterr().out))
    table = next(table for table in page.tables['data'] if table[0][0] == 'recording')
    samples = {row[0]: row[1] for row in table[1:]}
    assert samples['excitation'] == len(load(folder / 'excitation'))
    hashes = {row[0]: row[-1] for row in page.tables['provenance'][0][1:]}
    assert hashes['model.yaml'] == sha256((folder / 'model.yaml').read_bytes()).hexdigest()
    check_in_a_browser(page, output, tmp_path)


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
