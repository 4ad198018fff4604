from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch as th

from tiltyard.agents import BC, ReCOIL
from tiltyard.agents.control.datasets import Transitions
from tiltyard.agents.control.replay import DATASET, EXPERT, OWN, Batch

SMALL: dict[str, Any] = {"policy_kwargs": {"net_arch": [32]}, "learning_rate": 3e-3, "batch_size": 64, "seed": 0}


def first(data: Transitions, which: Any) -> Transitions:
    """Some of a dataset's one-step episodes."""
    names = ("observations", "actions", "rewards", "next_observations", "terminations", "ends", "episode_returns")
    parts = {name: getattr(data, name)[which] for name in names}
    return replace(data, **parts, episodes=np.arange(len(which)))


@pytest.fixture
def both(match: Any) -> tuple[Transitions, Transitions]:
    """The expert's thirty steps, and all data; rewards are lies, which nobody may look at."""
    data = match.data()
    expert = first(data, np.argsort(-data.rewards)[:30])
    return (replace(expert, rewards=-99 * np.ones(30, np.float32)), replace(data, rewards=-100 * data.rewards))


def test_imitates_the_expert_amid_other_data(match: Any, both: Any) -> None:
    expert, other = both
    agent = ReCOIL("MlpPolicy", match.env(), **SMALL).learn_offline(expert, 400, suboptimal=other)
    assert match.error(agent) < 0.05
    assert match.error(BC("MlpPolicy", match.env(), **SMALL).learn_offline(other, 200)) > 0.25
    good, bad = th.tensor([[0.5, 0.5], [-0.5, -0.5]]), th.tensor([[0.5, -0.5], [-0.5, 0.5]])
    values = [agent.critic(pairs[:, :1], pairs[:, 1:]).mean().item() for pairs in (good, bad)]
    assert values[0] > values[1] + 20


def test_batches_are_half_the_experts(match: Any, both: Any) -> None:
    expert, other = both
    agent = ReCOIL("MlpPolicy", match.env(), **SMALL).learn_offline(expert, 0, suboptimal=other)
    batch = agent.sample(65)
    known = set(expert.observations[:, 0].tolist())
    seen, drawn_as_expert = batch.observations[:, 0], batch.is_from(EXPERT)
    assert drawn_as_expert.sum() == 32
    assert set(seen[drawn_as_expert].tolist()) <= known
    assert sum(one in known for one in seen[~drawn_as_expert].tolist()) < 10
    alone = ReCOIL("MlpPolicy", match.env(), **SMALL).learn_offline(expert, 0).sample(8)
    assert set(alone.observations[:, 0].tolist()) <= known


def constant(network: Any, *values: float) -> None:
    """Makes each member of an ensemble give one value everywhere."""
    with th.no_grad():
        for weight in network.net.weights:
            weight.zero_()
        network.net.weights[-1][:, 0, 0] = th.tensor(values)


def test_an_update_by_hand(match: Any) -> None:
    # gamma 0.5, rho 1: Q_max 2. Mix: target critics 3 and 5, V 1, T 2: z = 1, (e - 2) / e. Critics 0 and 4: on the mix
    # -1 + 0.5 * 1 for the step that goes on, (0.5^2 + 4.5^2) / 2; on the expert's 2, (2^2 + 2^2) / 2.
    settings = SMALL | {"gamma": 0.5, "reward_bound": 1.0, "temperature": 2.0, "learning_rate": 0.0}
    agent = ReCOIL("MlpPolicy", match.env(), **settings)
    constant(agent.critic_target, 3.0, 5.0)
    constant(agent.critic, 0.0, 4.0)
    constant(agent.policy.value, 1.0)
    two = th.ones(2, 1)
    source = th.tensor([DATASET, EXPERT])
    batch = Batch(two, 0.5 * two, th.tensor([7.0, 7.0]), two, th.tensor([0.5, 0.5]), source=source)
    found = agent.update(batch)
    assert found["value_loss"].item() == pytest.approx(1 - 2 / np.e)
    assert found["critic_loss"].item() == pytest.approx((0.25 + 20.25) / 2 + 4)
    # One that terminated is worth -Q_max from there on: -1 + 0.5 * -2 = -2.
    ended = agent.update(batch._replace(discounts=th.tensor([0.0, 0.5])))
    assert ended["critic_loss"].item() == pytest.approx((4 + 36) / 2 + 4)


def test_goes_on_online_without_looking_at_rewards(match: Any, both: Any) -> None:
    agent = ReCOIL("MlpPolicy", match.env(), learning_starts=20, **SMALL)
    with pytest.raises(ValueError, match="learn_offline"):
        agent.learn(10)
    agent.learn_offline(both[0], 200, suboptimal=both[1]).learn(200)
    assert match.error(agent) < 0.1
    known = set(both[0].observations[:, 0].tolist()) | set(both[1].observations[:, 0].tolist())
    batch = agent.sample(2000)
    met = th.tensor([seen not in known for seen in batch.observations[:, 0].tolist()])
    assert 50 < met.sum() < 150  # 200 of 2230 in the half that is the mix
    assert met.equal(batch.is_from(OWN))


def test_comes_back_from_a_checkpoint(match: Any, both: Any, tmp_path: Path) -> None:
    agent = ReCOIL("MlpPolicy", match.env(), beta=2.0, **SMALL).learn_offline(both[0], 5)
    agent.save(tmp_path / "agent")
    loaded = ReCOIL.load(tmp_path / "agent")
    assert loaded.beta == 2.0
    assert match.error(loaded) == match.error(agent)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"temperature": 0.0}, "temperature must be above 0"),
        ({"n_steps": 3}, "leave n_steps at 1"),
        ({"sampler": "return-weighting"}, "sampler at uniform"),
        ({"gamma": 1.0}, "gamma below 1"),
        ({"batch_size": 1}, "batch_size of at least 2"),
    ],
)
def test_bad_settings_are_refused(settings: dict[str, Any], message: str, match: Any) -> None:
    with pytest.raises(ValueError, match=message):
        ReCOIL("MlpPolicy", match.env(), **settings)


def test_bad_data_change_nothing(match: Any, both: Any) -> None:
    agent = ReCOIL("MlpPolicy", match.env(), **SMALL).learn_offline(both[0], 0)
    before = agent.demonstrations
    with pytest.raises((TypeError, FileNotFoundError)):
        agent.learn_offline(both[0], 1, suboptimal="no/such-v0")
    with pytest.raises(ValueError, match="gradient_steps"):
        agent.learn_offline(both[0], -1)
    assert agent.demonstrations is before
