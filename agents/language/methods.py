"""From the name of a method to its objective, checked against what a trainer can give it."""

from collections.abc import Mapping
from typing import Any

from ... import unknown
from ..objectives.catalogue import ROWS, find
from ..objectives.registry import Objective, load, parameters
from .providers.catalogue import check_needs

SUPERVISED = "sft"
"""The method that learns from demonstrations alone: what policy gradients have to beat."""

LONGEST = ("length", "max_length")
"""Parameters of objectives that stand for the longest completion: an agent's own, unless they are given."""


def check_unused(method: str | None, given: Mapping[str, Any]) -> None:
    """Refuses settings that a method without completions of its own, ``"sft"`` or None, would pass over in silence.

    Args:
        method: of the two.
        given: settings that act on sampled completions, by name; those that are not None, 0 or empty were asked for.

    Raises:
        ValueError: one that was asked for.
    """
    unused = [name for name, value in given.items() if value is not None and value != 0 and value != ()]
    if not unused:
        return
    learns = "stored data" if method is None else "the demonstrations of the environment's expert"
    hint = ", or for rows of your own give method=None with data=" if "data" in unused else ""
    raise ValueError(
        f"method={method!r} learns from {learns} alone and would not use {', '.join(unused)}: leave it out{hint}"
    )


def objective_of(
    method: str, params: Mapping[str, Any], *, group_size: int, max_answer_tokens: int
) -> Objective | None:
    """The method's objective, or None for ``"sft"``, which has none and takes no parameters.

    Args:
        method: its handle.
        params: of its functions; where one stands for the longest completion (the constant of Dr. GRPO's loss) and is
            not given, it is ``max_answer_tokens``.
        group_size: completions of each problem.
        max_answer_tokens: the longest completion, of one turn, that the policy may write.

    Raises:
        KeyError: no such method.
        TypeError: a parameter that it does not take.
        ValueError: it needs what :class:`~tiltyard.agents.language.trainer.PolicyGradient` cannot give.
    """
    if method == SUPERVISED:
        if params:
            raise TypeError(f"method 'sft' learns from demonstrations and takes no {' or '.join(sorted(params))}")
        return None
    if method not in [row.handle for row in ROWS]:
        raise KeyError(unknown("method", method, [SUPERVISED, *(row.handle for row in ROWS)]))
    longest = dict.fromkeys(parameters(method).intersection(LONGEST), max_answer_tokens)
    objective = load(method, **{**longest, **params})
    check_needs(objective.needs, of=f"method {method!r}")
    smallest = 2 if "groups" in objective.needs else find(method).smallest_group
    if group_size < smallest:
        raise ValueError(
            f"method {method!r} compares completions to one problem: group_size must be at least {smallest}"
        )
    return objective
