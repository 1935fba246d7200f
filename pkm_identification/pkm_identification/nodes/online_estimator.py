"""Node `online_estimator`: parameters of the robot while it moves."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.clock import Clock, ClockType
from rclpy.node import Node

import pkm_description
from pkm_description.nodes.node_parameters import NodeParameter, declare_parameters
from pkm_description.nodes.node_status import publish_diagnostics
from pkm_description.nodes.running import run_node
from pkm_dynamics import ClosedChainModel
from pkm_identification.estimators.filters.online import OnlineIdentification
from pkm_identification.estimators.filters.recursive_estimator import RecursiveEstimator
from pkm_identification.nodes.force_topic import FORCE_UNIT
from pkm_identification.nodes.measured_samples import MeasuredSamples, Taker
from pkm_identification.result.reading import load_result
from pkm_msgs.msg import DynamicParameters

INITIAL = 'standard deviation of the start over the nominal values, without a prior'
PARAMETERS = (
    NodeParameter('robot', 'palida', 'library name of the robot, or path of a description'),
    FORCE_UNIT,
    NodeParameter('prior', '', 'model file to start from; empty: the nominal values'),
    NodeParameter('initial_deviation', 1.0, INITIAL, '1', 1e-6, 1e6),
    NodeParameter('rate', 1000.0, 'of the joint states', 'Hz', 1.0, 1e5),
    NodeParameter('cutoff', 20.0, 'of the low pass of forces and regressor', 'Hz', 1e-3, 1e4),
    NodeParameter('update_rate', 40.0, 'of samples that the estimator takes', 'Hz', 1e-3, 1e4),
    NodeParameter('publish_rate', 2.0, 'of the estimates', 'Hz', 1e-3, 1e3),
    NodeParameter('memory', 0.0, 'of the estimator; 0: all samples alike', 's', 0.0, 1e6),
    NodeParameter(
        'huber', 3.0, 'innovations beyond count less; 0: all alike', 'standard deviations', 0.0, 1e3
    ),
    NodeParameter(
        'least_speed', 0.01, 'slower motion of all actuators is left out', 'm/s, rad/s', 0.0, 1e3
    ),
)


class OnlineEstimator(Node):
    """Follows `joint_states` and the currents or forces; publishes `~/parameters`.

    Currents become forces with the force constants of the prior, where it has some of its own,
    else of the description. The message holds the estimates of the base parameters and their
    covariance; its standard parameters stay empty: nothing here is meant to be applied unseen.
    """

    def __init__(self) -> None:
        super().__init__('online_estimator')
        values = declare_parameters(self, PARAMETERS)
        self._model = ClosedChainModel(pkm_description.load(values['robot']))
        prior = load_result(values['prior'], self._model) if values['prior'] else None
        if prior is not None:
            self._model = prior.model  # with the forces of drives that the prior has
        memory = values['memory'] * values['update_rate']
        self._estimator = RecursiveEstimator(
            self._model,
            prior=prior,
            initial_deviation=values['initial_deviation'],
            forgetting=1.0 - 1.0 / memory if memory > 1 else 1.0,
            huber=values['huber'] or None,
        )
        rates = (values[name] for name in ('rate', 'cutoff', 'update_rate', 'least_speed'))
        self._online = OnlineIdentification(self._estimator, *rates)
        self._changed = False
        online = self._online
        adders = self._taking(online.add_positions), self._taking(online.add_forces)
        unit = values['force_unit']
        self._samples = MeasuredSamples(self, self._model, prior, *adders, unit)
        self._publisher = self.create_publisher(DynamicParameters, '~/parameters', 10)
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(1.0 / values['publish_rate'], self._publish, clock=steady)
        robot = self._model.description.name
        publish_diagnostics(
            self, robot, self._report, f'{self.get_fully_qualified_name()}: estimates'
        )
        self.get_logger().info(f"follows '{robot}', {len(self._estimator.names)} parameters")

    def _taking(self, add: Callable[[float, np.ndarray], bool]) -> Taker:
        def take(time: float, values: np.ndarray) -> None:
            self._changed |= add(time, values)

        return take

    def _publish(self) -> None:
        if not self._changed:
            return
        self._changed = False
        estimator, description = self._estimator, self._model.description
        message = DynamicParameters(
            robot=description.name,
            description_digest=description.digest,
            estimator='recursive',
            name=estimator.names,
            unit=estimator.units,
            value=estimator.values.tolist(),
            covariance=estimator.covariance.ravel().tolist(),
            is_physical=False,
        )
        message.header.stamp = self._samples.stamp
        self._publisher.publish(message)

    def _report(self) -> tuple[str, dict[str, str], bytes]:
        estimator = self._estimator
        deviation = np.sqrt(np.diag(estimator.covariance))
        noise = np.sqrt(np.diag(estimator.noise))
        entries = {
            'updates': str(estimator.updates),
            'gaps': str(self._online.gaps),
            'skipped samples': str(self._samples.skipped),
            'force noise': ', '.join(f'{value:.3g}' for value in noise),
        }
        rows = zip(estimator.names, estimator.values, deviation, estimator.units, strict=True)
        entries |= {name: f'{value:.5g} +- {sd:.2g} {unit}' for name, value, sd, unit in rows}
        if self._samples.problem:
            return self._samples.problem, entries, DiagnosticStatus.ERROR
        message = 'estimating' if estimator.updates else 'waits for motion'
        return message, entries, DiagnosticStatus.OK


def main(args: Sequence[str] | None = None) -> None:
    """Run the node until it is interrupted."""
    sys.exit(run_node(OnlineEstimator, args))


if __name__ == '__main__':
    main()
