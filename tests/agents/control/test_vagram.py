from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch as th
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

from tiltyard.agents import SAC, VaGraM, make
from tiltyard.agents.control.replay import MODEL, OWN, Batch
from tiltyard.agents.control.vagram import vagram_weights, value_gradients
from tiltyard.benchmarks.testbeds.distracted import SETTINGS, Distracted, Puck

SMALL: dict[str, Any] = {
    **{"policy_kwargs": {"net_arch": [16]}, "batch_size": 20, "buffer_size": 500, "learning_starts": 20, "seed": 0},
    **{"gradient_steps": 1, "n_models": 3, "n_elites": 2, "model_net_arch": [8], "model_train_freq": 10},
    **{"model_updates": 5, "model_patience": None, "rollouts_per_step": 3, "device": "cpu"},
}


def made(**settings: Any) -> VaGraM:
    return VaGraM("MlpPolicy", Puck(2, steps=10), **{**SMALL, **settings})


def random_batch(n: int = 20) -> Batch:
    return Batch(th.randn(n, 4), th.rand(n, 1), th.randn(n), th.randn(n, 4), th.full((n,), 0.9))


def test_weights_by_hand() -> None:
    # Two values and one state of two dimensions: squares 9, 16 and 1, 0, their means 5 and 8, over two dimensions.
    gradients = th.tensor([[[3.0, 4.0]], [[1.0, 0.0]]])
    assert vagram_weights(gradients, quantile=0.95, with_mse=False).tolist() == [[2.5, 4, 1]]
    added = vagram_weights(gradients, quantile=0.95, with_mse=True)
    assert added[0].tolist() == pytest.approx([2.5 + 1 / 3, 4 + 1 / 3, 1 + 1 / 3])


def test_long_gradients_are_cut_to_the_quantile() -> None:
    # Lengths 1 and 3 of one value: their median is 2.
    found = vagram_weights(th.tensor([[[1.0], [-3.0]]]), quantile=0.5, with_mse=False)
    assert found.tolist() == [[1, 1], [4, 1]]
    assert vagram_weights(th.zeros(2, 3, 4), quantile=0.5, with_mse=False)[:, :4].eq(0).all()


def test_a_dimension_that_values_ignore_has_no_weight() -> None:
    agent = made()
    for critic in (agent.critic, agent.critic_target):
        with th.no_grad():
            critic.net.params[0][:, 2] = 0
    gradients = value_gradients(agent.actor, [agent.critic, agent.critic_target], th.randn(6, 4))
    assert gradients.shape == (4, 6, 4)
    weights = vagram_weights(gradients, quantile=0.95, with_mse=False)
    assert weights[:, 2].eq(0).all()
    assert (weights[:, [0, 1, 3, 4]] > 0).all()


def test_gradients_are_differences_of_values_with_the_action_held() -> None:
    agent, step = made(policy_kwargs={"net_arch": [16], "activation_fn": th.nn.Tanh}), 1e-2
    seen = th.randn(5, 4)
    with th.no_grad():
        actions = agent.actor(seen, deterministic=True)
        found = value_gradients(agent.actor, [agent.critic], seen)
        for i in range(4):
            move = step * th.eye(4)[i]
            difference = (agent.critic(seen + move, actions) - agent.critic(seen - move, actions)) / (2 * step)
            th.testing.assert_close(found[..., i], difference, atol=1e-3, rtol=1e-2)


def test_the_update_is_sacs() -> None:
    settings = {name: SMALL[name] for name in ("policy_kwargs", "batch_size", "buffer_size", "seed", "device")}
    mine, theirs = made(), SAC("MlpPolicy", Puck(2, steps=10), **settings)
    th.manual_seed(1)
    batches = [random_batch() for _ in range(3)]
    for agent in (mine, theirs):
        th.manual_seed(2)
        for batch in batches:
            agent.update(batch)
    for one, other in zip(mine.policy.parameters(), theirs.policy.parameters(), strict=True):
        assert one.equal(other)
    assert mine.log_ent_coef.equal(theirs.log_ent_coef)  # type: ignore[union-attr, arg-type]


def test_batches_hold_rollouts_and_a_share_of_real_steps() -> None:
    agent = made(real_ratio=0.25).learn(40)
    batch = agent.sample(20)
    assert len(batch.rewards) == 20
    assert (batch.is_from(OWN).sum(), batch.is_from(MODEL).sum()) == (5, 15)
    assert (made(real_ratio=0.0).learn(40).sample(20)).is_from(MODEL).all()
    shares = [made(real_ratio=0.02).learn(30).sample(20).is_from(OWN).sum().item()]
    assert shares[0] in (0, 1)


def test_rollouts_are_of_the_last_fits() -> None:
    agent = made(kept_fits=2, rollout_length=3).learn(40)  # three fits of 3 * 10 rollouts
    assert agent._imagined is not None
    assert len(agent._imagined) == 2 * 30 * 3
    table = agent._imagined
    agent.fit_model()
    assert agent._imagined[:90].equal(table[90:])


def test_predicted_ends_have_no_future() -> None:
    agent = made(real_ratio=0.0).learn(30)
    with th.no_grad():
        agent.model.biases[-1][..., -1] += 50
    agent.settings = agent.settings.__class__(**{**vars(agent.settings), "model_updates": 1, "kept_fits": 1})
    agent.fit_model()
    assert agent.sample(10).discounts.eq(0).all()


def test_the_loss_decides_what_the_model_is() -> None:
    assert made(model_loss="mle").model.probabilistic
    assert make("mbpo", Puck(), **SMALL).model.probabilistic
    assert not made().model.probabilistic
    assert not made(model_loss="mse").model.probabilistic
    by_loss = [made(model_loss=loss, mse_steps=0).learn(30).model.weights[0] for loss in ("vagram", "mse")]
    assert not by_loss[0].equal(by_loss[1])


def test_checkpoints_hold_the_model(tmp_path: Path) -> None:
    agent = made(model_loss="mle").learn(40)
    agent.save(tmp_path / "agent")
    loaded = VaGraM.load(tmp_path / "agent", env=Puck(2, steps=10))
    one, other = agent.model.state_dict(), loaded.model.state_dict()
    assert one.keys() == other.keys()
    assert all(one[name].equal(other[name]) for name in one)
    assert not one["input_mean"].eq(0).all()
    state = loaded.model_optimizer.state_dict()["state"]
    assert state[0]["exp_avg"].equal(agent.model_optimizer.state_dict()["state"][0]["exp_avg"])
    loaded.learn(30, reset_num_timesteps=False)


def test_it_learns_in_a_model_that_learns() -> None:
    settings = {**SETTINGS, "model_net_arch": [16], "model_learning_rate": 0.01, "gradient_steps": 24, "seed": 0}
    agent, bed = VaGraM("MlpPolicy", Puck(), device="cpu", **settings), Distracted()
    before = bed.score(agent, 0)
    agent.learn(360)
    assert bed.score(agent, 0) > max(before, 0) + 0.3
    steps = agent.real_steps()
    predicted = agent.model.step(steps.observations, steps.actions)[0]
    moved = steps.next_observations - steps.observations
    assert (predicted - steps.next_observations).square().mean() < 0.2 * moved.square().mean()


def test_what_it_does_not_take_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown model_loss 'vagramm'; did you mean 'vagram'"):
        made(model_loss="vagramm")
    with pytest.raises(ValueError, match="n_elites must be between 1 and the 3 members, got 4"):
        made(n_elites=4)
    with pytest.raises(ValueError, match="real_ratio must be a number from 0 to 1, got 2"):
        made(real_ratio=2.0)
    with pytest.raises(TypeError, match="vagram needs flat Box observations"):
        made(n_steps=3)
    normalised: Any = VecNormalize(DummyVecEnv([lambda: Puck(2, steps=10)]))
    agent = VaGraM("MlpPolicy", normalised, **SMALL)
    with pytest.raises(TypeError, match="without VecNormalize"):
        agent.learn(40)


def test_any_gymnasium_environment_will_do() -> None:
    agent = VaGraM("MlpPolicy", gymnasium.make("Pendulum-v1"), **SMALL).learn(30)
    action, _ = agent.predict(np.zeros(3, np.float32), deterministic=True)
    assert action.shape == (1,)
