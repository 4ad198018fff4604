import pickle
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers import TimeLimit

from tiltyard.agents import make
from tiltyard.wrappers import PotentialShaping, VectorPotentialShaping, published_potential, to_sb3

MAZE, PEG = "tiltyard/PointMaze-v0", "tiltyard/PegInsertion-v0"


class Corridor(gymnasium.Env[Any, Any]):
    """Places 0, 1, 2 and the goal 3, which pays 1; action 1 goes on, 0 stays."""

    def __init__(self) -> None:
        self.observation_space, self.action_space, self.place = Box(0, 3, (1,), np.float64), Discrete(2), 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.place = 0
        return np.array([0.0]), {}

    def step(self, action: Any) -> Any:
        self.place += int(action)
        there = self.place == 3
        terms = {"reward_terms": {"goal": float(there)}, "success": there}
        return np.array([float(self.place)]), float(there), there, False, terms


def ahead(seen: Any) -> Any:
    return seen[..., 0] - 4.0  # -4, -3, -2, (-1 at the goal, where it does not count)


def rewards(env: Any, actions: list[int]) -> list[float]:
    env.reset()
    return [float(env.step(action)[1]) for action in actions]


def test_shaping_is_the_discounted_change_by_hand() -> None:
    env = PotentialShaping(Corridor(), ahead, gamma=0.5)
    # 0.5 * -3 + 4 = 2.5; staying: 0.5 * -3 + 3 = 1.5; 0.5 * -2 + 3 = 2; at the goal 0.5 * 0 + 2, and the reward of 1.
    assert rewards(env, [1, 0, 1, 1]) == [2.5, 1.5, 2.0, 3.0]


@pytest.mark.parametrize("actions", [[1, 1, 1], [0, 1, 0, 1, 1], [0] * 7 + [1, 1, 1]])
def test_whatever_is_done_the_sum_of_shaping_is_the_first_potential(actions: list[int]) -> None:
    for gamma in (0.5, 0.9, 1.0):
        shaped = rewards(PotentialShaping(Corridor(), ahead, gamma=gamma), actions)
        plain = rewards(Corridor(), actions)
        gained = sum(gamma**t * (one - other) for t, (one, other) in enumerate(zip(shaped, plain, strict=True)))
        assert gained == pytest.approx(4.0)  # minus the potential of place 0


def test_policies_rank_as_before() -> None:
    plans = [[1, 1, 1], [0, 1, 1, 1], [1, 0, 0, 1, 1]]

    def ranking(env: Any) -> list[float]:
        return [sum(0.9**t * reward for t, reward in enumerate(rewards(env, plan))) for plan in plans]

    plain, shaped = ranking(Corridor()), ranking(PotentialShaping(Corridor(), ahead, gamma=0.9))
    assert np.subtract(shaped, plain) == pytest.approx([4.0] * 3)


def test_a_time_limit_keeps_the_last_potential() -> None:
    env = PotentialShaping(TimeLimit(Corridor(), 2), ahead, gamma=0.5)
    # Cut at place 2: 0.5 * -2 + 3; the agent bootstraps from there.
    assert rewards(env, [1, 1]) == [2.5, 2.0]


def test_the_true_reward_and_the_terms_stay_known() -> None:
    env = PotentialShaping(Corridor(), ahead, gamma=0.5, weight=2.0)
    env.reset()
    _, reward, _, _, info = env.step(1)
    assert info["true_reward"] == 0.0
    assert info["reward_terms"] == {"goal": 0.0, "shaping": 5.0}
    assert reward == sum(info["reward_terms"].values())


def test_a_maze_publishes_the_way_around_its_walls() -> None:
    env = gymnasium.make(MAZE)
    # In the U, from the middle of one end to that of the other: 2 across, 2 back and 2 down between the arms.
    seen, _ = env.reset(options={"start": (-1.0, 1.0), "goal": (-1.0, -1.0)})
    assert published_potential(env)(seen) == pytest.approx(-6.0)
    goals = gymnasium.make(MAZE, goal_conditioned=True)
    seen, _ = goals.reset(options={"start": (-1.0, 1.0), "goal": (-1.0, -1.0)})
    assert published_potential(goals)(seen) == pytest.approx(-6.0)
    ant = gymnasium.make("tiltyard/AntMaze-v0")
    seen, _ = ant.reset(seed=0, options={"start": (-4.0, 4.0), "goal": (-4.0, -4.0)})
    assert published_potential(ant)(seen) == pytest.approx(-24.0, abs=0.1)


@pytest.mark.parametrize("env_id", [PEG, "tiltyard/BoardInsertion-v0"])
def test_insertion_publishes_how_far_the_tip_is_from_the_hole(env_id: str) -> None:
    env = gymnasium.make(env_id)
    seen, _ = env.reset(seed=0)
    tip = env.unwrapped.batched.tip()[0]  # type: ignore[attr-defined]
    assert published_potential(env)(seen) == pytest.approx(-np.hypot(*tip[:2]) - tip[2], abs=1e-6)


def test_relocation_publishes_the_way_of_block_and_tool() -> None:
    env = gymnasium.make("tiltyard/ObjectRelocation-v0")
    seen, info = env.reset(seed=0)
    tool = env.unwrapped.batched.sensed("position")[0]  # type: ignore[attr-defined]
    ways = np.linalg.norm(info["block"] - info["goal"]) + np.linalg.norm(info["block"] - tool)
    assert published_potential(env)(seen) == pytest.approx(-ways, abs=1e-5)


@pytest.mark.parametrize(("goal", "way"), [("open drawer", 0.12), ("open door", 0.3 * 1.1)])
def test_a_cabinet_publishes_what_its_part_still_has_to_go(goal: str, way: float) -> None:
    env = gymnasium.make("tiltyard/DrawerDoor-v0", goals=[goal])
    seen, _ = env.reset(seed=0)  # what is to be opened starts shut
    to_handle = np.linalg.norm(0.1 * seen[:3])
    assert published_potential(env)(seen) == pytest.approx(-way - to_handle, abs=1e-3)


@pytest.mark.parametrize("env_id", [MAZE, PEG, "tiltyard/ObjectRelocation-v0", "tiltyard/DrawerDoor-v0"])
def test_experts_climb_the_published_potential(env_id: str) -> None:
    env = PotentialShaping(gymnasium.make(env_id), gamma=1.0)
    env.reset(seed=0)
    expert, shaping, terminated = env.unwrapped.expert(), 0.0, False  # type: ignore[attr-defined]
    first = env._before
    while not terminated:
        action, _ = expert.predict(None)
        _, reward, terminated, truncated, info = env.step(action)
        shaping += reward - info["true_reward"]
        assert not truncated
    assert shaping == pytest.approx(-first)
    assert first < -0.02


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_an_environment_is_paid_what_it_would_be_alone(mode: AutoresetMode) -> None:
    env = VectorPotentialShaping(
        gymnasium.make_vec(MAZE, 3, "vector_entry_point", max_episode_steps=9, autoreset_mode=mode), gamma=0.9
    )
    env.reset(seed=3)
    paid: list[list[float]] = [[], [], []]
    rng, begun = np.random.default_rng(0), np.zeros(3, bool)
    actions = rng.uniform(-1, 1, (40, 2)).astype(np.float32)
    while min(len(index) for index in paid) < 30:
        batch = np.array([actions[len(index) % 40] for index in paid])
        _, rewards, terminated, truncated, info = env.step(batch)
        assert rewards == pytest.approx(info["true_reward"] + info["shaping"])
        assert not rewards[begun].any()  # they were only reset
        for index in range(3):
            if not begun[index]:
                paid[index].append(float(rewards[index]))
        ended = terminated | truncated
        begun = ended if mode == AutoresetMode.NEXT_STEP else begun
        if mode == AutoresetMode.DISABLED and ended.any():
            env.reset(options={"reset_mask": ended})
    for index in range(3):
        alone = PotentialShaping(gymnasium.make(MAZE, max_episode_steps=9), gamma=0.9)
        alone.reset(seed=3 + index)
        for step in range(30):
            _, reward, terminated, truncated, _ = alone.step(actions[step])
            assert paid[index][step] == pytest.approx(reward, abs=1e-12)
            if terminated or truncated:
                alone.reset()


def test_environments_that_were_reset_by_hand_after_their_end_are_paid_from_their_first_step() -> None:
    batched = gymnasium.vector.SyncVectorEnv([lambda: TimeLimit(Corridor(), 1)])
    assert batched.metadata["autoreset_mode"] == AutoresetMode.NEXT_STEP
    env = VectorPotentialShaping(batched, ahead, gamma=0.5)
    env.reset(seed=0)
    assert env.step(np.array([1]))[3].all()
    env.reset()
    assert env.step(np.array([1]))[1].tolist() == [2.5]  # 0.5 * -3 + 4


def test_agents_train_on_shaped_vectors_and_the_contract_is_kept() -> None:
    native = gymnasium.make_vec(MAZE, 2, "vector_entry_point")
    make("sac", to_sb3(VectorPotentialShaping(native)), seed=0, learning_starts=10, device="cpu").learn(40)
    check_env(PotentialShaping(gymnasium.make(MAZE)), skip_render_check=True)


def test_bad_settings_are_refused() -> None:
    with pytest.raises(TypeError, match="has no potential of its own"):
        PotentialShaping(gymnasium.make("tiltyard/Hopper-v5"))
    for gamma in (0.0, 1.1, np.nan):
        with pytest.raises(ValueError, match="gamma is the agent's discount"):
            PotentialShaping(Corridor(), ahead, gamma=gamma)
    with pytest.raises(ValueError, match="weight must be finite"):
        PotentialShaping(Corridor(), ahead, weight=np.inf)
    with pytest.raises(TypeError, match="potential is a function of the observation, got 3.0"):
        PotentialShaping(Corridor(), 3.0)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="a potential must be finite"):
        PotentialShaping(Corridor(), lambda seen: np.nan).reset()


@pytest.mark.parametrize(
    ("potential", "got"), [(lambda seen: -seen[:1], r"shape \(1,\)"), (lambda seen: "far", "'far'")]
)
def test_a_potential_is_one_number(potential: Any, got: str) -> None:
    with pytest.raises(ValueError, match=f"a potential returns one number for an observation, got {got}"):
        PotentialShaping(Corridor(), potential).reset()


@pytest.mark.parametrize(
    ("potential", "got"),
    [
        (lambda seen: -np.abs(seen[:, :1]), r"shape \(3, 1\)"),
        (lambda seen: -np.linalg.norm(seen), r"shape \(\)"),
        (lambda seen: "far", "'far'"),
    ],
)
def test_a_batch_has_one_potential_each(potential: Any, got: str) -> None:
    env = VectorPotentialShaping(gymnasium.vector.SyncVectorEnv([Corridor] * 3), potential)
    with pytest.raises(ValueError, match=f"a potential returns one number for each of the 3 environments, got {got}"):
        env.reset()


def test_final_observations_have_one_potential_each() -> None:
    mode = AutoresetMode.SAME_STEP
    batched = gymnasium.vector.SyncVectorEnv([lambda: TimeLimit(Corridor(), 1)] * 3, autoreset_mode=mode)
    env = VectorPotentialShaping(batched, lambda seen: ahead(seen) if seen[0] == 0 else ahead(seen)[:, None], gamma=0.5)
    env.reset()
    with pytest.raises(ValueError, match=r"each of the 3 environments, got shape \(3, 1\)"):
        env.step(np.array([1, 1, 1]))


def test_a_partial_reset_leaves_the_others_unpaid_in_the_step_of_their_reset() -> None:
    env = VectorPotentialShaping(gymnasium.vector.SyncVectorEnv([Corridor] * 2), ahead, gamma=0.5)
    env.reset()
    while not env.step(np.ones(2, np.int64))[2].all():
        pass
    env.reset(options={"reset_mask": np.array([True, False])})
    assert env.step(np.ones(2, np.int64))[1][1] == 0.0


def test_the_published_potential_refuses_modified_observations() -> None:
    maze = gymnasium.make(MAZE)
    with pytest.raises(ValueError, match="NormalizeObservation beneath changes them"):
        PotentialShaping(gymnasium.wrappers.NormalizeObservation(maze))
    vector = gymnasium.make_vec(MAZE, 2, vectorization_mode="vector_entry_point", autoreset_mode="NextStep")
    with pytest.raises(ValueError, match="NormalizeObservation beneath changes them"):
        VectorPotentialShaping(gymnasium.wrappers.vector.NormalizeObservation(vector))
    gymnasium.wrappers.NormalizeObservation(PotentialShaping(maze)).reset(seed=0)


@pytest.mark.parametrize("goal_conditioned", [False, True])
def test_a_shaped_maze_is_pickled(goal_conditioned: bool) -> None:
    env = PotentialShaping(gymnasium.make(MAZE, goal_conditioned=goal_conditioned))
    env.reset(seed=0)
    action = np.ones(2, np.float32)
    assert pickle.loads(pickle.dumps(env)).step(action)[1] == env.step(action)[1]
