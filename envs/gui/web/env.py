"""``tiltyard/WebPhone-v0``: the phone in a real Chromium, from the same declarations (extra ``[web]``).

Observations, actions, goals and rewards are those of Phone-v1 (:mod:`..phone_v1`); the screen is as the browser paints
it. Problems are drawn in Python and sent as JSON, actions are done with real mouse, wheel and key events, and the state
that is judged is read back from the page. The layout "same" has the simulated phone's boxes, "flow" is made by CSS.
"""

from collections.abc import Sequence
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box, Dict

from .... import unknown
from ... import seeding
from ...core import BatchedVectorEnv, Bools, Floats, Info, Ints, SingleEnv
from ..declare.expert import ScriptedExpert
from ..phone import ASPECT
from ..phone_v1 import BatchedPhoneV1
from ..problems_v1 import HeldOut
from .browser import Browser, BrowserError, Page
from .phone import LAYOUTS, WebExpert, WebPhone
from .problem import pages
from .server import Server
from .tabs import Tabs

SMALLEST, LARGEST = 240, 2560


class BatchedWebPhone(BatchedPhoneV1):
    """Phones in pages of a browser or several. An episode whose page dies is truncated, with ``info["crashed"]``.

    Args:
        num_envs: number of pages.
        split: which problems, "train" or "test".
        level, apps, held_out, drift, rows: as on Phone-v1.
        layout: "same" for the boxes of the simulated phone, "flow" for CSS and the browser's own scrolling.
        size: height and width of the page and of ``screen`` in pixels; 16 to 9 in the layout "same".
        browsers: browsers that share the pages.
        executable: path of a Chromium; None for the first on this machine.
        render_mode: "rgb_array" for frames: the page as it is.
    """

    _server: Server | None
    _tabs: Tabs
    _phones: list[WebPhone | None]

    def __init__(
        self,
        num_envs: int,
        split: seeding.Split = "train",
        level: int = 1,
        apps: Sequence[str] | None = None,
        layout: str = "same",
        size: tuple[int, int] = (640, 360),
        browsers: int = 1,
        executable: str | None = None,
        render_mode: str | None = None,
        held_out: HeldOut = "params",
        drift: float = 0.0,
        rows: Sequence[str] | None = None,
    ) -> None:
        super().__init__(num_envs, split, level, apps, held_out=held_out, drift=drift, rows=rows)
        if render_mode not in (None, "rgb_array"):
            raise ValueError(unknown("render_mode", render_mode, self.metadata["render_modes"]))
        if layout not in LAYOUTS:
            raise ValueError(unknown("layout", layout, LAYOUTS))
        self.render_mode, self.layout, self.size = render_mode, layout, _check(size, layout)
        self._executable, self._browsers = executable, browsers
        spaces = self.observation_space.spaces  # type: ignore[attr-defined]
        screen = Box(0, 255, (*self.size, 3), np.uint8)
        self.observation_space = Dict(screen=screen, tree=spaces["tree"], goal=spaces["goal"])
        self._crashed = np.zeros(num_envs, np.bool_)
        self._unplug()

    def begin(self, indices: Ints, seeds: Ints, episodes: Ints) -> None:
        """Puts fresh problems on the phones; pages and browsers that are not there, or no longer, are opened."""
        super().begin(indices, seeds, episodes)
        self._crashed[indices] = False
        for index in indices.tolist():
            try:
                self._begin_on(index)
            except BrowserError as error:
                self._tabs.drop(index, error)
                self._begin_on(index)

    def _begin_on(self, index: int) -> None:
        page = self._tabs.ready(index)
        if (phone := self._phones[index]) is None or phone.page is not page:
            phone = self._phones[index] = WebPhone(page, self.layout)
        phone.begin(self.problems[index])
        self.phones[index] = phone  # type: ignore[call-overload]  # as a device: see protocol.py

    def _open(self, browser: Browser) -> Page:
        if self._server is None:
            self._server = Server(pages())
        height, width = self.size
        return browser.page(f"{self._server.url}/?layout={self.layout}", width, height)

    def advance(self, actions: list[str], active: Bools) -> tuple[Floats, Bools]:
        """As on the simulated phone; a page or browser that is gone ends its episode."""
        reward, terminated = np.zeros(self.num_envs), np.zeros(self.num_envs, np.bool_)
        for index in np.flatnonzero(active).tolist():
            try:
                self._tabs.page(index)
                one, ended = super().advance(actions, np.arange(self.num_envs) == index)
                reward[index], terminated[index] = one[index], ended[index]
            except BrowserError as error:
                self._crash(index, error)
        return reward, terminated

    def _crash(self, index: int, error: BrowserError) -> None:
        self._tabs.drop(index, error)
        self._crashed[index], self._success[index], self._phones[index] = True, False, None
        for term in self._terms.values():
            term[index] = 0.0

    def broken(self) -> Bools:
        """Episodes ``[n]`` that ended with their page."""
        return self._crashed.copy()

    def observe(self) -> dict[str, Any]:
        """Screens ``[n, H, W, 3]``, trees and goals; a page that is gone is black and says nothing."""
        screens, trees = np.zeros((self.num_envs, *self.size, 3), np.uint8), [""] * self.num_envs
        for index, phone in enumerate(self._phones):
            try:
                if phone is not None:
                    screens[index], trees[index] = phone.screen(), phone.tree()
            except BrowserError as error:
                self._crash(index, error)
        return {"screen": screens, "tree": tuple(trees), "goal": tuple(one.goal.text for one in self.problems)}

    def step_info(self) -> Info:
        """As on the simulated phone, and whether the page was lost."""
        return {**super().step_info(), "crashed": self._crashed.copy()}

    def expert_actions(self) -> tuple[str, ...]:
        """The scripted expert's next action on every phone."""
        pairs = zip(self._phones, self.problems, strict=True)
        return tuple(
            WebExpert(phone, ScriptedExpert(phone.mirror, one.goal)).action() if phone else "" for phone, one in pairs
        )

    def render(self, index: int = 0) -> npt.NDArray[np.uint8]:
        """The page of one phone."""
        phone = self._phones[index]
        return np.zeros((*self.size, 3), np.uint8) if phone is None else phone.screen().copy()

    def close(self) -> None:
        """Ends the browsers and the server; the next reset starts others."""
        tabs, server = self._tabs, self._server
        self._unplug()
        tabs.close()
        if server is not None:
            server.close()

    def _unplug(self) -> None:
        launch = partial(Browser.launch, self._executable)
        self._tabs = Tabs(self.num_envs, self._browsers, launch, self._open)
        self._server = None
        self._phones = [None] * self.num_envs

    def __getstate__(self) -> dict[str, Any]:
        """For copies and pickles: what was played; a copy opens browsers of its own."""
        return {k: v for k, v in super().__getstate__().items() if k not in ("_tabs", "_server", "_phones")}

    def _unbox(self) -> None:
        super()._unbox()
        if hasattr(self, "_crashed"):  # a copy
            self._unplug()


def _check(size: tuple[int, int], layout: str) -> tuple[int, int]:
    if np.shape(size) != (2,) or not all(isinstance(one, Integral) for one in size):
        raise ValueError(f"size is (height, width) in whole pixels, such as (640, 360), got {size!r:.200}")
    height, width = (int(one) for one in size)
    if not (SMALLEST <= height <= LARGEST and SMALLEST <= width <= LARGEST):
        raise ValueError(f"size is (height, width), each {SMALLEST} to {LARGEST} pixels, got {size}")
    if layout == "same" and height * 9 != width * 16:
        raise ValueError(f"the layout 'same' is {ASPECT * 9:g} to 9, such as (640, 360), got {size}")
    return height, width


class WebPhoneEnv(SingleEnv):
    """One phone in a page as a ``gymnasium.Env``; keywords of :class:`BatchedWebPhone`."""

    batched_class = BatchedWebPhone


class WebPhoneVectorEnv(BatchedVectorEnv):
    """Phones in pages as a native ``gymnasium.vector.VectorEnv``; keywords of :class:`BatchedWebPhone`."""

    batched_class = BatchedWebPhone
