"""ToolRL: rule-based reward for tool calls, format plus correctness of tool names, parameter names and values."""

import json
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from torch import Tensor

from ... import unknown
from ..components import Context, Episodes, Reward

GRAINS = ("fine", "intermediate", "coarse")
OPEN, CLOSE = "<tool_call>", "</tool_call>"
TAGS = ("<think>", OPEN, "<response>")
THINK, CALL, SAY = r"<think>.*?</think>", rf"{OPEN}\n.*?\n{CLOSE}", r"<response>.*?</response>"

Call = dict[str, Any]


def format_reward(completion: str, reference: str) -> float:
    """1 if the completion has the parts of its reference, each once and in order, else 0.

    ``<think>...</think>`` always comes first, then, on lines of their own, ``<tool_call>`` (a call a line between the
    tags) and ``<response>`` where the reference has them.
    """
    tags = [tag for tag in ("tool_call", "response") if f"<{tag}>" in reference]
    parts = [THINK, *({"tool_call": CALL, "response": SAY}[tag] for tag in tags)]
    once = all(completion.count(f"<{tag}>") == completion.count(f"</{tag}>") == 1 for tag in tags)
    pattern = "\n".join(parts)
    return float(once and re.search(f"^{pattern}$", completion, re.DOTALL) is not None)


def overlap(gold: Sequence[str], predicted: Sequence[str]) -> float:
    """Shared elements over all elements (Jaccard, with multiplicity, in any order); 1 if both are empty."""
    shared = sum((Counter(gold) & Counter(predicted)).values())
    total = len(gold) + len(predicted) - shared
    return shared / total if total else 1.0


def match(gold: Sequence[Call], predicted: Sequence[Call], *, grain: str = "fine") -> float:
    """S / S_max in [0, 1]: how well the predicted calls match the gold calls, in whatever order they stand.

    S is the overlap of tool names plus, for each gold call in turn, the best score among the predicted calls of its
    name that are still free: overlap of parameter names plus the number of exact parameter values. S_max is 1 plus
    1 + (number of parameters) for each gold call. With "intermediate" a gold call scores 1 if some call equals it and
    else 0; with "coarse" the whole is 1 if all calls are equal, in order, and else 0.

    Args:
        gold: the calls to make, each with ``name`` and ``parameters``.
        predicted: the calls made.
        grain: "fine", "intermediate" or "coarse".
    """
    if list(gold) == list(predicted) or grain == "coarse":
        return float(list(gold) == list(predicted))
    score, free = overlap([call["name"] for call in gold], [call["name"] for call in predicted]), list(predicted)
    most = 1.0
    for call in gold:
        most += 1 if grain == "intermediate" else 1 + len(call["parameters"])
        scores = [_score(call, other, grain) for other in free]
        if scores and max(scores) > 0:
            score += max(scores)
            del free[scores.index(max(scores))]
    return score / most


def _score(gold: Call, predicted: Call, grain: str) -> float:
    if gold["name"] != predicted["name"] or grain == "intermediate":
        return float(gold == predicted)
    wanted, given = gold["parameters"], predicted["parameters"]
    exact = sum(1.0 for name, value in wanted.items() if name in given and given[name] == value)
    return overlap(list(wanted), list(given)) + exact


def calls(text: str) -> list[Call] | None:
    """The calls between the first ``<tool_call>`` and ``</tool_call>``, one a line; None if they cannot be read."""
    _, opened, rest = text.partition(OPEN)
    inner, closed, _ = rest.partition(CLOSE)
    if not (opened and closed):
        return None
    try:
        found = [json.loads(line) for line in inner.strip().split("\n")]
    except (ValueError, RecursionError):  # no JSON, or a number of more digits than Python reads
        return None
    return found if all(map(_is_call, found)) else None


def _is_call(call: object) -> bool:
    return isinstance(call, dict) and isinstance(call.get("name"), str) and isinstance(call.get("parameters"), dict)


class ToolRL(Reward):
    """R = R_format + R_correct, in place of the environment's reward; in [-3, 4] as the paper has it.

    R_format is 1 if the completion has the tags of its reference, each once and in order, else 0
    (:func:`format_reward`). R_correct = (high - low) S / S_max + low grades its tool calls against those of the
    reference (:func:`match`): ``high`` for the same calls, ``low`` for none, or for calls that cannot be read; 0 where
    the reference calls no tool.

    The completion and its reference (the expert's text for the problem) write calls as lines of JSON::

        <think>both numbers are asked for</think>
        <tool_call>
        {"name": "add", "parameters": {"a": 3, "b": 4}}
        </tool_call>

    Of an episode of several turns, all that was said is graded, a turn after the other.

    Departures: the authors' code takes any exception for an unreadable call; here a call is readable if it is an object
    with a name and an object of parameters. Left out are the paper's length reward and its schedules of the two scales
    over training.

    Args:
        low: R_correct of a completion in which nothing is correct.
        high: R_correct of the calls of the reference.
        grain: "fine", or the coarser "intermediate" and "coarse" of the paper's ablation (see :func:`match`).

    Paper: ToolRL: Reward is All Tool Learning Needs (2025); numbers, the order of matching, the tags and references
    without calls as in the authors' ``rlla.py``, with which it was compared.
    """

    def __init__(self, *, low: float = -3.0, high: float = 3.0, grain: str = "fine") -> None:
        if grain not in GRAINS:
            raise ValueError(unknown("grain", grain, GRAINS))
        if not low < high:
            raise ValueError(f"low must be below high, got {low} and {high}")
        self.low, self.high, self.grain = low, high, grain

    def shape(self, episodes: Episodes, context: Context) -> Tensor:
        """R of each row, ``[B]``; replaces what the environment paid.

        Raises:
            ValueError: no reference has any of the tags that completions are graded by.
        """
        said = ["\n".join(turns) for turns in episodes.completions]
        references = episodes.references()
        if references and not any(tag in reference for reference in references for tag in TAGS):
            raise ValueError(
                f"toolrl grades tool calls by the tags of the expert's texts ({', '.join(TAGS)}), which have none "
                f"here, such as {references[0]!r:.100}: it is for environments with tools"
            )
        graded = [self.grade(*pair) for pair in zip(said, references, strict=True)]
        return episodes.reward.new_tensor(graded)

    def grade(self, completion: str, reference: str) -> float:
        """R of one completion; white space around it does not count.

        Raises:
            ValueError: the reference has tool calls that cannot be read.
        """
        completion = completion.strip()
        return format_reward(completion, reference) + self._correctness(completion, reference)

    def _correctness(self, completion: str, reference: str) -> float:
        if OPEN not in reference:
            return 0.0
        gold, predicted = calls(reference), calls(completion)
        if gold is None:
            raise ValueError(
                f"the reference's tool calls are not lines of JSON with name and parameters: {reference!r:.200}"
            )
        share = 0.0 if predicted is None else match(gold, predicted, grain=self.grain)
        return (self.high - self.low) * share + self.low
