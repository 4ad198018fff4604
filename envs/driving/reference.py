"""Named tuples of arrays that compiled functions pass on by reference.

Numba passes a tuple by value: each function that takes a tuple of twenty arrays takes some 150 numbers, which its
callers put on the stack, and LLVM has to see through. Those calls were most of a tick of traffic, and most of the time
that its compilation took. A class registered by :func:`by_reference` is written to memory once, by the call that comes
from Python; from there on functions take its address. Fields are read as before: ``batch.agents``.

What is passed in must outlive the call, as it does: Python holds it. Fields cannot be changed by compiled code (the
contents of arrays can), so they are read as invariant: after a write to an array its address need not be read again.
"""

import hashlib
from typing import Any, TypeVar

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.datamodel import models
from numba.core.imputils import impl_ret_borrowed, lower_getattr_generic
from numba.core.typing.templates import AttributeTemplate
from numba.core.typing.typeof import typeof_impl
from numba.extending import NativeValue, infer_getattr, register_model, unbox

T = TypeVar("T", bound=tuple[Any, ...])


class Reference(types.Type):  # type: ignore[misc]
    """The type of a named tuple that is passed by reference.

    Args:
        fields: the named tuple's type.
    """

    def __init__(self, fields: types.NamedTuple) -> None:
        self.fields = fields
        # A short name: it is part of the names of all functions that take one.
        super().__init__(f"{fields.instance_class.__name__}_{hashlib.sha256(str(fields).encode()).hexdigest()[:16]}")


def by_reference(named: type[T]) -> type[T]:
    """Lets compiled functions take a class of named tuples by reference; a decorator."""

    @typeof_impl.register(named)
    def _(value: Any, context: Any) -> Reference:
        return Reference(types.NamedTuple([typeof_impl(one, context) for one in value], named))

    return named


@register_model(Reference)
class _ReferenceModel(models.PrimitiveModel):  # type: ignore[misc]
    """An address."""

    def __init__(self, dmm: Any, fe_type: Reference) -> None:
        pointer = dmm.lookup(fe_type.fields).get_value_type().as_pointer()
        super().__init__(dmm, fe_type, pointer)  # type: ignore[no-untyped-call]


@infer_getattr
class _Fields(AttributeTemplate):  # type: ignore[misc]
    key = Reference

    def generic_resolve(self, reference: Reference, name: str) -> Any:  # type: ignore[override]
        """The type of a field; None if there is no such field."""
        names = reference.fields.fields
        return reference.fields.types[names.index(name)] if name in names else None


@lower_getattr_generic(Reference)  # type: ignore[untyped-decorator]
def _read(context: Any, builder: Any, reference: Reference, address: Any, name: str) -> Any:
    index = reference.fields.fields.index(name)
    field = _invariant(builder, cgutils.gep_inbounds(builder, address, 0, index))
    return impl_ret_borrowed(context, builder, reference.fields.types[index], field)


def _invariant(builder: Any, address: Any) -> Any:
    """Reads what is at an address, part by part, so that LLVM drops those that are not used."""
    kind = address.type.pointee
    if isinstance(kind, ir.Aggregate):
        value = ir.Constant(kind, ir.Undefined)
        for i in range(len(kind)):
            value = builder.insert_value(value, _invariant(builder, cgutils.gep_inbounds(builder, address, 0, i)), i)
        return value
    value = builder.load(address)
    value.set_metadata("invariant.load", builder.module.add_metadata([]))
    return value


@unbox(Reference)  # type: ignore[untyped-decorator]
def _unbox(reference: Reference, value: Any, c: Any) -> NativeValue:
    """Writes the fields to the stack of the function that Python calls.

    The address passes through an empty piece of assembly, behind which LLVM cannot see that they were ever written:
    what is written and read in one function is not invariant.
    """
    native = c.unbox(reference.fields, value)
    address = cgutils.alloca_once_value(c.builder, native.value)
    through = ir.FunctionType(address.type, [address.type])
    address = c.builder.asm(through, "", "=r,0,~{memory}", [address], side_effect=True)
    return NativeValue(address, is_error=native.is_error, cleanup=native.cleanup)
