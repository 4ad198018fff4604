import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from tiltyard.agents.objectives.registry import load
from tiltyard.benchmarks.claims.kimi_k1_5 import CLAIM, WEIGHTS, best_weight
from tiltyard.benchmarks.testbeds.sequences import Sequences
from tiltyard.benchmarks.testbeds.thoughts import ThoughtLearner, ThoughtProblems, Thoughts

TASK = Thoughts()


def test_success_and_tokens_by_hand() -> None:
    # Stopping by 1/2 at every place: after n thoughts or more, if not never, by 2^-n - 2^-16; then 1/4 for the result.
    # Tokens of one who stops are his thoughts and two more: 3 - 2^-16 * (16 + 3) in sum, and 16 for those who do not.
    learner = TASK.learner(0)
    with torch.no_grad():
        learner.stop.zero_()
        learner.result.zero_()
    success, tokens = learner.exact()
    needed = learner.problems.needed[TASK.trained :].double()
    assert success == pytest.approx(float(((0.5**needed - 0.5**16) / 4).mean()))
    assert tokens == pytest.approx(3 - 19 * 0.5**16 + 16 * 0.5**16)


def test_completions_come_to_what_is_exact() -> None:
    # The problems held out, for once, are those completed.
    n = TASK.held_out
    features, needed, correct, *weights = TASK.problems(0)
    twice = torch.arange(n).repeat(2)
    same = ThoughtProblems(features[twice], needed[twice], correct[twice], *weights)
    learner = ThoughtLearner(replace(TASK, trained=n, prompts=n, group=200), same, 0)
    rollouts = learner.rollouts()
    thoughts = rollouts.info["thoughts"]
    success, tokens = learner.exact()
    assert 0.1 < success < 0.9
    assert rollouts.reward.mean() == pytest.approx(success, abs=4 * math.sqrt(0.25 / len(rollouts)))
    assert rollouts.length.double().mean() == pytest.approx(tokens, abs=0.1)
    never = thoughts == TASK.thoughts
    assert never.any()
    assert (rollouts.length[never] == TASK.thoughts).all()
    assert (rollouts.reward[never] == 0).all()
    stops = rollouts.tokens.gather(1, thoughts[:, None])[~never]
    assert (stops == 1).all()


def test_brevity_pays_only_for_correct_completions() -> None:
    rollouts = TASK.learner(0).rollouts()
    plain, brief = (load("kimi-k1-5", length_weight=w).advantage(rollouts) for w in (0.0, 1.0))
    gained = (brief - plain).view(TASK.prompts, -1)
    reward, length = (part.view(TASK.prompts, -1) for part in (rollouts.reward, rollouts.length))
    for group in range(TASK.prompts):
        correct, incorrect = reward[group] > 0, reward[group] == 0
        span = (length[group].max() - length[group].min()).clamp(min=1)
        expected = 0.5 - (length[group] - length[group].min()) / span
        expected = torch.where(incorrect, expected.clamp(max=0), expected)
        torch.testing.assert_close(gained[group], (expected - expected.mean()).float(), atol=1e-5, rtol=0)
        assert correct.any() or (expected <= 0).all()


def test_early_brevity_is_briefer_than_late() -> None:
    bed = Sequences(task=TASK, iterations=20, epochs=2)
    runs = {name: bed.run(CLAIM.conditions[name], 0.1, 0) for name in ("without", "late, 1.0", "early, 1.0")}
    assert runs["without"][-1, 0] > runs["without"][0, 0] + 0.1
    assert runs["early, 1.0"][-1, 1] < runs["late, 1.0"][-1, 1] < runs["without"][-1, 1]
    assert (runs["late, 1.0"][:2] == runs["without"][:2]).all()  # until half of training


def test_the_weight_that_decides_saves_most_of_those_that_lose_nothing() -> None:
    ends = {
        "without": (0.8, 10.0),
        0.01: (0.81, 9.5),
        0.03: (0.8, 9.0),
        0.1: (0.799, 8.0),
        0.3: (0.7, 7.0),
        1.0: (0.1, 3.0),
    }
    runs = {
        "without" if key == "without" else f"late, {key}": [np.array([[0.1, 8.0], end])] for key, end in ends.items()
    }
    found = SimpleNamespace(on_tuning_seeds=lambda names: {name: runs[name] for name in names})
    assert best_weight(found) == 0.03
    runs["without"][0][-1, 0] = 0.9
    assert best_weight(found) == WEIGHTS[0]


def test_parts_are_differences_of_what_is_told() -> None:
    found = replace(CLAIM, testbed=replace(CLAIM.testbed, iterations=20, every=5)).measure(seeds=3)
    halves, ends, saved = (
        {name: one["estimate"] for name, one in found.details[key].items()}
        for key in ("success in the first half", "success at the end", "share of tokens saved")
    )
    chosen = f"late, {found.details['weight chosen']}"
    wanted = {
        "share of tokens saved": saved[chosen],
        "success at the end minus without": ends[chosen] - ends["without"],
    }
    for weight in (0.1, 0.3, 1.0):
        slower = halves["without"] - halves[f"early, {weight}"]
        wanted[f"weight {weight:g}: success in the first half, without minus early"] = slower
        later = ends[f"late, {weight}"] - ends[f"early, {weight}"]
        wanted[f"weight {weight:g}: success at the end, late minus early"] = later
    assert found.means == pytest.approx(wanted)
    assert halves["early, 1.0"] < halves["without"]
