"""Turns a catalogue row and an environment into an agent."""

from typing import TYPE_CHECKING, Any

from .catalogue import Row

if TYPE_CHECKING:
    from stable_baselines3.common.base_class import BaseAlgorithm


def build(row: Row, env: Any, settings: dict[str, Any]) -> "BaseAlgorithm":
    """Builds ``row``'s agent for ``env``; see :func:`tiltyard.agents.make`."""
    agent: BaseAlgorithm = row.load()(env=env, **settings)
    return agent
