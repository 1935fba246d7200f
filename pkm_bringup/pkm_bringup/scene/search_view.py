"""A search for an excitation in a browser: the best motion so far, and the paths of the others."""

from __future__ import annotations

import threading
from queue import Empty, SimpleQueue

import numpy as np

from pkm_bringup.scene.moving import scene_at_home, scene_of_trajectory
from pkm_bringup.scene.scene import Scene
from pkm_bringup.scene.served import SceneServer
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.array_types import Floats
from pkm_dynamics.trajectories import FourierTrajectory


class SearchView:
    """Shows motions as `found` gets them; to be used as a context manager.

    The server runs in a thread of its own, as the search leaves no time to it. ViewError as of
    `SceneServer`.
    """

    def __init__(self, model: ClosedChainModel, port: int) -> None:
        self._model = model
        first = scene_at_home(model)
        self._bodies = first.bodies
        self.server = SceneServer(first, port)
        self._best = np.inf
        self._paths: list[Floats] = []  # of the platform, of all motions
        self._coming: SimpleQueue[tuple[Scene | None, list[Floats]]] = SimpleQueue()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def __enter__(self) -> SearchView:
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        self.server.close()

    def found(self, trajectory: FourierTrajectory, criterion: float) -> None:
        """Show the path of a motion, and the robot along it where it is the best so far."""
        count = len(self._paths) + 1
        title = f'{self._model.description.name}: motion {count}, criterion {criterion:.6g}'
        scene = scene_of_trajectory(self._model, trajectory, title, bodies=self._bodies)
        self._paths.append(scene.path)
        best = scene if criterion < self._best else None
        self._best = min(self._best, criterion)
        self._coming.put((best, list(self._paths)))

    def wait(self) -> None:
        """Go on showing the best motion until Ctrl-C."""
        try:
            self._ended.wait()
        except KeyboardInterrupt:
            return

    def _serve(self) -> None:
        self.server.run(self._ended.is_set, self._take)

    def _take(self) -> None:
        """Take what was found since the step before."""
        try:
            while True:
                best, paths = self._coming.get_nowait()
                self.server.add_paths(paths)
                if best is not None:
                    self.server.replace(best)
                    self.server.say([best.title])
        except Empty:
            return
