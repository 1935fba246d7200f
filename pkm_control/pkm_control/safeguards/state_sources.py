"""Who sends the states of the robot's joints: one source, or several."""

from __future__ import annotations

from dataclasses import dataclass

# A source that goes on may have lost this many messages: a queue of ten overflows first.
LOST = 10
# [s] for which a source is remembered that is not heard: one that was restarted counts from one
# again, and must not be taken for two when it comes to the old numbers.
MEMORY = 1.0
# So many messages in a row of a source that began anew, and it has taken the place of the old one.
TAKES_OVER = 3


@dataclass
class _Source:
    number: int  # of its last message
    heard: float  # [s]
    messages: int = 1


class StateSources:
    """Tells sources apart by the numbers of their messages.

    Every publisher numbers its messages, 1, 2, 3 and so on. One source never goes back but where
    it begins anew. Two are there where a source goes on after another one was heard. Only
    messages with the robot's own joints belong here: others may share the topic.
    """

    def __init__(self) -> None:
        self._sources: list[_Source] = []  # those heard of late; the latest message is the last's
        self._used: _Source | None = None
        self._until = float('-inf')  # [s] when two count as gone

    def several(self, now: float) -> bool:
        """Whether more than one source was heard of late, at `now` [s]."""
        return now < self._until

    def hear(self, number: int | None, now: float) -> bool:
        """Whether the message with this number, heard at `now` [s], is to be used.

        Those of a second source are not. Without a number (not every middleware has them) all are.
        """
        if number is None:
            return True
        self._sources = [each for each in self._sources if now - each.heard < MEMORY]
        source = self._continued(number)
        if source is None:
            source = _Source(number, now, 0)
        elif source is not self._sources[-1]:
            if not self.several(now):
                self._used = source  # the older of two: it was there before the other came
            self._until = now + MEMORY
        self._sources = [each for each in self._sources if each is not source]
        self._sources.append(source)
        ahead = self._used is None or source is self._used or number > self._used.number
        source.number, source.heard = number, now
        source.messages += 1
        if not self.several(now) and (ahead or source.messages >= TAKES_OVER):
            self._used = source
        return source is self._used

    def _continued(self, number: int) -> _Source | None:
        """The source that goes on with this number, the latest first."""
        for each in reversed(self._sources):
            if 0 < number - each.number <= LOST:
                return each
        return None
