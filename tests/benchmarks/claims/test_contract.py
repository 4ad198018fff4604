"""What every claim has: a testbed, conditions with named baselines, an effect, a premise, a margin, and few lines."""

import math
import shutil
from pathlib import Path
from typing import Any

import cloudpickle
import pytest

from tiltyard.benchmarks.claims import harness
from tiltyard.benchmarks.claims.claim import Claim, Comparison
from tiltyard.benchmarks.claims.progress import Job, kept_in

FOLDER = Path(harness.__file__).parent
LINES = 80

LONGER = {  # claims above LINES, with the reason
    "archer": "two agents, two forms of each with their numbers of games, and three measures of one pair of curves",
    "contrastive-ucb": "each condition in two forms, and epsilon-greedy on a shorter lock too",
    "d5rl": "five conditions in two forms each, three parts and a premise of its own condition",
    "dpt": "online, from datasets and as a distribution, against four rules",
    "gbrl": "two tasks, each agent tuned in each, and in two forms",
    "groove": "two sets of worlds, what is earned there without meta-training, and the sampler's own part",
    "history-bisim": "two sizes of data, two corridors, and how the loss goes with success",
    "hl-gauss": "each head is tuned and told at each level of noise",
    "kimi-k1-5": "which weight decides is the claim's own rule, and all weights are parts",
    "icrl-theory": "students of two teachers, regrets and errors, and three kinds of contexts",
    "lamo": "two sizes of data, two ablations beside the rivals, and what is left of the language model",
    "mbrcsl": "four conditions in two forms each, and a remark on how the data were shaped",
    "mbtl": "two ways of the abstract to compare with, which are measured differently, and two beside them",
    "mentor": "two parts, each with a score of its own, and their curves before and after an injury",
    "multi-domain-rlvr": "seven conditions, of which five takeaways of the paper are parts",
    "offline-rl-vlm-f": "two controls are told beside, and a table of mistakes and pairs",
    "pure": "four reward models are compared, and one learning rate for all",
    "rl4lms-nlpo-grue": "three tasks, stability beside performance, and policies with and without the mask",
    "rl-vs-distillation": "four parts on quarters of the problems",
    "repo": "both agents with and without distractors, in two forms each",
    "s5-rl": "two games, and speed, which is measured and judged in another way",
    "simplevla-rl": "five conditions, three of which are parts, and one is judged at equal steps too",
    "stax": "three measures, each against its own baselines",
    "trajectory-weighting": "the negative control is a part of its own, with another dataset",
    "t-ppo": "time, success in equal time and success by completions, told as courses by time",
    "tscac": "every condition is a family of policies, which are told beside what they reach together",
    "vlm-rm": "three sizes, five alphas, of which tuning seeds choose one, with and without distractors",
    "w-reinforce-nsr": "pass@k for nine k in four conditions, and how high each of eleven parts can be",
}
COMPARISONS = {handle: claim for handle in harness.claims() if isinstance(claim := harness.load(handle)[0], Comparison)}
each_comparison = pytest.mark.parametrize("handle", COMPARISONS)


def lines(handle: str) -> int:
    return len((FOLDER / f"{handle.replace('-', '_')}.py").read_text().splitlines())


def test_every_claim_is_a_comparison_on_a_testbed() -> None:
    assert set(harness.claims()) == set(COMPARISONS)


@pytest.mark.parametrize("handle", harness.claims())
def test_a_claim_says_what_it_claims_and_measures(handle: str) -> None:
    claim, measure = harness.load(handle)
    assert isinstance(claim, Claim)
    assert claim.sentence
    assert claim.effect
    assert callable(measure)


@each_comparison
def test_a_claim_is_short_or_says_why_not(handle: str) -> None:
    assert (lines(handle) > LINES) == (handle in LONGER)


@each_comparison
def test_conditions_have_a_named_baseline(handle: str) -> None:
    claim = COMPARISONS[handle]
    assert claim.baselines
    assert {claim.ours, *claim.baselines} <= set(claim.conditions)
    assert claim.ours not in claim.baselines
    assert claim.premise.sentence


@each_comparison
def test_conditions_are_tuned_with_equal_budgets(handle: str) -> None:
    tuning = COMPARISONS[handle].tuning
    if tuning is None:
        return
    assert len(set(tuning.grid)) == len(tuning.grid) > 1
    assert tuning.seeds >= 1
    if tuning.variants:
        assert set(tuning.variants) == set(COMPARISONS[handle].conditions)
        assert len({len(forms) for forms in tuning.variants.values()}) == 1
    assert tuning.alike is None or tuning.alike in COMPARISONS[handle].baselines


@each_comparison
def test_processes_can_be_sent_what_a_claim_runs(handle: str) -> None:
    claim = COMPARISONS[handle]
    for name, condition in claim.conditions.items():
        sent = Job(claim.testbed, name, condition, 0.1, 0)
        assert str(cloudpickle.loads(cloudpickle.dumps(sent))) == str(sent)


TAKE_LONG = set(
    """archer arsq contrastive-ucb d5rl f-dvl-recoil gigpo h2o lamo mentor multi-domain-rlvr perceptualreward remax sapo
    spo spr stream-x tscac""".split()
)
"""Four seconds and more each, even in their smallest size."""


@pytest.mark.parametrize(
    "handle", [pytest.param(one, marks=[pytest.mark.slow] if one in TAKE_LONG else []) for one in COMPARISONS]
)
def test_a_claim_runs_in_its_smallest_size_and_goes_on_from_what_it_kept(
    handle: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # where a race keeps its runs
    claim = COMPARISONS[handle].smallest()
    kept, copy = tmp_path / "kept", tmp_path / "copy"
    with kept_in(kept):
        found = claim.measure()
        shutil.copytree(kept, copy)
    finished = len(list(copy.iterdir()))
    with kept_in(copy) as progress:
        again = claim.measure()
    assert progress.resumed == finished > 0
    assert {name: part.values for name, part in again.parts.items()} == {
        name: part.values for name, part in found.parts.items()
    }
    assert found.parts
    assert any(part.decides for part in found.parts.values())
    for part in found.parts.values():
        assert len(part.values) == 3
        assert math.isfinite(part.sample.mean)
        assert part.sample.mean <= part.highest + 1e-9
    harness.judged(claim, found.parts, found.details)
    shown: Any = found.details
    for key in claim.premise.shown:
        shown = shown[key]
    assert shown is not None
