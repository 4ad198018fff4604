"""SPR: its loss and augmentation by hand, which weights learn from what, and that it learns."""

from typing import Any

import gymnasium
import numpy as np
import pytest
import torch as th
from gymnasium.spaces import Box, Discrete
from stable_baselines3.common.env_util import make_vec_env

from tiltyard.agents.control.sequences import draw, returns
from tiltyard.agents.control.spr import SPR, augmented, prediction_loss
from tiltyard.agents.control.spr_networks import renormalised
from tiltyard.benchmarks.testbeds.catching import Catching

SMALL: dict[str, Any] = {
    "learning_starts": 20,
    "n_steps": 3,
    "prediction_steps": 2,
    "shift": 1,
    "policy_kwargs": {"net_arch": [16], "filters": [4, 4, 4]},
    "seed": 0,
}


def agent(env: Any = None, steps: int = 40, **settings: Any) -> SPR:
    return SPR("CnnPolicy", env or Catching(), **{**SMALL, **settings}).learn(steps)


def test_the_loss_by_hand() -> None:
    predicted = th.tensor([[[3.0, 4.0], [1.0, 0.0]], [[0.0, 2.0], [5.0, 0.0]]], requires_grad=True)
    targets = th.tensor([[[1.0, 0.0], [0.0, 7.0]], [[0.0, 1.0], [1.0, 0.0]]], requires_grad=True)
    alive = th.tensor([[1.0, 1.0], [1.0, 0.0]])
    loss = prediction_loss(predicted, targets, alive)
    assert loss.item() == pytest.approx(-((0.6 + 0.0) + 1.0) / 2)
    loss.backward()  # type: ignore[no-untyped-call]
    assert targets.grad is None
    assert predicted.grad is not None
    assert predicted.grad[1, 1].abs().sum() == 0


def test_images_are_moved_whole_and_their_borders_repeated() -> None:
    image = th.arange(2 * 5 * 6).view(1, 2, 5, 6).repeat(300, 1, 1, 1)
    th.manual_seed(0)
    moved = augmented(image, 1, 0.0)
    assert moved.shape == image.shape
    seen = set()
    for one in moved:
        where = [
            (down, right)
            for down in (-1, 0, 1)
            for right in (-1, 0, 1)
            if one.equal(
                image[0].float()[:, (th.arange(5) + down).clamp(0, 4)][:, :, (th.arange(6) + right).clamp(0, 5)]
            )
        ]
        assert len(where) == 1
        seen.add(where[0])
    assert len(seen) == 9


def test_brightness_is_multiplied_by_a_factor_of_each_image() -> None:
    th.manual_seed(0)
    factors = augmented(th.full((2000, 1, 2, 2), 100.0), 0, 0.05).flatten(1) / 100
    assert (factors == factors[:, :1]).all()
    assert factors.min() == pytest.approx(0.9)
    assert factors.max() == pytest.approx(1.1)
    assert factors[:, 0].std() == pytest.approx(0.05 * 0.959, rel=0.06)  # of a normal number cut at two deviations


def test_latents_are_renormalised_each_by_itself() -> None:
    found = renormalised(th.tensor([[[1.0, 3.0]], [[10.0, 10.0]]]))
    assert found.tolist() == [[[0.0, 1.0]], [[0.0, 0.0]]]


@pytest.mark.parametrize(("settings", "momentum"), [({}, 0.0), ({"shift": 0, "intensity": 0.0}, 0.99)])
def test_targets_follow_the_encoder(settings: dict[str, Any], momentum: float) -> None:
    one = agent(steps=21, gradient_steps=1, **settings)
    assert one.momentum == momentum
    online, slow = (list(net.parameters()) for net in (one.policy.q_net, one.policy.q_net_momentum))
    before = [param.detach().clone() for param in slow]
    one.train(1, 8)
    for now, then, fast in zip(slow, before, online, strict=True):
        assert th.allclose(now, momentum * then + (1 - momentum) * fast, atol=1e-6)
    assert not any(param.grad is not None for param in slow)


def test_without_the_loss_the_model_learns_nothing_and_with_it_all_networks_do() -> None:
    for weight in (0.0, 2.0):
        one = agent(steps=21, spr_weight=weight)
        net = one.policy.q_net
        before = {name: param.detach().clone() for name, param in net.named_parameters()}
        one.train(1, 8)
        moved = {name.split(".")[0] for name, param in net.named_parameters() if not param.equal(before[name])}
        model = {"transition", "predictor"} if weight else set()
        assert moved == {"features_extractor", "q_net"} | model
        assert ("train/spr_loss" in one.logger.name_to_value) == bool(weight)


def test_the_prediction_loss_alone_reaches_the_encoder() -> None:
    one = agent(steps=40)
    net = one.policy.q_net
    seen = th.as_tensor(one.replay_buffer.observations[:8, 0])
    latents = net.transition(net.encode(seen), th.zeros(8, dtype=th.long))
    prediction_loss(net.predictor(net.project(latents))[:, None], th.rand(8, 1, 32), th.ones(8, 1)).backward()
    for part in (net.features_extractor, net.transition, net.predictor):
        assert all(param.grad.abs().sum() > 0 for param in list(part.parameters())[:1])


def test_latents_are_rolled_out_by_the_actions_taken_and_compared_with_what_was_seen_then() -> None:
    one = agent(steps=60, intensity=0.0, shift=0, momentum=0.5, exploration_final_eps=1.0)
    net, slow = one.policy.q_net, one.policy.q_net_momentum
    drawn = draw(one.replay_buffer, 6, one.length)
    actions = th.as_tensor(drawn.of(one.replay_buffer.actions)[..., 0]).long()
    latents = net.encode(th.as_tensor(one.replay_buffer.observations[drawn.rows[:, 0], drawn.envs])).detach()
    latents.requires_grad_()
    first = net.transition(latents, actions[:, 0])
    second = net.transition(first, actions[:, 1])
    wanted = th.zeros(())
    for k, predicted in enumerate((first, second)):
        with th.no_grad():
            target = slow.project(
                slow.encode(th.as_tensor(one.replay_buffer.next_observations[drawn.rows[:, k], drawn.envs]))
            )
        cosines = th.cosine_similarity(net.predictor(net.project(predicted)), target)
        wanted = wanted - (cosines * th.as_tensor(drawn.alive[:, k])).mean()
    found = one._prediction(latents, actions, drawn)["spr_loss"]
    assert found.item() == pytest.approx(wanted.item(), abs=1e-6)
    slopes = [th.autograd.grad(loss, latents, retain_graph=True)[0] for loss in (found, wanted)]
    assert slopes[1].abs().max() > 0
    assert th.allclose(*slopes, atol=1e-6)


def test_values_are_the_mean_of_those_of_the_actions() -> None:
    head = agent().policy.q_net.q_net
    latents = th.rand(5, 4, 5, 5)
    value = head.value(head.project(latents)[:, :16].relu())
    assert th.allclose(head(latents).mean(1, keepdim=True), value, atol=1e-6)


def test_several_environments_warn_of_nothing_and_are_all_learnt_from(recwarn: pytest.WarningsRecorder) -> None:
    vec = make_vec_env(Catching, 3, seed=0)
    one = agent(vec, steps=60)
    assert not [str(each.message) for each in recwarn if "target" in str(each.message)]
    drawn = draw(one.replay_buffer, 200, one.length)
    assert set(drawn.envs) == {0, 1, 2}
    assert one._n_updates > 0


def test_there_is_no_update_before_a_sequence_is_stored() -> None:
    one = agent(steps=9, learning_starts=1, n_steps=10)
    assert one._n_updates == 0
    assert one.learn(2, reset_num_timesteps=False)._n_updates > 0


def test_sequences_do_not_cross_into_an_environment_that_began_anew() -> None:
    one = agent(steps=30, learning_starts=100)
    assert one.replay_buffer.dones[29] == 0  # in the middle of a ball
    one.learn(5, reset_num_timesteps=False)
    assert one.replay_buffer.dones[29] == 0  # goes on where it was
    one.learn(5)
    assert one.replay_buffer.dones[34] == one.replay_buffer.timeouts[34] == 1


def test_the_next_latent_depends_on_the_action() -> None:
    net = agent().policy.q_net.eval()
    latents = net.encode(th.randint(255, (3, 2, 10, 10)))
    first, second = (net.transition(latents, th.full((3,), action)) for action in (0, 1))
    assert first.shape == latents.shape
    assert (first - second).abs().max() > 1e-4


def test_targets_of_q_learning_are_double() -> None:
    one = agent(steps=40, intensity=0.0, shift=0, n_steps=1)
    drawn = draw(one.replay_buffer, 6, one.length)
    found = returns(one.replay_buffer, drawn, 1, one.gamma)
    with th.no_grad():
        one.policy.q_net_target.q_net.advantage.bias.add_(th.tensor([5.0, -5.0, 0.0]))  # so that the two differ
        after = th.as_tensor(one.replay_buffer.next_observations[found.last, drawn.envs])
        best = one.policy.q_net(after).argmax(1)
        values = one.policy.q_net_target(after)[th.arange(6), best]
    wanted = th.as_tensor(found.rewards) + th.as_tensor(found.discounts) * values
    assert th.allclose(one._td_targets(drawn), wanted)


@pytest.mark.parametrize("size", [10, 64])
def test_small_and_large_images_and_vectors(size: int) -> None:
    class Seen(gymnasium.Env[Any, Any]):
        observation_space = Box(0, 255, (size, size, 2), np.uint8)  # channels last, as the suite's
        action_space = Discrete(3)

        def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
            return self.observation_space.sample(), {}

        def step(self, action: Any) -> Any:
            return self.observation_space.sample(), 0.0, False, False, {}

    shape = agent(Seen(), learning_starts=5, steps=12).policy.q_net.features_extractor.latent_shape
    assert shape == ((4, 5, 5) if size == 10 else (4, 4, 4))
    assert agent("CartPole-v1").policy.q_net.features_extractor.latent_shape == (4,)


def test_a_saved_agent_goes_on_as_it_would_have(tmp_path: Any) -> None:
    one = agent(steps=40)
    one.save(tmp_path / "agent")
    one.save_replay_buffer(tmp_path / "buffer")
    other = SPR.load(tmp_path / "agent", env=one.get_env())
    other.load_replay_buffer(tmp_path / "buffer")
    for each in (one, other):
        th.manual_seed(3)
        each._setup_learn(10)
        each.train(2, 8)
    for mine, theirs in zip(one.policy.state_dict().values(), other.policy.state_dict().values(), strict=True):
        assert mine.equal(theirs)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"prediction_steps": 0}, "prediction_steps"),
        ({"spr_weight": -1.0}, "spr_weight"),
        ({"momentum": 1.5}, "momentum"),
        ({"buffer_size": 2}, "sequences of 3 steps .*: a buffer_size of 2 has no room"),
        ({"policy_kwargs": {"net_arch": [8, 8]}}, "net_arch is the one width"),
        ({"policy_kwargs": {"filters": [8]}}, "filters are the numbers of filters of three convolutions"),
    ],
)
def test_bad_settings_are_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        SPR("CnnPolicy", Catching(), **{**SMALL, **settings})


def test_other_observations_are_refused() -> None:
    class Flat(Catching):
        def __init__(self) -> None:
            super().__init__()
            self.observation_space = Box(0, 1, (3, 4))

    with pytest.raises(TypeError, match="SPR learns from images or vectors, not from Box"):
        SPR("CnnPolicy", Flat(), **SMALL)


@pytest.mark.slow
def test_it_learns_to_balance_a_pole() -> None:
    settings = {**SMALL, "learning_rate": 2e-3, "learning_starts": 100, "exploration_fraction": 0.3}
    one = SPR("MlpPolicy", "CartPole-v1", **{**settings, "policy_kwargs": {"net_arch": [64], "filters": [8, 8, 64]}})
    one.learn(1000)
    lengths = [info["l"] for info in one.ep_info_buffer or ()]
    assert np.mean(lengths[-5:]) > 2 * np.mean(lengths[:5])
