"""``tiltyard show HANDLE``: one address for a paper."""

import pytest

from tiltyard.benchmarks import index
from tiltyard.benchmarks.cli import main
from tiltyard.benchmarks.index import parts, parts_of


def test_show_prints_formula_files_test_claim_and_link(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "gigpo"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("gigpo: Group-in-Group Policy Optimization for LLM Agent Training (2025)")
    for part in (
        "https://arxiv.org/abs/2505.10978",
        "A_t = A_E + omega * A_S",
        "omega=1.0, gamma=0.95",
        "agents/objectives/gigpo.py",
        "tests/agents/objectives/test_gigpo.py",
        "tiltyard claim gigpo",
        "docs/results/text-v1/",
    ):
        assert part in shown


def test_show_of_what_is_not_built_says_so_and_what_it_would_take(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "adv-activelearn"]) == 0
    shown = capsys.readouterr().out
    assert "not built yet" in shown
    assert "worst-class excess error" in shown


def test_show_of_an_unknown_handle_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "gigpoo"]) == 2
    assert "did you mean 'gigpo'" in capsys.readouterr().err


def test_identity_is_kind_and_handle() -> None:
    assert [(part.kind, part.handle) for part in parts_of("ppo")] == [
        ("agent", "ppo"),
        ("agent", "fast-ppo"),
        ("agent", "recurrent-ppo"),
        ("agent", "sb3-ppo"),
        ("method", "ppo"),
    ]
    assert len({(part.kind, part.handle) for part in parts()}) == len(parts())


def test_a_variant_shows_whose_file_it_uses() -> None:
    (part,) = parts_of("drpo-decoupled")
    assert part.sources[0] == "agents/objectives/disco.py"


def test_what_stands_in_no_catalogue_counts_as_built() -> None:
    assert {"adastop", "tq-saco", "prefixgrouper", "carl", "rliable"} <= {part.paper for part in parts()}


def test_a_part_whose_paper_is_in_no_table_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    part = index.Part("method", "sign-grpo", "sign-grpo", ("tiltyard.agents.objectives.gspo:loss",))
    monkeypatch.setattr(index, "parts", lambda: (part,))
    with pytest.raises(KeyError, match=r"unknown paper 'sign-grpo'.*\(papers are the rows of tiltyard/papers.tsv"):
        index.describe("sign-grpo")
