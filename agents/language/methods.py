"""From the name of a method to its objective, checked against what a trainer can give it."""

from collections.abc import Mapping
from typing import Any

from ... import unknown
from ...wrappers.curricula.catalogue import load as load_curriculum
from ...wrappers.guidance.catalogue import load as load_guidance
from ...wrappers.rewards.catalogue import load_all as load_rewards
from ..objectives.catalogue import find
from ..objectives.registry import Objective, load, parameters
from .choices import SUPERVISED, check_names, methods
from .data.catalogue import load_all as load_data
from .providers.catalogue import check_needs
from .samplers.catalogue import load as load_sampler

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


def check_choices(settings: Mapping[str, Any], method: str | None, of: str) -> None:
    """Refuses a method or a component that there is not, or a parameter that one does not take, before a run begins.

    Args:
        settings: of :class:`~tiltyard.agents.language.trainer.PolicyGradient`, those that were given.
        method: where they name none.
        of: whose they are.

    Raises:
        TypeError: such a parameter.
        ValueError: such a name, or a number out of range.
    """
    check_names(settings, of)
    load_sampler(settings.get("sampler"))
    load_curriculum(settings.get("curriculum"))
    load_guidance(settings.get("guidance"))
    load_rewards(settings.get("rewards"))
    load_data(settings.get("data"))
    given = {name: settings[name] for name in ("clip_low", "clip_high", "kl_coef") if settings.get(name) is not None}
    given |= settings.get("method_kwargs") or {}
    chosen = settings.get("method", method)
    if given and chosen is not None:
        sizes = {name: settings.get(name, 8) for name in ("group_size", "max_answer_tokens")}
        objective_of(chosen, given, **sizes)


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
    if method not in (known := methods()):
        raise KeyError(unknown("method", method, known))
    longest = dict.fromkeys(parameters(method).intersection(LONGEST), max_answer_tokens)
    objective = load(method, **{**longest, **params})
    check_needs(objective.needs, of=f"method {method!r}")
    smallest = 2 if "groups" in objective.needs else find(method).smallest_group
    if group_size < smallest:
        raise ValueError(
            f"method {method!r} compares completions to one problem: group_size must be at least {smallest}"
        )
    return objective
