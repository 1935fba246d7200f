"""ROS domains of tests: none is shared with a test that runs beside, or soon after."""

from __future__ import annotations

import itertools
import os

DOMAINS = 100  # 1 to 100 are free for use on every operating system
_NUMBERS = itertools.count()


def session_domain() -> int:
    """Return the domain of the nodes that tests start by themselves, in this process."""
    first, share = _share()
    return first + share - 1


def fresh_domain() -> int:
    """Return a domain that this process did not use lately.

    What an earlier graph of the process left in discovery, its nodes' services above all,
    would answer for those of the next one.
    """
    first, share = _share()
    return first + (os.getpid() + next(_NUMBERS)) % (share - 1)


def _share() -> tuple[int, int]:
    """First domain of this process and how many it has; pytest-xdist names its processes."""
    count = int(os.environ.get('PYTEST_XDIST_WORKER_COUNT', 1))
    number = int(os.environ.get('PYTEST_XDIST_WORKER', 'gw0').removeprefix('gw'))
    share = DOMAINS // count
    return 1 + number * share, share
