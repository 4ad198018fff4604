"""The maze: D4RL's ball and walls bit for bit, honest problems, any problem on request, goals to relabel."""

import math
from typing import Any

import gymnasium
import mujoco
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from stable_baselines3 import SAC, HerReplayBuffer
from stable_baselines3.common.env_checker import check_env as sb3_check_env

from tiltyard.envs.catalogue import find
from tiltyard.envs.robotics.maze import BALL_RADIUS, SUCCESS_RADIUS, PointMaze, PointMazeEnv, PointMazeVectorEnv
from tiltyard.envs.robotics.maze_layouts import LAYOUTS, Maze
from tiltyard.wrappers.spaces import sb3_env

ROOMS = ["#####", "#..##", "#####", "##..#", "#####"]  # two rooms without a door
each_layout = pytest.mark.parametrize("layout", LAYOUTS)

# The ball of Gymnasium-Robotics (assets/point/point.xml) on its ground, in walls as its maze_v4.py builds them.
REFERENCE = """
<mujoco>
  <option timestep="0.01" gravity="0 0 0" iterations="20" integrator="Euler"/>
  <default>
    <joint damping="1"/>
    <geom friction=".5 .1 .1" density="1000" margin="0.002" condim="1" contype="2" conaffinity="1"/>
  </default>
  <worldbody>
    <geom type="plane" size="40 40 0.25" pos="0 0 -0.1" contype="1" conaffinity="0"/>
    <body>
      <geom type="sphere" size="0.1" contype="1"/>
      <joint name="x" type="slide" axis="1 0 0"/>
      <joint name="y" type="slide" axis="0 1 0"/>
    </body>
    {walls}
  </worldbody>
  <actuator>
    <motor joint="x" ctrlrange="-1 1" ctrllimited="true" gear="100"/>
    <motor joint="y" ctrlrange="-1 1" ctrllimited="true" gear="100"/>
  </actuator>
</mujoco>
"""


def reference(rows: tuple[str, ...]) -> mujoco.MjModel:
    height, width = len(rows), len(rows[0])
    walls = [
        f'<geom type="box" pos="{j + 0.5 - width / 2} {height / 2 - i - 0.5} 0.2" size="0.5 0.5 0.2" contype="1"/>'
        for i, row in enumerate(rows)
        for j, character in enumerate(row)
        if character == "#"
    ]
    return mujoco.MjModel.from_xml_string(REFERENCE.format(walls="".join(walls)))


def ball_maze(layout: str) -> Maze:
    return Maze(layout, scale=1.0, body=BALL_RADIUS, success=SUCCESS_RADIUS)


def idle(env: PointMazeEnv) -> Any:
    return env.step(np.zeros(2, np.float32))


def play(env: Any, limit: int = 900) -> tuple[float, bool]:
    """Return and success of the expert's episode, which has begun."""
    total = 0.0
    for _ in range(limit):
        _, reward, terminated, _, info = env.step(env.expert().predict(None)[0])
        total += reward
        if terminated:
            break
    return total, info["success"]


def test_first_step_from_rest_is_newtons() -> None:
    env = PointMazeEnv()
    env.reset(options={"start": (-1.0, 1.0), "goal": (-1.0, -1.0)})
    observation, *_ = env.step(np.array([1.0, 0.5], np.float32))
    # A ball of 0.1 m and 1000 kg/m^3 has 4/3 pi = 4.18879 kg; damping, 1 N s/m, is taken at the end of the step:
    # (4.18879 + 0.01 * 1) v = 0.01 * 100, so v = 0.2381638 m/s and x = -1 + 0.01 v.
    mass = 4 / 3 * math.pi * 0.1**3 * 1000
    v = 0.01 * 100 / (mass + 0.01)
    assert v == pytest.approx(0.2381638, abs=1e-7)
    np.testing.assert_allclose(observation, [-1 + 0.01 * v, 1 + 0.005 * v, v, v / 2, -1, -1], rtol=1e-12)


@each_layout
def test_trajectories_are_the_references_bit_for_bit(layout: str) -> None:
    model = reference(LAYOUTS[layout])
    data, rng, touching = mujoco.MjData(model), np.random.default_rng(0), 0
    env = PointMazeEnv(layout=layout, continuing=True)
    for episode in range(3):
        observation, _ = env.reset(seed=episode)
        mujoco.mj_resetData(model, data)
        data.qpos[:] = observation[:2]
        for step in range(200):
            if step % 20 == 0:
                action = rng.uniform(-1, 1, 2).astype(np.float32)
            data.qvel[:] = np.clip(data.qvel, -5, 5)
            mujoco.mj_forward(model, data)
            data.ctrl[:] = action
            mujoco.mj_step(model, data)
            touching += data.ncon > 1  # the ground is always touched
            observation, *_ = env.step(action)
            np.testing.assert_array_equal(observation[:4], np.concatenate((data.qpos, data.qvel)))
    assert touching > 50


def test_speed_is_cut_before_each_step() -> None:
    env = PointMazeEnv()
    env.reset(seed=0)
    env.batched.qvel[0, :2] = (-7.0, 0.0)
    observation, *_ = idle(env)
    mass = 4 / 3 * math.pi
    assert observation[2] == pytest.approx(-5 * mass / (mass + 0.01), rel=1e-12)


@pytest.mark.parametrize(("layout", "cells", "longest"), [("umaze", 7, 6), ("medium", 26, 11), ("large", 46, 19)])
def test_layouts_are_d4rls(layout: str, cells: int, longest: int) -> None:
    maze = ball_maze(layout)
    assert len(maze.cells) == cells
    assert maze.longest == longest
    assert (maze.steps >= 0).all(), "every free cell can be reached"
    np.testing.assert_array_equal(maze.steps, maze.steps.T)
    # One cell on, the path is one cell shorter.
    here, there = np.argwhere(maze.steps > 0).T
    np.testing.assert_array_equal(maze.steps[maze.onward[here, there], there], maze.steps[here, there] - 1)
    np.testing.assert_array_equal(maze.steps[here, maze.onward[here, there]], 1)


def test_path_length_goes_around_the_wall() -> None:
    maze = ball_maze("umaze")
    # Cells lie at x, y in {-1, 0, 1}; from the upper left to the lower left the way is six cells through x = 1.
    assert maze.path_length(np.array([-1.0, 1.0]), np.array([-1.0, -1.0])) == 6.0
    # 1.2 m to the middle of the next cell (0, 1), four cells on to (0, -1), and 0.9 m to the goal.
    assert maze.path_length(np.array([-1.2, 1.0]), np.array([-0.9, -1.0])) == pytest.approx(6.1)
    assert maze.path_length(np.array([-0.6, 1.0]), np.array([0.0, 1.3])) == pytest.approx(math.hypot(0.6, 0.3))
    many = maze.path_length(np.array([[-1.0, 1.0], [1.0, 0.0]]), np.array([[-1.0, -1.0], [1.0, 0.0]]))
    np.testing.assert_array_equal(many, [6.0, 0.0])
    np.testing.assert_array_equal(maze.waypoint(np.array([1.2, 0.9]), np.array([-1.0, -1.0])), [1.0, 0.0])
    np.testing.assert_array_equal(maze.waypoint(np.array([-0.4, -0.9]), np.array([-1.1, -1.0])), [-1.1, -1.0])


def test_place_in_a_wall_belongs_to_the_cell_one_comes_nearest_from() -> None:
    maze = ball_maze("umaze")  # cells in rows: 0 1 2, then 3, then 4 5 6
    places = np.array([[-0.81, 0.24], [-0.81, -0.24], [0.4, -0.12], [-9.0, -9.0], [0.3, 0.9]])
    # The ball's middle comes to y = 0.6 above the wall's 0.24 and to -0.6 below its -0.24, and to x = 0.6 beside 0.4.
    np.testing.assert_array_equal(maze.cell(places), [0, 4, 3, 4, 1])
    assert [int(maze.cell(place)) for place in places] == [0, 4, 3, 4, 1]


@each_layout
def test_problems_are_far_apart_and_lie_in_free_cells(layout: str) -> None:
    batched = PointMaze(300, layout=layout)
    batched.begin(np.arange(300), np.arange(300), np.zeros(300, np.int64))
    info, maze = batched.reset_info(), batched.maze
    starts, goals = maze.cell(info["start"]), maze.cell(info["goal"])
    assert batched.min_path == {"umaze": 5, "medium": 8, "large": 14}[layout]
    assert (maze.steps[starts, goals] >= batched.min_path).all()
    assert len(np.unique(np.stack((starts, goals)), axis=1).T) == min(300, len(batched._pairs)) or layout != "umaze"
    for places, cells in ((info["start"], starts), (info["goal"], goals)):
        assert np.abs(places - maze.centres[cells]).max() <= 0.25
    assert info["reachable"].all()
    assert (batched.qvel == 0).all()


def test_goals_are_drawn_where_the_start_can_go() -> None:
    env = PointMazeEnv(layout=ROOMS)
    rooms = set()
    for seed in range(20):
        _, info = env.reset(seed=seed)
        assert info["start"][1] * info["goal"][1] > 0
        assert info["reachable"]
        rooms.add(bool(info["start"][1] > 0))
    assert rooms == {True, False}


def test_success_ends_the_episode_and_pays_one() -> None:
    env = PointMazeEnv()
    env.reset(options={"start": (0.0, 1.0), "goal": (SUCCESS_RADIUS + 0.001, 1.0)})
    _, reward, terminated, _, info = idle(env)
    assert (reward, terminated, info["success"], info["reward_terms"]) == (0.0, False, False, {"reward_goal": 0.0})
    env.batched.qpos[0, 0] += 0.002
    _, reward, terminated, _, info = idle(env)
    assert (reward, terminated, info["success"], info["reward_terms"]) == (1.0, True, True, {"reward_goal": 1.0})
    edge = env.batched.compute_reward([[0.0, 0.0], [0.0, 0.0]], [[0.0, 0.45], [0.0, math.nextafter(0.45, 1)]], None)
    assert edge.tolist() == [1.0, 0.0]


def test_continuing_episodes_pay_at_the_goal_without_end() -> None:
    env = PointMazeEnv(continuing=True)
    env.reset(options={"start": (0.0, 1.0), "goal": (0.1, 1.0)})
    for _ in range(3):
        _, reward, terminated, _, info = idle(env)
        assert (reward, terminated, info["success"]) == (1.0, False, True)


def test_dense_reward_is_the_path_still_to_go_and_solving_beats_every_wait() -> None:
    env = PointMazeEnv(reward="dense")
    env.reset(options={"start": (-1.0, 1.0), "goal": (-1.0, -1.0)})
    _, reward, _, _, info = idle(env)
    assert reward == -6.0
    assert info["reward_terms"] == {"reward_path": -6.0}
    solving, success = play(env)
    assert success
    # A straight-line reward would pay the ball that waits behind the wall, 1.2 m from the goal, -360 in an episode.
    assert -360 > solving > 300 * -6.0


@each_layout
def test_expert_solves_every_test_problem(layout: str) -> None:
    limit = find({"umaze": "tiltyard/PointMaze-v0"}.get(layout, f"tiltyard/PointMaze{layout.title()}-v0"))
    envs = PointMazeVectorEnv(50, layout=layout, split="test", max_episode_steps=limit.max_episode_steps)
    envs.reset(seed=0)
    solved, returns = np.zeros(50, bool), np.zeros(50)
    for _ in range(limit.max_episode_steps):
        _, reward, terminated, _, _ = envs.step(envs.expert().predict(None)[0])
        returns += np.where(solved, 0, reward)
        solved |= terminated
    assert solved.all()
    assert (returns == 1).all()


def test_expert_solves_a_layout_of_ones_own() -> None:
    env = PointMazeEnv(layout=["#######", "#.#...#", "#.#.#.#", "#...#.#", "#######"])
    for seed in range(5):
        env.reset(seed=seed)
        assert play(env) == (1.0, True)


@pytest.mark.parametrize(
    ("layout", "message"),
    [
        ("umase", "unknown layout 'umase'; did you mean 'umaze'"),
        ([], "a layout is a name .* or a list of strings"),
        ([[1, 1], [1, 1]], "a layout is a name .* or a list of strings"),
        (5, "a layout is a name .* or a list of strings"),
        (["####", "#..#", "###"], "equally long, got lengths"),
        (["####", "#..#", "#G.#", "####"], "drawn with '#' .* got 'G'"),
        (["####", "#...", "####"], "border of a layout must be closed"),
        (["#.##", "#..#", "####"], "border of a layout must be closed"),
        (["", ""], "border of a layout must be closed"),
        (["###", "###", "###"], "at least two free cells"),
        (["#####", "#.#.#", "#####"], "at least two free cells .* side by side"),
    ],
)
def test_bad_layout_is_refused_in_one_sentence(layout: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        PointMazeEnv(layout=layout)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"reward": "spars"}, "unknown reward 'spars'; did you mean 'sparse'"),
        ({"min_path": 7}, "min_path must be from 1 to 6"),
        ({"min_path": 0}, "min_path must be from 1 to 6"),
        ({"frame_skip": 0}, "frame_skip"),
    ],
)
def test_bad_keyword_is_refused(keywords: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        PointMazeEnv(**keywords)


def test_options_set_the_problem_for_one_episode() -> None:
    env = gymnasium.make("tiltyard/PointMaze-v0")
    observation, info = env.reset(seed=3, options={"goal": [0.5, 1.2], "start": np.array([1.0, -0.3])})
    np.testing.assert_array_equal(observation, [1.0, -0.3, 0, 0, 0.5, 1.2])
    assert info["start"].tolist() == [1.0, -0.3]
    assert info["goal"].tolist() == [0.5, 1.2]
    np.testing.assert_array_equal(env.reset(seed=3)[0], gymnasium.make("tiltyard/PointMaze-v0").reset(seed=3)[0])


def test_half_a_problem_is_completed_far_away_by_the_seed() -> None:
    env = PointMazeEnv()
    for seed in range(5):
        _, info = env.reset(seed=seed, options={"goal": (-1.0, 1.0)})
        assert info["goal"].tolist() == [-1.0, 1.0]
        assert info["start"][1] < -0.7  # five or six cells away is the lower corridor's left half
        assert info["start"][0] < 0.3
        again = env.reset(seed=seed, options={"goal": (-1.0, 1.0)})[1]
        np.testing.assert_array_equal(again["start"], info["start"])
        _, info = env.reset(seed=seed, options={"start": (1.0, 0.0)})
        assert info["start"].tolist() == [1.0, 0.0]
        assert info["goal"][0] < -0.7  # nothing is five cells from the middle of the U: its ends are farthest, three
    starts = {tuple(env.reset(seed=seed, options={"goal": (-1.0, 1.0)})[1]["start"]) for seed in range(5)}
    assert len(starts) == 5


def test_vectors_take_one_place_or_one_per_environment_and_only_for_the_environments_they_reset() -> None:
    envs = PointMazeVectorEnv(3, autoreset_mode="Disabled")
    observation, info = envs.reset(seed=0, options={"goal": (0.0, 1.0)})
    np.testing.assert_array_equal(observation[:, 4:], [[0.0, 1.0]] * 3)
    goals = np.array([[0.0, 1.0], [-1.0, 1.0], [np.nan, np.nan]])
    mask = np.array([False, True, False])
    after, info = envs.reset(options={"goal": goals, "start": (0.0, -1.0), "reset_mask": mask})
    np.testing.assert_array_equal(after[[0, 2]], observation[[0, 2]])
    np.testing.assert_array_equal(after[1], [0.0, -1.0, 0, 0, -1.0, 1.0])
    assert info["_goal"].tolist() == mask.tolist()


def test_next_problem_of_a_vector_is_drawn_again() -> None:
    envs = PointMazeVectorEnv(2, max_episode_steps=1)
    goals = [(0.0, 1.0), (0.0, -1.0)]
    envs.reset(seed=0, options={"goal": goals})
    observation, *_, info = envs.step(np.zeros((2, 2), np.float32))
    np.testing.assert_array_equal([final[4:] for final in info["final_obs"]], goals)
    assert (observation[:, 4:] != goals).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gaol": (0, 1)}, "unknown option 'gaol'; did you mean 'goal'"),
        ({"reset_mask": np.ones(1, np.bool_)}, "unknown option 'reset_mask'"),
        ({"goal": "left"}, "two numbers"),
        ({"goal": (0, 1, 2)}, "must be finite metres"),
        ({"goal": (float("nan"), 1)}, "must be finite metres"),
        ({"start": (float("inf"), 1)}, "must be finite metres"),
        ({"goal": (-1.0, 0.0)}, "out of the ball's reach.*allow_unreachable=True"),
        ({"goal": (9.0, 1.0)}, "out of the ball's reach"),
        ({"start": (-1.0, 0.0)}, "leaves no room for the ball"),
        ({"start": (-1.0, 1.45)}, "leaves no room for the ball"),  # free, but 5 cm from the wall
    ],
)
def test_bad_option_is_refused_and_changes_nothing(options: dict[str, Any], message: str) -> None:
    env, twin = PointMazeEnv(), PointMazeEnv()
    env.reset(seed=1), twin.reset(seed=1)
    with pytest.raises(ValueError, match=message):
        env.reset(seed=2, options=options)
    np.testing.assert_array_equal(idle(env)[0], idle(twin)[0])
    np.testing.assert_array_equal(env.reset()[0], twin.reset()[0])


def test_reach_ends_a_success_radius_from_where_the_ball_fits() -> None:
    env = PointMazeEnv(allow_unreachable=True)
    # The upper corridor ends at y = 0.5, the ball's middle at 0.6: it comes within 0.45 m of y = 0.15.
    assert env.reset(options={"goal": (-1.0, 0.16)})[1]["reachable"]
    assert not env.reset(options={"goal": (-1.0, 0.14)})[1]["reachable"]
    assert not env.reset(options={"goal": (40.0, -7.0)})[1]["reachable"]
    assert not env.reset(options={"start": (-1.0, 1.0), "goal": (-1.0, 0.0)})[1]["reachable"]
    apart = PointMazeEnv(layout=ROOMS)
    with pytest.raises(ValueError, match="out of the ball's reach"):
        apart.reset(options={"start": (-1.0, 1.0), "goal": (1.0, -1.0)})


def test_unreachable_goal_is_never_reached() -> None:
    env = PointMazeEnv(allow_unreachable=True, reward="dense")
    env.reset(seed=0, options={"goal": (-1.0, 0.0)})
    total, success = play(env, limit=300)
    assert not success
    assert np.isfinite(total)


@pytest.mark.parametrize("reward", ["sparse", "dense"])
def test_goal_environment_pays_what_compute_reward_says(reward: str) -> None:
    env = PointMazeEnv(goal_conditioned=True, reward=reward)
    observation, _ = env.reset(seed=0)
    assert env.observation_space.contains(observation)
    for _ in range(150):
        observation, paid, terminated, _, info = env.step(env.expert().predict(None)[0])
        assert paid == env.compute_reward(observation["achieved_goal"], observation["desired_goal"], info)
        np.testing.assert_array_equal(observation["achieved_goal"], observation["observation"][:2])
        if terminated:
            break
    assert terminated
    sb3_check_env(env, warn=False)


def test_goal_environment_is_the_same_alone_and_as_an_environment() -> None:
    kwargs: dict[str, Any] = {"goal_conditioned": True, "min_path": 1, "split": "test"}
    check_env(PointMazeEnv(**kwargs), skip_render_check=True)
    envs = PointMazeVectorEnv(3, **kwargs)
    alone = [PointMazeEnv(**kwargs) for _ in range(3)]
    batch, _ = envs.reset(seed=7)
    observations = [env.reset(seed=7 + i)[0] for i, env in enumerate(alone)]
    ends = 0
    for _ in range(200):
        assert envs.observation_space.contains(batch)
        for i, observation in enumerate(observations):
            assert all(np.array_equal(batch[key][i], observation[key]) for key in batch)
        batch, _, terminated, _, info = envs.step(envs.expert().predict(batch)[0])
        for i, env in enumerate(alone):
            observations[i], _, ended, _, _ = env.step(env.expert().predict(None)[0])
            assert ended == terminated[i]
            if ended:
                ends += 1
                final = info["final_obs"][i]
                assert all(np.array_equal(final[key], observations[i][key]) for key in final)
                observations[i] = env.reset()[0]
    assert ends > 3


def test_flat_environment_is_no_goal_environment() -> None:
    env = PointMazeEnv()
    assert not hasattr(env, "compute_reward")  # Stable-Baselines3 goes by that
    with pytest.raises(AttributeError, match="goal_conditioned=True"):
        _ = env.compute_reward


@pytest.mark.parametrize("n_envs", [1, 3])
def test_hindsight_replay_relabels_with_our_reward(n_envs: int) -> None:
    env = sb3_env("tiltyard/PointMaze-v0", n_envs, goal_conditioned=True, max_episode_steps=20, seed=0)
    agent = SAC(
        "MultiInputPolicy",
        env,
        replay_buffer_class=HerReplayBuffer,
        replay_buffer_kwargs={"n_sampled_goal": 4},
        learning_starts=70,
        batch_size=32,
        policy_kwargs={"net_arch": [8]},
        seed=0,
    )
    agent.learn(90)
    batch = agent.replay_buffer.sample(200)
    achieved, asked = batch.next_observations["achieved_goal"], batch.observations["desired_goal"]
    reached = (achieved - asked).norm(dim=1) <= SUCCESS_RADIUS
    np.testing.assert_array_equal(batch.rewards[:, 0], reached)
    assert 0.2 < reached.float().mean() < 1


def test_snapshot_keeps_the_goal() -> None:
    env = PointMazeEnv()
    env.reset(seed=0)
    for _ in range(30):
        env.step(env.expert().predict(None)[0])
    state = env.snapshot()
    expected = idle(env)[0]
    env.reset(seed=5)
    _, info = env.restore(state)
    np.testing.assert_array_equal(info["goal"], expected[4:])
    np.testing.assert_array_equal(idle(env)[0], expected)


def test_physics_can_be_scaled() -> None:
    env = PointMazeEnv(physics_scale={"mass": 2.0})
    env.reset(options={"start": (-1.0, 1.0)})
    observation, *_ = env.step(np.array([1.0, 0.0], np.float32))
    assert observation[2] == pytest.approx(1 / (2 * 4 / 3 * math.pi + 0.01), rel=1e-12)


@each_layout
@pytest.mark.parametrize("backend", ["off", ""])
def test_picture_shows_walls_ball_and_goal_from_above(
    layout: str, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MUJOCO_GL", backend)  # in software, and by whatever works here
    env = PointMazeEnv(layout=layout, render_mode="rgb_array", width=320, height=240)
    env.reset(seed=0)
    frame, maze = env.render(), env.batched.maze
    assert frame.shape == (240, 320, 3)
    pixels = min(320 / (maze.width + 0.5), 240 / (maze.height + 0.5))  # a metre, at the height of the walls' tops
    above = 120 / pixels / math.tan(math.radians(45 / 2))  # metres from the walls' tops to the eye

    def colour(point: Any, depth: float) -> np.ndarray:
        """``depth`` metres below the walls' tops, where OpenGL's perspective draws things smaller."""
        scale = pixels if env.batched._view.backend == "software" else pixels * above / (above + depth)
        column, row = 160 + point[0] * scale, 120 - point[1] * scale
        return frame[int(row), int(column)].astype(int)

    free = maze.centres[(maze.cell(env.batched.goal[0]) + maze.cell(env.batched.place[0])) // 2]
    assert colour(free, 0.4).min() > 180, "the floor is bright"
    red, green, blue = colour(env.batched.goal[0], 0.38)
    assert red > 2 * max(green, blue), "the goal is red"
    red, green, blue = colour(env.batched.place[0], 0.2)
    assert blue > 2 * red, "the ball is blue"
    assert colour(maze.centres[0] - (1, 0), 0.0).max() < 150, "walls are dark"
    env.close()
