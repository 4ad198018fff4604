"""Where a keyword that an agent does not take belongs: to its method, to the environment, or under another name."""

from collections.abc import Collection

from .. import unknown

ELSEWHERE = {"num_generations": "group_size", "beta": "kl_coef", "max_completion_length": "max_answer_tokens"}
"""Keywords of TRL's trainers, and what they are called here."""
OF_ENVIRONMENTS = ("level", "split", "observation", "action", "render_mode", "max_episode_steps")


def unknown_keyword(name: str, valid: Collection[str]) -> str:
    """One sentence for a keyword that is not among the ``valid`` ones: where it belongs, or what is near."""
    known = hint(name, valid)
    return f"unknown keyword {name!r}; {known}" if known else unknown("keyword", name, valid)


def hint(name: str, valid: Collection[str]) -> str:
    """What to write in place of the keyword ``name`` of a constructor that takes ``valid``; "" if nothing is known."""
    hints = []
    if ELSEWHERE.get(name) in valid:
        hints.append(f"what TRL calls so is {ELSEWHERE[name]} here")
    if "method_kwargs" in valid and (methods := _methods_with(name)):
        said = ", ".join(methods[:3]) + (", ..." if len(methods) > 3 else "")
        hints.append(f'as a parameter of a method ({said}) it is given as method_kwargs={{"{name}": ...}}')
    if "env" in valid and name in OF_ENVIRONMENTS:
        hints.append(f'environments take it: give agents.make, or --set, env_kwargs={{"{name}": ...}}')
    return "; ".join(hints)


def _methods_with(name: str) -> list[str]:
    """Handles of the methods that have a parameter called so."""
    from .objectives.catalogue import ROWS  # late: it imports every method's module
    from .objectives.registry import parameters

    return [row.handle for row in ROWS if name in parameters(row.handle)]
