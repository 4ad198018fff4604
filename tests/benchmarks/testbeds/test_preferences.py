import math

import pytest
import torch

from tiltyard.agents.language.rollouts import PolicyOut
from tiltyard.benchmarks.claims.simpo import CLAIM, DPO
from tiltyard.benchmarks.testbeds.preferences import PreferenceLearner, Preferences, quality_of, win_rate, written
from tiltyard.benchmarks.testbeds.sequences import Sequences

TASK = Preferences()


@pytest.fixture(scope="module")
def learner() -> PreferenceLearner:
    return TASK.learner(0)


def test_qualities_by_hand() -> None:
    # All tokens equally likely: a point is made correctly by 1/4, incorrectly by 1/2, and by 1/4 there are no more
    # sentences. No point: 1/4 + 1/8 + 1/16 + 1/8 = 9/16; three: 1/64; two: 3 * (1/16) * (1/2) + (1/16) * (1/4) = 7/64.
    even = TASK.learner(0)
    with torch.no_grad():
        even.weight.zero_()
    made = even.exact().quality
    expected = torch.tensor([9 / 16, 5 / 16, 7 / 64, 1 / 64], dtype=made.dtype)
    torch.testing.assert_close(made, expected.expand(TASK.held_out, 4))


def test_win_rate_by_hand() -> None:
    ours, theirs = torch.tensor([[0.5, 0.5]]), torch.tensor([[0.2, 0.8]])
    assert win_rate(ours, theirs) == pytest.approx(0.5 * 0.1 + 0.5 * (0.2 + 0.4))
    assert win_rate(ours, ours) == 0.5


def test_dpo_is_dpo(learner: PreferenceLearner) -> None:
    rollouts = learner.as_rollouts(torch.arange(4))
    logp = rollouts.logp_old + torch.linspace(-0.3, 0.4, rollouts.logp_old.numel()).view(rollouts.logp_old.shape)
    loss, _ = DPO[1].objective()(rollouts, PolicyOut(logp, rollouts.entropy))
    moved = ((logp - rollouts.logp_old) * rollouts.mask).sum(1)
    score = 0.1 * moved.view(4, 2)
    by_hand = sum(-math.log(1 / (1 + math.exp(float(lost - won)))) for won, lost in score) / 4
    assert float(loss) == pytest.approx(by_hand, rel=1e-6)


def test_pairs_are_ordered_by_quality_and_length(learner: PreferenceLearner) -> None:
    pairs = learner.prompts.pairs
    quality, length = quality_of(learner.prompts.correct, pairs).mean(0), written(pairs).sum(-1).double().mean(0)
    assert quality[0] > quality[1] + 0.5
    assert length[0] > length[1] + 1


def test_every_pair_comes_once_a_pass() -> None:
    few = Preferences(trained=64, pairs=16).learner(0)
    passes = [torch.cat([few.rollouts().group[::2] for _ in range(4)]) for _ in range(2)]
    assert all(sorted(one.tolist()) == list(range(64)) for one in passes)
    assert passes[0].tolist() != passes[1].tolist()


@pytest.mark.parametrize("name", CLAIM.conditions)
def test_both_improve(name: str) -> None:
    task = Preferences(trained=256, epochs=1)
    bed = Sequences(task=task, iterations=task.iterations, every=task.iterations)
    before, after = bed.run(CLAIM.conditions[name], 0.1, 0)
    assert win_rate(after.quality, before.quality) > 0.55


def test_both_parts_are_told() -> None:
    found = CLAIM.smallest().measure()
    main = found.details["a judge who favours length by 0.15 a sentence"]
    gap = main["sentences, dpo"]["estimate"] - main["sentences, simpo"]["estimate"]
    duel = main["simpo's win rate against dpo"]["estimate"] - 0.5
    assert list(found.means.values()) == pytest.approx([duel, gap])
