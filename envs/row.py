"""What a row of the catalogue of environments holds."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite, nan
from typing import Any, Literal, get_args

from gymnasium.envs.registration import parse_env_id
from gymnasium.error import Error as GymnasiumError

from .. import unknown

Domain = Literal["text", "gui", "driving", "robotics", "other"]
Tier = Literal["simulated", "live"]
Promise = Literal["vector", "deterministic", "scored"]

PROMISES: dict[Tier, frozenset[Promise]] = {
    "simulated": frozenset({"vector", "deterministic", "scored"}),
    "live": frozenset(),
}
"""What a row of ours keeps beside the rest of the contract, by tier.

A native vector environment; the same trajectory for the same seed and actions; measured scores and success rates of a
random policy, of the expert and of the best blind policy.
"""


def check_domain(name: Any, of: str) -> None:
    """``ValueError`` unless ``name`` is a domain; ``of`` says whose it is."""
    if name not in get_args(Domain):
        raise ValueError(f"{of}: {unknown('domain', name, get_args(Domain))}")


def check_entry_point(entry: Any, of: str) -> None:
    """``ValueError`` unless ``entry`` is of the form ``"module:Class"``; ``of`` says whose it is."""
    if not isinstance(entry, str) or not all(entry.partition(":")):
        raise ValueError(f'{of}: an entry point is written "module:Class", got {entry!r:.200}')


@dataclass(frozen=True)
class Row:
    """One registered environment.

    Attributes:
        id: the Gymnasium id.
        entry_point: ``"module:Class"`` of the single environment.
        vector_entry_point: ``"module:Class"`` of the native vector environment; ``None`` where there is none.
        domain: which of the four worlds it belongs to, or "other": that of environments that are not ours.
        summary: one sentence for tables.
        max_episode_steps: Gymnasium's time limit (0: none).
        random_score: mean episode return of a random policy on the test split (normalised score 0); NaN: not measured.
        expert_score: mean episode return of the scripted expert on the test split (normalised score 1), or NaN.
        expert_success: share of test episodes the expert solves; the audit checks it.
        kwargs: default keywords.
        blind_score: mean episode return on the test split of the best policy found that solves nothing: one that sees
            nothing (:mod:`tiltyard.benchmarks.blind`), or answers in a fixed form; ``None`` where nobody has looked.
        blind_success: share of test episodes that the most successful of them solves.
        blind_policy: the best one's name, which says all that it does.
        tier: "simulated", or "live" where a real server or device stands behind it, which promises less
            (:data:`PROMISES`).
        untrained: mean episode returns on the test split of policies that learn nothing and yet see, by name, such as
            the word matcher of phones.
        splits: whether it takes ``split="train" | "test"``. One that does not is evaluated at seeds of their own.

    Raises:
        ValueError: a malformed id or entry point, an unknown domain, a negative or broken step limit, keywords that are
            no mapping, or equal scores of the random policy and the expert.
    """

    id: str
    entry_point: str
    vector_entry_point: str | None
    domain: Domain
    summary: str
    max_episode_steps: int = 0
    random_score: float = nan
    expert_score: float = nan
    expert_success: float = nan
    kwargs: dict[str, Any] = field(default_factory=dict)
    blind_score: float | None = None
    blind_success: float | None = None
    blind_policy: str = ""
    untrained: Mapping[str, float] = field(default_factory=dict, hash=False)
    splits: bool = True
    tier: Tier = "simulated"

    def __post_init__(self) -> None:
        """Refuses what no environment can be registered or normalised with; rows of foreign ids have no entry point."""
        of = f"environment {self.id!r:.200}"
        check_domain(self.domain, of)
        if not self.entry_point:
            return
        try:
            parse_env_id(self.id)
        except (GymnasiumError, TypeError) as error:
            raise ValueError(f"an environment's id is written namespace/Name-v0, got {self.id!r:.200}") from error
        for entry in (self.entry_point, self.vector_entry_point):
            if entry is not None:
                check_entry_point(entry, of)
        steps = self.max_episode_steps
        if isinstance(steps, bool) or not isinstance(steps, int) or steps < 0:
            raise ValueError(f"{of}: max_episode_steps is a whole number, 0 for no limit, got {steps!r:.200}")
        if not isinstance(self.kwargs, Mapping):
            raise ValueError(f"{of}: kwargs are keywords by name, got {self.kwargs!r:.200}")
        if self.scored and self.random_score == self.expert_score:
            raise ValueError(
                f"{of}: random_score and expert_score are both {self.expert_score}, between which no return can be "
                "normalised: leave both out where they are not known"
            )

    def promises(self, *names: Promise) -> bool:
        """Whether its tier promises all of ``names``."""
        return PROMISES[self.tier].issuperset(names)

    @property
    def scored(self) -> bool:
        """Whether the scores of a random policy and of the expert are known, so that returns can be normalised."""
        return isfinite(self.random_score) and isfinite(self.expert_score)

    def normalise(self, score: float) -> float:
        """A raw mean return on the scale where 0 is a random policy and 1 the expert; itself if not :attr:`scored`."""
        if not self.scored:
            return score
        return (score - self.random_score) / (self.expert_score - self.random_score)
