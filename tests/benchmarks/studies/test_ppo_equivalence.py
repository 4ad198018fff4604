"""The study of equivalence at equal samples: what a run records, and what the page says of made-up ones."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import ttest_ind

from tiltyard.benchmarks.studies import ppo_equivalence as study

WHERE = {"commit": "c", "hardware": "h", "versions": {"torch": "2"}, "steps": 1000, "seconds": 0.5}


def records(difference: float, deviation: float) -> list[dict[str, Any]]:
    """Ten runs of two agents a task, the scores of fast-ppo higher by ``difference``; checkpoints spread evenly."""
    spread = deviation * np.linspace(-1.5, 1.5, 10)
    return [
        {"task": task, "agent": agent, "seed": seed, "scores": list(level + spread[seed] + np.arange(-2, 3)), **WHERE}
        for task in study.TASKS
        for agent, level in (("ppo", 0.4), ("fast-ppo", 0.4 + difference))
        for seed in range(10)
    ]


@pytest.mark.parametrize(
    ("difference", "deviation", "judged"),
    [
        (0.0, 0.03, "equivalent"),
        (0.03, 0.01, "equivalent"),
        (0.0, 0.2, "undecided"),
        (0.04, 0.02, "better"),
        (-0.2, 0.03, "worse"),
    ],
)
def test_each_task_is_judged_by_two_one_sided_tests(difference: float, deviation: float, judged: str) -> None:
    found = study.tables(records(difference, deviation))
    assert [row[:2] for row in found["differences"]] == [[task, "`fast-ppo`"] for task in study.TASKS]
    assert {row[3] for row in found["differences"]} == {judged}
    assert found["differences"][0][2].startswith(f"{difference:+.3f} [")
    assert [row[3:] for row in found["rows"]] == [["10 (0 to 9)", "2,000"]] * 6


def test_a_replication_is_judged_by_itself() -> None:
    first = records(0.0, 0.2)[:20]
    again = [{**one, "seed": one["seed"] + 100} for one in records(-0.2, 0.03)[:20]]
    found = study.tables([*again, *first])
    assert found["differences"][:1] == study.tables(first)["differences"]
    label = "tiltyard/HalfCheetah-v5, replication"
    assert [row[0] for row in found["differences"]] == ["tiltyard/HalfCheetah-v5", label]
    assert [row[3] for row in found["differences"]] == ["undecided", "worse"]
    assert [row[3] for row in found["rows"]] == ["10 (0 to 9)"] * 2 + ["10 (100 to 109)"] * 2


def test_there_is_no_verdict_of_three_seeds() -> None:
    few = [one for one in records(0.0, 0.03) if one["seed"] < 3]
    assert study.tables(few)["differences"] == []


def test_the_interval_is_that_of_welchs_test() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(0.5, 0.1, 10), rng.normal(0.4, 0.3, 7)
    wanted = ttest_ind(a, b, equal_var=False).confidence_interval(0.9)
    assert study.welch(a, b)[1:] == pytest.approx((wanted.low, wanted.high), abs=1e-12)


@pytest.mark.parametrize("agent", study.AGENTS)
def test_a_run_is_scored_at_five_checkpoints(agent: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study, "NUM_ENVS", 4)
    monkeypatch.setattr(study, "SETTINGS", {**study.SETTINGS, "n_steps": 8, "batch_size": 32})
    monkeypatch.setattr(study, "EPISODES", 2)
    seen: list[int] = []
    real = study.score

    def score(model: Any, normaliser: Any, task: str, episodes: int) -> float:
        assert (normaliser is None) == (agent == "fast-ppo")
        seen.append(model.num_timesteps)
        return real(model, normaliser, task, episodes)

    monkeypatch.setattr(study, "score", score)
    found = study.run("tiltyard/Highway-v1", agent, 0, 640)
    assert seen == [512, 544, 576, 608, 640]
    assert found["steps"] == 640
    assert len(set(found["scores"])) > 1


def test_the_page_needs_runs_and_holds_their_data(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="holds no run yet: python benchmarks/studies/ppo_equivalence.py run"):
        study.report(tmp_path / "runs", tmp_path / "out", "command")
    made = records(0.0, 0.03)[:20]
    for one in made:
        study.once(tmp_path / "runs", f"{one['agent']}-{one['seed']}", {}, lambda one=one: one)  # type: ignore[misc]
    study.report(tmp_path / "runs", tmp_path / "out", "command")
    page = (tmp_path / "out" / "README.md").read_text()
    assert "| `fast-ppo` | +0.000 [-0.02" in page
    assert "1,000 samples in tiltyard/HalfCheetah-v5." in page
    assert (tmp_path / "out" / "results.json").read_text().count('"scores"') == 20
    study.once(tmp_path / "more", "ppo-10", {}, lambda: {**made[0], "seed": 10})
    study.report(tmp_path / "more", tmp_path / "out", "command")  # where the files of the other runs are gone
    assert (tmp_path / "out" / "results.json").read_text().count('"scores"') == 21
    assert "| 11 (0 to 10) |" in (tmp_path / "out" / "README.md").read_text()
