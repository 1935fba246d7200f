"""The command `pkm`: one verb a file in `pkm_bringup/verbs`.

Usage: pkm VERB ..., or python -m pkm_bringup.cli VERB ...
`ExitStatus` says what its exit statuses mean.
"""

from __future__ import annotations

import argparse
import ast
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from pkm_bringup.exit_status import ExitStatus
from pkm_bringup.termination import Terminated, terminable
from pkm_bringup.views.console import print_error
from pkm_dynamics.processors import SINGLE_THREAD

VERBS = (
    'robots',
    'describe',
    'export',
    'excite',
    'simulate',
    'goal',
    'guard',
    'data',
    'identify',
    'identify-all',
    'validate',
    'compare',
    'monitor',
    'report',
    'view',
    'learned',
    'dataset',
    'study',
    'demo',
    'bench',
    'commission',
)
LEVELS = ('verb', 'action', 'study')  # of verbs, as the parsers store them
DESCRIPTION = """\
Parallel robots from description to identified model and feedforward:
describe, design excitation, execute and record, identify, validate, control."""


class Parser(argparse.ArgumentParser):
    """Says in one line what is wrong and where help is."""

    def error(self, message: str) -> NoReturn:
        """Print one line and exit."""
        print_error(self.prog, f'{message} (see {self.prog} --help)')
        raise SystemExit(ExitStatus.USAGE)


def build_parser(verb: str | None = None) -> argparse.ArgumentParser:
    """Return the parser with all verbs.

    Where one `verb` is named, the others only have a name and a line of help: their modules take
    time to load.
    """
    parser = Parser(
        prog='pkm', description=DESCRIPTION, formatter_class=argparse.RawTextHelpFormatter
    )
    verbs = parser.add_subparsers(title='verbs', metavar='VERB', required=True, dest='verb')
    folder = Path(__file__).parent / 'verbs'
    for name in VERBS:
        if verb in (None, name):
            import_module(f'pkm_bringup.verbs.{_module(name)}').add_parser(verbs)
        else:
            verbs.add_parser(name, help=_purpose(_file(folder, name)))
    return parser


def _file(folder: Path, verb: str) -> Path:
    """Source of a verb: a module, or a package where its subverbs lie beside it."""
    module = folder / f'{_module(verb)}.py'
    return module if module.is_file() else folder / _module(verb) / '__init__.py'


def _module(verb: str) -> str:
    return verb.replace('-', '_')


def _purpose(file: Path) -> str:
    """Return what a verb is for, as the docstring of its module says behind the colon."""
    module = ast.parse(file.read_text(encoding='utf-8'))
    return (ast.get_docstring(module) or '').split('\n')[0].partition(': ')[2].rstrip('.')


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb with some arguments, by default those of the process; return the exit status."""
    for name, value in SINGLE_THREAD.items():
        os.environ.setdefault(name, value)
    try:
        words = sys.argv[1:] if argv is None else argv
        verb = next((word for word in words if not word.startswith('-')), '')
        arguments, unknown = build_parser(verb).parse_known_args(words)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else ExitStatus.USAGE
    program = _program(arguments)
    if unknown:
        words = ' '.join(unknown)
        print_error(program, f'unrecognized arguments: {words} (see {program} --help)')
        return ExitStatus.USAGE
    return _run(program, arguments)


def _program(arguments: Any) -> str:
    words = ('pkm', *(getattr(arguments, level, None) for level in LEVELS))
    return ' '.join(word for word in words if word)


def _run(program: str, arguments: Any) -> int:
    try:
        with terminable():
            status: int = arguments.run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:  # whoever read our output has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitStatus.ERROR
    except Terminated:
        print_error(program, 'terminated')
        return ExitStatus.TERMINATED
    except KeyboardInterrupt:
        print_error(program, 'interrupted')
        return ExitStatus.INTERRUPTED
    except Exception as error:
        if os.environ.get('PKM_TRACEBACK') and _is_defect(error):
            raise
        print_error(program, _explanation(error))
        return ExitStatus.ERROR
    return status


def _is_defect(error: Exception) -> bool:
    # Imported here: loads NumPy, and most calls end without an error.
    from pkm_description.errors import PkmError

    return not isinstance(error, PkmError | OSError | ModuleNotFoundError)


def _explanation(error: Exception) -> str:
    """What the user is told of an error."""
    if isinstance(error, OSError):
        where = f"'{error.filename}': " if error.filename else ''
        return f'{where}{error.strerror or error}'
    if isinstance(error, ModuleNotFoundError):
        return (
            f"the Python module '{error.name}' is not installed: source a ROS 2 and the "
            'workspace, or run `make setup`'
        )
    if _is_defect(error):
        return f'defect in pkm: {type(error).__name__}: {error} (PKM_TRACEBACK=1 shows where)'
    return str(error)


if __name__ == '__main__':
    sys.exit(main())
