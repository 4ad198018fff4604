"""Demonstrations, cloning, judging and the parts of the claim on AskToAct."""

from dataclasses import replace
from typing import Any

import gymnasium
import numpy as np
import pytest

from tiltyard.benchmarks.claims.ask_to_act import CLAIM, CLONED, DENSE, SPARSE
from tiltyard.benchmarks.claims.claim import Found, Outcome
from tiltyard.benchmarks.evaluation import evaluation_seeds
from tiltyard.benchmarks.testbeds.ask_household import TASK, AskHousehold, AskRun, FineTuning, Judged, demonstrations


class Expert:
    """A policy that asks once and walks about."""

    def __init__(self, *actions: int) -> None:
        self.actions, self.step = actions, 0

    def predict(self, observations: Any, deterministic: bool) -> tuple[Any, None]:
        action = self.actions[min(self.step, len(self.actions) - 1)]
        self.step += 1
        return np.full(len(observations), action), None


class Fetcher:
    """Looks everywhere and brings the first object that may be meant; does nothing where a colour is said."""

    def predict(self, observations: Any, deterministic: bool) -> tuple[Any, None]:
        return np.array([self.one(seen) for seen in observations]), None

    def one(self, seen: Any) -> int:
        at, holds, said, destination = seen[:10].argmax(), seen[10:16].any(), seen[28:33].any(), seen[34:44].argmax()
        visited, flags = seen[62:72], seen[432:].reshape(10, 3)
        if said:
            return 0
        if holds:
            return 13 if at == destination else int(destination)
        if not visited.all():
            return int(visited.argmin())
        place, slot = np.argwhere(flags)[0]
        return 10 + int(slot) if at == place else int(place)


def judged(success: list[float], candidates: list[float] | None = None) -> Judged:
    zeros = np.zeros(len(success))
    return Judged(np.array(success), zeros + 2.0, np.array(candidates or [1.0] * len(success)), zeros)


def test_demonstrations_are_the_experts_in_training_homes() -> None:
    observations, actions = demonstrations(30, 5)
    assert observations.shape == (len(actions), 462)
    assert (actions == 13).sum() == 30  # each episode ends by putting down
    assert ((actions >= 10) & (actions < 13)).sum() == 30
    other, _ = demonstrations(30, 6)
    assert not np.array_equal(other[:30], observations[:30])


def test_a_policy_is_judged_by_what_it_did() -> None:
    bed = replace(AskHousehold(), episodes=50)
    found = bed.judge(Expert(19, 20, 0), 0)
    assert found.questions.tolist() == [2.0] * 50
    assert found.success.sum() == 0
    assert set(found.candidates) == {1.0, 2.0, 3.0, 4.0}
    assert 0 < found.held_out.mean() < 0.5


def test_only_the_first_episode_of_each_home_is_judged() -> None:
    # Homes where a colour is said go on for 40 steps, in which the others begin anew twice.
    found = replace(AskHousehold(), episodes=120).judge(Fetcher(), 0)
    alone = gymnasium.make_vec(TASK, 120, vectorization_mode="vector_entry_point", split="test")
    observations, info = alone.reset(seed=evaluation_seeds(0, 120))
    idle = observations[:, 28:33].any(1)
    assert 20 < idle.sum() < 60
    np.testing.assert_array_equal(found.candidates, info["candidates"])
    np.testing.assert_array_equal(found.held_out, info["held_out"])
    assert not found.success[idle].any()
    assert found.success[~idle & (found.candidates == 1)].all()
    assert 0.1 < found.success[~idle & (found.candidates == 4)].mean() < 0.6
    alone.close()


def test_means_by_candidates() -> None:
    found = judged([1, 0, 1, 1, 0, 0], [1, 1, 2, 3, 4, 4])
    assert found.by_candidates(found.success) == [0.5, 1.0, 1.0, 0.0]


def test_cloning_learns_what_was_demonstrated() -> None:
    bed = replace(AskHousehold(), demonstrations=40, updates=150, steps=512, n_envs=8, n_steps=32, episodes=20)
    from tiltyard.agents import make
    from tiltyard.wrappers.spaces import sb3_env

    agent = make("fast-ppo", sb3_env("tiltyard/AskToAct-v0", 8), preset="none", seed=0, device="cpu")
    data = demonstrations(40, 0)

    def share() -> float:
        return float((agent.predict(data[0], deterministic=True)[0] == data[1]).mean())

    before = share()
    bed.clone(agent.policy, data, 1e-3, 0)
    assert share() > 0.6 > 0.2 > before


def test_conditions_begin_with_the_same_policy_and_go_different_ways() -> None:
    bed = replace(CLAIM.testbed.smallest(), updates=60, demonstrations=200, episodes=200)
    runs = {name: bed.run(CLAIM.conditions[name], 1e-2, 3) for name in CLAIM.conditions}
    for name in (SPARSE, CLONED):
        for ours, theirs in zip(runs[DENSE].before, runs[name].before, strict=True):
            np.testing.assert_array_equal(ours, theirs)
    ends = [run.after.questions.tolist() for run in runs.values()]
    assert ends[0] != ends[1] != ends[2] != ends[0]


def test_parts_are_by_success_at_the_end() -> None:
    low, mid, high = judged([0, 0, 1, 0]), judged([1, 0, 1, 0]), judged([1, 1, 1, 0])
    runs = {DENSE: AskRun(low, high), SPARSE: AskRun(low, mid), CLONED: AskRun(low, low)}
    outcomes: Any = {name: Outcome(FineTuning(), 0.1, [run] * 3) for name, run in runs.items()}
    found = Found(CLAIM, CLAIM.testbed, outcomes, {}, range(3))
    made = CLAIM.parts(found)
    assert {name: one.sample.mean for name, one in made.items()} == {
        f"over {CLONED}": pytest.approx(0.5),
        f"over {SPARSE}": pytest.approx(0.25),
        "over the policy that it began with": pytest.approx(0.5),
    }
    assert [one.decides for one in made.values()] == [True, False, False]
    assert made[f"over {CLONED}"].highest == pytest.approx(0.75)
