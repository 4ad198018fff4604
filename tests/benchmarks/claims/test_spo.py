import pytest

from tiltyard.agents.language.tracker import Record
from tiltyard.benchmarks.claims import comparisons, spo
from tiltyard.benchmarks.claims.laboratory import Tree


def test_problems_are_drawn_by_what_is_uncertain() -> None:
    # Half are known, at 9 right of 10, weight sqrt(0.9 * 0.1) + 0.05 = 0.35; half are at the typical 0.5: 0.55.
    student = spo.student_of("spo", 0.03, 1000)
    for problem in range(128):
        student.tracker.records[problem] = Record(9.0, 1.0, *[None] * 3)  # type: ignore[list-item]
    assert spo.estimates(student)[127:129].tolist() == [0.9, 0.5]
    student.prompts = 1
    known = [int(spo.uncertain(student)) < 128 for _ in range(4000)]
    assert sum(known) / 4000 == pytest.approx(0.35 / (0.35 + 0.55), abs=0.03)  # 4 standard errors of 0.0077


def test_both_get_as_many_answers_and_few_of_grpos_teach() -> None:
    ours, grpo = (spo.student_of(arm, 0.0, 1000) for arm in ("spo", "grpo"))
    answers = [ours.iterate(), grpo.iterate()]
    assert [len(one) for one in answers] == [64, 64]
    assert [len(one.seed.unique()) for one in answers] == [64, 8]
    silent = [
        int((one.objective.advantage(of).abs() < 1e-3).sum()) for one, of in zip((ours, grpo), answers, strict=True)
    ]
    assert silent[0] == 0
    assert silent[1] >= 32


def test_every_arm_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spo, "ITERATIONS", 10)
    monkeypatch.setattr(spo, "TREE", Tree(2, 3))
    monkeypatch.setattr(spo, "WATCHED", 1)
    monkeypatch.setattr(comparisons, "best_rates", lambda score, arms, seeds, grid: dict.fromkeys(arms, 0.03))
    found = spo.measure(seeds=3)
    means = {name: one["estimate"] for name, one in found.details["held-out success, mean over training"].items()}
    assert means.keys() == spo.ARMS.keys()
    assert found.effect.estimate == pytest.approx(means["spo"] - means["grpo"])
    shares = found.details["share of answers with an advantage beyond 0.05"]
    assert shares["spo"]["all"] > shares["grpo"]["all"]
