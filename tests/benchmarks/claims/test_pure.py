import math

import pytest
import torch

from tiltyard.agents.objectives.registry import load
from tiltyard.benchmarks.claims import pure as claim


def test_exact_success_and_steps_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    # With all actions equally likely and two steps' time, nobody makes four moves; one in five has answered after one.
    world = claim.draw_world(0, claim.SETTINGS[claim.MAIN])
    even = torch.zeros_like(world.base)
    monkeypatch.setattr(claim, "STEPS", 2)
    assert claim.exact(world, even) == (0.0, pytest.approx(1.8))
    # Five steps suffice for four right moves of probability 1/5 and the answer.
    monkeypatch.setattr(claim, "STEPS", 5)
    assert claim.exact(world, even)[0] == pytest.approx(0.2**5)
    # One step more may be filler at any of five places.
    monkeypatch.setattr(claim, "STEPS", 6)
    assert claim.exact(world, even)[0] == pytest.approx(0.2**5 + 5 * 0.2**6)


def test_exact_success_is_what_attempts_come_to() -> None:
    world, generator = claim.draw_world(1, claim.SETTINGS[claim.MAIN]), torch.Generator().manual_seed(0)
    problems = torch.arange(claim.PROBLEMS, claim.PROBLEMS + claim.HELD_OUT).repeat(100)
    tried = claim.attempt(world, world.base, problems, generator)
    success, steps = claim.exact(world, world.base)
    assert 0.2 < success < 0.8
    assert tried.proven.mean() == pytest.approx(success, abs=4 * math.sqrt(0.25 / len(problems)))
    assert tried.mask.sum(1).double().mean() == pytest.approx(steps, abs=0.1)


def test_credit_of_the_arms_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    # Two attempts at a problem, scored (1, -1) and (1, 1): minima -1 and 1, sums 0 and 2; two tokens each.
    monkeypatch.setattr(claim, "STEPS", 2)
    world = claim.draw_world(0, claim.SETTINGS[claim.MAIN])
    world.scores[0, 0, 0], world.scores[0, 1, 4], world.scores[0, 1, 3] = 1.0, -1.0, 1.0
    ones = torch.ones(2, 2, dtype=torch.bool)
    state, action = torch.tensor([[0, 1], [0, 1]]), torch.tensor([[0, 4], [0, 3]])
    tried = claim.Attempts(torch.zeros(2, dtype=torch.int64), state, action, ones, torch.tensor([1.0, 0.0]))
    credit = {
        name: load("pure", reward_kl_coef=0.0, **arm.params).advantage(
            claim.as_rollouts(arm, world, tried, torch.zeros(2, 2))
        )
        for name, arm in claim.ARMS.items()
    }
    torch.testing.assert_close(credit["sum-form"], torch.tensor([[0.0 - 2, -1 - 1], [2 - 0, 1 - 0]]))
    torch.testing.assert_close(credit["min-form"], torch.tensor([[-1.0 - 1, -1 - 0.5], [1 + 1, 0.5 + 0.5]]))
    torch.testing.assert_close(credit["outcome"], torch.tensor([[1.0, 1], [-1, -1]]))
    torch.testing.assert_close(credit["min-form and outcome"], credit["min-form"] + credit["outcome"])


def test_every_arm_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    few = dict(list(claim.SETTINGS.items())[:2])
    for name, value in {"UPDATES": 20, "EVERY": 10, "RATES": (0.03,), "SETTINGS": few, "TUNING_SEEDS": 1}.items():
        monkeypatch.setattr(claim, name, value)
    found = claim.measure(seeds=3)
    parts, main = found.details["parts"], found.details[claim.MAIN]
    assert found.effect.estimate == min(part["estimate"] for part in parts.values())
    ends = {arm: end["estimate"] for arm, end in main["success at the end"].items()}
    assert ends.keys() == claim.ARMS.keys()
    assert ends["outcome"] > main["success before training"] + 0.005
    gap = parts["min-form minus sum-form at the end"]["estimate"]
    assert gap == pytest.approx(ends["min-form"] - ends["sum-form"])
