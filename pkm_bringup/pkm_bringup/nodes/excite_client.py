"""A client of the `excite` action that waits, reports and can be interrupted."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

from rclpy.task import Future

from pkm_bringup.nodes.graph_client import GraphClient, GraphError
from pkm_bringup.nodes.lifeline import Lifeline
from pkm_bringup.views.console import print_note
from pkm_dynamics.nodes.trajectory_messages import to_message
from pkm_dynamics.trajectories import Trajectory
from pkm_msgs.action import Excite

STOP_TIMEOUT = 30.0  # [s] of a canceled run until the server has ended it


def excite(
    trajectory: Trajectory,
    periods: int,
    ramp_time: float,
    bag: str,
    server: str,
    timeout: float,
    update: Callable[[str, float | None], None],
) -> dict[str, Any]:
    """Run and record a trajectory by `run_excitation`; return the bag and what was checked."""
    goal = Excite.Goal(
        trajectory=to_message(trajectory), periods=periods, ramp_time=ramp_time, bag=bag
    )
    with GraphClient('pkm_excite') as client:
        update(f'waiting for {server}', None)
        result = run_excitation(
            client, goal, server, timeout, lambda feedback: update(*_shown(feedback))
        )
    quality = result.quality
    fields = quality.get_fields_and_field_types()
    return {'bag': result.bag, **{name: getattr(quality, name) for name in fields}}


def run_excitation(
    client: GraphClient,
    goal: Excite.Goal,
    server: str,
    timeout: float,
    on_feedback: Callable[[Excite.Feedback], None],
) -> Excite.Result:
    """Run a goal to its end; an interrupt cancels it and waits for the robot to rest.

    The server hears that this client lives, and ends the run where it does not. Raises GraphError
    where there is no server, or it is gone, or with the server's error code and message.
    """
    action = client.action(Excite, f'{server}/excite')
    if not client.wait(action.server_is_ready, timeout):
        raise GraphError(f"no node serves the action '{server}/excite' after {timeout:g} s")
    with Lifeline(client, server, action.server_is_ready) as line:
        goal.heartbeat_timeout = line.heartbeat_timeout

        def told(message: Any) -> None:
            line.hear()
            on_feedback(message.feedback)

        sent = action.send_goal_async(goal, feedback_callback=told, goal_uuid=line.goal)
        return _followed(client, server, sent, line, timeout)


def _followed(
    client: GraphClient, server: str, sent: Future, line: Lifeline, timeout: float
) -> Excite.Result:
    """Wait for the result of a goal that was sent."""
    ended: Any = None
    try:
        if not client.wait(lambda: sent.done() or line.gone(), timeout):
            raise GraphError(
                f"'{server}' has not answered the goal within {timeout:g} s; it may still begin"
            )
        if not sent.done():
            raise GraphError(f"'{server}' is gone before it has answered the goal")
        if not sent.result().accepted:
            raise GraphError(f"'{server}' did not accept the goal")
        ended = sent.result().get_result_async()
        if not client.wait(lambda: ended.done() or line.gone(), inf) or not ended.done():
            raise GraphError(
                f"'{server}' is gone before the run has ended: look at its log and at the robot"
            )
    except KeyboardInterrupt:
        # The goal may be under way even if its acceptance has not been heard of yet.
        print_note('canceling: the robot comes to rest on its path')
        if client.wait(lambda: sent.done() or line.gone(), timeout) and sent.done():
            if sent.result().accepted:
                ended = ended or sent.result().get_result_async()
                sent.result().cancel_goal_async()
                client.wait(lambda: ended.done() or line.gone(), STOP_TIMEOUT)
                print_note(_stopped(server, ended))
        raise
    result: Excite.Result = ended.result().result
    if result.error_code:
        code, kind = result.error_code, type(result)
        names = [name for name in dir(type(kind)) if name.isupper()]
        name = next((name for name in names if getattr(kind, name) == code), 'error')
        raise GraphError(f'{name} ({code}): {result.error_msg}')
    return result


def _stopped(server: str, ended: Any) -> str:
    if not ended.done():
        return f"'{server}' is gone or silent and has not confirmed the stop: look at the robot"
    result = ended.result().result
    return f"'{server}' has stopped: {result.error_msg or 'canceled'}"


def _shown(feedback: Any) -> tuple[str, float]:
    """Return phase, detail and time left as one text, and the fraction done."""
    text = ': '.join(part for part in (feedback.phase, feedback.detail) if part)
    if feedback.time_left > 0.0:
        text += f', {feedback.time_left:.0f} s left'
    return text, float(feedback.fraction)
