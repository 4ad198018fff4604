"""CRAFT-GUI: GRPO on recorded steps from short solutions to long ones, with a graded reward.

Paper: Nong, Tang, Xu, Zhou, Chen, Jiang, Xu, CRAFT-GUI: Curriculum-Reinforced Agent For GUI Tasks (2025).
"""

from dataclasses import KW_ONLY, dataclass

import numpy as np

from .action_match import Agreement
from .recorded_steps import Attempts, Floats, Ints, RecordedSteps, RecordedStepsSettings
from .settings import takes
from .trajectories import Pool


def stages_of(lengths: Ints, stages: int) -> Ints:
    """The stage ``[E]`` of solutions with these lengths ``[E]``: equal shares from short to long, equal ones together.

    >>> stages_of(np.array([1, 1, 1, 2, 5, 9]), 3).tolist()
    [0, 0, 0, 1, 2, 2]
    """
    bounds = np.quantile(lengths, np.arange(1, stages) / stages)
    return np.searchsorted(bounds, lengths, side="left")


def graded_reward(found: Agreement, verb_weight: float = 0.5, argument_weight: float = 0.5) -> Floats:
    """``verb_weight [type right] + argument_weight (how far the argument is)``; the latter is 0 for another type."""
    rewards: Floats = verb_weight * found.verb + argument_weight * found.graded
    return rewards


@dataclass(frozen=True)
class CraftGUISettings(RecordedStepsSettings):
    """Those of CRAFT-GUI, beside what agents of recorded steps take.

    Args:
        stages: of the curriculum; 1 learns from all solutions at once.
        graded: whether an argument that is partly right earns its part; else all or nothing.
        verb_weight: of the reward for an action's type.
        argument_weight: of the reward for its argument.
    """

    _: KW_ONLY
    stages: int = 3
    graded: bool = True
    verb_weight: float = 0.5
    argument_weight: float = 0.5


class CraftGUI(RecordedSteps):
    r"""Learns from short solutions first, then from longer ones too; actions earn by how far they are right.

    The difficulty of a recorded episode is the length of its solution. Its ``stages`` shares, from short to long, come
    into the training one after another, each for the same number of updates. At each step a group of actions is tried,
    and each learnt from by how much better it is than the others (GRPO), with

    .. math:: r = w_v [verb = verb^*] + w_a [verb = verb^*] g(argument, argument^*)

    and g the part of the argument that is right: 0 or 1 for elements, directions and apps, the F1 score of the words
    for a text that is typed or answered. The latter stands where the paper asks a model to judge answers.

    What of the paper this is: stages by length on GRPO, and terms for type and argument. Its text could be read in the
    abstract alone, so that the number of stages, their bounds and the weights are ours, as is that a stage keeps the
    earlier ones. Left out: other kinds of task than operating (questions about a screen), a reward for the format,
    which cannot be wrong here, a judging model, and a penalty for leaving a reference policy. A call of
    :meth:`learn_offline` goes through all stages; :meth:`learn` goes through them once in all its steps.
    """

    settings: CraftGUISettings

    @takes(CraftGUISettings)
    def __init__(self, settings: CraftGUISettings) -> None:
        self.construct(settings)

    def tried(self, pool: Pool, experts: Ints, progress: float) -> Attempts:
        """See the class."""
        asked = self.settings
        stage = stages_of(pool.left[pool.first[experts]] + 1, asked.stages)
        chosen = experts[stage <= int(progress * asked.stages)]

        def reward(found: Agreement) -> Floats:
            part = found if asked.graded else found._replace(graded=found.exact.astype(np.float64))
            return graded_reward(part, asked.verb_weight, asked.argument_weight)

        return self.compared(pool, chosen, reward)
