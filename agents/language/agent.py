"""What all language agents share: a policy on strings, a supervised warm start, Stable-Baselines3's loop and logs."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar

import gymnasium
import numpy as np
import torch
from gymnasium.spaces import Dict, Text
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.type_aliases import Schedule
from stable_baselines3.common.utils import update_learning_rate
from stable_baselines3.common.vec_env import VecEnv, VecMonitor
from torch import Tensor

from ... import unknown
from ...wrappers.adapters import named
from ...wrappers.spaces import sb3_env, to_sb3
from ..models.generation import check_sampling
from ..models.hf import parse
from ..models.language_model import LanguageModel, check_model
from ..models.policy import TextPolicy
from ..models.pretrained import PRETRAINED, is_base, read_base
from ..models.tokenizer import PIECES
from ..models.transformer import SIZES
from ..objectives.registry import parameters
from ..row import OF_METHOD
from .episodes import StopTraining
from .loop import Loop
from .update import imitation_step
from .warm_start import demonstration_batches, warm_start_rate

MAX_ANSWER_TOKENS = 128
"""The longest completion of a turn, unless an agent is told otherwise."""


class LanguageAgent(Loop):
    """A transformer that acts in a text environment; subclasses say what one iteration of learning is.

    Args:
        policy: ``"transformer-1m"`` and the other sizes start from nothing; ``"chain-sum-base"`` and other names of
            :data:`~tiltyard.agents.models.pretrained.PRETRAINED` ship with weights; ``"<path>.safetensors"`` is a
            base checkpoint that ``tiltyard pretrain`` wrote; ``"hf:<path>"`` is a causal language model of Hugging
            Face's, with ``?lora=8`` through adapters of rank 8. A model of one's own is an object with the members of
            :class:`~tiltyard.agents.models.language_model.LanguageModel`; how it samples and where it computes
            (``temperature`` to ``pieces``, ``device``) is its own.
        env: a text environment, of one turn or of several: its id (an iteration's episodes are its environments then),
            a ``VecEnv`` of strings (``sb3_env(..., strings=True)``), a Gymnasium vector or a single environment.
        n_envs: number of environments, where ``env`` is an id.
        learning_rate: of Adam; a number or a schedule of the remaining progress (1 to 0).
        temperature: of sampling, and of the distribution that is trained, above 0; completions are greedy with
            ``predict(..., deterministic=True)``.
        top_k: sample among the k likeliest tokens only (0: all).
        top_p: sample among the likeliest tokens of this total probability (1: all).
        max_answer_tokens: what is said in one turn ends here at the latest.
        context_length: tokens that a prompt, or a whole episode of several turns, may have; longer ones are an error.
        pieces: texts of the tokens; base checkpoints and models of Hugging Face's have their own.
        max_grad_norm: gradients are scaled down to this norm.
        warm_start_steps: gradient steps on demonstrations before the first iteration.
        warm_start_noise: share of corrupted demonstrations: they look like the expert's, and their answer is
        incorrect.
        warm_start_batch_size: demonstrations a step.
        warm_start_learning_rate: its peak.
        stats_window_size: episodes over which logged rewards are averaged (None: those of an iteration, at least 100).
        tensorboard_log: folder for TensorBoard (None: none).
        verbose: 0 silent, 1 logs to the terminal.
        seed: of weights, problems and completions.
        device: "auto", "cpu" or "cuda".
    """

    policy_aliases: ClassVar[dict[str, type[BasePolicy]]] = dict.fromkeys([*SIZES, *PRETRAINED], TextPolicy)
    counters: ClassVar[tuple[str, ...]] = (*Loop.counters, "warm_started")

    def __init__(
        self,
        policy: str | LanguageModel = "transformer-1m",
        env: Any = None,
        *,
        n_envs: int = 1,
        learning_rate: float | Schedule = 1e-4,
        temperature: float = 1.0,
        top_k: int = 0,
        top_p: float = 1.0,
        max_answer_tokens: int = MAX_ANSWER_TOKENS,
        context_length: int = 4096,
        pieces: Sequence[str] = PIECES,
        max_grad_norm: float = 1.0,
        warm_start_steps: int = 0,
        warm_start_noise: float = 0.0,
        warm_start_batch_size: int = 32,
        warm_start_learning_rate: float = 2e-3,
        stats_window_size: int | None = None,
        tensorboard_log: str | None = None,
        verbose: int = 0,
        seed: int | None = None,
        device: torch.device | str = "auto",
        _init_setup_model: bool = True,
    ) -> None:
        self.policy_name, own = self._named(policy)
        if env is None:
            raise TypeError(f"{type(self).__name__} needs an environment, such as env='tiltyard/ChainSum-v0'")
        check_sampling(max_answer_tokens, temperature, top_k, top_p)
        if temperature == 0:  # the distribution that is trained would have no finite log-probabilities
            raise ValueError(
                "temperature must be above 0 for an agent that trains, got 0: for greedy completions ask predict or "
                "evaluate with deterministic=True"
            )
        if isinstance(env, str):
            env = sb3_env(env, n_envs, seed=seed, strings=True)
        super().__init__(
            TextPolicy,
            env,
            learning_rate,
            stats_window_size=stats_window_size or max(100, n_envs),
            tensorboard_log=tensorboard_log,
            verbose=verbose,
            device=device if own is None else own.device,
            support_multi_env=True,
            seed=seed,
        )
        self.max_grad_norm = max_grad_norm
        self.policy_kwargs = {
            "temperature": temperature,
            "top_k": top_k,
            "top_p": top_p,
            "max_answer_tokens": max_answer_tokens,
            "context_length": context_length,
            "pieces": tuple(pieces),
        }
        self.warm_start_steps, self.warm_start_noise = warm_start_steps, warm_start_noise
        self.warm_start_batch_size, self.warm_start_learning_rate = warm_start_batch_size, warm_start_learning_rate
        self.warm_started = False
        self._own = own
        if _init_setup_model:
            self._setup_model()

    def __setattr__(self, name: str, value: Any) -> None:
        """Refuses a new value for what is read when an agent is made, which would be passed over in silence.

        Raises:
            AttributeError: such a setting.
        """
        made = "_constructed_with" in vars(self)
        if made and (name == "method" or not hasattr(self, name)):
            objective = getattr(self, "objective", None)
            of_method = parameters(objective.handle) if objective is not None else set()
            if name in {*type(self).__signature__.parameters, *of_method}:
                own = name in type(self).__signature__.parameters
                keyword = f"{name}=" if own else f"method_kwargs={{{name!r}: ...}}"
                raise AttributeError(
                    f"{name} is read when an agent is made: give {keyword} to another one, or to load() of this one "
                    "once saved"
                )
        super().__setattr__(name, value)

    @classmethod
    def _named(cls, policy: Any) -> tuple[str, LanguageModel | None]:
        """What a policy is called, and the model itself where it is one of the user's own."""
        if not isinstance(policy, str | PathLike | type):
            return type(policy).__name__, check_model(policy)
        name = str(policy)  # a path, or SB3's habit of a class, which is told which names there are
        if name not in cls.policy_aliases and not is_base(name) and not name.startswith("hf:"):
            raise ValueError(unknown("policy", name, cls.policy_aliases))
        return name, None

    @staticmethod
    def _wrap_env(env: Any, verbose: int = 0, monitor_wrapper: bool = True) -> VecEnv:
        """Strings stay strings: a Gymnasium vector or a single environment becomes a ``VecEnv`` of object arrays."""
        if isinstance(env, gymnasium.Env):
            single = env
            env = SyncVectorEnv([lambda: single], autoreset_mode=AutoresetMode.SAME_STEP)
        if isinstance(env, VectorEnv):
            env = VecMonitor(to_sb3(env))
        for kind, space in (("observation", env.observation_space), ("action", env.action_space)):
            if not isinstance(space, Text):
                hint = "one string in place of a Dict" if isinstance(space, Dict) else "sb3_env(..., strings=True)"
                raise TypeError(f"a language agent needs Text {kind}s ({hint}), got {named(space)}")
        return BaseAlgorithm._wrap_env(env, verbose, monitor_wrapper)

    @classmethod
    def _made(cls, env: Any, n_envs: int, spaces: list[Any]) -> Any:
        return sb3_env(env, n_envs, strings=True) if isinstance(env, str) else env

    @staticmethod
    def _check_spaces(name: str, trained: list[Any], given: list[Any]) -> None:
        """Any task in the same characters will do, whatever the lengths of its texts."""
        for kind, old, new in zip(("observations", "actions"), trained, given, strict=True):
            if other := "".join(sorted(new.character_set - old.character_set)):
                raise ValueError(
                    f"{name} was trained on other characters: this environment's {kind} also have {other!r:.40}"
                )

    @classmethod
    def _stored_settings(
        cls, stored: Mapping[str, Any], changes: Mapping[str, Any], classes: Mapping[str, type[Any]]
    ) -> dict[str, Any]:
        """Parameters of the stored method are not those of another one that is given."""
        usual = cls.__signature__.parameters["method"].default if "method" in changes else None
        if "method" in changes and changes["method"] != stored.get("method", usual):
            stored = {name: value for name, value in stored.items() if name not in OF_METHOD}
        return super()._stored_settings(stored, changes, classes)

    def _settings(self, exclude: set[str]) -> dict[str, Any]:
        """Of a user's own model the weights alone, and nothing that makes it: ``load(path, policy=mine)``."""
        return super()._settings(exclude | ({"policy"} if self._own is not None else set()))

    def _checked_parameters(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        if "policy" in parameters and isinstance(
            self.policy, TextPolicy
        ):  # other tokens are the reason for all else that does not fit
            self.policy.check_tokens(parameters["policy"])
        return super()._checked_parameters(parameters)

    @classmethod
    def _check_policy(cls, policy: Any) -> None:
        """A checkpoint may name our own sizes, or a folder that is here; no download and no other file."""
        if isinstance(policy, str) and policy.startswith("hf:"):
            if not Path(parse(policy)[0]).is_dir():
                raise ValueError(
                    f"it names the model {policy:.100}: give load() policy={policy!r:.100} if you trust it"
                )
        else:
            super()._check_policy(policy)

    def _fill_networks(self, parameters: dict[str, Any], device: torch.device | str) -> None:
        """As stored; another method than the stored one begins what it needs besides with the policy as it is now."""
        wanted = self._get_torch_save_params()[0]
        if set(parameters) != set(wanted):
            self.set_parameters({"policy": parameters["policy"]}, exact_match=False, device=device)
            self._remember_start()
            stored = {name: state for name, state in parameters.items() if name in wanted}
            parameters = self.get_parameters() | stored
        super()._fill_networks(parameters, device)

    def set_env(self, env: Any, force_reset: bool = True) -> None:
        """Goes on in another environment of the same characters, such as another level, with as many environments."""
        made = self._made(env, self.n_envs, [self.observation_space, self.action_space])
        env = self._wrap_env(made, self.verbose)
        given = [env.observation_space, env.action_space]
        self._check_spaces("this agent", [self.observation_space, self.action_space], given)
        if env.num_envs == self.n_envs:  # else the next line says what is wrong
            self.observation_space, self.action_space = given
        super().set_env(env, force_reset)

    def _setup_model(self) -> None:
        self._setup_lr_schedule()
        seed = int(np.random.SeedSequence().generate_state(1)[0]) if self.seed is None else self.seed
        self.policy = self._made_policy(seed) if self._own is None else self._own
        self.set_random_seed(seed)
        self._remember_start()

    def _made_policy(self, seed: int) -> TextPolicy:
        """The policy that is named."""
        base = read_base(self.policy_name) if is_base(self.policy_name) else None
        self.size = base.size if base else self.policy_name
        if base:  # a checkpoint of the agent holds the weights: it is loaded without the file
            self.policy_kwargs["pieces"] = base.pieces
            self._given |= {"policy": base.size, "pieces": list(base.pieces)}
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            policy = TextPolicy(
                self.observation_space, self.action_space, self.lr_schedule, size=self.size, **self.policy_kwargs
            )
        policy = policy.to(self.device)
        if base:
            base.fill(policy)
        return policy

    def set_random_seed(self, seed: int | None = None) -> None:
        """Seeds this agent's own generators (problems, demonstrations, completions); touches nothing global."""
        if seed is not None:
            self.rng = np.random.default_rng([seed, 0])
            self.policy.reseed(seed)

    def warm_start(self, progress: Callable[[int], None] | None = None) -> list[float]:
        """Takes ``warm_start_steps`` gradient steps on demonstrations, if not done before; returns their losses.

        :meth:`learn` calls it first; call it yourself to look at the policy in between.

        Args:
            progress: called after each step with the number of steps done.
        """
        losses = []
        if not self.warm_started and self.warm_start_steps > 0:
            batches = self._demonstrations(self.warm_start_batch_size)
            self.policy.set_training_mode(True)
            for step in range(self.warm_start_steps):
                rate = warm_start_rate(step, self.warm_start_steps, self.warm_start_learning_rate)
                update_learning_rate(self.policy.optimizer, rate)
                tokens, mask = next(batches)
                losses.append(imitation_step(self.policy, tokens, mask, max_grad_norm=self.max_grad_norm))
                if progress is not None:
                    progress(step + 1)
            self.policy.optimizer.state.clear()  # what follows has another loss and another scale
            self._remember_start()
        self.warm_started = True
        return [loss.item() for loss in losses]

    def _imitate(self, tokens: Tensor, mask: Tensor) -> None:
        """One gradient step on demonstrations, each counted as a timestep."""
        self.policy.set_training_mode(True)
        self._update_learning_rate(self.policy.optimizer)
        loss = imitation_step(self.policy, tokens, mask, max_grad_norm=self.max_grad_norm)
        self._n_updates += 1
        self.logger.record("train/loss", float(loss))
        self._begun = None  # what a callback saves now has taken this step
        if not self._on_step([{}] * len(tokens)):
            raise StopTraining

    def _demonstrations(self, batch_size: int) -> Iterator[tuple[Tensor, Tensor]]:
        assert self.env is not None
        batches = demonstration_batches(
            self.env,
            self.policy.tokenizer,
            batch_size=batch_size,
            noise=self.warm_start_noise,
            rng=self.rng,
            context_length=self.policy.context_length,
        )
        return ((tokens.to(self.device), mask.to(self.device)) for tokens, mask in batches)

    def _remember_start(self) -> None:
        """Makes what begins with the policy as it is now."""
