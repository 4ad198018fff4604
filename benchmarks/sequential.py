"""Races whose seeds were added until AdaStop had decided: which runs they may take, and their decisions again.

Intervals and tests of a fixed number of runs do not hold their level where the runs decide how many there are. Such a
race therefore leaves a record beside its runs, by which pages know it, and from which with the runs alone they compute
the test's decisions again, the only verdicts that hold.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import numpy as np

from ..envs.catalogue import find
from .adastop import AdaStop, Decision
from .diverging import diverged_in
from .folders import write_whole
from .runs import FinishedRun
from .scores import Score, raw_score

PATTERN = "until-decided-*.json"
NO_VERDICT = "no verdict: raced until decided"
DIVERGED = "no verdict: runs diverged"
_SAID: dict[Decision, str] = {"larger": "better", "smaller": "worse", "undecided": "undecided"}
_TURNED: dict[Decision, Decision] = {"larger": "smaller", "smaller": "larger", "undecided": "undecided"}


@dataclass(frozen=True)
class Sequential:
    """A race until decided.

    Attributes:
        suite: its name.
        score: what of a run is judged.
        group: seeds that are added at a time.
        groups: the most groups.
        level: family-wise error.
        runs: of each agent and each seed in their order the names of its runs, one a task.
    """

    suite: str
    score: Score
    group: int
    groups: int
    level: float
    runs: Mapping[str, Sequence[Sequence[str]]]

    def test(self) -> AdaStop:
        """The test before it has seen a run; its permutations are the same each time."""
        rng = np.random.default_rng(0)
        return AdaStop(list(self.runs), rng=rng, group=self.group, groups=self.groups, level=self.level)

    def write(self, root: Path) -> Path:
        """Leaves the record in the folder of runs, which is made; a race that is gone on with has the same file."""
        text = json.dumps(vars(self), indent=1) + "\n"
        path = root / PATTERN.replace("*", sha256(text.encode()).hexdigest()[:8])
        write_whole(path, text)
        return path


@dataclass(frozen=True)
class Replayed:
    """A race until decided, and what its test has decided by the runs at hand.

    Attributes:
        race: the record.
        test: after all whole groups of runs.
        means: each agent's mean score over the runs that the test saw.
        agents: the agent of each run by its name.
    """

    race: Sequential
    test: AdaStop
    means: Mapping[str, float]
    agents: Mapping[str, str]

    @property
    def said(self) -> str:
        """What pages say of it."""
        pairs = "; ".join(told(self.test, self.means)) or "no group is finished yet"
        took = taken(self.test)
        lost = "".join(f"; {name} has no verdict, since runs of it diverged" for name in self.test.dropped)
        return (
            f"{self.race.suite} was raced until decided: AdaStop added seeds in groups of {self.race.group}, "
            f"{self.race.groups} groups at most, with a family-wise error of at most {self.race.level:.0%}: {pairs}"
            f"{lost} (seeds: {took}); intervals and probabilities here are of a fixed number of runs and do not hold "
            "their level for these agents"
        )

    def verdict(self, agent: Iterable[str], reference: Iterable[str]) -> str:
        """``better by AdaStop`` and so on, of an agent beside a reference; "" where neither took part in the race.

        Of a part of what the test saw, such as one task of several, there is no verdict.

        Args:
            agent: names of its runs.
            reference: names of its runs.
        """
        sides = set(agent), set(reference)
        mine, theirs = ({self.agents[name] for name in side & self.agents.keys()} for side in sides)
        if not mine | theirs:
            return ""
        if (mine | theirs) & {*self.test.dropped}:
            return DIVERGED
        apart = len(mine) == len(theirs) == 1 and mine != theirs
        if not (apart and all(map(self._is_whole, sides, (*mine, *theirs)))):
            return NO_VERDICT
        (a,), (b,) = mine, theirs
        found = self.test.decisions[a, b] if (a, b) in self.test.decisions else _TURNED[self.test.decisions[b, a]]
        return f"{_SAID[found]} by AdaStop"

    def _is_whole(self, runs: set[str], agent: str) -> bool:
        """Whether these are runs of the race alone, all that its test saw of the agent among them."""
        seen = self.race.runs[agent][: self.test.runs[agent]]
        return runs <= self.agents.keys() and {name for names in seen for name in names} <= runs


def taken(test: AdaStop) -> str:
    """How many seeds each agent took that was not left out: ``sac 5, ppo 10``."""
    return ", ".join(f"{name} {count}" for name, count in test.runs.items() if name not in test.dropped) or "none"


def told(test: AdaStop, means: Mapping[str, float]) -> list[str]:
    """Each pair's decision with the two means: ``sac > ppo (0.900, 0.200)``."""
    signs = {"larger": "{} > {}", "smaller": "{} < {}", "undecided": "{} and {} undecided"}
    return [
        f"{signs[one].format(a, b)} ({means[a]:.3f}, {means[b]:.3f})"
        for (a, b), one in test.decisions.items()
        if {a, b} <= means.keys()
    ]


def replayed(runs: Iterable[FinishedRun]) -> list[Replayed]:
    """The races until decided in whose folders these runs lie, decided again by these runs.

    Raises:
        ValueError: a record that cannot be read.
    """
    named = {run.run.name: run for run in runs}
    roots = sorted({run.folder.parent for run in named.values() if run.folder.name})
    found = []
    for root in roots:
        races = [race for path in sorted(root.glob(PATTERN)) if _names(race := _read(path)) & named.keys()]
        lost = diverged_in(root) - named.keys() if races else set()
        found += [_replay(race, named, lost) for race in races]
    return found


def _read(path: Path) -> Sequential:
    try:
        return Sequential(**json.loads(path.read_text(encoding="utf-8")))
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{path} is no record of a race until decided ({error}): restore it, or run the race's command again"
        ) from error


def _names(race: Sequential) -> set[str]:
    return {name for seeds in race.runs.values() for names in seeds for name in names}


def _replay(race: Sequential, runs: Mapping[str, FinishedRun], lost: Collection[str]) -> Replayed:
    """The race decided again by these runs; ``lost`` are names of runs that diverged."""
    test = race.test()
    seen: dict[str, list[float]] = {name: [] for name in race.runs}
    while not test.done:
        first = test.runs[test.needed[0]]
        names = {agent: race.runs[agent][first : first + race.group] for agent in test.needed}
        if left := [agent for agent, seeds in names.items() if any(name in lost for of in seeds for name in of)]:
            for agent in left:
                test.drop(agent)
            continue
        if any(name not in runs for seeds in names.values() for of in seeds for name in of):
            break
        blocks = {agent: [_mean(race, runs, of) for of in seeds] for agent, seeds in names.items()}
        test.add(blocks)
        for agent, block in blocks.items():
            seen[agent] += block
    means = {agent: float(np.mean(scores)) for agent, scores in seen.items() if scores and agent not in test.dropped}
    agents = {name: agent for agent, seeds in race.runs.items() for names_ in seeds for name in names_}
    return Replayed(race, test, means, agents)


def _mean(race: Sequential, runs: Mapping[str, FinishedRun], names: Sequence[str]) -> float:
    """An agent's score with a seed: its mean over tasks, whatever scale the runs are shown on."""
    return float(
        np.mean([find(run.run.env_id).normalise(raw_score(run, race.score)) for run in (runs[name] for name in names)])
    )
