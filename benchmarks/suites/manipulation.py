"""An arm learns from 20 demonstrations (SERL's tasks), and a ball finds its way offline and then online.

AntMaze is left out: it is beyond this scale. On a tuning seed (10,000), half a minute of one core, 3,500 to 6,000
updates, solves of 20 test problems: from 20 demonstrations 2 by cloning, 1 by IQL and 1 by f-DVL; from 100, 5 by
cloning with wider networks and none by IQL.
"""

from dataclasses import replace
from typing import Any

from .suite import Comparison, Entry, Recipe, Suite, Task

# Networks, rate, batches and temperature that SERL's rows have, for everyone who learns from the same demonstrations.
_SMALL: dict[str, Any] = {"policy_kwargs": {"net_arch": [64, 64]}, "learning_rate": 1e-3}
_DATA = "demonstrations-v0"
_SERL = f"serl from {_DATA}, then online"


def _plain(half: float, steps: int, seconds: float) -> Entry:
    """SAC with an update a step; ``half`` the actions' dimensions is its wanted entropy, with the sign turned."""
    temperature = {"ent_coef": "auto_0.01", "target_entropy": -half}
    return Entry("sac", steps, seconds, {**_SMALL, "batch_size": 128, "learning_starts": 400, **temperature})


def _cloned(seconds: float) -> Entry:
    return Entry("bc", 0, seconds, {"offline_steps": 5_000, **_SMALL})


_ARM = {  # half the actions' dimensions, steps, seconds of SERL, of SAC, of cloning
    "PegInsertion": (2.0, 4_000, 100, 60, 20),
    "BoardInsertion": (2.0, 8_000, 180, 100, 20),
    "CableRouting": (2.0, 3_000, 120, 110, 35),
    "ObjectRelocation": (2.5, 5_000, 120, 80, 20),
    "DrawerDoor": (2.5, 6_000, 150, 95, 20),
}
_PEG = "tiltyard/PegInsertion-v0"
_MAZE = "tiltyard/PointMazeMedium-v0"


def _dataset(name: str) -> str:
    return f"tiltyard/{name.lower()}/{_DATA}"


def _arm_tasks() -> tuple[Task, ...]:
    tasks = []
    for name, (half, steps, serl, sac, bc) in _ARM.items():
        shared: dict[str, Any] = {"eval_points": 5, "dataset": _dataset(name)}
        learners = (Entry("serl", steps, serl), _plain(half, steps, sac))
        tasks += [
            Task(f"tiltyard/{name}-v0", learners, **shared),
            Task(f"tiltyard/{name}-v0", (_cloned(bc),), **{**shared, "eval_points": 1}),
        ]
    return tuple(tasks)


def _onward(updates: int, steps: int, seconds: dict[str, float]) -> tuple[Entry, ...]:
    params: dict[str, Any] = {"policy_kwargs": {"net_arch": [128, 128]}, "learning_rate": 1e-3}
    rates = {"cal-ql": {"actor_learning_rate": 1e-3}}  # which has a slower one of its own for a part
    return tuple(
        Entry(agent, steps, cost, {**params, **rates.get(agent, {}), "offline_steps": updates})
        for agent, cost in seconds.items()
    )


_REAL_ROBOTS = (
    "What SERL's authors report is of real Franka arms that see by cameras (Luo et al. 2024): from 20 demonstrations, "
    "board, cable and relocation take 25 to 50 minutes of training a policy on average (abstract): 20 for the board, "
    "31 for the cable, 105 for both policies of relocation and 19 for the peg, after which 100 of 100 trials of each "
    "succeed; cloning 100 demonstrations succeeds a tenth (board), a fifth (cable) and 1/1.7 (relocation) as often "
    "(section 5). That is no more than a frame for what is below: a simulated arm whose state is seen, minutes of "
    "computing, and as the expert a script, a function of what the agent sees, which is easier to clone than a person."
)

_ONE_TASK = (
    "One task of manipulation-v1, whose raw data are lost, raced again with six seeds and a learning rate of each "
    "condition's own, of five by two tuning seeds. Everything else is as in manipulation-v1, untuned: SAC and cloning "
    "have SERL's networks. There all had SERL's rate, with which cloning solved 93% and SAC with demonstrations 60%. "
)

_NO_GAIN = (
    "What the 20 demonstrations gave is what is left after 6,000 steps online: none of the three has gained or lost "
    "more than a few points. That the steps help, or harm, is not shown in this maze: no arm takes the same updates "
    "without them. In the small one (control-v1), where "
    "data alone solve 87 to 99%, there was little to gain."
)

MANIPULATION = Suite(
    "manipulation-v1",
    "Five tasks of an arm from 20 demonstrations, and a maze offline to online; about two and a quarter core hours",
    tasks=(
        Task(_PEG, (_plain(*_ARM["PegInsertion"][:2], 60),), eval_points=5),
        *_arm_tasks(),
        Task(
            _MAZE,
            _onward(5_000, 6_000, {"iql": 60, "f-dvl-recoil": 60, "cal-ql": 220}),
            eval_points=4,
            eval_episodes=50,
            dataset=_dataset("PointMazeMedium"),
        ),
    ),
    seeds=(0, 1, 2, 3, 4),
    datasets={
        _dataset(name): Recipe(f"tiltyard/{name}-v0", "expert", {"episodes": 20}) for name in (*_ARM, "PointMazeMedium")
    },
    comparisons=(
        Comparison("Peg insertion", (_PEG,), _SERL, across=True, remark=_REAL_ROBOTS),
        Comparison("Five tasks of an arm", tuple(f"tiltyard/{name}-v0" for name in _ARM), _SERL, across=True),
        *(  # SAC's wanted entropy goes with the number of actions, and is part of its name
            Comparison(
                f"Tasks of {2 * half:.0f} actions",
                tuple(f"tiltyard/{name}-v0" for name, row in _ARM.items() if row[0] == half),
                _SERL,
                across=True,
            )
            for half in (2.0, 2.5)
        ),
        Comparison("Maze, offline to online", (f"{_MAZE} from {_DATA}, then online",), "iql", remark=_NO_GAIN),
    ),
)

# Of five rates from 1e-4 to 1e-2 the best by `tiltyard tune`; SERL does as well with each, SAC without data with none.
_RATES = {"serl": 1e-3, "sac": 1e-3, "sac with demonstrations": 3e-3, "bc": 3e-4}


def _tuned(task: Task) -> Task:
    """The task with each condition's own learning rate."""
    entries = []
    for entry in task.entries:
        rate = _RATES[f"{entry.agent} with demonstrations" if entry.agent == "sac" and task.dataset else entry.agent]
        entries.append(replace(entry, params={**entry.params, "learning_rate": rate}))
    return replace(task, entries=tuple(entries))


PEG = Suite(
    "peg-insertion-v1",
    "A peg inserted by an arm from 20 demonstrations: RLPD (SERL), SAC, cloning, and SAC without them",
    tasks=tuple(_tuned(task) for task in MANIPULATION.tasks if task.env_id == _PEG),
    seeds=tuple(range(6)),
    datasets={_dataset("PegInsertion"): MANIPULATION.datasets[_dataset("PegInsertion")]},
    comparisons=(Comparison("Peg insertion", (_PEG,), _SERL, across=True, remark=_ONE_TASK + _REAL_ROBOTS),),
)
