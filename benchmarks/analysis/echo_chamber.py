"""Formats of completions: how training by rewards concentrates on one of those that pretraining mixed.

Completions are sorted into formats by what they look like; :func:`shares` follows how much of the policy's output each
has, :func:`accuracy` how often completions of a format are correct, and :func:`dominant` which one takes over. The
format that is correct most often at first is not always the one that wins: a commoner one may be.

    shares(texts, {"code": r"return ", "words": r"^The answer"})

Paper: Echo Chamber: RL Post-training Amplifies Behaviors Learned in Pretraining (2025), section 3.
"""

import re
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

OTHER = "other"
"""The format of what no pattern finds."""


def formats(texts: Sequence[str], patterns: Mapping[str, str]) -> list[str]:
    """The format of every completion: the first whose pattern is found in it, or :data:`OTHER`.

    Args:
        texts: completions.
        patterns: regular expressions by format, in order of precedence.

    Raises:
        ValueError: a pattern that cannot be read, or a format called "other".
    """
    if OTHER in patterns:
        raise ValueError(f"{OTHER!r} is what no pattern finds: call the format something else")
    try:
        compiled = {name: re.compile(pattern) for name, pattern in patterns.items()}
    except re.error as error:
        raise ValueError(f"a format's pattern cannot be read: {error}") from error
    return [next((name for name, one in compiled.items() if one.search(text)), OTHER) for text in texts]


def shares(texts: Sequence[str], patterns: Mapping[str, str]) -> dict[str, float]:
    """The share of completions of every format, "other" included; they sum to 1.

    Raises:
        ValueError: no completions, or as :func:`formats`.
    """
    if not texts:
        raise ValueError("shares need at least one completion")
    found = formats(texts, patterns)
    return {name: found.count(name) / len(found) for name in (*patterns, OTHER)}


def accuracy(texts: Sequence[str], correct: npt.ArrayLike, patterns: Mapping[str, str]) -> dict[str, float]:
    """How often completions of a format are correct; NaN where there is none of it.

    Args:
        texts: completions.
        correct: whether each is, bool.
        patterns: as in :func:`formats`.

    Raises:
        ValueError: not as many of both, or as :func:`formats`.
    """
    right = np.asarray(correct, bool)
    if right.shape != (len(texts),):
        raise ValueError(f"say of each of {len(texts)} completions whether it is correct, got shape {right.shape}")
    found = np.array(formats(texts, patterns))
    return {
        name: float(right[found == name].mean()) if (found == name).any() else float("nan")
        for name in (*patterns, OTHER)
    }


def dominant(course: Sequence[Mapping[str, float]], *, least: float = 0.9) -> tuple[str, int] | None:
    """The format that takes over, and the moment from which on it has at least a share of ``least``.

    Args:
        course: shares at every moment of training, as :func:`shares` gives them.
        least: from above 1/2 to 1.

    Returns:
        None where no format has that share at the end.

    Raises:
        ValueError: no moments, or a share that two formats could have.
    """
    if not course or not 0.5 < least <= 1:
        raise ValueError("give the shares of at least one moment, and a least share above 1/2 and at most 1")
    name = max(course[-1], key=lambda one: course[-1][one])
    if course[-1][name] < least:
        return None
    below = [moment for moment, now in enumerate(course) if now.get(name, 0.0) < least]
    return name, below[-1] + 1 if below else 0


def predicted(first: Mapping[str, float], right: Mapping[str, float]) -> str:
    """The format that should win: the one with the largest share of correct completions, share x accuracy, at first.

    Args:
        first: shares before training.
        right: accuracies before training; NaN counts as 0.
    """
    gained = {name: share * np.nan_to_num(right.get(name, 0.0)) for name, share in first.items()}
    return max(gained, key=lambda name: float(gained[name]))
