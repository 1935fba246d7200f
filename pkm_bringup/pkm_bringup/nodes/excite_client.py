"""A client of the `excite` action that waits, reports and can be interrupted."""

from __future__ import annotations

import time
from collections.abc import Callable
from math import inf
from typing import Any

from pkm_bringup.nodes.graph_client import GraphClient, GraphError
from pkm_bringup.views.console import print_note
from pkm_dynamics.nodes.trajectory_messages import to_message
from pkm_dynamics.trajectories import Trajectory
from pkm_msgs.action import Excite

STOP_TIMEOUT = 30.0  # [s] of a canceled run until the server has ended it
GONE = 3.0  # [s] of absence after which a server does not come back


def excite(
    trajectory: Trajectory,
    periods: int,
    ramp_time: float,
    bag: str,
    server: str,
    timeout: float,
    update: Callable[[str, float | None], None],
) -> dict[str, Any]:
    """Run and record a trajectory; return the bag and what was checked in it.

    `server` is the node, `bag` the folder that it creates, `timeout` [s] the longest wait for it.
    Raises as `run_excitation`.
    """
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

    Raises GraphError where there is no server, or with the server's error code and message.
    """
    action = client.action(Excite, f'{server}/excite')
    if not client.wait(action.server_is_ready, timeout):
        raise GraphError(f"no node serves the action '{server}/excite' after {timeout:g} s")
    sent = action.send_goal_async(
        goal, feedback_callback=lambda message: on_feedback(message.feedback)
    )
    ended: Any = None
    try:
        if not client.wait(sent.done, timeout):
            raise GraphError(
                f"'{server}' has not answered the goal within {timeout:g} s; it may still begin"
            )
        if not sent.result().accepted:
            raise GraphError(f"'{server}' did not accept the goal")
        ended = sent.result().get_result_async()
        gone = _Gone(action)
        if not client.wait(lambda: ended.done() or gone.for_good(), inf) or not ended.done():
            raise GraphError(
                f"'{server}' is gone before the run has ended: look at its log and at the robot"
            )
    except KeyboardInterrupt:
        # The goal may be under way even if its acceptance has not been heard of yet.
        print_note('canceling: the robot comes to rest on its path')
        if client.wait(sent.done, timeout) and sent.result().accepted:
            ended = ended or sent.result().get_result_async()
            sent.result().cancel_goal_async()
            print_note(_stopped(server, ended, client.wait(ended.done, STOP_TIMEOUT)))
        raise
    result: Excite.Result = ended.result().result
    if result.error_code:
        code, kind = result.error_code, type(result)
        names = [name for name in dir(type(kind)) if name.isupper()]
        name = next((name for name in names if getattr(kind, name) == code), 'error')
        raise GraphError(f'{name} ({code}): {result.error_msg}')
    return result


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
