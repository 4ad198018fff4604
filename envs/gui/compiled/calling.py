"""Calls by address: what runs the machine and what builds a screen are compiled once, not again in all that calls them.

Numba links a function's callees into it and optimises the whole, so that each of the twenty functions that run bytecode
would hold, and take as long to compile as, the machine. The addresses stand in the first instruction of ``code``.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from .jit import inlined, interpreted

RUN, REFRESH = 1, 2
"""Words of the first instruction."""


@intrinsic  # type: ignore[untyped-decorator]
def _call(typingctx: Any, address: Any, m: Any, f: Any, code: Any, pool: Any, number: Any) -> Any:
    """Calls ``int64 (int64*, double*, int64*, int64*, int64)`` with the data of four arrays."""
    signature = types.int64(types.int64, m, f, code, pool, types.int64)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        arrays = zip(signature.args[1:5], arguments[1:5], strict=True)
        data = [context.make_array(kind)(context, builder, one).data for kind, one in arrays]
        kind = ir.FunctionType(ir.IntType(64), [*(one.type for one in data), ir.IntType(64)])
        return builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), [*data, arguments[5]])

    return signature, generate


if interpreted():

    def run(m: Any, f: Any, code: Any, pool: Any, pc: Any) -> Any:
        """Runs bytecode: :func:`.machine.run`."""
        from .machine import run as slow

        return slow(m, f, code, pool, pc)

    def refresh(m: Any, f: Any, code: Any, pool: Any) -> Any:
        """Builds what is on the screen: :func:`.pages.refresh`."""
        from .pages import refresh as slow

        return slow(m, f, code, pool)

else:

    @inlined
    def run(m: Any, f: Any, code: Any, pool: Any, pc: Any) -> Any:
        """Runs bytecode: :func:`.machine.run`."""
        return _call(code[0, RUN], m, f, code, pool, pc)  # type: ignore[call-arg]

    @inlined
    def refresh(m: Any, f: Any, code: Any, pool: Any) -> Any:
        """Builds what is on the screen: :func:`.pages.refresh`."""
        _call(code[0, REFRESH], m, f, code, pool, 0)  # type: ignore[call-arg]
