"""STAX alternates its searches within the budget, counts every step, comes back from its checkpoint, and explores."""

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch as th
from gymnasium.spaces import Box, Discrete
from stable_baselines3.common.callbacks import BaseCallback

from tiltyard.agents import make
from tiltyard.agents.control.stax import STAX
from tiltyard.agents.control.stax_search import Search, SearchSettings


class Slide(gymnasium.Env[Any, Any]):
    """A point on a line; the second half of [-1, 1] beyond 0.5 pays by how far it is, at the episode's end."""

    observation_space, action_space = Box(-1, 1, (2,), np.float32), Box(-1, 1, (1,), np.float32)
    taken = 0

    def __init__(self, steps: int = 5, bonus: float = 1.0) -> None:
        self.steps, self.bonus = steps, bonus

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.at, self.step_count = 0.0, 0
        return self._seen(), {}

    def step(self, action: Any) -> Any:
        type(self).taken += 1
        self.at = float(np.clip(self.at + 0.2 * action[0], -1, 1))
        self.step_count += 1
        over = self.step_count == self.steps
        reward = self.bonus * max(0.0, self.at - 0.5) if over else 0.0
        return self._seen(), reward, over, False, {"place": [self.at]}

    def _seen(self) -> Any:
        return np.array([self.at, self.step_count / self.steps], np.float32)


SMALL: dict[str, Any] = {"population_size": 4, "chunk_size": 24, "n_epochs": 2, "mutation_std": 0.3, "seed": 0}


def test_every_step_counts_and_the_budget_is_kept() -> None:
    Slide.taken = 0
    agent = STAX("MlpPolicy", Slide(), **SMALL)
    agent.learn(203)
    assert agent.num_timesteps == Slide.taken == 203
    assert agent._episode_num == 40
    progress = agent.search.progress
    assert progress.evaluations == 4 + 8 * 3 + 6  # parents, their children, an emitter; others are under way
    agent.learn(37, reset_num_timesteps=False)
    assert agent.num_timesteps == Slide.taken == 240
    assert agent.idle_timesteps == 0


def test_environments_that_wait_for_others_are_counted() -> None:
    venv = gymnasium.vector.SyncVectorEnv([Slide] * 3, autoreset_mode=gymnasium.vector.AutoresetMode.SAME_STEP)
    Slide.taken = 0
    agent = STAX("MlpPolicy", venv, **SMALL).learn(30)  # four individuals on three environments: two of them wait
    assert agent.num_timesteps == Slide.taken == 30
    assert agent.idle_timesteps == 10
    assert agent.search.progress.evaluations == 4


def test_chunks_alternate_and_share_the_budget() -> None:
    agent = STAX("MlpPolicy", Slide(), **SMALL | {"chunk_size": 120})
    turns = []
    while len(turns) < 80:
        turns.append(agent.search.progress.exploring)
        agent.learn(1, reset_num_timesteps=False)
        while agent._pending is not None:
            agent.learn(1, reset_num_timesteps=False)
    progress = agent.search.progress
    assert turns[:16] == [True] * 16  # 4 + 15 * 8 evaluations
    assert not turns[16]
    assert any(turns[16:])
    assert 0 < progress.exploited < progress.evaluations
    assert progress.exploited / progress.evaluations == pytest.approx(0.5, abs=0.2)


def test_the_same_seed_gives_the_same_search_and_another_another() -> None:
    def searched(seed: int) -> Any:
        return STAX("MlpPolicy", Slide(), **SMALL | {"seed": seed}).learn(600).search.state()

    one, same, other = searched(1), searched(1), searched(2)
    assert all(th.equal(one[name].nan_to_num(-7), same[name].nan_to_num(-7)) for name in one)
    assert not th.equal(one["archive"], other["archive"])


def test_a_checkpoint_holds_the_whole_search(tmp_path: Path) -> None:
    agent = STAX("MlpPolicy", Slide(), **SMALL).learn(1500)
    assert agent.search.emitters
    agent.save(tmp_path / "agent")
    again = STAX.load(tmp_path / "agent", env=Slide())
    before, after = agent.search.state(), again.search.state()
    assert before.keys() == after.keys()
    for name in before:
        assert before[name].shape == after[name].shape, name
        np.testing.assert_array_equal(before[name].numpy(), after[name].numpy())
    assert th.equal(agent.search.archive.descriptors, again.search.archive.descriptors)
    evaluations = again.search.progress.evaluations
    again.learn(600, reset_num_timesteps=False)
    assert again.search.progress.evaluations > evaluations
    assert len(again.search.archive) >= len(agent.search.archive) > 0
    assert float(again.search.best.rewards) >= float(agent.search.best.rewards)


def test_a_checkpoint_of_another_search_is_refused(tmp_path: Path) -> None:
    agent = STAX("MlpPolicy", Slide(), **SMALL).learn(300)
    agent.save(tmp_path / "agent")
    with pytest.raises(ValueError, match="of another shape"):
        STAX.load(tmp_path / "agent", n_views=2)


def test_it_acts_by_the_best_rewarded_or_else_the_most_novel() -> None:
    found = STAX("MlpPolicy", Slide(), **SMALL).learn(2000)
    rewarded = found.search.rewarded
    assert len(rewarded) > 0
    assert float(found.search.best.rewards) == float(rewarded.rewards.max())
    assert th.equal(found.policy.genome.data, found.search.best.genomes[0])
    env, total, over = Slide(), 0.0, False
    seen, _ = env.reset()
    while not over:
        seen, reward, over, _, _ = env.step(found.predict(seen)[0])
        total += reward
    assert total == pytest.approx(float(found.search.best.rewards), abs=1e-5)
    blind = STAX("MlpPolicy", Slide(bonus=0.0), **SMALL).learn(500)
    assert len(blind.search.rewarded) == len(blind.search.emitters) == 0
    genomes = blind.search.population.genomes
    assert (genomes == blind.policy.genome.data).all(dim=1).any()


def test_the_autoencoder_learns_after_one_chunk_then_two_then_three() -> None:
    agent = STAX("MlpPolicy", Slide(bonus=0.0), **SMALL)
    settled = []
    for _ in range(45):
        before = agent.search.progress.interval
        agent.learn(1, reset_num_timesteps=False)
        while agent._pending is not None:
            agent.learn(1, reset_num_timesteps=False)
        if agent.search.progress.interval > before:
            settled.append(agent._n_updates)
    assert settled == [4, 4 + 2 * 3, 4 + 5 * 3, 4 + 9 * 3]  # chunks of three generations, the first of four
    assert np.isfinite(agent.autoencoder_loss)


def test_several_views_describe_an_episode_and_the_last_is_one() -> None:
    agent = STAX("MlpPolicy", Slide(), n_views=2, **SMALL).learn(20)
    views = agent.search.population.views
    assert views[:, [1, 3]] == pytest.approx(th.tensor([[0.6, 1.0]] * 4))  # after steps 3 and 5 of 5
    assert agent.search.population.descriptors.shape == (4, 20)


def test_a_descriptor_can_be_given_by_the_environment() -> None:
    agent = STAX("MlpPolicy", Slide(), descriptor_key="place", descriptor_size=1, **SMALL).learn(500)
    assert agent.autoencoder is None
    ends = agent.search.archive
    assert th.equal(ends.descriptors, ends.views)
    with pytest.raises(ValueError, match=r"info\['where'\] at an episode's end must be descriptor_size=1"):
        STAX("MlpPolicy", Slide(), descriptor_key="where", descriptor_size=1, **SMALL).learn(500)


def test_a_callback_ends_it_and_the_generation_goes_on_later() -> None:
    class Stop(BaseCallback):
        def _on_step(self) -> bool:
            return self.num_timesteps < 7

    agent = STAX("MlpPolicy", Slide(), **SMALL).learn(100, callback=Stop())
    assert agent.num_timesteps == 7
    assert agent._pending is not None
    assert agent._pending.done.tolist() == [True, False, False, False]
    agent.learn(15, reset_num_timesteps=False)
    assert agent.search.progress.evaluations == 4


def test_emitters_raise_the_reward_where_it_is_found() -> None:
    def best(emitter_size: int, seed: int) -> float:
        """Of 2,000 evaluations of five weights, whose reward falls with the distance to a point."""
        settings = SearchSettings(
            genome_size=5,
            view_size=2,
            surprise=False,
            population_size=20,
            chunk_size=200,
            mutation_std=0.5,
            genome_limit=2.0,
            n_neighbors=5,
            archived_per_generation=5,
            emitter_size=emitter_size,
        )
        search = Search(settings, lambda views: (views, views.new_zeros(len(views))), np.random.default_rng(seed))
        while search.progress.evaluations < 2000:
            genomes = search.ask()
            search.tell(genomes, (1 - (genomes - 0.5).norm(dim=1) / 2).clamp(min=0), genomes[:, :2])
        return float(search.best.rewards)

    gains = [best(6, seed) - best(0, seed) for seed in range(5)]
    assert np.mean(gains) > 0.1
    assert min(gains) > 0


@pytest.mark.parametrize(
    ("observations", "actions", "says"),
    [
        (Discrete(4), Discrete(2), "observes Box spaces"),
        (Box(0, 255, (84, 84, 3), np.uint8), Discrete(2), "make images smaller"),
    ],
)
def test_what_it_cannot_observe_is_said(observations: Any, actions: Any, says: str) -> None:
    env: Any = Slide()
    env.observation_space, env.action_space = observations, actions
    with pytest.raises(ValueError, match=says):
        STAX("MlpPolicy", env, seed=0)


def test_it_is_of_the_catalogue_and_acts_in_choices() -> None:
    agent = make("stax", "CartPole-v1", population_size=4, seed=0, n_envs=2)
    assert isinstance(agent, STAX)
    agent.learn(400)
    assert int(agent.predict(agent.env.reset()[0])[0]) in (0, 1)  # type: ignore[union-attr]


def test_selection_by_hand() -> None:
    settings = SearchSettings(
        genome_size=1,
        view_size=1,
        surprise=False,
        population_size=2,
        chunk_size=100,
        mutation_std=0.1,
        genome_limit=5.0,
        n_neighbors=1,
        archived_per_generation=1,
        emitter_size=0,
    )
    search = Search(settings, lambda views: (views, views.new_zeros(len(views))), np.random.default_rng(0))
    search.tell(search.ask(), th.zeros(2), th.tensor([[0.0], [1.0]]))
    children = search.ask()
    search.tell(children, th.zeros(4), th.tensor([[0.1], [4.0], [0.4], [9.0]]))
    assert search.population.views.flatten().tolist() == [9.0, 4.0]
    assert search.best.views.item() == 9.0
    assert len(search.archive) == 1
    search.tell(search.ask(), th.tensor([0.0, 0.5, 0.2, 0.0]), th.tensor([[9.1], [4.0], [5.0], [9.0]]))
    assert search.rewarded.rewards.tolist() == pytest.approx([0.5, 0.2])
    assert search.best.rewards.item() == 0.5
