"""What a search shows while it runs: a curve on a terminal, lines elsewhere."""

from __future__ import annotations

import math
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from pkm_bringup.views.console import print_note, progress

WIDTH = 56  # columns of the curve
HEIGHT = 8  # rows
LABEL = 24  # columns to the right of the curve
BLOCKS = ' ▁▂▃▄▅▆▇█'


class Tell(Protocol):
    """What a search calls."""

    def __call__(
        self,
        text: str,
        fraction: float | None = None,
        seconds_left: float = math.nan,
        criterion: float = math.nan,
    ) -> None:
        """Take what is done and how far; None and nan: unknown."""


@contextmanager
def design_view(title: str) -> Iterator[Tell]:
    """Show a search while the block runs.

    Yields a function as `design_excitation` calls it. A terminal shows the best criterion over
    time, anything else gets lines.
    """
    if sys.stderr.isatty():
        with _live(title) as tell:
            yield tell
        return
    with progress(title) as update:

        def lines(
            text: str,
            fraction: float | None = None,
            seconds_left: float = math.nan,
            criterion: float = math.nan,
        ) -> None:
            text = _with_criterion(text, criterion)
            left = '' if math.isnan(seconds_left) else f', {seconds_left:.0f} s left,'
            update(f'{text}{left}', fraction)

        yield lines


@contextmanager
def stop_on_interrupt(what: str) -> Iterator[threading.Event]:
    """Yield an event that the first Ctrl-C sets; the second one interrupts as usual."""
    event = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield event
        return

    def handle(number: int, frame: Any) -> None:
        if event.is_set():
            raise KeyboardInterrupt
        event.set()
        print_note(f'stopping: {what} (once more: stop at once)')

    previous = signal.signal(signal.SIGINT, handle)
    try:
        yield event
    finally:
        signal.signal(signal.SIGINT, previous)


def _with_criterion(text: str, criterion: float) -> str:
    return text if math.isnan(criterion) else f'{text}, criterion {criterion:.6g}'


class SearchHistory:
    """The best criterion of a search over time."""

    def __init__(self) -> None:
        self.begin = time.monotonic()
        self.text = ''
        self.fraction: float | None = None
        self.left = math.nan
        self.best: list[tuple[float, float]] = []  # [s], criterion

    def update(
        self,
        text: str,
        fraction: float | None = None,
        seconds_left: float = math.nan,
        criterion: float = math.nan,
    ) -> None:
        """Remember what was told."""
        self.text = _with_criterion(text, criterion)
        self.fraction, self.left = fraction, seconds_left
        if not math.isnan(criterion):
            lowest = min(criterion, self.best[-1][1]) if self.best else criterion
            self.best.append((self.elapsed, lowest))

    @property
    def elapsed(self) -> float:
        """Time since the beginning [s]."""
        return time.monotonic() - self.begin

    @property
    def clock(self) -> str:
        """Time that has passed, share that is done, time left; as far as known."""
        done = '' if self.fraction is None else f', {100 * self.fraction:.0f} %'
        left = '' if math.isnan(self.left) else f', {self.left:.0f} s left'
        return f'{self.elapsed:.0f} s{done}{left}'

    def curve(self, width: int = WIDTH, height: int = HEIGHT) -> list[str]:
        """Return rows of text: the best criterion over time, and its first and last second."""
        if not self.best:
            return []
        begin = self.best[0][0]
        end = max(self.elapsed, begin + 1e-9)
        columns: list[float] = []
        index = 0
        for column in range(width):
            until = begin + (end - begin) * (column + 1) / width
            while index + 1 < len(self.best) and self.best[index + 1][0] <= until:
                index += 1
            columns.append(self.best[index][1])
        low, high = self.best[-1][1], columns[0]
        span = max(high - low, 1e-12)
        eighths = [1 + round((8 * height - 1) * (value - low) / span) for value in columns]
        rows = []
        for row in reversed(range(height)):
            cells = [BLOCKS[min(max(level - 8 * row, 0), 8)] for level in eighths]
            rows.append(''.join(cells))
        rows[0] += f' {high:.6g}'
        rows[-1] += f' {low:.6g}'
        first, last = f'{begin:.0f} s', f'{end:.0f} s'
        return [*rows, f'{first}{last:>{max(width - len(first), 0)}}']


@contextmanager
def _live(title: str) -> Iterator[Tell]:
    from rich.console import Console, Group
    from rich.live import Live
    from rich.progress_bar import ProgressBar
    from rich.text import Text

    history = SearchHistory()

    console = Console(stderr=True)

    def picture() -> Group:
        width = max(min(WIDTH, console.width - LABEL), 10)
        head = Text(f'{title}: {history.text}', style='bold', no_wrap=True, overflow='ellipsis')
        bar = ProgressBar(total=1.0, completed=history.fraction or 0.0, width=width)
        clock = Text(f' {history.clock}', no_wrap=True, overflow='ellipsis')
        if not history.best:
            return Group(head, bar, clock)
        caption = Text('best so far, for a fixed measuring time', no_wrap=True, overflow='ellipsis')
        curve = Text('\n'.join(history.curve(width)), style='cyan', no_wrap=True, overflow='crop')
        return Group(head, caption, curve, bar, clock)

    with Live(get_renderable=picture, console=console, refresh_per_second=5, transient=True):
        yield history.update
