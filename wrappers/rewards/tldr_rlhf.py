"""A reward model that learns from preferences between completions, in place of what the environment pays."""

import math
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..components import Context, Curriculum, Episodes, Reward
from .groups import sampled


class Scorer(nn.Module):
    """r(x, y): the policy's network as it is now, with a number at the last written token in place of logits.

    Args:
        network: is copied.
        generator: draws the last layer, from N(0, 1 / (width + 1)).
    """

    def __init__(self, network: Any, generator: torch.Generator) -> None:
        super().__init__()
        self.body = deepcopy(network).requires_grad_(True)
        drawn = torch.randn(network.width, generator=generator) / math.sqrt(network.width + 1)
        self.weight = nn.Parameter(drawn.to(network.embedding.weight))

    def forward(self, episodes: Episodes) -> Tensor:
        """Scores ``[B]`` of whole episodes; 0 where nothing was written."""
        last = episodes.last_token()
        stop = int(last.any(0).nonzero().max()) + 1 if last.any() else 1
        hidden = self.body(episodes.tokens[:, :stop])
        at_last = (hidden * last[:, :stop, None]).sum(1)
        scores: Tensor = at_last @ self.weight
        return scores


def preference_loss(better: Tensor, worse: Tensor) -> Tensor:
    """-log sigmoid(r(x, y_better) - r(x, y_worse)), mean over pairs (Stiennon et al. 2020, section 3.4)."""
    return -F.logsigmoid(better - worse).mean()


class RewardModel(Reward):
    """r(x, y) of a network that has learnt which of two completions was preferred; it takes the place of the reward.

    Before the first iteration the policy completes ``pairs`` problems of the train split twice each. Of two completions
    that the environment paid differently the better paid one is preferred, or with the probability ``flips`` the other,
    as annotators err. The network begins as the policy, with a random last layer, and learns from the pairs by
    :func:`preference_loss`; then scores are shifted so that these completions have a mean of 0, and it stays as it is.
    The completions are graded and count as timesteps. Evaluations are of what the environment pays, the *gold* reward.

    The recipe of the paper is a policy that was taught by demonstrations (``policy=`` a base checkpoint, or
    ``warm_start_steps=``), ``method="ppo"`` and ``rewards=["tldr-rlhf", "kl-penalty"]``. A policy that drifts far
    enough earns what the reward model errs in, while the gold reward falls. The metric ``reward_model_accuracy`` is how
    often the model puts a success above a failure of the same group.

    Departures: preferences are of the environment, not of people; there is one round of them; the critic of
    ``"ppo"`` begins as the policy, not as the reward model.

    Args:
        pairs: problems that are completed twice.
        flips: the probability that the worse completion is preferred.
        learning_rate: of Adam.
        n_epochs: passes over the pairs.
        batch_size: pairs a gradient step.

    Raises:
        ValueError: a number out of range.

    Paper: Learning to summarize from human feedback (2020), section 3.4.
    """

    def __init__(
        self,
        *,
        pairs: int = 512,
        flips: float = 0.0,
        learning_rate: float = 1e-4,
        n_epochs: int = 1,
        batch_size: int = 32,
    ) -> None:
        if pairs < 1 or batch_size < 1 or n_epochs < 1 or not learning_rate > 0:
            raise ValueError(
                "pairs, batch_size and n_epochs are at least 1 and learning_rate above 0, got "
                f"{pairs}, {batch_size}, {n_epochs} and {learning_rate}"
            )
        if not 0 <= flips < 0.5:
            raise ValueError(f"flips is a probability from 0 to below 0.5, got {flips}")
        self.pairs, self.flips = pairs, flips
        self.learning_rate, self.n_epochs, self.batch_size = learning_rate, n_epochs, batch_size

    def start(self, context: Context) -> None:
        """Begins the network with the policy as it is now."""
        generator = torch.Generator().manual_seed(int(context.rng.integers(2**31)))
        self.network, self.shift, self.fitted = Scorer(context.policy.network, generator), 0.0, False

    def begin(self, context: Context) -> None:
        """Plays and learns, once.

        Raises:
            StopTraining: a callback asked for it; nothing has been learnt.
            ValueError: no problem was completed in two ways that earned differently.
        """
        if not self.fitted:
            self.learn(context.play(Curriculum().sample(self.pairs, context.rng), group_size=2), context)
            self.fitted = True

    def learn(self, episodes: Any, context: Context) -> None:
        """Fits the network to preferences between the two completions of each group.

        Raises:
            ValueError: all pairs earned the same.
        """
        paid = episodes.reward.view(-1, 2)
        differ = (paid[:, 0] != paid[:, 1]).nonzero()[:, 0]
        if not len(differ):
            raise ValueError(
                f"a reward model learns from two completions of a problem that earned differently, and of {len(paid)} "
                "problems there is none: warm-start the policy, or take more pairs"
            )
        flipped = torch.from_numpy(context.rng.random(len(differ)) < self.flips).to(paid.device)
        first = (paid[differ, 0] > paid[differ, 1]) != flipped
        better, worse = 2 * differ + (~first).long(), 2 * differ + first.long()
        optimizer = torch.optim.Adam(self.network.parameters(), lr=self.learning_rate)
        for _ in range(self.n_epochs):
            order = torch.from_numpy(context.rng.permutation(len(differ))).to(paid.device)
            for rows in torch.split(order, self.batch_size):
                scores = self.network(episodes.take(torch.cat([better[rows], worse[rows]])))
                optimizer.zero_grad()
                preference_loss(*scores.view(2, -1)).backward()  # type: ignore[no-untyped-call]
                nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
                optimizer.step()
        self.shift = 0.0
        self.shift = float(self.score(episodes).mean())

    @torch.no_grad()
    def score(self, episodes: Episodes) -> Tensor:
        """r(x, y) of episodes, ``[B]``."""
        every: Any = episodes
        parts = [self.network(every.take(rows)) for rows in torch.split(torch.arange(len(every)), 64)]
        return torch.cat(parts).to(episodes.reward.dtype) - self.shift

    def shape(self, episodes: Episodes, context: Context) -> Tensor:
        """Rewards ``[B]``: scores; what the environment paid is not read."""
        return self.score(episodes)

    def fit(self, episodes: Episodes, context: Context) -> dict[str, float]:
        """Learns nothing more; returns how often a success has the higher score of a pair with a failure, if any."""
        scores, success, own = self.score(episodes), episodes.info["success"], sampled(episodes)
        same = (episodes.group[:, None] == episodes.group) & own[:, None] & own
        pairs = same & success[:, None] & ~success
        right = (scores[:, None] > scores).to(scores.dtype)
        return {"reward_model_accuracy": float(right[pairs].mean())} if pairs.any() else {}

    def networks(self) -> dict[str, Any]:
        """The network."""
        return {"reward_model": self.network}

    def state_dict(self) -> dict[str, Any]:
        """Whether it has learnt, and what scores are shifted by."""
        return {"fitted": self.fitted, "shift": self.shift}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Becomes what :meth:`state_dict` described."""
        self.fitted, self.shift = bool(state["fitted"]), float(state["shift"])
