"""Gradient steps on completions: one on a method's loss, one on demonstrations."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from ..diverged import Diverged
from ..models.batches import pieces
from ..models.language_model import LanguageModel
from ..models.transformer import Transformer
from ..objectives.parts.aggregates import token_mean
from ..objectives.parts.ops import masked_mean, masked_sum
from ..objectives.registry import Objective
from .rollouts import PolicyOut, Rollouts, Support

IMPORTANCE_CAP = 2.0
"""Tokens drawn from another distribution than the one that is trained weigh at most so much."""

MAX_DRAWS = 8
"""Batches of stored rows that are drawn at most to find one with a gradient."""

Metrics = dict[str, Tensor]


@dataclass(frozen=True)
class Term:
    """Another loss of a gradient step: an objective on rows of its own."""

    name: str
    objective: Objective
    rollouts: Rollouts
    weight: float = 1.0


def policy_gradient_step(
    policy: LanguageModel,
    objective: Objective,
    rollouts: Rollouts,
    advantage: Tensor,
    *,
    ent_coef: float = 0.0,
    max_grad_norm: float = 1.0,
    terms: Sequence[Term] = (),
) -> Metrics:
    """Descends the objective's loss minus ``ent_coef`` times the entropy, once, on all of ``rollouts``.

    Completions whose advantage is 0 are not run through the network where that cannot change the gradient. Tokens that
    were drawn from another distribution (``behaviour_logp``) are weighed by :func:`importance`.

    Args:
        policy: what is trained.
        objective: the method.
        rollouts: B completions.
        advantage: ``[B]`` or ``[B, T]``.
        ent_coef: weight of the entropy bonus.
        max_grad_norm: the gradient is scaled down to this norm.
        terms: losses that join it.

    Returns:
        The objective's metrics and ``entropy`` and ``approx_kl`` (from the policy that wrote the completions to the
        policy before this step), means over the tokens that were run, and ``loss`` and ``grad_norm``; each term's loss.
    """
    policy.optimizer.zero_grad()
    metrics = backward(policy, objective, rollouts, advantage, ent_coef=ent_coef)
    joined = descend_terms(policy, terms)
    if not metrics and not joined:
        return {}
    return {**metrics, **joined, "grad_norm": step(policy, max_grad_norm)}


def descend_terms(policy: LanguageModel, terms: Sequence[Term]) -> Metrics:
    """Adds the gradients of ``terms``; returns their losses by name."""
    losses: Metrics = {}
    for term in terms:
        advantage = term.objective.advantage(term.rollouts)
        found = backward(policy, term.objective, term.rollouts, advantage, weight=term.weight)
        losses |= {f"{term.name}_loss": found["loss"]} if found else {}
    return losses


def descend_drawn(policy: LanguageModel, draw: Callable[[], list[Term]]) -> tuple[list[Term], Metrics]:
    """Adds the gradients of the terms that ``draw`` returns, of the first of up to ``MAX_DRAWS`` that have any.

    Returns:
        The terms and their losses by name.

    Raises:
        ValueError: none had a gradient.
    """
    for _ in range(MAX_DRAWS):
        terms = draw()
        policy.optimizer.zero_grad()
        losses = descend_terms(policy, terms)
        if losses:
            return terms, losses
    methods = " and ".join(repr(term.objective.handle) for term in terms)
    raise ValueError(
        f"{MAX_DRAWS} batches of the stored rows held nothing that method {methods} learns from: pairs need a chosen "
        "and a rejected completion, and groups need completions with different rewards"
    )


def backward(
    policy: LanguageModel,
    objective: Objective,
    rollouts: Rollouts,
    advantage: Tensor,
    *,
    ent_coef: float = 0.0,
    weight: float = 1.0,
) -> Metrics:
    """Adds the gradient of an objective's loss, ``weight`` times; returns the metrics, none where it is 0."""
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
        own_weights = weights[rows[piece], :length] * importance(part)
        loss = masked_sum((per_token - ent_coef * out.entropy) * own_weights, part.mask)
        metrics["entropy"] = masked_mean(out.entropy.detach(), part.mask)
        moved = torch.where(part.mask, out.logp.detach() - part.logp_old, 0.0)
        metrics["approx_kl"] = masked_mean(moved.exp() - 1 - moved, part.mask)
        gathered.append((int(part.mask.sum()), metrics))
        return loss if weight == 1 else weight * loss

    tokens, mask = rollouts.tokens[rows], rollouts.mask[rows]
    group = rollouts.group[rows] if "groups" in objective.needs else None
    loss = accumulate(policy, tokens, mask, loss_of, group, "logp_mean" in objective.needs, rollouts.support)
    written = sum(n for n, _ in gathered)
    means = {name: sum((n * m[name] for n, m in gathered), torch.zeros(())) / written for name in gathered[0][1]}
    return {**means, "loss": loss}


def importance(rollouts: Rollouts) -> Tensor | float:
    """min(pi_old / behaviour, cap) of each token ``[B, T]``, where it was drawn from another distribution; else 1.

    pi_old is the policy before this iteration's steps, under the prompt and at the temperature that are trained;
    ratios of objectives are taken against it.

    Source: decoupled PPO (Batch size-invariance for policy optimization, 2021); the cap is that of truncated importance
    sampling as used where samplers and trainers differ.
    """
    if rollouts.behaviour_logp is None:
        return 1.0
    return torch.where(rollouts.mask, rollouts.logp_old - rollouts.behaviour_logp, 0.0).exp().clamp(max=IMPORTANCE_CAP)


def corrected(rollouts: Rollouts, correction: str) -> Rollouts:
    """Tokens drawn from another distribution as the steps are to take them: ``correction`` of ``PolicyGradient``.

    Where a policy is trained among some tokens (``support``), ratios are taken against what was drawn among these.
    """
    correction = correction if rollouts.support is None else "ratio"
    if rollouts.behaviour_logp is None or correction == "weight":
        return rollouts
    logp_old = rollouts.behaviour_logp if correction == "ratio" else rollouts.logp_old
    return replace(rollouts, behaviour_logp=None, logp_old=logp_old)


def imitation_step(policy: LanguageModel, tokens: Tensor, mask: Tensor, *, max_grad_norm: float = 1.0) -> Tensor:
    """Descends the mean negative log-likelihood of the tokens in ``mask`` once; returns it."""
    weights = token_mean(mask)

    def loss_of(piece: Tensor, out: PolicyOut) -> Tensor:
        length = out.logp.shape[1]
        return -masked_sum(out.logp * weights[piece, :length], mask[piece, :length])

    return descend(policy, tokens, mask, loss_of, max_grad_norm)[0]


def descend(
    policy: LanguageModel,
    tokens: Tensor,
    mask: Tensor,
    loss_of: Callable[[Tensor, PolicyOut], Tensor],
    max_grad_norm: float,
) -> tuple[Tensor, Tensor]:
    """One optimiser step on the sum of ``loss_of(rows, policy_out)`` over pieces of the batch (see :func:`pieces`).

    Returns:
        The loss and the gradient's norm before clipping.
    """
    policy.optimizer.zero_grad()
    total = accumulate(policy, tokens, mask, loss_of)
    return total, step(policy, max_grad_norm)


def accumulate(
    policy: LanguageModel,
    tokens: Tensor,
    mask: Tensor,
    loss_of: Callable[[Tensor, PolicyOut], Tensor],
    group: Tensor | None = None,
    vocabulary_mean: bool = False,
    support: Support | None = None,
) -> Tensor:
    """Adds the gradient of the sum of ``loss_of(rows, policy_out)`` over pieces of the batch; returns that sum."""
    total = torch.zeros((), device=tokens.device)
    among = {} if support is None else {"support": support}
    for rows, length in pieces(mask, group=group):
        out = policy.evaluate(tokens[rows, :length], mask[rows, :length], vocabulary_mean=vocabulary_mean, **among)
        loss = loss_of(rows, out)
        loss.backward()  # type: ignore[no-untyped-call]
        total += loss.detach()
    return total


def step(policy: LanguageModel, max_grad_norm: float) -> Tensor:
    """One optimiser step by the gradient that has been added up; returns its norm before clipping.

    Raises:
        Diverged: a gradient that is not finite; the step is not taken.
    """
    norm = torch.nn.utils.clip_grad_norm_(policy.network.parameters(), max_grad_norm)
    if not norm.isfinite():
        raise Diverged(
            f"the gradient's norm is {float(norm)}, and the step was not taken: the policy is as it was before it; "
            "lower the learning rate, and check the method's parameters and the weights of data"
        )
    policy.optimizer.step()
    return norm


def minibatches(group: Tensor, size: int, rng: np.random.Generator, *, whole: bool) -> Iterator[Tensor]:
    """Cuts a batch into random parts of ``size`` rows, each row once; the last may be smaller.

    Args:
        group: ``[B]`` int64.
        size: rows.
        rng: shuffles.
        whole: keep rows of a group together; parts then have at least ``size`` rows, but for the last.
    """
    if not whole:
        yield from torch.split(torch.from_numpy(rng.permutation(len(group))).to(group.device), size)
        return
    members = [(group == number).nonzero()[:, 0] for number in torch.unique(group)]
    part: list[Tensor] = []
    for i in rng.permutation(len(members)):
        part.append(members[i])
        if sum(map(len, part)) >= size:
            yield torch.cat(part)
            part = []
    if part:
        yield torch.cat(part)


def reference_logp(policy: LanguageModel, reference: Transformer, rollouts: Rollouts) -> Tensor:
    """Log-probabilities ``[B, T]`` of the completions under another network."""
    return logp_of(policy, rollouts.tokens, rollouts.mask, reference)


@torch.no_grad()
def logp_of(policy: LanguageModel, tokens: Tensor, mask: Tensor, network: Transformer | None = None) -> Tensor:
    """Log-probabilities ``[B, T]`` of the tokens in ``mask`` under ``network`` (None: the policy's own)."""
    logp = torch.zeros(mask.shape, device=tokens.device)
    for rows, length in pieces(mask):
        logp[rows, :length] = policy.evaluate(tokens[rows, :length], mask[rows, :length], network).logp
    return logp


@torch.no_grad()
def vocabulary_means(policy: LanguageModel, rollouts: Rollouts) -> Tensor:
    """The mean log-probability ``[B, T]`` of all tokens at each position of the completions."""
    means = torch.zeros_like(rollouts.logp_old)
    for rows, length in pieces(rollouts.mask):
        out = policy.evaluate(rollouts.tokens[rows, :length], rollouts.mask[rows, :length], vocabulary_mean=True)
        assert out.logp_mean is not None
        means[rows, :length] = out.logp_mean
    return means
