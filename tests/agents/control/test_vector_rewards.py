"""Terms of rewards are kept and read by their names, online and from Minari, and what does not fit is refused."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch as th
from gymnasium.spaces import Box, Discrete

from tiltyard.agents.control.vector_rewards import VectorReplay, VectorTransitions

SEEN, ACTS = Box(-9, 9, (2,), np.float32), Discrete(3)


def added(replay: VectorReplay, *terms: dict[str, float], **rest: Any) -> None:
    n = len(terms)
    seen, ones = np.arange(2 * n, dtype=np.float32).reshape(n, 2), np.ones(n, np.float32)
    infos = [{"reward_terms": one, "TimeLimit.truncated": rest.get("cut", False)} for one in terms]
    replay.add(seen, seen + 1, np.arange(n), 5 * ones, rest.get("done", 0) * ones, infos)


def test_the_replay_buffer_keeps_terms_by_name() -> None:
    replay = VectorReplay(10, SEEN, ACTS, "cpu", n_envs=2, names=("follow", "like"))
    added(replay, {"like": 1.0, "follow": 2.0, "watch": 9.0}, {"like": 3.0, "follow": 4.0})
    batch = replay.draw(50)
    assert {tuple(row) for row in batch.terms.tolist()} == {(2.0, 1.0), (4.0, 3.0)}
    assert (batch.terms[:, 1] == 2 * batch.actions + 1).all()  # of the same transition
    assert batch.observations.equal(batch.next_observations - 1)
    assert batch.rewards.tolist() == [5.0] * 50


@pytest.mark.parametrize(("cut", "going_on"), [(False, 0.0), (True, 1.0)])
def test_only_terminations_end_what_is_bootstrapped(cut: bool, going_on: float) -> None:
    replay = VectorReplay(4, SEEN, ACTS, "cpu", n_envs=1, names=("like",))
    added(replay, {"like": 1.0}, done=1, cut=cut)
    assert replay.draw(1).going_on.item() == going_on


def test_terms_that_are_not_there_or_no_numbers_are_refused() -> None:
    replay = VectorReplay(4, SEEN, ACTS, "cpu", n_envs=1, names=("like",))
    with pytest.raises(ValueError, match=r"there is no 'like' among the reward_terms \(watch\)"):
        added(replay, {"watch": 1.0})
    with pytest.raises(ValueError, match="reward of nan"):
        added(replay, {"like": float("nan")})
    assert replay.transitions == 0


def transitions(**changes: Any) -> VectorTransitions:
    found = VectorTransitions(
        observations=np.zeros((4, 2), np.float32),
        actions=np.array([0, 1, 2, 0]),
        rewards=np.arange(4, dtype=np.float32),
        next_observations=np.ones((4, 2), np.float32),
        terminations=np.array([0, 1, 0, 1], np.float32),
        ends=np.array([False, True, False, True]),
        episodes=np.array([0, 0, 1, 1]),
        episode_returns=np.array([1.0, 5.0]),
        terms=np.arange(8, dtype=np.float32).reshape(4, 2),
        names=("like", "follow"),
    )
    return replace(found, **changes)


def test_a_batch_has_the_columns_asked_for() -> None:
    batch = transitions().batch(["follow"])
    assert batch.terms.tolist() == [[1.0], [3.0], [5.0], [7.0]]
    assert batch.going_on.tolist() == [1, 0, 1, 0]
    some = batch.at(th.tensor([2]))
    assert (some.actions.tolist(), some.rewards.tolist()) == ([2], [2.0])
    assert len(batch.beside(some).actions) == 5


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"actions": np.array([0, 1, 3, 0])},
            "action outside the agent's space: 3, allowed are whole numbers from 0 to 2",
        ),
        ({"actions": np.array([0, 1, 0.5, 0])}, "action outside the agent's space: 0.5"),
        ({"terms": np.zeros((4, 1), np.float32)}, r"terms of shape \(4, 1\), their names need \(4, 2\)"),
        ({"terms": np.full((4, 2), np.inf, np.float32)}, "reward of inf"),
        ({"rewards": np.full(4, np.nan, np.float32)}, "NaN or infinity in their rewards"),
    ],
)
def test_transitions_that_do_not_fit_are_refused(changes: dict[str, Any], sentence: str) -> None:
    transitions().check(SEEN, ACTS)
    with pytest.raises(ValueError, match=sentence):
        transitions(**changes).check(SEEN, ACTS)


class Plain(gymnasium.Env[Any, Any]):
    """Spaces alone."""

    observation_space, action_space = SEEN, ACTS


@pytest.mark.parametrize("of_reset", [0, 1])
def test_minari_datasets_with_infos_are_read(of_reset: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import minari
    from minari.data_collector import EpisodeBuffer

    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    buffers = [
        EpisodeBuffer(
            id=i,
            observations=[np.full(2, step, np.float32) for step in range(4)],
            actions=[np.int64(step) for step in range(3)],
            rewards=[1.0, 2.0, 3.0],
            terminations=[False, False, True],
            truncations=[False] * 3,
            infos={"reward_terms": {"like": [9.0] * of_reset + [0.0, 1.0, 10.0 + i]}},
        )
        for i in range(2)
    ]
    dataset = minari.create_dataset_from_buffers(
        "trial/vector-v0", buffers, observation_space=SEEN, action_space=ACTS, env=None
    )
    found = VectorTransitions.from_minari("trial/vector-v0", SEEN, ACTS, ["like"])
    assert found.terms[:, 0].tolist() == [0, 1, 10, 0, 1, 11]
    assert found.actions.tolist() == [0, 1, 2] * 2
    assert found.terminations.tolist() == [0, 0, 1] * 2
    assert found.next_observations[:, 0].tolist() == [1, 2, 3] * 2
    found.check(SEEN, ACTS)
    with pytest.raises(ValueError, match="episode 0: there is no 'share' among the reward_terms"):
        VectorTransitions.from_minari(dataset, SEEN, ACTS, ["share"])
    with pytest.raises(ValueError, match="action outside the agent's space: 2"):
        VectorTransitions.from_minari(dataset, SEEN, Discrete(2), ["like"])
