"""One simulated phone: a stack of screens, focus and typing, dialogs, loading screens, and the state of every app."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

from .commands import Command
from .declare.interpreter import Program
from .goals import State
from .keyboards import ENTER, SIMPLE, Key, Keyboard
from .paint import describe
from .render import Picture
from .ui import HEIGHT, KEYBOARD, WIDTH, Handler, Node, Page, Screen, wrap

LONGEST_FIELD = 40
DEEPEST = 64  # screens on the stack
SCROLL_SHARE = 0.7  # of the viewport, for one swipe


@dataclass(frozen=True)
class Dialog:
    """A modal box. ``buttons`` are ``(text, handler)``; the first one is harmless and is what ``back`` presses.

    ``interrupt`` tells the dialogs that come by themselves from those an app asks for.
    """

    title: str
    body: str
    buttons: tuple[tuple[str, Handler], ...]
    interrupt: bool = False


class App(Protocol):
    """One app on one phone: it describes its screens."""

    key: str
    name: str
    icon: str
    colour: int

    def show(self, page: Page, screen: Screen) -> None:
        """Fills the page with a screen."""


@dataclass
class Phone:
    """The device.

    Attributes:
        state: app key -> that app's state; the only thing goals are judged by.
        interruptions: step -> maker of the dialog that appears then (or as soon as the screen is free).
        slow: ``app/view`` -> steps that screen takes to load, each time it is opened.
        clock, charge: what the status bar shows.
        keyboard: its pages of keys.
        home: keys of the apps as they stand on the home screen; empty: in their own order.
        density: factor of the heights in columns.
        theme: its colours, one of :data:`.paint.PALETTES`.
        answer: what was last given as an answer; empty: nothing.
        shift: the keyboard's page that is shown.
        seen: screens ``(app, view, argument)`` that have been looked at.
        wallpaper: packed RGB of the home screen.
    """

    state: State
    interruptions: Mapping[int, Callable[["Phone"], Dialog]] = field(default_factory=dict)
    slow: Mapping[str, int] = field(default_factory=dict)
    clock: str = "09:41"
    charge: int = 80
    wallpaper: int = 0x3B5B92
    app_classes: tuple[Program, ...] = ()
    keyboard: Keyboard = field(default_factory=lambda: SIMPLE, repr=False)
    home: tuple[str, ...] = ()
    density: float = 1.0
    theme: int = 0

    def __post_init__(self) -> None:
        self.apps: dict[str, App] = {app.key: app(self) for app in self.app_classes if not app.app.hidden}
        self.stack: list[Screen] = []
        self.dialog: Dialog | None = None
        self.loading = 0
        self.steps = 0
        self.message = ""
        self.answer = ""
        self.shift = "lower"
        self.seen: set[tuple[str, str, Any]] = set()
        self._due: list[Callable[[Phone], Dialog]] = []
        self._page: Page | None = None
        self._nodes: list[Node] | None = None

    # -- acting --------------------------------------------------------------------------------------------------

    def act(self, command: Command) -> None:
        """One step: the command (ignored while a screen loads), then whatever is due at this step."""
        self.steps += 1
        self.message = ""
        if command.verb == "":
            self.message = command.text
        if self.loading:
            self.loading -= 1
        else:
            getattr(self, f"_{command.verb or 'nothing'}")(command)
        if self.steps in self.interruptions:
            self._due.append(self.interruptions[self.steps])
        if self._due and not self.loading and self.dialog is None:
            self.dialog = self._due.pop(0)(self)
        if self.stack and not self.loading and self.dialog is None and not self.stack[-1].failed:
            self.seen.add((self.stack[-1].app, self.stack[-1].view, self.stack[-1].arg))
        self._page = self._nodes = None

    def _nothing(self, command: Command) -> None:
        pass

    _done = _infeasible = _wait = _nothing

    def _top(self, x: float, y: float, is_it: Callable[[Node], bool]) -> Node | None:
        """The topmost node of a kind at a point (in shares of the screen); None where that node is disabled."""
        x, y = min(x * WIDTH, WIDTH - 0.01), min(y * HEIGHT, HEIGHT - 0.01)
        for node in reversed(self.nodes):
            if node.holds(x, y) and is_it(node):
                return None if node.disabled else node
        return None

    def _tap(self, command: Command) -> None:
        node = self._top(command.x, command.y, lambda one: one.on_tap is not None)
        if node is not None and node.on_tap is not None:
            node.on_tap()

    def _long_press(self, command: Command) -> None:
        """Does what holding the topmost node under the finger that can be held does."""
        node = self._top(command.x, command.y, lambda one: one.on_hold is not None)
        if node is not None and node.on_hold is not None:
            node.on_hold()

    def _drag(self, command: Command) -> None:
        """Drops the topmost node under the first point that can be dragged on the topmost target under the second."""
        node = self._top(command.x, command.y, lambda one: one.on_drop is not None)
        onto = self._top(command.x1, command.y1, lambda one: one.target is not None)
        if node is not None and node.on_drop is not None and onto is not None and onto is not node:
            node.on_drop(onto.target)

    def _open(self, command: Command) -> None:
        """Opens an app's first screen by the app's name, in whatever case, from anywhere but a dialog."""
        if self.dialog is not None:
            return
        for app in self.apps.values():
            if app.name.lower() == command.text.lower():
                self.launch(app.key)()
                return
        self.message = "there is no app of that name"

    def _answer(self, command: Command) -> None:
        self.answer = command.text

    def _type(self, command: Command) -> None:
        if self.dialog is not None or self.focus is None:
            self.message = "nothing to type into: tap a field first"
            return
        self.press(command.text)

    def press(self, characters: str) -> None:
        """Adds characters to the focused field, as far as there is room; a backspace takes the last one away."""
        screen = self.stack[-1]
        assert screen.focus is not None
        text = screen.drafts[screen.focus]
        text = text[:-1] if characters == "\b" else text + characters
        screen.drafts[screen.focus] = text[:LONGEST_FIELD]

    def _swipe(self, command: Command) -> None:
        if self.dialog is not None or not self.stack:
            return
        if command.text in ("left", "right"):
            self.page.on_swipe.get(command.text, lambda: None)()
            return
        step = SCROLL_SHARE * (self.page.bottom - self.page.top)
        self.stack[-1].scroll += step if command.text == "up" else -step  # laid out, a page keeps it within its ends

    def _back(self, command: Command) -> None:
        if self.dialog is not None:
            self.dialog.buttons[0][1]()
        elif self.focus is not None:
            self.stack[-1].focus = None
        elif self.stack:
            self.stack.pop()

    def _home(self, command: Command) -> None:
        if self.dialog is None:
            self.stack.clear()

    def _enter(self, command: Command) -> None:
        """Submits the page (its ``on_enter``), or moves on to the next field, or closes the keyboard."""
        if self.dialog is not None or self.focus is None:
            return
        page, screen = self.page, self.stack[-1]
        position = page.fields.index(screen.focus) if screen.focus in page.fields else len(page.fields)
        screen.focus = None
        if page.on_enter is not None:
            page.on_enter()
        elif position + 1 < len(page.fields):
            screen.focus = page.fields[position + 1]

    # -- for apps ------------------------------------------------------------------------------------------------

    def push(self, screen: Screen) -> None:
        """Opens a screen; a slow one starts to load. Beyond :data:`DEEPEST` screens the oldest is dropped."""
        if self.stack:
            self.stack[-1].focus = None
        self.stack.append(screen)
        del self.stack[:-DEEPEST]
        self.loading = self.slow.get(f"{screen.app}/{screen.view}", 0)

    def pop(self, n: int = 1) -> None:
        """Closes the ``n`` topmost screens."""
        del self.stack[-n:]

    def ask(self, title: str, body: str, *buttons: tuple[str, Handler], interrupt: bool = False) -> Dialog:
        """A dialog whose buttons close it, then do their work; the first is the harmless one."""

        def close_then(handler: Handler) -> None:
            self.dialog = None
            handler()

        closing = tuple((text, partial(close_then, handler)) for text, handler in buttons)
        return Dialog(title, body, closing, interrupt)

    def launch(self, key: str) -> Handler:
        """A handler that opens an app's first screen on an otherwise empty stack."""

        def launch() -> None:
            self.stack.clear()
            self.push(Screen(key))

        return launch

    # -- looking -------------------------------------------------------------------------------------------------

    @property
    def focus(self) -> str | None:
        """The key of the field that has the keyboard."""
        return self.stack[-1].focus if self.stack else None

    @property
    def page(self) -> Page:
        """The topmost screen (the home screen when none is open), built once a step."""
        if self._page is None:
            self._page = self.page_of(self.stack[-1] if self.stack else Screen("home"))
        return self._page

    def page_of(self, screen: Screen) -> Page:
        """What a screen shows, laid out, whether it is open or not."""
        page = Page(screen, on_back=partial(self._back, Command("back")), on_focus=self._focus_on, density=self.density)
        if screen.app in self.apps:
            self._show(page, screen)
        else:
            self._show_home(page)
        if screen.focus is not None and screen.focus not in page.fields:
            screen.focus = None
        page.lay_out(keyboard=screen.focus is not None)
        return page

    def _focus_on(self, key: str) -> None:
        self.stack[-1].focus = key
        self.shift = "lower"

    def _show(self, page: Page, screen: Screen) -> None:
        self.apps[screen.app].show(page, screen)

    def _show_home(self, page: Page) -> None:
        """Icons, three in a row; closer together where there are more than nine."""
        top, step, height = (62.0, 40.0, 36.0) if len(self.apps) <= 9 else (46.0, 36.0, 34.0)
        for i, key in enumerate(self.home or self.apps):
            app = self.apps[key]
            x, y = 6.0 + 34.0 * (i % 3), top + step * (i // 3)
            node = Node("app", app.name, x, y, x + 28.0, y + height, self.launch(app.key), icon=app.icon)
            node.colour = app.colour
            page.fixed.append(node)

    @property
    def nodes(self) -> list[Node]:
        """The elements an agent can see and touch now: a dialog hides the page, a loading screen hides everything."""
        if self._nodes is None:
            if self.loading:
                self._nodes = [Node("spinner", "Loading", 42.0, 84.0, 66.0, 108.0, icon="spinner")]
            elif self.dialog is not None:
                self._nodes = dialog_nodes(self.dialog)
            else:
                self._nodes = self.page.visible + (self._keyboard() if self.focus is not None else []) + self.over
        return self._nodes

    @property
    def over(self) -> list[Node]:
        """What lies over the page."""
        return []

    def _keyboard(self) -> list[Node]:
        board = Node("keyboard", "", 0.0, HEIGHT - KEYBOARD, WIDTH, HEIGHT, look="keyboard")
        keys = [Node("key", k.text, *k.box, partial(self._key, k), icon=k.icon) for k in self.keyboard[self.shift]]
        return [board, *keys, Node("key", "enter", *ENTER, lambda: self._enter(Command("enter")), icon="enter")]

    def _key(self, key: Key) -> None:
        if key.types:
            self.press(key.types)
        self.shift = key.page or self.shift

    @property
    def where(self) -> str:
        """Name of the app and title of the screen, for people and for the first line of the tree."""
        if not self.stack:
            return "Home"
        app = self.apps[self.stack[-1].app].name
        return app if self.loading or not self.page.title or self.page.title == app else f"{app}: {self.page.title}"

    def status(self) -> str:
        """The status bar in words: clock, charge, and the radios that are on."""
        return f"{self.clock} {self.charge}% {self.state['settings'].radios}".rstrip()

    def picture(self) -> Picture:
        """What the screen shows: wallpaper or page, status bar, dialog or spinner on top."""
        return describe(self)

    def tree(self) -> str:
        """The accessibility tree: screen, status bar, message if there is one, then one line an element."""
        lines = [f'screen "{self.where}"', f'status "{self.status()}"']
        if self.message:
            lines.append(f'message "{self.message}"')
        lines += [node.line() for node in self.nodes if node.role != "key"]
        if not self.loading and self.dialog is None and self.stack and self.page.longest_scroll > 0:
            below = self.page.screen.scroll < self.page.longest_scroll - 0.5
            hints = (["up"] if below else []) + (["down"] if self.page.screen.scroll > 0.5 else [])
            lines.append("swipe " + " ".join(hints))
        return "\n".join(lines)


def dialog_nodes(dialog: Dialog) -> list[Node]:
    """The box, its text, and its buttons side by side (harmless on the left)."""
    body = wrap(dialog.body, 23)
    height = 40.0 + 9.5 * len(body)
    y = (HEIGHT - height) / 2
    nodes = [Node("dialog", dialog.title, 5.0, y, WIDTH - 5, y + height, look="dialog")]
    nodes += [Node("text", line, 10.0, y + 16 + 9.5 * i, WIDTH - 10, y + 25.5 + 9.5 * i) for i, line in enumerate(body)]
    width = (WIDTH - 16.0) / len(dialog.buttons)
    for i, (text, handler) in enumerate(dialog.buttons):
        x = 8.0 + i * width
        look = "plain" if i == 0 and len(dialog.buttons) > 1 else "primary"
        nodes.append(Node("button", text, x + 1, y + height - 19, x + width - 1, y + height - 4, handler, look=look))
    return nodes
