"""Write recorded expressions as functions of C++: straight code, one value a line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pkm_dynamics.codegen.expression import Expression, Graph, Number, reachable

_OPERATIONS: dict[str, str] = {
    'add': '{} + {}',
    'sub': '{} - {}',
    'mul': '{} * {}',
    'div': '{} / {}',
    'neg': '-{}',
    'sin': 'std::sin({})',
    'cos': 'std::cos({})',
    'sqrt': 'std::sqrt({})',
    'abs': 'std::fabs({})',
    'min': '{0} < {1} ? {0} : {1}',
    'max': '{0} > {1} ? {0} : {1}',
    'choose': '{} < {} ? {} : {}',
}


def literal(value: float) -> str:
    """Shortest literal that is the same double."""
    text = repr(float(value))
    return f'({text})' if text.startswith('-') else text


def filled(template: str, values: Mapping[str, str]) -> str:
    """Replace @key@ in a template by its value."""
    for key, value in values.items():
        template = template.replace(f'@{key}@', value)
    return template


def function_text(name: str, graph: Graph, outputs: Sequence[Number]) -> str:
    """A function `name(in, out)` of one sample; inputs and outputs must not overlap."""
    lines = ''.join(f'  {line}\n' for line in _lines(graph, outputs))
    used = '' if any(graph.nodes[k][0] == 'input' for k in reachable(graph, outputs)) else '/*in*/'
    arguments = f'const double* {used or "in"}, double* out'
    return f'void {name}({arguments}) noexcept {{\n{lines}}}\n'


def _lines(graph: Graph, outputs: Sequence[Number]) -> Iterator[str]:
    names: dict[int, str] = {}
    for index in reachable(graph, outputs):
        operation, *operands = graph.nodes[index]
        if operation == 'constant':
            names[index] = literal(operands[0])
            continue
        if operation == 'input':
            text = f'in[{operands[0]}]'
        elif operation == 'uniform':
            raise ValueError('parameters must be known numbers in C++')
        else:
            text = _OPERATIONS[operation].format(*(names[k] for k in operands))
        names[index] = f'v{index}'
        yield f'const double v{index} = {text};'
    for k, value in enumerate(outputs):
        text = names[value.index] if isinstance(value, Expression) else literal(value)
        yield f'out[{k}] = {text};'
