"""Implicit PRM: process rewards from an outcome reward model that is a log-likelihood ratio of two language models."""

from copy import deepcopy
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.nn import functional as F

from ... import unknown
from ..components import Context, Episodes, Reward
from .steps import by_step, step_ends

PAYS = ("difference", "probability")


def token_rewards(logp: Tensor, logp_ref: Tensor, mask: Tensor, *, beta: float) -> Tensor:
    """r_t = beta log(pi_phi(y_t) / pi_ref(y_t)) = q_t - q_(t-1), ``[B, T]``; 0 outside the mask."""
    return torch.where(mask, beta * (logp - logp_ref), 0.0)


def cross_entropy(rewards: Tensor, success: Tensor) -> Tensor:
    """-l log sigmoid(r) - (1 - l) log(1 - sigmoid(r)), r the sum of a row's token rewards, l its success; ``[B]``."""
    return F.binary_cross_entropy_with_logits(rewards.sum(1), success.to(rewards.dtype), reduction="none")


class ImplicitPRM(Reward):
    """r = r + weight * process reward, where q_t = beta sum_(s <= t) log(pi_phi(y_s) / pi_ref(y_s)) scores a beginning.

    pi_phi is a second language model, trained on nothing but which completions succeeded: sigmoid(q_T) of a whole
    completion is its probability of success, fitted by cross-entropy. By the paper's proposition q_t then is the
    exponential average beta log E exp(r / beta) of the outcome reward r over pi_ref's continuations of the first t
    tokens, so that q_t - q_(t-1) over a step's tokens is its process reward, without the label of any step.
    ``pays="difference"`` pays that; ``pays="probability"`` pays sigmoid(q_t) at the end of each step, as process reward
    models that score steps do (see ``"clip-and-delta"``).

    pi_phi and pi_ref begin as the policy when training begins, after its warm start; pi_ref stays. pi_phi learns after
    each iteration from its completions, so that what is paid never was fitted to the completions themselves.

    Departures: the paper trains pi_phi once, on stored completions of several models, and ranks completions by it
    (best of n by the minimum of q over steps, or weighted majority); the same model pays here while the policy learns.
    Its learning rate is for models of 8B parameters (5e-7). Left out are its other losses (DPO, KTO, NCA) and the
    ranking.

    Args:
        beta: scale of the log-ratios.
        weight: of the process rewards beside what the episode earned.
        pays: "difference" or "probability".
        separator: text with which a step ends (nothing: each turn is one).
        learning_rate: of Adam.
        n_epochs: passes over an iteration's completions.
        batch_size: completions a gradient step.

    Paper: Free Process Rewards without Process Labels (2024), its proposition and cross-entropy loss, as in the
    authors' ``ce_trainer.py``; beta and batch size as in their ``run_ce.sh``.
    """

    needs: ClassVar[tuple[str, ...]] = ("logp_ref",)
    network: Any = None

    def __init__(
        self,
        *,
        beta: float = 0.05,
        weight: float = 1.0,
        pays: str = "difference",
        separator: str = " ",
        learning_rate: float = 1e-4,
        n_epochs: int = 1,
        batch_size: int = 64,
    ) -> None:
        if pays not in PAYS:
            raise ValueError(unknown("pays", pays, PAYS))
        if beta <= 0 or batch_size < 1 or n_epochs < 0:
            raise ValueError(
                f"beta and batch_size must be above 0 and n_epochs 0 or more, got {beta}, {batch_size} and {n_epochs}"
            )
        self.beta, self.weight, self.pays, self.separator = beta, weight, pays, separator
        self.learning_rate, self.n_epochs, self.batch_size = learning_rate, n_epochs, batch_size

    def start(self, context: Context) -> None:
        """Begins pi_phi with the policy as it is now."""
        self.network = deepcopy(context.policy.network).requires_grad_(True)
        self.network.optimizer = torch.optim.AdamW(
            self.network.parameters(), lr=self.learning_rate, betas=(0.9, 0.95), weight_decay=0.0
        )

    def networks(self) -> dict[str, Any]:
        """pi_phi."""
        return {"implicit_prm": self.network}

    def shape(self, episodes: Episodes, context: Context) -> Tensor:
        """Rewards ``[B, T]``: what was there, and on the last token of each step its process reward."""
        logp = context.score(episodes.tokens, episodes.mask, self.network)
        rewards = token_rewards(logp, self._reference(episodes, context), episodes.mask, beta=self.beta)
        ends = step_ends(episodes, context, self.separator)
        paid = by_step(rewards, ends) if self.pays == "difference" else ends * rewards.cumsum(1).sigmoid()
        return episodes.token_reward + self.weight * paid

    def fit(self, episodes: Episodes, context: Context) -> dict[str, float]:
        """Passes of gradient steps on the cross-entropy of which episodes succeeded; returns its mean."""
        success, reference = episodes.info["success"], self._reference(episodes, context)
        losses = []
        for _ in range(self.n_epochs):
            order = torch.from_numpy(context.rng.permutation(len(success))).to(success.device)
            for rows in torch.split(order, self.batch_size):
                tokens, mask = episodes.tokens[rows], episodes.mask[rows]
                logp = context.policy.evaluate(tokens, mask, self.network).logp
                rewards = token_rewards(logp, reference[rows], mask, beta=self.beta)
                losses.append(self._step(cross_entropy(rewards, success[rows]).mean()))
        return {"implicit_prm_loss": sum(losses) / len(losses)} if losses else {}

    def _step(self, loss: Tensor) -> float:
        self.network.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
        self.network.optimizer.step()
        return float(loss.detach())

    def _reference(self, episodes: Episodes, context: Context) -> Tensor:
        return context.score_reference(episodes.tokens, episodes.mask)
