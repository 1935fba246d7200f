"""The directive `node-parameters`: the parameters of all nodes, from what they declare."""

from typing import Any

from declared_nodes import declared_parameters
from declared_nodes import nodes as node_names
from docutils import nodes
from docutils.statemachine import StringList
from pygments.lexers.special import TextLexer
from sphinx.util.docutils import SphinxDirective

HEAD = ['| parameter | default | range | run time | meaning |', '|---|---|---|---|---|']


def table(name: str) -> list[str]:
    """Return the section of a node, in Markdown."""
    lines = ['', f'## `{name}`', '', *HEAD]
    for entry in declared_parameters(name).values():
        bounds = '' if entry.lower is None else f'{entry.lower:g} to {entry.upper:g}'
        free = '' if entry.read_only else 'yes'
        text = entry.description.replace('|', r'\|').replace('\n', ' ')
        lines.append(f'| `{entry.name}` | `{entry.default!r}` | {bounds} | {free} | {text} |')
    return [*lines, '']


class NodeParameters(SphinxDirective):
    """A section a node with a table of its parameters."""

    def run(self) -> list[nodes.Node]:
        """Return the sections."""
        holder = nodes.section()
        holder.document = self.state.document
        for name in node_names():
            self.state.nested_parse(StringList(table(name), 'nodes'), 0, holder, match_titles=True)
        return list(holder.children)


def setup(app: Any) -> dict[str, bool]:
    """Register the directive, and the languages of pages that Pygments does not know."""
    for language in ('csv', 'mermaid'):
        app.add_lexer(language, TextLexer)
    app.add_directive('node-parameters', NodeParameters)
    return {'parallel_read_safe': True, 'parallel_write_safe': True}
