"""Every row of the environment catalogue meets the contract of its tier and passes the audit.

A new row is tested the moment it exists. The audit asks of each task: nothing and noise fail, the expert succeeds at
the stated rate, bad input changes nothing, and the published scores of random and expert are what this code gives.
"""

import copy
import secrets
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete, MultiDiscrete, Space, Text
from gymnasium.utils.env_checker import check_env, data_equivalence
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import tiltyard.envs
from tiltyard.benchmarks import blind
from tiltyard.envs.catalogue import PROMISES, ROWS, Row, register_all
from tiltyard.envs.text.chain_sum import ChainSumEnv

EPISODES = {"text": 100, "gui": 40, "driving": 40, "robotics": 10}
LONG = 600  # steps, beyond which three episodes of a policy that does not react have to do


class LiveSum(ChainSumEnv):
    """A task as from a server: alone, with problems of its own choice, and of unknown scores."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        begun = super().reset(seed=None if seed is None else secrets.randbits(30), options=options)
        gymnasium.Env.reset(self, seed=seed)
        return begun


LIVE = Row(
    "live/Sum-v0",
    f"{__name__}:LiveSum",
    None,
    "text",
    "Sums of a server",
    max_episode_steps=1,
    kwargs={"level": 3},  # of so many that two never meet by chance
    tier="live",
    splits=False,
)
"""A row of the tier that promises least: a sweep that leaves it out for another reason than the tier's fails below."""
register_all([LIVE])


def each(*promises: str) -> pytest.MarkDecorator:
    """Every row whose tier makes all these promises."""
    rows = [row for row in (*ROWS, LIVE) if PROMISES[row.tier].issuperset(promises)]
    return pytest.mark.parametrize("row", rows, ids=lambda row: row.id)


each_row = each()
MAZES = ("tiltyard/AntMazeMedium-v0", "tiltyard/AntMazeLarge-v0")  # 1,000 steps an episode, of the ant


def audited(*promises: str) -> pytest.MarkDecorator:
    """Every such row; those whose episodes are longest and that differ from another in size alone are slow."""
    rows = [row for row in (*ROWS, LIVE) if PROMISES[row.tier].issuperset(promises)]
    marked = [pytest.param(row, marks=pytest.mark.slow) if row.id in MAZES else row for row in rows]
    return pytest.mark.parametrize("row", marked, ids=lambda row: row.id)


def vector(row: Row, n: int, **kwargs: Any) -> gymnasium.vector.VectorEnv:
    if row.vector_entry_point is None:
        same_step = {"autoreset_mode": AutoresetMode.SAME_STEP}
        return gymnasium.make_vec(row.id, num_envs=n, vectorization_mode="sync", vector_kwargs=same_step, **kwargs)
    return gymnasium.make_vec(row.id, num_envs=n, vectorization_mode="vector_entry_point", **kwargs)


def sampler(space: Space[Any], seed: int) -> Any:
    """A random policy: its own generator, one action at a time."""
    space = copy.deepcopy(space)
    space.seed(seed)
    return lambda observation: space.sample()


def noop(space: Space[Any]) -> Any:
    """The action that does nothing: no words, no force, index 0."""
    if isinstance(space, Text):
        return ""
    return np.zeros(space.shape, space.dtype) if isinstance(space, Box | MultiDiscrete) else 0


def play(row: Row, policy: str, episodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns and success flags ``[episodes]`` of a named policy on the test split, one seed per environment."""
    env = vector(row, episodes, **({"split": "test"} if row.splits else {}))
    observation, _ = env.reset(seed=[10_000 + i for i in range(episodes)])
    single = env.single_action_space
    draws = [sampler(single, 77 + i) for i in range(episodes)]
    returns, success, open_ = np.zeros(episodes), np.zeros(episodes, bool), np.ones(episodes, bool)
    while open_.any():
        if policy == "expert":
            actions, _ = env.unwrapped.expert().predict(observation)
        else:
            choice = [noop(single) if policy == "noop" else draw(None) for draw in draws]
            actions = choice if isinstance(single, Text) else np.array(choice)
        observation, reward, terminated, truncated, info = env.step(actions)
        returns[open_] += reward[open_]
        ended = open_ & (terminated | truncated)
        if ended.any():
            success[ended] = info["final_info"]["success"][ended]
        open_ &= ~ended
    env.close()
    return returns, success


def same(a: Any, b: Any) -> bool:
    """Equality, bit for bit, of observations of any space."""
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, str):
        return bool(a == b)
    return bool(np.array_equal(np.asarray(a), np.asarray(b)) and np.asarray(a).dtype == np.asarray(b).dtype)


def at_env(batch: Any, i: int) -> Any:
    return {key: at_env(part, i) for key, part in batch.items()} if isinstance(batch, dict) else batch[i]


@each_row
def test_gymnasium_check_passes(row: Row) -> None:
    env = gymnasium.make(row.id, render_mode=None)
    check_env(env.unwrapped, skip_render_check=True)
    env.close()


@each_row
def test_sb3_check_passes_after_the_adapter(row: Row) -> None:
    from stable_baselines3.common.env_checker import check_env as sb3_check_env

    from tiltyard.wrappers.spaces import sb3_spaces

    sb3_check_env(sb3_spaces(gymnasium.make(row.id)), warn=False)


@each("vector", "deterministic")
def test_same_seed_and_actions_give_the_same_trajectory_alone_and_as_any_environment(row: Row) -> None:
    seeds, steps = [5, 900, 17], 25
    env = vector(row, 3)
    observations, _ = env.reset(seed=seeds)
    draws = [sampler(env.single_action_space, seed) for seed in seeds]
    alone = [gymnasium.make(row.id) for _ in seeds]
    firsts = [e.reset(seed=s)[0] for e, s in zip(alone, seeds, strict=True)]
    assert all(same(at_env(observations, i), first) for i, first in enumerate(firsts))
    assert not same(firsts[0], firsts[1])
    for _ in range(steps):
        actions = [draw(None) for draw in draws]
        batch = actions if isinstance(env.single_action_space, Text) else np.array(actions)
        observations, rewards, terminated, truncated, _ = env.step(batch)
        for i, e in enumerate(alone):
            o, r, te, tr, _ = e.step(actions[i])
            assert (r, te, tr) == (rewards[i], terminated[i], truncated[i])
            o = e.reset()[0] if te or tr else o
            assert same(o, at_env(observations, i))


@each("vector", "deterministic")
def test_native_vector_equals_gymnasiums_sync_vector(row: Row) -> None:
    native = vector(row, 4)
    sync = SyncVectorEnv([lambda: gymnasium.make(row.id)] * 4, autoreset_mode=AutoresetMode.SAME_STEP)
    assert native.single_observation_space == sync.single_observation_space
    a, b = native.reset(seed=3)[0], sync.reset(seed=3)[0]
    draw = sampler(native.action_space, 1)
    for _ in range(12):
        assert all(same(at_env(a, i), at_env(b, i)) for i in range(4))
        actions = draw(None)
        a, reward_a, terminated_a, truncated_a, info = native.step(actions)
        b, reward_b, terminated_b, truncated_b, _ = sync.step(actions)
        np.testing.assert_array_equal(reward_a, reward_b)
        np.testing.assert_array_equal(terminated_a, terminated_b)
        np.testing.assert_array_equal(truncated_a, truncated_b)
        assert {"success", "reward_terms"} <= (info.keys() | info.get("final_info", {}).keys())


@each_row
def test_adjacent_seeds_share_no_stream_and_splits_share_no_problem(row: Row) -> None:
    env = gymnasium.make(row.id)

    def stream(seed: int, split: str, n: int = 6) -> list[bytes]:
        e = gymnasium.make(row.id, **({"split": split} if row.splits else {}))
        seen = [e.reset(seed=seed)[0], *(e.reset()[0] for _ in range(n - 1))]
        return [str(o["goal"] + o["tree"]).encode() if isinstance(o, dict) else _bytes(o) for o in seen]

    here, there = stream(42, "train"), stream(43, "train")
    assert not set(here[1:]) & set(there[:-1]), "seed 43 is seed 42 shifted"
    assert not set(here) & set(stream(42, "test")), "the splits share problems"
    with pytest.raises(ValueError, match="unknown split 'tset'; did you mean 'test'"):
        gymnasium.make(row.id, split="tset")
    env.close()


def _bytes(observation: Any) -> bytes:
    return observation.encode() if isinstance(observation, str) else np.asarray(observation).tobytes()


@each_row
def test_global_randomness_is_neither_read_nor_written(row: Row) -> None:
    np.random.seed(0)
    before = np.random.get_state()[1].copy()  # type: ignore[index, union-attr]
    env = gymnasium.make(row.id)
    env.reset(seed=1)
    env.step(sampler(env.action_space, 0)(None))
    np.testing.assert_array_equal(before, np.random.get_state()[1])  # type: ignore[index]


TWINS = "-v5"  # Gymnasium's own tasks: there, too, actions outside the space pass
STRANGE: list[Any] = [
    None,
    np.array(0.5, object),
    np.float32("nan"),
    1 + 2j,
    ["1.0"],
    [[0.0], [0.0, 0.0]],
    {"a": 0.0},
    b"back",
    np.zeros((3, 4, 5)),
    [None, 0.0],
    np.array([None, "a"], object),
    np.ma.masked_array([0.0, 1.0], [True, False]),
    np.ma.masked,
]
BAD: dict[type, list[Any]] = {
    Text: [3, 0.5, np.array("a"), np.zeros(2), ["a", "b"], np.ma.masked_array(["a"], [True])],
    Box: [
        0,
        0.5,
        np.array(0.5),
        "left",
        "0.5",
        "x" * 10**7,
        np.full(99, 0.1, np.float32),
        "nan",
        "inf",
        "huge",
        "mask",
    ],
    Discrete: ["left", "1", "x" * 10**7, -1, 10_000, 0.5, float("nan"), np.array([0, 1])],
    MultiDiscrete: ["left", np.array([10_000])],
}


def bad_actions(space: Space[Any]) -> list[Any]:
    """What is no action of ``space`` in any environment."""
    found = list(STRANGE)
    for bad in next(bads for kind, bads in BAD.items() if isinstance(space, kind)):
        if isinstance(bad, str) and bad in ("nan", "inf", "huge"):
            bad = np.full(space.shape, 1e11 if bad == "huge" else float(bad), space.dtype)
        elif isinstance(bad, str) and bad == "mask":
            bad = np.ma.masked_array(space.sample(), np.arange(np.prod(space.shape)) == 0)
        found.append(bad)
    return found


def good_for_two(single: Space[Any], bad: Any) -> bool:
    """Whether what is no action of ``single`` is a batch of two."""
    words = isinstance(single, Text) and isinstance(bad, list) and bad == ["a", "b"]
    return words or (isinstance(single, Discrete) and isinstance(bad, np.ndarray) and np.array_equal(bad, [0, 1]))


def assert_refused(env: Any, action: Any) -> None:
    with pytest.raises(tiltyard.envs.InvalidAction, match="got") as caught:
        env.step(action)
    assert "x" * 200 not in str(caught.value), "a message quotes at most 200 characters"
    assert len(str(caught.value)) < 600


@each_row
@pytest.mark.filterwarnings("error", "ignore:.*out of date")
def test_bad_action_is_refused_by_name_and_changes_nothing(row: Row) -> None:
    env, twin = gymnasium.make(row.id, disable_env_checker=True), gymnasium.make(row.id, disable_env_checker=True)
    env.reset(seed=8), twin.reset(seed=8)
    for bad in bad_actions(env.action_space):
        assert_refused(env, bad)
    action = sampler(env.action_space, 3)(None)
    (o1, r1, te1, _, _), (o2, r2, te2, _, _) = env.step(action), twin.step(action)
    if row.promises("deterministic"):
        assert same(o1, o2)
        assert (r1, te1) == (r2, te2)


@each("vector", "deterministic")
@pytest.mark.filterwarnings("error", "ignore:.*out of date")
def test_bad_batch_is_refused_by_name_and_changes_no_environment(row: Row) -> None:
    env, twin = vector(row, 2), vector(row, 2)
    env.reset(seed=8), twin.reset(seed=8)
    single = env.single_action_space
    draw = sampler(single, 3)
    good = [draw(None) for _ in range(2)]
    for bad in bad_actions(single):
        if not good_for_two(single, bad):
            assert_refused(env, bad)
        assert_refused(env, [good[0], bad])
    for bad in (3, "ab", "x" * 10**7, b"ab", good[:1], [*good, good[0]], np.array(0), np.float64(0.5), {0: 1, 1: 2}):
        assert_refused(env, bad)
    assert_refused(env, np.ma.masked_array(np.array(good), np.array(good) == good[0]))
    batch = good if isinstance(single, Text) else np.array(good)
    for ours, theirs in zip(env.step(batch)[:4], twin.step(batch)[:4], strict=True):
        assert all(same(at_env(ours, i), at_env(theirs, i)) for i in range(2))


@each_row
def test_actions_outside_a_box_pass_in_gymnasiums_tasks_and_raise_in_others(row: Row) -> None:
    env = gymnasium.make(row.id)
    if not isinstance(env.action_space, Box):
        return
    env.reset(seed=0)
    outside = (env.action_space.high * 1.5).astype(np.float32)
    if row.id.endswith(TWINS):
        assert env.step(outside)[0] is not None
    else:
        assert_refused(env, outside)
        gymnasium.make(row.id, invalid_action="clip")  # is offered wherever there is something to clip


@each_row
def test_unknown_keyword_names_the_valid_ones(row: Row) -> None:
    with pytest.raises(TypeError, match=r"\w+\(\) got an unexpected keyword argument 'splitt'; did you mean 'split'"):
        gymnasium.make(row.id, splitt="test")


@each_row
def test_an_unknown_option_of_a_reset_is_refused_and_changes_nothing(row: Row) -> None:
    env, twin = gymnasium.make(row.id).unwrapped, gymnasium.make(row.id).unwrapped
    for one in (env, twin):
        one.reset(seed=0, options={})
    with pytest.raises(ValueError, match="unknown option 'gaol'"):
        env.reset(seed=5, options={"gaol": (0.0, 1.0)})
    if row.tier != "live":
        assert data_equivalence(env.reset()[0], twin.reset()[0])
    if row.vector_entry_point is not None:
        envs = gymnasium.make_vec(row.id, 2, "vector_entry_point")
        with pytest.raises(ValueError, match="unknown option 'reset_maks'; .*'reset_mask'"):
            envs.reset(options={"reset_maks": np.array([True, False])})
        envs.close()


ENDLESS = ("tiltyard/HalfCheetah-v5", "tiltyard/Swimmer-v5", "tiltyard/Reacher-v5", "tiltyard/Pusher-v5")


@each_row
def test_step_after_the_end_asks_for_a_reset(row: Row) -> None:
    env = gymnasium.make(row.id).unwrapped
    env.reset(seed=0)
    # The expert solves a task; of Gymnasium's, which nothing solves, noise ends those in which one can fall.
    act = sampler(env.action_space, 0)
    if not row.id.endswith(TWINS):
        expert = env.expert()

        def act(observation: Any) -> Any:
            return expert.predict(observation)[0]

    for _ in range(row.max_episode_steps):
        if env.step(act(None))[2]:
            with pytest.raises(gymnasium.error.ResetNeeded):
                env.step(act(None))
            return
    assert row.id in ENDLESS, "only what can neither fall nor be solved reaches the time limit without an end"


# Gymnasium's own rewards, kept bit for bit: they charge noise for its torques until nothing looks good beside it.
COSTLY_NOISE = ("tiltyard/Reacher-v5", "tiltyard/Pusher-v5")


@audited()
def test_audit_nothing_fails(row: Row) -> None:
    returns, success = play(row, "noop", 3 if row.max_episode_steps > LONG else EPISODES[row.domain])
    assert success.mean() == 0
    if row.promises("scored"):
        most = 0.95 if row.id in COSTLY_NOISE else 0.5
        assert row.normalise(float(returns.mean())) < most, "what earns nothing pays half of what solving does"


@audited()
def test_audit_noise_fails_and_scores_as_published(row: Row) -> None:
    # Noise that earns exactly nothing in a long maze does so in four episodes as in ten: no return varies.
    n = 4 if row.max_episode_steps > LONG and row.random_score == 0 else EPISODES[row.domain]
    returns, success = play(row, "random", n)
    # A random hand on a phone does flip the one switch that was asked for and say so, about once in 200 episodes.
    assert success.mean() <= (0.05 if row.domain == "gui" else 0)
    if not row.promises("scored"):
        return
    assert row.normalise(float(returns.mean())) < 0.5, "noise pays half of what solving does"
    standard_error = returns.std(ddof=1) / np.sqrt(n)
    scale = abs(row.expert_score - row.random_score)
    assert abs(returns.mean() - row.random_score) <= 5 * standard_error + 0.01 * scale


@audited("scored")
def test_audit_expert_succeeds_at_the_stated_rate_and_scores_are_as_published(row: Row) -> None:
    n = EPISODES[row.domain]
    returns, success = play(row, "expert", n)
    chance = np.sqrt(row.expert_success * (1 - row.expert_success) / n)
    assert success.mean() >= row.expert_success - 3 * chance
    # Where each of a few episodes succeeds, their returns do not vary, though those of more would.
    standard_error = max(returns.std(ddof=1) / np.sqrt(n), abs(row.expert_score - row.random_score) * chance)
    assert abs(returns.mean() - row.expert_score) <= 5 * standard_error + 0.01 * abs(row.expert_score)


BLIND_EPISODES = {"text": 40, "gui": 10, "driving": 30, "robotics": 8}


@audited("scored")
def test_audit_blind_policies_earn_no_more_than_stated(row: Row) -> None:
    measured = row.blind_score is not None and row.blind_success is not None
    assert measured, f"the row lacks what `python -m tiltyard.benchmarks.blind {row.id}` prints"
    # Words that fill in a question's names or numbers are no actions that blind.py knows: tests/envs/text/test_blind.py
    # and tests/envs/gui/test_phone.py play those.
    best = "replay 0" if row.domain in ("text", "gui") else row.blind_policy
    held = [] if row.domain == "text" else ["hold 20"]
    for name in dict.fromkeys([best, *held]):
        played = blind.play(row, name, 3 if row.max_episode_steps > LONG else BLIND_EPISODES[row.domain])
        n = len(played.success)
        rate = max(row.blind_success, 0.01)  # stated after a hundred or so episodes
        chance = np.sqrt(rate * (1 - rate) / n)
        assert played.success.mean() <= row.blind_success + 3 * chance, name
        # Of a few episodes none may succeed where one in a hundred does: their returns then do not vary.
        scale = abs(row.expert_score - row.random_score)
        standard_error = max(played.returns.std(ddof=1) / np.sqrt(n), scale * chance)
        assert played.returns.mean() <= row.blind_score + 5 * standard_error + 0.01 * scale, name


@each_row
def test_reward_is_made_of_its_named_terms(row: Row) -> None:
    env = gymnasium.make(row.id)
    env.reset(seed=2)
    draw = sampler(env.action_space, 5)
    for _ in range(20):
        _, reward, terminated, truncated, info = env.step(draw(None))
        terms = info["reward_terms"]
        assert terms
        assert all(np.isfinite(value) for value in terms.values())
        assert np.isfinite(reward)
        if row.domain != "driving":  # driving multiplies its soft factors; its own tests recompute the product
            assert reward == pytest.approx(sum(terms.values()), abs=1e-9)
        if terminated or truncated:
            env.reset()


@each_row
def test_renders_a_frame_a_person_can_look_at(row: Row) -> None:
    env = gymnasium.make(row.id, render_mode="rgb_array")
    env.reset(seed=0)
    frame = env.render()
    assert frame.dtype == np.uint8
    assert frame.ndim == 3
    assert frame.shape[2] == 3
    assert min(frame.shape[:2]) >= 100
    colours = frame.astype(np.uint32) @ np.array([1 << 16, 1 << 8, 1], np.uint32)
    assert len(np.unique(colours)) > 5, "the frame is blank"
    env.close()


EXCUSED = {
    "test_same_seed_and_actions_give_the_same_trajectory_alone_and_as_any_environment",
    "test_native_vector_equals_gymnasiums_sync_vector",
    "test_bad_batch_is_refused_by_name_and_changes_no_environment",
    "test_audit_expert_succeeds_at_the_stated_rate_and_scores_are_as_published",
    "test_audit_blind_policies_earn_no_more_than_stated",
}
"""What a live row does not promise."""


def test_sweeps_leave_out_of_a_live_row_what_its_tier_excuses_and_nothing_else() -> None:
    sweeps = {
        name: [getattr(one, "values", [one])[0] for one in rows]  # a row, or one with the marker slow
        for name, test in globals().items()
        if name.startswith("test_")
        for rows in [mark.args[1] for mark in getattr(test, "pytestmark", []) if mark.args[:1] == ("row",)]
    }
    assert len(sweeps) > 15
    assert {name for name, rows in sweeps.items() if LIVE not in rows} == EXCUSED
    assert all(row in rows for row in ROWS for rows in sweeps.values())


@pytest.mark.parametrize("name", sorted(EXCUSED))
def test_a_live_row_would_not_pass_what_it_is_excused_from(name: str) -> None:
    with pytest.raises((AssertionError, AttributeError, gymnasium.error.CustomSpaceError)):
        globals()[name](LIVE)
