import math

import pytest
import torch

from tiltyard.benchmarks.claims import degrpo as claim


@pytest.fixture(scope="module")
def world() -> claim.World:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(claim, "TAUGHT", 100)
        claim.draw_world.cache_clear()
        world = claim.draw_world(0)
    claim.draw_world.cache_clear()
    return world


def test_the_weight_of_the_mode_by_hand() -> None:
    # GRPO: one token of 5 and one of 33. DeGRPO: alpha against 1 for all others, whatever their number.
    assert claim.first_tokens_share("grpo") == {"without thought": pytest.approx(1 / 5), "with": pytest.approx(1 / 33)}
    share = claim.first_tokens_share("degrpo, alpha 0.1")
    assert share == {"without thought": pytest.approx(0.1 / 1.1), "with": pytest.approx(0.1 / 1.1)}


def test_places_by_hand() -> None:
    places = claim.places_of(torch.tensor([0, 1]))
    assert places[0, :5].tolist() == [0, 1, 2, 3, 4]  # the fifth token is the result
    assert places[1].tolist() == [0, *range(5, 37)]


def test_exact_rewards_by_hand(world: claim.World) -> None:
    # All tokens equally likely: right by 1/4 in any mode; (1 + 0.5) / 2 / 4 - 3 / 4; half of 5 and 33 tokens.
    thinker = claim.Thinker(torch.Generator().manual_seed(0))
    with torch.no_grad():
        thinker.weights["out"].zero_()
    assert claim.exact(world, thinker) == pytest.approx((0.1875 - 0.75, 0.25, 0.5, 0.5, 19))


def test_answers_come_to_what_is_exact(world: claim.World, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"TRAINED": 128, "PROMPTS": 128, "GROUP": 100}.items():
        monkeypatch.setattr(claim, name, value)
    twice = torch.arange(128).repeat(2)  # the problems held out, for once, are those answered
    world = claim.World(world.features[twice], world.hard[twice], world.right[twice], world.base)
    rollouts = claim.answer(world, world.base, torch.Generator().manual_seed(1))
    reward, success, easy, hard, tokens = claim.exact(world, world.base)
    error = 4 * math.sqrt(1 / len(rollouts))
    assert rollouts.reward.mean() == pytest.approx(reward, abs=error)
    assert (rollouts.reward > 0).float().mean() == pytest.approx(success, abs=error / 2)
    thinks = rollouts.length > 5
    is_hard = world.hard[rollouts.group]
    assert thinks[~is_hard].float().mean() == pytest.approx(easy, abs=error)
    assert thinks[is_hard].float().mean() == pytest.approx(hard, abs=error)
    share = float(world.hard[:128].float().mean())
    assert rollouts.length.double().mean() == pytest.approx(5 + 28 * (easy + share * (hard - easy)), abs=28 * error)
    assert tokens == pytest.approx(5 + 28 * (easy + share * (hard - easy)), abs=1e-3)


def test_every_arm_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"ITERATIONS": 30, "RATES": (0.01,), "TUNING_SEEDS": 1, "TAUGHT": 50}.items():
        monkeypatch.setattr(claim, name, value)
    claim.draw_world.cache_clear()
    found = claim.measure(seeds=3)
    claim.draw_world.cache_clear()
    ends, ours = found.details["at the end"], found.details["DeGRPO's arm"]
    assert ends.keys() == set(claim.ARMS)
    assert ends["grpo"]["reward"]["estimate"] > found.details["before"]["reward"]
    apart = {arm: ends[arm]["thinks, hard"]["estimate"] - ends[arm]["thinks, easy"]["estimate"] for arm in ends}
    assert found.effect.estimate == pytest.approx(apart[ours] - apart["grpo"])
