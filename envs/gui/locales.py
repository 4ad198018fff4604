"""Languages of phones: translations as data, and which texts of declarations they leave out.

Only what apps and the phone itself say is translated; goals and what users wrote stay as they are, and so do the few
words of the toolkit (Back, Clear, Increase, Decrease, Loading). All is written in ASCII.
"""

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from .apps.locales.de import TEXTS as DE
from .apps.locales.es import TEXTS as ES
from .apps.system import ADVERTS, FAILED, NOTICES, RETRY, SPONSORED
from .declare.app import App
from .declare.interpreter import compile_apps
from .icons import ICONS
from .interruptions import banners, popups

TEXTS: Mapping[str, Mapping[str, str]] = MappingProxyType({"en": {}, "de": DE, "es": ES})
"""Language -> text as declared -> its translation."""
LOCALES = tuple(TEXTS)
CAPITAL = re.compile("'[A-Z]")


class _Asked(dict[str, str]):
    """Translations that remember what was looked up in them."""

    def __init__(self) -> None:
        super().__init__({"": ""})  # not empty: an empty one is no translation at all
        self.texts: dict[str, None] = {}

    def get(self, text: str, default: str = "") -> str:  # type: ignore[override]
        self.texts[text] = None
        return default


def texts_of(apps: Iterable[App]) -> tuple[str, ...]:
    """All texts of apps and of the phone itself that can be translated, each once, without names of icons.

    A text has letters outside braces, or a constant within them that begins with a capital.
    """
    asked = _Asked()
    programs = compile_apps(apps, asked)
    popups(programs)
    banners(programs)
    asked.texts |= dict.fromkeys((SPONSORED, FAILED, RETRY, *NOTICES))
    left_out = {*ICONS, *ADVERTS}
    return tuple(text for text in asked.texts if text not in left_out and _says_something(text))


def _says_something(text: str) -> bool:
    plain = re.sub(r"\{[^}]*\}", "", text)
    return any(character.isalpha() for character in plain) or CAPITAL.search(text) is not None


def untranslated(locale: str, apps: Iterable[App]) -> tuple[str, ...]:
    """The texts of apps that a language lacks."""
    return tuple(text for text in texts_of(apps) if text not in TEXTS[locale])
