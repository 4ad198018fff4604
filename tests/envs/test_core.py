"""One toy task behind both faces of the core, held against Gymnasium's own SyncVectorEnv of the single one."""

from collections.abc import Callable, Mapping
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import TimeLimit

from tiltyard.envs import InvalidAction
from tiltyard.envs.core import BatchedEnv, BatchedVectorEnv, SingleEnv

MODES = list(AutoresetMode)


class Base(BatchedEnv):
    def __init__(self, num_envs: int, *, scale: float = 1.0, render_mode: str | None = None) -> None:
        super().__init__(num_envs, render_mode)
        self.scale = scale


class Climb(Base):
    """Steps of 0, 1 or 2 up a stair whose height, 3 to 6, the problem decides; at the top the episode ends."""

    env_state = ("height", "place", "names")

    def __init__(self, num_envs: int, *, bonus: float = 10.0, **shared: Any) -> None:
        super().__init__(num_envs, **shared)
        self.bonus = bonus
        self.observation_space = Box(-1, 100, (2,), np.float64)
        self.action_space = Discrete(3)
        self.height, self.place = np.zeros(num_envs, np.int64), np.zeros(num_envs, np.int64)
        self.names = [""] * num_envs
        self.closed = 0

    def begin(self, indices: Any, seeds: Any, episodes: Any) -> None:
        for index, seed, episode in zip(indices, seeds, episodes, strict=True):
            self.height[index] = np.random.default_rng([seed, episode]).integers(3, 7)
            self.place[index] = 0
            self.names[index] = f"{seed}/{episode}"

    def check(self, actions: Any) -> Any:
        batch = np.asarray(actions)
        if batch.shape != (self.num_envs,) or not np.isin(batch, [0, 1, 2]).all():
            raise InvalidAction(f"actions are 0, 1 or 2, got {actions!r}")
        return batch.astype(np.int64)

    def advance(self, actions: Any, active: Any) -> Any:
        self.place[active] += actions[active]
        self.top = self.place >= self.height
        return self.scale * (actions + self.bonus * self.top), self.top

    def observe(self) -> Any:
        return np.stack([self.place, self.height], axis=1).astype(np.float64)

    def reset_info(self) -> Any:
        return {"name": list(self.names), "height": self.height}

    def step_info(self) -> Any:
        terms = {"steps": self.place, "bonus": self.bonus * self.top}
        return {
            "success": self.top,
            "reward_terms": terms,
            "said": [f"at {x}" for x in self.place],
            "height": self.height,
        }

    def expert_actions(self) -> Any:
        return np.minimum(self.height - self.place, 2)

    def render(self, index: int = 0) -> Any:
        return np.full((2, 2, 3), self.place[index], np.uint8)

    def close(self) -> None:
        self.closed += 1


class ClimbEnv(SingleEnv):
    batched_class = Climb


class ClimbVectorEnv(BatchedVectorEnv):
    batched_class = Climb


def one(limit: int = 5) -> Callable[[], gymnasium.Env[Any, Any]]:
    return lambda: TimeLimit(ClimbEnv(), limit)


def pair(mode: AutoresetMode, n: int = 4, limit: int = 5) -> tuple[BatchedVectorEnv, SyncVectorEnv]:
    return (
        ClimbVectorEnv(n, max_episode_steps=limit, autoreset_mode=mode),
        SyncVectorEnv([one(limit)] * n, autoreset_mode=mode),
    )


def assert_info_equal(ours: dict[str, Any], theirs: dict[str, Any], where: np.ndarray | None = None) -> None:
    """Equal where the masks say that a column speaks; a column that speaks nowhere may be missing."""
    for key in {key for key in ours | theirs if not key.startswith("_")}:
        mask = np.zeros(4, bool) if where is None else np.zeros_like(where)
        spoken, expected = ours.get(f"_{key}", mask), theirs.get(f"_{key}", mask)
        if where is not None:
            spoken, expected = spoken & where, expected & where
        np.testing.assert_array_equal(spoken, expected, err_msg=key)
        if not expected.any():
            continue
        if isinstance(theirs[key], dict):
            assert_info_equal(ours[key], theirs[key], expected)
        else:
            for index in np.flatnonzero(expected):
                np.testing.assert_array_equal(ours[key][index], theirs[key][index], err_msg=key)


@pytest.mark.parametrize("mode", MODES)
def test_vector_equals_sync_vector_of_single_envs_in_every_autoreset_mode(mode: AutoresetMode) -> None:
    native, sync = pair(mode)
    rng = np.random.default_rng(0)
    (a, info_a), (b, info_b) = native.reset(seed=11), sync.reset(seed=11)
    np.testing.assert_array_equal(a, b)
    assert_info_equal(info_a, info_b)
    terminations = truncations = 0
    for _ in range(60):
        actions = rng.integers(0, 3, 4)
        step_a, step_b = native.step(actions), sync.step(actions)
        for ours, theirs in zip(step_a[:4], step_b[:4], strict=True):
            np.testing.assert_array_equal(ours, theirs)
            assert ours.dtype == theirs.dtype
        assert_info_equal(step_a[4], step_b[4])
        terminations, truncations = terminations + step_a[2].sum(), truncations + step_a[3].sum()
        done = step_a[2] | step_a[3]
        if mode == AutoresetMode.DISABLED and done.any():
            (a, info_a), (b, info_b) = (env.reset(options={"reset_mask": done.copy()}) for env in (native, sync))
            np.testing.assert_array_equal(a, b)
            assert_info_equal(info_a, info_b)
    assert terminations > 5
    assert truncations > 5


def test_end_by_time_and_by_the_task_in_one_step_reports_both_as_gymnasium_does() -> None:
    native, sync = pair(AutoresetMode.SAME_STEP, limit=2)
    seed = next(s for s in range(100) if np.random.default_rng([s, 0]).integers(3, 7) == 4)
    for env in (native, sync):
        env.reset(seed=[seed] * 4)
        env.step(np.full(4, 2))
        _, reward, terminated, truncated, _ = env.step(np.full(4, 2))  # 2 + 2 is the top, and the second of 2 steps
        assert reward.tolist() == [12.0] * 4
        assert terminated.all()
        assert truncated.all()


def test_environment_is_the_same_alone_and_in_any_company() -> None:
    seeds = [3, 70, 3, 5]
    four, alone = ClimbVectorEnv(4), ClimbVectorEnv(1)
    obs, info = four.reset(seed=seeds)
    assert info["name"].tolist() == ["3/0", "70/0", "3/0", "5/0"]
    np.testing.assert_array_equal(obs[0], obs[2])
    np.testing.assert_array_equal(alone.reset(seed=[70])[0][0], obs[1])
    rng = np.random.default_rng(1)
    for _ in range(20):
        actions = rng.integers(0, 3, 4)
        np.testing.assert_array_equal(four.step(actions)[0][1], alone.step(actions[1:2])[0][0])


def test_int_seed_counts_up_and_numpy_integers_are_seeds() -> None:
    env = ClimbVectorEnv(3)
    assert env.reset(seed=7)[1]["name"].tolist() == ["7/0", "8/0", "9/0"]
    assert env.reset(seed=np.int64(7))[1]["name"].tolist() == ["7/0", "8/0", "9/0"]
    assert env.reset()[1]["name"].tolist() == ["7/1", "8/1", "9/1"]
    assert env.reset(seed=[None, 1, None])[1]["name"].tolist() == ["7/2", "1/0", "9/2"]


@pytest.mark.parametrize("seed", [-1, True, 1.5, "3", 2**63, [1, 2], [1, 2, -3]])
def test_bad_seed_is_refused_and_changes_nothing(seed: Any) -> None:
    env = ClimbVectorEnv(3)
    env.reset(seed=7)
    with pytest.raises((gymnasium.error.Error, ValueError), match=r"seed"):
        env.reset(seed=seed)
    assert env.reset()[1]["name"].tolist() == ["7/1", "8/1", "9/1"]


@pytest.mark.parametrize("seed", [-1, True, 1.5, "3", 2**63])
def test_bad_seed_of_a_single_env_is_refused(seed: Any) -> None:
    with pytest.raises(gymnasium.error.Error):
        ClimbEnv().reset(seed=seed)


def test_without_a_seed_problems_are_fresh_and_environments_differ() -> None:
    names = ClimbVectorEnv(5).reset()[1]["name"].tolist() + ClimbVectorEnv(5).reset()[1]["name"].tolist()
    assert len(set(names)) == 10


def test_reset_mask_touches_only_its_environments() -> None:
    env = ClimbVectorEnv(3, autoreset_mode=AutoresetMode.DISABLED)
    env.reset(seed=0)
    before = env.step(np.array([1, 1, 1]))[0]
    obs, info = env.reset(seed=[50, 60, 70], options={"reset_mask": np.array([False, True, False])})
    np.testing.assert_array_equal(obs[[0, 2]], before[[0, 2]])
    assert obs[1, 0] == 0
    assert info["_name"].tolist() == [False, True, False]
    assert env.reset()[1]["name"].tolist() == ["0/1", "60/1", "2/1"]


@pytest.mark.parametrize(
    "mask", [[True, False, False], np.array([1, 0, 0]), np.zeros(3, bool), np.ones(2, bool)], ids=str
)
def test_bad_reset_mask_is_refused(mask: Any) -> None:
    env = ClimbVectorEnv(3)
    env.reset(seed=0)
    with pytest.raises(ValueError, match=r"reset_mask.*shape \(3,\)"):
        env.reset(options={"reset_mask": mask})


def test_step_needs_a_reset_of_every_environment_first() -> None:
    with pytest.raises(ResetNeeded, match="reset"):
        ClimbVectorEnv(2).step(np.zeros(2))
    with pytest.raises(ResetNeeded, match="reset"):
        ClimbEnv().step(0)
    env = ClimbVectorEnv(2)
    env.reset(seed=0, options={"reset_mask": np.array([True, False])})
    with pytest.raises(ResetNeeded):
        env.step(np.zeros(2))


def test_ended_environments_must_be_reset_by_hand_when_autoreset_is_off() -> None:
    env = ClimbVectorEnv(2, autoreset_mode="Disabled", max_episode_steps=1)
    env.reset(seed=0)
    env.step(np.zeros(2))
    with pytest.raises(ResetNeeded, match=r"environments \[0, 1\] are over"):
        env.step(np.zeros(2))


def test_single_env_asks_for_a_reset_after_its_end() -> None:
    env = ClimbEnv()
    env.reset(seed=0)
    while not env.step(2)[2]:
        pass
    with pytest.raises(ResetNeeded, match="reset"):
        env.step(2)


def test_bad_action_in_one_environment_changes_no_environment() -> None:
    env, twin = ClimbVectorEnv(2, max_episode_steps=3), ClimbVectorEnv(2, max_episode_steps=3)
    env.reset(seed=4), twin.reset(seed=4)
    for bad in ([1, 9], [1], [0.5, 1]):
        with pytest.raises(InvalidAction, match="got"):
            env.step(bad)
    for _ in range(3):  # the refused steps did not count towards the limit either
        a, b = env.step(np.ones(2)), twin.step(np.ones(2))
        for ours, theirs in zip(a[:4], b[:4], strict=True):
            np.testing.assert_array_equal(ours, theirs)


def test_infos_given_away_do_not_change_with_later_steps() -> None:
    env = ClimbVectorEnv(2)
    _, first = env.reset(seed=0)
    height = first["height"].copy()
    info = env.step(np.ones(2))[4]
    steps = info["reward_terms"]["steps"].copy()
    for _ in range(10):
        env.step(np.full(2, 2))
    np.testing.assert_array_equal(first["height"], height)
    np.testing.assert_array_equal(info["reward_terms"]["steps"], steps)


def test_single_info_holds_plain_python_values() -> None:
    env = ClimbEnv()
    _, first = env.reset(seed=0)
    info = env.step(1)[4]
    assert type(first["height"]) is int
    assert type(info["success"]) is bool
    assert type(info["reward_terms"]["bonus"]) is float
    assert info["said"] == "at 1"


def test_expert_solves_alone_and_in_a_vector_by_predict() -> None:
    env = ClimbEnv()
    obs, _ = env.reset(seed=0)
    done = False
    while not done:
        action, state = env.expert().predict(obs)
        assert state is None
        obs, _, done, _, info = env.step(action)
    assert info["success"]
    vector = ClimbVectorEnv(3)
    obs, _ = vector.reset(seed=0)
    assert vector.expert().predict(obs)[0].tolist() == np.minimum(obs[:, 1], 2).tolist()


def test_keywords_of_base_classes_are_known_and_others_refused_by_name() -> None:
    assert ClimbEnv(bonus=1.0, scale=2.0).batched.scale == 2.0
    with pytest.raises(TypeError, match="^Climb.. got an unexpected keyword argument 'scal'; did you mean 'scale'"):
        ClimbEnv(scal=2.0)
    with pytest.raises(TypeError, match="unexpected keyword argument 'num_env'"):
        ClimbVectorEnv(2, num_env=3)


class Typed(Climb):
    typed = True

    def __init__(
        self,
        num_envs: int,
        *,
        flag: bool = False,
        count: int | None = None,
        interval: tuple[float, float] = (0.0, 1.0),
        table: Mapping[str, float] | None = None,
        part: int | str = 0,
        **shared: Any,
    ) -> None:
        super().__init__(num_envs, **shared)


class TypedEnv(SingleEnv):
    batched_class = Typed


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"flag": "no"}, "^flag must be True or False, got 'no'$"),
        ({"flag": 1}, "flag must be True or False"),
        ({"count": 2.5}, "^count must be a whole number or None, got 2.5$"),
        ({"count": True}, "count must be a whole number or None"),
        ({"interval": 3}, "^interval must be two numbers, got 3$"),
        ({"interval": (0.0, float("nan"))}, "interval must be two numbers"),
        ({"interval": (0.0,)}, "interval must be two numbers"),
        ({"interval": "ab"}, "interval must be two numbers"),
        ({"table": ["a"]}, "^table must be a dictionary or None, got"),
        ({"part": 1.5}, "^part must be a whole number or a string, got 1.5$"),
        ({"scale": None}, "^scale must be a number, got None$"),
        ({"bonus": float("nan")}, "^bonus must be a number, got nan$"),
        ({"render_mode": 3}, "render_mode must be a string or None, got 3"),
    ],
)
def test_values_of_another_type_than_the_signature_says_are_refused_by_name(
    keywords: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        TypedEnv(**keywords)


def test_a_class_that_does_not_ask_for_it_checks_types_itself() -> None:
    assert np.isnan(ClimbEnv(bonus=float("nan")).batched.bonus)


def test_numbers_of_numpy_and_lists_are_taken_as_pythons_own() -> None:
    interval = np.array([0.0, np.inf])
    TypedEnv(flag=np.bool_(True), count=np.int64(3), interval=interval, table={"a": 1.0}, part="a", scale=2)
    TypedEnv(interval=[0, 1], scale=np.float32(0.5))


@pytest.mark.parametrize("options", ["a", 3, [("reset_mask", 1)]])
def test_options_that_are_no_dictionary_are_refused(options: Any) -> None:
    with pytest.raises(ValueError, match="options must be a dictionary, got"):
        ClimbEnv().reset(seed=0, options=options)
    with pytest.raises(ValueError, match="options must be a dictionary, got"):
        ClimbVectorEnv(2).reset(seed=0, options=options)


def test_a_limit_of_minus_one_is_none_as_for_gymnasium_make_and_bad_ones_are_refused() -> None:
    for limit in (-1, 0, None):
        envs = ClimbVectorEnv(2, max_episode_steps=limit)
        envs.reset(seed=0)
        assert not envs.step(np.array([0, 0]))[3].any()
    for bad in ("x", 2.5, float("nan"), -2):
        with pytest.raises(ValueError, match="max_episode_steps must be a whole number or None, got"):
            ClimbVectorEnv(2, max_episode_steps=bad)


def test_render_mode_is_checked_and_frames_are_one_per_environment() -> None:
    assert ClimbEnv().render() is None
    assert ClimbEnv.metadata["render_modes"] == ["rgb_array"]
    with pytest.raises(ValueError, match="unknown render_mode 'human'"):
        ClimbEnv(render_mode="human")
    env = ClimbVectorEnv(2, render_mode="rgb_array")
    env.reset(seed=0)
    env.step(np.array([1, 2]))
    assert [frame[0, 0, 0] for frame in env.render()] == [1, 2]


def test_close_frees_the_environments_and_no_environments_is_an_error() -> None:
    env = ClimbVectorEnv(2)
    env.close(), env.close()
    assert env.batched.closed == 1
    with pytest.raises(ValueError, match="num_envs must be at least 1, got 0"):
        ClimbVectorEnv(0)
    with pytest.raises(ValueError, match="num_envs must be a whole number, got 2.5"):
        ClimbVectorEnv(2.5)


def test_a_restored_environment_goes_on_from_its_snapshot_and_the_next_reset_is_as_ever() -> None:
    env, other = ClimbEnv(), ClimbEnv()
    env.reset(seed=3)
    other.reset(seed=3)
    env.step(2)
    state = env.snapshot()
    assert state["place"] == 2
    env.step(1)
    observation, info = env.restore(state)
    assert observation.tolist() == [2, env.batched.height[0]]
    assert info["name"] == "3/0"
    assert env.step(0)[0][0] == 2
    assert state["place"] == 2  # the snapshot is a copy
    assert env.reset()[1] == other.reset()[1]


def test_an_episode_that_is_over_can_be_restored_but_not_taken() -> None:
    env = ClimbEnv()
    with pytest.raises(ResetNeeded, match="before snapshot"):
        env.snapshot()
    env.reset(seed=0)
    state = env.snapshot()
    while not env.step(2)[2]:
        pass
    with pytest.raises(ResetNeeded, match="before snapshot"):
        env.snapshot()
    env.restore(state)
    assert env.step(1)[0][0] == 1


def test_a_state_of_another_task_is_refused_whole() -> None:
    env = ClimbEnv()
    env.reset(seed=0)
    before = env.snapshot()
    for wrong in ({}, {**before, "more": 1}, {**before, "place": np.zeros(2)}):
        with pytest.raises(ValueError, match="no state of Climb"):
            env.restore(wrong)
    assert env.snapshot() == before


def test_a_task_that_names_no_environment_state_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Climb, "env_state", ())
    env = ClimbEnv()
    env.reset(seed=0)
    with pytest.raises(TypeError, match="Climb cannot take snapshots"):
        env.snapshot()


class Cliff(Climb):
    """A stair that breaks at its second step."""

    def broken(self) -> Any:
        return self.place == 2


class CliffEnv(SingleEnv):
    batched_class = Cliff


class CliffVectorEnv(BatchedVectorEnv):
    batched_class = Cliff


def test_a_broken_off_episode_is_truncated_alone() -> None:
    env = CliffEnv()
    env.reset(seed=0)
    assert env.step(1)[2:4] == (False, False)
    assert env.step(1)[2:4] == (False, True)
    with pytest.raises(ResetNeeded):
        env.step(1)
    env.reset()
    assert env.step(1)[2:4] == (False, False)


@pytest.mark.parametrize("mode", MODES)
def test_a_broken_off_episode_is_truncated_in_a_vector(mode: AutoresetMode) -> None:
    env = CliffVectorEnv(2, autoreset_mode=mode, max_episode_steps=9)
    env.reset(seed=0)
    _, _, terminated, truncated, info = env.step([2, 1])
    assert truncated.tolist() == [True, False]
    assert not terminated.any()
    if mode == AutoresetMode.SAME_STEP:
        assert info["final_obs"][0][0] == 2
    if mode == AutoresetMode.NEXT_STEP:
        observation, _, _, truncated, _ = env.step([2, 0])
        assert truncated.tolist() == [False, False]
        assert observation[:, 0].tolist() == [0, 1]
