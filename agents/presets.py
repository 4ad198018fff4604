"""Presets: settings tuned for environments, as data; without one an agent has its paper's values.

A preset is a file of ``benchmarks/presets``, named and dated by the suite that it was tuned for, with the tuning notes
as comments. It does not change once runs were published with it: a better one is another file. Each environment has
one that is used unless said otherwise (:data:`AUTO`).
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from .. import unknown
from ..envs import catalogue as environments

FOLDER = Path(__file__).parents[1] / "benchmarks" / "presets"
AUTO, NONE = "auto", "none"
"""The preset of the environment, and the paper's values, where a preset is asked for by name."""
SAME = {"sb3-ppo": "ppo", "sb3-tqc": "tqc"}
"""Agents that have what presets say of another one: released presets do not change when an agent gets a second name."""


@dataclass(frozen=True)
class Rule:
    """What some agents get in some environments.

    Attributes:
        agents: their names.
        environments: ids and domains; ``"*"`` for all that the preset speaks for.
        settings: constructor keywords.
        n_envs: environments trained in at once.
    """

    agents: tuple[str, ...]
    environments: tuple[str, ...]
    settings: Mapping[str, Any]
    n_envs: int | None


@dataclass(frozen=True)
class Preset:
    """One file of :data:`FOLDER`.

    Attributes:
        name: of the file.
        date: on which it was released.
        environments: ids and domains that it speaks for; ``"*"`` for any, those of other packages too.
        default: whether these get it unless said otherwise.
        rules: in order; later ones win.
    """

    name: str
    date: str
    environments: tuple[str, ...]
    default: bool
    rules: tuple[Rule, ...]

    def __str__(self) -> str:
        """As it is told: ``control-v1 of 2026-11-21``."""
        return f"{self.name} of {self.date}"


@cache
def presets() -> Mapping[str, Preset]:
    """All there are, by name."""
    return {path.stem: _read(path) for path in sorted(FOLDER.glob("*.toml"))}


def _read(path: Path) -> Preset:
    data = tomllib.loads(path.read_text())
    own = [
        Rule(
            tuple(rule["agents"]),
            tuple(rule.get("environments", ["*"])),
            rule.get("settings", {}),
            rule.get("n_envs"),
        )
        for rule in data.get("rules", ())
    ]
    base = _read(path.with_name(f"{data['extends']}.toml")).rules if "extends" in data else ()
    return Preset(path.stem, str(data["date"]), tuple(data["environments"]), data.get("default", True), (*base, *own))


def find(preset: str | None, env_id: str) -> Preset | None:
    """The preset of that name; of :data:`AUTO` the environment's own, and None for None and "none".

    Args:
        preset: a name, or one of these.
        env_id: an id; of an environment that is not ours any string will do.

    Raises:
        ValueError: no such preset, or one that says nothing of this environment.
    """
    if preset in (None, NONE):
        return None
    scopes = _scopes(env_id)
    if preset == AUTO:
        ours = [one for one in presets().values() if one.default]
        return next((one for scope in scopes for one in ours if scope in one.environments), None)
    if preset not in presets():
        raise ValueError(unknown("preset", str(preset), [AUTO, NONE, *presets()]))
    found = presets()[preset]
    if not set(scopes) & set(found.environments):
        raise ValueError(f"preset {preset} is for {', '.join(found.environments)}, not for {env_id or 'this'}")
    return found


def rules(agent: str, env_id: str, preset: str | None = AUTO) -> list[Rule]:
    """What a preset says of ``agent`` in one environment, in order; see :func:`find`."""
    found, agent = find(preset, env_id), SAME.get(agent, agent)
    scopes = set(_scopes(env_id))
    return [rule for rule in (found.rules if found else ()) if agent in rule.agents and scopes & {*rule.environments}]


def described(agent: str, env_id: str, preset: str | None = AUTO) -> str:
    """Which settings an agent gets in one environment, in a phrase.

    >>> described("sac", "tiltyard/Hopper-v5"), described("sac", "tiltyard/Hopper-v5", "none")
    ('settings of preset control-v1 of 2026-11-21', "the paper's values, no preset")
    """
    if preset in (None, NONE):
        return "the paper's values, no preset"
    if not rules(agent, env_id, preset):
        return f"{agent}'s own settings, for which no preset has others"
    return f"settings of preset {find(preset, env_id)}"


def _scopes(env_id: str) -> tuple[str, ...]:
    """What may stand for an environment, the narrowest first."""
    domains = [row.domain for row in environments.rows() if row.id == env_id]
    return (env_id, *domains, "*")
