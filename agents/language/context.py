"""The training under way, as components see it: see :class:`tiltyard.wrappers.components.Context`."""

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from stable_baselines3.common.vec_env import VecEnv
from torch import Tensor

from ...wrappers.components import Guidance, Problem
from ..models.batches import pieces
from ..models.generation import Mask
from ..models.language_model import LanguageModel
from ..models.tokenizer import Tokens
from ..objectives.registry import Objective
from .episodes import OnStep, begin
from .rollouts import Rollouts
from .update import logp_of
from .warm_start import demonstrator

if TYPE_CHECKING:
    from .providers.base import Provider


def ignore(infos: list[dict[str, Any]]) -> bool:
    """Does not count environment steps."""
    return True


@dataclass
class Context:
    """What components may ask of a language agent while it learns.

    Attributes:
        policy: what is trained; ``policy.network`` is what a component may copy.
        venv: the text environment; its sub-environments are used as they come. None while there is none.
        rng: the agent's generator.
        progress: of this call of ``learn``, 0 to 1.
        guidance: changes prompts.
        objective: the method, None where there is none (``"sft"``, or stored data alone).
        providers: by name; see :mod:`~tiltyard.agents.language.providers.catalogue`.
        on_step: told of each environment step.
        max_grad_norm: of the policy's gradient steps.
    """

    policy: LanguageModel
    venv: VecEnv | None
    rng: np.random.Generator
    progress: float = 0.0
    guidance: Guidance = field(default_factory=Guidance)
    objective: Objective | None = None
    providers: "Mapping[str, Provider]" = field(default_factory=dict)
    on_step: OnStep = ignore
    max_grad_norm: float = 1.0

    @property
    def env(self) -> VecEnv:
        """The environment.

        Raises:
            ValueError: there is none.
        """
        if self.venv is None:
            raise ValueError("this agent has no environment: call set_env(env) first")
        return self.venv

    @property
    def learning_rate(self) -> float:
        """The policy's, at this iteration."""
        return float(self.policy.optimizer.param_groups[0]["lr"])

    def score(self, tokens: Tensor, mask: Tensor, network: Any = None) -> Tensor:
        """Log-probabilities ``[B, T]`` of the tokens in ``mask`` under the policy as it is, or another ``network``."""
        return logp_of(self.policy, tokens, mask, network)

    def score_reference(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """The same under the policy as it was when training began.

        Raises:
            ValueError: no component has ``needs = ("logp_ref",)``, so that no reference was kept.
        """
        return self.score(tokens, mask, self._reference())

    @torch.no_grad()
    def hidden(self, tokens: Tensor, mask: Tensor | None = None) -> Tensor:
        """Last hidden states ``[B, T, width]`` at each token; with a mask ``[B, T]``, 0 outside it."""
        network = self.policy.network
        states = torch.zeros(*tokens.shape, network.width, device=tokens.device)
        for rows, length in pieces(torch.ones_like(tokens, dtype=torch.bool) if mask is None else mask):
            states[rows, :length] = network(tokens[rows, :length])
        return states if mask is None else states * mask[..., None]

    def tokenize(self, text: str) -> Tokens:
        """Tokens ``[n]`` of a text."""
        return self.policy.tokenizer.encode(text)

    def detokenize(self, tokens: Any) -> str:
        """The text of tokens ``[n]``; marks vanish."""
        return self.policy.tokenizer.decode(np.asarray(tokens).tolist())

    def sample(
        self,
        prompts: Sequence[str],
        *,
        deterministic: bool = False,
        temperature: float | None = None,
        mask: Mask | None = None,
    ) -> Rollouts:
        """One completion (a turn) after each prompt text, ungraded: reward 0, groups of equal prompts.

        With ``mask`` it is written in the tokens that this allows, and ``behaviour_logp`` says how likely that was.
        """
        from .samplers.groups import write_after

        return write_after(self, prompts, deterministic=deterministic, temperature=temperature, mask=mask)

    def play(
        self, seeds: Sequence[int], *, group_size: int = 1, deterministic: bool = False, mask: Mask | None = None
    ) -> Rollouts:
        """``group_size`` graded episodes of each problem, without guidance; group numbers are positions in ``seeds``.

        Raises:
            StopTraining: a callback asked for it; every environment step counts.
        """
        from .samplers.groups import play_groups

        return play_groups(self, seeds, group_size=group_size, deterministic=deterministic, mask=mask)

    def play_reference(self, seeds: Sequence[int], *, group_size: int = 1) -> Rollouts:
        """:meth:`play` by the policy as it was when training began.

        Raises:
            StopTraining: a callback asked for it; every environment step counts.
            ValueError: no component has ``needs = ("logp_ref",)``, so that no reference was kept.
        """
        policy: Any = copy(self.policy)
        if isinstance(policy, torch.nn.Module):
            policy._modules = dict(policy._modules)  # of its own, so that the policy keeps its network
        policy.network = self._reference()
        return replace(self, policy=policy).play(seeds, group_size=group_size)

    def _reference(self) -> Any:
        if "logp_ref" not in self.providers:
            raise ValueError('no reference is kept: a component that asks for it has needs = ("logp_ref",)')
        return self.providers["logp_ref"].networks()["reference"]

    def problems(self, seeds: Sequence[int]) -> list[Problem]:
        """The problems of these seeds, which resets the environment."""
        problems = []
        for start in range(0, len(seeds), self.env.num_envs):
            chunk = list(seeds[start : start + self.env.num_envs])
            for seed, question in zip(chunk, begin(self.env, chunk), strict=True):
                problems.append(Problem(seed, question, _Solution(self.solve, seed)))
        return problems

    def solve(self, seeds: Sequence[int]) -> list[str]:
        """The first turn of the scripted expert's episode on each problem.

        Raises:
            TypeError: an environment without an expert.
        """
        return [held.utterances[0] for held in demonstrator(self.env).conversations(seeds)]


@dataclass(frozen=True)
class _Solution:
    """Asks for one problem's worked solution when called."""

    solve: Callable[[Sequence[int]], list[str]]
    seed: int

    def __call__(self) -> str:
        return self.solve([self.seed])[0]
