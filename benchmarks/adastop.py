"""AdaStop: how many runs does it take to tell these agents apart? A group-sequential permutation test that stops early.

Runs come in groups of n an agent. After group k each undecided pair has the statistic

    T_k = | sum over groups of (mean of a's group - mean of b's group) |

and its distribution if the pair were equal, from permuting scores within each group of the pair. The largest T_k of all
undecided pairs is compared with the boundary that spends at most ``level * k / K`` of error so far; a pair above it is
decided and the rest compared again (step-down). Permutations that crossed an earlier boundary no longer count, since
their error has been spent. The chance of calling any equal pair different is therefore at most ``level``.

    test = AdaStop(["sac", "ppo"], rng=np.random.default_rng(0))
    while not test.done:
        test.add({agent: [train(agent) for _ in range(test.group)] for agent in test.needed})

Paper: AdaStop: sequential testing for efficient and reliable comparisons of Deep RL Agents (2023). Departures from its
published code: the permuted statistics are absolute values like the observed one (the test is two-sided), and the
permutations are always drawn at random, the observed order being one of them. Early acceptance, off by default there,
is left out: a pair that is not decided after K groups is "undecided", which does not mean equal.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Literal

import numpy as np

from .. import unknown
from .statistics import Floats

Decision = Literal["larger", "smaller", "undecided"]
Pair = tuple[str, str]


class AdaStop:
    """The test's memory between groups of runs.

    Args:
        agents: two or more names.
        rng: draws the permutations.
        group: runs an agent adds at a time (n).
        groups: the most groups an agent may need (K).
        level: bound on the chance of calling any equal pair different (family-wise error).
        permutations: of each pair.

    Attributes:
        decisions: for each pair whether the first agent's scores are ``larger``, ``smaller`` or ``undecided``.
        runs: how many runs each agent has used.
        dropped: agents that were left out (:meth:`drop`).
    """

    def __init__(
        self,
        agents: Sequence[str],
        *,
        rng: np.random.Generator,
        group: int = 5,
        groups: int = 5,
        level: float = 0.05,
        permutations: int = 10_000,
    ) -> None:
        if len(set(agents)) < max(2, len(agents)):
            raise ValueError(f"AdaStop compares two or more different agents, got {list(agents)}")
        if group < 1 or groups < 1 or not 0.0 < level < 1.0:
            raise ValueError("group and groups must be at least 1 and level between 0 and 1")
        if permutations * level / groups < 1:
            raise ValueError(f"{permutations} permutations are too few to spend a level of {level} in {groups} groups")
        self.group, self.groups, self.level, self.permutations = group, groups, level, permutations
        self.decisions: dict[Pair, Decision] = dict.fromkeys(combinations(agents, 2), "undecided")
        self.runs = dict.fromkeys(agents, 0)
        self.dropped: list[str] = []
        self._rng = rng
        self._groups_seen = 0
        self._sums: dict[Pair, Floats] = {pair: np.zeros(permutations) for pair in self.decisions}
        self._unspent = np.ones(permutations, np.bool_)  # permutations that crossed no boundary yet

    @property
    def needed(self) -> tuple[str, ...]:
        """The agents that must add a group of runs for the test to go on."""
        return () if self.done else tuple(a for a in self.runs if any(a in pair for pair in self._undecided))

    @property
    def done(self) -> bool:
        """Whether every pair is decided or the last group is in."""
        return not self._undecided or self._groups_seen == self.groups

    @property
    def _undecided(self) -> list[Pair]:
        return [pair for pair, decision in self.decisions.items() if decision == "undecided"]

    def add(self, scores: Mapping[str, Sequence[float]]) -> dict[Pair, Decision]:
        """Adds one group of runs of every agent in :attr:`needed` and returns the decisions so far.

        Args:
            scores: ``group`` new scores an agent; agents that are no longer needed are ignored.

        Raises:
            ValueError: the test is done, or an agent's scores are missing, of another number, or not finite.
        """
        blocks = self._checked(scores)
        self._groups_seen += 1
        for agent in blocks:
            self.runs[agent] += self.group
        for a, b in self._undecided:
            self._sums[a, b] += self._differences(blocks[a], blocks[b])
        self._decide()
        return dict(self.decisions)

    def drop(self, agent: str) -> None:
        """Leaves out an agent that has no score, as of runs that diverged: of its pairs nothing is decided any more.

        What was decided of them is withdrawn. The level holds for the other pairs, whose scores have no part in it.

        Raises:
            KeyError: no such agent.
        """
        if agent not in self.runs:
            raise KeyError(unknown("agent", agent, self.runs))
        self.dropped.append(agent)
        self.decisions = {pair: one for pair, one in self.decisions.items() if agent not in pair}
        self._sums = {pair: one for pair, one in self._sums.items() if agent not in pair}

    def _checked(self, scores: Mapping[str, Sequence[float]]) -> dict[str, Floats]:
        if self.done:
            raise ValueError("this AdaStop test is done: start another for other runs")
        for agent in scores:
            if agent not in self.runs:
                raise ValueError(unknown("agent", agent, self.runs))
        blocks = {agent: np.asarray(scores.get(agent, ()), np.float64) for agent in self.needed}
        for agent, block in blocks.items():
            if block.shape != (self.group,) or not np.isfinite(block).all():
                raise ValueError(f"agent {agent!r} must add {self.group} finite scores, got {block.tolist()}")
        return blocks

    def _differences(self, a: Floats, b: Floats) -> Floats:
        """Difference of the two halves' means under each permutation; the first is the observed order."""
        both = np.tile(np.concatenate([a, b]), (self.permutations, 1))
        both[1:] = self._rng.permuted(both[1:], axis=1)
        return np.asarray(both[:, : self.group].mean(axis=1) - both[:, self.group :].mean(axis=1))

    def _decide(self) -> None:
        budget = self.level * self._groups_seen / self.groups * self.permutations
        allowed = int(budget + 1e-9) - int((~self._unspent).sum())  # permutations that may cross now
        while pairs := self._undecided:
            largest = np.max([np.abs(self._sums[pair]) for pair in pairs], axis=0)
            alive = np.sort(largest[self._unspent])[::-1]
            boundary = alive[allowed] if allowed < len(alive) else -np.inf
            boundary += 1e-9 * alive[0]  # equal up to rounding is not above
            if largest[0] <= boundary:
                break
            top = max(pairs, key=lambda pair: abs(self._sums[pair][0]))
            self.decisions[top] = "larger" if self._sums[top][0] > 0 else "smaller"
        if pairs:
            self._unspent &= largest <= boundary
