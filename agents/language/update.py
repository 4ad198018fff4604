"""Gradient steps on answers: one on a method's loss, one on demonstrations."""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from ..objectives.ops import masked_mean, masked_sum, token_mean
from ..objectives.registry import Objective
from .policy import TextPolicy
from .rollouts import PolicyOut, Rollouts
from .transformer import Transformer

MICRO_BATCH_TOKENS = 4096
"""Forward and backward run on pieces of at most so many tokens, whose activations stay in the processor's cache."""

Metrics = dict[str, Tensor]


def policy_gradient_step(
    policy: TextPolicy,
    objective: Objective,
    rollouts: Rollouts,
    advantage: Tensor,
    *,
    ent_coef: float = 0.0,
    max_grad_norm: float = 1.0,
) -> Metrics:
    """Descends the objective's loss minus ``ent_coef`` times the entropy, once, on all of ``rollouts``.

    Answers whose advantage is 0 are not run through the network where that cannot change the gradient.

    Args:
        policy: what is trained.
        objective: the method.
        rollouts: B answers.
        advantage: ``[B]`` or ``[B, T]``.
        ent_coef: weight of the entropy bonus.
        max_grad_norm: the gradient is scaled down to this norm.

    Returns:
        Means over the answers that were run: the objective's metrics and ``loss``, ``entropy``, ``grad_norm``.
    """
    weights = objective.aggregate(rollouts.mask)
    rows = torch.arange(len(rollouts), device=rollouts.tokens.device)
    if objective.silent_at_zero and ent_coef == 0:
        rows = rows[(advantage != 0).flatten(1).any(1) if advantage.dim() > 1 else advantage != 0]
    if len(rows) == 0:
        return {}
    gathered: list[tuple[int, Metrics]] = []

    def loss_of(piece: Tensor, out: PolicyOut) -> Tensor:
        part = rollouts.take(rows[piece])
        length = part.mask.shape[1]
        own = advantage[rows[piece]] if advantage.dim() == 1 else advantage[rows[piece], :length]
        per_token, metrics = objective.loss(part, own, out)
        loss = masked_sum((per_token - ent_coef * out.entropy) * weights[rows[piece], :length], part.mask)
        metrics["entropy"] = masked_mean(out.entropy.detach(), part.mask)
        gathered.append((len(piece), metrics))
        return loss

    loss, norm = descend(policy, rollouts.tokens[rows], rollouts.mask[rows], loss_of, max_grad_norm)
    names = gathered[0][1]
    means = {name: sum((n * m[name] for n, m in gathered), torch.zeros(())) / len(rows) for name in names}
    return {**means, "loss": loss, "grad_norm": norm}


def imitation_step(policy: TextPolicy, tokens: Tensor, mask: Tensor, *, max_grad_norm: float = 1.0) -> Tensor:
    """Descends the mean negative log-likelihood of the tokens in ``mask`` once; returns it."""
    weights = token_mean(mask)

    def loss_of(piece: Tensor, out: PolicyOut) -> Tensor:
        length = out.logp.shape[1]
        return -masked_sum(out.logp * weights[piece, :length], mask[piece, :length])

    return descend(policy, tokens, mask, loss_of, max_grad_norm)[0]


def descend(
    policy: TextPolicy,
    tokens: Tensor,
    mask: Tensor,
    loss_of: Callable[[Tensor, PolicyOut], Tensor],
    max_grad_norm: float,
) -> tuple[Tensor, Tensor]:
    """One optimiser step on the sum of ``loss_of(rows, policy_out)`` over pieces of the batch.

    Returns:
        The loss and the gradient's norm before clipping.
    """
    policy.optimizer.zero_grad()
    total = torch.zeros((), device=tokens.device)
    for rows, length in pieces(mask):
        loss = loss_of(rows, policy.evaluate(tokens[rows, :length], mask[rows, :length]))
        loss.backward()  # type: ignore[no-untyped-call]
        total += loss.detach()
    norm = torch.nn.utils.clip_grad_norm_(policy.network.parameters(), max_grad_norm)
    policy.optimizer.step()
    return total, norm


def pieces(mask: Tensor, budget: int = MICRO_BATCH_TOKENS) -> Iterator[tuple[Tensor, int]]:
    """Cuts a batch into pieces of similar length: row indices, and the length of the longest of them.

    Args:
        mask: ``[B, T]`` bool.
        budget: rows times length of a piece stays below this (a single longer row is a piece of its own).
    """
    columns = torch.arange(1, mask.shape[1] + 1, device=mask.device)
    lengths, order = (mask * columns).amax(1).sort()
    start = 0
    ends = lengths.tolist()
    for stop in range(1, len(ends) + 1):
        if stop == len(ends) or (stop + 1 - start) * ends[stop] > budget:
            yield order[start:stop], ends[stop - 1]
            start = stop


@torch.no_grad()
def reference_logp(policy: TextPolicy, reference: Transformer, rollouts: Rollouts) -> Tensor:
    """Log-probabilities ``[B, T]`` of the answers under another network."""
    logp = torch.zeros_like(rollouts.logp_old)
    for rows, length in pieces(rollouts.mask):
        out = policy.evaluate(rollouts.tokens[rows, :length], rollouts.mask[rows, :length], reference)
        logp[rows, :length] = out.logp
    return logp
