"""Verdicts on parts: hand-made cases of each; their error rates are in studies/test_verdict_rules.py."""

from dataclasses import replace
from math import isnan, log, sqrt

import numpy as np
import pytest
from scipy.stats import ttest_1samp, ttest_ind

from tiltyard.benchmarks.statistics import Interval
from tiltyard.benchmarks.verdicts import Judged, Part, Sample, judge, noncentrality, overall, student_interval, told


def part(mean: float, error: float, runs: int = 10, **how) -> Part:
    return Part(Sample(mean, error, runs - 1, runs), **how)


def verdict(one: Part) -> str:
    return judge({"": one})[""].judgement


def test_student_by_hand():
    found = student_interval([1.0, 2.0, 3.0])  # deviation 1, t of 2 degrees of freedom 4.3027
    assert (found.estimate, found.high) == pytest.approx((2.0, 2 + 4.30265 / sqrt(3)), abs=1e-4)
    assert found.low == pytest.approx(4 - found.high)


def test_p_is_scipys():
    values = [0.3, 0.1, 0.5, -0.2, 0.4]
    found = judge({"": Part(Sample.of(values), tuple(values), threshold=0.1)})[""]
    assert found.p == pytest.approx(ttest_1samp(values, 0.1).pvalue)
    assert found.values == tuple(values)


def test_unpaired_sides_are_welchs():
    a, b = [1.0, 2.0, 4.0, 3.0], [0.0, 5.0, -3.0, 1.0, 2.0]
    found = Sample.of(a).minus(Sample.of(b))
    welch = ttest_ind(a, b, equal_var=False)
    assert found.freedom == pytest.approx(welch.df)
    assert 2 * found.above(0.0) == pytest.approx(welch.pvalue)


def test_a_percentile_interval_gives_back_the_standard_error():
    values = np.random.default_rng(0).normal(1.0, 2.0, 12)
    drawn = np.random.default_rng(1).choice(values, (200_000, 12)).mean(1)
    low, high = np.quantile(drawn, (0.025, 0.975))
    found = Sample.from_percentiles(Interval(values.mean(), low, high), 12)
    assert found.error == pytest.approx(Sample.of(values).error, rel=0.02)


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (part(0.10, 0.02), "supported"),
        (part(-0.10, 0.02), "contradicted"),
        (part(0.01, 0.02), "undecided"),
        (part(0.01, 0.02, margin=0.1), "equivalent"),
        (part(0.10, 0.02, margin=0.2), "supported"),  # there, though it counts for little
        (part(1.0, 0.02, threshold=1.5), "contradicted"),
        (part(-0.005, 0.002, margin=0.02, wanted="no less"), "supported"),  # less, but by less than the margin
        (part(-0.03, 0.002, margin=0.02, wanted="no less"), "contradicted"),
        (part(-0.01, 0.002, margin=0.02, wanted="no less"), "supported"),  # clearly less, but by less than the margin
        (part(-0.02, 0.002, margin=0.02, wanted="no less"), "undecided"),  # clearly less, by the margin or nearly so
        (part(-0.02, 0.012, margin=0.02, wanted="no less"), "undecided"),
    ],
)
def test_verdicts(one, expected):
    assert verdict(one) == expected


def test_what_is_out_of_reach_cannot_be_decided():
    found = judge({"": part(0.02, 0.01, threshold=1.5, highest=1.02)})[""]
    assert found.judgement == "undecided"
    assert found.reason == "cannot be decided here: the largest possible value is 1.02, and support begins above 1.5"
    assert verdict(part(0.02, 0.01, threshold=1.5, highest=1.6)) == "contradicted"


def test_runs_that_all_agree_get_no_interval_of_no_width():
    for values in ([0.0] * 5, [0.1 + 0.2, 0.3, 0.3]):
        found = judge({"": Part(Sample.of(values), margin=1.0)})[""]
        assert found.judgement == "undecided"
        assert "their spread is not known" in found.reason
        assert isnan(found.interval.low)
        assert isnan(found.p)
        assert str(found.interval).endswith("[no interval: identical runs]")


def test_holm_is_over_the_parts():
    alone = part(0.05, 0.02)  # p = 0.034
    assert verdict(alone) == "supported"
    both = judge({"a": alone, "b": part(0.0, 0.02)})
    assert both["a"].judgement == "undecided"
    assert both["a"].p == pytest.approx(2 * judge({"": alone})[""].p)
    assert both["a"].detectable > judge({"": alone})[""].detectable


def test_detectable_is_found_four_times_in_five():
    values = np.random.default_rng(0).normal(size=(20_000, 6))
    away = noncentrality(5) / sqrt(6)
    found = ttest_1samp(values + away, 0.0, axis=1)
    assert ((found.pvalue <= 0.05) & (found.statistic > 0)).mean() == pytest.approx(0.8, abs=0.01)


def test_logarithms_are_shown_as_what_they_are_of():
    found = judge({"": part(log(4.0), 0.05, log=True)})[""]
    assert found.interval.estimate == pytest.approx(4.0)
    assert found.threshold == 1.0
    assert found.judgement == "supported"


@pytest.mark.parametrize(
    "how",
    [
        {"threshold": 0.1, "margin": 0.05},
        {"margin": 0.2, "wanted": "no less", "decides": False, "source": "a table"},
        {"threshold": log(1.2), "margin": log(1.1), "log": True},
        {"log": True},
    ],
)
def test_what_was_judged_comes_back_from_its_verdict(how):
    values = (0.3, 0.1, 0.5, -0.2, 0.4)
    given = Part(Sample.of(values), values, **how)
    found = judge({"": given})[""]
    assert found.part == replace(given, threshold=pytest.approx(given.threshold))
    assert judge({"": found.part})[""].judgement == found.judgement


def judged(*judgements: str, beside: str = "") -> dict[str, Judged]:
    base = judge({"": part(0.1, 0.1)})[""]
    found = {str(i): replace(base, judgement=one) for i, one in enumerate(judgements)}
    return found | ({"beside": replace(base, judgement=beside, decides=False)} if beside else {})


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        (judged("supported", "supported"), "supported"),
        (judged("supported", "contradicted", "undecided"), "contradicted"),
        (judged("supported", "undecided"), "undecided"),
        (judged("supported", "equivalent"), "equivalent"),
        (judged("supported", beside="contradicted"), "supported"),
        ({}, "undecided"),
    ],
)
def test_a_claim_is_as_good_as_its_parts(parts, expected):
    assert overall(parts) == expected


def test_no_difference_hides_behind_decimals():
    assert told(Interval(-0.0196, -0.0229, -0.0162)) == "-0.0196 [-0.0229, -0.0162]"
    assert told(Interval(96.5, -11.2, 204.1)) == "96 [-11, 204]"
    assert told(Interval(0.5, float("nan"), float("nan"))) == "0.50 [no interval: identical runs]"


@pytest.mark.parametrize(
    ("values", "said"),
    [([1.0, 2.0], "at least 3 runs"), ([[1.0], [2.0], [3.0]], "one value"), ([1.0, 2.0, np.nan], "finite")],
)
def test_what_cannot_be_judged_is_refused(values, said):
    with pytest.raises(ValueError, match=said):
        Sample.of(values)


def test_margins_are_checked():
    with pytest.raises(ValueError, match="positive"):
        part(0.0, 1.0, margin=0.0)
    with pytest.raises(ValueError, match="needs the margin"):
        part(0.0, 1.0, wanted="no less")
