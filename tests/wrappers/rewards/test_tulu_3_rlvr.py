import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from tiltyard.agents.language.trainer import PolicyGradient
from tiltyard.wrappers.rewards.tulu_3_rlvr import END, RLVR

sys.path.insert(0, str(Path(__file__).parent))
from made_up import Read  # noqa: E402

ENV = "tiltyard/ChainSum-v0"
MODEL = {"name": "tldr-rlhf", "pairs": 24, "learning_rate": 1e-3}


def agent(**settings) -> PolicyGradient:
    small = {"method": "tulu-3-rlvr", "group_size": 4, "prompts_per_batch": 4, "max_answer_tokens": 32, "seed": 0}
    return PolicyGradient("chain-sum-base", ENV, **{**small, "device": "cpu", **settings})


def episodes():
    """An accepted completion, a wrong one, and an accepted one that was cut."""
    tokens = torch.tensor([[9, 8, 7, END], [9, 8, END, 0], [9, 8, 7, 6]])
    mask = torch.tensor([[0, 1, 1, 1], [0, 1, 1, 0], [0, 1, 1, 1]], dtype=torch.bool)
    last = torch.tensor([[0, 0, 0, 1], [0, 0, 1, 0], [0, 0, 0, 1]], dtype=torch.bool)
    return SimpleNamespace(
        tokens=tokens,
        mask=mask,
        last_token=lambda: last,
        reward=torch.tensor([0.9, -0.1, 1.0]),
        info={"success": torch.tensor([True, False, True]), "first": torch.tensor([0.5, -2.0, 1.0])},
    )


def test_rewards_by_hand():
    assert RLVR().shape(episodes(), None).tolist() == [10.0, 0.0, -10.0]
    assert RLVR(alpha=2.0, unfinished=None).shape(episodes(), None).tolist() == [2.0, 0.0, 2.0]
    both = RLVR(of=Read("first"), multiplier=3.0, critic=False, unfinished=-1.0)
    assert both.needs == ("logp_ref",)
    assert both.shape(episodes(), None).tolist() == [10.0 + 3 * 0.5, -3 * 2.0, -1.0]


def test_what_is_wrong_is_said():
    for wrong in ({"alpha": 0.0}, {"multiplier": -1.0, "of": "outcome"}):
        with pytest.raises(ValueError, match="alpha is above 0 and multiplier at least 0"):
            RLVR(**wrong)
    with pytest.raises(ValueError, match="name one in of="):
        RLVR(multiplier=1.0)
    with pytest.raises(ValueError, match="give one of them"):
        RLVR(of=MODEL, critic=False)
    with pytest.raises(TypeError, match="needs a reward model such as 'tldr-rlhf'"):
        RLVR(of="outcome")
    trained = agent(method="grpo", rewards={"name": "tulu-3-rlvr", "of": MODEL})
    with pytest.raises(ValueError, match="take method='tulu-3-rlvr' or 'ppo', or critic=False"):
        trained.learn(16)


def test_the_critic_begins_as_the_reward_model_and_goes_on_after_loading(tmp_path):
    rewards = [{"name": "tulu-3-rlvr", "of": MODEL}, "kl-penalty"]
    trained = agent(rewards=rewards)
    trained._callback = trained._setup_learn(1)[1]
    context = trained.context()
    played = context.play(range(8), group_size=2)
    reward, critic = trained.rewards[0], trained.providers["values"].critic
    assert (critic.values(played) == 0).all()
    reward.begin(context)
    model = reward.of[0]
    values = critic.values(played)
    # where a token was read by both, V before the one that follows is r of what had been written
    part = played.take(torch.arange(len(played)))
    scores = model.network.body(part.tokens[:, :-1]) @ model.network.weight - model.shift
    assert torch.allclose(values[:, 1:][part.mask[:, 1:]], scores[part.mask[:, 1:]], atol=1e-4)
    assert values.abs().max() > 0.01
    trained.learn(16)
    fitted = critic.values(played)
    assert not torch.allclose(fitted, values, atol=1e-4)
    trained.save(tmp_path / "agent")
    loaded = PolicyGradient.load(tmp_path / "agent", env=trained.env, device="cpu")
    for one in (trained, loaded):
        one.learn(16, reset_num_timesteps=False)
    after = [one.providers["values"].critic.values(played) for one in (trained, loaded)]
    assert torch.equal(*after)
    assert loaded.rewards[0].begun
    loaded.rewards[0].start(loaded.context())
    assert not loaded.rewards[0].begun  # as after a warm start, which makes a new critic


def test_the_method_is_ppo_on_answers_that_a_verifier_accepts():
    named = agent(max_answer_tokens=24)
    spelled = agent(method="ppo", rewards=["tulu-3-rlvr", {"name": "kl-penalty", "coef": 0.05}], max_answer_tokens=24)
    plain = agent(method="ppo", max_answer_tokens=24)
    for one in (named, spelled, plain):
        one.learn(32)
    weights = [one.policy.network.embedding.weight for one in (named, spelled, plain)]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])
