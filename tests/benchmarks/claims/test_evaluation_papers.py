"""Claims of evaluation papers: each effect is worked out again from the runs that it is of."""

from functools import cache
from typing import Any

import numpy as np
import pytest

from tiltyard.benchmarks.claims import (
    brorl,
    cot_pass_k,
    dpo_vs_ppo_study,
    echo_chamber,
    invisible_leash,
    online_vs_offline_gap,
    pass_at_k_boundary,
    preference_ranking_accuracy,
    refined_lr,
    rewardbench_2,
    rewardmath,
    rl_vs_distillation,
    starc,
)


@cache
def small(module: Any) -> Any:
    """The claim's runs in its smallest size."""
    return module.CLAIM.smallest().compare(seeds=3)


def values(module: Any, part: str) -> Any:
    return pytest.approx(module.CLAIM.parts(small(module))[part].values)


def test_pass_at_k_is_of_the_problems_held_out() -> None:
    runs = small(pass_at_k_boundary)["grpo"].runs
    assert [run.end - run.held_out[0] for run in runs] == values(pass_at_k_boundary, "GRPO minus base at k = 1")
    held_out = [run.success[:, run.trained :] for run in runs]
    lost = [((1 - of[-1]) ** 256).mean() - ((1 - of[0]) ** 256).mean() for of in held_out]
    assert lost == values(pass_at_k_boundary, "base minus GRPO at k = 256")


def test_support_lost_counts_against_the_claim_if_more_is_new() -> None:
    runs = small(invisible_leash)["grpo"].runs
    assert [run.at_end["lost"] - run.at_end["new"] for run in runs] == values(
        invisible_leash, "lost minus new under GRPO"
    )
    control = invisible_leash.CLAIM.parts(small(invisible_leash))["new minus lost under a teacher"]
    assert not control.decides


def test_problems_are_ranked_by_the_base_policy() -> None:
    course = small(rl_vs_distillation)["grpo"].runs[0]
    before, after = course.success[[0, -1], course.trained :]
    hardest = np.argsort(before, kind="stable")[: len(before) // 4]
    found = rl_vs_distillation.of_quarter(course, 0.0, 0.25)
    assert found == pytest.approx((before[hardest].mean(), after[hardest].mean()))
    quarters = [rl_vs_distillation.of_quarter(course, *ends)[0] for ends in rl_vs_distillation.QUARTERS.values()]
    assert quarters == sorted(quarters)


def test_correct_reasoning_is_what_is_gained() -> None:
    runs = small(cot_pass_k)["grpo"].runs
    gained = [run.at_end["after, k = 4"] - run.at_end["before, k = 4"] for run in runs]
    assert gained == values(cot_pass_k, "CoT-pass@4 gained")


def test_the_largest_share_may_be_another_format_s_afterwards() -> None:
    told = [run.at_end for run in small(echo_chamber)["grpo"].runs]
    grown = [one["largest share after"] - one["largest share before"] for one in told]
    assert grown == values(echo_chamber, "growth of the largest share")


def test_fewer_rollouts_minus_more() -> None:
    found = small(brorl)
    few, many = ([(run.after < run.before).mean() for run in found[name].runs] for name in ("4", "16"))
    assert np.subtract(few, many) == values(brorl, "losing tokens, N = 4 minus N = 16")


def test_online_is_ahead_where_its_best_within_the_budget_is() -> None:
    found = small(online_vs_offline_gap)
    online, offline = (
        [max(win for far, win in zip(run.divergence, run.wins, strict=True) if far <= 1) for run in found[name].runs]
        for name in ("online", "offline")
    )
    assert np.subtract(online, offline) == values(online_vs_offline_gap, "over offline")


def test_the_effect_of_data_is_over_all_combinations() -> None:
    found = small(dpo_vs_ppo_study)
    better, worse = (
        np.mean([of.runs for of in found.outcomes.values() if of.condition.data is level], axis=0)
        for level in (True, False)
    )
    assert better - worse == values(dpo_vs_ppo_study, "better data")
    assert len(found.outcomes) == 16


def test_ratios_are_of_the_rival_over_ours() -> None:
    found = small(refined_lr)
    ours, rival = ([run.excess for run in found[name].runs] for name in ("linear", "constant"))
    assert np.log(np.divide(rival, ours)) == values(refined_lr, "linear over constant")


@pytest.mark.parametrize(
    ("module", "of", "ours", "theirs", "part"),
    [
        (starc, starc.correlation, "starc", "epic", "over epic"),
        (rewardmath, rewardmath.told, rewardmath.OURS, rewardmath.BEFORE, "lead over pairs of other styles"),
        (
            rewardbench_2,
            rewardbench_2.told,
            rewardbench_2.OURS,
            rewardbench_2.BEFORE,
            "lead over pairs of other styles",
        ),
    ],
    ids=["starc", "rewardmath", "rewardbench-2"],
)
def test_correlations_are_compared_in_the_same_world(module: Any, of: Any, ours: str, theirs: str, part: str) -> None:
    found = small(module)
    assert found[ours].each(of) - found[theirs].each(of) == values(module, part)


def test_the_share_of_mistakes_is_that_of_the_pairs_learnt_from() -> None:
    found = small(preference_ranking_accuracy)
    shares = []
    for run in found["dpo"].runs:
        before, after = (
            ranks.logp[: run.trained, 0] - ranks.logp[: run.trained, 1] for ranks in (run.before, run.after)
        )
        shares.append((after[before < 0] > 0).mean())
    assert 0.5 - np.array(shares) == values(preference_ranking_accuracy, "1/2 minus share of mistakes set right")
