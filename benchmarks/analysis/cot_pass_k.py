"""CoT-pass@k: pass@k of completions whose reasoning is correct as well as their answer.

    CoT-pass@k = 1 - C(n - d, k) / C(n, k),    d of n completions with a correct chain of thought and a correct answer

A guessed answer counts in pass@k and not here, which is why the two can disagree on whether training helped. Whether
steps are correct is the caller's to decide: here by a program, in the paper by a language model.

Paper: Reinforcement Learning with Verifiable Rewards Implicitly Incentivizes Correct Reasoning in Base LLMs (2025),
section 3.
"""

import numpy as np
import numpy.typing as npt

from ..statistics import Floats, pass_at_k


def cot_pass_at_k(answers: npt.ArrayLike, chains: npt.ArrayLike, k: int) -> Floats:
    """CoT-pass@k of every problem, ``[problems]``; their mean is the benchmark's. It never exceeds pass@k.

    Args:
        answers: whether each completion's answer is correct, ``[problems, n]`` bool.
        chains: whether its reasoning is, ``[problems, n]`` bool.
        k: at most n.

    Raises:
        ValueError: other shapes, or a k beyond 1 to n.
    """
    right, sound = np.asarray(answers, bool), np.asarray(chains, bool)
    if right.shape != sound.shape or right.ndim != 2 or not right.size:
        raise ValueError(f"answers and chains are both [problems, n], got shapes {right.shape} and {sound.shape}")
    return np.atleast_1d(np.asarray(pass_at_k(right.shape[1], (right & sound).sum(1), k), np.float64))


def guessed(answers: npt.ArrayLike, chains: npt.ArrayLike) -> float:
    """The share of correct answers whose reasoning is not: by how much accuracy is inflated. NaN where none is correct.

    Args:
        answers: as in :func:`cot_pass_at_k`.
        chains: likewise.
    """
    right, sound = np.asarray(answers, bool), np.asarray(chains, bool)
    return float((right & ~sound).sum() / right.sum()) if right.any() else float("nan")
