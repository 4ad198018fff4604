import pytest
import torch

from tiltyard.agents.objectives.registry import load
from tiltyard.benchmarks.claims import forking_tokens_80_20 as claim


@pytest.fixture(scope="module")
def world() -> claim.World:
    return claim.draw_world(0)


def test_forks_are_what_the_base_is_unsure_of(world: claim.World) -> None:
    chance = world.base(world.features).detach().exp().gather(2, world.right[..., None])[..., 0].mean(0)
    assert world.fork.sum() == 5
    assert chance[world.fork].max() < 0.85
    assert chance[~world.fork].min() > 0.95  # copies: one slip in a hundred
    assert claim.forks_chosen(0) > 0.95


def test_the_arms_learn_from_the_tokens_they_say(world: claim.World) -> None:
    generator = torch.Generator().manual_seed(0)
    seen = claim.answer(world, world.base, generator)
    seen.reward[:] = torch.rand(len(seen), generator=generator)  # no group is dead
    learnt = {}
    for arm, share in claim.ARMS.items():
        entropy = claim.told(arm, seen.entropy, generator)
        rollouts = claim.replace(seen, entropy=entropy)
        learnt[arm] = load("forking-tokens-80-20", share=share).advantage(rollouts) != 0
    n = 64 * 25
    assert {arm: int(of.sum()) for arm, of in learnt.items()} == {
        "top 20%": n // 5,
        "all": n,
        "bottom 80%": 4 * n // 5,
        "random 20%": n // 5,
    }
    assert not (learnt["top 20%"] & learnt["bottom 80%"]).any()
    hit = float(world.fork.expand(64, 25)[learnt["random 20%"]].double().mean())
    assert hit == pytest.approx(0.2, abs=0.08)


def test_success_by_hand(world: claim.World, monkeypatch: pytest.MonkeyPatch) -> None:
    # All tokens equally likely: 4^-25 for an answer and 25 ln 4 nats.
    with torch.no_grad():
        for weight in world.base.parameters():
            weight.zero_()
    monkeypatch.setattr(claim, "ITERATIONS", 0)
    monkeypatch.setattr(claim, "EVERY", 1)
    course = claim.run("all", 0.0, 0)
    claim.draw_world.cache_clear()
    assert course.held_out == pytest.approx([4.0**-25], rel=1e-4)
    assert course.entropy[0, 0] == pytest.approx(34.657, abs=1e-3)


def test_every_arm_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"ITERATIONS": 30, "RATES": (0.01,), "TAUGHT": 100}.items():
        monkeypatch.setattr(claim, name, value)
    monkeypatch.setattr(claim, "best_rates", lambda score, arms, seeds, grid: dict.fromkeys(arms, grid[0]))
    claim.draw_world.cache_clear()
    found = claim.measure(seeds=3)
    claim.draw_world.cache_clear()
    score = found.details["held-out success, mean over training"]
    assert score.keys() == claim.ARMS.keys()
    assert found.details["gain over the base"]["all"]["estimate"] > 0
    lead = score["top 20%"]["estimate"] - score["bottom 80%"]["estimate"]
    assert found.details["parts"]["top 20% minus bottom 80%"]["estimate"] == pytest.approx(lead)
    assert found.effect.estimate == min(part["estimate"] for part in found.details["parts"].values())
