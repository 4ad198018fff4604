"""Where each paper is in this house: one :class:`Part` for everything built, read from all catalogues.

The handle of a part names its source file, its test and its claim; :func:`describe` is what ``tiltyard show`` says.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from inspect import Parameter
from pathlib import Path
from typing import Any

from .. import unknown
from ..agents.catalogue import Row as Agent
from ..agents.catalogue import find as find_agent
from ..papers import Paper, papers
from ..papers import find as find_paper

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs" / "results"

ELSEWHERE = {
    "action-grouping": ("tabular method", "tiltyard.benchmarks.action_grouping:learn"),
    "adastop": ("statistic", "tiltyard.benchmarks.adastop:AdaStop"),
    "ask-to-act": ("environment", "tiltyard.envs.robotics.ask_to_act:AskToActEnv"),
    "carl": ("reward of an environment", "tiltyard.envs.driving.rewards:DrivingReward"),
    "brorl": ("analysis", "tiltyard.benchmarks.analysis.brorl:mass_change"),
    "cot-pass-k": ("analysis", "tiltyard.benchmarks.analysis.cot_pass_k:cot_pass_at_k"),
    "dpo-vs-ppo-study": ("analysis", "tiltyard.benchmarks.analysis.dpo_vs_ppo_study:effects"),
    "echo-chamber": ("analysis", "tiltyard.benchmarks.analysis.echo_chamber:dominant"),
    "how-to-autorl": ("search", "tiltyard.benchmarks.how_to_autorl:search"),
    "invisible-leash": ("analysis", "tiltyard.benchmarks.analysis.invisible_leash:support"),
    "online-vs-offline-gap": ("analysis", "tiltyard.benchmarks.analysis.online_vs_offline_gap:frontier"),
    "pass-at-k-boundary": ("analysis", "tiltyard.benchmarks.analysis.pass_at_k_boundary:crossover"),
    "pbt": ("search", "tiltyard.benchmarks.pbt:train_population"),
    "preference-ranking-accuracy": ("analysis", "tiltyard.benchmarks.analysis.preference_ranking_accuracy:ranked"),
    "prefixgrouper": ("generation", "tiltyard.agents.models.sharing"),
    "refined-lr": ("learning rate schedule", "tiltyard.agents.refined_lr:refined"),
    "rewardbench-2": ("analysis", "tiltyard.benchmarks.analysis.rewardbench_2:best_of_n"),
    "rewardmath": ("analysis", "tiltyard.benchmarks.analysis.rewardmath:accuracy"),
    "rewarddesign-thesis": ("tabular method", "tiltyard.benchmarks.rewarddesign_thesis:designed"),
    "rl-vs-distillation": ("testbed", "tiltyard.benchmarks.testbeds.tree_support"),
    "rliable": ("statistic", "tiltyard.benchmarks.statistics"),
    "starc": ("distance of rewards", "tiltyard.benchmarks.analysis.starc:distance"),
    "sqirl": ("difficulty of environments", "tiltyard.benchmarks.sqirl"),
    "tq-saco": ("statistic of data sets", "tiltyard.benchmarks.datasets.tq_saco"),
}
"""What is built here and stands in no catalogue: kind and ``"module"`` or ``"module:name"``, by handle."""


@dataclass(frozen=True)
class Part:
    """Something built from a paper. Its identity is (kind, handle): PPO is an agent and a method.

    Attributes:
        kind: agent, method, curriculum, guidance, reward, wrapper, statistic, ...
        handle: what users type.
        paper: handle of its paper in :mod:`tiltyard.papers`.
        entries: the classes and functions it is made of, ``"module:name"`` or ``"module"``; first the file named after
            the handle, where there is one.
        params: values that differ from the defaults of the code.
        use: a line of Python or of the shell that uses it.
    """

    kind: str
    handle: str
    paper: str
    entries: tuple[str, ...]
    params: tuple[tuple[str, Any], ...] = ()
    use: str = ""

    @property
    def sources(self) -> tuple[str, ...]:
        """Its source files, from the root of the repository, each once."""
        return tuple(dict.fromkeys(map(source, self.entries)))

    @property
    def tests(self) -> tuple[str, ...]:
        """The tests of these files that the checkout has; none in an installed wheel."""
        paths = [Path("tests", Path(source).parent, f"test_{Path(source).name}") for source in self.sources]
        return tuple(str(path) for path in paths if (ROOT / path).is_file())


@cache
def parts() -> tuple[Part, ...]:
    """Everything that is built from a paper; imports catalogues, and none of what they name."""
    return (*_agents(), *_methods(), *_wrappers(), *_elsewhere())


def parts_of(handle: str) -> tuple[Part, ...]:
    """The parts called ``handle``, and those built from the paper of this handle."""
    return tuple(part for part in parts() if handle in (part.handle, part.paper))


def _agents() -> Iterator[Part]:
    from ..agents.catalogue import ROWS

    for row in ROWS:
        use = f"tiltyard train --agent {row.name} --env ID"
        entries = row.entry_point, *_named_after(row.name)
        yield Part("agent", row.name, row.paper or row.name, _own_first(row.name, entries), use=use)


def _named_after(handle: str) -> list[str]:
    """Modules that bear the handle's name: a part of an agent or a method that is made of others' besides."""
    stem = handle.replace("-", "_")
    rooms = (
        *("agents/control", "agents/language", "agents/models", "agents/objectives", "agents/language/samplers"),
        *("wrappers/guidance", "wrappers/rewards"),
    )
    return [f"tiltyard.{room.replace('/', '.')}.{stem}" for room in rooms if (ROOT / room / f"{stem}.py").is_file()]


def _own_first(handle: str, entries: Iterable[str]) -> tuple[str, ...]:
    stem = handle.replace("-", "_")
    return tuple(sorted(entries, key=lambda entry: not entry.partition(":")[0].endswith(f".{stem}")))


def _methods() -> Iterator[Part]:
    from ..agents.objectives.catalogue import ROWS
    from ..agents.objectives.row import Row

    usual, agents = Row("grpo").functions, {part.handle for part in _agents()}
    for row in ROWS:
        own = sorted(row.functions, key=lambda entry: (".parts." in entry, entry in usual))
        own = list(_own_first(row.handle, (*own, *(_named_after(row.handle) if row.components else ()))))
        use = f"tiltyard train --agent {'language:' * (row.handle in agents)}{row.handle} --env ID"
        yield Part("method", row.handle, row.paper or row.handle, tuple(own), tuple(row.params.items()), use)


def _wrappers() -> Iterator[Part]:
    from ..agents.language.samplers.catalogue import ROWS as SAMPLERS
    from ..wrappers.catalogue import GUARDS, PERTURBATIONS, PHONE_REWARDS, POLICIES, PRACTICE
    from ..wrappers.catalogue import REWARDS as SHAPING
    from ..wrappers.curricula.catalogue import CONTROL
    from ..wrappers.curricula.catalogue import ROWS as CURRICULA
    from ..wrappers.guidance.catalogue import ROWS as GUIDANCE
    from ..wrappers.rewards.catalogue import ROWS as REWARDS

    rooms = {
        "curriculum": CURRICULA + CONTROL,
        "guidance": GUIDANCE,
        "reward": REWARDS + SHAPING + PHONE_REWARDS,
        "practice": PRACTICE,
        "perturbation": PERTURBATIONS,
        "guard": GUARDS,
        "wrapper": POLICIES,
        "sampler": tuple(row for row in SAMPLERS if row.paper),  # the others belong to a method of their name
    }
    for kind, rows in rooms.items():
        for row in rows:
            use = f"from {row.entry_point.partition(':')[0]} import {row.entry_point.partition(':')[2]}"
            yield Part(kind, row.handle, row.paper or row.handle, (row.entry_point,), row.params, use)


def _elsewhere() -> Iterator[Part]:
    for handle, (kind, entry) in ELSEWHERE.items():
        yield Part(kind, handle, handle, (entry,), use=f"import {entry.partition(':')[0]}")


def handles() -> frozenset[str]:
    """Of all papers and parts."""
    return frozenset({*(paper.handle for paper in papers()), *(part.handle for part in parts())})


def describe(handle: str) -> str:
    """What ``tiltyard show`` prints of a paper: what it is, formula, files, test, claim with verdict, results, link.

    Args:
        handle: of a paper or of a part.

    Raises:
        KeyError: no such handle; the message holds the nearest.
    """
    found = parts_of(handle)
    by_handle = {paper.handle: paper for paper in papers()}
    paper = by_handle.get(handle) or (find_paper(found[0].paper) if found else None)
    if paper is None:
        raise KeyError(unknown("handle", handle, handles()))
    lines = [f"{handle}: {paper.cited}", *field("link", paper.link or "not looked up yet")]
    if not found:
        lines += [*field("here", "not built yet"), *_plans(paper)]
    for part in found:
        lines += ["", f"{part.kind} `{part.handle}`", *_lines_of(part)]
    return "\n".join([*lines, *_claim(paper.handle), *_results({part.handle for part in found})])


def _lines_of(part: Part) -> Iterator[str]:
    summary, formula = _documented(part.entries[0])
    yield from field("what", summary)
    yield from field("formula", formula)
    yield from field("params", ", ".join(f"{name}={value}" for name, value in part.params))
    if part.kind == "agent":
        yield from field("settings", settings(find_agent(part.handle)))
        yield from field("makes", environment_keywords(find_agent(part.handle)))
    yield from field("source", ", ".join(part.sources))
    yield from field("test", ", ".join(part.tests) or "in a checkout of the repository alone")
    yield from field("use", part.use)


def settings(row: Agent) -> str:
    """The keywords of an agent's constructor, which ``--set`` takes, with what they are everywhere without one."""
    everywhere = row.settings.get("*", {})
    return keywords(row.load(), everywhere, leave={"env", "_init_setup_model"})


def environment_keywords(row: Agent) -> str:
    """The keywords with which an agent makes environments, unless others are given: of a domain, or of one id."""
    kept = {scope: _written(given) for scope, given in row.env_kwargs.items()}
    return "; ".join(f"{'environments' if scope == '*' else scope} with {given}" for scope, given in kept.items())


def _written(given: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in given.items())


def keywords(owner: type[Any], given: Mapping[str, Any], leave: Set[str]) -> str:
    """A constructor's keywords with their defaults, over which ``given`` ones stand."""
    from ..agents.settings import whole_signature

    named = [one for one in whole_signature(owner).parameters.values() if one.name not in leave]
    values = {one.name: given.get(one.name, one.default) for one in named}
    return ", ".join(name if value is Parameter.empty else f"{name}={_short(value)}" for name, value in values.items())


def _short(value: Any) -> str:
    """A value as Python writes it, the middle of a long one left out."""
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:120]} ... {text[-20:]}"


def source(entry: str) -> str:
    """The source file of ``"module:name"``, from the root of the repository."""
    return f"{entry.partition(':')[0].removeprefix('tiltyard.').replace('.', '/')}.py"


def _plans(paper: Paper) -> Iterator[str]:
    yield from field("mechanism", paper.mechanism)
    yield from field("claims", paper.claim)
    yield from field("check", paper.check)


def summary_of(entry: str) -> str:
    """What ``"module:name"`` is, in one line: the first of its file's docstring."""
    return _documented(entry)[0]


def field(name: str, text: str) -> Iterable[str]:
    """A line of what ``tiltyard show`` prints; none without text."""
    return [f"  {name:<9} {text}"] if text else []


def _documented(entry: str) -> tuple[str, str]:
    """First line of the module, and first paragraph of the class or function; read from the source, not imported."""
    module, _, name = entry.partition(":")
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        raise ImportError(f"{module} has no source file to show")
    tree = ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
    summary = (ast.get_docstring(tree) or "").partition("\n")[0]
    named = [node for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == name]
    formula = (ast.get_docstring(named[0]) or "") if named else ""
    return summary, " ".join(formula.partition("\n\n")[0].split())


def _claim(handle: str) -> list[str]:
    from .claims.harness import claims, stored

    if handle not in claims():
        return []
    verdict = stored(RESULTS / "claims").get(handle) if RESULTS.is_dir() else None
    if verdict is None:
        return ["", "claim", *field("verdict", f"none stored; run: tiltyard claim {handle}")]
    return [
        "",
        "claim",
        *field("sentence", verdict.sentence),
        *field("verdict", f"{verdict.standing}, {verdict.effect}: {'; '.join(verdict.measured)}"),
        *field("because", verdict.reason),
        *field("note", verdict.remark),
        *field("withdrawn", verdict.withdrawn),
        *field("source", f"benchmarks/claims/{handle.replace('-', '_')}.py"),
        *field("command", verdict.command),
    ]


def _results(handles: set[str]) -> list[str]:
    """Pages that name one of ``handles`` in a table or as code."""
    marks = {mark for handle in handles for mark in (f"`{handle}`", f"| {handle} |", f"`{handle},", f"| {handle},")}
    pages = sorted(RESULTS.glob("*/README.md"))
    named = [page.parent.name for page in pages if any(mark in page.read_text(encoding="utf-8") for mark in marks)]
    return ["", "results", *(f"  docs/results/{name}/" for name in named)] if named else []
