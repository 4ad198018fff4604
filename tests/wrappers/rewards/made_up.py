"""Made-up episodes, references and rewards, for rewards that are made of others."""

import math
from types import SimpleNamespace

import torch

from tiltyard.wrappers.components import Reward


class Read(Reward):
    """Pays the column ``name`` of the episodes, and remembers what it was told."""

    needs = ("logp_ref",)

    def __init__(self, name: str = "first", by_tokens: bool = False) -> None:
        self.name, self.by_tokens, self.told = name, by_tokens, []

    def shape(self, episodes, context):
        paid = episodes.info[self.name]
        return torch.stack([paid / 2, paid / 2], 1) if self.by_tokens else paid

    def start(self, context):
        self.told.append("start")

    def begin(self, context):
        self.told.append("begin")

    def fit(self, episodes, context):
        return {"loss": float(len(self.name)), self.name: 1.0}

    def networks(self):
        return {"net": torch.nn.Linear(1, 1)}

    def state_dict(self):
        return {"told": list(self.told)}

    def load_state_dict(self, state):
        self.told = state["told"]


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def played():
    """Three episodes of problems 7, 3 and 7; and references of problems 3 and 7, two each, with their scores."""
    episodes = SimpleNamespace(
        seed=torch.tensor([7, 3, 7]),
        info={"first": torch.tensor([1.0, -1.0, 0.0]), "second": torch.tensor([2.0, 0.0, -2.0])},
    )
    asked = []

    def play_reference(seeds, group_size):
        asked.append((seeds, group_size))
        scores = {3: [0.5, -0.5], 7: [1.0, 3.0]}
        first = torch.tensor([scores[seed][k] for seed in seeds for k in range(group_size)])
        return SimpleNamespace(info={"first": first, "second": first + 1})

    return episodes, SimpleNamespace(play_reference=play_reference), asked
