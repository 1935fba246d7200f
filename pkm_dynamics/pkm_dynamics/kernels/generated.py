"""Call a generated function from a compiled loop."""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from pkm_dynamics.kernels.decorator import compiled


@intrinsic
def _call(typing_context, address, inputs, uniforms, outputs):  # noqa: ARG001
    signature = types.void(types.int64, types.uintp, types.uintp, types.uintp)

    def generate(context, builder, _signature, arguments):
        pointer = ir.DoubleType().as_pointer()
        function = ir.FunctionType(ir.VoidType(), [pointer] * 3).as_pointer()
        target = builder.inttoptr(arguments[0], function)
        builder.call(target, [builder.inttoptr(value, pointer) for value in arguments[1:]])
        return context.get_dummy_value()

    return signature, generate


@compiled
def evaluate(address, inputs, uniforms, outputs):
    """Call the function at `address` on inputs (n, LANES), uniforms (k,), outputs (m, LANES)."""
    _call(address, inputs.ctypes.data, uniforms.ctypes.data, outputs.ctypes.data)


@compiled
def evaluate_part(address, inputs, first, uniforms, outputs):
    """Call the function on the inputs from row `first` on."""
    _call(address, inputs[first:].ctypes.data, uniforms.ctypes.data, outputs.ctypes.data)
