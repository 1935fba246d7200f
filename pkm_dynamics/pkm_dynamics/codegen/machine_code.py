"""Compile recorded expressions to machine code that evaluates eight samples at once.

Each value of the graph is one vector of `LANES` doubles, a lane per sample. LLVM (the
library that Numba uses too) splits the vectors to what the processor has, so no compiler
is needed on the machine and the code uses its widest registers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path

import llvmlite.binding as llvm
from llvmlite import ir

from pkm_dynamics import layout
from pkm_dynamics.codegen.expression import Expression, Graph, Number, reachable
from pkm_dynamics.codegen.store import Store, processor
from pkm_dynamics.layout import LANES
from pkm_dynamics.parameters import parameter_table

Recorded = tuple[Graph, Sequence[Number]]  # expressions and which of them are put out

# Digest of the sources that decide what is generated: another generator, other files in the store.
_SOURCES = (
    *sorted(Path(__file__).parent.glob('*.py')),
    *(Path(str(module.__file__)) for module in (layout, parameter_table)),
)
GENERATOR = hashlib.sha256(b''.join(source.read_bytes() for source in _SOURCES)).digest()

_DOUBLE = ir.DoubleType()
_VECTOR = ir.VectorType(_DOUBLE, LANES)
_INTEGERS = ir.VectorType(ir.IntType(32), LANES)
_POINTER = _DOUBLE.as_pointer()
_FUNCTION = ir.FunctionType(ir.VoidType(), [_POINTER, _POINTER, _POINTER])
_FLAGS = ('contract',)
_WIDTH_ATTRIBUTES = ('min-legal-vector-width', 'prefer-vector-width')

# Pi/2 in three parts, and the polynomials of sine and cosine on [-pi/4, pi/4] with an
# error below one unit in the last place: the coefficients of fdlibm (Sun, 1993).
_HALF_PI = (1.5707963267341256e00, 6.077100506303966e-11, 2.0222662487959506e-21)
_SINE = (
    -1.66666666666666324348e-01,
    8.33333333332248946124e-03,
    -1.98412698298579493134e-04,
    2.75573137070700676789e-06,
    -2.50507602534068634195e-08,
    1.58969099521155010221e-10,
)
_COSINE = (
    4.16666666666666019037e-02,
    -1.38888888888741095749e-03,
    2.48015872894767294178e-05,
    -2.75573143513906633035e-07,
    2.08757232129817482790e-09,
    -1.13596475577881948265e-11,
)


class _Emitter:
    """Writes one function: f(inputs, uniforms, outputs)."""

    def __init__(self, module: ir.Module, name: str) -> None:
        self.module = module
        function = ir.Function(module, _FUNCTION, name)
        for argument in function.args:
            argument.add_attribute('noalias')
        function.attributes.add('nounwind')
        self.inputs, self.uniforms, self.outputs = function.args
        self.builder = ir.IRBuilder(function.append_basic_block('entry'))
        self.values: dict[int, ir.Value] = {}
        self._turns: dict[int, tuple[ir.Value, ir.Value, ir.Value]] = {}

    def write(self, graph: Graph, outputs: Sequence[Number]) -> None:
        """Emit all nodes that the outputs need, then the stores."""
        for index in reachable(graph, outputs):
            self.values[index] = self._emit(graph.nodes[index])
        for k, value in enumerate(outputs):
            vector = self.values[value.index] if isinstance(value, Expression) else _splat(value)
            self.builder.store(vector, self._address(self.outputs, LANES * k), align=8)
        self.builder.ret_void()

    def _address(self, base: ir.Value, offset: int) -> ir.Value:
        element = self.builder.gep(base, [ir.Constant(ir.IntType(64), offset)])
        return self.builder.bitcast(element, _VECTOR.as_pointer())

    def _emit(self, node: tuple) -> ir.Value:
        operation, operands = node[0], node[1:]
        if operation == 'constant':
            return _splat(operands[0])
        if operation == 'input':
            return self.builder.load(self._address(self.inputs, LANES * operands[0]), align=8)
        if operation == 'uniform':
            return self._uniform(operands[0])
        values = [self.values[k] for k in operands]
        if operation in ('sin', 'cos'):
            return self._trigonometric(operation, operands[0])
        return _OPERATIONS[operation](self, *values)

    def _uniform(self, index: int) -> ir.Value:
        address = self.builder.gep(self.uniforms, [ir.Constant(ir.IntType(64), index)])
        scalar = self.builder.load(address, align=8)
        zero = ir.Constant(ir.IntType(32), 0)
        single = self.builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), scalar, zero)
        mask = ir.Constant(_INTEGERS, [0] * LANES)
        return self.builder.shuffle_vector(single, ir.Constant(_VECTOR, ir.Undefined), mask)

    def intrinsic(self, name: str, *values: ir.Value) -> ir.Value:
        """Call an LLVM intrinsic on vectors."""
        function = self.module.globals.get(f'{name}.v{LANES}f64') or ir.Function(
            self.module, ir.FunctionType(_VECTOR, [_VECTOR] * len(values)), f'{name}.v{LANES}f64'
        )
        return self.builder.call(function, values)

    def _fma(self, a: ir.Value, b: ir.Value, c: ir.Value) -> ir.Value:
        return self.intrinsic('llvm.fma', a, b, c)

    def _polynomial(self, x: ir.Value, coefficients: Sequence[float]) -> ir.Value:
        total = _splat(coefficients[-1])
        for value in coefficients[-2::-1]:
            total = self._fma(total, x, _splat(value))
        return total

    def _reduced(self, index: int) -> tuple[ir.Value, ir.Value, ir.Value]:
        """Quadrant, sine and cosine of the angle reduced to [-pi/4, pi/4]."""
        if index not in self._turns:
            b, x = self.builder, self.values[index]
            turns = self.intrinsic('llvm.rint', b.fmul(x, _splat(0.6366197723675814)))
            minus = b.fneg(turns)
            r = x
            for part in _HALF_PI:
                r = self._fma(minus, _splat(part), r)
            z = b.fmul(r, r)
            s = self._fma(b.fmul(r, z), self._polynomial(z, _SINE), r)
            half = b.fmul(z, _splat(0.5))
            near = b.fsub(_splat(1.0), half)  # and what its rounding lost:
            lost = b.fsub(b.fsub(_splat(1.0), near), half)
            c = b.fadd(near, self._fma(b.fmul(z, z), self._polynomial(z, _COSINE), lost))
            self._turns[index] = (b.fptosi(turns, _INTEGERS), s, c)
        return self._turns[index]

    def _trigonometric(self, operation: str, index: int) -> ir.Value:
        b = self.builder
        quadrant, s, c = self._reduced(index)
        if operation == 'cos':
            quadrant = b.add(quadrant, _integers(1))
        odd = b.icmp_signed('!=', b.and_(quadrant, _integers(1)), _integers(0))
        negative = b.icmp_signed('!=', b.and_(quadrant, _integers(2)), _integers(0))
        value = b.select(odd, c, s)
        return b.select(negative, b.fneg(value), value)


_OPERATIONS: dict[str, Callable[..., ir.Value]] = {
    'add': lambda e, x, y: e.builder.fadd(x, y, flags=_FLAGS),
    'sub': lambda e, x, y: e.builder.fsub(x, y, flags=_FLAGS),
    'mul': lambda e, x, y: e.builder.fmul(x, y, flags=_FLAGS),
    'div': lambda e, x, y: e.builder.fdiv(x, y, flags=_FLAGS),
    'neg': lambda e, x: e.builder.fneg(x),
    'sqrt': lambda e, x: e.intrinsic('llvm.sqrt', x),
    'abs': lambda e, x: e.intrinsic('llvm.fabs', x),
    'min': lambda e, x, y: e.builder.select(e.builder.fcmp_ordered('<', x, y), x, y),
    'max': lambda e, x, y: e.builder.select(e.builder.fcmp_ordered('>', x, y), x, y),
    'choose': lambda e, x, y, a, b: e.builder.select(e.builder.fcmp_ordered('<', x, y), a, b),
}


class MachineCode:
    """Compiled functions of a mechanism; they live as long as this object."""

    def __init__(self) -> None:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        cpu, features = processor()
        machine = llvm.Target.from_default_triple().create_target_machine(
            cpu=cpu, features=features, opt=2
        )
        # The engine owns the target machine: one of each, and a module per function.
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(''), machine)
        self._engine.finalize_object()  # before it may notify: the empty module is none of ours
        self._store = Store()
        self._compiled = b''
        self._engine.set_object_cache(self._keep)

    def _keep(self, _module: llvm.ModuleRef, code: bytes) -> None:
        self._compiled = code

    def function(self, name: str, origin: bytes, build: Callable[[], Recorded]) -> int:
        """Address of a function (inputs (n, LANES), uniforms (k,), outputs (m, LANES)).

        Its code is read from the store. Only where that has none, `build` records the
        expressions, which are compiled and kept for next time. Equal bytes of `origin` mean
        equal expressions.
        """
        symbol = f'pkm_{name}'
        origin = b'\0'.join((name.encode(), GENERATOR, origin))
        code = self._store.read(origin)
        if code is not None:
            self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        else:
            module = llvm.parse_assembly(module_text(symbol, *build()))
            module.verify()
            self._engine.add_module(module)
        self._engine.finalize_object()
        if code is None:
            self._store.write(origin, self._compiled)
        address = int(self._engine.get_function_address(symbol))
        if address == 0:
            raise RuntimeError(f'LLVM gave no address for the function {symbol}')
        return address


def _splat(value: float) -> ir.Constant:
    return ir.Constant(_VECTOR, [float(value)] * LANES)


def _integers(value: int) -> ir.Constant:
    return ir.Constant(_INTEGERS, [value] * LANES)


def module_text(name: str, graph: Graph, outputs: Sequence[Number]) -> str:
    """Text of an LLVM module with one function `name` of the outputs."""
    module = ir.Module(name)
    module.triple = llvm.get_process_triple()
    _Emitter(module, name).write(graph, outputs)
    # Attributes that llvmlite's IR layer does not know: the widest vectors of the processor.
    width = ' '.join(f'"{key}"="{64 * LANES}"' for key in _WIDTH_ATTRIBUTES)
    return str(module).replace(' nounwind', f' nounwind {width}', 1)
