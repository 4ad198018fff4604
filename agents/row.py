"""What a row of the agents' catalogue says."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Literal, get_args

from .. import unknown
from ..envs.catalogue import ROWS as ENVIRONMENTS
from ..envs.catalogue import Domain
from ..envs.catalogue import Row as Env
from ..envs.catalogue import find as find_env
from ..envs.row import check_domain, check_entry_point
from . import presets
from .language.choices import check_names

Settings = Mapping[str, Mapping[str, Any]]
"""Keywords by scope: ``"*"`` everywhere, a domain, or an environment id; see :func:`merged`."""

Kind = Literal["control", "language"]
KINDS: tuple[Kind, ...] = ("control", "language")
OF_METHOD = ("clip_low", "clip_high", "kl_coef", "method_kwargs")
"""Settings of a language agent that are parameters of its method."""


@dataclass(frozen=True)
class Row:
    """One named agent: a class and the settings with which it works here.

    Attributes:
        name: what users type (`tiltyard train --agent NAME`); a handle of the paper table where there is one.
        entry_point: ``"module:Class"``.
        domains: where it can be trained.
        summary: one sentence for tables.
        paper: handle of its paper in :mod:`tiltyard.papers`, where that is not its name.
        settings: constructor keywords by scope; those of presets (:mod:`.presets`) are put over them.
        env_kwargs: environment keywords by scope (``{"driving": {"action": "discrete"}}``).
        n_envs: environments trained on at once, by scope.
        base: name of the row whose settings a method of language agents has as an agent, "" for all others.

    Raises:
        ValueError: a name or entry point that is none, domains that are no tuple of known ones, settings that do not
            stand under a scope, or a method or component of a language agent that there is not.
    """

    name: str
    entry_point: str
    domains: tuple[Domain, ...]
    summary: str
    paper: str = ""
    settings: Settings = field(default_factory=dict)
    env_kwargs: Settings = field(default_factory=dict)
    n_envs: Mapping[str, int] = field(default_factory=dict)
    base: str = ""

    def __post_init__(self) -> None:
        """Refuses a row that could not be found, or whose settings would have no effect."""
        of = f"agent {self.name!r:.200}"
        if not isinstance(self.name, str) or not self.name:
            raise ValueError(f"an agent is named by a word, such as sac, got {self.name!r:.200}")
        check_entry_point(self.entry_point, of)
        if not isinstance(self.domains, tuple) or not self.domains:
            raise ValueError(f'{of}: domains are a tuple, such as ("other",), got {self.domains!r:.200}')
        for domain in self.domains:
            check_domain(domain, of)
        _check_scopes(self.settings, f"settings of {of}", "{'*': {'gamma': 0.98}}", Mapping)
        _check_scopes(self.env_kwargs, f"env_kwargs of {of}", "{'driving': {'action': 'discrete'}}", Mapping)
        _check_scopes(self.n_envs, f"n_envs of {of}", "{'*': 8}", int)
        if self.entry_point.startswith("tiltyard.agents.language."):
            for given in self.settings.values():
                check_names(given, of)

    @property
    def kind(self) -> Kind:
        """With :attr:`name` the agent's identity: PPO of Stable-Baselines3 is not the language method PPO."""
        return "language" if self.speaks else "control"

    @property
    def class_name(self) -> str:
        """The name under which ``tiltyard.agents`` exports the class."""
        return self.entry_point.partition(":")[2]

    @property
    def speaks(self) -> bool:
        """Whether the agent reads and writes strings, and so wants them as they are: one for text alone does."""
        return self.domains == ("text",)

    def trains_in(self, env: Env) -> bool:
        """Whether its domains allow ``env``; of environments that are not ours their spaces decide, when it is made."""
        return env.domain in (*self.domains, "other")

    def check_method(self, settings: Mapping[str, Any]) -> None:
        """Refuses another method than the one that the row is (``TypeError``); other rows take any."""
        if self.base and settings.get("method", self.name) != self.name:
            other = settings["method"]
            raise TypeError(f"agent {self.name!r} is the method {self.name!r}: use agent {self.base!r} for {other!r}")

    def load(self) -> type[Any]:
        """Imports and returns the class; one that is not ours gets safe checkpoints (:mod:`.foreign`)."""
        module, _, name = self.entry_point.partition(":")
        if not module.startswith("tiltyard."):
            from .foreign import load

            return load(self.entry_point)
        loaded: type[Any] = getattr(import_module(module), name)
        return loaded

    def settings_for(self, env_id: str, preset: str | None = presets.AUTO) -> dict[str, Any]:
        """Constructor keywords for one environment ("": not one of ours): the row's, and over them the preset's."""
        found = scoped(self.settings, env_id) if env_id else dict(self.settings.get("*", {}))
        for rule in presets.rules(self.name, env_id, preset):
            found = merged(found, rule.settings)
        return found

    def env_kwargs_for(self, env_id: str) -> dict[str, Any]:
        """Environment keywords for one environment."""
        return scoped(self.env_kwargs, env_id)

    def n_envs_for(self, env_id: str, preset: str | None = presets.AUTO) -> int:
        """Number of environments trained in at once."""
        own = scoped({scope: {"n": n} for scope, n in self.n_envs.items()}, env_id).get("n", 1)
        return int(([own] + [rule.n_envs for rule in presets.rules(self.name, env_id, preset) if rule.n_envs])[-1])


def _check_scopes(given: Any, what: str, example: str, holds: type[Any]) -> None:
    """``ValueError`` unless ``given`` maps "*", domains and environments' ids to instances of ``holds``."""
    scopes = ("*", *get_args(Domain))
    ids = [row.id for row in ENVIRONMENTS]
    told = f'{what} stand under "*", a domain or an environment\'s id, such as {example}'
    if not isinstance(given, Mapping):
        raise ValueError(f"{told}, got {given!r:.200}")
    for scope, value in given.items():
        if scope not in scopes and not re.search(r"[/:]|-v\d+$", str(scope)):
            raise ValueError(f"{told}: {unknown('scope', scope, scopes)}")
        if str(scope).startswith("tiltyard/") and scope not in ids:
            raise ValueError(f"{told}: {unknown('environment', scope, ids)}")
        if not isinstance(value, holds):
            raise ValueError(f"{told}, got {value!r:.200} under {scope!r}")


def scoped(settings: Settings, env_id: str) -> dict[str, Any]:
    """Merges the scopes of ``settings`` that speak for ``env_id``: everywhere, then its domain, then the id itself."""
    found: dict[str, Any] = {}
    for scope in ("*", find_env(env_id).domain, env_id):
        found = merged(found, settings.get(scope, {}))
    return found


def merged(wide: Mapping[str, Any], narrow: Mapping[str, Any]) -> dict[str, Any]:
    """Keywords, the narrower winning; dicts (``policy_kwargs``) are merged in turn, and copied at every level.

    >>> merged({"gamma": 0.9, "policy_kwargs": {"n_critics": 10}}, {"policy_kwargs": {"net_arch": [64]}})
    {'gamma': 0.9, 'policy_kwargs': {'n_critics': 10, 'net_arch': [64]}}
    """
    found = {name: merged(value, {}) if isinstance(value, dict) else value for name, value in wide.items()}
    for name, value in narrow.items():
        old = found.get(name)
        if isinstance(value, dict):
            value = merged(old if isinstance(old, Mapping) else {}, value)
        found[name] = value
    return found
