"""What all studies have in common: options, and what becomes of the result."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pkm_bringup.argument_types import count, whole
from pkm_bringup.arguments import add_json
from pkm_bringup.views.console import json_text, print_json, print_note

NOT_NAMED = ('run', 'verb', 'study', 'json', 'output', 'workers')  # no effect on the result


def add_runs(
    study: argparse.ArgumentParser, default: int, text: str = 'seeds', least: int = 1
) -> None:
    """Add the options --runs, --seed and --workers."""
    at_least = f', at least {least}' if least > 1 else ''
    study.add_argument(
        '--runs',
        type=_runs(least),
        default=default,
        help=f'{text}{at_least} [1]; default: {default}',
    )
    add_seed(study, 'of the first run')


def add_seed(study: argparse.ArgumentParser, text: str) -> None:
    """Add the options --seed and --workers."""
    study.add_argument('--seed', type=whole, default=0, help=f'{text}, at least 0 [1]; default: 0')
    study.add_argument(
        '--workers', type=count, help='processes [1]; default: one a core; no effect on the result'
    )


def add_result(study: argparse.ArgumentParser) -> None:
    """Add the options --output and --json."""
    study.add_argument(
        '--output',
        metavar='FILE',
        help='file to write (.json), SI units, with the options and versions that made it; must '
        'not exist',
    )
    add_json(study)


def result_file(arguments: Any) -> Path | None:
    """Return where the result shall go, before time is spent on making it."""
    from pkm_bringup.outputs import check_output

    return check_output(arguments.output, ('.json',)) if arguments.output else None


def with_origin(content: Mapping[str, Any], arguments: Any) -> dict[str, Any]:
    """Return a result with the options and the versions that made it."""
    from pkm_bringup.versions import software

    options = {k: v for k, v in vars(arguments).items() if k not in NOT_NAMED}
    origin = {'study': arguments.study, 'options': options, 'versions': software()}
    return {**content, 'origin': origin}


def deliver(
    content: Mapping[str, Any],
    arguments: Any,
    path: Path | None,
    show: Callable[[Mapping[str, Any]], object],
) -> int:
    """Write the result, and print it by `show` or as JSON; return the exit status."""
    from pkm_bringup.outputs import write_output

    document = with_origin(content, arguments)
    try:
        if path is not None:
            write_output(path, lambda at: at.write_text(json_text(document), encoding='utf-8'))
    finally:  # what took minutes is shown also where it cannot be written
        if arguments.json:
            print_json(document)
        else:
            show(content)
    if path is not None:
        print_note(f"wrote '{path}'")
    return 0


def _runs(least: int) -> Callable[[str], int]:
    def runs(text: str) -> int:
        value = count(text)
        if value < least:
            raise argparse.ArgumentTypeError(
                f'{value} runs have no spread to compare: at least {least}'
            )
        return value

    return runs
