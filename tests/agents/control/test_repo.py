"""RePo and Dreamer: what each objective is made of, which weights learn from what, memory, and that they learn."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch as th
from gymnasium.spaces import Box

from tiltyard.agents import make
from tiltyard.agents.control.repo import RePo, Steps
from tiltyard.benchmarks.testbeds.distracted_latents import DistractedMass

SMALL: dict[str, Any] = {
    "learning_starts": 60,
    "sequence_length": 6,
    "horizon": 4,
    "batch_size": 8,
    "buffer_size": 2000,
    "policy_kwargs": {"belief_size": 8, "stoch_size": 4, "hidden_size": 8, "embedding_size": 8},
    "seed": 0,
    "device": "cpu",
}


def agent(name: str = "repo", steps: int = 0, distractors: int = 2, **settings: Any) -> Any:
    return make(name, DistractedMass(distractors), **{**SMALL, **settings}).learn(steps)


def batch() -> Steps:
    th.manual_seed(0)
    valid = th.ones(3, 6, dtype=th.bool)
    valid[0, 4:] = False
    return Steps(th.randn(3, 6, 6), th.rand(3, 5, 2), th.rand(3, 5), th.ones(3, 5), valid)


def changed(one: Any, name: str, learn: Any) -> list[str]:
    """Names of the parameters of a part that learning changes."""
    before = {key: param.detach().clone() for key, param in getattr(one.policy, name).named_parameters()}
    learn()
    return [key for key, param in getattr(one.policy, name).named_parameters() if not param.equal(before[key])]


def gap(one: Any, seen: Steps) -> tuple[float, dict[str, float]]:
    """The divergence of a batch, and the metrics of an update on it, with the same draws."""
    th.manual_seed(1)
    _, metrics = one._learn_model(seen)
    return float(metrics["kl"]), {name: float(part) for name, part in metrics.items()}


def test_the_multiplier_rises_above_the_bound_and_falls_below_it() -> None:
    for target, rises in ((1e-6, True), (1e6, False)):
        one = agent(target_kl=target, initial_multiplier=0.5, multiplier_learning_rate=0.1)
        gap(one, batch())
        after = float(one.policy.log_multiplier.exp().detach())
        assert after == pytest.approx(0.5 * np.exp(0.1 if rises else -0.1), rel=1e-4)  # Adam's first step is the rate


def test_repo_has_no_reconstruction_and_dreamer_has() -> None:
    repo, dreamer = agent(), agent("dreamer")
    decoder = [key for key, _ in repo.policy.model.named_parameters() if key.startswith("decoder")]
    assert not set(changed(repo, "model", lambda: gap(repo, batch()))) & set(decoder)
    assert set(decoder) <= set(changed(dreamer, "model", lambda: gap(dreamer, batch())))
    assert "observation_loss" not in gap(repo, batch())[1]
    assert float(dreamer.policy.log_multiplier.exp().detach()) == pytest.approx(1e-5)  # which it does not have


def test_the_bound_weighs_by_the_multiplier() -> None:
    def prior(multiplier: float) -> list[str]:
        one = agent(initial_multiplier=multiplier, learning_rate=1e-3)
        return changed(one, "model", lambda: gap(one, batch()))

    # At a multiplier that underflows, what rewards alone teach: the prior's last layer is not among it.
    assert not [key for key in prior(1e-44) if "prior_net.2" in key]
    assert [key for key in prior(1.0) if "prior_net.2" in key]


def test_free_nats_leave_divergences_below_them_alone() -> None:
    for free, learns in ((1e6, False), (0.0, True)):
        one = agent("dreamer", free_nats=free)
        found = changed(one, "model", lambda one=one: gap(one, batch()))  # type: ignore[misc]
        assert bool([key for key in found if "prior_net.2" in key]) == learns


def test_what_lies_beyond_the_end_of_an_episode_is_not_learnt_from() -> None:
    seen, other = batch(), batch()
    other.observations[0, 4:], other.rewards[0, 3:] = 100, 100  # step 3 arrives in observation 4, which is not valid
    assert gap(agent("dreamer"), seen)[1] == pytest.approx(gap(agent("dreamer"), other)[1])
    other.rewards[0, 2] = 100
    assert gap(agent("dreamer"), seen)[1] != pytest.approx(gap(agent("dreamer"), other)[1])


def test_the_model_does_not_learn_from_behaviour_nor_the_value_from_the_actor() -> None:
    one = agent()
    latents, _ = one._learn_model(batch())
    start = type(latents)(*(part.reshape(-1, part.shape[-1]) for part in latents))
    assert changed(one, "model", lambda: one._learn_behaviour(start)) == []
    for name in ("actor", "value"):
        assert changed(one, name, lambda: one._learn_behaviour(start))
    assert all(param.requires_grad for param in one.policy.model.parameters())


def test_the_actor_maximises_imagined_rewards() -> None:
    one = agent(actor_learning_rate=0.01, ent_coef=0.0, value_learning_rate=0.0, gamma=0.0)
    weight = th.randn(12, 1, generator=th.Generator().manual_seed(0))
    one.policy.model.foreseen = lambda features: ((features @ weight)[..., 0], features[..., 0] * 0)
    latents, _ = agent()._learn_model(batch())
    start = type(latents)(*(part.reshape(-1, part.shape[-1]) for part in latents))
    found = [float(one._learn_behaviour(start)["imagined_return"]) for _ in range(60)]
    assert np.mean(found[-10:]) > np.mean(found[:10]) + 0.02


@pytest.mark.parametrize("name", ["repo", "dreamer"])
def test_the_model_learns_to_foretell_rewards(name: str) -> None:
    one, seen = agent(name, learning_rate=0.01), batch()
    seen = seen._replace(rewards=seen.observations[:, 1:, 0])  # which the observations tell
    found = [gap(one, seen)[1]["reward_loss"] for _ in range(80)]
    assert np.mean(found[-10:]) < 0.5 * np.mean(found[:10])


def test_rewards_teach_what_latents_keep() -> None:
    one = agent(initial_multiplier=1e-12)  # so that the divergence teaches nothing
    one._learn_model(batch())
    grads = [float(param.grad.abs().max()) for param in one.policy.model.rssm.parameters()]
    assert min(grads) < 1e-9 < 1e-4 < max(grads)  # the prior's alone learn from the divergence


def test_nothing_is_imagined_after_a_termination() -> None:
    one, seen = agent(), batch()
    seen.going_on[1, 4] = 0
    begun: list[int] = []
    one._learn_behaviour = lambda start: begun.append(len(start.belief)) or {}
    one.update(seen)
    assert begun == [3 * 6 - 2 - 1]


def test_sequences_are_of_one_episode_and_say_what_terminates() -> None:
    one = agent(steps=70, learning_starts=1000)  # time limits at 30 and 60, which do not terminate
    drawn = one.sample(200)
    assert drawn.observations.shape == (200, 7, 6)
    assert drawn.valid[:, 0].all()
    assert not drawn.valid.all()
    assert (drawn.going_on == 1).all()
    ends = np.flatnonzero(one.replay_buffer.dones[:70, 0])
    assert ends.tolist() == [29, 59]
    stored = th.as_tensor(one.replay_buffer.next_observations[29, 0])
    last = (drawn.observations == stored).all(dim=2)  # where the last observation of an episode is seen
    assert last.any()
    assert drawn.valid[last].all()
    behind = last.cumsum(dim=1).roll(1, 1)[:, 1:] > 0
    assert not drawn.valid[:, 1:][behind].any()


def test_acting_remembers_the_episode_and_forgets_it_at_its_end() -> None:
    one, seen = agent(), np.ones((2, 6), np.float32)
    first, state = one.predict(seen, deterministic=True)
    later, _ = one.predict(seen, state, np.array([False, True]), deterministic=True)
    assert not np.allclose(later[0], first[0])
    assert np.allclose(later[1], first[1])
    with pytest.raises(ValueError, match="a state for 1 observations"):
        one.predict(seen[:1], state)


def test_the_memory_holds_the_action_that_was_taken() -> None:
    one = agent(steps=65, action_noise=0.5)
    assert one.replay_buffer.pos == 65
    assert one._memory[2][0].tolist() == pytest.approx(one.replay_buffer.actions[64, 0].tolist())
    one.learn(1, reset_num_timesteps=False)
    assert one._memory is not None


def test_a_checkpoint_keeps_the_objective(tmp_path: Path) -> None:
    agent("dreamer").save(tmp_path / "agent")
    assert RePo.load(tmp_path / "agent").settings.objective == "reconstruction"


def test_images_and_short_buffers_are_refused() -> None:
    with pytest.raises(ValueError, match="buffer_size of 5 has no room"):
        agent(buffer_size=5)
    env = DistractedMass(0)
    env.observation_space = Box(0, 255, (8, 8, 3), np.uint8)  # type: ignore[assignment]
    with pytest.raises(TypeError, match="RePo learns from vectors"):
        RePo("MlpPolicy", env)
