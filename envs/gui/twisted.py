"""A phone on which the rows of :mod:`.twists` hold: banners, notifications, failed screens, corrected words."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from .apps.system import ADVERTS, CORRECTIONS, FAILED, RETRY, SPONSORED
from .commands import Command
from .device import Dialog, Phone
from .keyboards import FULL, Keyboard
from .twists import NOTICE_STEPS, Notice
from .ui import BAR, STATUS, WIDTH, Node, Page, Screen

WORD = re.compile("[A-Za-z]+")


@dataclass
class TwistedPhone(Phone):
    """The device of Phone-v1.

    Beside what every phone does,

    - a screen that is to fail (``failing``) says "Could not load" when it is first opened, until Retry is tapped;
    - every screen of one app (``advert``) has a row on top of its column that opens a dialog;
    - a notification (``notice``) lies over the bar for three steps, or until it is tapped or swiped up;
    - a word of :data:`.apps.system.CORRECTIONS` is replaced when it is typed for the first time (``corrects``).

    Attributes:
        failing: ``app/view``, or empty.
        advert: (app, name of what is advertised), or nothing.
        banner: makes the dialog that the banner opens.
        notice: the notification that will come.
        corrects: whether words are replaced.
        texts: translations: text -> text.
        corrected: the words that have been replaced.
        noticed: steps for which the notification stays; 0 where there is none.
    """

    keyboard: Keyboard = field(default_factory=lambda: FULL, repr=False)
    failing: str = ""
    advert: tuple[str, str] | None = None
    banner: Callable[[Phone], Dialog] | None = None
    notice: Notice | None = None
    corrects: bool = False
    texts: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.corrected: set[str] = set()
        self.noticed = 0

    def act(self, command: Command) -> None:
        """One step as on any phone; then a notification that is shown is a step older, or one that is due comes.

        It comes after the first step from its own on at the end of which no screen loads and no dialog is open.
        """
        super().act(command)
        if self.noticed:
            self.noticed -= 1
        elif self.notice and self.steps >= self.notice.step and not self.loading and self.dialog is None:
            self.noticed = NOTICE_STEPS
            self.shown, self.notice = self.notice, None

    def _swipe(self, command: Command) -> None:
        """A swipe up removes a notification and does nothing else, unless a dialog is open."""
        if self.noticed and command.text == "up" and self.dialog is None:
            self.noticed = 0
        else:
            super()._swipe(command)

    @property
    def over(self) -> list[Node]:
        """The notification, over the bar; a tap opens the first screen of its app."""
        if not self.noticed:
            return []
        app, bottom = self.apps[self.shown.app], STATUS + BAR
        text = self.texts.get(self.shown.text, self.shown.text)
        return [Node("notification", app.name, 0.0, STATUS, WIDTH, bottom, self._follow, detail=text, icon=app.icon)]

    def _follow(self) -> None:
        self.noticed = 0
        self.launch(self.shown.app)()

    def push(self, screen: Screen) -> None:
        """Opens a screen; one that is to fail does so, once."""
        super().push(screen)
        if self.failing == f"{screen.app}/{screen.view}":
            screen.failed, self.failing = True, ""

    def _show(self, page: Page, screen: Screen) -> None:
        app = self.apps[screen.app]
        if screen.failed:
            page.bar(app.name)
            page.empty(self.texts.get(FAILED, FAILED))
            page.button(self.texts.get(RETRY, RETRY), self._retry)
            return
        if self.advert and self.advert[0] == screen.app:
            name = self.advert[1]
            page.row(name, self._tempt, detail=self.texts.get(SPONSORED, SPONSORED), icon=ADVERTS[name])
        super()._show(page, screen)

    def _retry(self) -> None:
        """Loads the screen again, for as many steps as it takes where it is slow."""
        screen = self.stack[-1]
        screen.failed = False
        self.loading = self.slow.get(f"{screen.app}/{screen.view}", 0)

    def _tempt(self) -> None:
        assert self.banner is not None
        self.dialog = self.banner(self)

    def _type(self, command: Command) -> None:
        """Types a text; words in it (runs of letters) that have corrections are replaced, each only once on a phone."""
        if self.corrects and self.dialog is None and self.focus is not None:
            command = replace(command, text=WORD.sub(lambda found: self._correct(found[0]), command.text))
        super()._type(command)

    def _correct(self, word: str) -> str:
        if word not in CORRECTIONS or word in self.corrected:
            return word
        self.corrected.add(word)
        return CORRECTIONS[word]
