"""The study at equal processor time: what a run records, and what the page says of made-up ones."""

from pathlib import Path
from typing import Any

import pytest

from tiltyard.benchmarks.studies import fast_off_policy as study
from tiltyard.envs.catalogue import find

WHERE = {"commit": "c", "hardware": "h", "versions": {"torch": "2"}, "settings": {"seconds": 60.0, "episodes": 2}}


def made(task: str, agent: str, seed: int, level: float) -> dict[str, Any]:
    """A run that ends ``level`` of the way from a random policy to the expert, give or take a hundredth."""
    row = find(task)
    end = row.random_score + (level + 0.01 * (seed % 3)) * (row.expert_score - row.random_score)
    point = {"seconds": 60.0, "steps": 1000, "updates": 10, "returns": [end - 1.0, end + 1.0]}
    return {"task": task, "agent": agent, "seed": seed, "curve": [{**point, "returns": [0.0]}, point], **WHERE}


def records(levels: dict[str, float]) -> list[dict[str, Any]]:
    return [
        made(task, agent, seed, level) for task in study.TASKS for agent, level in levels.items() for seed in range(4)
    ]


def test_a_run_scores_what_its_last_evaluation_returned() -> None:
    row = find(study.TASKS[0])
    assert study.score(made(study.TASKS[0], "sac", 0, 0.5)) == pytest.approx((row.random_score + row.expert_score) / 2)


@pytest.mark.parametrize(
    ("level", "judged", "said"),
    [
        (0.6, "at least as good", "on 5 of 5 tasks: what was asked for is reached."),
        (0.49, "worse", "on 0 of 5 tasks: what was asked for is not reached."),
        (0.3, "worse", "on 0 of 5 tasks: what was asked for is not reached."),
    ],
)
def test_each_agent_is_judged_against_ppo_on_each_task(level: float, judged: str, said: str) -> None:
    found = study.tables(records({"fast-ppo": 0.52, "fast-td3": level}))
    assert [row[-1] for row in found["differences"]] == [judged] * len(study.TASKS)
    assert said in found["verdicts"][1]
    assert "`sac` is at least as good as `fast-ppo` on 0 of 5" in found["verdicts"][0]


def test_an_interval_on_both_sides_of_the_margin_is_undecided() -> None:
    verdicts = [study.verdict(low, high) for low, high in ((-0.06, 0.2), (-0.04, 0.2), (-0.2, -0.01), (-0.04, -0.01))]
    assert verdicts == ["undecided", "at least as good", "worse", "worse"]


def test_the_page_holds_raw_returns_and_data(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    with pytest.raises(ValueError, match="holds no run yet: python benchmarks/studies/fast_off_policy.py run"):
        study.report(runs, tmp_path / "out", "command")
    arguments = (study.TASKS[1], "fast-td3", 0, 0.2, 1)
    once = study.once(runs, "one", {"seconds": 0.2, "episodes": 1}, lambda: study.run(*arguments))
    assert [point["seconds"] for point in once["curve"]] == pytest.approx([0.05, 0.1, 0.15, 0.2])
    steps = [point["steps"] for point in once["curve"]]
    assert steps == sorted(steps)
    assert steps[0] > 0
    study.report(runs, tmp_path / "out", "command")
    page = (tmp_path / "out" / "README.md").read_text()
    assert f"| {study.TASKS[1]} | fast-td3 |" in page
    assert "Differences" not in page
    assert (tmp_path / "out" / "results.json").is_file()
