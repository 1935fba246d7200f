"""Exit statuses of programs, in one place."""

from __future__ import annotations

from enum import IntEnum


class ExitStatus(IntEnum):
    """What a program ended with: its number, its meaning, what to do."""

    meaning: str
    remedy: str

    def __new__(cls, number: int, meaning: str, remedy: str) -> ExitStatus:
        """Return a status with its texts."""
        status = int.__new__(cls, number)
        status._value_ = number
        status.meaning, status.remedy = meaning, remedy
        return status

    SUCCESS = 0, 'success; of a node: ended by SIGINT or SIGTERM', ''
    ERROR = (
        1,
        'an error in data, files, parameters or a running graph, or a check that failed',
        'read the line on stderr: it names what is wrong and what would be right',
    )
    USAGE = 2, 'wrong usage', '`pkm VERB --help`'
    CHANGED = (
        3,
        '`pkm monitor`: something on the robot has changed',
        'the first line names it; identify again once it is mended or meant',
    )
    INTERRUPTED = 130, 'interrupted by Ctrl-C', 'what was written before is complete'
    TERMINATED = 143, 'ended by SIGTERM, in the same way', 'what was written before is complete'
