"""The cost of turns: on the last token of each, in their own episode."""

from typing import Any

import pytest
import torch

from tiltyard.agents.language.rollouts import Rollouts
from tiltyard.wrappers.rewards.catalogue import load
from tiltyard.wrappers.rewards.turn_cost import TurnCost


def game(turns: list[list[int]], mask: list[list[bool]], paid: list[float]) -> Rollouts:
    """Games by the turn of each token, and whether the policy wrote it."""
    turn, written = torch.tensor(turns), torch.tensor(mask)
    n, zeros = len(paid), torch.zeros(len(paid), len(turns[0]))
    reward = torch.tensor(paid)
    last = written & (written.flip(1).cumsum(1).flip(1) == 1)
    return Rollouts(
        tokens=torch.zeros_like(turn),
        mask=written,
        logp_old=zeros,
        logp_ref=None,
        reward=reward,
        group=torch.zeros(n, dtype=torch.long),
        seed=torch.zeros(n, dtype=torch.long),
        turn=turn,
        length=written.sum(1),
        entropy=zeros,
        step_reward=last * reward[:, None],
    )


def test_each_turn_costs_on_its_last_token() -> None:
    written = [[False, True, True, False, True], [False, True, True, True, False]]
    rows = game([[0, 0, 0, 1, 1], [0, 0, 1, 2, 2]], written, [1.0, 0.0])
    none: Any = None
    shaped = load({"name": "turn-cost", "cost": 0.25}).shape(rows, none)
    assert shaped.tolist() == [[0, 0, -0.25, 0, 0.75], [0, -0.25, -0.25, -0.25, 0]]


def test_a_cost_is_above_zero() -> None:
    with pytest.raises(ValueError, match="what a turn costs"):
        TurnCost(cost=0.0)
