"""PAV's verifier: the chance of success from each token on, learnt from completions before training."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch

from ....wrappers.components import Curriculum
from ...models.critic import RATE, Critic
from ...objectives.parts.ops import masked_mean
from ..context import Context
from ..rollouts import Rollouts
from .base import Provider

PROBLEMS, GROUP = 256, 4
"""Problems of the train split that the verifier learns from, and completions of each."""
PASSES, BATCH = 4, 64
"""Passes over these completions, and completions of which the critic takes its gradient steps together."""


class Verifier(Provider):
    """``Rollouts.values``: the chance that the policy as it was before training succeeds, from each token on.

    Before the first iteration the policy completes :data:`PROBLEMS` problems :data:`GROUP` times each, which are graded
    and count as timesteps. A critic that begins as the policy is fitted to their rewards, each of which is the label of
    all tokens of its completion, and stays as it is from then on.

    Departures: the paper labels each step by the mean over several completions that a prover begins there, and fits
    cross-entropy; here each completion labels its own steps, and errors are squared, which has the same minimum.

    Paper: Rewarding Progress: Scaling Automated Process Verifiers for LLM Reasoning (2024), the training of PAVs.
    """

    def start(self, context: Context) -> None:
        """Makes a critic that knows the language as the policy does."""
        self.critic, self.fitted = Critic(context.policy.network), False

    def begin(self, context: Context) -> None:
        """Plays and learns, once.

        Raises:
            StopTraining: a callback asked for it; nothing has been learnt.
        """
        if not self.fitted:
            self.learn(context.play(Curriculum().sample(PROBLEMS, context.rng), group_size=GROUP), context)
            self.fitted = True

    def learn(self, rollouts: Rollouts, context: Context) -> None:
        """Fits the critic to the rewards of completions."""
        labels = rollouts.reward[:, None].expand(rollouts.mask.shape)
        for _ in range(PASSES):
            for rows in torch.split(torch.from_numpy(context.rng.permutation(len(rollouts))), BATCH):
                self.critic.fit(
                    rollouts.take(rows := rows.to(labels.device)),
                    labels[rows],
                    learning_rate=RATE * context.learning_rate,
                    max_grad_norm=context.max_grad_norm,
                )

    def supply(self, rollouts: Rollouts, context: Context) -> Rollouts:
        """With ``values``."""
        return replace(rollouts, values=self.critic.values(rollouts))

    def measure(self, rollouts: Rollouts) -> dict[str, float]:
        """``verifier_error``: the mean square of value minus reward over written tokens (Brier score)."""
        error = (rollouts.need("values") - rollouts.reward[:, None]).square()
        return {"verifier_error": float(masked_mean(error, rollouts.mask))}

    def networks(self) -> dict[str, Any]:
        """The critic."""
        return {"verifier": self.critic}

    def state_dict(self) -> dict[str, Any]:
        """Whether it has learnt."""
        return {"fitted": self.fitted}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Becomes what :meth:`state_dict` described."""
        self.fitted = bool(state["fitted"])
