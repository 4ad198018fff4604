import copy
import pickle
import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box
from gymnasium.utils.env_checker import check_env
from gymnasium.wrappers import TimeLimit
from stable_baselines3.common.vec_env import DummyVecEnv

from tiltyard.wrappers import ALPGMM, RandomTeacher, TaughtEnv
from tiltyard.wrappers.curricula.clustering import GaussianMixture


def taught(teacher: RandomTeacher, episodes: int, pay: Any) -> list[np.ndarray]:
    drawn = []
    for episode in range(episodes):
        params = teacher.sample()
        teacher.update(params, pay(params, episode))
        drawn.append(params)
    return drawn


def test_progress_is_the_change_since_the_nearest_earlier_episode_by_hand() -> None:
    teacher = ALPGMM([0, 0], [10, 1], seed=0)
    for x, y, value in [(0, 0, 5.0), (10, 0, 1.0), (0, 1, 2.0), (10, 1, 4.0), (5, 0.5, 8.0), (5, 0.2, 3.0)]:
        teacher.update([x, y], value)
    assert teacher._progress[:6].tolist() == [0.0] * 6  # too few to compare with
    # (8, 0.1) in units of the box is (0.8, 0.1): nearest is (10, 0), at 0.05; (5, 0.2) is at 0.1. 1.0 -> 0.25
    teacher.update([8, 0.1], 0.25)
    assert teacher._progress[6] == 0.75
    teacher.update([8, 0.1], 1.25)  # nearest is now the episode before
    assert teacher._progress[7] == 1.0


def test_the_first_fit_comes_after_fit_every_episodes_and_sees_the_last_ones_alone() -> None:
    teacher = ALPGMM([0], [1], seed=0, fit_every=20, components=[1])
    taught(teacher, 19, lambda params, episode: 0.0)
    assert teacher.mixture is None
    teacher.update([0.5], 0.0)
    assert teacher.mixture is not None
    for i in range(20):
        teacher.update([0.25], float(i % 2))
    # All of the last twenty lie at 0.25, and each return but the first (0 after 0) differs by 1 from that before.
    assert teacher.mixture.means.tolist() == [[pytest.approx(0.25), pytest.approx(19 / 20)]]


def test_the_component_with_the_least_aic_is_kept() -> None:
    teacher = ALPGMM([0], [1], seed=0, fit_every=200, components=[1, 2])
    rng = np.random.default_rng(0)
    for _ in range(200):  # two far clumps of parameters: one Gaussian fits them badly
        teacher.update([rng.choice([0.1, 0.9]) + rng.normal() * 0.01], 0.0)
    assert teacher.mixture is not None
    assert len(teacher.mixture.weights) == 2


def test_draws_follow_mean_progress_beside_the_random_share() -> None:
    teacher = ALPGMM([0, -2], [1, 2], seed=0)
    spread = np.eye(3) * 1e-8
    means = np.array([[0.2, 0.5, 0.3], [0.8, 0.5, 0.1], [0.5, 0.5, 0.0]])
    teacher.mixture = GaussianMixture(np.full(3, 1 / 3), means, np.array([spread] * 3))
    drawn = np.array([teacher.sample() for _ in range(4000)])
    shares = [np.isclose(drawn, place, atol=1e-2).all(axis=1).mean() for place in ([0.2, 0], [0.8, 0], [0.5, 0])]
    np.testing.assert_allclose(shares, [0.8 * 3 / 4, 0.8 / 4, 0.0], atol=0.02)


def test_draws_stay_in_the_box_and_no_progress_means_any_component() -> None:
    teacher = ALPGMM([0], [2], seed=0, random_share=0.0)
    means = np.array([[0.0, 0.0], [1.0, 0.0]])
    teacher.mixture = GaussianMixture(np.full(2, 0.5), means, np.array([np.eye(2)] * 2))
    drawn = np.array([teacher.sample() for _ in range(500)])
    assert drawn.min() == 0.0
    assert drawn.max() == 2.0
    assert 0.3 < (drawn < 1).mean() < 0.7


def test_draws_gather_where_returns_change_in_any_units() -> None:
    def draws(low: float, width: float, scale: float) -> np.ndarray:
        """Where in its box a teacher draws, if only the last quarter of the first parameter is learnt."""
        teacher = ALPGMM([low, 0], [low + width, width], seed=3)

        def pay(params: np.ndarray, episode: int) -> float:
            return scale * (episode / 2048 if params[0] - low > 0.75 * width else 0.25)

        return (np.array(taught(teacher, 2000, pay)) - [low, 0]) / width

    drawn = draws(0, 1, 1.0)
    assert (drawn[500:, 0] > 0.75).mean() > 0.6  # 0.25 at random
    assert np.array_equal(draws(-64, 128, 2.0**20), drawn)  # powers of two, so that nothing is rounded


def test_the_history_outgrows_its_first_room() -> None:
    teacher = ALPGMM([0], [1], seed=0, fit_every=10, components=[2])
    taught(teacher, 45, lambda params, episode: float(params[0]))
    assert teacher.episodes == 45
    assert len(teacher._returns) >= 45
    assert (teacher._returns[:45] == teacher._params[:45, 0]).all()


@pytest.mark.parametrize("teacher_class", [RandomTeacher, ALPGMM])
def test_a_seed_repeats_the_draws_and_a_pickle_goes_on_with_them(teacher_class: Any) -> None:
    first, second = teacher_class([0, 0], [1, 2], seed=5), teacher_class([0, 0], [1, 2], seed=5)

    def pay(params: np.ndarray, episode: int) -> float:
        return float(params.sum()) * episode

    assert np.array_equal(taught(first, 300, pay), taught(second, 300, pay))
    copied = pickle.loads(pickle.dumps(first))
    assert np.array_equal(taught(first, 300, pay), taught(copied, 300, pay))
    assert not np.array_equal(second.sample(), teacher_class([0, 0], [1, 2], seed=6).sample())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0, 0], [1]), "one number a parameter"),
        (([], []), "one number a parameter"),
        (([0, 1], [1, 1]), "low < high"),
        (([0], [np.inf]), "low < high"),
        (([0], [np.nan]), "low < high"),
    ],
)
def test_a_bad_box_is_refused(arguments: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        RandomTeacher(*arguments)


def test_bad_settings_and_updates_are_refused_and_change_nothing() -> None:
    for settings in ({"random_share": 1.5}, {"components": []}, {"components": [0]}, {"fit_every": 5}):
        with pytest.raises(ValueError, match="random_share|components"):
            ALPGMM([0], [1], **settings)
    teacher = ALPGMM([0, 0], [1, 1], seed=0)
    for params, value in (([0.5], 1.0), ([0.5, np.nan], 1.0), ([0.5, 0.5], np.inf)):
        with pytest.raises(ValueError, match="2 finite parameters and a finite return"):
            teacher.update(params, value)
    assert teacher.episodes == 0


class Reach(gymnasium.Env[Any, Any]):
    """Pays minus the distance of the action to the goal, then ends; goals and gains are given at reset."""

    observation_space = Box(-10, 10, (3,), np.float64)
    action_space = Box(-1, 1, (2,), np.float64)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        options = options or {}
        self.goal = np.asarray(options.get("goal", self.np_random.uniform(size=2)), float)
        self.gain = options.get("gain", 1.0)
        return np.append(self.goal, self.gain), {}

    def step(self, action: Any) -> Any:
        miss = float(np.abs(action - self.goal).sum())
        return np.append(self.goal, self.gain), -self.gain * miss, miss < 0.5, False, {}


def test_an_episode_carries_its_parameters_there_and_its_return_back() -> None:
    teacher = ALPGMM([-1, -1, 2], [1, 1, 3], seed=0)
    env = TaughtEnv(TimeLimit(Reach(), 3), teacher, {"goal": [0, 1], "gain": 2})
    observation, info = env.reset()
    goal, gain = info["params"][:2], info["params"][2]
    assert observation.tolist() == info["params"].tolist()
    assert 2 <= gain <= 3
    far = -np.sign(goal)  # never near enough: the time limit ends the episode
    for step in range(3):
        *_, terminated, truncated, info = env.step(far)
        assert not terminated
        assert truncated == (step == 2)
        assert info["params"].tolist() == observation.tolist()
    assert teacher.episodes == 1
    assert teacher._returns[0] == pytest.approx(-3 * gain * np.abs(far - goal).sum())


def test_unfinished_episodes_and_the_callers_own_teach_nothing() -> None:
    teacher = ALPGMM([-1, -1], [1, 1], seed=0)
    env = TaughtEnv(Reach(), teacher, {"goal": slice(0, 2)})
    env.reset()
    env.step(-np.ones(2))
    observation, info = env.reset(options={"goal": (0.5, 0.25)})
    assert observation[:2].tolist() == [0.5, 0.25]
    assert "params" not in info
    assert env.step(np.array([0.5, 0.25]))[2]
    assert teacher.episodes == 0
    observation, info = env.reset(options={"gain": 7.0})  # an option that is not taught goes along
    assert observation[2] == 7
    env.step(info["params"])
    assert teacher.episodes == 1


def test_environments_may_share_a_teacher() -> None:
    teacher = ALPGMM([-1, -1], [1, 1], seed=0)
    envs = DummyVecEnv([lambda: TaughtEnv(Reach(), teacher, {"goal": [0, 1]})] * 3)
    goals = envs.reset()[:, :2]
    envs.step(goals)
    assert teacher.episodes == 3
    assert teacher._returns[:3].tolist() == pytest.approx([0, 0, 0], abs=1e-6)


def test_the_wrapper_keeps_gymnasiums_contract_and_pickles() -> None:
    env = TaughtEnv(Reach(), ALPGMM([-1, -1], [1, 1]), {"goal": [0, 1]})
    check_env(env, skip_render_check=True)
    first = env.reset(seed=4)[0]
    copied = pickle.loads(pickle.dumps(env))
    assert np.array_equal(copied.reset(seed=4)[0], first)
    assert np.array_equal(copied.reset()[0], env.reset()[0])


def test_options_that_ask_for_what_is_not_drawn_are_refused() -> None:
    for options in ({}, {"goal": [0, 2]}, {"goal": 5}, {"goal": slice(3, 5)}):
        with pytest.raises(ValueError, match="options say|asks for parameters"):
            TaughtEnv(Reach(), RandomTeacher([-1, -1], [1, 1]), options)
    with pytest.raises(TypeError, match="teacher must be a RandomTeacher or a subclass, such as ALPGMM, got None"):
        TaughtEnv(Reach(), None, {"goal": [0, 1]})  # type: ignore[arg-type]


def test_an_environment_that_does_not_look_at_what_is_taught_is_named_once() -> None:
    env = TaughtEnv(gymnasium.make("Pendulum-v1"), RandomTeacher([0, 0], [1, 1]), {"goal": [0, 1], "x_init": 0})
    with pytest.warns(UserWarning, match="the reset of .*Pendulum.* does not look at 'goal', so that a teacher chang"):
        env.reset()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env.reset()  # said already
        TaughtEnv(gymnasium.make("Pendulum-v1"), RandomTeacher([0, 0], [1, 1]), {"goal": [0, 1]}).reset(
            options={"goal": (0.0, 0.0)}  # the caller's own
        )


@pytest.mark.parametrize(
    "look",
    [
        lambda options: options["goal"],
        lambda options: "goal" in options,
        lambda options: options.get("goal"),
        lambda options: options.pop("goal"),
        lambda options: options.copy(),
        lambda options: dict(options),
        lambda options: {**options},
        lambda options: options | {"other": 1},
        lambda options: list(options),
        lambda options: options.values(),
        lambda options: copy.deepcopy(options),
        lambda options: pickle.dumps(options),
    ],
)
def test_whatever_way_an_environment_looks_at_its_options_counts(look: Any) -> None:
    class Looks(Reach):
        def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
            look(options)
            return super().reset(seed=seed)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        TaughtEnv(Looks(), RandomTeacher([0, 0], [1, 1]), {"goal": [0, 1]}).reset()
