"""Node `force_monitor`: a protective stop for forces that the identified model does not explain."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.node import Node
from std_msgs.msg import Bool

import pkm_description
from pkm_description.errors import EstimationError
from pkm_description.nodes.node_parameters import NodeParameter, declare_parameters
from pkm_description.nodes.node_status import publish_diagnostics
from pkm_description.nodes.qos import LATCHED
from pkm_description.nodes.running import run_node
from pkm_dynamics import ClosedChainModel
from pkm_identification.datasets import load
from pkm_identification.estimators.filters.online import StampedPairs
from pkm_identification.monitoring.monitor import FALSE_ALARMS, WINDOW, ForceMonitor, Verdict
from pkm_identification.nodes.force_topic import FORCE_UNIT
from pkm_identification.nodes.measured_samples import MeasuredSamples
from pkm_identification.result.reading import load_result
from pkm_msgs.msg import ForceResiduals

OFTEN = 'false alarms to expect; fewer make the smallest force that is seen larger'
PARAMETERS = (
    NodeParameter('robot', 'palida', 'library name of the robot, or path of a description'),
    FORCE_UNIT,
    NodeParameter('model', '', 'model file of an identification, with its covariance'),
    NodeParameter(
        'references',
        '',
        'recordings (bag, CSV, NPZ), separated by commas, of motions like those to watch, in which '
        'nothing disturbed the robot',
    ),
    NodeParameter('false_alarms', FALSE_ALARMS, OFTEN, '1/day', 1e-3, 1e4),
    NodeParameter('window', WINDOW, 'over which residuals are averaged', 's', 1e-3, 10.0),
    NodeParameter('stops', True, 'ask the controller for a protective stop at an alarm'),
)
# An alarm ends when all residuals have stayed below this share of their levels for so long [s]
CALM, CALM_TIME = 0.7, 0.5


class ForceMonitorNode(Node):
    """Follows `joint_states` and the currents or forces; publishes `~/residuals` and `~/alarm`.

    With `stops` an alarm asks for a protective stop on `trajectory_controller/protective_stop`,
    True as long as it lasts. Nothing is watched while `brakes/closed` says that brakes bear the
    robot: its drives say nothing then.
    """

    def __init__(self) -> None:
        super().__init__('force_monitor')
        values = declare_parameters(self, PARAMETERS)
        model = ClosedChainModel(pkm_description.load(values['robot']))
        references = [path.strip() for path in values['references'].split(',') if path.strip()]
        if not values['model'] or not references:
            raise EstimationError(
                'force_monitor needs a `model` (file of an identification) and `references` '
                '(recordings in which nothing disturbed the robot)'
            )
        result = load_result(values['model'], model)
        model = result.model
        recordings = [load(path).for_model(model) for path in references]
        self._monitor = ForceMonitor.calibrated(
            result, recordings, values['window'], values['false_alarms']
        )
        self._names = list(model.actuated_joints)
        self._pairs = StampedPairs()
        self._block: list[tuple[float, np.ndarray, np.ndarray]] = []
        self._braked = False
        self._alarm = False
        self._released = False  # whether a stop that an earlier process asked for was taken back
        self._calm = 0  # residuals in a row that are small
        self._alarms = 0
        self._largest = 0.0
        self._judged = self._heard = 0  # residuals and samples since the last report
        self._residuals = self.create_publisher(ForceResiduals, '~/residuals', 10)
        self._told = self.create_publisher(Bool, '~/alarm', LATCHED)
        stop = 'trajectory_controller/protective_stop'
        self._stop = self.create_publisher(Bool, stop, 10) if values['stops'] else None
        self._told.publish(Bool(data=False))
        self.create_subscription(Bool, 'brakes/closed', self._on_brakes, LATCHED)
        takers = self._on_positions, self._on_forces
        self._samples = MeasuredSamples(self, model, result, *takers, values['force_unit'])
        publish_diagnostics(self, model.description.name, self._report)
        levels = self._monitor.levels
        self.get_logger().info(
            f"watches '{model.description.name}': deviations "
            f'{", ".join(f"{each:.3g}" for each in levels.typical)} N, alarms at '
            f'{levels.levels[:-1].max():.2f} of them, {levels.false_alarms:g} false ones a day'
        )

    def _on_brakes(self, message: Bool) -> None:
        if message.data != self._braked:
            self._braked = bool(message.data)
            self._forget()
            if self._braked and self._alarm:
                self._tell(False)  # nothing more is seen; the controller keeps its stop

    def _forget(self) -> None:
        self._pairs.clear()
        self._block.clear()
        self._monitor.reset()

    def _on_positions(self, time: float, positions: np.ndarray) -> None:
        self._pairs.add_positions(time, positions)
        self._proceed()

    def _on_forces(self, time: float, forces: np.ndarray) -> None:
        if not self._pairs.add_forces(time, forces):
            self._forget()
            self._pairs.add_forces(time, forces)
        self._proceed()

    def _proceed(self) -> None:
        for sample in self._pairs.taken():
            if self._braked:
                continue
            self._heard += 1
            self._block.append(sample)
            if len(self._block) >= self._monitor.stream.every:
                time, positions, forces = (
                    np.array(each) for each in zip(*self._block, strict=True)
                )
                self._block.clear()
                for verdict in self._monitor.add(time, positions, forces):
                    self._judge(verdict)

    def _judge(self, verdict: Verdict) -> None:
        self._judged += len(verdict.ratios)
        largest = float(verdict.ratios.max())
        self._largest = max(self._largest, largest)
        self._calm = self._calm + len(verdict.ratios) if largest < CALM else 0
        if verdict.alarms.any() and not self._alarm:
            self._alarms += 1
            self._tell(True)
            self.get_logger().fatal(self._reason(verdict))
        elif self._alarm and self._calm > CALM_TIME * self._monitor.stream.rate:
            self._tell(False)
        self._publish(verdict)

    def _tell(self, alarm: bool) -> None:
        self._alarm = alarm
        self._told.publish(Bool(data=alarm))
        if self._stop is not None:
            self._stop.publish(Bool(data=alarm))

    def _reason(self, verdict: Verdict) -> str:
        row = int(np.argmax(verdict.ratios.max(axis=1)))
        axis = int(np.argmax(verdict.ratios[row, :-1]))
        force, deviation = verdict.residuals.forces[row, axis], verdict.deviation[row, axis]
        return (
            f'forces that the model does not explain: {self._names[axis]} {force:+.3g} N, N m, '
            f'{abs(force) / deviation:.1f} standard deviations; all together '
            f'{verdict.ratios[row, -1]:.2f} of their level'
        )

    def _publish(self, verdict: Verdict) -> None:
        message = ForceResiduals(
            name=self._names,
            residual=verdict.residuals.forces[-1].tolist(),
            standard_deviation=verdict.deviation[-1].tolist(),
            level=self._monitor.levels.levels[:-1].tolist(),
            together=float(verdict.ratios[-1, -1]),
            alarm=self._alarm,
        )
        message.header.stamp = self._samples.stamp
        self._residuals.publish(message)

    def _release(self) -> None:
        """Take back what a monitor before this one asked for, once brakes bear the robot."""
        if self._stop is None or self._released or not self._braked:
            return
        if self._stop.get_subscription_count():
            self._released = True
            self._stop.publish(Bool(data=False))

    def _report(self) -> tuple[str, dict[str, str], bytes]:
        level, message = DiagnosticStatus.OK, 'watches'
        self._release()
        if self._alarm:
            level, message = DiagnosticStatus.ERROR, 'alarm: forces that the model does not explain'
        elif self._braked:
            message = 'brakes closed, nothing to watch'
        elif self._samples.problem:
            level, message = DiagnosticStatus.ERROR, self._samples.problem
        elif not self._heard:
            level, message = DiagnosticStatus.WARN, 'waits for states and currents'
        elif not self._judged:
            rate = 1.0 / self._monitor.stream.interval
            level = DiagnosticStatus.ERROR
            message = f'sees nothing: stamps have gaps, or are not those of {rate:.4g} Hz'
        entries = {
            'alarms': str(self._alarms),
            'largest residual over its level': f'{self._largest:.2f}',
            'gaps': str(self._monitor.stream.gaps),
            'skipped samples': str(self._samples.skipped),
        }
        self._largest = 0.0
        self._judged = self._heard = 0
        return message, entries, level


def main(args: Sequence[str] | None = None) -> None:
    """Run the node until it is interrupted."""
    sys.exit(run_node(ForceMonitorNode, args))


if __name__ == '__main__':
    main()
