"""The study of evaluators: its episodes, and its page from its rows."""

from pathlib import Path

from tiltyard.benchmarks.studies.evaluator_noise import SIZES, TINY, halves, page, stored, write
from tiltyard.envs.gui.elements import DONE

SHARE = {"estimate": 0.25, "low": 0.1, "high": 0.5, "n": 100}


def test_episodes_are_successes_and_failures_in_turn_and_end_on_their_own_screen() -> None:
    found = halves(6, 0, TINY, split="train")
    assert [one.success for one in found] == [True, False] * 6
    assert [one.rewards.sum() > 0 for one in found] == [True, False] * 6
    for one in found:
        assert (one.observations["goal"] == one.observations["goal"][0]).all()  # none is the next episode's
        if one.actions[-1, 0] == DONE:
            assert (one.observations["elements"][-1] == one.observations["elements"][-2]).mean() > 0.9


def test_the_page_shows_every_model() -> None:
    rows = [{"seed": 0, "train": 60, "false_positive": SHARE, "false_negative": SHARE, "cpu_seconds": 60.0}]
    about = {"command": "python it", "commit": "abc", "hardware": "a machine", "versions": {"torch": "2"}}
    text = page({**about, "model": rows, "sizes": SIZES})
    assert "| 0 | 60 | 0.25 [0.10, 0.50] | 0.25 [0.10, 0.50] |" in text
    assert "Command: `python it`" in text


def test_rows_are_kept_for_the_same_sizes_alone(tmp_path: Path) -> None:
    rows = [
        {"seed": 3, "cpu_seconds": 0.0} | dict.fromkeys(("false_positive", "false_negative"), SHARE) | {"train": 20}
    ]
    assert stored(TINY, tmp_path) == []
    write(rows, TINY, tmp_path)
    assert stored(TINY, tmp_path) == rows
    assert stored(SIZES, tmp_path) == []
