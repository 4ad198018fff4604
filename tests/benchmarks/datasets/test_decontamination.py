"""Rows of text that overlap with test problems are found and left out."""

import json
from pathlib import Path

import pytest

from tiltyard.benchmarks.cli import main
from tiltyard.benchmarks.datasets.decontamination import Match, Overlap, problems_of, tokens_of

ENV = "tiltyard/Countdown-v0"
STORY = "A train leaves the old station at noon with forty people, and arrives in the evening with two."


def test_tokens_are_words_and_single_marks() -> None:
    assert tokens_of("Make 2 from 3, 1!\n") == ["make", "2", "from", "3", ",", "1", "!"]


def test_shares_by_hand() -> None:
    overlap = Overlap(["a b c d e f g h i j", "x y"], n=4, threshold=0.5)
    assert overlap.match(0, "a b c d e f g h i j") == Match(0, 0, 1.0)
    assert overlap.match(1, "... A B C D E F ...") == Match(1, 0, 0.6)  # three n-grams cover six of ten tokens
    assert overlap.match(2, "a b c d z g h i j") == Match(2, 0, 0.8)  # in two places
    assert overlap.match(3, "a b c d e") is None  # half, and not more
    assert overlap.match(4, "a b c z d e f z g h i") is None  # n-grams that are too short
    assert overlap.match(5, "so x y it is") == Match(5, 1, 1.0)  # a problem that is shorter than n
    assert overlap.match(6, "x z y") is None
    assert overlap.match(7, "") is None
    both = "x y and a b c d e f"
    assert overlap.matches(["nothing", both]) == [Match(1, 1, 1.0)]  # the problem that it covers most


def test_problems_are_those_that_an_evaluation_plays() -> None:
    from tiltyard import benchmarks

    asked: list[str] = []

    def agent(question: str) -> str:
        asked.append(question)
        return ""

    benchmarks.evaluate(agent, ENV, episodes=150)
    ours = problems_of(ENV, 150)
    assert len(ours) == 150
    assert set(ours) <= set(asked)
    games = problems_of("tiltyard/TwentyQuestions-v0", 130)  # episodes of several turns
    assert len(games) == 130
    assert all(game.startswith("Objects: ") for game in games)
    with pytest.raises(TypeError, match="problems of tiltyard/Hopper-v5 are no texts"):
        problems_of("tiltyard/Hopper-v5", 2)


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """A hundred stories, and three test problems among them in other words around."""
    planted = problems_of(ENV, 40)[:30:10]
    texts = [f"{STORY} Story {number}." for number in range(100)]
    for place, problem in zip((0, 50, 102), planted, strict=True):
        texts.insert(place, f"Hello! {problem.lower()} Thanks.")
    lines = [json.dumps({"prompt": text, "completion": "é", "reward": 1.0}, ensure_ascii=False) for text in texts]
    lines.insert(7, "")
    (tmp_path / "rows.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path / "rows.jsonl"


def test_planted_problems_are_all_found_and_left_out(rows: Path, capsys: pytest.CaptureFixture[str]) -> None:
    clean = rows.with_name("clean.jsonl")
    assert main(["dataset", "overlap", str(rows), ENV, "--problems", "40", "--out", str(clean)]) == 0
    said = capsys.readouterr().out
    assert f"3 of 103 rows overlap with 3 of 40 test problems of {ENV}" in said
    for line in (1, 52, 104):  # of the file, with its empty line
        assert f"line {line} of rows.jsonl: 100% of " in said
    before = [line for line in rows.read_text(encoding="utf-8").splitlines() if line]
    assert clean.read_text(encoding="utf-8").splitlines() == [line for line in before if "Hello!" not in line]
    assert main(["dataset", "overlap", str(clean), ENV, "--problems", "40"]) == 0
    assert "0 of 100 rows overlap with 0 of 40" in capsys.readouterr().out
    assert main(["dataset", "overlap", str(rows), ENV, "--out", str(clean)]) != 0
    assert "is there already" in capsys.readouterr().err


def test_what_is_wrong_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "rows.jsonl"
    for text, said in (
        ("", "there are no rows in"),
        ('{"text": "a"}\n', "line 1 of rows.jsonl has no prompt that is a text"),
        ("[1]\n", "line 1 of rows.jsonl has no prompt that is a text"),
        ("{\n", "is not JSON"),
    ):
        file.write_text(text)
        assert main(["dataset", "overlap", str(file), ENV]) != 0
        assert said in capsys.readouterr().err
    assert main(["dataset", "overlap", str(tmp_path / "none.jsonl"), ENV]) != 0
    assert "there is no file" in capsys.readouterr().err
    for wrong in ({"n": 0}, {"threshold": 1.0}, {"threshold": -0.1}):
        with pytest.raises(ValueError, match="n is at least 1 and threshold a share"):
            Overlap(["a"], **wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="the problems are empty"):
        Overlap(["", " "])
