"""Typed settings of control agents: a frozen dataclass a method, whose fields are the constructor's keywords."""

import re
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, fields
from functools import wraps
from inspect import Parameter, cleandoc, signature
from typing import Any, Concatenate, ParamSpec, TypeVar

import torch as th
from stable_baselines3.common.buffers import ReplayBuffer
from stable_baselines3.common.noise import ActionNoise
from stable_baselines3.common.type_aliases import Schedule

from .trajectory_weighting import check_sampler

P = ParamSpec("P")
Agent = TypeVar("Agent")
Typed = TypeVar("Typed")
_ARGUMENT = re.compile(r"^ {4}(\w+): (.+\n?(?: {8}.*\n?)*)", re.MULTILINE)
"""Of the list under ``Args:`` of a docstring: a name, and its text with the lines that go on."""


def takes(
    settings: Callable[P, Typed],
) -> Callable[[Callable[[Agent, Typed], None]], Callable[Concatenate[Agent, P], None]]:
    """Makes a constructor that takes a settings object one that takes the object's fields as keywords.

    Each keyword is written once, in the dataclass, with its type and default; editors, type checkers and ``inspect``
    see all of them in the constructor, and ``help`` what the dataclass and its bases say of each.

    Args:
        settings: the dataclass.
    """

    def decorate(init: Callable[[Agent, Typed], None]) -> Callable[Concatenate[Agent, P], None]:
        @wraps(init)
        def construct(self: Agent, /, *args: P.args, **kwargs: P.kwargs) -> None:
            init(self, settings(*args, **kwargs))

        own = [Parameter("self", Parameter.POSITIONAL_OR_KEYWORD), *signature(settings).parameters.values()]
        construct.__signature__ = signature(init).replace(parameters=own)  # type: ignore[attr-defined]
        construct.__annotations__ = {one.name: one.annotation for one in own[1:]} | {"return": None}
        told = explained(settings)
        listed = [f"    {one.name}: {told[one.name]}" for one in own if one.name in told]
        construct.__doc__ = "\n".join(["An agent with these settings.", "", "Args:", *listed, ""])
        return construct

    return decorate


def explained(described: Any) -> dict[str, str]:
    """What the docstrings of a class and its bases say of each argument, by name; the class's own words win."""
    found: dict[str, str] = {}
    for owner in reversed(described.__mro__):
        _, _, listed = cleandoc(vars(owner).get("__doc__") or "").partition("\nArgs:\n")
        own = _ARGUMENT.findall(listed.partition("\n\n")[0])
        found |= {name: text.rstrip() for name, text in own}
    return found


def sb3_keywords(base: Any, settings: Any, **own: Any) -> dict[str, Any]:
    """What the constructor of one of SB3's classes takes of an agent's settings; several environments are allowed.

    Args:
        base: the class, such as ``OffPolicyAlgorithm``.
        settings: a dataclass; fields that the constructor has no parameter for are left out.
        **own: further keywords, or others in place of fields.
    """
    known = signature(base.__init__).parameters
    shared = {one.name: getattr(settings, one.name) for one in fields(settings) if one.name in known}
    if "support_multi_env" in known:
        shared["support_multi_env"] = True
    return {**shared, **own}


def check_subset(subset: int | None, n_critics: int) -> None:
    """Raises ``ValueError`` unless a target can take the least of ``subset`` of the critics."""
    if subset is not None and not 1 <= subset <= n_critics:
        raise ValueError(f"critic_subset must be between 1 and the {n_critics} critics, got {subset}")


@dataclass(frozen=True)
class OffPolicySettings:
    """What all agents take that learn actor and critics from transitions.

    Args:
        policy: "MlpPolicy", "CnnPolicy" or "MultiInputPolicy".
        env: any environment with Box actions, or its id.
        learning_rate: of all networks.
        buffer_size: transitions kept.
        learning_starts: environment steps before the first update.
        batch_size: transitions an update.
        tau: step of the target networks.
        gamma: discount.
        train_freq: environment steps between calls of ``train``, or ``(n, "episode")``.
        gradient_steps: updates a call (-1: as many as steps taken).
        action_noise: added to exploring actions: a number is the standard deviation of Gaussian noise.
        replay_buffer_class: chosen by the spaces if None.
        replay_buffer_kwargs: its keywords.
        optimize_memory_usage: store each observation once, in SB3's buffer, which half the memory is enough for.
        n_steps: of n-step returns.
        offline_ratio: share of each online batch that is drawn from the dataset, if one was given; None draws from both
            as if they were one buffer.
        sampler: how often a dataset's trajectories are drawn: "uniform", "return-weighting" or "advantage-weighting";
            see :mod:`~.trajectory_weighting`.
        sampler_temperature: of the weighting samplers; small prefers the best trajectories more.
        matmul_precision: of the networks' hidden layers: "fp32", or "bf16" where the processor has it.
        overlap: learn while the environments step, in another thread: one core more at work, and actions that are
            chosen before the last step's updates instead of after them.
        compiled: turn the update into machine code first; see :mod:`~.compiled`.
        stats_window_size: episodes in logged means.
        tensorboard_log: folder.
        policy_kwargs: of :class:`~.networks.ActorCriticPolicy`.
        verbose: 0, 1 or 2.
        seed: of all randomness.
        device: where tensors live.
    """

    policy: str | type[Any]
    env: Any
    _: KW_ONLY
    learning_rate: float | Schedule = 3e-4
    buffer_size: int = 1_000_000
    learning_starts: int = 100
    batch_size: int = 256
    tau: float = 0.005
    gamma: float = 0.99
    train_freq: int | tuple[int, str] = 1
    gradient_steps: int = 1
    action_noise: ActionNoise | float | None = None
    replay_buffer_class: type[ReplayBuffer] | None = None
    replay_buffer_kwargs: dict[str, Any] | None = None
    optimize_memory_usage: bool = False
    n_steps: int = 1
    offline_ratio: float | None = None
    sampler: str = "uniform"
    sampler_temperature: float = 0.1
    matmul_precision: str = "fp32"
    overlap: bool = False
    compiled: bool = False
    stats_window_size: int = 100
    tensorboard_log: str | None = None
    policy_kwargs: dict[str, Any] | None = None
    verbose: int = 0
    seed: int | None = None
    device: th.device | str = "auto"
    _init_setup_model: bool = True

    def __post_init__(self) -> None:
        check_sampler(self.sampler, self.sampler_temperature)
