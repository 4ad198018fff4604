"""Studies of CRAFT-GUI and OpAgent: differences, tables and verdicts by hand, and whole runs at the least size."""

from pathlib import Path
from typing import Any

import pytest

from tiltyard.benchmarks.studies import craft_gui, opagent
from tiltyard.benchmarks.studies._phone_study import differences, tables, verdict


def run(condition: str, seed: int, value: float) -> dict[str, Any]:
    return {"condition": condition, "seed": seed, "found": {"success": value, "progress": value / 2}}


def test_differences_are_paired_by_seed() -> None:
    runs = [run("a", 2, 0.5), run("b", 0, 0.1), run("a", 0, 0.4), run("b", 2, 0.25), run("b", 1, 0.9), {"premise": {}}]
    assert differences(runs, "a", "b", "success") == pytest.approx((0.3, 0.25))


def test_tables_have_a_row_a_condition_and_what_was_known_before() -> None:
    runs = [run("a", 0, 0.2), run("a", 1, 0.4), {"premise": {"length": 7.0}}, run("b", 0, 0.5)]
    found, before = tables(runs, ["success"])
    assert found.rows[0] == ["a", "0.300 [-0.971, 1.571]", "2"]  # 12.706 * 0.1414 / sqrt(2)
    assert found.rows[1][::2] == ["b", "1"]
    assert before.rows == [["length", "7"]]


def test_the_verdict_is_of_the_parts_that_decide() -> None:
    far, near = (0.2, 0.21, 0.22, 0.19, 0.2), (0.001, -0.002, 0.001, 0.0, -0.001)
    assert "**supported**" in verdict({"x": (far, True), "y": (near, False)}, 0.05)
    assert "**equivalent**" in verdict({"x": (near, True), "y": (far, False)}, 0.05)
    assert verdict({"x": (far, True), "y": (near[:2], True)}, 0.05) == "Too few seeds for a verdict."


@pytest.mark.slow
def test_whole_runs_at_the_least_size(tmp_path: Path) -> None:
    tiny = ["--problems", "4", "--out", str(tmp_path / "craft")]
    craft_gui.main(["premise", "--episodes", "4", *tiny])
    craft_gui.main(["run", "--conditions", *craft_gui.CONDITIONS, "--updates", "4", "--episodes", "4", *tiny])
    craft_gui.main(["report", *tiny])
    assert "| binary |" in (tmp_path / "craft/README.md").read_text()
    base = str(Path("agents/models/checkpoints/phone-v1-base.safetensors"))
    tiny = ["--problems", "4", "--base", base, "--out", str(tmp_path / "opagent")]
    opagent.main(["premise", "--episodes", "4", *tiny])
    for condition in opagent.CONDITIONS:
        opagent.main(["run", "--condition", condition, "--steps", "2048", *tiny])
    opagent.main(["report", *tiny])
    assert "| hybrid |" in (tmp_path / "opagent/README.md").read_text()
