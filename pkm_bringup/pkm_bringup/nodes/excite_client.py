"""A client of the `excite` action that waits, reports and can be interrupted."""

from __future__ import annotations

import time
from collections.abc import Callable
from math import inf
from typing import Any

import rclpy
from rclpy.action import ActionClient
from rclpy.executors import SingleThreadedExecutor
from rclpy.signals import SignalHandlerOptions

from pkm_bringup.processes import ProcessError
from pkm_bringup.views.console import print_note
from pkm_dynamics.nodes.trajectory_messages import to_message
from pkm_dynamics.trajectories import Trajectory
from pkm_msgs.action import Excite

SPIN = 0.05  # [s]
STOP_TIMEOUT = 30.0  # [s] of a canceled run until the server has ended it
GONE = 3.0  # [s] of absence after which a server does not come back


class ExciteError(ProcessError):
    """The excitation server is not there or the run failed; in the server's words."""


def excite(
    trajectory: Trajectory,
    periods: int,
    ramp_time: float,
    bag: str,
    server: str,
    timeout: float,
    update: Callable[[str, float | None], None],
) -> dict[str, Any]:
    """Run and record a trajectory; an interrupt cancels it and waits for the robot to rest.

    Parameters
    ----------
    ramp_time : float
        From rest to full speed along the path [s].
    bag : str
        Folder that the server creates.
    server : str
        Node that serves `excite`.
    timeout : float
        Longest wait for the server [s].
    update : callable
        Gets phase and fraction.

    Returns
    -------
    dict
        `bag`, and what was checked in the recording.

    Raises
    ------
    ExciteError
        No server, or the server's error code and message.
    """
    rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
    node = rclpy.create_node('pkm_excite')
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    client = ActionClient(node, Excite, f'{server}/excite')

    def wait(done: Callable[[], bool], limit: float) -> bool:
        end = time.monotonic() + limit
        while not done() and time.monotonic() < end:
            executor.spin_once(timeout_sec=SPIN)
        return done()

    try:
        update(f'waiting for {server}', None)
        if not wait(client.server_is_ready, timeout):
            raise ExciteError(f"no node serves the action '{server}/excite' after {timeout:g} s")
        goal = Excite.Goal(
            trajectory=to_message(trajectory), periods=periods, ramp_time=ramp_time, bag=bag
        )
        sent = client.send_goal_async(
            goal, feedback_callback=lambda message: update(*_shown(message.feedback))
        )
        ended: Any = None
        try:
            if not wait(sent.done, timeout):
                raise ExciteError(
                    f"'{server}' has not answered the goal within {timeout:g} s; it may still begin"
                )
            if not sent.result().accepted:
                raise ExciteError(f"'{server}' did not accept the goal")
            ended = sent.result().get_result_async()
            gone = _Gone(client)
            if not wait(lambda: ended.done() or gone.for_good(), inf) or not ended.done():
                raise ExciteError(
                    f"'{server}' is gone before the run has ended: look at its log and at the robot"
                )
        except KeyboardInterrupt:
            # The goal may be under way even if its acceptance has not been heard of yet.
            update('canceling: the robot comes to rest on its path', None)
            if wait(sent.done, timeout) and sent.result().accepted:
                ended = ended or sent.result().get_result_async()
                sent.result().cancel_goal_async()
                print_note(_stopped(server, ended, wait(ended.done, STOP_TIMEOUT)))
            raise
        return _outcome(ended.result().result)
    finally:
        executor.shutdown(timeout_sec=1.0)
        node.destroy_node()
        rclpy.try_shutdown()


class _Gone:
    """Tells when the server of an action has been absent for long."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._seen = time.monotonic()

    def for_good(self) -> bool:
        """Whether the server has not been there for `GONE` seconds."""
        if self._client.server_is_ready():
            self._seen = time.monotonic()
        return time.monotonic() - self._seen > GONE


def _stopped(server: str, ended: Any, confirmed: bool) -> str:
    if not confirmed:
        return f"'{server}' has not confirmed the stop within {STOP_TIMEOUT:g} s: look at the robot"
    result = ended.result().result
    return f"'{server}' has stopped: {result.error_msg or 'canceled'}"


def _shown(feedback: Any) -> tuple[str, float]:
    """Return phase, detail and time left as one text, and the fraction done."""
    text = ': '.join(part for part in (feedback.phase, feedback.detail) if part)
    if feedback.time_left > 0.0:
        text += f', {feedback.time_left:.0f} s left'
    return text, float(feedback.fraction)


def _outcome(result: Any) -> dict[str, Any]:
    if result.error_code:
        code, kind = result.error_code, type(result)
        names = [name for name in dir(type(kind)) if name.isupper()]
        name = next((name for name in names if getattr(kind, name) == code), 'error')
        raise ExciteError(f'{name} ({code}): {result.error_msg}')
    quality = result.quality
    return {
        'bag': result.bag,
        'duration': quality.duration,
        'periods': quality.periods,
        'samples': quality.samples,
        'rate': quality.rate,
        'gaps': quality.gaps,
        'longest_gap': quality.longest_gap,
        'saturated_fraction': quality.saturated_fraction,
        'tracking_rms': list(quality.tracking_rms),
        'tracking_max': list(quality.tracking_max),
        'warnings': list(quality.warnings),
        'usable': quality.usable,
    }
