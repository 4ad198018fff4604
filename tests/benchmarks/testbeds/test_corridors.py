"""The corridors, the doors, the data, and what is told of an agent that learns from them."""

from dataclasses import replace
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from tiltyard.benchmarks.claims.claim import Found, Outcome
from tiltyard.benchmarks.claims.history_bisim import CLAIM, FORMS, LEARNT, OURS, PLAIN
from tiltyard.benchmarks.testbeds.corridors import (
    ACTIONS,
    HIDDEN,
    LENGTH,
    OFTEN,
    OPENS,
    SELDOM,
    SHOWN,
    WRONG,
    Corridors,
    Opened,
    Reader,
    opened,
    recorded,
)

DOORS = len(OPENS[0])
BED = CLAIM.testbed.smallest()


class Rememberer:
    """Opens the doors by the sign that it saw, or always as for sign 0."""

    def __init__(self, remembers: bool = True) -> None:
        self.remembers = remembers

    def predict(self, seen: Any, state: Any = None, deterministic: bool = True) -> tuple[Any, Any]:
        signs = seen[:, :2].argmax(axis=1) if state is None else state[0]
        doors = seen[:, -DOORS:].argmax(axis=1)
        known = signs if self.remembers else np.zeros_like(signs)
        return np.array(OPENS)[known, doors], (signs, doors)


def test_an_episode_by_hand() -> None:
    env = Corridors(HIDDEN)
    seen, _ = env.reset(seed=3)
    assert seen[:4].tolist() == [1 - env.sign, env.sign, 0, 1]
    assert (np.abs(seen[4:8]) == 1).all()
    for step in range(LENGTH):
        assert seen[8:].tolist() == [0, 0, 0]
        assert seen[:2].any() == (step == 0)
        seen, reward, ended, cut, _ = env.step(np.int64(0))
        assert (reward, ended, cut) == (0, False, False)
    for door in range(DOORS):
        assert seen.tolist() == [0] * 8 + [float(door == k) for k in range(DOORS)]
        seen, reward, ended, cut, info = env.step(np.int64(OPENS[env.sign][door]))
    assert (reward, ended, cut, info) == (1, True, False, {"is_success": True})
    assert not seen.any()


def test_a_wrong_action_at_a_door_ends_the_episode() -> None:
    env = Corridors()
    env.reset(seed=0)
    for _ in range(LENGTH):
        env.step(np.int64(0))
    _, reward, ended, _, info = env.step(np.int64((OPENS[env.sign][0] + 1) % ACTIONS))
    assert (reward, ended, info) == (0, True, {"is_success": False})


def test_it_is_an_environment_of_gymnasium() -> None:
    check_env(Corridors(), skip_render_check=True)
    env = gymnasium.wrappers.PassiveEnvChecker(Corridors())
    env.reset(seed=0)
    env.step(np.int64(1))


def test_who_remembers_the_sign_always_succeeds_and_without_memory_half_of_the_time() -> None:
    for corridor in (SHOWN, HIDDEN):
        assert opened(Rememberer(), corridor, 50) == 1
        assert 0.3 < opened(Rememberer(remembers=False), corridor, 100) < 0.7


def test_data_succeed_as_often_as_their_doors_open_and_walls_make_all_histories_differ() -> None:
    data = recorded(2000, 0)
    firsts = np.flatnonzero(data.ends) + 1 - data.lengths
    corridors = data.observations[firsts, 2:4].argmax(axis=1)
    for corridor, often in ((SHOWN, OFTEN), (HIDDEN, SELDOM)):
        assert data.episode_returns[corridors == corridor].mean() == pytest.approx(often**DOORS, abs=0.04)
    at_first_door = np.flatnonzero(data.observations[:, 8] == 1)
    hidden = corridors[data.episodes[at_first_door]] == HIDDEN
    signs = data.observations[firsts, :2].argmax(axis=1)[data.episodes[at_first_door]]
    preferred = data.actions[at_first_door] == (np.array(OPENS)[signs, 0] + 1) % ACTIONS
    assert preferred[hidden].mean() == pytest.approx(WRONG, abs=0.05)
    walls = np.stack([data.observations[firsts + i, 4:8] for i in range(LENGTH)], axis=1).reshape(len(firsts), -1)
    assert len(np.unique(walls, axis=0)) > 1900
    assert (data.terminations == data.ends).all()


def test_data_are_of_their_seed_and_smaller_ones_begin_them() -> None:
    data, fewer, other = recorded(30, 1), recorded(10, 1), recorded(30, 2)
    assert (data.observations[: len(fewer)] == fewer.observations).all()
    assert (data.actions[: len(fewer)] == fewer.actions).all()
    assert len(data) != len(other) or (data.observations != other.observations).any()


def test_a_run_is_of_its_seed_and_only_the_loss_sets_conditions_apart() -> None:
    first, again, other = (BED.run(FORMS[OURS][0], 1e-2, seed) for seed in (0, 0, 1))
    assert (first.loss == again.loss).all()
    assert (first.success == again.success).all()
    assert (first.loss != other.loss).all()
    plain = BED.run(FORMS[PLAIN][0], 1e-2, 0)
    assert (plain.loss > first.loss)[:, -1].all()  # which is what it is for
    assert first.success.shape == (2, 2, 2)
    off = BED.run(Reader({**FORMS[OURS][0].settings, "bisimulation_weight": 0.0}), 1e-2, 0)
    assert (off.loss == plain.loss).all()


def test_from_data_that_show_it_an_agent_learns_to_use_its_memory() -> None:
    bed = replace(CLAIM.testbed, sizes=(300,), updates=600, checkpoints=1, episodes=50)
    run = bed.run(FORMS[PLAIN][0], 3e-3, 5000)
    assert run.success[0, -1, SHOWN] > 0.6


def test_parts_by_hand() -> None:
    def outcome(name: str, few: float, many: float) -> Outcome:
        runs = []
        for seed in range(4):
            success = np.zeros((2, 3, 2))
            success[:, -1, HIDDEN] = few + seed / 100, many
            success[:, -1, SHOWN] = 0.9
            runs.append(Opened(success, np.full((2, 3), 1.0 + seed)))
        return Outcome(CLAIM.conditions[name], 1e-3, runs)

    found = Found(CLAIM, CLAIM.testbed, {OURS: outcome(OURS, 0.4, 0.8), PLAIN: outcome(PLAIN, 0.1, 0.7)}, {}, range(4))
    assert {name: part.sample.mean for name, part in CLAIM.parts(found).items()} == pytest.approx(
        {"after the corridor less shown, 100 episodes": 0.3, "after the corridor less shown, 300 episodes": 0.1}
    )


def test_the_premise_needs_a_memory() -> None:
    assert CLAIM.premise.missing({LEARNT: 0.5})
    assert not CLAIM.premise.missing({LEARNT: 0.7})
