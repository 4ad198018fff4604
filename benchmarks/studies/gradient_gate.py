"""Which methods take the same step: cosines of their gradients on the same completions, before anybody races them.

    python benchmarks/studies/gradient_gate.py [--task ChainSum] [--regime on-policy] [--batches 2]
    python benchmarks/studies/gradient_gate.py --suite text-v2-stale [--methods grpo,gspo] [--batches 2]
    python benchmarks/studies/gradient_gate.py --page

A race of methods whose gradients point the same way measures seeds. So completions are sampled once, from the task's
base checkpoint (32 problems, 8 completions each), every method gets the same ones, and the gradients of their losses
with respect to the policy's weights are compared. Conditions whose cosine is above 0.95 on every batch are listed as
equal in that regime, and are not to be raced against each other there. An optimiser that divides by the gradient's
size, as Adam, and a clipped norm leave nothing of a common factor.

Regimes: ``on-policy``, the first step on fresh completions; ``stale``, the policy has taken 16 steps of GRPO since it
wrote them, so that ratios and clips act; ``hard``, at least 70% of the groups have the same reward throughout.

A suite of one task is a regime too: completions are the last 256 that its reference writes in an iteration (with the
suite's environment, rewards, pool and shape of batches) after some iterations of training, and the reference has learnt
from all others of that iteration since. A condition that is not a method by name, as one with another reward, is called
by its label: it has its own settings, and the same completions are paid by its rewards.
Beside the cosines stands what the regime is about: the share of uniform groups, of tokens whose ratio has left 0.8 to
1.2, of problems that a tracker had met before, and of rewards that say the opposite of the success; of completions that
were cut at the longest that is allowed, and the deviation of lengths over their mean; of turns that begin in a state in
which another turn of the group begins.

Critics have had 10 fits on other completions. What a method does besides its gradient (curricula, samplers, rewards
that are switched on later) is not seen here: two methods that are equal by this gate may still differ by that.
"""

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tiltyard import agents
from tiltyard.agents.language.collect import shaped
from tiltyard.agents.language.rollouts import Rollouts
from tiltyard.agents.language.trainer import PolicyGradient
from tiltyard.agents.language.update import backward, policy_gradient_step
from tiltyard.agents.objectives.catalogue import ROWS
from tiltyard.agents.objectives.parts.ops import turn_ends
from tiltyard.benchmarks.execution import OF_RUN
from tiltyard.benchmarks.pages import render
from tiltyard.benchmarks.provenance import commit, hardware, versions
from tiltyard.benchmarks.statistics import Floats
from tiltyard.benchmarks.suites import Suite, find
from tiltyard.benchmarks.suites.suite import Entry
from tiltyard.benchmarks.suites.text import METHODS
from tiltyard.wrappers.rewards.outcome import Outcome

EQUAL = 0.95
REGIMES = ("on-policy", "stale", "hard")
GROUP, PROMPTS, FITS, STEPS, UNIFORM = 8, 32, 10, 16, 0.7
BEFORE, CLIP = 1024, 0.2
FOLDER = Path("docs/results/gradient-gate")


def agent_of(method: str, task: str, seed: int, **how: Any) -> PolicyGradient:
    """An agent with a method, before its first iteration."""
    settings = {"kl_coef": 0.0} if method == "grpo" else {}
    made: Any = agents.make(
        "grpo",
        f"tiltyard/{task}-v0",
        method=method,
        seed=seed,
        device="cpu",
        **{**settings, "group_size": GROUP, **how},
    )
    assert isinstance(made, PolicyGradient)
    return made


def begun(agent: PolicyGradient) -> PolicyGradient:
    """The agent with what begins with its policy."""
    agent._remember_start()
    agent._callback = agent._setup_learn(1)[1]
    return agent


def sampled(agent: PolicyGradient) -> Rollouts:
    """A batch of completions."""
    found = agent._sample(agent.context())
    assert found is not None
    return found


def is_uniform(rollouts: Rollouts) -> Tensor:
    """Whether all completions of a row's group have its reward, ``[B]``."""
    rows = rollouts.group[:, None] == rollouts.group[None]
    alike = rollouts.reward[:, None] == rollouts.reward[None]
    return (alike | ~rows).all(1)


def uniform(rollouts: Rollouts) -> float:
    """The share of rows whose group is uniform."""
    return float(is_uniform(rollouts).double().mean())


def one_each(rollouts: Rollouts) -> bool:
    """Whether every problem has one completion."""
    return len(set(rollouts.group.tolist())) == len(rollouts)


def hard(batches: Sequence[Rollouts]) -> list[Rollouts]:
    """Of each batch all groups of one reward, and so few others that they are at most 30% of all groups."""
    found = []
    for batch in batches:
        uniform = is_uniform(batch)
        same = torch.unique(batch.group[uniform])
        others = torch.unique(batch.group[~uniform])[: max(1, int(len(same) * (1 - UNIFORM) / UNIFORM))]
        kept = torch.isin(batch.group, torch.cat([same, others]))
        found.append(batch.take(kept.nonzero()[:, 0]))
    return found


def gradient(
    agent: PolicyGradient, standing: PolicyGradient, batch: Rollouts, others: Rollouts, earlier: Sequence[Rollouts] = ()
) -> Tensor:
    """The gradient of an agent's loss on a batch, all weights in one row; the standing policy takes no step.

    Args:
        agent: a new one.
        standing: whose weights it is given.
        batch: completions.
        others: that critics are fitted on.
        earlier: batches that whatever remembers problems has seen before.
    """
    agent.policy.load_state_dict(standing.policy.state_dict())
    begun(agent)
    assert agent.objective is not None
    objective, context = agent.objective.at(0.0), agent.context()
    for _ in range(FITS if "values" in objective.needs else 0):
        agent.providers["values"].fit(agent._supplied(others, context), context)
    for before in earlier if "tracker" in objective.needs else ():
        agent._supplied(before, context)
    rows = batch
    for provider in dict.fromkeys(agent.providers.values()):
        rows = provider.extend(rows, context)
    rows = agent._supplied(rows, context)
    agent.policy.set_training_mode(False)  # no dropout: the same weights for all
    agent.policy.optimizer.zero_grad()
    backward(agent.policy, objective, rows, objective.advantage(rows))
    parts = [(torch.zeros_like(p) if p.grad is None else p.grad).flatten() for p in agent.policy.network.parameters()]
    return torch.cat(parts).double()


def cosines(gradients: Sequence[Tensor]) -> Floats:
    """Of every two, ``[methods, methods]``; 0 where a gradient vanishes."""
    rows = torch.stack(list(gradients))
    sizes = rows.norm(dim=1, keepdim=True)
    rows = torch.where(sizes > 0, rows / sizes.clamp(min=1e-300), 0.0)
    return np.asarray((rows @ rows.T).numpy())


def equal(least: Floats, names: Sequence[str], at: float = EQUAL) -> list[list[str]]:
    """Names in sets of which every two have a cosine above ``at``, the largest sets first; sets of one are left out.

    Sets are joined while all of their pairs stay above it (complete linkage), the nearest first.
    """
    sets = [[i] for i in range(len(names))]
    while True:
        pairs = [(least[np.ix_(a, b)].min(), i, j) for i, a in enumerate(sets) for j, b in enumerate(sets[:i])]
        nearest = max(pairs, default=(0.0, 0, 0))
        if nearest[0] <= at:
            break
        _, i, j = nearest
        sets[j] += sets.pop(i)
    found = sorted((sorted(one) for one in sets if len(one) > 1), key=lambda one: (-len(one), one))
    return [[names[i] for i in one] for one in found]


def measure(task: str, regime: str, methods: Sequence[str], batches: int, seed: int = 0) -> dict[str, Any]:
    """The least cosine of every two methods over batches, and the sets that are equal."""
    standing = begun(agent_of("grpo", task, seed, prompts_per_batch=PROMPTS))
    fresh = [sampled(standing) for _ in range(batches + 1)]
    others, used = fresh[0], fresh[1:]
    if regime == "hard":
        used = hard(used)
    if regime == "stale":
        for _ in range(STEPS):
            step = sampled(standing)
            assert standing.objective is not None
            policy_gradient_step(standing.policy, standing.objective, step, standing.objective.advantage(step))
    tables = [
        cosines(
            [
                gradient(agent_of(name, task, seed, prompts_per_batch=PROMPTS), standing, batch, others)
                for name in methods
            ]
        )
        for batch in used
    ]
    return _told(task, regime, methods, tables, used)


def _told(
    task: str, regime: str, methods: Sequence[str], tables: Sequence[Floats], used: Sequence[Rollouts]
) -> dict[str, Any]:
    least = np.min(tables, axis=0)
    return {
        "task": task,
        "regime": regime,
        "methods": list(methods),
        "batches": len(used),
        "share of uniform groups": None if one_each(used[0]) else round(float(np.mean([*map(uniform, used)])), 3),
        "cosines": least.round(4).tolist(),
        "equal": equal(least, methods),
    }


def own_entry(suite: Suite, name: str) -> Entry | None:
    """The condition of a label that is no method's handle; None of a method."""
    if name in [row.handle for row in ROWS]:
        return None
    return next((one for one in suite.tasks[0].entries if one.label == name), None)


def of_suite(suite: Suite, method: str | None, seed: int) -> PolicyGradient:
    """An agent in a suite's setting: its reference, a method with the reference's settings, or a condition of its own.

    Args:
        suite: of one task.
        method: of the catalogue, or the label of a condition that has other settings; None for the reference.
        seed: of the agent.
    """
    (task,), reference = suite.tasks, suite.comparisons[0].reference
    entry = next(one for one in task.entries if one.label == reference)
    if method and (own := own_entry(suite, method)):
        method, entry = None, own
    given = {name: value for name, value in task.params(entry).items() if name not in OF_RUN}
    made: Any = agents.make(method or entry.agent, task.env_id, seed=seed, device="cpu", **given)
    assert isinstance(made, PolicyGradient)
    return made


def measure_suite(
    suite: Suite, methods: Sequence[str], batches: int, before: int = BEFORE, seed: int = 0
) -> dict[str, Any]:
    """:func:`measure` in a suite's setting, and what its regime is about (:func:`mechanism`).

    Args:
        suite: of one task.
        methods: that get the suite's settings of the reference.
        batches: to measure on.
        before: completions at least that the reference has learnt from before the first of them.
        seed: of all agents.
    """
    standing = begun(of_suite(suite, None, seed))
    earlier: list[Rollouts] = []
    while sum(map(len, earlier)) < before:
        earlier.append(learnt(standing, 0)[0])
    tables, used, told = [], [], []
    for _ in range(batches):
        others, batch = learnt(standing, GROUP * PROMPTS)
        made = [of_suite(suite, name, seed) for name in methods]
        seen = [*earlier, others] if len(others) else earlier
        paid = [
            repaid(agent, batch) if own_entry(suite, name) else batch for name, agent in zip(methods, made, strict=True)
        ]
        pairs = zip(made, paid, strict=True)
        tables.append(cosines([gradient(agent, standing, rows, earlier[-1], seen) for agent, rows in pairs]))
        told.append(mechanism(standing, batch, earlier))
        used.append(batch)
        earlier += [others, batch] if len(others) else [batch]
    found = _told(suite.tasks[0].env_id.partition("/")[2], suite.name, methods, tables, used)
    shares = {name: round(float(np.mean([one[name] for one in told])), 3) for name in told[0]}
    return {**found, "before": before, "mechanism": shares}


def repaid(agent: PolicyGradient, batch: Rollouts) -> Rollouts:
    """The same completions with the rewards of an agent, the first of which is of the success alone.

    Raises:
        ValueError: it is another, and would be paid on top of what the reference's rewards paid.
    """
    if not agent.rewards:
        return batch
    if not isinstance(agent.rewards[0], Outcome):
        raise ValueError("the rewards of a condition of its own begin with 'outcome': others add to what was paid")
    for reward in agent.rewards:
        batch = shaped(batch, reward.shape(batch, agent.context()))
    return batch


def learnt(agent: PolicyGradient, left: int) -> tuple[Rollouts, Rollouts]:
    """An iteration's completions, which the agent then learns from, and the last ``left``, which it does not.

    Both are as they were written.
    """
    for component in dict.fromkeys(agent.components.values()):
        component.begin(agent.context())
    written = sampled(agent)
    rows = torch.arange(len(written))
    batch, rest = written.take(rows[: len(rows) - left]), written.take(rows[len(rows) - left :])
    if len(batch):
        assert agent.objective is not None
        agent.train(agent._supplied(batch, agent.context()), agent.objective.at(0.0))
    return batch, rest


def mechanism(standing: PolicyGradient, batch: Rollouts, earlier: Sequence[Rollouts]) -> dict[str, float]:
    """What a regime is about, as shares of a batch's groups, tokens and completions, and the spread of lengths."""
    ratio = (standing.context().score(batch.tokens, batch.mask) - batch.logp_old)[batch.mask].exp()
    met = torch.cat([one.seed for one in earlier])
    said, length = batch.reward > 0.5, batch.length.double()
    cut = length >= standing.policy_kwargs["max_answer_tokens"]
    return {
        **({} if one_each(batch) else {"uniform groups": uniform(batch)}),
        "ratios beyond the clip": float(((ratio - 1).abs() > CLIP).double().mean()),
        "problems met before": float(torch.isin(batch.seed, met).double().mean()),
        "rewards against the success": float((said != batch.info["success"]).double().mean()),
        "deviation of lengths over their mean": float(length.std() / length.mean()),
        **(
            {"completions at the longest": float(cut.double().mean())}
            if batch.state is None
            else {"turns in states that others begin in": shared_states(batch)}
        ),
    }


def shared_states(batch: Rollouts) -> float:
    """The share of turns, each episode's first left out, that begin in a state of another turn of the same group."""
    ends = turn_ends(batch.turn, batch.mask)
    rows = ends.nonzero()[:, 0]
    begun_in = torch.stack((batch.group[rows], batch.need("state")[ends]), 1)
    _, kind, count = torch.unique(begun_in, dim=0, return_inverse=True, return_counts=True)
    later = batch.turn[ends] > 0
    return float((count[kind] > 1)[later].double().mean())


def page(found: Sequence[dict[str, Any]], command: str) -> str:
    """All measured regimes as a page."""
    about = {"commit": commit(), "hardware": hardware(), "versions": versions()}
    return render("gradient_gate.md.jinja", found=found, equal=EQUAL, command=command, **about)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measures one regime, stores it beside the others, and writes the page of all; or writes the page alone."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", default="ChainSum")
    parser.add_argument("--regime", choices=REGIMES, default="on-policy")
    parser.add_argument("--suite", default="", help="in place of a task and a regime")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--batches", type=int, default=2)
    parser.add_argument("--before", type=int, default=BEFORE, help="completions learnt from before, of a suite")
    parser.add_argument("--page", action="store_true", help="measure nothing: write the page of what is stored")
    parser.add_argument("--out", type=Path, default=FOLDER)
    given = parser.parse_args(arguments)
    if not given.page:
        measured(given)
    stored = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(given.out.glob("*.json"))]
    text = page(stored, "python benchmarks/studies/gradient_gate.py --task TASK --regime REGIME (or --suite SUITE)")
    (given.out / "README.md").write_text(text, encoding="utf-8")
    print(text)


def measured(given: argparse.Namespace) -> None:
    """Stores a regime as the command line asks for it."""
    torch.set_num_threads(1)
    start = time.process_time()
    methods = given.methods.split(",")
    if given.suite:
        found = measure_suite(find(given.suite), methods, given.batches, given.before)
    else:
        found = measure(given.task, given.regime, methods, given.batches)
    found["processor seconds"] = round(time.process_time() - start, 1)
    given.out.mkdir(parents=True, exist_ok=True)
    name = given.suite or f"{given.task}-{given.regime}"
    (given.out / f"{name}.json").write_text(json.dumps(found) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
