"""OTC-PO: what a correct episode earns is multiplied by a factor that is largest at the fewest tool calls needed."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ... import unknown
from ..checks import check_numbers
from ..components import Context, Episodes, Reward

VARIANTS = ("grpo", "ppo")


def tool_reward(calls: Tensor, fewest: Tensor, *, smoothing: float = 1.0) -> Tensor:
    """r_tool in [0, 1] of m ``calls`` where n = ``fewest`` would do, of their shape.

    cos(pi m / (2 m + c)) for n = 0, and else sin(pi f / (2 n)) with f = 2 n m / (m + n): 1 at m = n (of m = n = 0 too),
    and the less, the further m is from n on either side.

    Args:
        calls: tool calls made, m.
        fewest: tool calls that are enough, n.
        smoothing: c; the larger, the less the first unneeded calls cost.
    """
    m, n = calls.double(), fewest.double()
    none_needed = torch.cos(math.pi * m / (2 * m + smoothing))
    some_needed = torch.sin(math.pi * m / (m + n).clamp(min=1))  # f / (2 n) is m / (m + n)
    return torch.where(n == 0, none_needed, some_needed)


class OTCPO(Reward):
    """R = alpha * r_tool * r for episodes that succeed, with r_tool of :func:`tool_reward`; R = r for others.

    In the variant "grpo" n is the least number of calls with which any episode of the same problem has succeeded so
    far, those of this batch included: it is remembered by problem, and only falls. In the variant "ppo", which compares
    no episodes, n is 0. An incorrect episode earns nothing for saving calls, so that calls are given up only where the
    answer stays correct.

    A call is an occurrence of the text ``call`` in what was said, such as ``"<tool_call>"``; without one, it is every
    turn but an episode's last, which gives the answer: a question, a search. Episodes of one turn have none then, and
    their rewards are multiplied by ``alpha`` alone.

    Departures: the paper's r is 1 or 0, so that incorrect episodes earn 0 in any case; here they keep what they earned,
    since a penalty times r_tool would be the smaller for more calls. Its value of c was not at hand; 1 is ours.

    Args:
        variant: "grpo" or "ppo".
        call: the text with which a tool call begins (None: turns before the last).
        smoothing: c.
        alpha: the largest factor.

    Raises:
        TypeError: a number that is none.
        ValueError: no such variant; a text without characters; a smoothing or an alpha that is not above 0.

    Paper: OTC: Optimal Tool Calls via Reinforcement Learning (2025), r_tool of OTC-PPO and OTC-GRPO and the product
    alpha r_tool r. They are read from two implementations by others and two summaries, which agree.
    """

    def __init__(
        self, *, variant: str = "grpo", call: str | None = None, smoothing: float = 1.0, alpha: float = 1.0
    ) -> None:
        if variant not in VARIANTS:
            raise ValueError(unknown("variant", variant, VARIANTS))
        if call is not None and not (isinstance(call, str) and call):
            raise ValueError(
                f"call is the text with which a tool call begins, such as '<tool_call>', got {call!r:.100}"
            )
        check_numbers(smoothing=smoothing, alpha=alpha)
        for name, value in (("smoothing", smoothing), ("alpha", alpha)):
            if not 0 < value < math.inf:
                raise ValueError(f"{name} must be above 0 and finite, got {value}")
        self.variant, self.call, self.smoothing, self.alpha = variant, call, smoothing, alpha
        self.fewest: dict[int, int] = {}

    def shape(self, episodes: Episodes, context: Context) -> Tensor:
        """Rewards ``[B]``; remembers the fewest calls of each problem."""
        calls, success = self.calls(episodes), episodes.info["success"].bool()
        needed = torch.zeros_like(calls)
        if self.variant == "grpo":
            self._remember(episodes.seed[success].tolist(), calls[success].tolist())
            needed = calls.new_tensor([self.fewest.get(seed, 0) for seed in episodes.seed.tolist()])
        factor = self.alpha * tool_reward(calls, needed, smoothing=self.smoothing).to(episodes.reward.dtype)
        return torch.where(success, factor * episodes.reward, episodes.reward)

    def calls(self, episodes: Episodes) -> Tensor:
        """Tool calls of each episode, ``[B]`` int64."""
        if self.call is None:
            made = [max(len(turns) - 1, 0) for turns in episodes.completions]
        else:
            made = [sum(said.count(self.call) for said in turns) for turns in episodes.completions]
        return torch.tensor(made, dtype=torch.int64, device=episodes.reward.device)

    def _remember(self, seeds: list[int], calls: list[int]) -> None:
        for seed, made in zip(seeds, calls, strict=True):
            self.fewest[seed] = min(made, self.fewest.get(seed, made))

    def state_dict(self) -> dict[str, Any]:
        """The fewest calls with which each problem was solved."""
        return {"seeds": np.array(list(self.fewest), np.int64), "calls": np.array(list(self.fewest.values()), np.int64)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Becomes what :meth:`state_dict` described."""
        self.fewest = dict(zip(state["seeds"].tolist(), state["calls"].tolist(), strict=True))
