"""UI-R1: GRPO on single recorded steps, by a rule that looks at an action's type and at where it points.

Paper: Lu, Chai, Guo, Yin, Liu, Wang, Xiao, Ren, Xiong, Li, UI-R1: Enhancing Efficient Action Prediction of GUI Agents
by Reinforcement Learning (2025), and the authors' code.
"""

from dataclasses import KW_ONLY, dataclass

from .action_match import Agreement
from .recorded_steps import Attempts, Floats, Ints, RecordedSteps, RecordedStepsSettings
from .settings import takes
from .trajectories import Pool

FORMAT = 1.0
"""R_F: five integers in their ranges are always well-formed."""


def action_reward(found: Agreement, verb_weight: float = 1.0, argument_weight: float = 1.0) -> Floats:
    """R = R_T + R_C + R_F, eq. 3: 1 for the type, 1 for the argument if the type is right too, 1 for the form."""
    rewards: Floats = FORMAT + verb_weight * found.verb + argument_weight * (found.verb & found.exact)
    return rewards


@dataclass(frozen=True)
class UIR1Settings(RecordedStepsSettings):
    """Those of UI-R1, beside what agents of recorded steps take.

    Args:
        verb_weight: of R_T, that the type of the action is right.
        argument_weight: of R_C, that what it points at or says is.
    """

    _: KW_ONLY
    verb_weight: float = 1.0
    argument_weight: float = 1.0


class UIR1(RecordedSteps):
    r"""Tries a group of actions at each recorded step, and learns by how much each was better than the others.

    .. math:: R = R_T + R_C + R_F, \quad A_i = \frac{R_i - mean(R)}{std(R)}

    (eq. 3 and 1): :math:`R_T` is 1 if the type of the action is the recorded one's, :math:`R_C` is 1 if moreover it
    hits the recorded element (eq. 4: the point lies in the element's box), and the policy takes GRPO's clipped steps
    (eq. 2). :math:`R_F` is for tags in a text; here nothing can be ill-formed, so it is 1 and drops out of A.

    Groups of 8 are the authors' code. Departures: a point has to lie in the box *and* on no other element that would
    take it; :math:`R_C` judges texts, directions and apps as well, since nothing else would say what to type (the paper
    gives it to clicks, its code to any other action of the right type); a step belongs to a goal of several steps,
    where theirs have an instruction each; there is no penalty for leaving a reference policy, no reward for short
    thoughts (there are none), and no choice of 136 hard and diverse steps: data are taken as they are.
    """

    settings: UIR1Settings

    @takes(UIR1Settings)
    def __init__(self, settings: UIR1Settings) -> None:
        self.construct(settings)

    def tried(self, pool: Pool, experts: Ints, progress: float) -> Attempts:
        """See the class."""
        asked = self.settings
        return self.compared(
            pool, experts, lambda found: action_reward(found, asked.verb_weight, asked.argument_weight)
        )
