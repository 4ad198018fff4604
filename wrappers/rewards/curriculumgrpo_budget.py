"""CurriculumGRPO: correctness, a length reward that peaks at a token budget, and format; the budget falls in steps."""

import math
import re
from collections.abc import Sequence

import torch
from torch import Tensor

from ... import unknown
from ..checks import check_numbers, check_whole
from ..components import Context, Episodes, Reward

SCHEDULES = ("exponential", "linear")
SHAPES = ("triangle", "band")
TIGHT = 87 / 256
"""The paper's last budget as a share of its first."""


def budget(progress: float, *, start: float, end: float, decays: int = 3, schedule: str = "exponential") -> float:
    """Tokens B at a share ``progress`` of training: ``start`` at first, ``end`` at last, ``decays`` steps between.

    Step k begins at the share k / (decays + 1). B = max(1, start * gamma^k) with gamma = (end / start)^(1 / decays), or
    with the schedule "linear" max(1, start + (end - start) k / decays).
    """
    k = min(int(progress * (decays + 1)), decays)
    fallen = k / decays
    tokens = start * (end / start) ** fallen if schedule == "exponential" else start + (end - start) * fallen
    return max(1.0, tokens)


def length_reward(length: Tensor, target: float, *, shape: str = "triangle") -> Tensor:
    """In [0, 1], of the shape of ``length``: length / target up to the target, then down to 0 at twice the target.

    The shape "band" is 1 up to the target.
    """
    used = length.double() / target
    rising = used if shape == "triangle" else torch.ones_like(used)
    return torch.where(used <= 1, rising, (2 - used).clamp(min=0))


def well_formed(said: str, tag: str) -> bool:
    """Whether ``said`` has one span ``<tag>...</tag>``, closed, and no other mark of it."""
    once = said.count(f"<{tag}>") == said.count(f"</{tag}>") == 1
    return once and re.search(f"<{tag}>.*</{tag}>", said, re.DOTALL) is not None


class BudgetCurriculum(Reward):
    """R = w_c c + w_l R_len(tokens; B) + w_f R_fmt, in place of the environment's reward.

    c is 1 for a success and else 0, R_len is :func:`length_reward` and R_fmt the share of ``tags`` that are well
    formed; all lie in [0, 1]. B is the :func:`budget` at this share of ``learn``: generous first, so that long ways to
    a solution are found, then tighter, so that they become short. As in the paper, incorrect completions earn the
    length reward too. With ``start`` = ``end`` the budget is fixed, which is the paper's baseline.

    Departures: the paper's prompt names the budget, as a sentence for a pretrained model; prompts are left alone here.
    It lowers the budget every T updates; here it is lowered at equal shares of training, which is T = updates /
    (decays + 1), as in the paper's comparison of schedules.

    Args:
        start: the first budget in tokens, of all turns of an episode (None: the agent's ``max_answer_tokens``, which is
            right for episodes of one turn; of several, give it times the turns).
        end: the last one (None: 87 / 256 of the first, as in the paper).
        decays: how often it falls.
        schedule: "exponential" or "linear".
        peak: "triangle" or "band", which pays short completions fully.
        correct_weight: w_c, of success.
        length_weight: w_l, of the length reward.
        format_weight: w_f, of the format reward.
        tags: of spans that a completion shall have; ("think", "answer") in the paper.

    Raises:
        TypeError: a number that is none, tags that are no texts.
        ValueError: budgets below one token or that rise, no decay, a negative weight, an unknown schedule or shape.

    Paper: Train Long, Think Short: Curriculum Learning for Efficient Reasoning (2025), sections 3.3 and 3.4; schedules
    as in 4.4 and 4.6, "band" of 4.5, and the weights 0.6 and 0.3 of 4.3, where it weighs correctness most (the length
    most: 0.3 and 0.6). It does not give the weight of format; 0.1 is ours.
    """

    def __init__(
        self,
        *,
        start: int | None = None,
        end: int | None = None,
        decays: int = 3,
        schedule: str = "exponential",
        peak: str = "triangle",
        correct_weight: float = 0.6,
        length_weight: float = 0.3,
        format_weight: float = 0.1,
        tags: Sequence[str] = ("answer",),
    ) -> None:
        for kind, chosen, known in (("schedule", schedule, SCHEDULES), ("peak", peak, SHAPES)):
            if chosen not in known:
                raise ValueError(unknown(kind, chosen, known))
        check_whole(decays=decays, **{name: it for name, it in (("start", start), ("end", end)) if it is not None})
        if decays < 1:
            raise ValueError(f"decays is how often the budget falls, at least once, got {decays}")
        weights = {"correct_weight": correct_weight, "length_weight": length_weight, "format_weight": format_weight}
        check_numbers(**weights)
        if not all(0 <= weight < math.inf for weight in weights.values()):
            raise ValueError(f"weights are 0 or more and finite, got {weights}")
        self.weights = tuple(weights.values())
        if isinstance(tags, str) or not all(isinstance(tag, str) and tag for tag in tags):
            raise TypeError(f"tags are names of spans, such as ('think', 'answer'), got {tags!r:.100}")
        self.start_tokens, self.end_tokens, self.decays = start, end, decays
        self.schedule, self.peak, self.tags = schedule, peak, tuple(tags)
        if start is not None:
            _check(start, end)

    def start(self, context: Context) -> None:
        """Refuses a last budget above the first, where this is the agent's."""
        self.budget(context)

    def shape(self, episodes: Episodes, context: Context) -> Tensor:
        """Rewards ``[B]``; what the environment paid is not read."""
        correct, length, form = self.weights
        total = correct * episodes.info["success"].double()
        total = total + length * length_reward(episodes.length, self.budget(context), shape=self.peak)
        shaped: Tensor = (total + form * self.format_reward(episodes)).to(episodes.reward.dtype)
        return shaped

    def format_reward(self, episodes: Episodes) -> Tensor:
        """The share of ``tags`` that each completion has well formed, ``[B]``; 0 where there are none to have."""
        if not self.tags:
            return torch.zeros_like(episodes.reward, dtype=torch.float64)
        said = ["\n".join(turns) for turns in episodes.completions]
        shares = [sum(well_formed(text, tag) for tag in self.tags) / len(self.tags) for text in said]
        return torch.tensor(shares, dtype=torch.float64, device=episodes.reward.device)

    def budget(self, context: Context) -> float:
        """Tokens now."""
        start = self.start_tokens
        if start is None:
            start = getattr(context.policy, "max_answer_tokens", None)
        if start is None:
            raise ValueError("this policy does not say how long its completions may be: give the reward its start=")
        end = _check(start, self.end_tokens)
        return budget(context.progress, start=start, end=end, decays=self.decays, schedule=self.schedule)


def _check(start: int, end: int | None) -> float:
    """The last budget; ``ValueError`` where there is none that is at least one token and at most ``start``."""
    last = max(1.0, TIGHT * start) if end is None else float(end)
    if not 1 <= last <= start:
        raise ValueError(f"the budget falls from start to end, both at least 1 token, got {start} and {last:g}")
    return last
