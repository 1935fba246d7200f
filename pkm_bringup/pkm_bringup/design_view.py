"""What a search shows while it runs: a curve on a terminal, lines elsewhere."""

from __future__ import annotations

import math
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from pkm_bringup.console import print_note, progress

Tell = Callable[[str, float | None, float], None]

WIDTH = 56  # columns of the curve
HEIGHT = 8  # rows
BLOCKS = ' ▁▂▃▄▅▆▇█'


@contextmanager
def design_view(title: str) -> Iterator[Tell]:
    """Show a search while the block runs.

    Yields a function of a text, the fraction done (None where unknown) and the seconds
    left (nan where unknown), as `design_excitation` calls it. The number at the end of a
    text is taken as the criterion; a terminal shows its best value over time, anything
    else gets lines.
    """
    if sys.stderr.isatty():
        with _live(title) as tell:
            yield tell
        return
    with progress(title) as update:

        def lines(text: str, fraction: float | None = None, left: float = math.nan) -> None:
            update(text if math.isnan(left) else f'{text}, {left:.0f} s left,', fraction)

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


class SearchHistory:
    """The best criterion of a search over time."""

    def __init__(self) -> None:
        self.begin = time.monotonic()
        self.text = ''
        self.fraction: float | None = None
        self.left = math.nan
        self.best: list[tuple[float, float]] = []  # [s], criterion

    def update(
        self, text: str, fraction: float | None = None, seconds_left: float = math.nan
    ) -> None:
        """Remember what was told."""
        self.text, self.fraction, self.left = text, fraction, seconds_left
        try:
            value = float(text.rsplit(' ', 1)[-1])
        except ValueError:
            return
        if ',' in text and math.isfinite(value):
            lowest = min(value, self.best[-1][1]) if self.best else value
            self.best.append((self.elapsed, lowest))

    @property
    def elapsed(self) -> float:
        """Time since the beginning [s]."""
        return time.monotonic() - self.begin

    def curve(self, width: int = WIDTH, height: int = HEIGHT) -> list[str]:
        """Return rows of text that show the best criterion over time, the newest at the right."""
        if not self.best:
            return []
        end = max(self.elapsed, 1e-9)
        columns: list[float] = []
        index = 0
        for column in range(width):
            until = end * (column + 1) / width
            while index + 1 < len(self.best) and self.best[index + 1][0] <= until:
                index += 1
            shown = self.best[index][1] if self.best[index][0] <= until else math.nan
            columns.append(shown)
        known = [value for value in columns if not math.isnan(value)] or [self.best[-1][1]]
        low, high = min(known), max(known)
        span = max(high - low, 1e-12)
        eighths = [
            0 if math.isnan(value) else 1 + round((8 * height - 1) * (value - low) / span)
            for value in columns
        ]
        rows = []
        for row in reversed(range(height)):
            cells = [BLOCKS[min(max(level - 8 * row, 0), 8)] for level in eighths]
            rows.append(''.join(cells))
        rows[0] += f' {high:.6g}'
        rows[-1] += f' {low:.6g}'
        return rows


@contextmanager
def _live(title: str) -> Iterator[Tell]:
    from rich.console import Console, Group
    from rich.live import Live
    from rich.progress_bar import ProgressBar
    from rich.text import Text

    history = SearchHistory()

    def picture() -> Group:
        left = '' if math.isnan(history.left) else f', {history.left:.0f} s left'
        done = '' if history.fraction is None else f', {100 * history.fraction:.0f} %'
        head = Text(f'{title}: {history.text}', style='bold', no_wrap=True, overflow='ellipsis')
        bar = ProgressBar(total=1.0, completed=history.fraction or 0.0, width=WIDTH)
        clock = Text(f'{history.elapsed:.0f} s{done}{left}')
        curve = Text('\n'.join(history.curve()), style='cyan', no_wrap=True)
        return Group(head, curve, bar, clock)

    console = Console(stderr=True)
    with Live(get_renderable=picture, console=console, refresh_per_second=5, transient=True):
        yield history.update
