"""The online estimator on real rclpy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip('rclpy')

from diagnostic_msgs.msg import DiagnosticArray
from graph import Graph
from sensor_msgs.msg import JointState

import pkm_description
from pkm_dynamics import ClosedChainModel
from pkm_identification import identify
from pkm_identification.datasets import Recording
from pkm_identification.datasets.force_messages import MOTOR_CURRENTS, ForceMessages
from pkm_identification.force_constants.force_constants import ForceConstants
from pkm_identification.nodes.measured_samples import MEASURED
from pkm_identification.nodes.online_estimator import OnlineEstimator
from pkm_msgs.msg import DynamicParameters, MotorCurrents

pytestmark = pytest.mark.ros
RATE = 200.0


def test_currents_become_forces_with_the_constants_of_the_prior(tmp_path):
    """The description's constants would make every parameter wrong by the common factor."""
    model = ClosedChainModel(pkm_description.load('five_bar'))
    base = model.base_parameters(shared=True, reduced=True)
    size, names = len(base.names), tuple(model.actuated_joints)
    time = np.arange(200) / 100.0
    q = model.home_actuators + 0.2 * np.sin(np.outer(time, [4 * np.pi, 6 * np.pi]))
    forces = model.inverse_dynamics(model.motion_from_actuators(q, 0 * q, 0 * q))
    result = identify(Recording.from_arrays(time, names, q, forces, period=1.0), model, harmonics=5)
    constants = ForceConstants(
        names,
        1.3 * model.force_constants,
        0.01 * np.eye(2),
        np.zeros((2, size)),
        model.force_constants,
        tuple((name,) for name in names),
        0.1,
        np.zeros(2),
    )
    path = replace(result, force_constants=constants).save(tmp_path / 'prior.yaml')
    taken = []
    with Graph('robot:=five_bar', f'prior:={path}') as graph:
        node = graph.add(OnlineEstimator)
        node._samples._on_forces = lambda stamp, values: taken.append(values)
        node._samples._follow(ForceMessages('motor_currents', MOTOR_CURRENTS, 'A', names))
        node._samples.take_forces(MotorCurrents(name=list(names), current=[2.0, -1.0]))
    np.testing.assert_allclose(taken[0], 1.3 * model.force_constants * [2.0, -1.0])


def test_estimates_follow_the_topics():
    """A hexapod whose friction and platform differ from the description."""
    model = ClosedChainModel(pkm_description.load('palida'))
    base = model.base_parameters(shared=True, reduced=True)
    random = np.random.default_rng(0)
    time = np.arange(0, 6, 1 / RATE)
    q = np.tile(model.home_actuators, (len(time), 1))
    qd, qdd = np.zeros_like(q), np.zeros_like(q)
    for k in range(1, 5):
        w = k * np.pi
        sine, cosine = np.sin(w * time)[:, None], np.cos(w * time)[:, None]
        a, b = 0.008 * random.normal(size=(2, 6)) / k
        q += a * sine + b * cosine
        qd += w * (a * cosine - b * sine)
        qdd -= w**2 * (a * sine + b * cosine)
    true = 1.2 * model.nominal_parameters
    motion = model.motion_from_actuators(q, qd, qdd)
    forces = model.inverse_dynamics(motion, true)
    currents = (forces + random.normal(size=forces.shape)) / model.force_constants
    names = list(model.actuated_joints)
    order = [3, 1, 0, 2, 5, 4]
    with Graph('robot:=palida', f'rate:={RATE}', 'publish_rate:=20.0') as graph:
        node = graph.add(OnlineEstimator)
        graph.listen(DynamicParameters, 'online_estimator/parameters')
        graph.listen(DiagnosticArray, 'diagnostics')
        states = graph.tester.create_publisher(JointState, 'joint_states', MEASURED)
        motors = graph.tester.create_publisher(MotorCurrents, 'motor_currents', MEASURED)
        graph.until(lambda: states.get_subscription_count() and motors.get_subscription_count())
        for k, t in enumerate(time):
            motor = MotorCurrents(name=names, current=currents[k].tolist())
            state = JointState(
                name=[names[i] for i in order], position=[float(q[k, i]) for i in order]
            )
            for message in (motor, state):
                message.header.stamp.sec = int(t)
                message.header.stamp.nanosec = round((t - int(t)) * 1e9)
            motors.publish(motor)
            states.publish(state)
            if k % 20 == 0:
                graph.executor.spin_once(timeout_sec=0.0)
        heard = graph.heard['online_estimator/parameters']
        graph.until(
            lambda: heard and heard[-1].header.stamp.sec >= 5 and node._estimator.updates > 180,
            timeout=60.0,
        )
        states.publish(JointState(name=names[:2], position=[0.0, 0.0]))
        graph.until(
            lambda: any(
                entry.key == 'skipped samples' and entry.value == '1'
                for message in graph.heard['diagnostics']
                for status in message.status
                for entry in status.values
            )
        )
    last = heard[-1]
    assert last.name == list(base.names) and last.estimator == 'recursive'
    deviation = np.sqrt(np.diag(np.reshape(last.covariance, (24, 24))))
    error = np.array(last.value) - base.matrix @ true
    assert np.sqrt(np.mean((error / deviation) ** 2)) < 2.5
    rows = base.regressor(motion[::10])
    before = rows @ (base.matrix @ (model.nominal_parameters - true))
    assert np.sqrt(np.mean((rows @ error) ** 2)) < 0.15 * np.sqrt(np.mean(before**2))
