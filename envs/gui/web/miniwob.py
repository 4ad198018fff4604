"""MiniWoB++ (``tiltyard/MiniWoB-click-test-v0`` and so on) in a real Chromium, several of them in a vector.

The pages are those of the ``miniwob`` package (Farama's MiniWoB++; Shi et al. 2017, Liu et al. 2018), unchanged. Ours
is the way in: real mouse and keyboard events over the Chrome DevTools Protocol, no clock (the raw reward, no time-out,
jQuery's animations off unless asked for), a seed for every problem, and what the page shows as lines of text.

The agent sees ``Dict(tree: Text, goal: Text)``, with ``screen: Box uint8 [210, 160, 3]`` if ``pixels=True``, and acts
in words (:mod:`.gestures`). A line of the tree is: role, text, further words if there are any (value; id and classes;
colour), bounds in shares of the screen, flags.

Reward is the sum of two named terms: ``goal``, the page's own raw reward at the end of an episode, from -1 to 1; and
``format``, -0.01 for an action that cannot be read. If a browser or its page dies or hangs, ``info["crashed"]`` is
true, the episode is truncated without a reward, and the next reset has a new browser.
"""

import json
import math
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box, Dict

from ... import seeding
from ...actions import strings
from ...core import BatchedEnv, BatchedVectorEnv, Bools, Floats, Info, Ints, SingleEnv
from . import folder
from .browser import Browser, BrowserError, Page, picture
from .gestures import AnyText, Gesture, Gestures, parse
from .perform import PAUSES, stages
from .tabs import Tabs, each

WIDTH, HEIGHT = 160, 210
VIEWPORT = (332, 214)
"""Width and height of the page: the task, and beside it the page's own display of rewards."""
FORMAT_PENALTY = -0.01
SCRIPT = (Path(__file__).parent / "miniwob.js").read_text()
CLIP = {"x": 0, "y": 0, "width": WIDTH, "height": HEIGHT, "scale": 1}
GONE = 'message "the browser broke down; this episode is over"'


class BatchedMiniWoB(BatchedEnv):
    """MiniWoB++ pages, stepped together: all browsers work at the same time.

    Args:
        num_envs: number of pages.
        task: name of the HTML file, ``"click-test"``.
        split: which problems, "train" or "test": streams of seeds of their own, and the page's own data mode. A page
            with few problems can draw the same one in both.
        pixels: whether ``screen`` is observed, which takes about 40 ms a step.
        browsers: over how many browsers the pages are spread; None for one each.
        animations: whether jQuery's animations take their time; off, they are over at once.
        wait_ms: milliseconds that pass after each action, for pages on which things move by themselves.
        success_above: raw reward above which an episode is a success: 0 as in the literature; 0.99 for full marks only.
        timeout: seconds within which a browser must have answered, or it counts as crashed.
        executable: path of the browser; None for the first on this machine.
        html: folder with ``miniwob/TASK.html``; None for that of the installed package.
        render_mode: "rgb_array" for frames of 160 x 210.

    Raises:
        MissingExtra: a package is not installed.
        ValueError: a keyword is no such number.
        BrowserError: at the first reset, if there is no browser.
    """

    def __init__(
        self,
        num_envs: int,
        task: str = "click-test",
        split: seeding.Split = "train",
        pixels: bool = False,
        browsers: int | None = None,
        animations: bool = False,
        wait_ms: float = 0.0,
        success_above: float = 0.0,
        timeout: float = 10.0,
        executable: str | None = None,
        html: str | Path | None = None,
        render_mode: str | None = None,
    ) -> None:
        super().__init__(num_envs, render_mode)
        self.split = seeding.check_split(split)
        lowest = {"success_above": -1.0, "timeout": 0.0, "wait_ms": 0.0}
        for name, number in (("success_above", success_above), ("timeout", timeout), ("wait_ms", wait_ms)):
            if not isinstance(number, int | float) or not lowest[name] <= number < math.inf:
                raise ValueError(f"{name} must be a number of at least {lowest[name]:g}, got {number!r:.100}")
        self._pixels, self._animations, self._pause = pixels, bool(animations), wait_ms / 1000
        self._success_above = success_above
        spaces = {"tree": AnyText(100_000), "goal": AnyText(10_000)}
        screen = {"screen": Box(0, 255, (HEIGHT, WIDTH, 3), np.uint8)} if pixels else {}
        self.observation_space = Dict({**screen, **spaces})
        self.action_space = Gestures()
        self._html = None if html is None else Path(html)
        self._url = folder.page(task, self._html)
        self.task = task
        launch = partial(Browser.launch, executable, timeout=timeout)
        self.tabs = Tabs(num_envs, num_envs if browsers is None else browsers, launch, self._open)
        self._goals, self._trees, self._reasons = [""] * num_envs, [""] * num_envs, [""] * num_envs
        self._screens = np.zeros((num_envs, HEIGHT, WIDTH, 3), np.uint8)
        self._mouse = [(0.5, 0.5)] * num_envs
        self._keys = np.zeros(num_envs, np.uint64)
        self._over, self._crashed = np.zeros(num_envs, np.bool_), np.zeros(num_envs, np.bool_)
        self._terms = {"goal": np.zeros(num_envs), "format": np.zeros(num_envs)}

    def turn_to(self, task: str) -> None:
        """Gives all pages another task, in the same browsers; reset then begins it.

        Raises:
            ValueError: there is no such task.
        """
        self._url = folder.page(task, self._html)
        self.task = task
        self.tabs.close_pages()

    def _open(self, browser: Browser) -> Page:
        page = browser.page(self._url, *VIEWPORT)
        page.evaluate(SCRIPT)
        return page

    def begin(self, indices: Ints, seeds: Ints, episodes: Ints) -> None:
        """Puts fresh problems on pages; a page that does not come up is tried again in a new browser."""
        self._keys[indices] = seeding.problem_keys(self.split, seeds, episodes)
        self._crashed[indices], self._over[indices] = False, False
        for term in self._terms.values():
            term[indices] = 0.0
        which = indices.tolist()
        for index in which:
            self._mouse[index] = (0.5, 0.5)
            self.tabs.ready(index)
        failed: list[int] = []
        asked = each(which, self._ask_begin, partial(self._again, failed))
        self._see(asked, partial(self._again, failed))
        for index in failed:
            self.tabs.ready(index)
            self._see({index: self._ask_begin(index)}, _give_up)

    def check(self, actions: Any) -> list[Gesture]:
        """A batch of ``n`` strings, read; whether they can be is part of the game."""
        texts = strings(actions, self.num_envs, wanted="give each page one string such as 'tap 0.5 0.5' or 'enter'")
        return [parse(text) for text in texts]

    def advance(self, actions: list[Gesture], active: Bools) -> tuple[Floats, Bools]:
        """Acts on the active pages, and looks at them."""
        which = np.flatnonzero(active).tolist()
        self._crashed[which] = False
        goal, form = self._terms["goal"], self._terms["format"]
        goal[which] = 0.0
        for index in which:
            form[index] = FORMAT_PENALTY if actions[index].verb == "" else 0.0
        self._act({index: actions[index] for index in which})
        if self._pause:
            time.sleep(self._pause)
        intact = [index for index in which if not self._crashed[index]]
        self._see(each(intact, self._ask_look, self._break), self._break)
        for index in which:
            if actions[index].verb == "" and not self._crashed[index]:
                self._trees[index] = f'message "{actions[index].text}"\n{self._trees[index]}'
        return np.where(self._crashed, 0.0, goal + form), self._over & active & ~self._crashed

    def broken(self) -> Bools:
        """Episodes ``[n]`` that ended with their browser."""
        return self._crashed.copy()

    def observe(self) -> dict[str, Any]:
        """Trees and goals, and screens ``[n, 210, 160, 3]`` if they are observed."""
        seen: dict[str, Any] = {"tree": tuple(self._trees), "goal": tuple(self._goals)}
        return {"screen": self._screens.copy(), **seen} if self._pixels else seen

    def reset_info(self) -> Info:
        """Task, goal, and the seed that the page's random numbers were given."""
        return {"task": [self.task] * self.num_envs, "goal": list(self._goals), "page_seed": self._keys.copy()}

    def step_info(self) -> Info:
        """Success, whether the action could be read, terms of the reward, the page's own reason, and a lost browser."""
        goal = self._terms["goal"]
        return {
            "success": self._over & ~self._crashed & (goal > self._success_above),
            "understood": self._terms["format"] == 0.0,
            "reward_terms": {name: np.where(self._crashed, 0.0, term) for name, term in self._terms.items()},
            "reason": list(self._reasons),
            "crashed": self._crashed.copy(),
        }

    def expert_actions(self) -> Any:
        """MiniWoB++ has no scripted expert."""
        raise TypeError("MiniWoB++ has no scripted expert")

    def render(self, index: int = 0) -> npt.NDArray[np.uint8]:
        """A frame of one page, ``[210, 160, 3]``."""
        return picture(self.tabs.page(index).call("Page.captureScreenshot", clip=CLIP, optimizeForSpeed=True))

    def close(self) -> None:
        """Ends the browsers."""
        self.tabs.close()

    def _act(self, gestures: dict[int, Gesture]) -> None:
        """Sends everybody's events, stage by stage, and waits for all of a stage at once."""
        plans = {index: stages(one, self._mouse[index], WIDTH, HEIGHT) for index, one in gestures.items()}
        for index, one in gestures.items():
            self._mouse[index] = one.points[-1] if one.points else self._mouse[index]
        for stage in range(max(map(len, plans.values()), default=0)):
            acting = [i for i, plan in plans.items() if len(plan) > stage and not self._crashed[i]]
            sent = each(acting, lambda i, stage=stage: self._send(i, plans[i][stage]), self._break)  # type: ignore[misc]
            each(list(sent), lambda i, sent=sent: self.tabs.page(i).finish(sent[i]), self._break)  # type: ignore[misc]
            longest = [PAUSES.get(gestures[i].verb, 0.0) for i in acting]
            if stage == 0 and any(longest):
                time.sleep(max(longest))

    def _send(self, index: int, commands: list[tuple[str, dict[str, Any]]]) -> list[int]:
        page = self.tabs.page(index)
        return [page.send(method, **params) for method, params in commands]

    def _ask_begin(self, index: int) -> list[int]:
        mode, animations = json.dumps(self.split), json.dumps(self._animations)
        return self._ask(index, f'tiltyard.begin("{self._keys[index]}", {mode}, {animations})')

    def _ask_look(self, index: int) -> list[int]:
        return self._ask(index, "tiltyard.look()")

    def _ask(self, index: int, expression: str) -> list[int]:
        page = self.tabs.page(index)
        return [page.ask(expression)]

    def _see(self, asked: dict[int, list[int]], failed: Any) -> None:
        """Takes in what the pages were asked for, and their screens if these are observed."""
        seen = each(list(asked), lambda index: self._take(index, asked[index][0]), failed)
        if self._pixels:
            ask = {"clip": CLIP, "optimizeForSpeed": True}
            shots = each(list(seen), lambda i: self.tabs.page(i).send("Page.captureScreenshot", **ask), failed)
            each(list(shots), lambda index: self._paint(index, shots[index]), failed)

    def _take(self, index: int, number: int) -> None:
        seen = self.tabs.page(index).value(number)
        self._goals[index], self._trees[index] = seen["goal"], seen["tree"]
        self._over[index], self._reasons[index] = seen["done"], seen["reason"]
        self._terms["goal"][index] = float(seen["reward"]) if seen["done"] else 0.0

    def _paint(self, index: int, number: int) -> None:
        self._screens[index] = picture(self.tabs.page(index).result(number))

    def _break(self, index: int, error: BrowserError) -> None:
        """Marks an episode whose page is lost."""
        self.tabs.drop(index, error)
        self._crashed[index] = True
        self._reasons[index], self._trees[index] = f"{error}", GONE
        self._screens[index] = 0

    def _again(self, failed: list[int], index: int, error: BrowserError) -> None:
        self.tabs.drop(index, error)
        failed.append(index)


def _give_up(index: int, error: BrowserError) -> None:
    raise error


class MiniWoBEnv(SingleEnv):
    """One page as a ``gymnasium.Env``; keywords of :class:`BatchedMiniWoB`."""

    batched_class = BatchedMiniWoB


class MiniWoBVectorEnv(BatchedVectorEnv):
    """Pages as a native ``gymnasium.vector.VectorEnv``; keywords of :class:`BatchedMiniWoB`."""

    batched_class = BatchedMiniWoB
