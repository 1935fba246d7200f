"""Mutation run: tests must fail for small changes of the code.

Cosmic Ray makes the mutants: another operator, comparison, number, truth value, a `not`. They
are run here and not by it, since it starts an interpreter for each of them (eight seconds of
imports) and changes the files of the checkout; mutmut, the other library, wants one package
under `src` and leaves out decorated functions, properties and constants. Here a child is forked
for each mutant from a process that has the libraries loaded, the changed source goes in by the
import system, and the files stay as they are.

    make mutate ARGS="--sample 60 --seed 2 control limits"

Results are kept in .build/mutation/results.jsonl: a run that was interrupted, or that has a
larger sample, goes on where the last one ended. Exit status 1 if fewer than `--least` percent
of the mutants are noticed.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import hashlib
import importlib.abc
import importlib.util
import json
import os
import random
import re
import resource
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from itertools import islice
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / '.build' / 'mutation' / 'results.jsonl'
OPERATORS = re.compile(
    r'AddNot|NumberReplacer|Replace(And|Or|True|False)With.*'
    r'|ReplaceUnaryOperator_(USub_UAdd|Delete_Not)'
    r'|ReplaceBinaryOperator_(Add_Sub|Sub_Add|Mul_Div|Div_Mul|Mul_Add|Pow_Mul)'
    r'|ReplaceBinaryOperator_(BitOr_BitAnd|BitAnd_BitOr)'
    r'|ReplaceComparisonOperator_(Lt_LtE|Lt_Gt|LtE_Lt|LtE_GtE|Gt_GtE|Gt_Lt|GtE_Gt|GtE_LtE)'
    r'|ReplaceComparisonOperator_(Eq_NotEq|NotEq_Eq|Is_IsNot|IsNot_Is)'
)
"""Changes that a person might make by mistake; others only multiply the same place."""
LEAST_LIMIT = 60.0  # [s] of CPU time for the tests of a mutant, however short they are
PATIENCE = 4.0  # limit of a mutant in units of what the tests take without a change
WAITING = 15.0  # limit in elapsed time in units of that in CPU time: the machine may be busy

Targets = dict[str, tuple[tuple[str, ...], tuple[str, ...]]]
TARGETS: Targets = {
    'control': (
        (
            'pkm_control/pkm_control/controller.py',
            'pkm_control/pkm_control/control_types.py',
            'pkm_control/pkm_control/feedforward.py',
            'pkm_dynamics/pkm_dynamics/joint_servo/gains.py',
            'pkm_control/pkm_control/servo.py',
            'pkm_control/pkm_control/loop_statistics.py',
        ),
        (
            'tests/pkm_control/test_outcome.py',
            'tests/pkm_control/test_loop_statistics.py',
            'tests/pkm_control/test_gains.py',
            'tests/pkm_control/test_feedforward.py',
            'tests/pkm_control/test_controller.py',
            'tests/pkm_bringup/test_parameters.py',  # defaults that are documented
        ),
    ),
    'loop': (
        (
            'pkm_control/pkm_control/nodes/control_loop.py',
            'pkm_control/pkm_control/nodes/joint_state_reader.py',
        ),
        ('tests/pkm_control/test_joint_state_reader.py', 'tests/pkm_control/test_control_loop.py'),
    ),
    'servers': (
        (
            'pkm_control/pkm_control/nodes/model_service.py',
            'pkm_control/pkm_control/nodes/follow_server.py',
            'pkm_control/pkm_control/nodes/controller_diagnostics.py',
        ),
        (
            'tests/pkm_control/test_model_service.py',
            'tests/pkm_control/test_controller_messages.py',
            'tests/pkm_control/test_follow_server.py',
            'tests/pkm_control/test_trajectory_controller_node.py',
        ),
    ),
    'limits': (
        ('pkm_dynamics/pkm_dynamics/limits/*.py',),
        (
            'tests/pkm_dynamics/test_margins.py',
            'tests/pkm_dynamics/test_limits_by_hand.py',
            'tests/pkm_dynamics/test_limits_of_closed_loops.py',
            'tests/pkm_dynamics/test_feasibility.py',
            'tests/pkm_dynamics/test_clearances.py',
        ),
    ),
    'covariance': (
        ('pkm_identification/pkm_identification/covariance/*.py',),
        ('tests/pkm_identification/covariance/*.py', 'tests/pkm_identification/regression/*.py'),
    ),
    'datasets': (  # units, and joints matched by their names
        (
            'pkm_identification/pkm_identification/datasets/*.py',
            'pkm_identification/pkm_identification/datasets/bags/*.py',
            'pkm_identification/pkm_identification/datasets/tables/*.py',
        ),
        (
            'tests/pkm_identification/datasets/*.py',
            'tests/pkm_identification/test_datasets.py',
            'tests/pkm_identification/test_foreign_bags.py',
        ),
    ),
    'exporters': (
        (
            'pkm_description/pkm_description/exporters/*.py',
            'pkm_description/pkm_description/payload.py',
        ),
        (
            'tests/pkm_description/test_payload.py',
            'tests/pkm_description/test_stand_ins.py',
            'tests/pkm_description/test_mjcf_elements.py',
            'tests/pkm_description/test_sdf_elements.py',
            'tests/pkm_description/test_exporters.py',
            'tests/pkm_description/test_export_round_trip.py',
        ),
    ),
    'requests': (
        ('pkm_identification/pkm_identification/requests/*.py',),
        (
            'tests/pkm_identification/**/test_requests.py',
            'tests/pkm_identification/**/test_estimation_server.py',
        ),
    ),
}
"""Modules and the tests concerned, quick ones first: the first that fails ends a mutant."""


@dataclass(frozen=True)
class Mutant:
    """One change of one file."""

    target: str
    path: Path
    operator: str
    occurrence: int
    line: int

    @property
    def key(self) -> str:
        """What names it in the results; another text of the file is another mutant."""
        digest = hashlib.sha256(self.path.read_bytes()).hexdigest()[:12]
        return f'{self.path.relative_to(ROOT)} {digest} {self.operator} {self.occurrence}'

    def source(self) -> str:
        """Text of the changed file."""
        from cosmic_ray.ast import get_ast
        from cosmic_ray.mutating import MutationVisitor

        visitor = MutationVisitor(self.occurrence, _operator(self.operator))
        return str(visitor.walk(get_ast(self.path.read_text('utf-8'))).get_code())

    def change(self) -> str:
        """Describe the change by the lines that differ."""
        before, after = self.path.read_text('utf-8').splitlines(), self.source().splitlines()
        pairs = [(a, b) for a, b in zip(before, after, strict=False) if a != b][:1]
        return ' -> '.join(line.strip() for pair in pairs for line in pair)

    def changes_what_runs(self) -> bool:
        """Whether it is Python, and more differs than an annotation or the * of a signature."""
        try:
            changed = _what_runs(self.source())
        except SyntaxError:  # of {**first, **second}
            return False
        return changed != _what_runs(self.path.read_text('utf-8'))


def _what_runs(source: str) -> str:
    tree = ast.parse(source)
    for node in ast.walk(tree):
        for name in ('annotation', 'returns'):
            if hasattr(node, name):
                setattr(node, name, None)
        if isinstance(node, ast.arguments):
            node.args = [*node.posonlyargs, *node.args, *node.kwonlyargs]
            node.defaults += [each for each in node.kw_defaults if each is not None]
            node.posonlyargs, node.kwonlyargs, node.kw_defaults = [], [], []
    return ast.dump(tree)


class ChangedSource(importlib.abc.MetaPathFinder):
    """Imports one file with another text."""

    def __init__(self, path: Path, source: str) -> None:
        self.path, self.source = str(path), source

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: object = None
    ) -> ModuleSpec | None:
        """Return the module's specification with a loader of the changed text."""
        found = PathFinder.find_spec(name, path)
        if found is None or found.origin != self.path:
            return None
        loader = SourceFileLoader(name, self.path)
        code = compile(self.source, self.path, 'exec', dont_inherit=True)
        loader.get_code = lambda _: code  # type: ignore[method-assign]
        return importlib.util.spec_from_file_location(
            name,
            self.path,
            loader=loader,
            submodule_search_locations=found.submodule_search_locations,
        )


def _operator(name: str) -> object:
    from cosmic_ray.operators.provider import OperatorProvider

    return OperatorProvider()[name]()


def mutants(target: str, targets: Targets = TARGETS) -> Iterator[Mutant]:
    """Yield all mutants of a target, in the order of its files."""
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.operators.provider import OperatorProvider

    names = [name for name in OperatorProvider() if OPERATORS.fullmatch(name)]
    for path in _files(targets[target][0]):
        nodes = list(ast_nodes(get_ast(path.read_text('utf-8'))))
        for name in names:
            operator = _operator(name)
            places = [place for node in nodes for place in operator.mutation_positions(node)]
            for occurrence, place in enumerate(places):
                yield Mutant(target, path, name, occurrence, place[0][0])


def _files(patterns: Sequence[str]) -> list[Path]:
    found = [path for pattern in patterns for path in sorted(ROOT.glob(pattern))]
    if not found:
        raise SystemExit(f'scripts/mutate.py: no file is called {", ".join(patterns)}')
    return found


def start(tests: Sequence[Path], mutant: Mutant | None, limit: float, log: Path) -> int:
    """Fork a child that runs tests with a mutant; its exit status is that of pytest."""
    pid = os.fork()
    if pid:
        return pid
    status = 70
    with contextlib.suppress(BaseException):
        os.setpgid(0, 0)
        file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, 1)
        os.dup2(file, 2)
        resource.setrlimit(resource.RLIMIT_CPU, (int(limit) + 1, int(limit) + 2))
        sys.dont_write_bytecode = True
        if mutant is not None:
            sys.meta_path.insert(0, ChangedSource(mutant.path, mutant.source()))
        import pytest

        options = ['-x', '-q', '-p', 'no:cacheprovider', '-p', 'no:xdist']
        status = int(pytest.main([*options, *map(str, tests)]))
    os._exit(status)


def wait(pid: int, limit: float) -> tuple[int, float]:
    """Exit status of a child, negative for a signal, and its CPU time [s]."""
    end = time.monotonic() + limit
    while True:
        done, status, usage = os.wait4(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime
        if time.monotonic() > end:
            os.killpg(pid, signal.SIGKILL)
        time.sleep(0.05)


def run(target: str, chosen: list[Mutant], known: dict[str, str]) -> None:
    """Run the mutants of a target that have no result yet and write down what came of them."""
    left = [mutant for mutant in chosen if mutant.key not in known]
    if not left:
        return
    tests, log = _files(TARGETS[target][1]), RESULTS.with_name(f'{target}.log')
    status, seconds = wait(start(tests, None, 600.0, log), 3600.0)
    if status != 0:
        raise SystemExit(f'{target}: the tests fail without a change; see {log}')
    limit = max(LEAST_LIMIT, PATIENCE * seconds)
    for mutant in left:
        status, seconds = wait(start(tests, mutant, limit, log), WAITING * limit)
        # pytest ends with 1 where a test fails and with 2 where the module does not import.
        found = 'survived' if status == 0 else 'noticed' if status in (1, 2) else 'ended'
        known[mutant.key] = found
        print(f'{found:8} {seconds:5.1f} s  {mutant.path.name}:{mutant.line} {mutant.operator}')
        with RESULTS.open('a', encoding='utf-8') as file:
            file.write(json.dumps([mutant.key, found]) + '\n')


def report(chosen: list[Mutant], known: dict[str, str]) -> float:
    """Print the share of noticed mutants by target, and the others; the share in all [%]."""
    total: Counter[str] = Counter()
    for target in dict.fromkeys(mutant.target for mutant in chosen):
        found = [m for m in chosen if m.target == target]
        survivors = [m for m in found if known[m.key] == 'survived']
        total.update(found=len(found), noticed=len(found) - len(survivors))
        print(f'{target}: {len(found) - len(survivors)} of {len(found)} noticed')
        for m in survivors:
            print(f'  {m.path.relative_to(ROOT)}:{m.line} {m.change()}')
    share = 100.0 * total['noticed'] / max(total['found'], 1)
    print(f'{share:.1f} % of {total["found"]} mutants noticed')
    return share


def main() -> int:
    """Run the mutants of the targets that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition('\n')[0])
    parser.add_argument('target', nargs='*', help=f'of {", ".join(TARGETS)}; all without any')
    parser.add_argument('--sample', type=int, help='mutants of each target; all without it')
    parser.add_argument('--seed', type=int, default=0, help='of the sample')
    parser.add_argument('--least', type=float, default=85.0, help='percent to be noticed')
    arguments = parser.parse_args()
    unknown = [target for target in arguments.target if target not in TARGETS]
    if unknown:
        parser.error(f"unknown target '{unknown[0]}'; targets are {', '.join(TARGETS)}")
    sys.path.append(str(RESULTS.parent))  # where `make mutate` has put Cosmic Ray
    # What every child needs and no mutant touches is loaded once.
    for name in ('numba', 'scipy.optimize', 'scipy.signal', 'lxml.etree', 'mujoco', 'pytest'):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    lines = RESULTS.read_text('utf-8').splitlines() if RESULTS.is_file() else []
    known = dict(json.loads(line) for line in lines)
    everything = []
    for target in arguments.target or TARGETS:
        shuffled = list(mutants(target))
        # One order for each seed: a larger sample holds the smaller one.
        random.Random(arguments.seed).shuffle(shuffled)
        changing = (mutant for mutant in shuffled if mutant.changes_what_runs())
        chosen = list(islice(changing, arguments.sample))
        run(target, chosen, known)
        everything += chosen
    return int(report(everything, known) < arguments.least)


if __name__ == '__main__':
    sys.exit(main())
