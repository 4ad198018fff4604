"""Ranking accuracy: how often a policy finds the preferred completion of a pair likelier, and how often it could.

* :func:`ranking_accuracy` of a policy, by log-probabilities of whole completions or of their mean token;
* :func:`idealised_accuracy` of the policy that minimises the DPO or RLHF objective: pi* is proportional to
  pi_ref exp(r / beta), so with a Bradley-Terry probability alpha of the preference it ranks a pair correctly where
  log pi_ref(w) / pi_ref(l) + log(alpha / (1 - alpha)) / beta > 0;
* :func:`loss_to_rank`, how low the DPO loss of a pair must fall before it is ranked correctly: with the reference's
  mistake c = log pi_ref(l) / pi_ref(w) that is -log sigmoid(beta c), far below log 2 for a large mistake.

Paper: Preference Learning Algorithms Do Not Learn Preference Rankings (2024), definitions of ranking accuracy, the
idealised ranking accuracy of section 3 and the theorem of section 4; both formulas follow from the objective, as above.
"""

import numpy as np
import numpy.typing as npt

from ..statistics import Floats


def ranked(
    chosen: npt.ArrayLike,
    rejected: npt.ArrayLike,
    *,
    chosen_tokens: npt.ArrayLike | None = None,
    rejected_tokens: npt.ArrayLike | None = None,
) -> npt.NDArray[np.bool_]:
    """Which pairs a policy ranks correctly, ``[pairs]`` bool: log pi(chosen) > log pi(rejected); equals are not.

    Args:
        chosen: log-probabilities of preferred completions, ``[pairs]``.
        rejected: of the others.
        chosen_tokens: lengths of the preferred ones; given both, log-probabilities of the mean token are compared.
        rejected_tokens: lengths of the others.

    Raises:
        ValueError: other shapes, one length without the other, or a length below 1.
    """
    ours, theirs = _pairs(chosen, rejected)
    if (chosen_tokens is None) != (rejected_tokens is None):
        raise ValueError("give the lengths of chosen and of rejected completions, or of neither")
    if chosen_tokens is not None and rejected_tokens is not None:
        lengths = _pairs(chosen_tokens, rejected_tokens)
        if min(map(np.min, lengths)) < 1 or lengths[0].shape != ours.shape:
            raise ValueError("give a length of at least 1 for every completion")
        ours, theirs = ours / lengths[0], theirs / lengths[1]
    return np.asarray(ours > theirs)


def ranking_accuracy(chosen: npt.ArrayLike, rejected: npt.ArrayLike, **lengths: npt.ArrayLike) -> float:
    """The share of :func:`ranked` pairs."""
    return float(ranked(chosen, rejected, **lengths).mean())


def idealised(
    chosen_ref: npt.ArrayLike, rejected_ref: npt.ArrayLike, preference: npt.ArrayLike, *, beta: float
) -> npt.NDArray[np.bool_]:
    """Which pairs the optimum of the objective ranks correctly, ``[pairs]`` bool.

    Args:
        chosen_ref: log-probabilities under the reference of preferred completions, ``[pairs]``.
        rejected_ref: of the others.
        preference: alpha, the probability that the chosen one is preferred, ``[pairs]``; 1 where all agree.
        beta: of the objective.

    Raises:
        ValueError: other shapes, probabilities beyond 0 to 1, or a beta that is not positive.
    """
    ours, theirs = _pairs(chosen_ref, rejected_ref)
    alpha = np.broadcast_to(np.asarray(preference, np.float64), ours.shape)
    if not ((alpha >= 0) & (alpha <= 1)).all():
        raise ValueError("the probability of a preference lies between 0 and 1")
    _check_beta(beta)
    with np.errstate(divide="ignore"):
        odds = np.log(alpha) - np.log1p(-alpha)
    return np.asarray(ours - theirs + odds / beta > 0)


def idealised_accuracy(
    chosen_ref: npt.ArrayLike, rejected_ref: npt.ArrayLike, preference: npt.ArrayLike, *, beta: float
) -> float:
    """The share of :func:`idealised` pairs; less than 1 where preferences are divided and the reference is against."""
    return float(idealised(chosen_ref, rejected_ref, preference, beta=beta).mean())


def loss_to_rank(chosen_ref: npt.ArrayLike, rejected_ref: npt.ArrayLike, *, beta: float) -> Floats:
    """The DPO loss at which a policy ranks a pair equal, ``[pairs]``: it is correct below, and wrong above.

    Raises:
        ValueError: other shapes, or a beta that is not positive.
    """
    ours, theirs = _pairs(chosen_ref, rejected_ref)
    _check_beta(beta)
    return np.logaddexp(0.0, -beta * (theirs - ours))


def dpo_loss(
    chosen: npt.ArrayLike,
    rejected: npt.ArrayLike,
    chosen_ref: npt.ArrayLike,
    rejected_ref: npt.ArrayLike,
    *,
    beta: float,
) -> Floats:
    """-log sigmoid(beta (log pi(w) / pi(l) - log pi_ref(w) / pi_ref(l))) of every pair, ``[pairs]``.

    Raises:
        ValueError: other shapes, or a beta that is not positive.
    """
    ours, reference = np.subtract(*_pairs(chosen, rejected)), np.subtract(*_pairs(chosen_ref, rejected_ref))
    _check_beta(beta)
    return np.logaddexp(0.0, -beta * (ours - reference))


def _pairs(chosen: npt.ArrayLike, rejected: npt.ArrayLike) -> tuple[Floats, Floats]:
    ours, theirs = np.asarray(chosen, np.float64), np.asarray(rejected, np.float64)
    if ours.shape != theirs.shape or ours.ndim != 1 or not len(ours):
        raise ValueError(f"give one number for both completions of every pair, got {ours.shape} and {theirs.shape}")
    return ours, theirs


def _check_beta(beta: float) -> None:
    if not beta > 0:
        raise ValueError(f"beta must be positive, got {beta}")
