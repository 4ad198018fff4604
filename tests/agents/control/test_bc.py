from typing import Any

import numpy as np
import pytest
import torch as th

from tiltyard.agents import BC

SMALL: dict[str, Any] = {"policy_kwargs": {"net_arch": [32]}, "learning_rate": 3e-3, "batch_size": 64, "seed": 0}


def test_loss_by_hand(match: Any) -> None:
    agent = BC("MlpPolicy", match.env(), **SMALL)
    agent.learn_offline(match.data(2), 0)
    with th.no_grad():
        for weight in agent.actor.parameters():
            weight.zero_()
    batch = agent.demonstrated(2)._replace(actions=th.tensor([[0.5], [-1.0]]))
    assert agent.actor_loss(batch).item() == pytest.approx((0.25 + 1) / 2)


def test_does_what_the_data_did(match: Any) -> None:
    data = match.data()
    agent = BC("MlpPolicy", match.env(), **SMALL).learn_offline(data, 300)
    assert match.error(agent) == pytest.approx(1 / 3, abs=0.05)  # the mean of random actions is 0
    data.actions[:] = data.observations
    assert match.error(agent.learn_offline(data, 300)) < 0.01


def test_goes_on_with_the_data_while_it_acts(match: Any) -> None:
    data = match.data()
    data.actions[:] = data.observations
    agent = BC("MlpPolicy", match.env(), learning_starts=50, **SMALL).learn_offline(data, 0)
    agent.learn(300)
    assert match.error(agent) < 0.01
    assert agent.replay_buffer.size() == 300
    known = set(data.observations[:, 0].tolist())
    assert set(agent.sample(1000).observations[:, 0].tolist()) <= known


def test_without_data_it_says_what_to_do(match: Any) -> None:
    agent = BC("MlpPolicy", match.env(), **SMALL)
    for call in (lambda: agent.learn(10), lambda: agent.train(1)):
        with pytest.raises(ValueError, match="learn_offline\\(dataset"):
            call()
    assert agent._n_updates == 0


def test_acts_the_same_whatever_is_asked(match: Any) -> None:
    agent = BC("MlpPolicy", match.env(), **SMALL)
    seen = np.full((3, 1), 0.3, np.float32)
    np.testing.assert_array_equal(agent.predict(seen)[0], agent.predict(seen, deterministic=True)[0])
