"""A hydraulic robot on real rclpy, every node its own process: valves, from motion to model."""

from __future__ import annotations

import numpy as np
import pytest
from ros_domain import fresh_domain

import pkm_description
from pkm_bringup.demo.through_nodes import MODULES
from pkm_bringup.processes import NodeProcesses
from pkm_description.errors import DatasetError
from pkm_dynamics import ClosedChainModel
from pkm_identification import load, load_result
from pkm_identification.excitation import load_excitation

pytest.importorskip('rclpy')

from pkm_bringup.nodes.robot_client import RobotClient  # noqa: E402

pytestmark = [pytest.mark.ros, pytest.mark.slow]

LARGEST = 5e-4  # [m] RMS errors of axes along the excitation


def test_from_excitation_by_valves_to_a_model(tmp_path, monkeypatch):
    model = ClosedChainModel(pkm_description.load('msi'))
    special = {
        'simulated_robot': {'lockstep': True, 'seed': 3, 'drives': 'valves'},
        'trajectory_controller': {
            'update_mode': 'state',
            'lockstep_timeout': 10.0,
            'autostart': True,
            'drives': 'valves',
            'feedforward': 'nominal',
            'feasibility_rate': 50.0,  # the shipped design has been checked
        },
        'excitation_server': {'silence_timeout': 10.0, 'data_folder': str(tmp_path)},
        'estimation_server': {'data_folder': str(tmp_path)},
    }
    monkeypatch.setenv('ROS_DOMAIN_ID', str(fresh_domain()))
    monkeypatch.setenv('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    monkeypatch.setenv('ROS_LOG_DIR', str(tmp_path / 'log' / 'ros'))
    bag, file = tmp_path / 'excitation', tmp_path / 'model.yaml'
    with NodeProcesses(tmp_path / 'log') as processes:
        for node, module in MODULES.items():
            processes.start(node, module, {'robot': 'msi', **special.get(node, {})})
        with RobotClient(processes.check) as client:
            client.wait_until_ready()
            client.switch_unmodelled_effects(False)
            excited = client.excite(load_excitation('msi'), 1, bag, lambda *_: None)
            client.identify(bag, 'gauss_markov', file)
    assert excited.quality.gaps == 0
    assert 0.0 < np.max(excited.quality.tracking_rms) < LARGEST

    # measured pressures: the noise is that of the description, 30 N
    recorded = load(bag)
    meant = recorded.truth.forces_at(np.asarray(recorded.time)[1:-1])
    assert 25.0 < np.std(np.asarray(recorded.efforts)[1:-1] - meant) < 40.0
    found = load_result(file, model)
    truth = found.matrix @ model.nominal_parameters
    assert np.mean(np.abs(found.values - truth) <= 3 * found.standard_deviation) >= 0.9
    with pytest.raises(DatasetError, match='commanded no forces'):
        load(bag, forces='commanded')
