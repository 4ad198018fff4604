"""Videos: any environment, played by its expert, at random, or by an agent, as a captioned mp4 or gif."""

import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import unknown
from ..envs.catalogue import resolve
from ..envs.errors import made_by_others
from ..envs.seeding import Split
from .evaluation import evaluation_seeds, is_function, success_of, view_of

Frame = npt.NDArray[np.uint8]
FORMATS = (".gif", ".mp4")
WIDTH, HEIGHT = 480, 320  # smaller frames are enlarged to about this, and the caption has this much room
LINE, PAD = 18, 6
HOLD = 1.5  # seconds for which an episode's first and last frame stand still
MAX_FPS = 30  # of environments with more steps a second, every k-th is shown


@dataclass(frozen=True)
class Episode:
    """What was played: undiscounted return, success (None: the environment does not say), steps taken."""

    score: float
    success: bool | None
    steps: int


def play(
    env_id: str,
    agent: Any = "expert",
    *,
    video: str | Path,
    episodes: int = 3,
    steps: int = 1000,
    seed: int | None = None,
    split: Split = "test",
    deterministic: bool = True,
    progress: Callable[[int], None] | None = None,
    **env_kwargs: Any,
) -> list[Episode]:
    """Plays episodes into a video file.

    Args:
        env_id: where.
        agent: ``"expert"``, ``"random"``, an agent with SB3's ``predict`` or a function of one observation.
        video: the file to write, ``.mp4`` or ``.gif``.
        episodes: how many.
        steps: stop after this many in all, even within an episode.
        seed: episode i plays ``reset(seed=seed + i)``; the published evaluation seeds by default.
        split: "test" problems, or "train".
        deterministic: whether the agent takes its best actions or samples.
        progress: called with the steps played.
        **env_kwargs: the environment's own.

    Raises:
        KeyError, ValueError: no such environment, file format or policy, fewer than 1 step or episode, or a seed
            below 0.
    """
    video = Path(video)
    if video.suffix.lower() not in FORMATS:
        raise ValueError(unknown("video format", video.suffix, FORMATS))
    if min(steps, episodes) < 1:
        raise ValueError(f"a video needs at least 1 step and 1 episode, got steps={steps}, episodes={episodes}")
    if seed is not None and seed < 0:
        raise ValueError(f"a seed is 0 or more, got seed={seed}")
    first = evaluation_seeds(0, 1)[0] if seed is None else seed
    player = _Player(env_id, agent, split, deterministic, env_kwargs)
    try:
        _write(video, player.frames(range(first, first + episodes), steps, progress), player.fps)
    finally:
        player.env.close()
    return player.episodes


class _Player:
    """One environment, stepped by a policy, yielding captioned frames and noting what each episode came to."""

    def __init__(self, env_id: str, agent: Any, split: Split, deterministic: bool, env_kwargs: dict[str, Any]) -> None:
        import gymnasium

        from ..wrappers.spaces import sb3_spaces

        view = view_of(agent, env_id)
        kwargs = {**view.env_kwargs, **env_kwargs, **({"split": split} if resolve(env_id).splits else {})}
        if "rgb_array" not in _render_modes(env_id):
            raise ValueError(f"{env_id} cannot be shown: its class names no render mode 'rgb_array' in its metadata")
        with made_by_others(env_id, kwargs):
            self.env = gymnasium.make(env_id, render_mode="rgb_array", **kwargs)
        if not view.strings:
            self.env = sb3_spaces(self.env)
        native = float(self.env.metadata.get("render_fps", 10))
        self.every = max(1, ceil(native / MAX_FPS))
        self.fps = native / self.every
        self.title = f"{env_id.rpartition('/')[2]}, {agent if isinstance(agent, str) else type(agent).__name__}"
        self.policy = _single_policy(agent, self.env, deterministic)
        self.episodes: list[Episode] = []

    def frames(self, seeds: range, steps: int, progress: Callable[[int], None] | None) -> Iterator[Frame]:
        """Plays one episode a seed until ``steps`` are played; shows each :attr:`every`-th step and both ends."""
        played, hold = 0, round(HOLD * self.fps)
        for seed in seeds:
            observation, _ = self.env.reset(seed=seed)
            self.env.action_space.seed(seed)
            goal = self._goal()
            score, count, over = 0.0, 0, False
            yield from [self._frame(goal, "", count, score)] * hold
            while not over and played < steps:
                action = self.policy(observation, count == 0)
                observation, reward, terminated, truncated, info = self.env.step(action)
                score, count, played, over = score + float(reward), count + 1, played + 1, terminated or truncated
                if count % self.every == 0 and not over:
                    yield self._frame(goal, action, count, score)
                if progress is not None:
                    progress(played)
            yield from [self._frame(goal, action, count, score, success_of(info) if over else None)] * hold
            self.episodes.append(Episode(score, success_of(info), count))
            if played == steps:
                return

    def _goal(self) -> str:
        """What a GUI environment asks for, in its own words (an agent may see it encoded)."""
        batched = getattr(self.env.unwrapped, "batched", None)  # ours alone have them
        raw = None if batched is None else batched.observe()
        return str(raw["goal"][0]) if isinstance(raw, dict) and "goal" in raw else ""

    def _frame(self, goal: str, action: Any, step: int, score: float, success: bool | None = None) -> Frame:
        verdict = {None: "", True: ", success", False: ", no success"}[success]
        lines = [f"{self.title}, step {step}, return {score:.2f}{verdict}"]
        if goal:  # always four lines: the frames of a video are of one size
            said = f"> {action}" if isinstance(action, str) and action else ""
            lines += [*textwrap.wrap(goal, 72), "", ""][:2] + [said[:72].splitlines()[0] if said else ""]
        return captioned(np.asarray(self.env.render(), np.uint8), lines)


def _render_modes(env_id: str) -> list[str]:
    """The render modes that an environment's class names, as ``gymnasium.make`` reads them."""
    import gymnasium

    resolve(env_id)  # gymnasium.spec() does not import the module of module:id, as gymnasium.make() does
    entry_point: Any = gymnasium.spec(env_id.rpartition(":")[2]).entry_point
    made = gymnasium.envs.registration.load_env_creator(entry_point) if isinstance(entry_point, str) else entry_point
    return list(getattr(made, "metadata", {}).get("render_modes", ()))


def _single_policy(agent: Any, env: Any, deterministic: bool) -> Callable[[Any, bool], Any]:
    """What acts on an observation, told whether it is an episode's first."""
    if agent == "random":
        return lambda observation, begins: env.action_space.sample()
    if agent == "expert":
        if not hasattr(env.unwrapped, "expert"):
            raise ValueError(f"{env.spec.id} has no expert: play an agent, or random")
        expert = env.unwrapped.expert()
        return lambda observation, begins: expert.predict(observation)[0]
    if is_function(agent):
        return lambda observation, begins: agent(observation)
    state: Any = None  # of agents that remember, such as what has been said

    def act(observation: Any, begins: bool) -> Any:
        nonlocal state
        batch, start = _batch_of_one(observation), np.array([begins])
        actions, state = agent.predict(batch, state=state, episode_start=start, deterministic=deterministic)
        return actions[0]

    return act


def _batch_of_one(observation: Any) -> Any:
    if isinstance(observation, dict):
        return {key: _batch_of_one(part) for key, part in observation.items()}
    if isinstance(observation, str):
        return np.array([observation], dtype=object)
    return np.asarray(observation)[None]


def captioned(frame: Frame, lines: list[str]) -> Frame:
    """``frame`` ``[H, W, 3]``, enlarged by a whole factor if small, above a strip of text; even sides for video."""
    from PIL import Image, ImageDraw, ImageFont

    scale = max(1, round(min(HEIGHT / frame.shape[0], WIDTH / frame.shape[1])))
    picture = Image.fromarray(frame.repeat(scale, 0).repeat(scale, 1))
    width = max(picture.width, WIDTH)
    height = picture.height + LINE * len(lines) + 2 * PAD
    page = Image.new("RGB", (width + width % 2, height + height % 2), (24, 26, 30))
    page.paste(picture, ((page.width - picture.width) // 2, 0))
    pen, font = ImageDraw.Draw(page), ImageFont.load_default(13)
    for row, line in enumerate(lines):
        pen.text((PAD, picture.height + PAD + row * LINE), line, fill=(235, 235, 235), font=font)
    return np.asarray(page, np.uint8)


def _write(video: Path, frames: Iterator[Frame], fps: float) -> None:
    """Writes all frames beside ``video`` and renames at the end: a broken-off recording leaves no file."""
    import imageio.v2 as imageio

    video.parent.mkdir(parents=True, exist_ok=True)
    partial = video.with_name(f"{video.stem}.partial{video.suffix}")
    gif = video.suffix.lower() == ".gif"
    settings: dict[str, Any] = {"duration": 1000 / fps, "loop": 0} if gif else {"fps": fps, "macro_block_size": 2}
    writer: Any
    try:
        with imageio.get_writer(partial, mode="I", **settings) as writer:
            for frame in frames:
                writer.append_data(frame)
        partial.replace(video)
    finally:
        partial.unlink(missing_ok=True)
