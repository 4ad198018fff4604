"""reasoning-gym as environments: honest grading, splits, stable problems, clear refusals."""

import os
import random
import subprocess
import sys
from decimal import getcontext

import gymnasium
import numpy as np
import pytest
import reasoning_gym

from tiltyard.envs.text.faults import IMPURE, REBUILT, REFUSED
from tiltyard.envs.text.reasoning_gym import Problem, ReasoningGym, _same, datasets


def graded(batched: ReasoningGym, problem: object, *answers: str) -> list[bool]:
    texts = [f"<answer>{answer}</answer>" for answer in answers]
    return batched.grade(texts, [problem] * len(texts))[0].tolist()  # type: ignore[list-item]


def first(dataset: str, **kwargs: object) -> tuple[ReasoningGym, object]:
    batched = ReasoningGym(1, dataset=dataset, **kwargs)  # type: ignore[arg-type]
    return batched, batched.problems([0], [0])[0]


def test_a_sum_by_hand() -> None:
    batched, problem = first("chain_sum")
    problem.entry.update(question="3 - 7 =", answer="-4")  # type: ignore[attr-defined]
    assert (
        graded(batched, problem, "-4", " -4.0\n", "4", "The answer is -4", "-4 or 4", "") == [True, True] + [False] * 4
    )


@pytest.mark.parametrize("dataset", ["chain_sum", "products", "rectangle_count"])  # the last has other characters, too
def test_digits_of_other_scripts_are_no_answer(dataset: str) -> None:
    batched, problem = first(dataset)
    gold = problem.entry["answer"]  # type: ignore[attr-defined]
    for zero in ("\u0660", "\uff10"):  # Arabic-Indic, full width
        other = "".join(chr(ord(zero) + int(c)) if c.isdigit() else c for c in gold)
        assert batched._source.score_answer(other, problem.entry) == 1  # type: ignore[attr-defined]
        assert graded(batched, problem, gold, other) == [True, False]


def test_text_without_tags_earns_nothing_though_the_library_would_pay_some() -> None:
    batched, problem = first("chain_sum")
    gold = problem.entry["answer"]  # type: ignore[attr-defined]
    sentence = f"The answer is {gold}"
    assert batched._source.score_answer(sentence, problem.entry) > 0  # type: ignore[attr-defined]
    texts = [sentence, f"{sentence}: <answer>{gold}</answer>"]
    correct, readable = batched.grade(texts, [problem, problem])  # type: ignore[list-item]
    assert correct.tolist() == readable.tolist() == [False, True]


def test_adjacent_seeds_and_the_two_splits_share_no_item() -> None:
    library = [reasoning_gym.create_dataset("chain_sum", seed=s, size=50) for s in (42, 43)]
    assert library[0][1]["question"] == library[1][0]["question"], "the fault this is about"
    episodes = np.arange(200)
    kwargs = {"min_digits": 6, "max_digits": 6}  # so many possible items that two alike are no accident
    streams = [
        {
            p.entry["question"]
            for p in ReasoningGym(1, dataset_kwargs=kwargs, split=split).problems(episodes * 0 + s, episodes)
        }
        for s in range(40, 45)
        for split in ("train", "test")
    ]
    assert len(set().union(*streams)) == sum(map(len, streams)) == 10 * 200


def test_splits_are_disjoint_where_items_are_so_few_that_each_is_drawn_many_times() -> None:
    kwargs = {"min_terms": 2, "max_terms": 2, "min_digits": 1, "max_digits": 1}  # 10 * 10 * 2 questions
    seeds = np.arange(2_000)
    train, test = (
        {p.entry["question"] for p in ReasoningGym(1, dataset_kwargs=kwargs, split=split).problems(seeds, seeds)}
        for split in ("train", "test")
    )
    assert not train & test
    assert len(train | test) == 200


def test_questions_with_their_words_in_another_order_are_of_one_split() -> None:
    """By the question itself 15% of the test problems of lcm had a twin in train: lcm of 4, 6 and lcm of 6, 4."""
    batched = ReasoningGym(1, dataset="lcm")

    def form(question: str, answer: str) -> str:
        return batched.canonical(Problem({"question": question, "answer": answer}, 0))

    assert form("Find the LCM of 4, 6", "12") == form("Find the LCM of 6, 4", "12") != form("Find the LCM of 6, 2", "6")
    assert form("3 - 4 =", "-1") != form("4 - 3 =", "1")
    seeds = np.arange(600)
    train, test = (
        {
            tuple(sorted(p.entry["metadata"]["numbers"]))
            for p in ReasoningGym(1, dataset="lcm", split=split).problems(seeds, seeds)
        }
        for split in ("train", "test")
    )
    assert not train & test


def test_the_item_seed_leads_back_to_the_librarys_item() -> None:
    env = gymnasium.make("tiltyard/ReasoningGym-v0", dataset="chain_sum", split="test")
    question, info = env.reset(seed=9)
    assert info["dataset"] == "chain_sum"
    assert reasoning_gym.create_dataset("chain_sum", seed=info["item_seed"], size=1)[0]["question"] == question


@pytest.mark.parametrize(
    ("dataset", "wrong"),
    [
        ("game_of_life_halting", "maybe"),
        ("gsm_symbolic", "-{gold}"),
        ("fraction_simplification", "{gold} or 1/2"),
        ("letter_jumble", "{gold} and more"),
        ("spell_backward", "{gold}s"),
        ("word_sorting", "{gold}, zebra"),
        ("polynomial_equations", "{gold}, or none"),
        ("complex_arithmetic", "2+nani"),
        ("coin_flip", "0"),
        ("puzzle24", "6*4*1*1"),
        ("countdown", "{target}"),
        ("spiral_matrix", "__import__('builtins').print('run')"),
    ],
)
def test_known_faults_of_scorers_pay_nothing(dataset: str, wrong: str, capsys: pytest.CaptureFixture[str]) -> None:
    batched = ReasoningGym(1, dataset=dataset)
    for problem in batched.problems(np.arange(4), np.zeros(4, int)):
        gold, target = problem.entry["answer"], problem.entry["metadata"].get("target")
        assert graded(batched, problem, gold, wrong.format(gold=gold, target=target)) == [True, False]
    assert "run" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("answer", "gold", "alike"),
    [
        ("4.0", "4", True),
        ("+4", "4", True),
        ("2/4", "1/2", True),
        ("-4", "4", False),
        ("1 2", "12", False),
        ("[1,2]", "[1, 2]", True),
        ("['a']", '["a"]', True),
        ("1 2\n3 4", "1  2\n\n3 4\n", True),
        ("1 2 3 4", "1 2\n3 4", False),
        ("1/0", "1/0", True),  # the same text
        ("1e999999999", "4", False),  # no number: expanding it would take all memory
        ("", "4", False),
    ],
)
def test_exact_answers_are_compared_as_text_and_as_numbers(answer: str, gold: str, alike: bool) -> None:
    assert _same(answer, gold) == alike


def test_other_correct_answers_than_gold_are_right() -> None:
    batched, problem = first("n_queens")
    boards = problem.entry["metadata"]["valid_answers"]  # type: ignore[attr-defined]
    assert all(graded(batched, problem, *boards))
    batched, problem = first("coin_flip")
    problem.entry["metadata"]["rational"] = {"numerator": 1, "denominator": 8}  # type: ignore[attr-defined]
    assert graded(batched, problem, "1/8", "0.125", "12.5e-2", "0.1251", "0.13", "1/0") == [True] * 4 + [False] * 2


def test_the_chosen_number_is_exact_in_any_notation() -> None:
    batched, problem = first("number_format")
    problem.entry.update(answer="1234.5000000000002")  # type: ignore[attr-defined]
    problem.entry["metadata"].update(  # type: ignore[attr-defined]
        candidates=[1234.493, 1234.5000000000002],
        formatted_candidates=["1,234.493", "1234.500000"],
        solution=1234.5000000000002,
    )
    right = ["1234.500000", "1,234.5", "1234.5", "1.2345e+03", "1234.5000000000002"]
    wrong = ["1234.493", "1,234.493", "1234.4999", "1234.51", "1234.5 or 1", "one", "-1234.5"]
    assert graded(batched, problem, *right, *wrong) == [True] * len(right) + [False] * len(wrong)


def test_every_option_s_own_text_is_graded_and_one_alone_is_right() -> None:
    batched = ReasoningGym(1, dataset="number_format", level=3)
    for problem in batched.problems(np.arange(20), np.zeros(20, int)):
        metadata = problem.entry["metadata"]
        verdicts = graded(batched, problem, *metadata["formatted_candidates"])
        assert verdicts == [one == metadata["solution"] for one in metadata["candidates"]]


def test_a_level_is_the_librarys_curriculum() -> None:
    easy, hard = ReasoningGym(1, level=1), ReasoningGym(1, level=4, dataset_kwargs={"min_digits": 4})
    terms = [p.entry["metadata"]["num_terms"] for p in hard.problems(np.arange(60), np.arange(60))]
    assert set(terms) == {2, 3, 4, 5}  # level 4 of the library's list 2, 3, 4, 5, ... is 5 terms, easier ones included
    entry = easy.problems([0], [0])[0].entry
    assert (entry["metadata"]["num_terms"], entry["metadata"]["num_digits"]) == (2, 1)
    assert hard.problems([0], [0])[0].entry["metadata"]["num_digits"] == 4


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"dataset": "chain_sums"}, "unknown data set 'chain_sums'; did you mean 'chain_sum'"),
        ({"dataset_kwargs": {"min_term": 2}}, "unknown setting 'min_term'; did you mean 'min_terms'"),
        ({"dataset_kwargs": {"seed": 1}}, "unknown setting 'seed'"),
        ({"dataset_kwargs": {"min_terms": 9}}, "do not fit: max_terms must be >= min_terms"),
        ({"dataset_kwargs": {"min_terms": "two"}}, "do not fit"),
        ({"dataset": "gcd", "dataset_kwargs": {"min_value": 2.5}}, "do not work"),
        ({"level": 99}, "has levels 1 to 11, got 99"),
        ({"level": 0}, "has levels 1 to 11, got 0"),
        ({"dataset": "acre", "level": 1}, "has no levels"),
    ],
)
def test_bad_settings_get_one_sentence(kwargs: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        gymnasium.make("tiltyard/ReasoningGym-v0", **kwargs)


@pytest.mark.parametrize("dataset", REFUSED)
def test_a_refused_data_set_is_named_with_its_reason(dataset: str) -> None:
    assert dataset not in datasets()
    with pytest.raises(ValueError, match=f"data set '{dataset}' is refused: "):
        gymnasium.make("tiltyard/ReasoningGym-v0", dataset=dataset)


@pytest.mark.parametrize("dataset", sorted(IMPURE))
def test_global_state_is_as_it_was(dataset: str) -> None:
    batched = ReasoningGym(1, dataset=dataset)
    before = random.getstate(), np.random.get_state()[1].tolist(), getcontext().prec  # type: ignore[index]
    again = [batched.problems([3], [0])[0].entry for _ in range(2)]
    assert again[0]["question"] == again[1]["question"]
    assert before == (random.getstate(), np.random.get_state()[1].tolist(), getcontext().prec)  # type: ignore[index]


@pytest.mark.parametrize("dataset", sorted(REBUILT))
def test_data_sets_that_read_their_seed_when_built_give_other_problems_for_other_seeds(dataset: str) -> None:
    problems = ReasoningGym(1, dataset=dataset).problems(np.arange(5), np.zeros(5, int))
    assert len({problem.entry["question"] for problem in problems}) == 5


def test_letters_come_in_the_same_order_in_every_process() -> None:
    code = (
        "from tiltyard.envs.text.reasoning_gym import ReasoningGym as R\n"
        "print([R(1, dataset=d).problems([1], [0])[0].seed for d in ('ransom_note', 'isomorphic_strings')],"
        "[R(1, dataset=d).problems([1], [0])[0].entry['question'] for d in ('ransom_note', 'isomorphic_strings')])"
    )
    runs = [
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    ]
    assert runs[0] == runs[1] != b""


def test_too_few_items_for_a_split_is_said() -> None:
    kwargs = {"min_terms": 1, "max_terms": 1, "min_digits": 1, "max_digits": 1}  # the questions "0 =" to "9 ="
    seen = {}
    for split in ("train", "test"):
        problems = ReasoningGym(1, dataset_kwargs=kwargs, split=split).problems(np.arange(100), np.arange(100))
        seen[split] = {p.entry["question"] for p in problems}
    assert len(seen["train"]) + len(seen["test"]) == 10
    lonely = ReasoningGym(1, dataset_kwargs=kwargs, split="train")
    lonely.split = "test"
    lonely._item = lambda seed: lonely_item  # type: ignore[method-assign]
    lonely_item = ReasoningGym(1, dataset_kwargs=kwargs, split="train").problems([0], [0])[0]
    with pytest.raises(ValueError, match="gave no item of the test split in 500 draws"):
        lonely.problems([0], [0])
