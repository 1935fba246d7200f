"""Who asks for a stop on a topic with several publishers, and has not taken it back."""

from __future__ import annotations

from dataclasses import dataclass

# [s] A publisher that repeats its word was heard within this time.
MEMORY = 1.0
MOST = 100  # publishers that are remembered though they ask for nothing


@dataclass
class _Source:
    number: int | None  # of its last message
    asking: bool  # its last word
    heard: float  # [s]
    doubtful: bool = False  # whether it may have been this one that took its request back


class StopRequests:
    """Keeps the last word of each publisher.

    A message does not name its publisher, but has its number among the messages of that one: it
    goes on where the number before was heard, else it is of a new publisher. Where two could go
    on with the same number, one that asks for nothing is taken: a request may stay too long then.
    It never goes too soon, where publishers are heard from their first message on. Without numbers
    (not every middleware has them) all messages are of one publisher.
    """

    def __init__(self) -> None:
        self._sources: list[_Source] = []

    def hear(self, number: int | None, asking: bool, now: float) -> None:
        """Take a message with its number, at `now` [s]."""
        before = None if number is None else number - 1
        found = [each for each in self._sources if each.number == before]
        source = min(found, key=lambda each: each.asking, default=None)
        for each in found:
            each.doubtful = each.doubtful or not asking
        others = [each for each in self._sources if each is not source]
        idle = [each for each in others if not each.asking]
        forgotten = idle[: max(0, len(idle) - MOST)]
        kept = [each for each in others if each not in forgotten]
        self._sources = [*kept, _Source(number, asking, now)]

    @property
    def open(self) -> bool:
        """Whether a publisher asks for the stop."""
        return any(each.asking for each in self._sources)

    def abandoned(self, publishers: int, now: float) -> bool:
        """Whether nobody need be there who asks, at `now` [s]: who resets the stop may decide.

        That is so where each of the topic's `publishers` has just said that it asks for nothing,
        where there is none, and where each that asks may have taken it back since.
        """
        if all(each.doubtful for each in self._sources if each.asking):
            return True
        idle = [s for s in self._sources if not s.asking and now - s.heard < MEMORY]
        return len(idle) >= publishers

    def clear(self) -> None:
        """Forget who has asked; the others go on with their numbers."""
        self._sources = [each for each in self._sources if not each.asking]
