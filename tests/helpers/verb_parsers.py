"""The parsers of `pkm`."""

from __future__ import annotations

import argparse

from pkm_bringup import cli


def parsers() -> dict[str, argparse.ArgumentParser]:
    """All parsers by the words that lead to them: `pkm`, `pkm excite`, `pkm excite design`."""

    def walk(parser, name):
        yield name, parser
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                for word, child in action.choices.items():
                    yield from walk(child, f'{name} {word}')

    return dict(walk(cli.build_parser(), 'pkm'))
