"""Three domains of text problems: programs against Python, splits, rewards by hand, and what each seed draws."""

import contextlib
import io
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from tiltyard.benchmarks.testbeds.domains import (
    DOMAINS,
    HARD,
    TEMPLATES,
    Domains,
    Line,
    PartialCredit,
    Program,
    Programs,
    right_share,
    trace,
)

SEEDS = np.arange(300)
BY_HAND = Program(
    (Line("b", "7", "", ""), Line("a", "b", "-", "3"), Line("b", "a", "+", "b"), Line("a", "b", "-", "9")), "a"
)


def test_a_program_is_traced_line_by_line() -> None:
    assert Programs(1).prompt(BY_HAND) == "b=7;a=b-3;b=a+b;a=b-9;print a"
    assert trace(BY_HAND) == "b=7 a=4 b=11 a=2<answer>2</answer>"
    assert trace(BY_HAND, [0, 1, 0, 0]) == "b=7 a=5 b=12 a=3<answer>3</answer>"  # later lines inherit the slip


def test_programs_print_what_python_prints() -> None:
    env = Programs(1)
    for program in env.problems(SEEDS, np.zeros_like(SEEDS)):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(env.prompt(program).replace("print ", "print(") + ")", {})  # our own program of four assignments
        assert f"<answer>{printed.getvalue().strip()}</answer>" in env.solve(program)


def test_a_program_with_other_names_is_the_same_problem_and_in_the_same_split() -> None:
    env = Programs(1)
    renamed = Program(
        (Line("c", "7", "", ""), Line("b", "c", "-", "3"), Line("c", "b", "+", "c"), Line("b", "c", "-", "9")), "b"
    )
    assert env.canonical(renamed) == env.canonical(BY_HAND)
    zeros = np.zeros_like(SEEDS)
    train, test = ({env.canonical(p) for p in Programs(1, split=s).problems(SEEDS, zeros)} for s in ("train", "test"))
    assert not train & test


@pytest.mark.parametrize("domain", [*DOMAINS, HARD])
def test_experts_are_right_and_corrupted_texts_are_readable_and_wrong(domain: str) -> None:
    env, rng = Domains(1, domains=(domain,)), np.random.default_rng(0)
    problems = env.problems(SEEDS[:60], np.zeros(60, np.int64))
    assert env.grade([env.solve(one) for one in problems], problems)[0].all()
    correct, readable = env.grade([env.corrupt(one, rng) for one in problems], problems)
    assert not correct.any()
    assert readable.all()


def test_seeds_draw_domains_and_templates_alike() -> None:
    asked = Domains(1).problems(SEEDS, np.zeros_like(SEEDS))
    for name, wanted in (("domain", DOMAINS), ("template", TEMPLATES)):
        drawn = [getattr(one, name) for one in asked]
        assert all(abs(drawn.count(one) / len(drawn) - 1 / len(wanted)) < 0.1 for one in wanted)
    chat = Domains(1, templates=("chat",))
    assert all(chat.prompt(one).startswith("User: ") for one in chat.problems(SEEDS[:5], np.zeros(5, np.int64)))


def test_each_domain_has_its_own_noise_and_references_have_none() -> None:
    env = Domains(1, noise={"arithmetic": 0.0, "code": 1.0, "logic": 0.5})
    asked = env.problems(SEEDS, np.zeros_like(SEEDS))
    shown = env.demonstrations(SEEDS, noise=0.3, rng=np.random.default_rng(1))
    right = env.grade(shown.completions, asked)[0]
    share = {domain: right[[one.domain == domain for one in asked]].mean() for domain in DOMAINS}
    assert share["arithmetic"] == 1
    assert share["code"] == 0
    assert 0.3 < share["logic"] < 0.7
    assert env.grade(env.demonstrations(SEEDS).completions, asked)[0].all()


REFERENCE = "A+<answer>Ann knight, Bob knave, Cid knave, Dan knight</answer>"


@pytest.mark.parametrize(
    ("said", "share"),
    [
        ("<answer>Ann knight, Bob knave, Cid knave, Dan knight</answer>", 1.0),
        ("<answer>dan knight, cid knave, bob knave, ann knight</answer>", 1.0),
        ("<answer>Ann knight, Bob knight, Cid knave, Dan knave</answer>", 0.5),
        ("<answer>Ann knight, Bob knave, Cid knave</answer>", 0.0),
        ("<answer>Ann knight, Ann knight, Bob knave, Dan knight</answer>", 0.0),
        ("Ann knight, Bob knave, Cid knave, Dan knight", 0.0),
    ],
)
def test_partial_credit_is_the_share_of_people_that_are_right(said: str, share: float) -> None:
    assert right_share(said, REFERENCE) == share


def test_partial_credit_reads_each_completion_and_its_reference() -> None:
    texts = [["<answer>Ann knight, Bob knave</answer>"], ["<answer>Ann knave, Bob knave</answer>"]]
    given: Any = SimpleNamespace(completions=texts, reward=torch.zeros(2), references=lambda: [texts[0][0]] * 2)
    none: Any = None
    assert PartialCredit().shape(given, none).tolist() == [1.0, 0.5]
