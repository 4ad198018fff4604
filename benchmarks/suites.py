"""Suites are data: which agents race on which environments, for how many steps, over which seeds.

Budgets are environment steps (answers, for language agents), chosen so that the agents of one task get about the same
computing time; ``seconds`` is what one such run took on one thread, and orders a race (longest first).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .. import unknown
from ..agents.catalogue import find as find_agent
from .runs import Run


@dataclass(frozen=True)
class Entry:
    """One agent in one task.

    Attributes:
        agent: a name of the agents' catalogue.
        budget: environment steps of training.
        seconds: measured seconds of one run on one thread, evaluations included.
        params: keywords of the agent that this budget asks for, beyond those of its row.
    """

    agent: str
    budget: int
    seconds: float
    params: Mapping[str, Any] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class Task:
    """One environment and the agents that race on it.

    Attributes:
        env_id: a Gymnasium id of the environments' catalogue.
        entries: the agents with their budgets.
        dataset: id of the Minari dataset that every agent of the task is given, if any.
        eval_episodes: held-out episodes of every evaluation.
        eval_points: evaluations along a run, the final one included.
    """

    env_id: str
    entries: tuple[Entry, ...]
    eval_episodes: int = 100
    eval_points: int = 6
    dataset: str | None = None

    def params(self, entry: Entry) -> dict[str, Any]:
        """The params of an entry's runs."""
        return {**({} if self.dataset is None else {"dataset": self.dataset}), **entry.params}


@dataclass(frozen=True)
class Recipe:
    """A dataset that a suite needs, as :func:`~.datasets.make_dataset` makes it."""

    env_id: str
    policy: str
    settings: Mapping[str, Any] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class Comparison:
    """Agents that a suite's report sets side by side.

    Attributes:
        title: of the comparison.
        tasks: as :attr:`Run.task` has them.
        reference: the agent that all are compared with, by the name the leaderboard gives it.
        agents: by the same names; all that ran every task, if none are named.
    """

    title: str
    tasks: tuple[str, ...]
    reference: str
    agents: tuple[str, ...] = ()


@dataclass(frozen=True)
class Suite:
    """A named set of tasks and the seeds every agent runs with."""

    name: str
    summary: str
    tasks: tuple[Task, ...]
    seeds: tuple[int, ...]
    datasets: Mapping[str, Recipe] = field(default_factory=dict, hash=False)
    """What a race makes first, where it is not there: recipes by id."""
    comparisons: tuple[Comparison, ...] = ()
    """What its report shows."""

    @property
    def agents(self) -> tuple[str, ...]:
        """Every agent that appears in some task, in order of first appearance."""
        return tuple(dict.fromkeys(entry.agent for task in self.tasks for entry in task.entries))

    def runs(self, *, agents: Sequence[str] | None = None, seeds: Sequence[int] | None = None) -> list[Run]:
        """The runs of a race over this suite, the longest first.

        Args:
            agents: race these alone (all agents of the suite by default).
            seeds: instead of the suite's own.

        Raises:
            KeyError: an agent that does not exist, or has no task in this suite.
            ValueError: no agents or no seeds.
        """
        for name in agents or ():
            if name not in self.agents:
                find_agent(name)
                raise KeyError(unknown(f"agent in suite {self.name!r}", name, self.agents))
        wanted = self.agents if agents is None else tuple(dict.fromkeys(agents))
        chosen = self.seeds if seeds is None else tuple(dict.fromkeys(seeds))
        if not wanted or not chosen:
            raise ValueError("a race needs at least one agent and one seed")
        pairs = [(task, entry) for task in self.tasks for entry in task.entries if entry.agent in wanted]
        pairs.sort(key=lambda pair: -pair[1].seconds)
        return [
            Run(
                task.env_id,
                entry.agent,
                seed,
                entry.budget,
                task.params(entry),
                eval_episodes=task.eval_episodes,
                eval_points=task.eval_points,
            )
            for task, entry in pairs
            for seed in chosen
        ]

    @property
    def core_seconds(self) -> float:
        """Computing time of the whole race, in seconds of one core."""
        return len(self.seeds) * sum(entry.seconds for task in self.tasks for entry in task.entries)


SMOKE = Suite(
    "smoke",
    "One task a domain, two agents each: about ten minutes on two cores",
    tasks=(
        Task("tiltyard/Countdown-v0", (Entry("grpo", 7_680, 60), Entry("sft", 15_360, 60)), eval_episodes=256),
        Task("tiltyard/Phone-v0", (Entry("ppo", 60_000, 55), Entry("dqn", 60_000, 65))),
        Task("tiltyard/Highway-v0", (Entry("ppo", 300_000, 30), Entry("dqn", 100_000, 40))),
        Task("tiltyard/Hopper-v5", (Entry("sac", 14_000, 50), Entry("dsac-t", 14_000, 55)), eval_episodes=20),
    ),
    seeds=(0, 1, 2),
)

# Control: networks of 2 x 128 and the same rate of learning for everyone, ours or not, so that what differs is the
# method; about the same computing time for every method would favour the fast ones instead.
_SMALL = {"policy_kwargs": {"net_arch": [128, 128]}, "learning_rate": 1e-3}
_LARGE = {"policy_kwargs": {"net_arch": [256, 256]}, "learning_rate": 1e-3}  # where bf16 pays
_EXACT = {"gradient_steps": -1}  # an update a step, where a row says otherwise
_ALL_RATES = {  # some agents have a slower one of their own for a part
    "dsac-t": {"ent_coef_learning_rate": 1e-3},
    "cql": {"actor_learning_rate": 1e-3},
    "cal-ql": {"actor_learning_rate": 1e-3},
}


def _online(steps: int, seconds: Mapping[str, float], params: Mapping[str, Any] = _SMALL) -> tuple[Entry, ...]:
    """One entry an agent; ``seconds`` are of 10,000 steps."""
    return tuple(
        Entry(agent, steps, steps / 10_000 * cost, {**params, **_EXACT, **_ALL_RATES.get(agent, {})})
        for agent, cost in seconds.items()
    )


_RACERS = {"sac": 40, "td3": 32, "dsac-t": 57, "sb3-sac": 62, "sb3-td3": 45}
_WITH_MORE = {**_RACERS, "hl-gauss": 85, "tqc": 105}
_STREAM = Entry("stream-x", 60_000, 40)


def _offline(updates: int, seconds: Mapping[str, float]) -> tuple[Entry, ...]:
    return tuple(
        Entry(agent, 0, cost, {"offline_steps": updates, **_SMALL, **_ALL_RATES.get(agent, {})})
        for agent, cost in seconds.items()
    )


_LEARNERS = {
    "bc": 10,
    "td3-bc": 30,
    "awr": 20,
    "awac": 50,
    "iql": 40,
    "cql": 150,
    "f-dvl-recoil": 40,
    "trajectory-weighting": 40,
}


def _onward(updates: int, steps: int, seconds: Mapping[str, float]) -> tuple[Entry, ...]:
    """Offline, then online; RLPD needs no updates before its first step."""
    return tuple(
        Entry(
            agent,
            steps,
            cost,
            {**_SMALL, **_ALL_RATES.get(agent, {}), "offline_steps": 0 if agent == "serl" else updates},
        )
        for agent, cost in seconds.items()
    )


_FINE_TUNERS = {"iql": 80, "awac": 90, "cal-ql": 250, "f-dvl-recoil": 80, "serl": 200}

_RUNNERS = tuple(f"tiltyard/{name}-v5" for name in ("Hopper", "HalfCheetah", "Walker2d", "Ant"))
_SPARSE = ("tiltyard/PointMaze-v0", "tiltyard/PegInsertion-v0")
_FULL = "sac, policy_kwargs={'net_arch': [256, 256]}"

CONTROL = Suite(
    "control-v1",
    "Locomotion and two sparse tasks: online, offline, and offline to online; about eight core hours",
    tasks=(
        Task("tiltyard/Hopper-v5", (*_online(15_000, _WITH_MORE), _STREAM), eval_episodes=20),
        Task(
            "tiltyard/HalfCheetah-v5",
            (
                *_online(20_000, _WITH_MORE),
                *_online(20_000, {"sac": 85}, _LARGE),
                *_online(20_000, {"sac": 48}, {**_LARGE, "matmul_precision": "bf16", "compiled": True}),
                _STREAM,
            ),
            eval_episodes=20,
        ),
        Task("tiltyard/Walker2d-v5", (*_online(15_000, _RACERS), _STREAM), eval_episodes=20),
        Task("tiltyard/Ant-v5", (*_online(15_000, _RACERS), _STREAM), eval_episodes=20),
        Task("tiltyard/PointMaze-v0", _online(15_000, {"sac": 40, "sb3-sac": 62}), eval_episodes=50),
        Task("tiltyard/PegInsertion-v0", _online(10_000, {"sac": 40, "sb3-sac": 65}), eval_episodes=50),
        *(
            Task(env_id, _offline(10_000, _LEARNERS), eval_episodes=20, eval_points=4, dataset=dataset)
            for env_id, dataset in (
                ("tiltyard/Hopper-v5", "tiltyard/hopper/medium-v0"),
                ("tiltyard/HalfCheetah-v5", "tiltyard/halfcheetah/medium-v0"),
                ("tiltyard/PointMaze-v0", "tiltyard/pointmaze/random-50-expert-50-v0"),
            )
        ),
        *(
            Task(env_id, _onward(5_000, 8_000, _FINE_TUNERS), eval_episodes=50, dataset=dataset)
            for env_id, dataset in (
                ("tiltyard/Hopper-v5", "tiltyard/hopper/medium-v0"),
                ("tiltyard/PointMaze-v0", "tiltyard/pointmaze/demonstrations-v0"),
                ("tiltyard/PegInsertion-v0", "tiltyard/peginsertion/demonstrations-v0"),
            )
        ),
    ),
    seeds=(0, 1, 2, 3, 4),
    datasets={
        "tiltyard/hopper/medium-v0": Recipe("tiltyard/Hopper-v5", "medium", {"episodes": 100}),
        "tiltyard/halfcheetah/medium-v0": Recipe("tiltyard/HalfCheetah-v5", "medium", {"episodes": 50}),
        "tiltyard/pointmaze/random-50-expert-50-v0": Recipe(
            "tiltyard/PointMaze-v0", "random,expert", {"episodes": 200}
        ),
        "tiltyard/pointmaze/demonstrations-v0": Recipe("tiltyard/PointMaze-v0", "expert", {"episodes": 20}),
        "tiltyard/peginsertion/demonstrations-v0": Recipe("tiltyard/PegInsertion-v0", "expert", {"episodes": 20}),
    },
    comparisons=(
        Comparison("Online, four runners", _RUNNERS, "sb3-sac"),
        Comparison("Online, two runners and more agents", _RUNNERS[:2], "sb3-sac"),
        Comparison("Online, sparse rewards", _SPARSE, "sb3-sac"),
        Comparison(
            "Compiled bf16 beside fp32",
            _RUNNERS[1:2],
            _FULL,
            (_FULL, _FULL.replace("policy", "compiled=True, matmul_precision=bf16, policy")),
        ),
        Comparison(
            "Offline",
            (*(f"{env_id} from medium-v0" for env_id in _RUNNERS[:2]), f"{_SPARSE[0]} from random-50-expert-50-v0"),
            "bc",
        ),
        Comparison(
            "Offline to online",
            (
                f"{_RUNNERS[0]} from medium-v0, then online",
                *(f"{env_id} from demonstrations-v0, then online" for env_id in _SPARSE),
            ),
            "iql",
        ),
    ),
)

SUITES: tuple[Suite, ...] = (SMOKE, CONTROL)


def find(name: str) -> Suite:
    """The suite called ``name``; ``KeyError`` with the nearest valid names otherwise."""
    for suite in SUITES:
        if suite.name == name:
            return suite
    raise KeyError(unknown("suite", name, [suite.name for suite in SUITES]))
