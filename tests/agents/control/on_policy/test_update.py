"""The loss, its gradient and the update, beside SB3's PPO on the same batch."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import stable_baselines3 as sb3
import torch as th
from gymnasium.spaces import Box, Discrete, MultiBinary, MultiDiscrete, Space
from stable_baselines3.common.logger import configure
from stable_baselines3.common.type_aliases import RolloutBufferSamples

from tiltyard.agents.control.on_policy.distributions import distribution_of
from tiltyard.agents.control.on_policy.fused import FusedPolicy, is_fusable
from tiltyard.agents.control.on_policy.policies import NormalizedPolicy
from tiltyard.agents.control.on_policy.rollout import Samples
from tiltyard.agents.control.on_policy.update import Settings, autograd_of, losses_of, run_update
from tiltyard.agents.restoring import SpacesAlone

SIZE, OBSERVATIONS = 64, Box(-np.inf, np.inf, (5,), np.float32)
SETTINGS = Settings(
    batch_size=SIZE,
    n_epochs=1,
    clip_range=0.1,
    clip_range_vf=None,
    normalize_advantage=True,
    ent_coef=0.02,
    vf_coef=0.7,
    max_grad_norm=0.5,
    target_kl=None,
)
SPACES: dict[str, Space[Any]] = {
    "box": Box(-1, 1, (3,), np.float32),
    "discrete": Discrete(4),
    "multi": MultiDiscrete([3, 2, 4]),
    "binary": MultiBinary(3),
}


def samples_of(space: Space[Any]) -> Samples:
    """Random ones, whose ratios lie on both sides of the clip."""
    generator = th.Generator().manual_seed(1)
    space.seed(0)
    actions = th.tensor(np.stack([space.sample() for _ in range(SIZE)]))
    scale = {Discrete: -1.5, MultiBinary: -2.0}.get(type(space), -3.0)
    noise = [th.randn(SIZE, generator=generator) for _ in range(4)]
    observations = th.randn(SIZE, 5, generator=generator)
    return Samples(observations, actions, scale + 0.3 * noise[0], noise[1], noise[2], noise[1] + noise[2] + noise[3])


def policy_of(space: Space[Any], **kwargs: Any) -> NormalizedPolicy:
    th.manual_seed(0)
    found = NormalizedPolicy(OBSERVATIONS, space, lambda _: 1e-3, norm_obs=False, **kwargs)
    with th.no_grad():
        found.action_net.weight.mul_(30.0)  # it begins so near zero that all actions are alike
    return found


def grads(policy: NormalizedPolicy) -> list[th.Tensor]:
    return [parameter.grad.clone() for parameter in policy.parameters() if parameter.grad is not None]


def theirs(space: Space[Any], policy: NormalizedPolicy, samples: Samples, settings: Settings) -> list[th.Tensor]:
    """The gradient that SB3's PPO clips and hands to its optimiser, from the same weights and batch."""
    agent = sb3.PPO(
        "MlpPolicy",
        SpacesAlone(1, OBSERVATIONS, space),
        n_steps=SIZE,
        batch_size=SIZE,
        n_epochs=1,
        clip_range=settings.clip_range,
        clip_range_vf=settings.clip_range_vf,
        ent_coef=settings.ent_coef,
        vf_coef=settings.vf_coef,
        max_grad_norm=settings.max_grad_norm,
        policy_kwargs={"activation_fn": policy.activation_fn},
        device="cpu",
    )
    agent.set_logger(configure(None, []))
    agent.policy.load_state_dict(policy.state_dict())
    batch = RolloutBufferSamples(
        samples.observations,  # type: ignore[arg-type]
        samples.actions.float(),
        samples.values_old,
        samples.logp_old,
        samples.advantages,
        samples.returns,
    )

    class Once:
        values = samples.values_old.numpy()
        returns = samples.returns.numpy()

        def get(self, batch_size: int) -> Iterator[RolloutBufferSamples]:
            yield batch

    agent.rollout_buffer = Once()  # type: ignore[assignment]
    agent.train()
    return [parameter.grad.clone() for parameter in agent.policy.parameters() if parameter.grad is not None]


@pytest.mark.parametrize("clip_range_vf", [None, 0.3])
@pytest.mark.parametrize("kind", SPACES)
def test_gradients_are_sb3s_to_1e_6_with_autograd_and_without(kind: str, clip_range_vf: float | None) -> None:
    space, settings = SPACES[kind], replace(SETTINGS, clip_range_vf=clip_range_vf)
    policy, samples = policy_of(space), samples_of(space)
    expected = theirs(space, policy, samples, settings)
    for gradients in (
        autograd_of(policy.evaluate_normalized, policy.optimizer),
        FusedPolicy(policy).gradients,
    ):
        losses = gradients(samples, settings)
        th.nn.utils.clip_grad_norm_(policy.parameters(), settings.max_grad_norm)
        assert 0.1 < losses.clip_fraction < 0.99
        for mine, other in zip(grads(policy), expected, strict=True):
            th.testing.assert_close(mine, other, rtol=1e-4, atol=1e-6)


def test_bits_by_hand() -> None:
    """p = (3/4, 1/2): log p(1, 0) = log 3/8, H = -3/4 log 3/4 - 1/4 log 1/4 + log 2."""
    bernoulli, logits = distribution_of(MultiBinary(2)), th.tensor([[3.0, 1.0]]).log()
    logp, entropy = bernoulli.log_prob(logits, None, th.tensor([[1, 0]]))
    assert float(logp) == pytest.approx(np.log(3 / 8))
    assert float(entropy) == pytest.approx(-0.75 * np.log(0.75) - 0.25 * np.log(0.25) + np.log(2))
    assert bernoulli.sample(logits, None, True).tolist() == [[1, 0]]
    th.manual_seed(0)
    drawn = bernoulli.sample(logits.expand(4_000, 2), None, False)
    assert drawn.mean(0).tolist() == pytest.approx([0.75, 0.5], abs=0.03)
    with pytest.raises(TypeError, match="flat MultiDiscrete or MultiBinary"):
        distribution_of(MultiBinary([2, 2]))


def test_relu_networks_are_fused_too_and_others_are_not() -> None:
    space = SPACES["box"]
    policy, samples = policy_of(space, activation_fn=th.nn.ReLU, net_arch={"pi": [8], "vf": [16, 8]}), samples_of(space)
    autograd_of(policy.evaluate_normalized, policy.optimizer)(samples, SETTINGS)
    expected = grads(policy)
    FusedPolicy(policy).gradients(samples, SETTINGS)
    for mine, other in zip(grads(policy), expected, strict=True):
        th.testing.assert_close(mine, other, rtol=1e-4, atol=1e-6)
    assert is_fusable(policy)
    assert not is_fusable(policy_of(space, activation_fn=th.nn.ELU))


def test_the_clipped_surrogate_by_hand() -> None:
    """Ratios 1.5 and 0.5 at A = 1 and -1, eps 0.1: min(1.5, 1.1) = 1.1 and min(-0.5, -0.9) = -0.9; mean 0.1."""
    ratios, advantages, zero = th.tensor([1.5, 0.5]), th.tensor([1.0, -1.0]), th.zeros(2)
    batch = Samples(zero, zero, zero, zero, advantages, th.tensor([1.0, 3.0]))
    settings = replace(SETTINGS, normalize_advantage=False)
    losses = losses_of(batch, zero, ratios.log(), th.tensor([2.0, 4.0]), settings)
    assert float(losses.policy) == pytest.approx(-0.1)
    assert float(losses.value) == pytest.approx(5.0)
    assert float(losses.total) == pytest.approx(-0.1 - 0.02 * 3.0 + 0.7 * 5.0)
    assert float(losses.clip_fraction) == 1.0


def test_an_update_ends_at_the_divergence_that_is_asked_for() -> None:
    policy, samples = policy_of(SPACES["discrete"]), samples_of(SPACES["discrete"])
    gradients = autograd_of(policy.evaluate_normalized, policy.optimizer)
    before = [parameter.detach().clone() for parameter in policy.parameters()]
    for target_kl, epochs, changed in ((1e-9, 1, False), (1e9, 3, True)):
        settings = replace(SETTINGS, n_epochs=3, target_kl=target_kl, batch_size=16)
        metrics, done = run_update(samples, gradients, policy.optimizer, settings, th.Generator())
        assert done == epochs
        assert np.isfinite(list(metrics.values())).all()
        same = all(old.equal(new) for old, new in zip(before, policy.parameters(), strict=True))
        assert same is not changed
