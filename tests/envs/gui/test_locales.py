"""Translations: complete, of the same expressions, and phones in them can be used."""

import re

import pytest

from tiltyard.envs.gui.apps.declared import DECLARED_V1
from tiltyard.envs.gui.apps.system import APP_V1
from tiltyard.envs.gui.commands import VERBS, parse
from tiltyard.envs.gui.declare.expert import ScriptedExpert
from tiltyard.envs.gui.locales import LOCALES, TEXTS, texts_of, untranslated
from tiltyard.envs.gui.problems_v1 import Split, choices, generate, world

APPS = (*DECLARED_V1, APP_V1)
others = pytest.mark.parametrize("locale", LOCALES[1:])


@others
def test_every_text_of_every_app_is_translated_and_no_other(locale: str) -> None:
    assert untranslated(locale, APPS) == ()
    assert set(TEXTS[locale]) == set(texts_of(APPS))


def test_a_text_that_is_lacking_is_reported_and_icons_are_not() -> None:
    texts = texts_of(APPS)
    assert "Airplane mode" in texts
    assert "Sponsored" in texts
    assert "wifi" not in texts
    assert untranslated("en", APPS) == texts


def expressions(text: str) -> list[str]:
    """What stands in braces, without the words in it."""
    return sorted(re.sub("'[^']*'", "''", one) for one in re.findall(r"\{([^}]*)\}", text))


@others
def test_translations_say_the_same_expressions_in_ascii(locale: str) -> None:
    for text, translation in TEXTS[locale].items():
        assert expressions(text) == expressions(translation)
        assert translation.isascii()
        assert translation.isprintable()
    differing = [text for text, translation in TEXTS[locale].items() if text != translation]
    assert len(differing) > 0.9 * len(TEXTS[locale])


@others
def test_icons_stay_what_they_are(locale: str) -> None:
    for text, translation in TEXTS[locale].items():
        if text[:1].islower() and "_outline" in text:
            assert text == translation


@others
def test_the_expert_gets_by_on_a_phone_in_another_language(locale: str) -> None:
    split = Split("test", "locale")
    done = 0
    for level in (1, 2, 3):
        for key in range(12):
            problem = generate(key, level, choices(level, None, split), split)
            if problem.locale != locale:
                continue
            phone, last = problem.phone(), ""
            for _ in range(60):
                last = ScriptedExpert(phone, problem.goal).action()
                phone.act(parse(last, VERBS))
                if last in ("done", "infeasible"):
                    break
            assert problem.goal.reached(phone.state, phone.answer, last), problem.goal.text
            done += 1
    assert done >= 10


def test_a_phone_in_german_says_so_and_the_goal_stays_in_english() -> None:
    german, english = world("de"), world("en")
    assert [one.name for one in german.templates] == [one.name for one in english.templates]
    split = Split("test", "locale")
    problem = next(
        one
        for one in (generate(key, 1, choices(1, ["settings"], split), split) for key in range(20))
        if one.locale == "de"
    )
    assert "ettings" in problem.goal.text
    phone = problem.phone()
    phone.stack.clear()
    phone.act(parse("open settings", VERBS))
    while phone.loading or phone.dialog is not None or phone.stack[-1].failed:
        phone.act(parse("tap 0.5 0.5" if phone.stack[-1].failed else "back", VERBS))
        assert phone.steps < 9
    assert phone.page.title == "Einstellungen"
