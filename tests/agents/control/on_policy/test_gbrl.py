"""Trees are those that an exhaustive search finds, follow PPO's gradient, and learn."""

import copy
import itertools
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch as th
from gymnasium.spaces import Box, Discrete, MultiDiscrete
from gymnasium.vector import AutoresetMode

from tiltyard.agents.control.on_policy.gbrl import GBRL
from tiltyard.agents.control.on_policy.trees import Trees


def split_score(steps: Any, leaf: Any, right: Any) -> float:
    """The formula, by means: square roots of sums over both sides of size times the mean's squared length."""
    total = 0.0
    for node in np.unique(leaf):
        square = 0.0
        for side in (right, ~right):
            inside = (leaf == node) & side
            if inside.any():
                square += inside.sum() * float((steps[inside].mean(axis=0) ** 2).sum())
        total += square**0.5
    return total


def searched(x: Any, steps: Any, depth: int) -> tuple[list[tuple[int, float]], Any]:
    """Questions of a tree by trying all thresholds, and what it says of each row."""
    leaf, questions = np.zeros(len(x), int), []
    for _ in range(depth):
        options = [(f, cut) for f in range(x.shape[1]) for cut in np.unique(x[:, f])[:-1]]
        scores = [split_score(steps, leaf, x[:, f] > cut) for f, cut in options]
        f, cut = options[int(np.argmax(scores))]
        questions.append((f, float(cut)))
        leaf = 2 * leaf + (x[:, f] > cut)
    said = np.zeros_like(steps)
    for node in np.unique(leaf):
        said[leaf == node] = steps[leaf == node].mean(axis=0)
    return questions, said


def test_a_tree_by_hand() -> None:
    trees = Trees(1, max_depth=1, max_trees=2)
    x, steps = th.tensor([[0.0], [1.0], [2.0], [3.0]]), th.tensor([[2.0], [4.0], [-1.0], [-3.0]])
    trees.grow(x, steps)
    assert (int(trees.features[0, 0]), float(trees.thresholds[0, 0])) == (0, 1.0)
    assert trees(x).flatten().tolist() == [3.0, 3.0, -2.0, -2.0]
    trees.grow(x, steps)
    assert trees(th.tensor([[1.5], [-9.0]])).flatten().tolist() == [-4.0, 6.0]
    assert trees.room == 0
    with pytest.raises(RuntimeError, match="all 2 trees are grown.*max_trees"):
        trees.grow(x, steps)


@pytest.mark.parametrize("seed", range(5))
def test_splits_are_those_of_an_exhaustive_search(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = np.concatenate([rng.normal(size=(60, 3)), rng.integers(0, 3, (60, 2))], axis=1).astype(np.float32)
    steps = rng.normal(size=(60, 2)) + x[:, [0, 3]] * (x[:, [1, 4]] > 0)
    trees = Trees(2, max_depth=3, n_bins=64, max_trees=1)
    trees.grow(th.tensor(x), th.tensor(steps))
    questions, said = searched(x, steps, 3)
    found = list(zip(trees.features[0].tolist(), trees.thresholds[0].tolist(), strict=True))
    assert found == questions
    assert trees(th.tensor(x)).numpy() == pytest.approx(said, abs=1e-5)


def test_few_bins_are_quantiles_and_what_never_differs_is_not_asked_about() -> None:
    trees = Trees(1, max_depth=2, n_bins=4, max_trees=2)
    x = th.stack([th.zeros(100), th.arange(100.0)], dim=1)
    trees.grow(x, (x[:, 1:] > 60).float())
    assert trees.features[0].tolist() == [1, 1]
    assert set(trees.thresholds[0].tolist()) <= {0.0, 25.0, 50.0, 75.0}
    trees.grow(x[:, :1].repeat(1, 2), th.ones(100, 1))
    assert trees.thresholds[1].tolist() == [np.inf, np.inf]
    assert trees(x[:1]) == pytest.approx(trees(x[:1]).item())


class Matching(gymnasium.Env[Any, Any]):
    """One step: the action that equals the second of three categories pays 1."""

    def __init__(self) -> None:
        self.observation_space, self.action_space = MultiDiscrete([4, 3, 4]), Discrete(3)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.seen = self.np_random.integers(0, [4, 3, 4])
        return self.seen, {}

    def step(self, action: Any) -> Any:
        return self.seen, float(action == self.seen[1]), True, False, {}


def matching(n: int = 16) -> Any:
    return gymnasium.vector.SyncVectorEnv([Matching] * n, autoreset_mode=AutoresetMode.SAME_STEP)


def test_a_step_follows_the_gradient_of_ppos_loss() -> None:
    kwargs = {"max_depth": 3}
    agent = GBRL("MlpPolicy", matching(), n_steps=8, batch_size=128, n_epochs=1, seed=0, policy_kwargs=kwargs)
    agent.ent_coef, agent.lr_schedule = 0.01, lambda _: 0.1
    _, callback = agent._setup_learn(128)
    assert agent.env is not None
    assert agent.collect_rollouts(agent.env, callback, agent.rollout_buffer, 8)
    samples, settings = agent._samples(), agent._update_settings()
    agent._gradients()(samples, settings)
    asked = agent.policy.optimizer.asked
    assert asked is not None
    features, gradient = asked
    assert features.shape == (128, 11)
    outputs = th.zeros(128, 4, requires_grad=True)
    logp = outputs[:, :3].log_softmax(-1)
    advantages = (samples.advantages - samples.advantages.mean()) / (samples.advantages.std() + 1e-8)
    chosen = logp.gather(1, samples.actions.long().reshape(-1, 1)).squeeze(1)
    policy_loss = -(advantages * (chosen - samples.logp_old).exp())
    value_loss = agent.vf_coef * (samples.returns - outputs[:, 3]) ** 2
    (policy_loss + value_loss + 0.01 * (logp.exp() * logp).sum(1)).sum().backward()
    assert outputs.grad is not None
    th.testing.assert_close(gradient, outputs.grad, atol=1e-5, rtol=1e-4)
    agent._update_learning_rate(None)
    agent.policy.optimizer.step()
    rates = th.tensor([0.1, 0.1, 0.1, 0.02])
    trees = agent.policy.trees
    assert int(trees.n_trees) == 1
    said = trees(features)
    for leaf in said.unique(dim=0):
        inside = (said == leaf).all(dim=1)
        th.testing.assert_close(leaf, -(rates * gradient[inside].mean(0)), atol=1e-5, rtol=1e-4)


def test_it_learns_which_category_matters() -> None:
    agent = GBRL("MlpPolicy", matching(), learning_rate=0.3, n_steps=16, batch_size=64, seed=0).learn(4096)
    cases = np.array(list(itertools.product(range(4), range(3), range(4))))
    actions, _ = agent.predict(cases, deterministic=True)
    assert (actions == cases[:, 1]).mean() > 0.95
    first = agent.policy.trees.features[:8, 0].tolist()
    assert sum(4 <= one < 7 for one in first) >= 6  # columns of the second category


def test_actions_in_a_box_and_dictionaries_are_learnt_about(tmp_path: Any) -> None:
    class Reach(gymnasium.Env[Any, Any]):
        observation_space = gymnasium.spaces.Dict({"where": Box(-1, 1, (1,)), "sign": Discrete(2)})
        action_space = Box(-1, 1, (1,))

        def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
            super().reset(seed=seed)
            self.seen = {
                "where": self.np_random.uniform(-1, 1, 1).astype(np.float32),
                "sign": int(self.np_random.integers(2)),
            }
            return self.seen, {}

        def step(self, action: Any) -> Any:
            wanted = 0.5 if self.seen["sign"] else -0.5
            return self.seen, -float((action[0] - wanted) ** 2), True, False, {}

    envs = gymnasium.vector.SyncVectorEnv([Reach] * 16, autoreset_mode=AutoresetMode.SAME_STEP)
    agent = GBRL("MultiInputPolicy", envs, n_steps=16, batch_size=64, learning_rate=0.01, seed=0)
    agent.learn(8192)
    seen = {"where": np.zeros((2, 1), np.float32), "sign": np.array([0, 1])}
    actions, _ = agent.predict(seen, deterministic=True)
    assert actions.flatten() == pytest.approx([-0.5, 0.5], abs=0.2)
    agent.save(tmp_path / "agent")
    again = GBRL.load(tmp_path / "agent", env=envs)
    assert int(again.policy.trees.n_trees) == int(agent.policy.trees.n_trees) > 0
    assert (again.predict(seen, deterministic=True)[0] == actions).all()
    again.learn(256)


def test_what_trees_cannot_do_is_said() -> None:
    agent = GBRL("MlpPolicy", matching(), n_steps=16, batch_size=64, policy_kwargs={"max_trees": 20})
    with pytest.raises(ValueError, match="64 minibatches make as many trees, and there is room for 20"):
        agent.learn(1024)
    agent.learn(256)
    with pytest.raises(ValueError, match="room for 4"):
        agent.learn(256)
    with pytest.raises(ValueError, match="max_depth of 1 to 12"):
        GBRL("MlpPolicy", matching(), policy_kwargs={"max_depth": 13})
    image = gymnasium.Env()
    image.observation_space, image.action_space = Box(0, 255, (36, 36, 3), np.uint8), Discrete(2)
    with pytest.raises(TypeError, match="has images"):
        GBRL("MlpPolicy", image)


def test_a_copy_grows_trees_of_its_own() -> None:
    agent = GBRL("MlpPolicy", "Pendulum-v1", n_steps=16, batch_size=16, n_epochs=1, seed=0).learn(16)
    twin, room = copy.deepcopy(agent), agent.policy.trees.room
    assert twin.policy.optimizer.trees is twin.policy.trees
    twin.set_random_seed(3)
    twin.learn(16)
    assert (agent.policy.trees.room, twin.policy.trees.room) == (room, room - 1)
    agent.set_random_seed(3)
    agent.learn(16)
    for name, tensor in agent.policy.trees.state_dict().items():
        assert tensor.equal(twin.policy.trees.state_dict()[name])
