import sys
import threading
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.wrappers import TimeLimit
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback

from tiltyard.agents import make
from tiltyard.benchmarks import evaluate
from tiltyard.wrappers import AutonomousPractice, PracticePair

sys.path.insert(0, str(Path(__file__).parent))
from shuttle import Shuttle  # noqa: E402

SMALL: dict[str, Any] = {
    "learning_starts": 150,
    "learning_rate": 3e-3,
    "ent_coef": 0.02,
    "gamma": 0.9,
    "batch_size": 64,
    "buffer_size": 3000,
    "device": "cpu",
    "policy_kwargs": {"net_arch": [32, 32]},
}


def pair(limit: int = 40, safe: bool = True) -> PracticePair:
    return PracticePair(AutonomousPractice(TimeLimit(Shuttle(safe=safe), limit), patience=None))


def agents(scene: PracticePair) -> tuple[Any, Any]:
    return make("sac", scene.forward, seed=0, **SMALL), make("sac", scene.backward, seed=1, **SMALL)


def weights(agent: Any) -> Any:
    return np.concatenate([one.detach().numpy().ravel() for one in agent.policy.parameters()])


@pytest.mark.slow  # 1,200 steps of two SACs
def test_each_agent_learns_its_own_task_in_one_scene() -> None:
    scene = pair()
    forward, backward = agents(scene)
    scene.learn(forward, backward, 1200)
    assert scene.practice.unwrapped.starts == 1  # type: ignore[attr-defined]
    assert forward.num_timesteps + backward.num_timesteps == 1200
    assert forward.predict(np.zeros(1, np.float32), deterministic=True)[0] > 0.5
    assert backward.predict(np.zeros(1, np.float32), deterministic=True)[0] < -0.5
    assert min(scene.counts.successes.values()) > 20
    for agent, sign in ((forward, 1), (backward, -1)):
        buffer = agent.replay_buffer
        paid = buffer.next_observations[: buffer.pos][buffer.rewards[: buffer.pos] == 1]
        assert (sign * paid >= 0.4 - 1e-6).all()  # neither ever stored a step of the other's


def test_the_same_seeds_make_the_same_agents() -> None:
    results = []
    for _ in range(2):
        scene = pair()
        forward, backward = agents(scene)
        scene.learn(forward, backward, 300)
        results.append((weights(forward), weights(backward), scene.practice.unwrapped.place))  # type: ignore[attr-defined]
    assert np.array_equal(results[0][0], results[1][0])
    assert np.array_equal(results[0][1], results[1][1])
    assert results[0][2] == results[1][2]


def test_training_goes_on_in_the_same_scene() -> None:
    scene = pair()
    forward, backward = agents(scene)
    for expected in (150, 300):
        scene.learn(forward, backward, 150, reset_num_timesteps=False)
        assert forward.num_timesteps + backward.num_timesteps == expected
    assert scene.practice.unwrapped.starts == 1  # type: ignore[attr-defined]


def test_who_never_has_a_turn_counts_no_step() -> None:
    scene = pair()
    forward, backward = agents(scene)
    scene.learn(forward, backward, 3)
    scene.learn(forward, backward, 2, reset_num_timesteps=False)
    assert (forward.num_timesteps, backward.num_timesteps) == (5, 0)


def test_on_policy_agents_practise_too() -> None:
    scene = pair(limit=5)
    forward, backward = (
        PPO("MlpPolicy", side, n_steps=16, seed=0, device="cpu") for side in (scene.forward, scene.backward)
    )
    scene.learn(forward, backward, 100)
    assert forward.num_timesteps >= 32


def test_the_scene_is_stepped_by_the_thread_that_asked() -> None:
    seen = set()

    class Noting(gymnasium.Wrapper[Any, Any, Any, Any]):
        def step(self, action: Any) -> Any:
            seen.add(threading.current_thread())
            return self.env.step(action)

    scene = PracticePair(Noting(AutonomousPractice(TimeLimit(Shuttle(safe=True), 5), on_failure="switch")))
    scene.learn(*agents(scene), 60)
    assert seen == {threading.current_thread()}


def test_callbacks_of_either_agent_are_called_and_may_end_training() -> None:
    class Stop(BaseCallback):
        def _on_step(self) -> bool:
            return self.num_timesteps < 30

    scene = pair()
    forward, backward = agents(scene)
    before = set(threading.enumerate())
    scene.learn(forward, backward, 10_000, callbacks=(None, Stop()))
    assert backward.num_timesteps <= 30
    assert set(threading.enumerate()) <= before


class Bad(BaseCallback):
    def _on_step(self) -> bool:
        raise RuntimeError("a fault of the user's")


def test_a_fault_in_an_agents_thread_is_raised_here() -> None:
    scene, before = pair(), set(threading.enumerate())
    with pytest.raises(RuntimeError, match="a fault of the user's"):
        scene.learn(*agents(scene), 100, callbacks=(Bad(), None))
    assert not any(one.name.startswith("Thread") for one in set(threading.enumerate()) - before)


def test_a_fault_of_the_scene_is_raised_here() -> None:
    class Broken(gymnasium.Wrapper[Any, Any, Any, Any]):
        def step(self, action: Any) -> Any:
            raise OSError("the robot is unplugged")

    scene = PracticePair(Broken(AutonomousPractice(Shuttle())))
    with pytest.raises(OSError, match="unplugged"):
        scene.learn(*agents(scene), 100)


def test_misuse_is_refused() -> None:
    scene = pair()
    forward, backward = agents(scene)
    with pytest.raises(ValueError, match="the forward agent must train on this pair's `forward`"):
        scene.learn(backward, forward, 100)
    with pytest.raises(ValueError, match="total_timesteps"):
        scene.learn(forward, backward, 0)
    with pytest.raises(RuntimeError, match=r"only while PracticePair\.learn"):
        scene.forward.reset()
    with pytest.raises(RuntimeError, match=r"only while PracticePair\.learn"):
        forward.learn(10)
    with pytest.raises(TypeError, match="wrap it in AutonomousPractice"):
        PracticePair(Shuttle())


def test_two_agents_share_the_arm_and_are_evaluated_from_fresh_starts() -> None:
    scene = PracticePair(
        AutonomousPractice(gymnasium.make("tiltyard/ObjectRelocation-v0", max_episode_steps=15), on_failure="switch")
    )
    forward, backward = agents(scene)
    scene.learn(forward, backward, 60)
    # Untrained, forward leaves the block where backward's goal is: 15 steps in vain and 1 that finds it done, in turn.
    assert (forward.num_timesteps, backward.num_timesteps) == (57, 3)
    assert scene.counts.tries == {"forward": 3, "backward": 3}
    assert scene.counts.successes == {"forward": 0, "backward": 3}
    assert evaluate(forward, "tiltyard/ObjectRelocation-v0", episodes=2).lengths == (100, 100)
    assert len(evaluate(backward, "tiltyard/ObjectRelocation-v0", episodes=2, task="backward").scores) == 2
