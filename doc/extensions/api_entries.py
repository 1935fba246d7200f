"""Entries of the API reference: fields of data classes by their comments, short names of types."""

import ast
import dataclasses
import inspect
import io
import re
import textwrap
import tokenize
from typing import Any, NamedTuple

ALIAS = re.compile(r"TypeAliasForwardRef\('(\w+)'\)")
PLACE = re.compile(r'~?(?:[a-z_]+\.)+(?=[A-Z])')


class Comment(NamedTuple):
    """One comment of a source."""

    text: str
    is_alone: bool  # on its line


def comments(source: str) -> dict[int, Comment]:
    """Comments of a source by their line."""
    return {
        token.start[0]: Comment(token.string.lstrip('# '), not token.line[: token.start[1]].strip())
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.COMMENT
    }


def field_texts(cls: type) -> dict[str, str]:
    """What stands beside each public field of a class, after what stands in the lines before it."""
    source = textwrap.dedent(inspect.getsource(cls))
    (tree,) = ast.parse(source).body
    assert isinstance(tree, ast.ClassDef)
    said, found = comments(source), {}
    for entry in tree.body:
        if not isinstance(entry, ast.AnnAssign) or not isinstance(entry.target, ast.Name):
            continue
        first = entry.lineno
        while first - 1 in said and said[first - 1].is_alone:
            first -= 1
        lines = range(first, (entry.end_lineno or entry.lineno) + 1)
        text = ' '.join(said[line].text for line in lines if line in said)
        if text and not entry.target.id.startswith('_'):
            found[entry.target.id] = text
    return found


def add_fields(app: Any, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Add the fields of a class whose docstring has no list of them."""
    is_record = dataclasses.is_dataclass(value) or hasattr(value, '_fields')
    if not is_record or not isinstance(value, type) or ':Attributes:' in ' '.join(lines):
        return
    if texts := field_texts(value):
        lines += ['', ':Attributes:', '']
        lines += [f'    * **{field}** -- {text}' for field, text in texts.items()]
        lines.append('')


def shorten(
    app: Any, what: str, name: str, value: Any, options: Any, given: str | None, result: str | None
) -> tuple[str | None, str | None]:
    """Name types as their modules do."""
    shortened = (text and PLACE.sub('', ALIAS.sub(r'\1', text)) for text in (given, result))
    given, result = shortened
    return given, result


def skip_place(app: Any, what: str, name: str, value: Any, skip: bool, options: Any) -> bool | None:
    """Leave out fields of named tuples as entries: they say no more than the class."""
    return True if type(value).__name__ == '_tuplegetter' else None


def setup(app: Any) -> dict[str, bool]:
    """Register all; fields after napoleon, which makes the list of a docstring."""
    app.connect('autodoc-process-docstring', add_fields, priority=900)
    app.connect('autodoc-process-signature', shorten)
    app.connect('autodoc-skip-member', skip_place)
    return {'parallel_read_safe': True, 'parallel_write_safe': True}
