"""Rules on the sources of the packages, read from their syntax alone.

A rule gives its violations as one line each, `module: what`. Those that are known and not yet
mended stand in `known_violations.txt`, rule by rule; a test fails for one that is new and for
one that is gone. Called as a program, this module rewrites that list from the sources as they
are; no rule may get more entries by it than it had.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from import_rules import LAYERS, _absolute

ROOT = Path(__file__).resolve().parents[2]
KNOWN = Path(__file__).with_name('known_violations.txt')
MOST_MODULES = 20
"""A folder that a stranger can take in at a glance."""

SAME_NAME = {
    '__init__': 'of each folder',
    'nodes': "each package's own ROS side",
    'trajectory_messages': 'messages',
}
TEXTS = {'message', 'msg', 'error_msg', 'reason', 'detail', 'details', 'status', 'warning', 'text'}
ERRORS = {'error', 'failure', 'fault', 'exception', 'exc', 'err', 'refusal', 'rejection'}
READERS = {'startswith', 'endswith', 'partition', 'rpartition', 'find', 'index', 'count'}


@dataclass(frozen=True)
class Module:
    """One source file of a package."""

    name: str
    path: Path
    source: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.source)

    @property
    def is_package(self) -> bool:
        return self.path.name == '__init__.py'


def read_modules(root: Path = ROOT) -> dict[str, Module]:
    """All modules of the packages by their full names."""
    found = {}
    for package in LAYERS:
        for path in sorted((root / package / package).rglob('*.py')):
            parts = path.relative_to(root / package).with_suffix('').parts
            name = '.'.join(parts[:-1] if parts[-1] == '__init__' else parts)
            found[name] = Module(name, path, path.read_text('utf-8'))
    return found


def imports_of(module: Module, modules: Mapping[str, Module]) -> set[str]:
    """Modules of ours that a module imports anywhere: in functions and TYPE_CHECKING too."""
    parts = tuple(module.name.split('.'))
    package = parts if module.is_package else parts[:-1]
    found = set()
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            stem, *names = _absolute(node, package)
            for name in names:
                found.add(name if name in modules else stem)
    return {name for name in found if name in modules} - {module.name}


def cycles(modules: Mapping[str, Module]) -> list[list[str]]:
    """Groups of modules that import each other, found by Tarjan's algorithm."""
    graph = {name: sorted(imports_of(module, modules)) for name, module in modules.items()}
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    groups: list[list[str]] = []

    def visit(name: str) -> None:
        index[name] = low[name] = len(index)
        stack.append(name)
        for other in graph[name]:
            if other not in index:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], index[other])
        if low[name] == index[name]:
            group = stack[stack.index(name) :]
            del stack[stack.index(name) :]
            if len(group) > 1:
                groups.append(sorted(group))

    for name in graph:
        if name not in index:
            visit(name)
    return groups


def in_cycles(modules: Mapping[str, Module]) -> Iterator[str]:
    """Modules that import themselves by way of others."""
    for group in cycles(modules):
        for name in group:
            yield f'{name}: in a cycle'


def full_folders(modules: Mapping[str, Module]) -> Iterator[str]:
    """Folders with more modules than a reader can take in."""
    folders: dict[str, int] = defaultdict(int)
    for module in modules.values():
        if not module.is_package:
            folders[module.name.rpartition('.')[0]] += 1
    for folder, count in folders.items():
        if count > MOST_MODULES:
            yield f'{folder}: more than {MOST_MODULES} modules'


def recurring_names(modules: Mapping[str, Module]) -> Iterator[str]:
    """Modules that have the name of another module or folder."""
    places: dict[str, list[str]] = defaultdict(list)
    for name in modules:
        places[name.rpartition('.')[2]].append(name)
    for last, found in places.items():
        # a folder's main type may have the folder's name, a verb the name of what it runs
        names = [n for n in found if not n.endswith(f'.{last}.{last}') and '.verbs.' not in n]
        if len(names) > 1 and last not in SAME_NAME:
            yield from (f'{name}: the name recurs' for name in names)


def long_types(modules: Mapping[str, Module]) -> Iterator[str]:
    """Modules that name a type of its own for long data."""
    for module in modules.values():
        names = set()
        for node in ast.walk(module.tree):
            for field in ('id', 'attr', 'name'):
                value = getattr(node, field, None)
                if isinstance(value, str) and re.match(r'_?Long[A-Z]', value):
                    names.add(value)
        yield from (f'{module.name}: {name}' for name in sorted(names))


def hidden_imports(modules: Mapping[str, Module]) -> Iterator[str]:
    """Imports for type checkers only: what a cycle is hidden with."""
    for module in modules.values():
        if 'TYPE_CHECKING' in module.source:
            yield f'{module.name}: TYPE_CHECKING'


def models_of_any_type(modules: Mapping[str, Module]) -> Iterator[str]:
    """Functions whose argument or attribute `model` is of no type."""
    for module in modules.values():
        for node in ast.walk(module.tree):
            if isinstance(node, ast.arg) and node.arg == 'model' and _is_any(node.annotation):
                yield f'{module.name}: model: Any'
            if isinstance(node, ast.AnnAssign) and _is_any(node.annotation):
                if _last_name(node.target) == 'model':
                    yield f'{module.name}: model: Any'


def decisions_by_text(modules: Mapping[str, Module]) -> Iterator[str]:
    """Conditions on the wording of an error, a message, a reason or a status."""
    for module in modules.values():
        for function, node in _with_functions(module.tree):
            if _reads_wording(node):
                yield f'{module.name}: {function} reads the wording of a text'


def diagnostics_by_key(modules: Mapping[str, Module]) -> Iterator[str]:
    """Diagnostics fetched by a text, where a typed field belongs."""
    for module in modules.values():
        for function, node in _with_functions(module.tree):
            owner = key = None
            if isinstance(node, ast.Subscript):
                owner, key = node.value, node.slice
            elif isinstance(node, ast.Call) and _last_name(node.func) == 'get' and node.args:
                owner, key = getattr(node.func, 'value', None), node.args[0]
            if owner is not None and _last_name(owner) == 'diagnostics' and _is_text(key):
                yield f'{module.name}: {function} reads diagnostics by key'


RULES: dict[str, Callable[[Mapping[str, Module]], Iterator[str]]] = {
    'cycles': in_cycles,
    'folders': full_folders,
    'names': recurring_names,
    'long types': long_types,
    'hidden imports': hidden_imports,
    'any models': models_of_any_type,
    'wording': decisions_by_text,
    'diagnostics': diagnostics_by_key,
}


def violations(rule: str, modules: Mapping[str, Module]) -> list[str]:
    """Violations of a rule, each once, in alphabetical order."""
    return sorted(set(RULES[rule](modules)))


def known_violations(text: str | None = None) -> dict[str, list[str]]:
    """Entries of the list, by rule."""
    found: dict[str, list[str]] = {rule: [] for rule in RULES}
    for line in (KNOWN.read_text('utf-8') if text is None else text).splitlines():
        rule, separator, entry = line.partition(' | ')
        if separator and not line.startswith('#'):
            found[rule].append(entry)
    return found


def _with_functions(tree: ast.AST, name: str = 'the module') -> Iterator[tuple[str, ast.AST]]:
    """Yield every node with the name of the innermost function around it."""
    for child in ast.iter_child_nodes(tree):
        inside = name
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            inside = child.name
        yield inside, child
        yield from _with_functions(child, inside)


def _reads_wording(node: ast.AST) -> bool:
    if isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
        for operator, right in zip(node.ops, node.comparators, strict=True):
            if isinstance(operator, ast.In | ast.NotIn) and _is_wording(right):
                return True
        compares = any(isinstance(operator, ast.Eq | ast.NotEq) for operator in node.ops)
        texts = any(_is_text(side) and getattr(side, 'value', '') for side in sides)
        return compares and texts and any(_is_wording(side, status=False) for side in sides)
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and node.func.attr in READERS:
            return _is_wording(node.func.value)
        if _last_name(node.func) in ('match', 'search', 'fullmatch', 'findall'):
            return any(_is_wording(argument) for argument in node.args)
    return False


def _is_wording(node: ast.AST | None, status: bool = True) -> bool:
    """Whether an expression is the text of an error or something called a message."""
    if isinstance(node, ast.Call):
        if _last_name(node.func) == 'str' and node.args:
            inner = node.args[0]
            diagnostics = any(_last_name(part) == 'diagnostics' for part in ast.walk(inner))
            return _last_name(inner) in ERRORS or diagnostics
        if isinstance(node.func, ast.Attribute) and node.func.attr in ('lower', 'strip'):
            return _is_wording(node.func.value, status)
    name = _last_name(node)
    if isinstance(node, ast.Name) and name in ('text', 'status'):
        return False  # any text that is read, or a state of its own type
    return name in TEXTS and (status or name not in ('status', 'text'))


def _last_name(node: ast.AST | None) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ''


def _is_any(annotation: ast.expr | None) -> bool:
    return _last_name(annotation) == 'Any'


def _is_text(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _rewritten(found: Mapping[str, Iterable[str]]) -> str:
    head = [line for line in KNOWN.read_text('utf-8').splitlines() if line.startswith('#')]
    lines = [f'{rule} | {entry}' for rule, entries in found.items() for entry in entries]
    return '\n'.join([*head, *lines]) + '\n'


def main() -> int:
    """Rewrite the list; 1 where a rule has more violations than the list allows."""
    modules, known = read_modules(), known_violations()
    found = {rule: violations(rule, modules) for rule in RULES}
    grown = [rule for rule in RULES if len(found[rule]) > len(known[rule])]
    for rule in grown:
        new = sorted(set(found[rule]) - set(known[rule]))
        print(f'{rule}: {len(known[rule])} are known, {len(found[rule])} found; new are', *new)
    if not grown or '--force' in sys.argv:
        KNOWN.write_text(_rewritten(found), 'utf-8')
    return int(bool(grown))


if __name__ == '__main__':
    sys.exit(main())
