"""Ensembles of reward models, whose disagreement is held against a completion."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from ... import unknown
from ..components import Choice, Context, Episodes, Reward, keywords_of
from .catalogue import load
from .of_rewards import OfRewards

OBJECTIVES = ("wco", "uwo", "mean")


class RewardEnsemble(OfRewards):
    """R = min_i r_i ("wco", worst case), mean_i r_i - weight * var_i r_i ("uwo"), or mean_i r_i ("mean").

    The r_i are ``members`` reward models of one kind that differ by their random last layers, by the completions they
    learn from and by whose labels are flipped. Where training has not told them what a completion is worth they
    disagree, so that a policy does not gain by what one of them errs in. The KL penalty of the paper's PPO is
    ``"kl-penalty"`` after it.

    Departures: the paper's members learn from the same pairs in another order; here each has pairs of its own.

    Args:
        objective: "wco", "uwo" or "mean".
        members: k.
        weight: lambda of "uwo".
        of: a member, by name or by name with parameters (None: ``"tldr-rlhf"``); ``noise_seed``, where it has one, is
            counted up from member to member.

    Raises:
        TypeError: a member that is an object, of which there could not be several.
        ValueError: another objective, fewer than two members, a weight below 0, or members that would all pay the same.

    Paper: Reward Model Ensembles Help Mitigate Overoptimization (2023), section 3.2; five members and the weight 0.1
    for PPO as in the authors' ``config_rl.yaml``; the variance is the unbiased one, as in their
    ``ppo_reward_functions.py``.
    """

    def __init__(self, *, objective: str = "wco", members: int = 5, weight: float = 0.1, of: Choice = None) -> None:
        if objective not in OBJECTIVES:
            raise ValueError(unknown("objective", objective, OBJECTIVES))
        if members < 2 or weight < 0:
            raise ValueError(f"members is at least 2 and weight at least 0, got {members} and {weight}")
        super().__init__(_members("tldr-rlhf" if of is None else of, members))
        self.objective, self.weight = objective, weight

    def shape(self, episodes: Episodes, context: Context) -> Tensor:
        """Rewards ``[B]``."""
        scores = self.scores(episodes, context)
        if self.objective == "wco":
            return scores.amin(0)
        return scores.mean(0) - (self.weight * scores.var(0) if self.objective == "uwo" else 0.0)


def _members(choice: Choice, n: int) -> list[Reward]:
    if not isinstance(choice, str | Mapping):
        raise TypeError(f"of= is a reward by name, or by name with parameters: members differ; got {choice!r:.100}")
    named: dict[str, Any] = {"name": choice} if isinstance(choice, str) else dict(choice)
    kind = type(load(named))
    if "noise_seed" in keywords_of(kind):
        return [load({**named, "noise_seed": named.get("noise_seed", 0) + i}) for i in range(n)]
    if kind.networks is Reward.networks:
        raise ValueError(f"all members of an ensemble of {named['name']!r} would pay the same: name one that learns")
    return [load(named) for _ in range(n)]
