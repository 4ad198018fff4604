"""Versions of other packages behind a run: of its agent's class and its environment, where these are not Tiltyard's.

Distributions are recorded by their version. A loose file or folder that no distribution holds, or one that is installed
to be edited, is recorded as ``source of MODULE`` with a hash of its code. A run of Tiltyard's own agent in its own
environment has none of these: :mod:`.provenance` lists what those hang on.
"""

import json
import os
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cache
from hashlib import sha256
from importlib.machinery import PathFinder
from importlib.metadata import Distribution, PackageNotFoundError, distribution, packages_distributions
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gymnasium.envs.registration import load_env_creator, registry

from ..envs.catalogue import find as find_env
from .provenance import LIBRARIES, differences

if TYPE_CHECKING:
    from ..agents.catalogue import Row
    from .diverging import DivergedRun
    from .runs import FinishedRun, Run

SOURCE = "source of "
RECORDED = {"tiltyard", "python", *LIBRARIES}
"""Names that every run records."""
_KNOWN = {name.replace("-", "_") for name in RECORDED} | sys.stdlib_module_names
"""Top-level modules that need no name of their own."""
_DIGITS = 12


def behind(run: "Run", *, loaded: bool = False) -> dict[str, str]:
    """Versions installed here of the other packages behind ``run``; what is not here is left out.

    Args:
        run: whose agent and environment are looked up.
        loaded: import both, so that the packages of their base classes count too; by default nothing is imported.

    Raises:
        KeyError: no such agent or environment.
    """
    return behind_both(run.env_id, run.row, loaded=loaded)


def behind_both(env_id: str, agent: "Row | None", *, loaded: bool = False) -> dict[str, str]:
    """:func:`behind`, of an environment and an agent's row; of the environment alone where no agent learnt.

    Raises:
        KeyError: no such environment.
    """
    env = find_env(env_id)
    module, _, name = env.id.rpartition(":")
    maker = env.entry_point or (registry[name].entry_point if name in registry else "")
    named = {module, _module(maker), _module(env.vector_entry_point), _module(agent and agent.entry_point)}
    if loaded:
        made = [load_env_creator(maker) if isinstance(maker, str) and maker else maker, agent and agent.load()]
        theirs = [one for one in made if _module(one).partition(".")[0] != "tiltyard"]  # ours, whatever it builds on
        named |= {_module(base) for one in theirs for base in getattr(one, "__mro__", ())}
    return versions_of(named)


def _module(maker: Any) -> str:
    """The module of an entry point: ``"module:Class"``, a class, a function or None."""
    return maker.partition(":")[0] if isinstance(maker, str) else str(getattr(maker, "__module__", None) or "")


def versions_of(modules: Iterable[str]) -> dict[str, str]:
    """Versions of the distributions that hold ``modules``, and hashes of what none holds; what is not here has none."""
    found: dict[str, str] = {}
    for module in sorted(modules):
        top = module.partition(".")[0]
        if top in _KNOWN or not top:
            continue
        held = {name: distribution(name) for name in _distributions().get(top, ())}
        found |= {name: one.version for name, one in held.items()}
        if not held or any(map(_is_edited, held.values())):
            found |= _source_of(module)
    return found


def _is_edited(one: Distribution) -> bool:
    """Whether it is a link to a folder whose files may change (``pip install -e``); see PEP 610."""
    record = json.loads(one.read_text("direct_url.json") or "{}")
    return bool(record.get("dir_info", {}).get("editable"))


@cache
def _distributions() -> dict[str, list[str]]:
    """Names of the distributions that hold each top-level module."""
    return {module: sorted(set(names)) for module, names in packages_distributions().items()}


def _source_of(module: str) -> dict[str, str]:
    """``{"source of own_envs": "3f2a..."}``, found without importing it; nothing where there is no such source.

    A package counts with all the Python files in its folder, a module of no package (or of a folder without
    ``__init__.py``) alone.
    """
    file = getattr(sys.modules.get("__main__"), "__file__", None)
    if module == "__main__":
        return {SOURCE + Path(file).stem: _hash([Path(file)])} if file else {}
    path, parts = [*sys.path, os.getcwd()], module.split(".")  # as tiltyard.plugins.import_named looks
    for depth in range(1, len(parts) + 1):
        name = ".".join(parts[:depth])
        spec = PathFinder.find_spec(name, path)
        if spec is None:
            return {}
        if spec.origin is not None:
            origin = Path(spec.origin)
            files = sorted(origin.parent.rglob("*.py")) if spec.submodule_search_locations else [origin]
            return {SOURCE + name: _hash(files)}
        path = list(spec.submodule_search_locations or ())
    return {}


def _hash(files: Sequence[Path]) -> str:
    """Of the names and contents of files, which lie beside the first or below it."""
    found = sha256()
    for file in files:
        content = file.read_bytes()
        found.update(f"{file.relative_to(files[0].parent)} {len(content)}\n".encode() + content)
    return found.hexdigest()[:_DIGITS]


def changes(finished: "FinishedRun | DivergedRun") -> list[str]:
    """What may have changed a run's numbers since: as :func:`.provenance.differences`, and the packages behind it.

    Packages that are not here are left out: whatever is here cannot make other numbers without them.
    """
    others = others_of(finished)
    here = {name: version for name, version in _installed(others).items() if name in others} | behind(finished.run)
    own = {name: version for name, version in finished.versions.items() if name in RECORDED}
    return differences(own) + differences({name: others[name] for name in others if name in here}, here)


def _installed(names: Iterable[str]) -> dict[str, str]:
    """Versions here of what runs have recorded under ``names``."""
    found: dict[str, str] = {}
    for name in names:
        if name.startswith(SOURCE):
            found |= versions_of([name.removeprefix(SOURCE)])
        else:
            with suppress(PackageNotFoundError, ValueError):  # not installed, or an invalid name in a tampered record
                found[name] = distribution(name).version
    return found


def others_of(run: "FinishedRun | DivergedRun") -> dict[str, str]:
    """The versions of other packages that a run has recorded."""
    return {name: version for name, version in run.versions.items() if name not in RECORDED}


def behind_all(runs: Iterable["FinishedRun"]) -> dict[str, str]:
    """The versions of other packages that these runs have recorded, but for runs of versions that are not here now.

    What is made of runs, such as a tuning, records these as well: none of its runs are of other versions.
    """
    return {name: version for run in runs if not changes(run) for name, version in others_of(run).items()}


def expected(runs: Sequence["FinishedRun"]) -> list[dict[str, str]]:
    """For each run, the versions of other packages with which it may be pooled with the rest of ``runs``.

    A run should have recorded what others of its agent in its environment have. The version of a package is the one
    that is here, where one of the runs has that, and else the one that most of those runs have.
    """
    names: dict[tuple[str, str], set[str]] = defaultdict(set)
    for run in runs:
        names[_kind(run)].update(others_of(run))
    counts: dict[str, Counter[str | None]] = defaultdict(Counter)
    for run in runs:
        for name in names[_kind(run)]:
            counts[name][run.versions.get(name)] += 1
    here: dict[str, str] = {}
    for one in {_kind(run): run.run for run in runs if names[_kind(run)]}.values():
        here |= behind(one)
    usual = {
        name: here[name] if name in here and count[here[name]] else count.most_common(1)[0][0]
        for name, count in counts.items()
    }
    return [{name: told for name in sorted(names[_kind(run)]) if (told := usual[name]) is not None} for run in runs]


def _kind(run: "FinishedRun") -> tuple[str, str]:
    return run.run.env_id, run.run.agent
