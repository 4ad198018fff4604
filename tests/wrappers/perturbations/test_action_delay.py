from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from gymnasium.utils.env_checker import check_env, data_equivalence
from gymnasium.vector import AutoresetMode

from tiltyard.envs import InvalidAction
from tiltyard.wrappers import ActionDelay, VectorActionDelay

PEG = "tiltyard/PegInsertion-v0"


class Echo(gymnasium.Env[Any, Any]):
    """Observes the action that it is given."""

    def __init__(self, low: float = -1.0) -> None:
        self.observation_space, self.action_space = Box(-1, 2, (1,), np.float64), Box(low, 2, (1,), np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        return np.zeros(1), {}

    def step(self, action: Any) -> Any:
        return np.asarray(action, np.float64), 0.0, False, False, {}


def echoes(env: Any, actions: list[float]) -> list[float]:
    return [round(float(env.step(np.array([action], np.float32))[0][0]), 3) for action in actions]


def test_actions_arrive_so_many_steps_late_by_hand() -> None:
    env = ActionDelay(Echo(), 2)
    _, info = env.reset(seed=0)
    assert info["action_delay"] == 2
    assert echoes(env, [0.1, 0.2, 0.3, 0.4]) == [0.0, 0.0, 0.1, 0.2]
    env.reset()  # what was on its way is gone
    assert echoes(env, [0.5, 0.6, 0.7]) == [0.0, 0.0, 0.5]


def test_what_is_done_first_is_inside_the_space_or_given() -> None:
    env = ActionDelay(Echo(low=0.25), 1)
    env.reset()
    assert echoes(env, [1.0, 1.5]) == [0.25, 1.0]
    env = ActionDelay(Echo(), 1, first=[0.75])
    env.reset()
    assert echoes(env, [1.0]) == [0.75]


def test_no_delay_changes_nothing() -> None:
    env = ActionDelay(Echo(), 0)
    env.reset()
    assert echoes(env, [0.1, 0.2]) == [0.1, 0.2]


def test_a_range_draws_a_delay_for_each_episode_alike() -> None:
    env = ActionDelay(Echo(), (1, 3))
    delays = [env.reset(seed=0 if episode == 0 else None)[1]["action_delay"] for episode in range(600)]
    assert np.bincount(delays, minlength=4) / 600 == pytest.approx([0, 1 / 3, 1 / 3, 1 / 3], abs=0.06)
    assert [env.reset(seed=0 if episode == 0 else None)[1]["action_delay"] for episode in range(600)] == delays
    env.reset()
    delay = env.step(np.zeros(1, np.float32))[4]["action_delay"]
    assert echoes(env, [0.1] * 5).index(0.1) == delay


def test_a_bad_action_is_refused_when_sent_and_changes_nothing() -> None:
    env = ActionDelay(gymnasium.make(PEG), 3)
    env.reset(seed=0)
    expected = [env.step(np.full(4, 0.5, np.float32))[0].tolist() for _ in range(8)]
    env.reset(seed=0)
    got = []
    for _ in range(8):
        for bad in (np.full(4, np.nan), np.full(4, 1.1), np.zeros(3), np.array(["a"] * 4)):
            with pytest.raises(InvalidAction):
                env.step(bad)
        got.append(env.step(np.full(4, 0.5, np.float32))[0].tolist())
    assert got == expected


def test_discrete_actions_say_what_is_done_first() -> None:
    env = Echo()
    env.action_space = Discrete(3)
    with pytest.raises(ValueError, match="Give first="):
        ActionDelay(env, 1)
    delayed = ActionDelay(env, 1, first=2)
    delayed.reset()
    assert [int(delayed.step(action)[0]) for action in (0, 1)] == [2, 0]
    with pytest.raises(InvalidAction):
        delayed.step(3)


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_an_environment_is_what_it_would_be_alone_bit_for_bit(mode: AutoresetMode) -> None:
    def alone(seed: int) -> list[Any]:
        env = ActionDelay(gymnasium.make("tiltyard/Hopper-v5", max_episode_steps=12), (0, 3))
        rng = np.random.default_rng(seed)
        shown = [env.reset(seed=seed)[0]]
        for _ in range(40):
            observation, _, terminated, truncated, _ = env.step(rng.uniform(-1, 1, 3).astype(np.float32))
            shown.append(observation)
            if terminated or truncated:
                shown.append(env.reset()[0])
        return shown

    native = gymnasium.make_vec(
        "tiltyard/Hopper-v5", 4, "vector_entry_point", max_episode_steps=12, autoreset_mode=mode
    )
    env = VectorActionDelay(native, (0, 3))
    rngs = [np.random.default_rng(7 + i) for i in range(4)]
    shown: list[list[Any]] = [[seen] for seen in env.reset(seed=7)[0]]
    begun = np.zeros(4, bool)
    while min(len(index) for index in shown) < 41:
        actions = [np.full(3, 0.9) if begun[i] else rngs[i].uniform(-1, 1, 3) for i in range(4)]
        seen, _, terminated, truncated, info = env.step(np.array(actions, np.float32))
        assert info["action_delay"].shape == (4,)
        ended = terminated | truncated
        for index in range(4):
            if mode == AutoresetMode.SAME_STEP and ended[index]:
                shown[index].append(info["final_obs"][index])
            shown[index].append(seen[index])
        begun = ended if mode == AutoresetMode.NEXT_STEP else np.zeros(4, bool)
        if mode == AutoresetMode.DISABLED and ended.any():
            after, _ = env.reset(options={"reset_mask": ended})
            for index in np.flatnonzero(ended):
                shown[index].append(after[index])
    for i in range(4):
        assert data_equivalence(shown[i][:41], alone(7 + i)[:41])


def test_environments_that_were_reset_by_hand_after_their_end_do_not_begin_again() -> None:
    batched = gymnasium.vector.SyncVectorEnv([lambda: gymnasium.wrappers.TimeLimit(Echo(), 2)] * 2)
    assert batched.metadata["autoreset_mode"] == AutoresetMode.NEXT_STEP
    env = VectorActionDelay(batched, 1)
    env.reset(seed=0)
    for _ in range(2):
        ended = env.step(np.zeros((2, 1), np.float32))[3]
    assert ended.all()
    env.reset()
    first, second = (env.step(np.full((2, 1), action, np.float32))[0] for action in (0.5, 1.0))
    assert (first.ravel().tolist(), second.ravel().tolist()) == ([0, 0], [0.5, 0.5])  # what was sent is on its way


def test_it_keeps_gymnasiums_contract() -> None:
    check_env(ActionDelay(gymnasium.make("tiltyard/Hopper-v5"), (0, 2)), skip_render_check=True)


@pytest.mark.parametrize("steps", [-1, (2, 1), (-1, 2), 2.5, (0, 1.5), (1,), "23", None])
def test_bad_numbers_of_steps_are_refused(steps: Any) -> None:
    with pytest.raises(ValueError, match="number of at least 0"):
        ActionDelay(Echo(), steps)


def test_a_masked_reset_of_gymnasiums_own_vectors_leaves_the_other_lines_alone() -> None:
    makers = [lambda limit=limit: gymnasium.wrappers.TimeLimit(Echo(), limit) for limit in (2, 9)]
    env = VectorActionDelay(gymnasium.vector.SyncVectorEnv(makers, autoreset_mode=AutoresetMode.DISABLED), 1)
    env.reset(seed=0)
    for action in (0.1, 0.2):
        *_, ended, _ = env.step(np.full((2, 1), action, np.float32))
    env.reset(options={"reset_mask": ended})
    seen = env.step(np.full((2, 1), 0.3, np.float32))[0]
    assert seen.ravel() == pytest.approx([0.0, 0.2])  # the second one's last action still arrives
