"""``tiltyard/Phone-v1``: a simulated phone with more apps and verbs, and test splits that differ from train in one way.

Observations, reward and the exact check are Phone-v0's (:mod:`.phone`). New are long presses, drags, opening an app by
name, waiting, tasks that ask for an answer or cannot be done (:mod:`.commands`), a keyboard with capitals and
symbols, and rows that make phones differ (:mod:`.twists`). Problems are drawn as :mod:`.problems_v1` says.
"""

from collections.abc import Sequence

import numpy as np

from .. import seeding
from ..core import BatchedVectorEnv, Info, SingleEnv
from .commands import VERBS
from .phone import BatchedPhone
from .problems_v1 import HeldOut, Problem, choices, generate, split_of


class BatchedPhoneV1(BatchedPhone):
    """Phones, stepped together.

    Args:
        num_envs: number of phones.
        split: which problems, "train" or "test".
        level: 1 one app and few steps; 2 longer ones; 3 several apps, or looking something up.
        apps: keys of the apps that goals may need; None for all.
        size: height and width of ``screen`` in pixels; 16 to 9, height 96 to 1920.
        render_mode: "rgb_array" for frames of 324 x 576 (or the size of ``screen``, if larger).
        held_out: in which way test problems differ from train problems, and in which alone: "params" (what is asked),
            "wording", "template", "app", "theme" or "locale". It changes nothing in the train split.
        drift: from 0 to 1: how far the popularity of apps, layouts and disturbances have moved away.
        rows: which rows of :data:`.twists.ROWS` are on; None for all.
        observation: "screen", or "elements" for the numbers of :mod:`.elements`.

    Raises:
        ValueError: an argument outside of these.
    """

    verbs = VERBS

    def __init__(
        self,
        num_envs: int,
        split: seeding.Split = "train",
        level: int = 1,
        apps: Sequence[str] | None = None,
        size: tuple[int, int] = (192, 108),
        render_mode: str | None = None,
        held_out: HeldOut = "params",
        drift: float = 0.0,
        rows: Sequence[str] | None = None,
        observation: str = "screen",
    ) -> None:
        self._split = split_of(split, held_out, drift, rows)
        super().__init__(num_envs, split, level, apps, size, render_mode, observation)

    def _prepare(self) -> None:
        self._templates = choices(self.level, self._apps, self._split)

    def generate(self, seed: int, episode: int) -> Problem:
        """The ``episode``-th problem after ``reset(seed=seed)``."""
        key = int(seeding.problem_keys(self.split, [seed], [episode])[0])
        return generate(key, self.level, self._templates, self._split)

    def canonical(self, problem: Problem) -> str:
        """What the problem's goal asks for, in whatever words and on whatever phone."""
        return " ".join(map(str, (problem.template.name, *problem.goal.asked)))

    def reset_info(self) -> Info:
        """As Phone-v0's, and whether the task is infeasible, and the locale."""
        return {
            **super().reset_info(),
            "infeasible": np.array([problem.goal.infeasible for problem in self.problems]),
            "locale": [problem.locale for problem in self.problems],
        }


class PhoneV1Env(SingleEnv):
    """One phone as a ``gymnasium.Env``; keywords of :class:`BatchedPhoneV1`."""

    batched_class = BatchedPhoneV1


class PhoneV1VectorEnv(BatchedVectorEnv):
    """Phones as a native ``gymnasium.vector.VectorEnv``; keywords of :class:`BatchedPhoneV1`."""

    batched_class = BatchedPhoneV1
