"""``tiltyard pretrain``: a base checkpoint from demonstrations of a text environment's expert, as one of :mod:`.cli`.

What it says of a base is measured on held-out problems that no reported run is scored on (:mod:`.evaluation`), with the
weights as the file has them.
"""

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import numpy.typing as npt
import tyro

from ..agents.catalogue import find as find_agent
from ..envs.catalogue import find as find_env
from . import commands
from .evaluation import TUNING_FROM, evaluation_seeds, play_episodes, wilson
from .options import Whole
from .provenance import versions
from .threads import one_thread

if TYPE_CHECKING:
    from stable_baselines3.common.vec_env import VecEnv

    from ..agents.language.trainer import PolicyGradient

COMPLETIONS = 8
"""Sampled completions to each problem, of which the best counts for pass@8."""
WORDS_FROM = 2000
"""Demonstrations whose words are counted."""
NEXT = "grpo"
"""The agent that is to be trained from a base, where the command that comes next is told."""
MADE_OF = ("env", "level", "policy", "steps", "noise", "batch_size", "learning_rate", "seed")
"""Options that every base's command names, so that it stays the same command when defaults change."""


@dataclass
class Pretrain:
    """Trains a small transformer on demonstrations of a text environment's expert; saves it as a base checkpoint."""

    env: str
    """id of a text environment, such as tiltyard/ChainSum-v0"""
    out: Path
    """file to write, ending in .safetensors"""
    level: int | None = None
    """of the environment's problems; the environment's own default if not given"""
    policy: str = "transformer-300k"
    """size of the network, or a base checkpoint to go on from"""
    steps: Whole = 1000
    """gradient steps"""
    noise: float = 0.3
    """share of corrupted demonstrations: they look like the expert's, and end in an incorrect answer"""
    batch_size: int = 8
    """demonstrations a step"""
    learning_rate: float = 2e-3
    """its peak"""
    seed: int = 0
    """of weights, problems and noise"""
    words: int = 0
    """so many of the commonest words of the demonstrations become tokens, so that texts get shorter"""
    settings: Annotated[tuple[str, ...], tyro.conf.arg(name="set", metavar="KEY=VALUE")] = ()
    """the environment's other keywords, such as dataset=leg_counting"""
    max_answer_tokens: int = 128
    """longest completion in the report; the expert's must not be longer"""
    context_length: int = 4096
    """tokens that a demonstration may have"""
    episodes: Whole = 256
    """held-out problems in the report"""
    force: bool = False
    """overwrite a file of that name"""

    @property
    def command(self) -> str:
        """The command line that makes the same base."""
        words = ["tiltyard", "pretrain"]
        for name in MADE_OF:
            value = getattr(self, name)
            words += [] if value is None else [f"--{name.replace('_', '-')}", str(value)]
        for pair in self.settings:
            words += ["--set", pair]
        for name in ("words", "max_answer_tokens", "context_length"):
            if getattr(self, name) != getattr(type(self), name):
                words += [f"--{name.replace('_', '-')}", str(getattr(self, name))]
        return shlex.join([*words, "--out", str(self.out)])

    @property
    def history(self) -> str:
        """All command lines behind the base: those that made the one it goes on from, and its own."""
        from ..agents.models.pretrained import is_base, read_base

        return f"{read_base(self.policy).about['command']} && {self.command}" if is_base(self.policy) else self.command

    @property
    def env_kwargs(self) -> dict[str, Any]:
        """The environment's keywords."""
        level = {} if self.level is None else {"level": self.level}
        return commands.parse_settings(self.settings) | level

    def run(self) -> int:
        """Trains, saves, then measures what was saved."""
        from ..agents.models.pretrained import write_base

        with one_thread():
            agent, history = self.agent(), self.history
            with commands.bar(f"{self.policy} on {self.env}", self.steps) as progress:
                losses = agent.warm_start(progress)
            level = getattr(getattr(_demonstrator(agent), "task", None), "level", None)
            about = {"size": agent.size, "env": self.env, "level": json.dumps(level)}
            write_base(agent.policy, self.out, about | {"command": history, "versions": json.dumps(versions())})
            found = measure(
                str(self.out), self.env, episodes=self.episodes, env_kwargs=self.env_kwargs, **self._lengths
            )
        self._print(losses, found, self._settings_of_training(agent))
        return 0

    def agent(self) -> "PolicyGradient":
        """The agent that is to be trained.

        Raises:
            KeyError: no such environment.
            ValueError: an option without sense, or one under which the expert's completions cannot be learnt whole.
            FileExistsError: ``out`` is there already.
        """
        from ..agents.language.trainer import PolicyGradient
        from ..wrappers.spaces import sb3_env

        self._check()
        env = sb3_env(self.env, 1, strings=True, seed=self.seed, **self.env_kwargs)
        agent = PolicyGradient(
            self.policy,
            env,
            pieces=self._pieces(env),
            warm_start_steps=self.steps,
            warm_start_noise=self.noise,
            warm_start_batch_size=self.batch_size,
            warm_start_learning_rate=self.learning_rate,
            seed=self.seed,
            **self._lengths,
        )
        self._check_lengths(agent)
        return agent

    def _pieces(self, env: "VecEnv") -> tuple[str, ...]:
        """The tokens of a new network."""
        from ..agents.language.warm_start import demonstrator
        from ..agents.models.tokenizer import PIECES, common_words

        if not self.words:
            return PIECES
        seeds = np.random.default_rng([self.seed, 1]).integers(0, 2**31, WORDS_FROM)
        shown = demonstrator(env).conversations(seeds)
        texts = [text for held in shown for text in (held.prompt, *held.utterances, *held.messages)]
        return (*PIECES, *common_words(texts, self.words))

    @property
    def _lengths(self) -> dict[str, Any]:
        return {"max_answer_tokens": self.max_answer_tokens, "context_length": self.context_length}

    def _check(self) -> None:
        """Refuses what could not end well, before anything is computed or written."""
        from ..agents.models.pretrained import is_base

        if find_env(self.env).domain != "text":
            raise ValueError(f"pretrain takes a text environment; {self.env} is {find_env(self.env).domain}")
        if self.policy.startswith("hf:"):
            raise ValueError("pretrain makes bases of Tiltyard's own transformers, not of Hugging Face's models")
        for name, least in (("steps", 1), ("batch_size", 1), ("episodes", 1), ("words", 0)):
            if getattr(self, name) < least:
                raise ValueError(f"--{name.replace('_', '-')} is at least {least}, got {getattr(self, name)}")
        if self.words and is_base(self.policy):
            raise ValueError(f"--words makes tokens of a new network: {self.policy} has its own")
        if not 0 <= self.noise <= 1 or not self.learning_rate > 0 or self.seed < 0:
            raise ValueError("--noise lies between 0 and 1, --learning-rate above 0, and --seed is not negative")
        if self.out.suffix != ".safetensors":
            raise ValueError(f"--out is a file that ends in .safetensors, got {self.out}")
        if self.out.is_dir() or (self.out.exists() and not self.force):
            raise FileExistsError(f"{self.out} is there already: give another --out, or --force to overwrite a file")
        self.out.parent.mkdir(parents=True, exist_ok=True)

    def _check_lengths(self, agent: "PolicyGradient") -> None:
        """Looks at the demonstrations of some problems.

        Raises:
            ValueError: a completion that is longer than completions may be, or a demonstration longer than the context.
        """
        for name, longest in self._longest(agent).items():
            if longest > (limit := getattr(self, name)):
                raise ValueError(
                    f"the expert's demonstrations have up to {longest} tokens, more than --{name.replace('_', '-')} "
                    f"{limit}: raise it, or choose a lower --level"
                )

    def _longest(self, agent: "PolicyGradient") -> dict[str, int]:
        """Tokens of the longest completion and the longest demonstration of some problems, by what has to hold them."""
        from ..agents.language.warm_start import spoken

        tokenizer, rng = agent.policy.tokenizer, np.random.default_rng(0)
        shown = _demonstrator(agent).conversations(rng.integers(0, 2**31, 128), noise=self.noise, rng=rng)
        return {
            "max_answer_tokens": max(len(tokenizer.encode(said)) + 1 for held in shown for said in held.utterances),
            "context_length": max(len(spoken(tokenizer, held)[0]) for held in shown),
        }

    def _settings_of_training(self, agent: "PolicyGradient") -> list[str]:
        """What ``tiltyard train`` is told of the base: the file, and lengths where its own are too short."""
        usual = find_agent(NEXT, "text").settings_for(self.env)
        told = [f"policy={self.out}", "warm_start_steps=0"]
        for name, longest in self._longest(agent).items():
            if longest > usual.get(name, getattr(type(self), name)):
                told.append(f"{name}={getattr(self, name)}")
        return told + ([f"env_kwargs={json.dumps(self.env_kwargs)}"] if self.env_kwargs else [])

    def _print(self, losses: list[float], found: Mapping[str, npt.NDArray[np.bool_]], settings: Sequence[str]) -> None:
        from rich.console import Console

        shown = commands.table(f"{self.env}, {self.episodes} held-out problems", "", "success#", "95% interval#")
        for name, successes in found.items():
            low, high = wilson(successes.tolist())
            shown.add_row(name, f"{successes.mean():.3f}", f"{low:.3f} to {high:.3f}")
        Console().print(shown)
        last = losses[-max(1, len(losses) // 10) :]
        print(f"loss of the last {len(last)} steps: {np.mean(last):.3f}")
        print(f"wrote {self.out}: {self.out.stat().st_size / 2**20:.2f} MiB")
        words = ["tiltyard", "train", "--env", self.env, "--agent", NEXT]
        print(f"now: {shlex.join([*words, *(word for pair in settings for word in ('--set', pair))])}")


def measure(
    policy: str,
    env_id: str,
    *,
    episodes: int = 256,
    completions: int = COMPLETIONS,
    seed: int = 0,
    env_kwargs: Mapping[str, Any] | None = None,
    **settings: Any,
) -> dict[str, npt.NDArray[np.bool_]]:
    """What a policy can do without further training, on problems of the test split that no reported run is scored on.

    Args:
        policy: a base checkpoint, or whatever else a language agent takes.
        env_id: a text environment.
        episodes: how many problems.
        completions: sampled completions to each of them.
        seed: of the completions.
        env_kwargs: the environment's own keywords.
        **settings: of :class:`~tiltyard.agents.language.agent.LanguageAgent`.

    Returns:
        Which problems were solved, ``[episodes]`` each: by one sampled completion, the greedy one, and any of
        ``completions``.
    """
    from ..agents.language.trainer import PolicyGradient
    from ..wrappers.spaces import sb3_env

    seeds = np.array(evaluation_seeds(TUNING_FROM, episodes))

    def solved(seeds: npt.NDArray[np.int64], deterministic: bool) -> npt.NDArray[np.bool_]:
        env = sb3_env(env_id, len(seeds), split="test", strings=True, **(env_kwargs or {}))
        agent = PolicyGradient(policy, env, seed=seed, **settings)
        return np.array(
            play_episodes(agent, env, len(seeds), seeds=seeds.tolist(), deterministic=deterministic).successes
        )

    with one_thread():
        tried = solved(seeds.repeat(completions), False).reshape(episodes, completions)
        return {
            "one sampled completion": tried[:, 0],
            "the greedy completion": solved(seeds, True),
            f"any of {completions} sampled (pass@{completions})": np.asarray(tried.any(1)),
        }


def _demonstrator(agent: "PolicyGradient") -> Any:
    from ..agents.language.warm_start import demonstrator

    assert agent.env is not None
    return demonstrator(agent.env)
