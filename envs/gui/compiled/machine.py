"""The machine that runs bytecode: a stack of values, 64 locals, and one function a group of instructions."""

from . import memory as w
from . import opcodes as op
from .acting import ARG, DRAFTS
from .acting import operate as act
from .drawing import draw
from .functions import call_list, call_text
from .jit import compiled
from .memory import at, item, new_list, size, truth
from .operators import attribute, number_of, operate
from .pool import EMPTY
from .stack import pop, push
from .widgets import show


@compiled
def run(m, f, code, pool, pc):  # type: ignore[no-untyped-def]
    """Runs from an instruction on until ``HALT``; whether it went through to its end (its ``a``).

    It stops at a fault. No instruction makes more than ``SLACK`` words, so that none runs out of memory half way.
    """
    while True:
        if m[w.TOP] + w.SLACK > m[w.LIMIT]:
            m[w.FAULT] = 1
        if m[w.FAULT]:
            return 0
        kind, a, b = code[pc, 0], code[pc, 1], code[pc, 2]
        pc += 1
        group = kind // op.GROUP
        if group == 0:
            if kind == op.HALT:
                return a
            pc = _step(m, code, pool, kind, a, b, pc)
        elif group == 1:
            operate(m, pool, kind, a)
        elif group == 2:
            call_text(m, pool, kind)
        elif group == 3:
            call_list(m, pool, kind, a)
        elif group == 4:
            draw(m, pool, kind)
        elif group == 5:
            act(m, f, pool, kind, a, b)
        else:
            show(m, f, pool, kind, a, b)


@compiled
def _step(m, code, pool, kind, a, b, pc):  # type: ignore[no-untyped-def]
    """Control and names; the number of the next instruction."""
    if kind == op.CONST:
        push(m, a)
    elif kind == op.LOAD:
        push(m, m[w.LOCALS + a])
    elif kind == op.STORE:
        m[w.LOCALS + a] = pop(m)
    elif kind == op.FIELD_OF:
        push(m, at(m, pool, m[w.ROOTS + a] >> 3, 1 + b))
    elif kind == op.ATTRIBUTE:
        push(m, attribute(m, pool, pop(m), a))
    elif kind == op.IF_NOT:
        if not truth(m, pool, pop(m)):
            pc = a
    elif kind == op.JUMP:
        pc = a
    elif kind == op.FOR:
        # Locals a: the list, the next index, the item, what is collected; b: where to go at its end.
        items, i = m[w.LOCALS + a], m[w.LOCALS + a + 1] >> 3
        if i >= size(m, pool, items):
            pc = b
        else:
            m[w.LOCALS + a + 2] = item(m, pool, items, i)
            m[w.LOCALS + a + 1] += 8
    elif kind == op.AND or kind == op.OR:
        if truth(m, pool, m[w.STACK + m[w.SP] - 1]) == (kind == op.OR):
            pc = a
        else:
            m[w.SP] -= 1
    elif kind == op.DRAFT:
        value = m[m[w.SELF] + DRAFTS + a]
        push(m, pool[EMPTY] if value == w.UNSET else value)
    else:
        pc = _rarer(m, pool, kind, a, b, pc)
    return pc


@compiled
def _rarer(m, pool, kind, a, b, pc):  # type: ignore[no-untyped-def]
    if kind == op.COLLECT:
        m[w.LOCALS + a] += 8
    elif kind == op.GATHER or kind == op.TAKE_LIST:
        n = m[w.LOCALS + a] >> 3 if kind == op.GATHER else a
        made = new_list(m, n)
        m[w.SP] -= n
        for i in range(n):
            m[(made >> 3) + 1 + i] = m[w.STACK + m[w.SP] + i]
        push(m, made)
    elif kind == op.TAKE_RECORD:
        m[w.SP] -= b
        p = w.alloc(m, b + 1)
        m[p] = a
        for i in range(b):
            m[p + 1 + i] = m[w.STACK + m[w.SP] + i]
        push(m, p << 3 | w.RECORD)
    elif kind == op.IF_DRAFT:
        if m[m[w.SELF] + DRAFTS + a] != w.UNSET:
            pc = b
    elif kind == op.ARG:
        push(m, m[m[w.SELF] + ARG])
    elif kind == op.CHARGE:
        push(m, m[w.CHARGE] << 3 | w.INT)
    elif kind == op.ROOT:
        push(m, m[w.ROOTS + a])
    elif kind == op.FIELD_NAMED:
        name, record = pop(m), pop(m)
        push(m, at(m, pool, record >> 3, 1 + number_of(m, pool, record, name)))
    elif kind == op.POP:
        m[w.SP] -= 1
    else:
        m[w.FAULT] = 3
    return pc
