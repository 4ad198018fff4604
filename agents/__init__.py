"""Agents with Stable-Baselines3's API; classes are resolved lazily from :mod:`tiltyard.agents.catalogue`."""

from typing import TYPE_CHECKING, Any

from .. import unknown
from .catalogue import ROWS, find

if TYPE_CHECKING:
    from stable_baselines3.common.base_class import BaseAlgorithm


def make(name: str, env: Any, **settings: Any) -> "BaseAlgorithm":
    """Builds the agent called ``name`` for ``env`` with tuned settings, or its paper's, changed by ``settings``.

    >>> agent = make("ppo", "tiltyard/Highway-v0", seed=0)  # doctest: +SKIP
    >>> agent.learn(10_000)                                 # doctest: +SKIP

    Args:
        name: of an agent or of a method of language agents (``"gspo"``). Of a name that is both, ``"ppo"`` is the
            method in environments of text and Stable-Baselines3's agent everywhere else; ``"control:ppo"`` and
            ``"language:ppo"`` say which. See :func:`tiltyard.agents.catalogue.find`.
        env: an environment id (adapted to SB3 with the row's keywords and ``n_envs``), a ``gymnasium.Env``, a
            ``gymnasium.vector.VectorEnv`` or an SB3 ``VecEnv``.
        settings: constructor keywords; an unknown one raises ``TypeError``. With them may stand ``n_envs`` and
            ``env_kwargs``, of which an id is made, and ``preset``: the name of a preset (:mod:`.presets`), "auto" for
            that of the environment, which is used if nothing is said, or None for the paper's values.

    Raises:
        KeyError: no such agent.
        TypeError: unknown keyword, or an environment the agent cannot act in.
    """
    from .build import build, domain_of

    return build(find(name, domain_of(env)), env, settings)


def __getattr__(name: str) -> Any:
    for row in ROWS:
        if row.class_name == name:
            return row.load()
    raise AttributeError(unknown("attribute of tiltyard.agents", name, ["make", *{row.class_name for row in ROWS}]))


def __dir__() -> list[str]:
    return ["make", *sorted({row.class_name for row in ROWS})]
