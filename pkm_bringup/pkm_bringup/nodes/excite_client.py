"""A client of the `excite` action that waits, reports and can be interrupted."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import rclpy
from rclpy.action import ActionClient
from rclpy.executors import SingleThreadedExecutor
from rclpy.signals import SignalHandlerOptions

from pkm_bringup.console import print_note
from pkm_bringup.processes import ProcessError
from pkm_dynamics.nodes.trajectory_messages import to_message
from pkm_dynamics.trajectories import Trajectory
from pkm_msgs.action import Excite

SPIN = 0.05  # [s]


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

    def wait(done: Callable[[], bool], limit: float = float('inf')) -> bool:
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
        if not wait(sent.done, timeout) or not sent.result().accepted:
            raise ExciteError(f"'{server}' did not accept the goal")
        ended = sent.result().get_result_async()
        try:
            wait(ended.done)
        except KeyboardInterrupt:
            update('canceling: the robot comes to rest on its path', None)
            sent.result().cancel_goal_async()
            if wait(ended.done, timeout):
                result = ended.result().result
                print_note(f"'{server}' has stopped: {result.error_msg or 'canceled'}")
            else:
                print_note(f"'{server}' has not confirmed the stop within {timeout:g} s")
            raise
        return _outcome(ended.result().result)
    finally:
        executor.shutdown(timeout_sec=1.0)
        node.destroy_node()
        rclpy.try_shutdown()


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
