"""RLVR: PPO is paid a constant for every answer that a verifier accepts; its critic may begin as a reward model."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from ..components import Choice, Episodes, Reward
from .catalogue import load
from .of_rewards import OfRewards
from .tldr_rlhf import RewardModel

END = 1
"""The token that ends a completion, of every language model here."""


class RLVR(OfRewards):
    """R = alpha where the verifier accepts the answer, 0 where not, plus multiplier * r(x, y); ``unfinished`` if cut.

    The verifier is the environment's own (``info["success"]``). A completion that was cut at its longest length, so
    that it does not end with the token for it, earns ``unfinished`` and nothing else. r is a reward model, which has
    two uses: the critic of ``method="tulu-3-rlvr"`` or ``"ppo"`` begins as a copy of it, so that it knows from the
    first iteration which completions are preferred; and its scores may be added, which the paper advises against.

    The recipe of the paper is a policy that was taught by demonstrations, then by pairs with ``method="dpo-norm"``,
    then ``method="tulu-3-rlvr"``, which is ``"ppo"`` with ``rewards=["tulu-3-rlvr", "kl-penalty"]``. With
    ``rewards=[{"name": "tulu-3-rlvr", "of": "tldr-rlhf"}, "kl-penalty"]`` the critic begins as a reward model that is
    made before the first iteration.

    Departures: the paper's reward model learns from preferences of all kinds, here from those of the environment; the
    critic's loss is not clipped.

    Args:
        alpha: of an answer that is accepted.
        of: r: a name, a name with parameters or an object (None: there is none, and the critic begins at V = 0).
        multiplier: of its scores.
        critic: whether the method's critic begins as it, which has to be a ``"tldr-rlhf"``.
        unfinished: of a completion that was cut (None: as any other).

    Raises:
        TypeError: a critic that should begin as what is no reward model.
        ValueError: an alpha that is not above 0, a multiplier below 0 or of no reward, or a reward of no use.

    Paper: TÜLU 3: Pushing Frontiers in Open Language Model Post-Training (2024), section 6; alpha, the penalty of
    unfinished completions, the coefficient 0.05 of the KL penalty and the critic's beginning as in the authors'
    ``ppo_vllm_thread_ray_gtrl.py`` and their command for the 8B model (``docs/tulu3.md`` of open-instruct).
    """

    def __init__(
        self,
        *,
        alpha: float = 10.0,
        of: Choice | Reward = None,
        multiplier: float = 0.0,
        critic: bool = True,
        unfinished: float | None = -10.0,
    ) -> None:
        if not alpha > 0 or multiplier < 0:
            raise ValueError(f"alpha is above 0 and multiplier at least 0, got {alpha} and {multiplier}")
        if of is None and multiplier:
            raise ValueError("multiplier= is of the scores of a reward model: name one in of=, such as 'tldr-rlhf'")
        if of is not None and not critic and not multiplier:
            raise ValueError(
                "a reward model in of= is used by critic=True or by a multiplier above 0: give one of them"
            )
        super().__init__([] if of is None else [load(of)])
        self.alpha, self.multiplier, self.unfinished = alpha, multiplier, unfinished
        self.critic = critic and of is not None
        if self.critic and not isinstance(self.of[0], RewardModel):
            raise TypeError(f"critic=True needs a reward model such as 'tldr-rlhf' in of=, got {of!r:.100}")
        self.begun = False

    def start(self, context: Any) -> None:
        """As the reward model; the critic, which is a new one, has not begun."""
        super().start(context)
        self.begun = False

    def begin(self, context: Any) -> None:
        """Has the reward model learn and the critic begin as it, once.

        Raises:
            ValueError: the method has no critic.
        """
        super().begin(context)
        if self.begun or not self.critic:
            return
        if "values" not in context.providers:
            raise ValueError(
                "a critic should begin as the reward model, and this method has none: take method='tulu-3-rlvr' or "
                "'ppo', or critic=False"
            )
        model: Any = self.of[0]
        context.providers["values"].critic.begin_as(model.network.body, model.network.weight, -model.shift)
        self.begun = True

    def shape(self, episodes: Episodes, context: Any) -> Tensor:
        """Rewards ``[B]``; what the environment paid is not read."""
        paid: Tensor = self.alpha * episodes.info["success"].to(episodes.reward.dtype)
        if self.multiplier:
            paid = paid + self.multiplier * self.scores(episodes, context)[0]
        if self.unfinished is None:
            return paid
        ended = (episodes.last_token() & (episodes.tokens == END)).any(1)
        return torch.where(ended, paid, torch.full_like(paid, self.unfinished))

    def state_dict(self) -> dict[str, Any]:
        """What the reward model remembers, and whether the critic has begun."""
        return {**super().state_dict(), "begun": self.begun}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Becomes what :meth:`state_dict` described."""
        super().load_state_dict(state)
        self.begun = bool(state["begun"])
