"""Every row of the agent catalogue meets the contract of an agent, in every domain it says it can be trained in.

A new row is tested the moment it exists: it is built by name with the settings of its row (made small), learns a few
steps, predicts, and comes back from its checkpoint the same. No agent's checkpoint runs code.
"""

import inspect
import pickle
import warnings
import zipfile
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Dict
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback, CheckpointCallback
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm

import tiltyard.agents
from tiltyard.agents.catalogue import ROWS, Row, find
from tiltyard.agents.checkpoint import SafeCheckpoint
from tiltyard.agents.control.datasets import Transitions
from tiltyard.agents.control.goal_data import GOALS as GOAL_PARTS
from tiltyard.agents.control.goal_data import GoalTransitions
from tiltyard.agents.control.stream_agent import StreamAgent
from tiltyard.agents.control.trajectories import Trajectory
from tiltyard.agents.control.trajectory_agent import TrajectoryAgent
from tiltyard.agents.language.trainer import PolicyGradient
from tiltyard.agents.objectives.catalogue import ROWS as METHODS
from tiltyard.envs.catalogue import ROWS as ENVIRONMENTS
from tiltyard.wrappers.spaces import sb3_env

CHEAPEST = {
    "text": "tiltyard/Countdown-v0",
    "gui": "tiltyard/Phone-v0",
    "driving": "tiltyard/Highway-v0",
    "robotics": "tiltyard/Hopper-v5",
}
GOALS = "tiltyard/PointMaze-v0"
"""For agents that learn to reach goals, which their rows make name them."""
SMALL: dict[str, Any] = {
    "n_steps": 8,
    "n_epochs": 1,
    "batch_size": 8,
    "learning_starts": 8,
    "buffer_size": 100,
    "gradient_steps": 1,
    "warm_start_steps": 1,
    "group_size": 2,
    "prompts_per_batch": 4,
    "max_answer_tokens": 8,
    "actor_updates": 1,
    "rollouts": 2,
    "model_updates": 2,
    "model_net_arch": [8],
    "rollouts_per_step": 1,
    "behaviour_updates": 2,
    "rollout_batch_size": 4,
    "max_rollouts": 8,
    "n_envs": 2,
    "victim_timesteps": 20,
    "seed": 0,
}
each_row = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
each_domain = pytest.mark.parametrize(
    ("row", "domain"),
    [(row, domain) for row in ROWS for domain in row.domains],
    ids=lambda part: getattr(part, "name", part),
)


def small(row: Row, domain: str, **settings: Any) -> Any:
    """The agent of a row, made small, on the cheapest environment of a domain."""
    valid = inspect.signature(row.load()).parameters.keys() | {"n_envs"}
    fitting = {name: value for name, value in SMALL.items() if name in valid}
    if issubclass(row.load(), OffPolicyAlgorithm):
        fitting.pop("n_steps", None)  # there it is the length of returns
    if issubclass(row.load(), StreamAgent):
        fitting["n_envs"] = 1  # one stream, one environment
    env_id = GOALS if wants_goals(row) else CHEAPEST[domain]
    return tiltyard.agents.make(row.name, env_id, **fitting | settings)


def wants_goals(row: Row) -> bool:
    """Whether it learns in goal environments alone."""
    return getattr(row.load(), "needs_goals", False)


def random_data(env: Any, steps: int = 40) -> Transitions:
    """Transitions of a policy that acts at random, as flat arrays."""
    rng = np.random.default_rng(0)
    if isinstance(env.observation_space, Dict):
        return random_goal_data(env, rng, steps)
    shape = env.observation_space.shape
    space = env.action_space
    space.seed(0)
    ends = np.arange(1, steps + 1) % 10 == 0
    return Transitions(
        observations=rng.normal(size=(steps, *shape)).astype(np.float32),
        actions=np.stack([space.sample() for _ in range(steps)]),
        rewards=rng.normal(size=steps).astype(np.float32),
        next_observations=rng.normal(size=(steps, *shape)).astype(np.float32),
        terminations=ends.astype(np.float32),
        ends=ends,
        episodes=np.arange(steps) // 10,
        episode_returns=np.zeros(steps // 10),
    )


def random_goal_data(env: Any, rng: Any, steps: int) -> GoalTransitions:
    """The same for a goal environment."""
    parts = env.observation_space.spaces
    seen, achieved = (rng.normal(size=(2, steps, *parts[name].shape)).astype(np.float32) for name in GOAL_PARTS[:2])
    env.action_space.seed(0)
    ends = np.arange(1, steps + 1) % 10 == 0
    return GoalTransitions(
        observations=seen[0],
        actions=np.stack([env.action_space.sample() for _ in range(steps)]),
        rewards=rng.normal(size=steps).astype(np.float32),
        next_observations=seen[1],
        terminations=ends.astype(np.float32),
        ends=ends,
        episodes=np.arange(steps) // 10,
        episode_returns=np.zeros(steps // 10),
        achieved=achieved[0],
        next_achieved=achieved[1],
    )


def random_episodes(env: Any) -> list[Trajectory]:
    """Episodes of two steps of a phone in numbers that shows nothing."""
    shown = {name: np.zeros((3, *part.shape), np.int16) for name, part in env.observation_space.spaces.items()}
    actions = np.stack([env.action_space.sample() for _ in range(2)])
    return [Trajectory(shown, actions, np.zeros(2), terminated=True, success=False)] * 4


def taught(agent: Any) -> Any:
    """The agent, with data if it can learn from nothing else."""
    if getattr(agent, "needs_data", False):
        of_phones = isinstance(agent, TrajectoryAgent)
        agent.learn_offline(random_episodes(agent.env) if of_phones else random_data(agent.env), 2)
    return agent


def optimisers(agent: Any) -> list[str]:
    """The names of an agent's optimisers among its parameters."""
    return [name for name in agent.get_parameters() if "optim" in name]


def test_every_domain_has_an_environment_here() -> None:
    assert CHEAPEST.keys() == {row.domain for row in ENVIRONMENTS}


@each_domain
def test_learns_predicts_saves_and_loads(row: Row, domain: str, tmp_path: Path) -> None:
    agent = taught(small(row, domain))
    assert isinstance(agent, BaseAlgorithm)
    assert isinstance(agent, SafeCheckpoint)
    assert agent.learn(32, callback=CheckpointCallback(4, str(tmp_path / "during"))) is agent
    assert agent.num_timesteps >= 32
    assert list((tmp_path / "during").iterdir())
    observations = agent.env.reset()
    actions, state = agent.predict(observations, deterministic=True)
    if state is not None:  # of a policy with memory
        _, later = agent.predict(observations, state=state, deterministic=True)
        assert [part.shape for part in later] == [part.shape for part in state]
    assert len(actions) == agent.n_envs
    agent.env.step(actions)
    agent.save(tmp_path / "agent")
    for loaded in (row.load().load(tmp_path / "agent"), row.load().load(tmp_path / "agent.zip", env=agent.env)):
        again, _ = loaded.predict(observations, deterministic=True)
        np.testing.assert_array_equal(actions, again)
        assert loaded.num_timesteps == agent.num_timesteps
    agent.save(tmp_path / "light", exclude=optimisers(agent))
    sizes = [(tmp_path / f"{name}.zip").stat().st_size for name in ("light", "agent")]
    assert sizes[0] < sizes[1] or not optimisers(agent)
    again, _ = row.load().load(tmp_path / "light").predict(observations, deterministic=True)
    np.testing.assert_array_equal(actions, again)
    taught(loaded).learn(16, reset_num_timesteps=False)
    assert loaded.num_timesteps >= agent.num_timesteps + 16


@pytest.mark.parametrize("name", ["sac", "fast-ppo", "bc", "grpo"])
def test_an_agent_that_was_saved_without_optimisers_learns_on_with_new_ones(name: str, tmp_path: Path) -> None:
    row = find(name)
    agent = taught(small(row, row.domains[-1])).learn(32)
    agent.save(tmp_path / "light", exclude=optimisers(agent))
    loaded = row.load().load(tmp_path / "light", env=agent.env)
    with pytest.warns(UserWarning, match="saved without .*optim.*: training"):
        taught(loaded).learn(16, reset_num_timesteps=False)
    assert loaded.num_timesteps >= agent.num_timesteps + 16


@pytest.mark.parametrize("name", ["iql", "digirl"])
def test_learning_from_data_with_new_optimisers_warns_once_and_taking_data_in_does_not(
    name: str, tmp_path: Path
) -> None:
    row = find(name)
    agent = small(row, row.domains[-1])
    agent.save(tmp_path / "light", exclude=optimisers(agent))
    loaded: Any = row.load().load(tmp_path / "light", env=agent.env)
    data = random_episodes(agent.env) if isinstance(agent, TrajectoryAgent) else random_data(agent.env)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loaded.learn_offline(data, 0)
    with pytest.warns(UserWarning, match="saved without .*optim.*: training"):
        loaded.learn_offline(data, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loaded.learn_offline(data, 2)


@each_row
def test_sb3s_tools_evaluate_it(row: Row) -> None:
    agent = small(row, row.domains[-1])
    returns, lengths = evaluate_policy(agent, agent.get_env(), n_eval_episodes=2, return_episode_rewards=True)
    assert len(returns) == len(lengths) == 2


@each_row
def test_an_unknown_keyword_raises_with_the_nearest_name(row: Row) -> None:
    with pytest.raises(TypeError, match="unknown keyword 'learning_rat'; did you mean 'learning_rate'"):
        small(row, row.domains[-1], learning_rat=1.0)


offline_rows = pytest.mark.parametrize(
    "row",
    [row for row in ROWS if hasattr(row.load(), "learn_offline") and "robotics" in row.domains],  # others: phones
    ids=lambda row: row.name,
)


@offline_rows
def test_learns_offline_then_online_and_counts_updates_for_callbacks(row: Row) -> None:
    agent = small(row, "robotics")
    counted: list[int] = []

    class Count(BaseCallback):
        def _on_step(self) -> bool:
            counted.append(self.num_timesteps)
            return True

    before = [param.detach().clone() for param in agent.policy.parameters()]
    assert agent.learn_offline(random_data(agent.env), 3, callback=Count()) is agent
    assert counted == [1, 2, 3]
    assert agent._n_updates == 3
    assert any(not old.equal(new) for old, new in zip(before, agent.policy.parameters(), strict=True))
    assert all(param.isfinite().all() for param in agent.policy.parameters())


@offline_rows
@pytest.mark.parametrize("wrong", ["space", "empty", "nan", "huge reward"])
def test_a_bad_dataset_is_refused_and_changes_nothing(row: Row, wrong: str, tmp_path: Path) -> None:
    agent = small(row, "robotics")
    before = [param.detach().clone() for param in agent.policy.parameters()]
    with pytest.raises(ValueError, match="shape|empty|NaN|reward of 1e") as error:
        agent.learn_offline(bad_dataset(agent.env, wrong), 3)
    assert "\n" not in str(error.value)
    assert agent.demonstrations is None
    assert agent._n_updates == 0
    for old, new in zip(before, agent.policy.parameters(), strict=True):
        assert old.equal(new)


def bad_dataset(env: Any, wrong: str) -> Any:
    data = random_data(env)
    if wrong == "space":
        return replace(data, observations=data.observations[:, :-1], next_observations=data.next_observations[:, :-1])
    if wrong == "empty":
        return replace(data, **{field.name: getattr(data, field.name)[:0] for field in fields(data)})
    name = "rewards" if wrong == "huge reward" else "observations"
    changed = getattr(data, name).copy()
    changed.reshape(-1)[7] = 1e30 if wrong == "huge reward" else np.nan
    return replace(data, **{name: changed})


@offline_rows
def test_learning_before_there_is_data_says_what_to_do(row: Row) -> None:
    agent = small(row, "robotics")
    with pytest.raises(ValueError, match="learn_offline"):
        agent.train(1, 8)
    if agent.needs_data:
        with pytest.raises(ValueError, match="learn_offline"):
            agent.learn(8)


@each_row
def test_the_seed_decides_the_agent(row: Row) -> None:
    one, same, other = (small(row, row.domains[-1], seed=seed) for seed in (3, 3, 4))
    observations = one.env.reset()
    np.testing.assert_equal(observations, same.env.reset())
    with pytest.raises(AssertionError):
        np.testing.assert_equal(observations, other.env.reset())
    for first, second in zip(one.policy.parameters(), same.policy.parameters(), strict=True):
        assert first.equal(second)


class Bomb:
    """Runs code when unpickled."""

    def __init__(self, witness: Path) -> None:
        self.witness = witness

    def __reduce__(self) -> Any:
        return Path.touch, (self.witness,)


@pytest.mark.parametrize("agent_class", sorted({row.load() for row in ROWS}, key=lambda one: one.__name__))
def test_loading_runs_no_code_from_the_file(agent_class: Any, tmp_path: Path) -> None:
    witness, bomb = tmp_path / "ran", pickle.dumps(Bomb(tmp_path / "ran"))
    for name, entries in {
        "sb3": ("data", "policy.pth", "pytorch_variables.pth", "_stable_baselines3_version"),
        "ours": ("settings.json", "weights.safetensors"),
    }.items():
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            for entry in entries:
                archive.writestr(entry, bomb)
        with pytest.raises(ValueError, match="pickle|not a Tiltyard checkpoint"):
            agent_class.load(tmp_path / name)
    assert not witness.exists()


def test_classes_are_exported_by_name() -> None:
    assert {row.class_name for row in ROWS} <= set(dir(tiltyard.agents))
    for row in ROWS:
        assert getattr(tiltyard.agents, row.class_name) is row.load()
    with pytest.raises(AttributeError, match="did you mean 'DSACT'"):
        tiltyard.agents.DSAC  # noqa: B018


TINY: dict[str, Any] = {
    "policy": "transformer-100k",
    "warm_start_steps": 0,
    "group_size": 2,
    "prompts_per_batch": 2,
    "batch_size": None,
    "max_answer_tokens": 8,
    "n_envs": 2,
    "seed": 0,
}


@pytest.mark.parametrize("method", [row.handle for row in METHODS])
def test_every_method_is_an_agent_with_the_settings_of_grpo(method: str) -> None:
    env_id = "tiltyard/ChainSum-v0"
    row = find(method, "text")
    assert (row.kind, row.name) == ("language", method)
    agent = tiltyard.agents.make(method, env_id, **TINY)
    assert isinstance(agent, PolicyGradient)
    assert agent.method == method
    if method != "filtered-bc":  # which has a row of its own
        grpo = tiltyard.agents.make("grpo", env_id, method=method, **TINY)
        assert settings_of(agent) == settings_of(grpo)
        assert row.n_envs_for(env_id) == find("grpo").n_envs_for(env_id)


def settings_of(agent: Any) -> dict[str, Any]:
    """What an agent was built with, but for objects that are equal only to themselves."""
    plain = (int, float, str, bool, type(None), dict, tuple, list)
    found = {name: value for name, value in vars(agent).items() if isinstance(value, plain) and name != "start_time"}
    parts = {name: [type(part) for part in _listed(found.pop(name))] for name in ("providers", "rewards", "data")}
    return found | parts


def _listed(parts: Any) -> list[Any]:
    return list(parts.values() if isinstance(parts, dict) else parts)


@pytest.mark.parametrize(
    ("name", "env_id", "class_name"),
    [
        ("ppo", "tiltyard/ChainSum-v0", "PolicyGradient"),
        ("language:ppo", "tiltyard/ChainSum-v0", "PolicyGradient"),
        ("control:ppo", "tiltyard/ChainSum-v0", "PPO"),
        ("ppo", "tiltyard/Phone-v0", "PPO"),
        ("control:ppo", "tiltyard/Hopper-v5", "PPO"),
        ("ppo", "CartPole-v1", "PPO"),
        ("language:gspo", "tiltyard/ChainSum-v0", "PolicyGradient"),
        ("control:sac", "tiltyard/Hopper-v5", "SAC"),
    ],
)
def test_a_name_of_two_kinds_goes_by_the_domain_or_by_its_kind(name: str, env_id: str, class_name: str) -> None:
    language = class_name == "PolicyGradient"
    agent = tiltyard.agents.make(name, env_id, **(TINY if language else {"n_envs": 1, "seed": 0}))
    assert type(agent).__name__ == class_name


def test_a_made_environment_of_text_gets_the_method_and_an_adapted_one_the_control_agent() -> None:
    tiny = {name: value for name, value in TINY.items() if name != "n_envs"}
    spoken, adapted = sb3_env("tiltyard/ChainSum-v0", 2, strings=True), sb3_env("tiltyard/ChainSum-v0", 2)
    assert isinstance(tiltyard.agents.make("ppo", spoken, **tiny), PolicyGradient)
    assert isinstance(tiltyard.agents.make("ppo", adapted), tiltyard.agents.PPO)
    assert isinstance(tiltyard.agents.make("ppo", gymnasium.make("tiltyard/ChainSum-v0"), **tiny), PolicyGradient)


@pytest.mark.parametrize(
    ("name", "error", "says"),
    [
        ("gspoo", KeyError, "unknown agent 'gspoo'; did you mean 'gspo'"),
        ("language:ppoo", KeyError, "unknown language agent 'ppoo'; did you mean 'ppo'"),
        ("control:gspo", KeyError, "unknown control agent 'gspo'"),
        ("language:sac", KeyError, "unknown language agent 'sac'"),
    ],
)
def test_unknown_names_of_a_kind_are_told(name: str, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        tiltyard.agents.make(name, "tiltyard/ChainSum-v0")


def test_a_method_as_an_agent_is_no_other_method_and_of_text_alone() -> None:
    with pytest.raises(TypeError, match="agent 'gspo' is the method 'gspo': use agent 'grpo' for 'dapo'"):
        tiltyard.agents.make("gspo", "tiltyard/ChainSum-v0", method="dapo")
    with pytest.raises(TypeError, match="gspo trains on text environments, tiltyard/Hopper-v5 is robotics"):
        tiltyard.agents.make("gspo", "tiltyard/Hopper-v5")


def test_an_unknown_agent_says_which_exist() -> None:
    with pytest.raises(KeyError, match="unknown agent 'sacc'; did you mean 'sac'"):
        tiltyard.agents.make("sacc", "tiltyard/Hopper-v5")


class Mad(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Gives one reward of 1e30, in the third step."""

    steps = 0

    def step(self, action: Any) -> Any:
        self.steps += 1
        observation, reward, *rest = self.env.step(action)
        return (observation, 1e30 if self.steps == 3 else reward, *rest)


@pytest.mark.parametrize(
    "row",
    [row for row in ROWS if issubclass(row.load(), OffPolicyAlgorithm) and "robotics" in row.domains],
    ids=lambda row: row.name,
)
def test_a_reward_of_1e30_stops_training_before_it_is_stored(row: Row) -> None:
    fitting: dict[str, Any] = {key: SMALL[key] for key in ("batch_size", "buffer_size", "seed")}
    if row.name == "hl-gauss":  # of an environment that is not ours nobody knows the range of returns
        fitting["policy_kwargs"] = {"critic_head_kwargs": {"v_min": -20.0, "v_max": 20.0}}
    task = gymnasium.make(GOALS, goal_conditioned=True) if wants_goals(row) else gymnasium.make("Pendulum-v1")
    agent = tiltyard.agents.make(row.name, Mad(task), **fitting, learning_starts=100)
    if getattr(agent, "needs_data", False):
        agent.learn_offline(random_data(agent.env), 0)
    if row.name == "rat":  # whose own victim would meet the reward first
        agent.against(tiltyard.agents.make("sac", "Pendulum-v1"))
    with pytest.raises(ValueError, match="reward of 1e\\+30.*scale"):
        agent.learn(8)
    assert agent.replay_buffer.size() == 2
