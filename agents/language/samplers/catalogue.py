"""One row a sampler; importing this imports nothing heavy."""

from typing import TYPE_CHECKING

from ....wrappers.components import Choice, Row, choose

if TYPE_CHECKING:
    from .base import Sampler

ROWS: tuple[Row, ...] = (
    Row("groups", "tiltyard.agents.language.samplers.groups:Groups"),
    Row("arpo", "tiltyard.agents.language.samplers.arpo:ARPO"),
    Row("debate", "tiltyard.agents.language.samplers.debate:Debate"),
    Row("scaling-inter", "tiltyard.agents.language.samplers.scaling_inter:ScalingInter", paper="agentgym-rl"),
    Row("nlpo", "tiltyard.agents.language.samplers.nlpo:NLPO", paper="rl4lms-nlpo-grue"),
    Row("reinforce-ada", "tiltyard.agents.language.samplers.reinforce_ada:ReinforceAda"),
)


def load(choice: "Choice | Sampler") -> "Sampler":
    """The sampler that ``choice`` names, groups of independent completions for None."""
    from .base import Sampler

    return choose("sampler", "groups" if choice is None else choice, ROWS, Sampler)  # type: ignore[type-abstract]
