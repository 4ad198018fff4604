import math
from types import SimpleNamespace

import pytest
import torch

from tiltyard.agents.language.trainer import PolicyGradient
from tiltyard.wrappers.rewards.tldr_rlhf import RewardModel, preference_loss

ENV = "tiltyard/ChainSum-v0"
MODEL = {"name": "tldr-rlhf", "pairs": 24, "learning_rate": 1e-3}


def agent(**settings) -> PolicyGradient:
    small = {"method": "rloo", "group_size": 4, "prompts_per_batch": 4, "max_answer_tokens": 32, "seed": 0}
    return PolicyGradient("chain-sum-base", ENV, **{**small, "rewards": MODEL, "device": "cpu", **settings})


def test_the_loss_by_hand():
    loss = preference_loss(torch.tensor([1.0, 0.0]), torch.tensor([0.0, 2.0]))
    assert loss.item() == pytest.approx((math.log(1 + math.exp(-1)) + math.log(1 + math.exp(2))) / 2)


def played(trained: PolicyGradient, problems: int = 32):
    """Two graded completions of each problem, and the context that they were played in."""
    trained._callback = trained._setup_learn(1)[1]
    context = trained.context()
    return context.play(range(problems), group_size=2), context


def test_it_learns_which_completions_are_preferred():
    trained = agent(rewards={**MODEL, "n_epochs": 4})
    episodes, context = played(trained, 96)
    (model,) = trained.rewards
    model.learn(episodes, context)
    paid, scores = episodes.reward.view(-1, 2), model.score(episodes).view(-1, 2)
    differ = paid[:, 0] != paid[:, 1]
    assert 10 < differ.sum() < 96
    right = (scores[:, 0] > scores[:, 1]) == (paid[:, 0] > paid[:, 1])
    assert right[differ].float().mean() > 0.85
    assert scores.mean().item() == pytest.approx(0, abs=1e-4)
    assert torch.equal(model.shape(episodes, context), model.score(episodes))


def test_flipped_labels_teach_something_else():
    scores = []
    for flips in (0.0, 0.49):
        trained = agent(rewards={**MODEL, "flips": flips})
        episodes, context = played(trained)
        (model,) = trained.rewards
        model.learn(episodes, context)
        scores.append(model.score(episodes))
    assert not torch.allclose(*scores, atol=1e-2)


def test_completions_that_all_earn_the_same_teach_nothing_and_that_is_said():
    trained = agent()
    episodes, context = played(trained)
    episodes.reward.fill_(0.5)
    with pytest.raises(ValueError, match="of 32 problems there is none: warm-start the policy, or take more pairs"):
        trained.rewards[0].learn(episodes, context)


def test_it_learns_once_before_the_first_iteration_and_is_what_the_policy_learns_from():
    trained = agent(learning_rate=1e-3)
    (model,) = trained.rewards
    start = model.network.weight.detach().clone()
    trained.learn(64)
    assert trained.num_timesteps == 24 * 2 + 16
    learnt = model.network.weight.detach().clone()
    assert not torch.equal(learnt, start)
    trained.learn(16, reset_num_timesteps=False)
    assert torch.equal(model.network.weight, learnt)
    assert trained.num_timesteps == 24 * 2 + 32
    other = agent(learning_rate=1e-3, rewards=None).learn(32)
    weights = [torch.cat([one.detach().flatten() for one in of.policy.parameters()]) for of in (trained, other)]
    assert not torch.equal(*weights)


def test_accuracy_is_of_successes_and_failures_of_the_same_group():
    model = RewardModel()
    scores = torch.tensor([3.0, 1.0, 2.0, 0.0, 5.0, 9.0])
    model.score = lambda episodes: scores
    success = torch.tensor([True, False, False, True, False, False])
    extra = torch.tensor([False, False, False, False, False, True])
    episodes = SimpleNamespace(group=torch.tensor([0, 0, 1, 1, 1, 0]), info={"success": success, "greedy": extra})
    # of group 0: 3 over 1; of group 1: 0 under 2 and under 5; the greedy completion counts nowhere
    assert model.fit(episodes, None) == {"reward_model_accuracy": pytest.approx(1 / 3)}
    assert model.fit(SimpleNamespace(group=torch.arange(6), info={"success": success}), None) == {}


@pytest.mark.parametrize("rewards", [MODEL, {"name": "rm-ensemble", "members": 2, "of": MODEL}, "par"])
def test_a_loaded_agent_goes_on_bit_for_bit(tmp_path, rewards):
    if rewards == "par":
        rewards = [{"name": "par", "of": MODEL}, "kl-penalty"]
    trained = agent(rewards=rewards, learning_rate=1e-3)
    trained.learn(16)
    trained.save(tmp_path / "agent")
    loaded = PolicyGradient.load(tmp_path / "agent", env=ENV)
    for one in (trained, loaded):
        one.learn(16, reset_num_timesteps=False)
    assert all(torch.equal(a, b) for a, b in zip(trained.policy.parameters(), loaded.policy.parameters(), strict=True))


@pytest.mark.parametrize("settings", [{"pairs": 0}, {"learning_rate": 0.0}, {"flips": 0.5}, {"n_epochs": 0}])
def test_settings_that_mean_nothing_are_refused(settings):
    with pytest.raises(ValueError, match="at least 1|flips is a probability"):
        RewardModel(**settings)
