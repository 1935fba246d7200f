"""Which tests took much processor time: `make quick` leaves them out, other runs begin with them.

Every run notes the processor time of each test in `.build/test_seconds.json` and names those
that are slow and not in `slow_tests.txt`. Called as a program, this module writes that list
anew: a test that was measured is in it if it was slow, with the time of all its parameters
together; one that was not stays as it was, one that is gone goes.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LISTED = Path(__file__).with_name('slow_tests.txt')
MEASURED = ROOT / '.build' / 'test_seconds.json'
SLOW = 0.2
"""Processor time [s] above which a test is slow: the others together stay below 90 s."""
OTHERS = 0.02  # [s] of each of them


def function_of(node: str) -> str:
    """Return the name of a test without its parameters, which change more often."""
    return node.partition('[')[0]


def listed() -> dict[str, float]:
    """Return the tests that are known to be slow, with the processor time [s] of each.

    One that was added by hand may have no time yet.
    """
    lines = LISTED.read_text('utf-8').splitlines() if LISTED.is_file() else []
    parts = (line.partition(' ') for line in lines)
    return {name: float(time or 1.0) for name, _, time in parts}


def measured() -> dict[str, float]:
    """Return the processor time [s] of each test in the last run that had it."""
    return dict(json.loads(MEASURED.read_text('utf-8'))) if MEASURED.is_file() else {}


def largest(seconds: Mapping[str, float]) -> dict[str, float]:
    """Return the largest time over the parameters of each test."""
    found: dict[str, float] = {}
    for node, time in seconds.items():
        name = function_of(node)
        found[name] = max(time, found.get(name, 0.0))
    return found


def file_of(node: str) -> str:
    """Return the file of a test."""
    return node.partition('::')[0]


def time_of_files(nodes: Iterable[str]) -> dict[str, float]:
    """Return the processor time [s] that each file of these tests may take."""
    slow = listed()
    found = dict.fromkeys(map(file_of, nodes), 0.0)
    # one after the other, as they come: sums in the order of a set differ between processes
    for name in dict.fromkeys(map(function_of, nodes)):
        found[file_of(name)] += slow.get(name, 0.0)
    for node in nodes:
        found[file_of(node)] += 0.0 if function_of(node) in slow else OTHERS
    return found


def keep(seconds: Mapping[str, float]) -> None:
    """Add the times of a run to those that are kept; a rewritten test's old time goes."""
    names = {function_of(node) for node in seconds}
    others = {node: time for node, time in measured().items() if function_of(node) not in names}
    MEASURED.parent.mkdir(parents=True, exist_ok=True)
    MEASURED.write_text(json.dumps({**others, **seconds}, indent=0, sort_keys=True), 'utf-8')


def updated(
    known: Mapping[str, float], seconds: Mapping[str, float], exists: Mapping[str, str]
) -> dict[str, float]:
    """Return the new list; `exists` gives the text of each file of tests by its path."""
    times = largest(seconds)
    slow = {name: time for name, time in known.items() if name not in times}
    for node, time in seconds.items():
        name = function_of(node)
        if times[name] > SLOW:
            slow[name] = slow.get(name, 0.0) + time
    return {name: slow[name] for name in sorted(slow) if _stands_in(name, exists)}


def _stands_in(name: str, files: Mapping[str, str]) -> bool:
    path, _, function = name.partition('::')
    pattern = rf'def {re.escape(function.rpartition("::")[2])}\b'
    return path in files and re.search(pattern, files[path]) is not None


def main() -> None:
    """Write the list anew."""
    argparse.ArgumentParser(description=__doc__).parse_args()  # --help writes nothing
    files = {
        path.relative_to(ROOT).as_posix(): path.read_text('utf-8')
        for path in (ROOT / 'tests').rglob('test_*.py')
    }
    names = updated(listed(), measured(), files)
    lines = [f'{name} {time:.1f}\n' for name, time in names.items()]
    LISTED.write_text(''.join(lines), 'utf-8')
    print(f'{len(names)} slow tests')


if __name__ == '__main__':
    main()
