from typing import Any

import gymnasium
import numpy as np
import pytest
import torch as th

from tiltyard.agents import make
from tiltyard.agents.control.found_rl import FoundRL, expert_actions, guidance_weights, margin_loss
from tiltyard.agents.control.replay import Batch

SCENE = "tiltyard/RaceTrack-v0"
SMALL: dict[str, Any] = {"policy_kwargs": {"net_arch": [16]}, "learning_starts": 1000, "device": "cpu", "seed": 0}


def learner(n: int = 2, **settings: Any) -> Any:
    env = gymnasium.make_vec(SCENE, n, vectorization_mode="vector_entry_point")
    return make("found-rl", env, **SMALL | {"buffer_size": 200} | settings)


def test_the_margin_by_hand() -> None:
    # Two critics, three transitions, of which the first two have advice: (3 - 1 - 0.5)^2 = 2.25, (1 - 1 - 0.5)^2 = 0.25
    # of the first critic; 0.25 and 0.25 of the second; the third does not count.
    taught = th.tensor([[3.0, 1.0, 9.0], [2.0, 1.0, 9.0]])
    own = th.tensor([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0]])
    advised = th.tensor([1.0, 1.0, 0.0])
    assert margin_loss(taught, own, advised, 0.5).item() == pytest.approx((2.25 + 0.25 + 0.25 + 0.25) / 2)
    assert margin_loss(taught, own, th.zeros(3), 0.5).item() == 0.0


def test_only_better_advice_is_imitated_and_by_how_much() -> None:
    advantages = th.tensor([-1.0, 0.0, 2 * np.log(3.0), 100.0])
    assert guidance_weights(advantages, 2.0, 20.0).tolist() == pytest.approx([0.0, 0.0, 3.0, 20.0])


@pytest.mark.parametrize("delay", [0, 4])
def test_advice_comes_late_and_lies_beside_the_state_it_was_asked_in(delay: int) -> None:
    agent = learner(delay=delay, ask_every=3)
    agent.learn(2 * 20)
    buffer, told = agent.replay_buffer, []
    for row in range(20):
        told.append(bool(buffer.advised[row].all()))
    asked = [row % 3 == 0 and row + delay <= 19 for row in range(20)]
    assert told == asked
    env = gymnasium.make_vec(SCENE, 2, vectorization_mode="vector_entry_point")
    env.reset(seed=0)
    for row in range(19):
        if buffer.advised[row].all():
            expected = agent.policy.scale_action(env.unwrapped.batched.expert_actions())
            assert buffer.advice[row] == pytest.approx(expected, abs=1e-6)
        env.step(agent.policy.unscale_action(buffer.actions[row]))


def test_a_row_that_is_written_over_loses_its_advice() -> None:
    agent = learner(delay=1, ask_every=7, buffer_size=2 * 10)
    agent.learn(2 * 16)  # rows 0 to 9 were asked about at steps 0 and 7, rows 0 to 5 again at 14
    assert agent.replay_buffer.advised[:, 0].tolist() == [0, 0, 0, 0, 1, 0, 0, 1, 0, 0]


def test_a_teacher_is_wrong_as_often_as_told() -> None:
    agent = learner(n=200, teacher_accuracy=0.7)
    agent.env.reset()
    right = (agent._teach() == agent.policy.scale_action(expert_actions(agent.env))).all(axis=1)
    assert right.mean() == pytest.approx(0.7, abs=0.1)


def test_batches_bring_their_advice_and_demonstrations_have_none() -> None:
    agent = learner(delay=0, ask_every=1)
    agent.learn(2 * 12)
    batch = agent.sample(8)
    advice, advised = agent._advice
    assert advised.tolist() == [1.0] * 8
    rows = agent.replay_buffer
    pairs = zip(rows.actions[:12].reshape(-1, 2), rows.advice[:12].reshape(-1, 2), strict=True)
    stored = {tuple(action.round(5)): said for action, said in pairs}
    for action, said in zip(batch.actions.numpy(), advice.numpy(), strict=True):
        assert said == pytest.approx(stored[tuple(action.round(5))])


def test_advice_moves_critics_and_actor_and_without_it_nothing_is_added() -> None:
    agent = learner(margin=1.0, margin_kept=0, margin_gone=100, guidance_temperature=1.0)
    agent.learn(2)
    batch = Batch(th.zeros(4, 233), th.zeros(4, 2), th.zeros(4), th.zeros(4, 233), th.zeros(4))
    agent._advice = th.full((4, 2), 0.5), th.zeros(4)
    assert agent.update(batch)["margin_loss"].item() == 0.0
    agent._advice = th.full((4, 2), 0.5), th.ones(4)
    before = (
        agent.critic(batch.observations, agent._advice[0]) - agent.critic(batch.observations, batch.actions)
    ).mean()
    for _ in range(30):
        metrics = agent.update(batch)
    after = (
        agent.critic(batch.observations, agent._advice[0]) - agent.critic(batch.observations, batch.actions)
    ).mean()
    assert after > before
    assert metrics["better_advice"].item() > 0
    agent.num_timesteps = 50
    assert agent.margin_share == 0.5
    agent.num_timesteps = 1000
    assert agent.margin_share == 0.0


def test_bad_settings_are_refused() -> None:
    with pytest.raises(ValueError, match="margin_kept is below"):
        learner(margin_kept=5, margin_gone=5)
    with pytest.raises(ValueError, match="delay must be"):
        learner(delay=-1)
    with pytest.raises(TypeError, match="has none"):
        make("found-rl", "Pendulum-v1", **SMALL).learn(1)
    with pytest.raises(TypeError, match="flat Box"):
        FoundRL("CnnPolicy", gymnasium.make(SCENE, observation="bev"), device="cpu")
