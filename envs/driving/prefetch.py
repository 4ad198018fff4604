"""Asks the processor for memory that compiled code will look at soon, so that it need not wait for it then.

A batch of a thousand worlds is larger than the caches nearest to a core. While one world is stepped, the records of the
next are on their way. Results do not depend on it.
"""

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from .compiled import compiled

LINE = 64
"""Bytes that a processor fetches at a time."""
READ, SECOND_LEVEL, DATA = 0, 2, 1  # arguments of LLVM's instruction


@intrinsic  # type: ignore[untyped-decorator]
def _fetch(typing_context: Any, array: Any, offset: Any) -> Any:
    """One line, ``offset`` bytes from the beginning of an array."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        address = builder.gep(builder.bitcast(data, cgutils.voidptr_t), [arguments[1]])
        kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, *[ir.IntType(32)] * 3])
        hint = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        builder.call(hint, [address, *(ir.Constant(ir.IntType(32), one) for one in (READ, SECOND_LEVEL, DATA))])
        return context.get_dummy_value()

    return types.none(array, types.int64), generate


@compiled
def fetch(array: Any, first: int, last: int) -> None:
    """Asks for the rows ``first <= i < last`` of an array that is contiguous in memory."""
    for offset in range(first * array.strides[0], last * array.strides[0], LINE):
        _fetch(array, offset)  # type: ignore[call-arg]  # numba gives the first argument
