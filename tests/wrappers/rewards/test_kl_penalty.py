from types import SimpleNamespace

import pytest
import torch

from tiltyard.agents.language.trainer import PolicyGradient
from tiltyard.wrappers.rewards.kl_penalty import KLPenalty


def test_every_written_token_costs_its_log_ratio():
    mask = torch.tensor([[False, True, True, True], [False, True, False, False]])
    episodes = SimpleNamespace(
        tokens=torch.zeros(2, 4, dtype=torch.int64),
        mask=mask,
        logp_old=torch.tensor([[9.0, -1.0, -1.0, -2.0], [9.0, -1.0, 9.0, 9.0]]),
        token_reward=torch.tensor([[0.0, 0.0, 0.0, 1.0], [0.0, 0.5, 0.0, 0.0]]),
    )
    reference = torch.tensor([[0.0, -3.0, -1.0, -1.0], [0.0, -1.5, 0.0, 0.0]])
    context = SimpleNamespace(score_reference=lambda tokens, mask: reference)
    assert KLPenalty(coef=0.5).shape(episodes, context).tolist() == [[0, -1.0, 0, 1.5], [0, 0.25, 0, 0]]


def test_a_negative_coefficient_is_refused():
    with pytest.raises(ValueError, match="coef is at least 0, got -1"):
        KLPenalty(coef=-1.0)


def test_with_a_target_the_coefficient_follows_the_divergence():
    mask = torch.tensor([[True, True], [True, False]])
    zero = torch.zeros(2, 2)
    context = SimpleNamespace(score_reference=lambda tokens, mask: zero)
    found = KLPenalty(coef=0.5, target=0.1)

    def fit(*kl: float) -> float:
        episodes = SimpleNamespace(tokens=zero, mask=mask, logp_old=torch.tensor([[kl[0], kl[1]], [kl[2], 9.0]]))
        logged = found.fit(episodes, context)
        assert logged["kl_penalty_kl"] == pytest.approx(sum(kl) / 3)
        return logged["kl_penalty_coef"]

    assert fit(0.3, 0.0, 0.03) == pytest.approx(0.5 * 1.01)  # 10% above the target
    assert fit(3.0, 3.0, 3.0) == pytest.approx(0.5 * 1.01 * 1.02)  # a step is 2% at most
    assert fit(-1.0, 0.0, 0.0) == pytest.approx(0.5 * 1.01 * 1.02 * 0.98)
    other = KLPenalty(coef=0.5, target=0.1)
    other.load_state_dict(found.state_dict())
    assert other.coef == found.coef
    assert KLPenalty(coef=0.5).fit(None, None) == {}


@pytest.mark.parametrize("coef", [0.01, 1.0])
def test_the_coefficient_comes_to_what_brings_about_the_target(coef):
    """Where the divergence is 0.03 / coefficient, as of a policy that is the best for its penalised reward."""
    zero = torch.zeros(1, 1)
    context = SimpleNamespace(score_reference=lambda tokens, mask: zero)
    reward = KLPenalty(coef=coef, target=0.2)
    for _ in range(400):
        episodes = SimpleNamespace(tokens=zero, mask=torch.ones(1, 1), logp_old=torch.tensor([[0.03 / reward.coef]]))
        reward.fit(episodes, context)
    assert reward.coef == pytest.approx(0.15, rel=1e-3)


def test_training_moves_the_coefficient_and_a_checkpoint_keeps_it(tmp_path):
    settings = {"prompts_per_batch": 2, "group_size": 2, "max_answer_tokens": 4, "device": "cpu", "seed": 0}
    rewards = {"name": "kl-penalty", "coef": 0.01, "target": 0.05}
    learner = PolicyGradient("chain-sum-base", "tiltyard/ChainSum-v0", rewards=rewards, **settings)
    learner.learn(4 * 2)
    assert learner.rewards[0].coef == pytest.approx(0.01 * 0.98 * 0.98)  # it has hardly moved: the target is far
    learner.save(tmp_path / "a.zip")
    assert PolicyGradient.load(tmp_path / "a.zip", device="cpu").rewards[0].coef == learner.rewards[0].coef


@pytest.mark.parametrize("settings", [{"target": 0.0}, {"target": -1.0}, {"target": 0.1, "coef": 0.0}])
def test_a_target_that_means_nothing_is_refused(settings):
    with pytest.raises(ValueError, match="must be above 0"):
        KLPenalty(**settings)
