from typing import Any

import pytest
import torch as th

from tiltyard.agents import AWAC
from tiltyard.agents.control.awac import batch_weights
from tiltyard.agents.control.replay import Batch

SMALL: dict[str, Any] = {"policy_kwargs": {"net_arch": [32]}, "learning_rate": 3e-3, "batch_size": 64, "seed": 0}


def test_weights_by_hand() -> None:
    # exp of 0, log 2 and log 5: 1, 2 and 5 of 8.
    advantages = th.tensor([0.0, 2.0, 5.0]).clamp_min(1).log() * 0.5
    assert batch_weights(advantages, 0.5, "softmax", 4.0).tolist() == pytest.approx([3 / 8, 6 / 8, 15 / 8])
    assert batch_weights(advantages, 0.5, "exp", 4.0).tolist() == pytest.approx([1, 2, 4])


def constant(network: Any, *values: float) -> None:
    """Makes each member of an ensemble give one value everywhere."""
    with th.no_grad():
        for weight in network.net.weights:
            weight.zero_()
        network.net.weights[-1][:, 0, 0] = th.tensor(values)


def test_an_update_by_hand(match: Any) -> None:
    # Targets: 1 + 0.5 min(4, 2) = 2. Critics 0 and 3: half of 2^2 and of 1^2. The critics see no difference between
    # actions, so advantages are 0 and weights 1; the mean is 0, the deviation 1: -log pi is 0.5 a^2 + 0.918939.
    agent = AWAC("MlpPolicy", match.env(), **SMALL | {"learning_rate": 0.0})
    constant(agent.critic_target, 4.0, 2.0)
    constant(agent.critic, 0.0, 3.0)
    with th.no_grad():
        for weight in agent.actor.net.weights:
            weight.zero_()
    ones = th.ones(2, 1)
    batch = Batch(ones, th.tensor([[0.0], [1.0]]), th.ones(2), ones, 0.5 * th.ones(2))
    found = {name: value.item() for name, value in agent.update(batch).items()}
    assert found["critic_loss"] == pytest.approx(2.5)
    assert found["actor_loss"] == pytest.approx(0.25 + 0.918939, abs=1e-5)


@pytest.mark.parametrize("weighting", ["softmax", "exp"])
def test_finds_the_best_actions_of_the_data(match: Any, weighting: str) -> None:
    agent = AWAC("MlpPolicy", match.env(), temperature=0.1, weighting=weighting, **SMALL)
    assert match.error(agent.learn_offline(match.data(), 400)) < 0.06


def test_goes_on_online_with_the_data_in_the_mix(match: Any) -> None:
    agent = AWAC("MlpPolicy", match.env(), temperature=0.1, offline_ratio=0.5, **SMALL)
    agent.learn_offline(match.data(), 100)
    before = match.error(agent)
    agent.learn(300)
    assert match.error(agent) < before
    assert (agent.num_timesteps, agent.replay_buffer.size()) == (300, 300)
    known = {float(value) for value in agent.demonstrations.rows[:, 0]}  # type: ignore[union-attr]
    drawn = agent.sample(200).observations[:, 0].tolist()
    assert sum(value in known for value in drawn) == pytest.approx(100, abs=1)


def test_before_any_data_it_says_what_to_do(match: Any) -> None:
    with pytest.raises(ValueError, match="no transitions to learn from"):
        AWAC("MlpPolicy", match.env(), **SMALL).train(1)


@pytest.mark.parametrize("bad", [{"weighting": "softmx"}, {"temperature": 0.0}])
def test_bad_settings_are_refused(match: Any, bad: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(bad))):
        AWAC("MlpPolicy", match.env(), **bad)
