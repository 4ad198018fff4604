"""Rewards that are made of other rewards: what those say of a batch, and what hooks of a training they are told of."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from ..components import Choice, Context, Episodes, Reward
from .catalogue import Choices, load, load_all


class OfRewards(Reward):
    """Asks other rewards; subclasses say what is paid.

    Args:
        of: the others.
    """

    def __init__(self, of: Sequence[Reward]) -> None:
        self.of = tuple(of)
        self.needs = tuple(dict.fromkeys(need for reward in self.of for need in reward.needs))  # type: ignore[misc]

    def scores(self, episodes: Episodes, context: Context) -> Tensor:
        """What each of the others pays each episode, ``[n, B]``."""
        return torch.stack([episode_reward(one.shape(episodes, context)) for one in self.of])

    def start(self, context: Context) -> None:
        """As the others do."""
        for reward in self.of:
            reward.start(context)

    def begin(self, context: Context) -> None:
        """As the others do."""
        for reward in self.of:
            reward.begin(context)

    def fit(self, episodes: Episodes, context: Context) -> dict[str, float]:
        """Trains the others; of a metric that several have, the mean."""
        found = [reward.fit(episodes, context) for reward in self.of]
        names = dict.fromkeys(name for one in found for name in one)
        return {name: _mean(one[name] for one in found if name in one) for name in names}

    def networks(self) -> dict[str, Any]:
        """Those of the others, numbered where there are several."""
        if len(self.of) == 1:
            return self.of[0].networks()
        return {f"{name}_{i}": part for i, reward in enumerate(self.of) for name, part in reward.networks().items()}

    def state_dict(self) -> dict[str, Any]:
        """What the others remember."""
        return {"of": [reward.state_dict() for reward in self.of]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Becomes what :meth:`state_dict` described."""
        for reward, stored in zip(self.of, state["of"], strict=True):
            reward.load_state_dict(stored)


class Centred(OfRewards):
    """Rewards that are compared with those of reference completions of the same problem.

    References are completions of the policy as it was when training began, sampled for each batch and graded; they
    count as timesteps. The papers have them from before training, of a fixed set of prompts.

    Args:
        of: the rewards that are compared.
        references: completions of each problem.
    """

    def __init__(self, of: Sequence[Reward], references: int) -> None:
        super().__init__(of)
        self.needs = tuple(dict.fromkeys([*self.needs, "logp_ref"]))  # type: ignore[misc]
        self.references = references

    def compared(self, episodes: Episodes, context: Context) -> tuple[Tensor, Tensor]:
        """Scores of the episodes ``[n, B]``, and those of references of their problems ``[n, B, references]``."""
        seeds, index = torch.unique(episodes.seed, return_inverse=True)
        reference = context.play_reference(seeds.tolist(), group_size=self.references)
        theirs = self.scores(reference, context).view(len(self.of), len(seeds), self.references)
        return self.scores(episodes, context), theirs[:, index]


def episode_reward(paid: Tensor) -> Tensor:
    """Rewards ``[B]`` of episodes, from these or from those of tokens ``[B, T]``."""
    return paid.sum(1) if paid.dim() == 2 else paid


def one_of(choice: Choice | Reward, default: Choice) -> tuple[Reward]:
    """The reward that ``choice`` names, or ``default`` for None."""
    return (load(default if choice is None else choice),)


def several_of(choices: Choices, default: Choices) -> tuple[Reward, ...]:
    """The rewards that ``choices`` name, or ``default`` for None.

    Raises:
        ValueError: none.
    """
    found = load_all(default if choices is None else choices)
    if not found:
        raise ValueError("of= names the rewards that this one is made of, at least one")
    return found


def _mean(values: Iterable[float]) -> float:
    listed = list(values)
    return sum(listed) / len(listed)
