"""``tiltyard/WebPhone-v0``: the phone in a real Chromium, from the same declarations (extra ``[web]``).

Observations, actions, goals and rewards are those of :mod:`..phone`; the screen is what the browser paints. The problem
is drawn in Python and sent as JSON, every action is done with real mouse, wheel and key events, and the state that is
judged is read back from the page. ``layout="same"`` has the boxes of the simulated phone, ``"flow"`` is laid out by CSS.
"""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box, Dict

from .... import unknown
from ... import seeding
from ...core import BatchedVectorEnv, Bools, Floats, Info, Ints, SingleEnv
from ..apps import PROGRAMS
from ..declare.expert import ScriptedExpert
from ..phone import ASPECT, BatchedPhone
from . import export
from .browser import Browser, BrowserError
from .phone import LAYOUTS, WebExpert, WebPhone
from .server import Server

SMALLEST, LARGEST = 240, 2560


class BatchedWebPhone(BatchedPhone):
    """Phones in pages of one browser. An episode whose page or browser dies ends there, without success.

    Args:
        num_envs: number of pages.
        split: which problems, "train" or "test".
        level: 1 short goals in one app; 2 longer ones; 3 goals across apps.
        apps: keys of the apps that goals may need; None for all.
        layout: "same" for the boxes of the simulated phone, "flow" for CSS and the browser's own scrolling.
        size: height and width of the page and of ``screen`` in pixels; 16 to 9 in the layout "same".
        executable: path of a Chromium; None for the first on this machine.
        render_mode: "rgb_array" for frames: the page as it is.
    """

    def __init__(
        self,
        num_envs: int,
        split: seeding.Split = "train",
        level: int = 1,
        apps: Sequence[str] | None = None,
        layout: str = "same",
        size: tuple[int, int] = (640, 360),
        executable: str | None = None,
        render_mode: str | None = None,
    ) -> None:
        super().__init__(num_envs, split, level, apps)
        if render_mode not in (None, "rgb_array"):
            raise ValueError(unknown("render_mode", render_mode, self.metadata["render_modes"]))
        if layout not in LAYOUTS:
            raise ValueError(unknown("layout", layout, LAYOUTS))
        self.render_mode, self.layout, self.size, self._executable = render_mode, layout, _check(size, layout), executable
        spaces = self.observation_space.spaces  # type: ignore[attr-defined]
        screen = Box(0, 255, (*self.size, 3), np.uint8)
        self.observation_space = Dict(screen=screen, tree=spaces["tree"], goal=spaces["goal"])
        self._crashed = [""] * num_envs
        self._unplug()

    def begin(self, indices: Ints, seeds: Ints, episodes: Ints) -> None:
        """Puts fresh problems on the phones; opens pages that are not there yet, or no longer."""
        super().begin(indices, seeds, episodes)
        for index in indices.tolist():
            self._crashed[index] = ""
            self.phones[index] = self._page(index)
            self._page(index).begin(self.problems[index])

    def _page(self, index: int) -> WebPhone:
        if self._browser is not None and not self._browser.alive():
            self._unplug(self._server)
        if self._server is None:
            declared = json.dumps(export.declarations(PROGRAMS.values())).encode()
            self._server = Server({"/apps.json": declared})
        if self._browser is None:
            self._browser = Browser.launch(self._executable)
        if (page := self._pages[index]) is None:
            page = self._pages[index] = WebPhone(self._browser, self._server.url, PROGRAMS, self.layout, self.size)
        return page

    def advance(self, actions: list[str], active: Bools) -> tuple[Floats, Bools]:
        """As on the simulated phone; a page or browser that is gone ends its episode."""
        reward, terminated = np.zeros(self.num_envs), np.zeros(self.num_envs, np.bool_)
        for index in np.flatnonzero(active).tolist():
            alone = np.arange(self.num_envs) == index
            try:
                one, ended = super().advance(actions, alone)
                reward[index], terminated[index] = one[index], ended[index]
            except BrowserError as error:
                self._crash(index, error)
                terminated[index] = True
        return reward, terminated

    def _crash(self, index: int, error: BrowserError) -> None:
        self._crashed[index] = str(error)
        self._success[index] = self._stale[index] = False
        for term in self._terms.values():
            term[index] = 0.0
        self._pages[index] = None

    def observe(self) -> dict[str, Any]:
        """Screens ``[n, H, W, 3]``, trees and goals; a page that is gone is black and says nothing."""
        screens = np.zeros((self.num_envs, *self.size, 3), np.uint8)
        trees = []
        for index, page in enumerate(self._pages):
            trees.append(page.tree() if page else "")
            if page is not None:
                screens[index] = page.screen()
        return {"screen": screens, "tree": tuple(trees), "goal": tuple(one.goal.text for one in self.problems)}

    def step_info(self) -> Info:
        """As on the simulated phone, and why a page was lost; empty: it was not."""
        return {**super().step_info(), "crashed": list(self._crashed)}

    def expert_actions(self) -> tuple[str, ...]:
        """The scripted expert's next action on every phone."""
        pairs = zip(self._pages, self.problems, strict=True)
        return tuple(
            WebExpert(page, ScriptedExpert(page.mirror, one.goal)).action() if page else "" for page, one in pairs
        )

    def render(self, index: int = 0) -> npt.NDArray[np.uint8]:
        """The page of one phone."""
        page = self._pages[index]
        return np.zeros((*self.size, 3), np.uint8) if page is None else page.screen().copy()

    def close(self) -> None:
        """Ends the browser and the server."""
        browser, server = self._browser, self._server
        self._unplug()
        if browser is not None:
            browser.close()
        if server is not None:
            server.close()

    def _unplug(self, server: Server | None = None) -> None:
        self._browser: Browser | None = None
        self._server = server
        self._pages: list[WebPhone | None] = [None] * self.num_envs

    def __getstate__(self) -> dict[str, Any]:
        """For copies and pickles: what was played; a copy opens a browser of its own."""
        gone = {"_browser": None, "_server": None, "_pages": [None] * self.num_envs}
        return super().__getstate__() | gone


def _check(size: tuple[int, int], layout: str) -> tuple[int, int]:
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
