"""Arithmetic on symbols, recorded as a graph without duplicates.

An `Expression` stands for one number. NumPy arrays of expressions and floats (dtype
object) work with the usual operators, so the equations of a mechanism are ordinary
array code. What does not depend on a symbol is computed at once, and terms that are zero
or one disappear: a joint axis along z costs what its zeros leave.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Union

import numpy as np
from numpy.typing import NDArray

Objects = NDArray[np.object_]
Number = Union['Expression', float]

_COMMUTATIVE = frozenset({'add', 'mul', 'min', 'max'})


class Graph:
    """Nodes (operation, operands) in the order of their creation, each one once."""

    def __init__(self) -> None:
        self.nodes: list[tuple] = []
        self._index: dict[tuple, int] = {}

    def node(self, operation: str, *operands: object) -> Expression:
        """Return the expression of an operation on operands (node numbers or data)."""
        key = (operation, *operands)
        index = self._index.get(key)
        if index is None:
            index = len(self.nodes)
            self.nodes.append(key)
            self._index[key] = index
        return Expression(self, index)

    def inputs(self, first: int, *shape: int) -> Objects:
        """Floats of inputs that differ between the samples, numbered from `first`."""
        return self._leaves('input', first, shape)

    def uniforms(self, first: int, *shape: int) -> Objects:
        """Floats of inputs that all samples share."""
        return self._leaves('uniform', first, shape)

    def _leaves(self, kind: str, first: int, shape: tuple[int, ...]) -> Objects:
        flat = [self.node(kind, first + k) for k in range(math.prod(shape))]
        return np.array(flat, dtype=object).reshape(shape)


class Expression:
    """One number of a graph."""

    __slots__ = ('graph', 'index')

    def __init__(self, graph: Graph, index: int) -> None:
        self.graph = graph
        self.index = index

    def _operand(self, value: Number) -> int:
        if isinstance(value, Expression):
            return value.index
        return self.graph.node('constant', float(value)).index

    def _binary(self, operation: str, left: Number, right: Number) -> Expression:
        a, b = self._operand(left), self._operand(right)
        if operation in _COMMUTATIVE and a > b:
            a, b = b, a
        return self.graph.node(operation, a, b)

    def __add__(self, other: Number) -> Number:
        if isinstance(other, Expression):
            negated = other._negated()
            if negated is not None:
                return self - negated
            own = self._negated()
            return self._binary('add', self, other) if own is None else other - own
        return self if other == 0.0 else self._binary('add', self, other)

    __radd__ = __add__

    def __sub__(self, other: Number) -> Number:
        if isinstance(other, Expression):
            if other.index == self.index:
                return 0.0
            negated = other._negated()
            if negated is not None:
                return self + negated
        elif other == 0.0:
            return self
        return self._binary('sub', self, other)

    def __rsub__(self, other: Number) -> Number:
        return -self if other == 0.0 else self._binary('sub', other, self)

    def __mul__(self, other: Number) -> Number:
        if not isinstance(other, Expression):
            if other == 0.0:
                return 0.0
            if other == 1.0:
                return self
            if other == -1.0:
                return -self
            own = self._negated()
            if own is not None:
                return own * (-other)
            if other < 0.0:
                return -self._binary('mul', self, -other)
            return self._binary('mul', self, other)
        a, b = self._negated(), other._negated()
        product = self._binary('mul', self if a is None else a, other if b is None else b)
        return product if (a is None) == (b is None) else -product

    __rmul__ = __mul__

    def __truediv__(self, other: Number) -> Number:
        if not isinstance(other, Expression):
            return self * (1.0 / other)
        return self._binary('div', self, other)

    def __rtruediv__(self, other: Number) -> Number:
        return 0.0 if other == 0.0 else self._binary('div', other, self)

    def __neg__(self) -> Number:
        own = self._negated()
        return self.graph.node('neg', self.index) if own is None else own

    def _negated(self) -> Expression | None:
        """Return x where this is -x."""
        node = self.graph.nodes[self.index]
        return Expression(self.graph, node[1]) if node[0] == 'neg' else None


def _function(operation: str, known: Callable[[float], float]) -> Callable[[Number], Number]:
    """Return a function of one number that is recorded as an operation."""

    def apply(x: Number) -> Number:
        return x.graph.node(operation, x.index) if isinstance(x, Expression) else known(x)

    return apply


sine, cosine = _function('sin', math.sin), _function('cos', math.cos)  # of an angle [rad]
root, absolute = _function('sqrt', math.sqrt), _function('abs', abs)


def smaller(x: Number, y: Number) -> Number:
    """Smaller of two numbers."""
    return _pair('min', x, y)


def larger(x: Number, y: Number) -> Number:
    """Larger of two numbers."""
    return _pair('max', x, y)


def choose(condition: tuple[Number, Number], if_less: Number, otherwise: Number) -> Number:
    """`if_less` where condition[0] < condition[1], else `otherwise`."""
    x, y = condition
    values = (x, y, if_less, otherwise)
    known = next((v for v in values if isinstance(v, Expression)), None)
    if known is None or not (isinstance(x, Expression) or isinstance(y, Expression)):
        return if_less if x < y else otherwise  # type: ignore[operator]
    return known.graph.node('choose', *(known._operand(v) for v in values))


def _pair(operation: str, x: Number, y: Number) -> Number:
    if isinstance(x, Expression):
        return x._binary(operation, x, y)
    if isinstance(y, Expression):
        return y._binary(operation, x, y)
    return min(x, y) if operation == 'min' else max(x, y)


def reachable(graph: Graph, outputs: Sequence[Number]) -> list[int]:
    """Numbers of the nodes that the outputs need, in order."""
    needed = [False] * len(graph.nodes)
    for value in outputs:
        if isinstance(value, Expression):
            needed[value.index] = True
    for index in range(len(graph.nodes) - 1, -1, -1):
        node = graph.nodes[index]
        if needed[index] and node[0] not in ('constant', 'input', 'uniform'):
            for operand in node[1:]:
                needed[operand] = True
    return [index for index, used in enumerate(needed) if used]
