"""Tasks of the browser, maps, files and music: the expert solves them, and they say what they ask."""

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tiltyard.envs.gui.apps.web_tasks import WEB_TASKS
from tiltyard.envs.gui.declare.state import key_of

sys.path += [str(Path(__file__).parent), str(Path(__file__).parents[1] / "declare")]
from declared import solved
from web import BY_NAME, PROGRAMS, TASKS, goals, problem

NAMES = [one.name for _, one in TASKS]
INFEASIBLE = [one.name for _, one in TASKS if one.infeasible]


def solve(name: str, seeds: range) -> set[str]:
    """Has the expert solve a task on several phones; gives the goals' words."""
    one, texts = BY_NAME[name], set()
    for seed in seeds:
        phone, goal = problem(name, seed)
        for key, program in PROGRAMS.items():
            schema = program.place.schemas[key]
            assert schema.faults(phone.state[key]) == schema.faults(goal.expected[key]) == []
        assert not goal.reached(phone.state, "", "done"), f"nothing is asked: {goal.text}"
        if goal.infeasible or goal.answer:
            assert phone.state == goal.expected, "it is fulfilled without a change"
        actions = solved(phone, goal)
        assert goal.reached(phone.state, phone.answer, actions[-1]), (goal.text, actions)
        assert actions[-1] == ("infeasible" if one.infeasible else "done")
        assert len(actions) <= 25
        texts.add(goal.text)
    return texts


@pytest.mark.parametrize("name", NAMES)
def test_the_expert_of_all_apps_solves_every_task(name: str) -> None:
    assert len(solve(name, range(4))) > 1


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_expert_of_all_apps_solves_every_task_on_many_phones(name: str) -> None:
    assert len(solve(name, range(4, 24))) > 15


def test_there_are_enough_tasks_of_every_sort() -> None:
    declared = list(BY_NAME.values())
    assert len(declared) == len(set(NAMES)) == len(TASKS) >= 45
    assert sum(bool(one.answer) for one in declared) >= 10
    assert sum(one.infeasible for one in declared) >= 4
    assert sum(one.level == 3 and len(one.apps) > 1 for one in declared) >= 8
    for app in ("browser", "maps", "files", "music"):
        assert sum(key == app for key, one in TASKS if one.level < 3) >= 10
    assert {one.level for one in declared} == {1, 2, 3}
    assert {key for key, _ in WEB_TASKS} == {"browser", "maps", "files", "music"}


@pytest.mark.parametrize("name", NAMES)
def test_every_wording_names_all_that_is_asked(name: str) -> None:
    sides: dict[Any, set[str]] = {}
    for _, goal in goals(name, 48):
        assert goal.text.isascii()
        assert goal.text.isprintable()
        assert not set(goal.text) & set('{}"'), goal.text
        assert len(re.findall("[A-Za-z0-9]+", goal.text)) <= 48, "the numeric face has room for so many words"
        blank = goal.text
        for value in goal.asked:
            if not isinstance(value, bool) and value not in ("add", "remove"):
                assert str(value).lower() in goal.text.lower(), (value, goal.text)
                blank = blank.replace(str(value), "_")
        for i, value in enumerate(goal.asked):
            if isinstance(value, bool) or value in ("add", "remove"):
                sides.setdefault((goal.wording, i, value), set()).add(blank)
    for (wording, i, value), texts in sides.items():
        for (other, k, opposite), others in sides.items():
            if (wording, i) == (other, k) and value != opposite:
                assert not texts & others, "what differs in what is asked reads alike"


def literal(wording: str) -> set[str]:
    """The words of a wording that do not hang on what is asked."""
    return set(re.findall("[a-z']+", re.sub(r"{[^}]*}", " ", wording).lower()))


@pytest.mark.parametrize("name", NAMES)
def test_there_are_three_wordings_or_more_and_the_last_one_shares_few_words(name: str) -> None:
    wordings = BY_NAME[name].wordings
    assert len(wordings) == len(set(wordings)) >= 3
    last = literal(wordings[-1])
    for other in wordings[:-1]:
        shared = last & literal(other)
        assert len(shared) / len(last | literal(other)) <= 0.5, (wordings[-1], other)


def absent(name: str, state: dict[str, Any], asked: tuple[Any, ...]) -> bool:
    """Whether what an infeasible task names is not where it would have to be."""
    thing = asked[0]
    pages, maps, files, music = (state[key] for key in ("browser", "maps", "files", "music"))
    return {
        "browser_bookmark_missing": lambda: thing not in map(key_of, pages.pages),
        "browser_close_missing": lambda: thing not in pages.tabs,
        "maps_save_missing": lambda: thing not in map(key_of, maps.places) and asked[1] in map(key_of, maps.lists),
        "files_delete_missing": lambda: thing not in map(key_of, files.files),
        "files_restore_missing": lambda: thing not in [one.name for one in files.files if one.binned],
        "music_play_missing": lambda: thing not in map(key_of, music.songs),
        "music_take_missing": lambda: [one.name for one in music.playlists if thing in one.songs].count(asked[1]) == 0,
        "errand_way_to_nobody": lambda: asked[1] not in map(key_of, state["contacts"].contacts),
    }[name]()


@pytest.mark.parametrize("name", INFEASIBLE)
def test_what_is_infeasible_names_what_is_not_there_in_the_words_of_a_task_that_can_be_done(name: str) -> None:
    one = BY_NAME[name]
    twins = [other for other in BY_NAME.values() if other.wordings == one.wordings and not other.infeasible]
    assert [twin.level for twin in twins] == [one.level]
    for state, goal in goals(name, 40):
        assert absent(name, state, goal.asked)
        assert goal.expected == state
    for state, goal in goals(twins[0].name, 40):
        assert not absent(name, state, goal.asked), "what can be done is there"


def spoken_words(value: Any) -> set[str]:
    """The words of what is asked; digits are alike."""
    return set(re.findall("[a-z']+", re.sub("[0-9]", "d", str(value).lower())))


@pytest.mark.parametrize("name", INFEASIBLE)
def test_no_word_gives_away_that_something_is_not_there(name: str) -> None:
    twin = next(o for o in BY_NAME.values() if o.wordings == BY_NAME[name].wordings and not o.infeasible)
    known = {word for _, goal in goals(twin.name, 400, 40) for value in goal.asked for word in spoken_words(value)}
    asked = [set().union(*map(spoken_words, goal.asked)) for _, goal in goals(name, 100, 40)]
    assert sum(words <= known for words in asked) >= 75, "of a hundred; the phones at hand do not show every name"
