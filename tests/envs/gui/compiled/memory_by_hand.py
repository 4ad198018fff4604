"""A Python phone's screen as a compiled phone's memory: its table of nodes and its registers, filled by hand."""

from typing import Any

import numpy as np
import numpy.typing as npt

from tiltyard.envs.gui.compiled import memory as w
from tiltyard.envs.gui.compiled import nodes as nd
from tiltyard.envs.gui.compiled import pool as p
from tiltyard.envs.gui.compiled import roles as r
from tiltyard.envs.gui.compiled.acting import APP, FOCUS
from tiltyard.envs.gui.compiled.painting import describe, paint
from tiltyard.envs.gui.compiled.shapes import MOST_CHARACTERS, MOST_OPS
from tiltyard.envs.gui.device import Phone
from tiltyard.envs.gui.render import ICON_INDEX, Picture, Renderer
from tiltyard.envs.gui.ui import Node


class Memory:
    """Memory in which a phone's screen can be put."""

    def __init__(self) -> None:
        self.m, self.f = np.zeros(w.WORDS, np.int64), np.zeros(w.FLOATS)
        self.pool = np.zeros(p.HEADER + p.APP_SIZE * w.MOST_APPS, np.int64)
        self.ops, self.text = np.full((MOST_OPS, 9), np.nan), np.full(MOST_CHARACTERS, 255, np.uint8)

    def put(self, phone: Phone) -> "Memory":
        """Makes it show what the phone shows."""
        m, f = self.m, self.f
        m[: w.HEAP], f[:] = 0, -1.0
        m[w.TOP], m[w.LIMIT] = w.HEAP, w.HEAP + w.HALF
        self.pool[p.LOADING_TEXT], self.pool[p.APPS] = self.word("Loading"), p.HEADER
        for i, app in enumerate(phone.apps.values()):
            self.pool[p.HEADER + p.APP_SIZE * i + 1] = app.colour
        hours, minutes = phone.clock.split(":")
        m[w.CLOCK], m[w.CHARGE] = 60 * int(hours) + int(minutes), phone.charge
        m[w.WALLPAPER], m[w.THEME], m[w.LOADING] = phone.wallpaper, phone.theme, phone.loading
        settings = phone.state["settings"]
        online = settings.wifi and settings.network != "" and not settings.airplane
        flags = (settings.airplane, online, settings.bluetooth and not settings.airplane, settings.dark)
        m[w.STATUS_FLAGS] = w.new_list(m, len(flags))
        m[(m[w.STATUS_FLAGS] >> 3) + 1 :][: len(flags)] = [w.TRUE if one else w.FALSE for one in flags]
        self._screen(phone)
        return self

    def _screen(self, phone: Phone) -> None:
        m, f = self.m, self.f
        m[w.STACKED] = len(phone.stack)
        place = w.SCREENS + w.SCREEN_SIZE * (len(phone.stack) - 1)
        if phone.stack:
            m[place + APP] = list(phone.apps).index(phone.stack[-1].app)
        if phone.loading:
            m[w.PAGE_SHOWN] = self._shown(phone.nodes, 0)
            return
        page, over = phone.page, []
        if phone.stack:
            m[place + FOCUS] = int(phone.focus is not None) << 3 | w.INT
            f[len(phone.stack) - 1] = page.screen.scroll
            over = phone._keyboard() if phone.focus is not None else []
        if phone.dialog is None:
            over = [*over, *phone.over]
        f[w.Y], f[w.PAGE_TOP], f[w.PAGE_BOTTOM] = page._y, page.top, page.bottom
        m[w.PAGE_SHOWN] = self._shown([*page.visible, *over], 0, page.fixed)
        if phone.dialog is not None:
            m[w.DIALOG_SHOWN] = self._shown(phone.nodes, int(m[w.PAGE_SHOWN]))
            m[w.HAS_DIALOG] = 1

    def _shown(self, nodes: list[Node], first: int, fixed: list[Node] | tuple[()] = ()) -> int:
        for i, one in enumerate(nodes):
            self.m[w.SHOWN + first + i] = self._node(one, any(one is other for other in fixed))
        return len(nodes)

    def _node(self, one: Node, fixed: bool) -> int:
        m = self.m
        box = (one.x0, one.y0, one.x1, one.y1)
        place = int(nd.node(m, self.f, r.ROLES.index(one.role), self.word(one.text), *box))
        m[place + nd.DETAIL] = self.word(one.detail) if one.detail else w.NONE
        m[place + nd.CHECKED] = 0 if one.checked is None else 1 + one.checked
        m[place + nd.FOCUSED], m[place + nd.DISABLED], m[place + nd.COLOUR] = one.focused, one.disabled, one.colour
        m[place + nd.ICON] = ICON_INDEX[one.icon] + 1 if one.icon else 0
        m[place + nd.LOOK] = r.LOOKS.index(one.look) if one.role not in ("keyboard", "dialog") else r.NO_LOOK
        m[place + nd.TAP] = nd.NOTHING if one.on_tap is None else 0
        m[place + nd.FIXED] = fixed
        return place

    def word(self, text: str) -> int:
        """A text in this memory."""
        for c in text:
            w.put(self.m, ord(c))
        return int(w.take_text(self.m))

    def picture(self) -> Picture:
        """The display list that is made from this memory alone."""
        describe(self.m, self.f, self.pool, self.ops, self.text)
        return self.ops[: self.m[w.DRAWN]].tobytes(), self.text[: self.m[w.WRITTEN]].tobytes()

    def painted(self, renderer: Renderer) -> npt.NDArray[Any]:
        """The pixels."""
        frame = np.full((renderer.height, renderer.width, 3), 77, np.uint8)
        atlas = renderer._coverage, renderer._glyphs, renderer._scale
        paint(self.m, self.f, self.pool, frame, self.ops, self.text, *atlas)
        return frame
