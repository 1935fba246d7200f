"""Where the control cycles run: in one thread, at absolute deadlines or one per joint state."""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable
from typing import Any

from sensor_msgs.msg import JointState

from pkm_control.control_types import ControlFault, ErrorCode, Outcome, StepResult
from pkm_control.controller import TrajectoryController
from pkm_control.loop_statistics import LoopStatistics
from pkm_control.nodes.brakes import Brakes
from pkm_control.nodes.controller_publishers import ControllerPublishers
from pkm_control.nodes.joint_state_reader import JointStateReader, PolledSubscription
from pkm_control.nodes.state_intake import Measurement, StateIntake
from pkm_control.safeguards.lost_states import BRIDGED_CYCLES, LONGEST_HOLD
from pkm_control.shutdown import Shutdown, ShutdownPhase, ShutdownTimes
from pkm_control.stops import StopEvent

LONGEST_WAIT = 0.02  # [s] for a joint state before the watchdog looks again
# [s] for a robot to come to rest and its brakes to close, beyond what that takes, until commands
# end anyhow where somebody waits for it
LONGEST_SHUTDOWN = 3.0
STOOD_STILL = 0.05  # [s] that the loop itself was late by, from which on a fault of states says so
OF_STATES = (ErrorCode.STATE_TIMEOUT, ErrorCode.BAD_STATE)


class ControlLoop:
    """Feeds measured states to the controller and its commands to the output.

    The time of the controller is that of the states' stamps; the watchdog runs on the
    machine's steady clock. Commands flow from `activate` on. They end by a stop of category 1,
    for `shut_down` or a fault with valid states: rest, brakes, zero force; where no brakes take
    commands, the last force stays until the drives' own timeout. They end by category 0, zero
    force and brakes at once, where the states are not valid. Zeros close valves in any case.
    The thread takes joint states from `start` to `close`.
    """

    def __init__(
        self,
        controller: TrajectoryController,
        reader: JointStateReader,
        source: PolledSubscription,  # of the joint states
        output: ControllerPublishers,
        brakes: Brakes,
        rate: float | None,  # cycles a second [Hz] at absolute deadlines; None for one per state
        state_timeout: float,  # [s] without a state with a new stamp until commands stop
        on_fault: Callable[[ControlFault], None],  # in the thread of the loop, without commands
        on_outcome: Callable[[Outcome], None],  # of a motion that has ended, in whatever thread
        on_end: Callable[[], None] = lambda: None,  # commands have ended, in whatever thread
        on_turn: Callable[[], None] = lambda: None,  # in the thread, at least every LONGEST_WAIT
        shutdown_times: ShutdownTimes | None = None,
        bridged_cycles: int = BRIDGED_CYCLES,  # that a lost state costs before the robot stops
    ) -> None:
        self.controller = controller
        self.statistics = LoopStatistics()
        self.lock = threading.RLock()
        self.last_result: StepResult | None = None
        self.commanding = False
        self._source = source
        self._output = output
        self._brakes = brakes
        self._period = None if rate is None else 1.0 / rate
        self._states = StateIntake(controller.model, reader, state_timeout, bridged_cycles)
        self._on_fault = on_fault
        self._on_outcome = on_outcome
        self._on_end = on_end
        self._on_turn = on_turn
        self._times = shutdown_times or ShutdownTimes()
        self._shutdown: Shutdown | None = None
        self._ended = threading.Event()
        self._fault: ControlFault | None = None
        self._origin: int  # [ns] stamp of the state at the activation
        self._activated = 0.0  # [s] of the steady clock, at which commands last began
        self._answered: int | None = None
        self._overdue = 0.0  # [s] of the present cycle, which began at `_began`
        self._began = 0.0  # [s] of the steady clock
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name='control', daemon=True)

    @property
    def running(self) -> bool:
        """Whether the thread of the loop lives."""
        return self._thread.is_alive()

    @property
    def period(self) -> float | None:
        """Time [s] that a cycle may take, None where it waits for each joint state."""
        return self._period

    @property
    def state_age(self) -> float:
        """Time [s] since a valid joint state came, infinite before the first."""
        return self._states.age(time.monotonic())

    @property
    def latest_stamp(self) -> int:
        """Stamp [ns] of the newest valid joint state, -1 before the first."""
        latest = self._states.latest
        return -1 if latest is None else latest.nanoseconds

    @property
    def has_recent_state(self) -> bool:
        """Whether the controller could be activated."""
        return self._states.is_recent(time.monotonic())

    @property
    def foreign_states(self) -> str:
        """Who sends states of the robot besides its own source; empty where nobody does."""
        if not self._states.several(time.monotonic()):
            return ''
        names = ', '.join(self._source.publishers)
        return f'two sources send states of the joints; joint_states is published by {names}'

    def start(self) -> None:
        """Begin to take joint states."""
        self._thread.start()

    def close(self) -> None:
        """Stop commanding and end the thread."""
        self.deactivate()
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(timeout=2.0)

    def activate(self) -> None:
        """Hold the measured pose and begin to command.

        Raises ControlFault when there is no valid, recent joint state to start from, or the
        first cycle fails.
        """
        with self.lock:
            if foreign := self.foreign_states:
                raise ControlFault(StopEvent.FOREIGN_STATES.code, foreign)
            latest = self._states.recent(time.monotonic())
            self.controller.activate(latest.positions)
            self._states.begin()
            self._shutdown = None
            self._ended.clear()
            self.statistics = LoopStatistics()
            self.last_result = None
            self._origin = latest.nanoseconds
            self._answered = None
            self._activated = self._began = time.monotonic()
            self._overdue = 0.0
            self._fault = None
            self.commanding = True
        if self._period is None:
            self.cycle()  # a robot in lockstep waits for the answer to this very state
            if self._fault is not None:
                raise self._fault

    @property
    def stopping(self) -> bool:
        """Whether commands are about to end."""
        return self._shutdown is not None

    def shut_down(
        self,
        event: StopEvent = StopEvent.DEACTIVATION,
        message: str = 'controller deactivated during the motion',
    ) -> None:
        """Begin a stop of category 1; `on_end` is called when commands have ended.

        A deactivation is no fault; any other event is one.
        """
        with self.lock:
            if not self.commanding or self._shutdown is not None:
                return
            asked = event is StopEvent.DEACTIVATION
            reason = None if asked else ControlFault(event.code, message)
            self.controller.close(event, message)
            self._shutdown = Shutdown(self._times, reason)

    def deactivate(self) -> None:
        """Stop by category 1 and wait for the end; at once, by category 0, where no cycles run."""
        self.shut_down()
        if self.running and threading.current_thread() is not self._thread:
            stop_time = self.controller.options.stop_time
            self._ended.wait(stop_time + self._times.total + LONGEST_SHUTDOWN)
        self.power_off()

    def power_off(self) -> None:
        """Stop by category 0."""
        with self.lock:
            if self.commanding:
                self._power_off(None)

    def take_states(self) -> bool:
        """Take all joint states that have come; whether the newest is valid and new."""
        fresh = False
        while (message := self._source.take()) is not None:
            fresh = self.take_state(message, self._source.number)
        return fresh

    def take_state(self, message: JointState, number: int | None = None) -> bool:
        """Take one joint state; an invalid one ends all commands, that of others is left out.

        `number` is that of the message among those of its publisher, where it is known.
        """
        fresh, now = False, time.monotonic()
        try:
            fresh = self._states.take(message, number, now, self.commanding)
        except ControlFault as fault:
            self._fail(fault)
        if self.commanding and not self.stopping and (foreign := self.foreign_states):
            self.shut_down(StopEvent.FOREIGN_STATES, foreign)
        return fresh

    def watch(self) -> None:
        """Stop commanding when the joint states have stopped coming."""
        if not self.commanding:
            return
        if not self.running and self._thread.ident is not None:
            self._fail(ControlFault(ErrorCode.BAD_STATE, 'the control thread has ended'))
            return
        try:
            self._states.require(time.monotonic(), self._activated)
        except ControlFault as fault:
            self._fail(fault)

    def cycle(self, late: float = 0.0) -> None:
        """Compute and send one command, if the controller is active."""
        try:
            outcome = self._cycle(late)
        except ControlFault as fault:
            self._fail(fault)
            return
        except Exception as error:
            traceback.print_exc()
            self._fail(ControlFault(ErrorCode.KINEMATICS, f'{type(error).__name__}: {error}'))
            return
        if outcome is not None:
            self._on_outcome(outcome)
        if self._shutdown is not None and self._shutdown.phase is ShutdownPhase.DONE:
            self._release(self._shutdown.reason)

    def _cycle(self, late: float) -> Outcome | None:
        with self.lock:
            latest = self._states.latest
            if not self.commanding or latest is None:
                return None
            if latest.nanoseconds == self._answered:
                self._bridge(latest)
                return None
            start = time.perf_counter()
            now = (latest.nanoseconds - self._origin) * 1e-9
            result = self.controller.step(now, latest.positions, latest.efforts)
            compute_time = time.perf_counter() - start
            self._output.publish(result, latest.stamp, compute_time)
            self._answered = latest.nanoseconds
            self.last_result = result
            self.statistics.add(start, compute_time, late, bool(result.bounded.any()))
            if result.fault is not None and self._shutdown is None:
                self._shutdown = Shutdown(self._times, result.fault)
            self._advance(now)
        return result.outcome

    def _bridge(self, latest: Measurement) -> None:
        """Go on without a new state; the last command stays in lockstep and while one may come."""
        age = time.monotonic() - latest.arrival
        lost = self._period is not None and self._states.lost.missing(age)
        self.statistics.wait(lost)
        if self._period is None or not lost and age <= LONGEST_HOLD:
            self._output.repeat()
            return
        now = (latest.nanoseconds - self._origin) * 1e-9 + age
        if self._states.lost.too_many:
            most = self._states.lost.most
            message = f'no joint state for {age:.4f} s, {most} cycles are bridged'
            self.controller.stop(StopEvent.STATES_LOST, message, now)
        self._output.command(self.controller.bridge(now))

    def _advance(self, now: float) -> None:
        """Open the brakes once a force bears the robot, close them for a shut-down."""
        if self._shutdown is None:
            self._brakes.close(False)
            return
        closed = self._brakes.closed
        phase = self._shutdown.advance(now, self.controller.busy, closed)
        if phase is ShutdownPhase.BRAKES:
            self._brakes.close(True)

    def _release(self, reason: ControlFault | None) -> None:
        """End the commands of a robot at rest, which its brakes bear now."""
        with self.lock:
            if not self.commanding:
                return
            self.commanding = False
            self._fault = reason
            self.controller.deactivate()
            if self._brakes.commanded or self._output.bear_at_zero:
                _attempt(self._output.zero)
        self._tell(reason, None)

    @property
    def fault(self) -> ControlFault | None:
        """What ended the commands; None while commanding, or where nothing failed."""
        with self.lock:
            return None if self.commanding else self._fault

    def _fail(self, fault: ControlFault) -> None:
        with self.lock:
            if self.commanding:
                self._power_off(self._explained(fault))

    def _explained(self, fault: ControlFault) -> ControlFault:
        """Say of missed states that the loop itself stood still, where it did, or does."""
        if fault.code not in OF_STATES or self._period is None:
            return fault
        stood = max(self._overdue, time.monotonic() - self._began - self._period)
        if stood < STOOD_STILL:
            return fault
        late = f'the controller itself had stood still for {stood:.3f} s'
        cause = 'a busy machine, or a message that waited to be sent'
        return ControlFault(fault.code, f'{fault}; {late}: {cause}')

    def _power_off(self, fault: ControlFault | None) -> None:
        """Stop by category 0."""
        self.commanding = False
        self._fault = fault
        _attempt(self._brakes.close, True)  # first: a command may open those of a silent drive
        _attempt(self._output.zero)
        ended = self.controller.deactivate()
        outcome = ended
        if fault is not None:
            outcome = fault.outcome
            if ended is not None:
                outcome = Outcome(fault.code, str(fault), ended.statistics)
        self._tell(fault, outcome)

    def _tell(self, fault: ControlFault | None, outcome: Outcome | None) -> None:
        """Say that commands have ended."""
        self._shutdown = None
        if outcome is not None:
            _attempt(self._on_outcome, outcome)
        if fault is not None:
            _attempt(self._on_fault, fault)
        self._ended.set()
        _attempt(self._on_end)

    def _run(self) -> None:
        deadline = time.monotonic()
        while not self._stop.is_set():
            try:
                self._on_turn()
                deadline = self._turn(deadline)
            except Exception as error:
                self._survive(error)
                deadline = time.monotonic()

    def _survive(self, error: Exception) -> None:
        """Stop commands for an error of the loop itself; the thread goes on."""
        fault = ControlFault(ErrorCode.BAD_STATE, f'{type(error).__name__}: {error}')
        if str(self._states.bad) != str(fault):  # once, if it stays
            traceback.print_exception(error)
        self._states.bad = fault
        self._began, self._overdue = time.monotonic(), 0.0  # the error is the reason
        self._fail(fault)
        self._stop.wait(LONGEST_WAIT)

    def _turn(self, deadline: float) -> float:
        """Take what has come and run one cycle, if it is time; returns the deadline met."""
        if self._period is None or not self.commanding:
            if self._source.wait(LONGEST_WAIT) and self.take_states():
                if self._period is None:
                    self.cycle()
            self.watch()
            return time.monotonic()
        deadline = self._sleep_until(deadline + self._period)
        self._began = time.monotonic()
        self.take_states()
        self.watch()
        self.cycle(time.monotonic() - deadline)
        return deadline

    def _sleep_until(self, deadline: float) -> float:
        """Sleep; returns the deadline, moved on by whole periods where they were missed."""
        assert self._period is not None
        now = time.monotonic()
        self._overdue = max(now - deadline, 0.0)
        if now < deadline:
            time.sleep(deadline - now)
        else:
            missed = int((now - deadline) / self._period)
            self.statistics.miss(missed)
            deadline += missed * self._period
        return deadline


def _attempt(action: Callable[..., None], *arguments: Any) -> None:
    """Do what must not keep the rest of a stop from happening."""
    try:
        action(*arguments)
    except Exception:
        traceback.print_exc()
