"""ScalingInter-RL: episodes may have few turns at first, and more in later stages of training."""

from collections.abc import Sequence
from typing import Any

from ..context import Context
from .groups import Groups


class ScalingInter(Groups):
    """Groups of episodes that are cut off after a number of turns, which grows from stage to stage of training.

    With few turns the policy learns first what is quickly done, and learns it from short episodes; with more turns it
    can do what takes longer, from where it has come. A policy that may take many turns from the beginning wanders, and
    its rewards say little of any turn. An episode that is cut off keeps what it has earned and has not succeeded;
    evaluations are not cut off.

    Departures: stages are equal shares of the training, where the authors' code has a number of gradient steps for each
    (80 or 100) and stays in the last one. A cut-off episode is missing from Stable-Baselines3's ``ep_rew_mean``, which
    the environment reports of finished ones. The paper's environments and its server are not here: any text environment
    of several turns will do.

    Args:
        turns: of an episode at most, a number for each stage.
        **groups: see :class:`Groups`.

    Raises:
        TypeError: turns that are no whole numbers.
        ValueError: no stage, or one without a turn.

    Paper: AgentGym-RL: Training LLM Agents for Long-Horizon Decision Making through Multi-Turn Reinforcement Learning
    (2025), ScalingInter-RL; the authors' ``StepRoundsScheduler``, and the numbers of their script for TextCraft.
    """

    def __init__(self, *, turns: Sequence[int] = (10, 20, 30), **groups: Any) -> None:
        super().__init__(**groups)
        listed = isinstance(turns, Sequence) and not isinstance(turns, str)
        if not listed or not all(isinstance(one, int) and not isinstance(one, bool) for one in turns):
            raise TypeError(f"turns are whole numbers, one for each stage, such as (10, 20, 30), got {turns!r:.100}")
        if not turns or min(turns) < 1:
            raise ValueError(f"turns has a number of at least 1 for each stage, got {turns!r:.100}")
        self.turns = tuple(turns)

    def max_turns(self, context: Context) -> int:
        """That of the stage which training has come to."""
        return self.turns[min(int(context.progress * len(self.turns)), len(self.turns) - 1)]
