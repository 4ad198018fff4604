"""What a row of the catalogue of environments holds."""

from dataclasses import dataclass, field
from typing import Any, Literal

Domain = Literal["text", "gui", "driving", "robotics"]


@dataclass(frozen=True)
class Row:
    """One registered environment.

    Attributes:
        id: the Gymnasium id.
        entry_point: ``"module:Class"`` of the single environment.
        vector_entry_point: ``"module:Class"`` of the native vector environment.
        domain: which of the four worlds it belongs to.
        summary: one sentence for tables.
        max_episode_steps: Gymnasium's time limit.
        random_score: mean episode return of a random policy on the test split (normalised score 0).
        expert_score: mean episode return of the scripted expert on the test split (normalised score 1).
        expert_success: share of test episodes the expert solves; the audit checks it.
        kwargs: default keywords.
        blind_score: mean episode return on the test split of the best policy that sees nothing, as far as
            :mod:`tiltyard.benchmarks.blind` finds one; ``None`` where nobody has looked.
        blind_success: share of test episodes that the most successful of them solves.
        blind_policy: the best one's name, which says all that it does.
    """

    id: str
    entry_point: str
    vector_entry_point: str
    domain: Domain
    summary: str
    max_episode_steps: int
    random_score: float
    expert_score: float
    expert_success: float
    kwargs: dict[str, Any] = field(default_factory=dict)
    blind_score: float | None = None
    blind_success: float | None = None
    blind_policy: str = ""

    def normalise(self, score: float) -> float:
        """A raw mean return on the scale where 0 is a random policy and 1 the expert."""
        return (score - self.random_score) / (self.expert_score - self.random_score)
