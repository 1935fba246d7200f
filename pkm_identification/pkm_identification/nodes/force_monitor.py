"""Node `force_monitor`: a protective stop for forces that the identified model does not explain."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.time import Time
from std_msgs.msg import Bool

import pkm_description
from pkm_description.errors import EstimationError
from pkm_description.nodes.node_parameters import NodeParameter, declare_parameters
from pkm_description.nodes.node_status import publish_diagnostics
from pkm_description.nodes.qos import LATCHED
from pkm_description.nodes.running import run_node
from pkm_dynamics import ClosedChainModel
from pkm_identification.estimators.filters.online import StampedPairs
from pkm_identification.monitoring.alarm_latch import AlarmLatch
from pkm_identification.monitoring.drive_monitor import DriveVerdict
from pkm_identification.monitoring.monitor import FALSE_ALARMS, WINDOW, Verdict
from pkm_identification.monitoring.references import RobotMonitor, references
from pkm_identification.nodes.force_topic import FORCE_UNIT
from pkm_identification.nodes.measured_samples import MeasuredSamples
from pkm_identification.result.reading import load_result
from pkm_msgs.msg import ControllerState, ForceResiduals

Sample = tuple[float, np.ndarray, np.ndarray]
STATE = 'trajectory_controller/state'
EVERY_CYCLE = QoSProfile(depth=2000)
UNEXPLAINED = 'forces that the model does not explain'
UNTRUE = 'a drive does not give the force that it is told'

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
    NodeParameter(
        'forces',
        'auto',
        'that are compared with the model: `commanded`, which have no noise and whose drives are '
        'watched, too, `measured`, or `auto`: commanded where all references hold commands',
    ),
    NodeParameter('stops', True, 'ask the controller for a protective stop at an alarm'),
)


class ForceMonitorNode(Node):
    """Follows states, commands and measured forces; publishes `~/residuals` and `~/alarm`.

    Where the references hold commanded forces, those of `trajectory_controller/state` are compared
    with the model, and measured ones with the commands. With `stops` an alarm asks for a
    protective stop on `trajectory_controller/protective_stop`, True as long as it lasts. Nothing is
    watched while `brakes/closed` says that brakes bear the robot: its drives say nothing then.
    """

    def __init__(self) -> None:
        super().__init__('force_monitor')
        values = declare_parameters(self, PARAMETERS)
        model = ClosedChainModel(pkm_description.load(values['robot']))
        paths = [path.strip() for path in values['references'].split(',') if path.strip()]
        if not values['model'] or not paths:
            raise EstimationError(
                'force_monitor needs a `model` (file of an identification) and `references` '
                '(recordings in which nothing disturbed the robot)'
            )
        result = load_result(values['model'], model)
        model = result.model
        recordings = references(paths, result, values['forces'])
        chosen = values['window'], values['false_alarms']
        self._monitor, self._drives = RobotMonitor.calibrated(result, *recordings, *chosen)
        self._names = list(model.actuated_joints)
        # forces at the times of positions; measured forces at the times of commands
        self._pairs, self._told = StampedPairs(), StampedPairs()
        self._block: list[Sample] = []
        self._drive_block: list[Sample] = []
        self._drive_residual: list[float] = []
        self._braked = False
        self._alarm = False
        self._released = False  # whether a stop that an earlier process asked for was taken back
        stream = self._monitor.stream
        self._contact = AlarmLatch(stream.rate)
        self._fault = AlarmLatch(stream.rate)
        self._judged = self._heard = self._commands = 0  # since the last report
        self._residuals = self.create_publisher(ForceResiduals, '~/residuals', 10)
        self._alarms = self.create_publisher(Bool, '~/alarm', LATCHED)
        stop = 'trajectory_controller/protective_stop'
        self._stop = self.create_publisher(Bool, stop, 10) if values['stops'] else None
        self._alarms.publish(Bool(data=False))
        self.create_subscription(Bool, 'brakes/closed', self._on_brakes, LATCHED)
        if self._drives is not None:
            self.create_subscription(ControllerState, STATE, self._on_command, EVERY_CYCLE)
        takers = self._on_positions, self._on_forces
        self._samples = MeasuredSamples(self, model, result, *takers, values['force_unit'])
        publish_diagnostics(self, model.description.name, self._report)
        self._say(model.description.name)

    def _say(self, robot: str) -> None:
        levels = self._monitor.levels
        by = 'measured' if self._drives is None else 'commanded'
        self.get_logger().info(
            f"watches '{robot}' by {by} forces: deviations "
            f'{", ".join(f"{each:.3g}" for each in levels.typical)} N, alarms at '
            f'{levels.levels[:-1].max():.2f} of them'
        )
        if self._drives is not None:
            gains = ', '.join(f'{each:.3f}' for each in self._drives.response.gain)
            lag = 1e3 * self._drives.response.lag
            self.get_logger().info(
                f'measured over commanded forces: {gains}, {lag:.1f} ms after the command'
            )

    def _on_brakes(self, message: Bool) -> None:
        if message.data != self._braked:
            self._braked = bool(message.data)
            self._forget()
            if self._braked:
                self._contact.end()
                self._fault.end()
                self._tell()  # nothing more is seen; the controller keeps its stop

    def _forget(self) -> None:
        self._pairs.clear()
        self._block.clear()
        self._monitor.reset()
        self._forget_drives()

    def _forget_drives(self) -> None:
        self._told.clear()
        self._drive_block.clear()
        if self._drives is not None:
            self._drives.reset()

    def _on_positions(self, time: float, positions: np.ndarray) -> None:
        self._pairs.add_positions(time, positions)
        self._proceed()

    def _on_forces(self, time: float, forces: np.ndarray) -> None:
        if self._drives is None:
            self._add_forces(time, forces)
            self._proceed()
            return
        if not self._told.add_forces(time, forces):
            self._forget_drives()
            self._told.add_forces(time, forces)
        self._proceed_with_drives()

    def _on_command(self, message: ControllerState) -> None:
        """Take a command, which is held until the next one: its time is the middle."""
        assert self._drives is not None
        given = dict(zip(message.name, message.command, strict=False))
        commands = np.array([given.get(name, np.nan) for name in self._names])
        if not np.isfinite(commands).all():
            return
        self._commands += 1
        stamp = message.header.stamp
        time = stamp.sec + 1e-9 * stamp.nanosec + 0.5 * self._monitor.stream.interval
        response = self._drives.response
        self._told.add_positions(time, commands)
        self._add_forces(time + response.lag, response.given(commands))
        self._proceed()
        self._proceed_with_drives()

    def _add_forces(self, time: float, forces: np.ndarray) -> None:
        if not self._pairs.add_forces(time, forces):
            self._forget()
            self._pairs.add_forces(time, forces)

    def _proceed(self) -> None:
        for sample in self._pairs.taken():
            if self._braked:
                continue
            self._heard += 1
            self._block.append(sample)
            if len(self._block) >= self._monitor.stream.every:
                block = _arrays(self._block)
                self._block.clear()
                for verdict in self._monitor.add(*block):
                    self._judge(verdict)

    def _proceed_with_drives(self) -> None:
        assert self._drives is not None
        for sample in self._told.taken():
            if self._braked:
                continue
            self._drive_block.append(sample)
            if len(self._drive_block) < self._monitor.stream.every:
                continue
            block = _arrays(self._drive_block)
            self._drive_block.clear()
            verdict = self._drives.add(*block)
            if verdict is None:
                continue
            self._drive_residual = verdict.forces[-1].tolist()
            if self._fault.judge(verdict.ratios):
                self._tell()
                if self._fault.raised:
                    self.get_logger().fatal(self._drive_reason(verdict))

    def _judge(self, verdict: Verdict) -> None:
        self._judged += len(verdict.ratios)
        if self._contact.judge(verdict.ratios):
            self._tell()
            if self._contact.raised:
                self.get_logger().fatal(self._reason(verdict))
        self._publish(verdict)

    def _tell(self) -> None:
        """Say whether there is an alarm, where that has changed."""
        alarm = self._contact.raised or self._fault.raised
        if alarm == self._alarm:
            return
        self._alarm = alarm
        self._alarms.publish(Bool(data=alarm))
        if self._stop is not None:
            self._stop.publish(Bool(data=alarm))

    def _reason(self, verdict: Verdict) -> str:
        row = int(np.argmax(verdict.ratios.max(axis=1)))
        axis = int(np.argmax(verdict.ratios[row, :-1]))
        force, deviation = verdict.residuals.forces[row, axis], verdict.deviation[row, axis]
        return (
            f'{UNEXPLAINED}: {self._names[axis]} {force:+.3g} N, N m, '
            f'{abs(force) / deviation:.1f} standard deviations; all together '
            f'{verdict.ratios[row, -1]:.2f} of their level'
        )

    def _drive_reason(self, verdict: DriveVerdict) -> str:
        row = int(np.argmax(verdict.ratios.max(axis=1)))
        axis = int(np.argmax(verdict.ratios[row, :-1]))
        return (
            f'{UNTRUE}: {self._names[axis]} {verdict.forces[row, axis]:+.3g} N, N m beside its '
            f'command, {verdict.ratios[row, axis]:.2f} of its level'
        )

    def _publish(self, verdict: Verdict) -> None:
        message = ForceResiduals(
            name=self._names,
            residual=verdict.residuals.forces[-1].tolist(),
            standard_deviation=verdict.deviation[-1].tolist(),
            level=self._monitor.levels.levels[:-1].tolist(),
            together=float(verdict.ratios[-1, -1]),
            alarm=self._alarm,
            drive_residual=self._drive_residual,
        )
        seen = round(1e9 * float(verdict.residuals.time[-1]))  # [ns]
        message.header.stamp = Time(nanoseconds=seen).to_msg()
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
            causes = ((self._contact, UNEXPLAINED), (self._fault, UNTRUE))
            found = [what for alarm, what in causes if alarm.raised]
            level, message = DiagnosticStatus.ERROR, f'alarm: {"; ".join(found)}'
        elif self._braked:
            message = 'brakes closed, nothing to watch'
        elif self._samples.problem:
            level, message = DiagnosticStatus.ERROR, self._samples.problem
        elif self._drives is not None and not self._commands:
            level = DiagnosticStatus.WARN
            message = f'hears no commands on {STATE}: forces:=measured watches without them'
        elif not self._heard:
            level, message = DiagnosticStatus.WARN, 'waits for states and forces'
        elif not self._judged:
            rate = 1.0 / self._monitor.stream.interval
            level = DiagnosticStatus.ERROR
            message = f'sees nothing: stamps have gaps, or are not those of {rate:.4g} Hz'
        entries = {
            'alarms': str(self._contact.count + self._fault.count),
            'largest residual over its level': f'{self._contact.largest:.2f}',
            'gaps': str(self._monitor.stream.gaps),
            'skipped samples': str(self._samples.skipped),
        }
        if self._drives is not None:
            entries['largest residual of a drive over its level'] = f'{self._fault.largest:.2f}'
        self._contact.largest = self._fault.largest = 0.0
        self._judged = self._heard = self._commands = 0
        return message, entries, level


def _arrays(samples: list[Sample]) -> tuple[np.ndarray, ...]:
    return tuple(np.array(each) for each in zip(*samples, strict=True))


def main(args: Sequence[str] | None = None) -> None:
    """Run the node until it is interrupted."""
    sys.exit(run_node(ForceMonitorNode, args))


if __name__ == '__main__':
    main()
