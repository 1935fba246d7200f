#!/usr/bin/env python3
"""Convert public logs of real robots into folders that `pkm study real` reads.

Usage: scripts/real_logs/convert.py list
       scripts/real_logs/convert.py NAME --from COPY --to FOLDER

COPY is the root of a local copy of the log's source (`list` names it), for example a clone of its
repository; nothing is downloaded. FOLDER/NAME gets robot.urdf, robot.yaml, train*.npz, test*.npz
and a README.md with source, licence, units and split. The samples stay as the log has them.
"""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from pathlib import Path

from real_log import LogError, RealLog

NAMES = (
    'panda',
    'tx40',
    'ur10e',
    'ur10_bag',
    'fer_bag',
    'xmate7p',
    'ar5',
    'mtm',
    'xmate3',
    'shanghai',
    'kr300',
    'tiago',
    'airbot',
    'psm',
    'upv5p',
    'upv3ups',
    'baxter',
    'gen3',
    'upv3prs',
    'krang',
    'iiwa14',
    'xmate_er',
    'dpendulum',
    'dpendulum_a',
)


def log_of(name: str) -> RealLog:
    """Return the log of a name; its module has the same name."""
    return import_module(name).LOG


def main(arguments: list[str]) -> int:
    """Run the command; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('name', choices=('list', *NAMES), help='log, or list: what there is')
    parser.add_argument('--from', dest='source', type=Path, help='local copy of the source')
    parser.add_argument('--to', dest='target', type=Path, help='the folder of the shelf')
    given = parser.parse_args(arguments)
    if given.name == 'list':
        for name in NAMES:
            log = log_of(name)
            print(f'{name}: {log.robot}\n  {log.source}\n  licence: {log.licence}')
        return 0
    if given.source is None or given.target is None:
        parser.error('name the local copy with --from and the folder to write with --to')
    try:
        log_of(given.name).write(given.source, given.target / given.name)
    except LogError as error:
        print(f'{given.name}: {error}', file=sys.stderr)
        return 1
    print(f"wrote '{given.target / given.name}'")
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
