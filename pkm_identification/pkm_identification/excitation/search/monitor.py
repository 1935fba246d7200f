"""Progress, time left and cancelling of a search."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np

Progress = Callable[[str, float, float], None]
Cancel = Callable[[], bool] | threading.Event

TELLING = 0.02  # fraction from which the time left can be told
SEARCH = 0.95  # share of the search; the rest is the check of the result


class Monitor:
    """Collects how far all starts are and tells it; knows whether to stop.

    `progress` gets a text with the names of the criteria, the fraction done and the seconds
    left (nan while unknown).
    """

    def __init__(
        self,
        count: int,
        criteria: Mapping[str, float],
        progress: Progress | None,
        cancel: Cancel | None,
    ) -> None:
        self._count, self._progress, self._cancel = count, progress, cancel
        self._what = ' + '.join(criteria)
        self._fractions: dict[int, float] = {}
        self._best = np.inf
        self._begin = time.monotonic()
        self.cancelled = False

    def begin(self, indices: Sequence[int]) -> None:
        """Note which starts come next."""
        self._fractions.update(dict.fromkeys(indices, 0.0))
        self._tell(np.inf)

    def watch(self, index: int) -> Callable[[float, float], bool]:
        """Return what one start calls with its fraction and criterion; true: stop."""
        return lambda fraction, value: self.update({index: (fraction, value)})

    def update(self, states: Mapping[int, tuple[float, float]]) -> bool:
        """Take fractions and criteria of running starts; return whether to stop."""
        for index, (fraction, _) in states.items():
            self._fractions[index] = max(self._fractions.get(index, 0.0), fraction)
        self._tell(min((value for _, value in states.values()), default=np.inf))
        if self._cancel is not None and not self.cancelled:
            asked = self._cancel.is_set if isinstance(self._cancel, threading.Event) else None
            self.cancelled = bool(asked() if asked else self._cancel())  # type: ignore[operator]
        return self.cancelled

    def done(self, index: int, objective: float) -> None:
        """Note that a start has ended."""
        self._best = min(self._best, objective)
        self.update({index: (1.0, objective)})

    def _tell(self, value: float) -> None:
        if self._progress is None:
            return
        fraction = sum(self._fractions.values()) / max(self._count, 1)
        elapsed = time.monotonic() - self._begin
        left = elapsed * (1.0 - fraction) / fraction if fraction > TELLING else float('nan')
        ended = sum(f >= 1.0 for f in self._fractions.values())
        shown = min(value, self._best)
        text = f'{ended} of {self._count} starts'
        if np.isfinite(shown):
            text += f', {self._what} {shown:.6g}'
        self._progress(text, SEARCH * fraction, left)
