"""Actions by the return that is still to be had: what is learnt, what is asked for, and how it falls."""

import sys
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch as th
from stable_baselines3.common.evaluation import evaluate_policy

from tiltyard.agents import BC, RCSL
from tiltyard.agents.control.datasets import Transitions
from tiltyard.agents.control.rcsl import begins, imitation_loss, with_returns
from tiltyard.agents.control.td3_bc import Standardised

sys.path.insert(0, str(Path(__file__).parent))
from purse_helpers import STEPS, Purse

SMALL: dict[str, Any] = {
    **{"policy_kwargs": {"net_arch": [32]}, "learning_rate": 3e-3, "batch_size": 64, "seed": 0},
    **{"buffer_size": 50, "device": "cpu"},
}


def purses(episodes: int = 400, seed: int = 0) -> Transitions:
    """Episodes whose actions are all the same, between -2 and 2: the return, from -4 to 4, says which."""
    actions = np.random.default_rng(seed).uniform(-2, 2, episodes).astype(np.float32).repeat(STEPS)
    n, step = episodes * STEPS, np.tile(np.arange(STEPS, dtype=np.float32), episodes)
    rewards = actions / 2
    return Transitions(
        observations=step[:, None],
        actions=actions[:, None],
        rewards=rewards,
        next_observations=step[:, None] + 1,
        terminations=np.zeros(n, np.float32),
        ends=step == STEPS - 1,
        episodes=np.arange(episodes).repeat(STEPS),
        episode_returns=rewards.reshape(episodes, STEPS).sum(axis=1).astype(float),
    )


def made(**settings: Any) -> RCSL:
    return RCSL("MlpPolicy", Purse(), **{**SMALL, **settings})


@pytest.fixture(scope="module")
def taught() -> RCSL:
    return made().learn_offline(purses(), 800)


def returned(agent: RCSL, target: float, **kwargs: Any) -> float:
    agent.policy.target.fill_(target)
    return float(evaluate_policy(agent, Purse(), n_eval_episodes=2, warn=False, **kwargs)[0])


def test_loss_by_hand() -> None:
    agent = made().learn_offline(purses(20), 0)
    with th.no_grad():
        for weight in agent.actor.parameters():
            weight.zero_()
    agent.actor.reward_mean.fill_(1.0)
    agent.actor.reward_std.fill_(2.0)
    batch = agent.demonstrated(2)._replace(actions=th.tensor([[0.5], [-1.0]]), rewards=th.tensor([5.0, 1.0]))
    # Actions (0.25 + 1) / 2; rewards ((5 - 1) / 2)^2 = 4 and 0, over two.
    assert imitation_loss(agent.policy.actor, batch).item() == pytest.approx(0.625 + 2)


def test_returns_to_go_are_undiscounted_whatever_gamma_is() -> None:
    data = purses(1)
    data.rewards[:] = [1, 2, 3, 4]
    agent = made(gamma=0.5).learn_offline(data, 0)
    assert agent.demonstrations is not None
    assert agent.demonstrations.returns.tolist() == [10, 9, 7, 4]
    assert agent.policy.target.item() == 10
    assert made(target_return=7.5).learn_offline(data, 0).policy.target.item() == 7.5


def test_the_target_is_of_whole_episodes() -> None:
    data = purses(2)
    data.rewards[:] = [-5, 8, 0, 0, 1, 1, 1, 1]  # 8 from the second step on, but 3 from the first
    assert made().learn_offline(data, 0).policy.target.item() == 4
    assert begins(data).tolist() == [0, 4]


def test_it_gets_the_return_it_is_asked_for(taught: RCSL) -> None:
    for target in (-2.0, 0.0, 3.0):
        assert returned(taught, target) == pytest.approx(target, abs=0.3)


def test_what_steps_paid_is_taken_off_the_target(taught: RCSL) -> None:
    seen = np.zeros((2, 1), np.float32)
    taught.policy.target.fill_(2.0)
    _, state = taught.predict(seen)
    assert state is not None
    assert state[0].tolist() == [2, 2]
    paid = (state[0], state[1], np.array([[0.5], [-1.0]], np.float32))  # actions 1 and -2: 0.5 and -1
    _, later = taught.predict(seen + 1, state=paid, episode_start=np.array([False, False]))
    assert later is not None
    assert later[0] == pytest.approx([1.5, 3.0], abs=0.1)
    _, begun = taught.predict(seen, state=paid, episode_start=np.array([True, False]))
    assert begun is not None
    assert begun[0][0] == 2
    assert taught.predict(seen + 1, state=None)[1][0].tolist() == [2, 2]  # type: ignore[index]


def test_less_left_is_another_action(taught: RCSL) -> None:
    policy, seen = taught.policy, th.full((2, 1), 3.0)  # the last step, which has to pay all
    found = policy.actor(with_returns(seen, th.tensor([0.75, -0.75])))
    assert found[:, 0].tolist() == pytest.approx([0.75, -0.75], abs=0.1)  # a reward is half an action, 2 its bound


def test_rewards_are_learnt_in_their_own_units(taught: RCSL) -> None:
    actions = th.tensor([[-0.9], [0.0], [0.8]])
    seen = th.full((3, 1), 1.0)
    found = taught.actor.rewards(seen, actions, seen + 1)
    assert found.tolist() == pytest.approx([-0.9, 0.0, 0.8], abs=0.08)
    assert float(taught.actor.reward_std) == pytest.approx(0.58, abs=0.05)  # uniform on [-1, 1]


def test_rewards_are_of_where_a_step_led_from_and_to() -> None:
    agent, one, other = made(), th.full((1, 1), 1.0), th.full((1, 1), 2.0)
    found = [agent.actor.rewards(*pair) for pair in ((one, one, one), (one, one, other), (other, one, one))]
    assert not found[0].equal(found[1])
    assert not found[0].equal(found[2])
    assert not found[1].equal(found[2])


def test_one_observation_is_one_action(taught: RCSL) -> None:
    alone, _ = taught.predict(np.zeros(1, np.float32))
    both, _ = taught.predict(np.zeros((2, 1), np.float32))
    assert alone.shape == (1,)
    np.testing.assert_allclose(both, np.stack([alone, alone]), rtol=1e-5)


def test_cloning_knows_no_return() -> None:
    agent = BC("MlpPolicy", Purse(), **SMALL).learn_offline(purses(), 300)
    assert float(evaluate_policy(agent, Purse(), n_eval_episodes=1, warn=False)[0]) == pytest.approx(0, abs=0.4)


def test_moments_stay_those_of_the_first_data_and_the_target_does_not() -> None:
    agent, other = made().learn_offline(purses(), 0), purses(seed=1)
    mean, other.rewards[:] = agent.actor.reward_mean.item(), 5
    agent.learn_offline(other, 0)
    assert agent.actor.reward_mean.item() == mean
    assert agent.policy.target.item() == 20


def test_checkpoints_hold_target_and_moments(taught: RCSL, tmp_path: Path) -> None:
    taught.policy.target.fill_(3.0)
    taught.save(tmp_path / "agent")
    loaded, seen = RCSL.load(tmp_path / "agent"), np.ones((1, 1), np.float32)
    assert loaded.policy.target.item() == 3
    assert loaded.actor.reward_std.equal(taught.actor.reward_std)
    np.testing.assert_array_equal(loaded.predict(seen)[0], taught.predict(seen)[0])
    taught.actor.save(tmp_path / "actor")
    known = {"tiltyard.agents.control.td3_bc:Standardised": Standardised}
    alone = type(taught.actor).load(tmp_path / "actor", custom_objects=known)
    asked = with_returns(th.ones(1, 1), th.ones(1))
    assert alone(asked).equal(taught.actor(asked))


def test_what_it_does_not_take_is_refused() -> None:
    with pytest.raises(ValueError, match="deterministic: leave actor='gaussian' out"):
        made(policy_kwargs={"actor": "gaussian"})
    with pytest.raises(ValueError, match="unknown policy 'CnnPolicy'"):
        RCSL("CnnPolicy", Purse(), **SMALL)
    with pytest.raises(TypeError, match="RCSL needs flat Box observations"):
        RCSL("MlpPolicy", gymnasium.wrappers.ReshapeObservation(Purse(), (1, 1)), **SMALL)
