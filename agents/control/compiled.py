"""``compiled=True``: the functions of which an update consists, turned into machine code by ``torch.compile``.

The compiler joins the small operations between the matrix products, on which an update otherwise spends a third of its
time (in bf16: half). It needs a C++ compiler, and half a minute the first time (seconds, once PyTorch has it in its
cache on disk); it pays from some ten thousand updates on. ``tests/agents/control/test_compiled.py`` holds what is
compiled to what is not.
"""

import shutil
from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeVar

import torch as th
from gymnasium.spaces import Box

from .explicit import is_explicit
from .updates import ACTIVATIONS

if TYPE_CHECKING:
    from .actor_critic import ActorCritic

Result = TypeVar("Result")


class Compiled:
    """Calls functions of networks and tensors, compiled when they are first called.

    Args:
        agent: whose update consists of them.

    Raises:
        ValueError: an update, an observation, a network or a device that it does not cover.
        RuntimeError: there is no C++ compiler.
    """

    def __init__(self, agent: "ActorCritic") -> None:
        if not is_explicit(type(agent).update):
            raise ValueError(
                f"compiled=True is for updates whose gradients are written out, and {type(agent).__name__}'s are not: "
                "leave it out"
            )
        flat = isinstance(agent.observation_space, Box) and len(agent.observation_space.shape) == 1
        if not flat or any(network.learns_features for network in agent.networks) or agent.device.type != "cpu":
            raise ValueError("compiled=True is for flat observations without an extractor, on the CPU: leave it out")
        networks: list[Any] = list(agent.networks)
        if any(network.net.plan.activation not in ACTIVATIONS.values() for network in networks):
            names = ", ".join(kind.__name__ for kind in ACTIVATIONS)
            raise ValueError(f"compiled=True knows the activations {names}: take one of them, or leave it out")
        if not any(map(shutil.which, ("c++", "g++", "clang++", "cl"))):
            raise RuntimeError("compiled=True needs a C++ compiler: install one (Debian: g++), or leave it out")
        self._made: dict[Callable[..., Any], Callable[..., Any]] = {}

    def __call__(self, function: Callable[..., Result], *args: Any) -> Result:
        """``function(*args)``."""
        if function not in self._made:
            # A copy of the code, since the compiler counts the shapes that it has seen by code.
            own = FunctionType(function.__code__.replace(), function.__globals__, function.__name__)
            self._made[function] = th.compile(own, fullgraph=True, dynamic=False)
        found: Result = self._made[function](*args)
        return found
