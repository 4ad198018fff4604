"""Do demonstrations help more by RLPD's way of using them than as the first entries of a replay buffer?

Peg insertion under impedance control, a simulated relative of the tasks SERL was shown on, with 20 demonstrations, as
many as SERL's authors gave, anew for each seed. RLPD (row ``serl``) takes half of each batch from the demonstrations
and has ten critics with LayerNorm and four updates a step; SAC has the demonstrations in its replay buffer, drawn
like anything else there, with one update a step or as many as RLPD; SAC from scratch has none.

What counts is how soon: the score is the area under the curve of success. The effect takes that form of SAC which is
best on average, which favours the baselines. ``details`` hold what behaviour cloning makes of five times as many
demonstrations, and the authors' figures of real robots that see by cameras.
"""

from dataclasses import asdict
from typing import Any

import numpy as np

from ..statistics import Interval
from ..testbeds.control import Agent, Control, Phase, Trained
from ..testbeds.peg import TASK, Success, demonstrations
from .claim import Comparison, Found, Premise
from .effects import interval, summary

STREAM, ENVS, DEMONSTRATIONS = 2401, 4, 20
CLONED, CLONING_UPDATES = 100, 3000
NETWORKS = {"net_arch": [64, 64]}
EQUAL: dict[str, Any] = {
    "learning_rate": 1e-3,
    "batch_size": 128,
    "buffer_size": 20_000,
    "learning_starts": 400,
    "ent_coef": "auto_0.01",
    "target_entropy": -2.0,
    "policy_kwargs": NETWORKS,
    "n_envs": ENVS,
}
CLONING = f"success of behaviour cloning on {CLONED} demonstrations"
REAL_ROBOTS = {
    "source": "Luo et al. 2024, section 5, table 2 and figure 6: Franka arms, camera images, 20 demonstrations",
    "minutes to train": {"PCB insertion": 20, "cable routing": 31, "object relocation, both ways": 105, "peg": 19},
    "success": "100 of 100 trials a task",
    "success over that of behaviour cloning on 100 demonstrations": {
        "PCB insertion": "10 times",
        "cable routing": "5 times",
        "object relocation": "1.7 times",
    },
}
CLONE: Control = Control(
    env=TASK,
    settings={name: EQUAL[name] for name in ("learning_rate", "batch_size", "policy_kwargs")},
    data=lambda seed: demonstrations(CLONED, seed),
    phases=(Phase("data", CLONING_UPDATES),),
    score=Success(),
    small={"data": lambda seed: demonstrations(2, seed), "score": Success(4, 3)},
)
Outcomes = Found[Agent, Trained[float]]


def area(run: Trained[float]) -> float:
    """Under the curve of success."""
    return float(np.mean(run.scores))


def estimate(found: Outcomes) -> Interval:
    """RLPD's area minus that of the best baseline."""
    return interval(found.leads(area, (found.best_baseline(area),)).popitem()[1], stream=STREAM)


def details(found: Outcomes) -> dict[str, Any]:
    """Areas, curves and behaviour cloning."""
    curves = found.each(lambda run: run.scores)
    leads = found.leads(area)
    cloner = found.testbed.sized(CLONE)
    cloning = [cloner.run(Agent("bc"), 0.0, seed).scores[-1] for seed in range(found.seeds)]
    return {
        "seeds": found.seeds,
        "best baseline": found.best_baseline(area),
        "steps": np.cumsum([phase.amount for phase in found.testbed.phases]).tolist(),
        "area under the curve": summary(found.each(area), 1, stream=STREAM),
        "RLPD minus each": summary({name: leads[f"over {name}"] for name in found.claim.baselines}, 2, stream=STREAM),
        "success at the end": summary({name: rows[:, -1] for name, rows in curves.items()}, 3, stream=STREAM),
        "mean curve": {name: rows.mean(axis=0).round(3).tolist() for name, rows in curves.items()},
        "curves, by seed": {name: rows.round(3).tolist() for name, rows in curves.items()},
        CLONING: asdict(interval(cloning, 4, stream=STREAM)),
        "test problems an evaluation": found.testbed.score.episodes,
        "settings of all": EQUAL,
        "settings of each": {
            n: {"agent": of.condition.name, **of.condition.settings} for n, of in found.outcomes.items()
        },
        "on real robots": REAL_ROBOTS,
    }


CLAIM = Comparison(
    handle="serl",
    sentence="RLPD's many updates a step, batches half from demonstrations and normalised critics let SERL learn "
    "contact-rich manipulation from sparse rewards in few steps (Luo et al. 2024, sections 4.1 and 5)",
    effect="area under RLPD's curve of success minus that of the best of SAC from scratch and SAC with the "
    "demonstrations preloaded into its replay buffer",
    testbed=Control(
        env=TASK,
        settings=EQUAL,
        data=lambda seed: demonstrations(DEMONSTRATIONS, seed),
        phases=(Phase("steps", 500),) * 8,
        score=Success(),
        small={"data": lambda seed: demonstrations(2, seed), "score": Success(4, 3)},
    ),
    conditions={
        "RLPD": Agent("serl", {"gradient_steps": 4 * ENVS}, preloaded=True),
        "SAC, demonstrations preloaded": Agent("sac", {"gradient_steps": ENVS}, preloaded=True),
        "SAC, demonstrations preloaded, 4 updates a step": Agent("sac", {"gradient_steps": 4 * ENVS}, preloaded=True),
        "SAC from scratch": Agent("sac", {"gradient_steps": ENVS}),
    },
    ours="RLPD",
    baselines=(
        "SAC, demonstrations preloaded",
        "SAC, demonstrations preloaded, 4 updates a step",
        "SAC from scratch",
    ),
    seeds=6,
    premise=Premise("Demonstrations hold what is to be learnt: they can be cloned", (CLONING,)),
    estimate=estimate,
    details=details,
)
measure = CLAIM.measure
