import math

import pytest
import torch

from tiltyard.agents.language.rollouts import PolicyOut
from tiltyard.benchmarks.claims import simpo as claim


@pytest.fixture(scope="module")
def world() -> claim.World:
    return claim.draw_world(0, claim.FAVOUR)


def test_qualities_by_hand(world: claim.World) -> None:
    # All tokens equally likely: a point is made rightly by 1/4, wrongly by 1/2, and by 1/4 there are no more sentences.
    # No point: 1/4 + 1/8 + 1/16 + 1/8 = 9/16; three: 1/64; two: 3 * (1/16) * (1/2) + (1/16) * (1/4) = 7/64.
    made = claim.qualities(world, claim.logps(world, torch.zeros_like(world.base)))
    expected = torch.tensor([9 / 16, 5 / 16, 7 / 64, 1 / 64], dtype=made.dtype)
    torch.testing.assert_close(made, expected.expand(claim.HELD_OUT, 4))


def test_win_rate_by_hand() -> None:
    ours, theirs = torch.tensor([[0.5, 0.5]]), torch.tensor([[0.2, 0.8]])
    assert claim.win_rate(ours, theirs) == pytest.approx(0.5 * 0.1 + 0.5 * (0.2 + 0.4))
    assert claim.win_rate(ours, ours) == 0.5


def test_dpo_is_dpo(world: claim.World) -> None:
    prompts, base = torch.arange(4), claim.logps(world, world.base)
    rollouts = claim.as_rollouts(world, prompts, base)
    logp = rollouts.logp_old + torch.linspace(-0.3, 0.4, rollouts.logp_old.numel()).view(rollouts.logp_old.shape)
    loss, _ = claim.objective_of("dpo", 1)(rollouts, PolicyOut(logp, rollouts.entropy))
    moved = ((logp - rollouts.logp_old) * rollouts.mask).sum(1)
    score = 0.1 * moved.view(4, 2)
    by_hand = sum(-math.log(1 / (1 + math.exp(float(lost - won)))) for won, lost in score) / 4
    assert float(loss) == pytest.approx(by_hand, rel=1e-6)


def test_pairs_are_ordered_by_quality_and_length(world: claim.World) -> None:
    quality, length = claim.quality_of(world, world.pairs).mean(0), claim.written(world.pairs).sum(-1).double().mean(0)
    assert quality[0] > quality[1] + 0.5
    assert length[0] > length[1] + 1


def test_both_arms_improve_and_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"RATES": (0.1,), "EPOCHS": 1, "TUNING_SEEDS": 1, "PROMPTS": 256}.items():
        monkeypatch.setattr(claim, name, value)
    found = claim.measure(seeds=3)
    main = found.details[f"a judge who favours length by {claim.FAVOUR} a sentence"]
    for arm in ("simpo", "dpo"):
        assert main[f"win rate against the base, {arm}"]["estimate"] > 0.55
    gap = main["sentences, dpo"]["estimate"] - main["sentences, simpo"]["estimate"]
    duel = main["simpo's win rate against dpo"]["estimate"] - 0.5
    assert found.effect.estimate == pytest.approx(min(gap, duel))
