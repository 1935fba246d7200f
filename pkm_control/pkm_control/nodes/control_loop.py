"""Where the control cycles run: in a thread at absolute deadlines, or one per joint state."""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from builtin_interfaces.msg import Time
from numpy.typing import NDArray
from sensor_msgs.msg import JointState

from pkm_control.controller import ControlFault, StepResult, TrajectoryController
from pkm_control.loop_statistics import LoopStatistics
from pkm_control.nodes.joint_state_reader import JointStateReader
from pkm_control.outcome import ErrorCode, Outcome

Array = NDArray[np.float64]


class Output(Protocol):
    """Where commands go; see `ControllerPublishers`."""

    def publish(self, result: StepResult, stamp: Time, compute_time: float) -> None:
        """Publish a new command."""

    def repeat(self) -> None:
        """Publish the last command again."""

    def zero(self) -> None:
        """Publish zero forces."""


@dataclass(frozen=True)
class _Measurement:
    stamp: Time
    nanoseconds: int
    positions: Array
    arrival: float


class ControlLoop:
    """Feeds measured states to the controller and its commands to the output.

    The time of the controller is that of the states' stamps; the watchdog runs on the
    machine's steady clock.

    Parameters
    ----------
    controller : TrajectoryController
    reader : JointStateReader
    output : Output
    rate : float or None
        Cycles a second [Hz] in a thread of its own; None for one cycle per state.
    state_timeout : float [s]
        Commands stop when no state has come for this long.
    on_fault : callable
        Called, in whatever thread, after commands have stopped for a reason.
    on_outcome : callable
        Called, in whatever thread, when a motion has ended.
    """

    def __init__(
        self,
        controller: TrajectoryController,
        reader: JointStateReader,
        output: Output,
        rate: float | None,
        state_timeout: float,
        on_fault: Callable[[ControlFault], None],
        on_outcome: Callable[[Outcome], None],
    ) -> None:
        self.controller = controller
        self.statistics = LoopStatistics()
        self.lock = threading.RLock()
        self.last_result: StepResult | None = None
        self.last_fault: ControlFault | None = None
        self.commanding = False
        self._reader = reader
        self._output = output
        self._rate = rate
        self._timeout = state_timeout
        self._on_fault = on_fault
        self._on_outcome = on_outcome
        self._latest: _Measurement | None = None
        self._bad: ControlFault | None = None
        self._origin = 0
        self._answered: int | None = None
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def state_age(self) -> float:
        """Time [s] since a valid joint state came, infinite before the first."""
        latest = self._latest
        return float('inf') if latest is None else time.monotonic() - latest.arrival

    def activate(self) -> None:
        """Hold the measured pose and begin to command.

        Raises
        ------
        ControlFault
            When there is no valid, recent joint state to start from.
        """
        with self.lock:
            if self._bad is not None:
                raise self._bad
            latest = self._latest
            if latest is None or self.state_age > self._timeout:
                raise ControlFault(
                    ErrorCode.STATE_TIMEOUT, f'no joint state within {self._timeout:g} s'
                )
            self.controller.activate(latest.positions)
            self.statistics = LoopStatistics()
            self.last_fault = self.last_result = None
            self._origin = latest.nanoseconds
            self._answered = None
            self.commanding = True
        self._stop.clear()
        if self._rate is not None:
            self._thread = threading.Thread(target=self._run, name='control', daemon=True)
            self._thread.start()
        else:
            self.cycle()

    def deactivate(self) -> None:
        """Send zero once and stop commanding; a motion under way ends as DEACTIVATED."""
        with self.lock:
            outcome = self.controller.deactivate()
            if self.commanding:
                self.commanding = False
                self._output.zero()
        self._stop.set()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout=2.0)
            self._thread = None
        if outcome is not None:
            self._on_outcome(outcome)

    def on_state(self, message: JointState) -> None:
        """Take a joint state; in lockstep answer it."""
        try:
            positions = self._reader.read(message)
        except ControlFault as fault:
            self._bad = fault
            self._fail(fault)
            return
        self._bad = None
        stamp = message.header.stamp
        nanoseconds = stamp.sec * 1_000_000_000 + stamp.nanosec
        self._latest = _Measurement(stamp, nanoseconds, positions, time.monotonic())
        if self._rate is None:
            self.cycle()

    def watch(self) -> None:
        """Stop commanding when the joint states have stopped coming."""
        if self.commanding and self.state_age > self._timeout:
            self._fail(
                ControlFault(
                    ErrorCode.STATE_TIMEOUT,
                    f'no joint state for {self.state_age:.3f} s (limit {self._timeout:g} s)',
                )
            )

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

    def _cycle(self, late: float) -> Outcome | None:
        with self.lock:
            latest = self._latest
            if not self.commanding or latest is None:
                return None
            if latest.nanoseconds == self._answered:
                self.statistics.repeated += 1
                self._output.repeat()
                return None
            start = time.perf_counter()
            result = self.controller.step(
                (latest.nanoseconds - self._origin) * 1e-9, latest.positions
            )
            compute_time = time.perf_counter() - start
            self._output.publish(result, latest.stamp, compute_time)
            self._answered = latest.nanoseconds
            self.last_result = result
            self.statistics.add(start, compute_time, late)
        return result.outcome

    def _fail(self, fault: ControlFault) -> None:
        with self.lock:
            if not self.commanding:
                return
            self.commanding = False
            self._output.zero()
            outcome = fault.outcome
            ended = self.controller.deactivate()
            if ended is not None:
                outcome = Outcome(fault.code, str(fault), ended.statistics)
            self.last_fault = fault
        self._stop.set()
        if outcome is not None:
            self._on_outcome(outcome)
        self._on_fault(fault)

    def _run(self) -> None:
        assert self._rate is not None
        period = 1.0 / self._rate
        deadline = time.monotonic()
        while not self._stop.is_set():
            deadline += period
            now = time.monotonic()
            if now < deadline:
                time.sleep(deadline - now)
            elif now > deadline + period:
                missed = int((now - deadline) / period)
                self.statistics.missed += missed
                deadline += missed * period
            late = time.monotonic() - deadline
            self.watch()
            self.cycle(max(late, 0.0))
