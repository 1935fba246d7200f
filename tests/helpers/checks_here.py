"""Checks of goals in the process of a test: one of their own costs seconds, and the graph runs on.

In lockstep a graph takes a whole core while it waits for that process.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pkm_control.nodes.trajectory_controller import TrajectoryControllerNode
from pkm_dynamics import ClosedChainModel


class Here:
    """In place of `WorkerProcess`."""

    def __init__(self, model: ClosedChainModel) -> None:
        self.description, self._model = model.description, model

    def call(self, longest: float, function: Callable[..., Any], *arguments: Any) -> Any:
        return function(self._model, *arguments)

    def start(self) -> None:
        pass

    close = abandon = start


def check_here(controller: TrajectoryControllerNode) -> None:
    """Let a configured controller check its goals here."""
    follow = controller._follow
    follow._worker.close()
    follow._worker = Here(controller.loop.controller.model)
