from dataclasses import replace

import pytest
import torch

from tiltyard.agents import PolicyGradient
from tiltyard.agents.language.collect import Collector
from tiltyard.agents.language.context import Context
from tiltyard.agents.language.rollouts import Rollouts
from tiltyard.agents.language.samplers.groups import Groups
from tiltyard.agents.language.samplers.reinforce_ada import POOL, ReinforceAda, advantage, downsampled, lacking
from tiltyard.agents.objectives.parts.group_relative import group_relative


def rows(reward, group, **info) -> Rollouts:
    n = len(reward)
    columns = torch.zeros(n, 2)
    group = torch.tensor(group)
    return Rollouts(
        tokens=torch.arange(2 * n).view(n, 2),
        mask=torch.tensor([[False, True]]).expand(n, 2),
        logp_old=columns,
        logp_ref=None,
        reward=torch.tensor(reward),
        group=group,
        seed=group,
        turn=torch.zeros(n, 2, dtype=torch.int64),
        length=torch.ones(n, dtype=torch.int64),
        entropy=columns,
        info={"success": torch.tensor(reward) > 0.5, **{name: torch.tensor(of) for name, of in info.items()}},
    )


def test_exit_rules_by_hand():
    # of groups of 4: problem 0 has 2 of either, 1 has one success, 2 none, 3 only successes
    success = torch.tensor([1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1], dtype=torch.bool)
    group = torch.arange(4).repeat_interleave(4)
    assert lacking(success, group, 4, 4, "balanced").tolist() == [False, True, True, True]
    assert lacking(success, group, 4, 4, "positive").tolist() == [False, False, True, False]


def test_half_of_what_is_kept_succeeded_as_far_as_there_is():
    # problem 0: 1 of 8 succeeded, problem 1: 3 of 4, problem 2: none of 4
    success = [0, 0, 0, 1, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0]
    pool = rows([float(one) for one in success], [0] * 8 + [1] * 4 + [2] * 4)
    kept = downsampled(pool, 4)
    assert kept.group.tolist() == [0] * 4 + [1] * 4 + [2] * 4
    assert kept.reward.tolist() == [1, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0]
    assert kept.tokens[:4, 1].tolist() == [7, 1, 3, 5]  # rows 3, 0, 1, 2: the first of each outcome
    assert kept.info[POOL].tolist() == [1 / 8] * 4 + [3 / 4] * 4 + [0.0] * 4


def test_the_baseline_is_the_pools_by_hand():
    # 1 of 8 succeeded: A = 1 - 1/8 and 0 - 1/8; the group's own mean, 1/4, would be another baseline
    kept = downsampled(rows([1.0] + [0.0] * 7, [0] * 8), 4)
    assert advantage(kept).tolist() == [0.875, -0.125, -0.125, -0.125]
    assert group_relative(kept, scale=False).tolist() == [0.75, -0.25, -0.25, -0.25]


def test_shaped_rewards_are_compared_with_an_estimate_of_their_pools_mean():
    # correct ones earn 0.9 and 0.7, wrong ones -0.1 and 0.1: (1/4) 0.8 + (3/4) 0
    shaped = replace(
        rows([1.0, 1.0, 0.0, 0.0], [0] * 4, pool_success=[0.25] * 4), reward=torch.tensor([0.9, 0.7, -0.1, 0.1])
    )
    assert advantage(shaped).tolist() == pytest.approx([0.7, 0.5, -0.3, -0.1])


def test_without_a_pool_it_is_the_groups_mean():
    plain = rows([1.0, 0.0, 0.0, 1.0, 0.5], [0, 0, 0, 1, 1])
    assert torch.equal(advantage(plain), group_relative(plain, scale=False))


def test_the_gradient_has_no_bias_that_the_kept_mean_would_have():
    """Over pools of a Bernoulli arm, kept rows with the kept mean teach as if half of all completions succeeded."""
    generator = torch.Generator().manual_seed(0)
    success = torch.rand(2000, 8, generator=generator) < 0.2
    pool = rows(success.float().flatten().tolist(), torch.arange(2000).repeat_interleave(8).tolist())
    kept = downsampled(pool, 4)
    by_pool, by_kept = advantage(kept), group_relative(kept, scale=False)
    right = kept.info["success"]
    assert by_pool[right].mean().item() == pytest.approx(1 - kept.info[POOL][right].mean().item(), abs=1e-6)
    assert by_pool[right].mean() > by_kept[right].mean() + 0.1


def collected(monkeypatch, scripted, group_size=2, **settings):
    """What a sampler keeps of three problems where ``scripted[round][problem]`` says what succeeds."""
    asked = []

    def scripted_rollouts(self, context, problems, n):
        asked.append((tuple(problems), n))
        success = [one for problem in problems for one in scripted[len(asked) - 1][problem]]
        numbers = [i for i in range(len(problems)) for _ in range(n)]
        return rows([float(one) for one in success], numbers)

    monkeypatch.setattr(Groups, "rollouts", scripted_rollouts)
    return ReinforceAda(**settings).rollouts(None, [0, 1, 2], group_size), asked


def test_only_problems_without_signal_are_sampled_again(monkeypatch):
    rounds = [{0: [1, 0], 1: [0, 0], 2: [1, 1]}, {1: [0, 1], 2: [1, 1]}, {2: [1, 1]}]
    kept, asked = collected(monkeypatch, rounds, per_round=2, rounds=3)
    assert asked == [((0, 1, 2), 2), ((1, 2), 2), ((2,), 2)]
    assert kept.group.tolist() == [0, 0, 1, 1, 2, 2]
    assert kept.reward.tolist() == [1, 0, 1, 0, 1, 1]
    assert kept.info[POOL].tolist() == [0.5, 0.5, 0.25, 0.25, 1.0, 1.0]
    assert (advantage(kept)[4:] == 0).all()  # six successes say nothing


def test_the_positive_rule_asks_for_one_success(monkeypatch):
    rounds = [{0: [1, 1], 1: [0, 0], 2: [1, 0]}, {1: [0, 1]}]
    _, asked = collected(monkeypatch, rounds, per_round=2, rule="positive")
    assert asked == [((0, 1, 2), 2), ((1,), 2)]


def test_a_method_of_its_own_trains_with_it():
    small = {"group_size": 2, "prompts_per_batch": 2, "max_answer_tokens": 12, "seed": 0, "device": "cpu"}
    trained = PolicyGradient(
        "chain-sum-base",
        "tiltyard/ChainSum-v0",
        method="reinforce-ada",
        sampler={"name": "reinforce-ada", "rounds": 2},
        **small,
    )
    batch = Collector(Context(trained.policy, trained.env, trained.rng), 2, sampler=trained.sampler).collect([3, 5])
    assert batch.group.tolist() == [0, 0, 1, 1]
    assert batch.seed.tolist() == [3, 3, 5, 5]
    assert batch.info["answer"].shape == (4,)
    before = trained.num_timesteps
    trained.learn(4)
    assert trained.num_timesteps - before >= 2 * 4  # a round of four for each of two problems


def test_bad_settings_are_refused(monkeypatch):
    with pytest.raises(ValueError, match="did you mean 'balanced'"):
        ReinforceAda(rule="balance")
    with pytest.raises(ValueError, match="at least 1"):
        ReinforceAda(rounds=0)
    with pytest.raises(ValueError, match="cannot fill groups of 4"):
        collected(monkeypatch, [], group_size=4, per_round=2)
