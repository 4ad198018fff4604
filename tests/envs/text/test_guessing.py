"""Tables that hold together, a grammar that cannot be cheated, and an expert that asks what halves."""

from typing import Any

import numpy as np
import pytest

from tiltyard.envs.text import guess_my_city, twenty_questions
from tiltyard.envs.text.base import CHARSET, Conversation
from tiltyard.envs.text.guess_my_city import GuessMyCity
from tiltyard.envs.text.guessing import Problem, Table
from tiltyard.envs.text.twenty_questions import TwentyQuestions

GAMES: dict[str, tuple[Any, Any]] = {
    "TwentyQuestions": (twenty_questions, TwentyQuestions),
    "GuessMyCity": (guess_my_city, GuessMyCity),
}
each_game = pytest.mark.parametrize("name", GAMES)
each_level = pytest.mark.parametrize(
    ("name", "level"), [(name, level) for name, (module, _) in GAMES.items() for level in module.LEVELS]
)
# Four things: which are animals (the first two), which is large (the second), which colour (the last two are alike).
SMALL = Table(
    ("ant", "cow", "rose", "sky"),
    ("is it an animal", "is it large", "which colour"),
    (("no", "yes"), ("no", "yes"), ("black", "brown", "red")),
    np.array([[1, 0, 0], [1, 1, 1], [0, 0, 2], [0, 0, 2]]),
)


@each_game
def test_the_table_tells_all_apart_and_every_question_says_something(name: str) -> None:
    table = GAMES[name][0].knowledge()
    assert len(set(table.names)) == len(table.names)
    assert len(np.unique(table.answers, axis=0)) == len(table.names), "two have the same answers"
    assert (table.answers.min(0) < table.answers.max(0)).all(), "a question with one answer for all"
    kinds = [len(words) for words in table.replies]
    assert (table.answers.min(0) == 0).all()
    assert (table.answers.max(0) == np.array(kinds) - 1).all(), "a reply that is never given"
    texts = [*table.names, *table.questions, *(word for words in table.replies for word in words)]
    assert all(set(text) <= set(CHARSET) and text == text.lower().strip() for text in texts)


def test_the_tables_are_as_large_as_promised() -> None:
    objects, cities = twenty_questions.knowledge(), guess_my_city.knowledge()
    assert len(objects.names) >= 150
    assert len(objects.questions) >= 60
    assert len(cities.names) >= 100
    assert max(map(len, cities.replies)) > 30  # the languages
    assert {len(words) for words in objects.replies} == {2}
    assert len(np.unique(objects.answers, axis=1).T) == len(objects.questions), "two questions say the same"


@each_level
def test_who_asks_nothing_wins_as_often_as_the_table_says(name: str, level: int) -> None:
    batched = GAMES[name][1](1, level=level, split="test")
    assert f"{100 * batched.turns / batched.shape.names:.1f}%" in GAMES[name][0].__doc__
    seeds = np.arange(200)
    won = 0
    for problem in batched.problems(seeds, seeds * 0):
        guesses = [f"is it {batched.table.names[i]}?" for i in problem.names[: batched.turns]]
        won += any(batched.reply(problem, guesses[: turn + 1]).won for turn in range(batched.turns))
    luck = batched.turns / batched.shape.names
    assert abs(won / 200 - luck) < 4 * np.sqrt(luck * (1 - luck) / 200)


@each_game
def test_no_question_reads_as_a_guess(name: str) -> None:
    table = GAMES[name][0].knowledge()
    assert len(table.utterances) == 4 * len(table.names) + len(table.questions)
    for i, thing in enumerate(table.names):
        assert table.read(f"is it {thing}?") == (True, i)
    for j, question in enumerate(table.questions):
        assert table.read(f"{question}?") == (False, j)


def facts(thing: str) -> set[str]:
    table = twenty_questions.knowledge()
    row = table.answers[table.names.index(thing)]
    return {question for question, answer in zip(table.questions, row, strict=True) if answer}


def test_what_everybody_knows_about_objects() -> None:
    assert {"is it an animal", "is it a bird", "does it spend much of its life in water"} <= facts("penguin")
    assert "can it fly" not in facts("penguin")
    assert {"is it a mammal", "can it fly", "is it most awake at night"} <= facts("bat")
    assert {"does it have strings", "is it a musical instrument", "is it bigger than a person"} <= facts("piano")
    assert {"is it food", "does it grow on trees", "is it usually yellow"} <= facts("lemon")
    assert "is it sweet" not in facts("lemon")
    assert {"is it in outer space", "does it get very hot"} <= facts("sun")
    assert "is it made by people" not in facts("sun")


IMPLIED = [
    ("is it a mammal", "is it an animal"),
    ("is it a bird", "is it an animal"),
    ("is it a reptile", "is it an animal"),
    ("is it an insect", "is it an animal"),
    ("does it have hooves", "is it a mammal"),
    ("does it live on a farm", "is it an animal"),
    ("does it hunt", "is it an animal"),
    ("is it sold as fruit", "is it food"),
    ("is it sold as a vegetable", "is it food"),
    ("does it contain alcohol", "can you drink it"),
    ("is it drunk hot", "can you drink it"),
    ("is it a flower", "is it a plant"),
    ("is it bigger than a car", "is it bigger than a person"),
    ("is it bigger than a person", "is it bigger than a shoebox"),
    ("does it have an engine", "is it made by people"),
    ("does it need electricity", "is it made by people"),
    ("does it have a screen", "does it need electricity"),
    ("is it a musical instrument", "is music heard from it"),
    ("is it worn on the head", "do people wear it"),
    ("is it worn on the feet", "do people wear it"),
    ("can people live in it", "is it made by people"),
    ("is it in outer space", "is it seen in the sky"),
    ("is it a weapon", "is it made by people"),
    ("does it have many pages", "do people read it"),
]
EXCLUDED = [
    ("is it an animal", "is it made by people"),
    ("is it an animal", "is it a plant"),
    ("is it a mammal", "is it a bird"),
    ("is it an animal", "is it food"),
    ("is it a plant", "is it made by people"),
    ("does it fit in a pocket", "is it bigger than a shoebox"),
    ("is it mostly made of metal", "is it mostly made of wood"),
    ("is it mostly made of stone", "is it mostly made of cloth"),
    ("is it cold", "does it get very hot"),
    ("is it food", "can you drink it"),
    ("is it sold as fruit", "is it sold as a vegetable"),
]


def test_what_follows_and_what_cannot_be() -> None:
    table = twenty_questions.knowledge()
    yes = {
        question: set(np.flatnonzero(column)) for question, column in zip(table.questions, table.answers.T, strict=True)
    }
    for one, other in IMPLIED:
        assert yes[one] <= yes[other], (one, other, [table.names[i] for i in yes[one] - yes[other]])
    for one, other in EXCLUDED:
        assert not yes[one] & yes[other], (one, other, [table.names[i] for i in yes[one] & yes[other]])


def test_countries_lie_on_one_continent_and_have_one_capital_at_most() -> None:
    table = guess_my_city.knowledge()
    continent, capital = (list(table.questions).index(q) for q in ("which continent", "is it a capital"))
    yes = table.replies[capital].index("yes")
    for j, question in enumerate(table.questions):
        if question.startswith("is it in "):
            cities = table.answers[:, j] == table.replies[j].index("yes")
            shared = len(set(table.answers[cities, continent].tolist()))
            across = {"is it in turkey", "is it in russia", "is it in the united states"}
            assert shared == 1 or question in across
            assert (table.answers[cities, capital] == yes).sum() <= 1


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("is it an animal?", (False, 0)),
        ("Is  it an\n ANIMAL ?", (False, 0)),
        ("is it an animal", (False, 0)),
        ("which colour?", (False, 2)),
        ("is it cow?", (True, 1)),
        ("is it a cow?", (True, 1)),
        ("is it the sky", (True, 3)),
        ("cow", None),
        ("cow?", None),
        ("", None),
        ("?", None),
        ("is it", None),
        ("is it an animal??", (False, 0)),
        ("is it a cow.", (True, 1)),
        ("is it an animal !", (False, 0)),
        ("is it ant cow rose sky?", None),
        ("is it ant, cow, rose or sky?", None),
        ("is it ant? is it cow?", None),
        ("is it a an ant?", None),
        ("<answer>is it cow?</answer>", None),
        ("I think, is it cow?", None),
        ("yes, that is it", None),
        ("is it\u2003cow?", None),
        ("is\tit cow?", None),
        ("is it s\u212ay?", None),  # the sign for kelvin, which is a k in lower case
        ("is it cow?" * 50_000, None),
    ],
)
def test_only_one_question_or_guess_means_something(text: str, meaning: tuple[bool, int] | None) -> None:
    assert SMALL.read(text) == meaning


def test_the_best_question_by_hand() -> None:
    # of all four: two and two are animals, 1 bit; one is large, 0.81 bits; colours 1, 1 and 2, 1.5 bits
    assert SMALL.best_question(np.arange(4)) == 2
    # of ant and cow: each question tells them apart but the first, and the first of those is asked
    assert SMALL.best_question(np.array([0, 1])) == 1
    assert SMALL.best_question(np.array([2, 3])) is None


@each_level
def test_the_expert_wins_nearly_always_and_trying_one_after_the_other_much_less(name: str, level: int) -> None:
    module, batched_class = GAMES[name]
    batched, seeds = batched_class(1, level=level, split="test"), np.arange(40)
    told = batched.conversations(seeds)
    assert np.mean([one.messages[-1] == "yes, that is it" for one in told]) >= 0.85
    level_shape = module.LEVELS[level]
    assert level_shape.turns / level_shape.names <= 0.5
    won = [
        any(batched.reply(p, [f"is it {batched.table.names[i]}"]).won for i in p.names[: level_shape.turns])
        for p in batched.problems(seeds, np.zeros_like(seeds))
    ]
    assert np.mean(won) <= 0.75


@each_level
def test_prompts_name_all_in_play_within_the_spaces_and_the_splits_share_no_selection(name: str, level: int) -> None:
    module, batched_class = GAMES[name]
    seen = {}
    for split in ("train", "test"):
        batched = batched_class(1, level=level, split=split, instructions=True)
        problems = batched.problems(np.arange(60), np.zeros(60, int))
        seen[split] = {tuple(sorted(problem.names)) for problem in problems}
        for problem in problems[:10]:
            prompt = batched.prompt(problem)
            assert prompt in batched.observation_space
            assert all(f"{batched.table.names[i]}" in prompt for i in problem.names)
            assert len(set(problem.names)) == module.LEVELS[level].names
            assert problem.target in problem.names
        assert all(f"{question}?" in batched.action_space for question in batched.table.questions)
    assert not seen["train"] & seen["test"]


@each_game
def test_the_target_is_anywhere_in_the_prompt(name: str) -> None:
    batched = GAMES[name][1](1)
    problems = batched.problems(np.arange(300), np.zeros(300, int))
    places = np.bincount([p.names.index(p.target) for p in problems], minlength=10)
    assert places.min() > 10  # of 30 expected: no place gives it away


@each_game
@pytest.mark.parametrize(
    "hack", ["{prompt}", "is it {all}?", "{all}", "is it {target}? is it {other}?", "{target}", "no"]
)
def test_hacks_win_nothing(name: str, hack: str) -> None:
    batched = GAMES[name][1](1)
    for problem in batched.problems(np.arange(20), np.zeros(20, int)):
        names = [batched.table.names[i] for i in problem.names]
        target = batched.table.names[problem.target]
        other = next(one for one in names if one != target)
        text = hack.format(prompt=batched.prompt(problem), all=", ".join(names), target=target, other=other)
        assert batched.reply(problem, [text]) == ("unclear", False, False)


def test_candidates_are_those_that_fit_every_answer() -> None:
    batched = TwentyQuestions(1)
    problem = batched.problems([5], [0])[0]
    said = ["is it an animal?", "nonsense", f"is it {batched.table.names[problem.names[0]]}?"]
    left = batched.candidates(problem, said)
    column = batched.table.questions.index("is it an animal")
    truth = batched.table.answers[problem.target, column]
    by_hand = [
        i
        for k, i in enumerate(problem.names)
        if batched.table.answers[i, column] == truth and (k or i == problem.target)
    ]
    assert left.tolist() == by_hand
    for spent, guesses in ((3, False), (4, True)):  # of five turns: a question while there is time for one
        said = ["x"] * spent
        meaning = batched.table.read(batched.act(problem, Conversation("", said, ["unclear"] * spent)))
        assert meaning is not None
        assert meaning[0] == guesses


@each_game
@pytest.mark.parametrize(("left", "guesses"), [(1, True), (2, True), (3, False)])
def test_the_expert_guesses_once_it_is_one_of_two_and_asks_before(name: str, left: int, guesses: bool) -> None:
    batched = GAMES[name][1](1)
    meaning = batched.table.read(batched.act(Problem(tuple(range(left)), 0), Conversation("", [], [])))
    assert meaning is not None
    assert meaning[0] == guesses


@each_game
@pytest.mark.parametrize("level", [0, 6, "easy", True])
def test_a_level_that_does_not_exist_is_refused(name: str, level: object) -> None:
    with pytest.raises(ValueError, match=r"unknown level .* \(valid: 1, 2, 3, 4, 5\)"):
        GAMES[name][1](1, level=level)


@each_game
def test_the_state_is_what_it_can_still_be_whatever_was_said(name: str) -> None:
    batched = GAMES[name][1](1)
    problem = batched.problems([4], [0])[0]
    wrong = next(i for i in problem.names if i != problem.target)
    guess, question = f"is it {batched.table.names[wrong]}?", f"{batched.table.questions[0]}?"

    def state(*said: str) -> Any:
        return batched.state(problem, Conversation("", list(said), ["no"] * len(said)))

    assert state() == state("hm") == problem.names
    assert state(guess) == state(guess, guess) == tuple(i for i in problem.names if i != wrong)
    assert state(guess, question) == state(question, guess)
    assert problem.target in state(question, guess)
