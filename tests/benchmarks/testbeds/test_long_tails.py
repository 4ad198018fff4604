"""Walks with a long tail: what is correct, how success and time are measured, and that all conditions begin alike."""

from dataclasses import replace

import numpy as np
import pytest

from tiltyard.agents.language.update import logp_of
from tiltyard.benchmarks.testbeds.long_tails import Learner, LongTails, TailRun, Walk, Walks, _solutions


def test_a_walk_is_every_place_below_in_order() -> None:
    env = Walks(1)
    walk = Walk(1, 4, "x")
    names = env.roads[1]
    assert env.prompt(walk) == f"1{names[4]}x"
    assert env.solve(walk) == names[3] + names[2] + names[1] + names[0]
    texts = [env.solve(walk), env.solve(walk)[:-1], env.corrupt(walk, np.random.default_rng(0)), "", names]
    correct, readable = env.grade(texts, [walk] * 5)
    assert correct.tolist() == [True, False, False, False, False]
    assert readable.all()  # so that failures earn 0, whatever they are


def test_a_corrupted_walk_leaves_one_place_out() -> None:
    env, walk = Walks(1), Walk(0, 9, "x")
    found = {env.corrupt(walk, np.random.default_rng(seed)) for seed in range(99)}
    whole = env.solve(walk)
    assert found == {whole[:i] + whole[i + 1 :] for i in range(9)}


def test_lengths_have_a_tail() -> None:
    env = Walks(1)
    lengths = np.array([walk.length for walk in env.problems(np.arange(4000), np.zeros(4000, int))])
    assert (lengths.min(), lengths.max()) == (3, 40)
    assert (lengths >= 12).mean() == pytest.approx(3 / 12, abs=0.03)  # Pareto of exponent 1
    assert (lengths == 40).mean() == pytest.approx(3 / 40, abs=0.02)


def test_splits_share_no_problem() -> None:
    train, test = (
        {env.prompt(walk) for walk in env.problems(np.arange(300), np.zeros(300, int))}
        for env in (Walks(1, split="train"), Walks(1, split="test"))
    )
    assert not train & test


def test_success_is_that_of_sampling() -> None:
    bed = LongTails(base_steps=0, bases=1, slots=4, held_out=3, longest=4)
    agent = bed.agent(Learner(window=2), 1e-3, 0)
    tokens, mask = _solutions(agent.policy.tokenizer, 4, 3)
    each = logp_of(agent.policy, tokens, mask).sum(1).exp()
    assert bed.success(agent) == pytest.approx(float(each.mean()), rel=1e-5)
    assert mask.sum(1).tolist() == [
        walk.length + 1 for walk in Walks(1, longest=4, split="test").problems(range(3), [0] * 3)
    ]


def test_conditions_of_a_seed_begin_alike_and_a_rate_of_nothing_teaches_nothing() -> None:
    bed = replace(LongTails().smallest(), base_steps=30)
    runs = [bed.run(one, 0.0, 1000) for one in (Learner(plain=True), Learner(), Learner(window=3))]
    assert len({run.success[0] for run in runs}) == 1
    for run in runs:
        assert (run.success == run.success[0]).all()
        assert 0 < run.success[0] < 1
        assert run.completions[-1] >= 4
    other = bed.run(Learner(window=3), 1e-3, 1000)
    assert other.success[0] == runs[0].success[0] != other.success[-1]


def test_synchronous_time_is_the_longest_completion_of_each_batch() -> None:
    bed = replace(LongTails().smallest(), every=1)
    for condition in (Learner(plain=True), Learner()):
        run = bed.run(condition, 1e-3, 1000)
        assert run.completions.tolist() == [4 * i for i in range(len(run.steps))]
        assert np.diff(run.steps).max() <= 9
        assert (np.diff(run.tokens) <= 4 * np.diff(run.steps)).all()
        assert run.steps[-2] < 18 <= run.steps[-1]


def test_moments_are_as_far_apart_as_asked() -> None:
    run = replace(LongTails().smallest(), every=7).run(Learner(window=2), 1e-3, 1000)
    assert (np.diff(run.steps)[:-1] >= 7).all()
    assert 18 <= run.steps[-1] <= 18 + 9


def test_times_and_idle_slots_by_hand() -> None:
    columns = ([0, 100, 300], [0.2, 0.4, 0.8], [0, 200, 600], [0, 10, 30])
    run = TailRun(*(np.array(column, float) for column in columns), slots=4, budget=250)
    assert run.idle == 0.5  # 600 tokens in 4 slots of 300
    assert run.end == pytest.approx(0.7)  # three quarters of the way from 0.4 to 0.8
    assert run.success_after(20) == pytest.approx(0.6)
    assert run.steps_to(0.3) == pytest.approx(50)
    assert run.steps_to(0.5) == pytest.approx(150)
    assert run.steps_to(0.8) == run.steps_to(0.9) == 250  # behind the budget, and never
    assert run.steps_to(0.1) == 100  # there before training: at the first moment
    assert run.learnt == pytest.approx((0.3 * 100 + 0.55 * 150) / 250, abs=1e-3)
