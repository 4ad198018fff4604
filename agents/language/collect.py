"""Answers from an environment: groups of them to the same problem, through guidance, as :class:`Rollouts`."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import torch
from stable_baselines3.common.vec_env import VecEnv
from torch import Tensor

from ...wrappers.seams import Curriculum, Guidance, Problem, Prompt, Reward
from ..objectives.parts.ops import turn_ends
from .episodes import Answer, OnStep, Written, assemble, begin, one_turn, play, rows_of
from .policy import TextPolicy
from .rollouts import Rollouts, join
from .tokenizer import Tokens
from .warm_start import demonstrated, expert_lanes

MAX_ROUNDS = 8
"""Batches sampled at most to fill one, where a curriculum throws answers away."""


class Collector:
    """Asks an environment's problems and has its answers graded, in one turn or in several.

    Args:
        venv: text environment; its lanes are used as they come, however many there are.
        policy: writes the answers.
        guidance: may change prompts and ask for further rounds.
        group_size: answers to each problem.
        on_step: called after each environment step.
        greedy: also grade the greedy answer to each problem, for ``Rollouts.baseline``.
    """

    def __init__(
        self,
        venv: VecEnv,
        policy: TextPolicy,
        guidance: Guidance,
        *,
        group_size: int,
        on_step: OnStep,
        greedy: bool = False,
    ) -> None:
        self.venv, self.policy, self.guidance = venv, policy, guidance
        self.group_size, self.on_step, self.greedy = group_size, on_step, greedy

    def collect(self, seeds: Sequence[int]) -> Rollouts:
        """``group_size`` answers to each of the problems ``seeds``; group numbers are positions in ``seeds``.

        Raises:
            StopTraining: ``on_step`` said so.
        """
        problems = self._problems(seeds)
        prompts = self._prompts(problems, [[] for _ in problems])
        groups = self._answer_all(problems, prompts, range(len(problems)))
        history = [[_share(groups[i])] for i in range(len(problems))]
        while True:
            wanted = self._prompts(problems, history)
            changed = [i for i, (old, new) in enumerate(zip(prompts, wanted, strict=True)) if old != new]
            if not changed:
                break
            prompts = wanted
            groups |= self._answer_all(problems, prompts, changed)
            for i in changed:
                history[i].append(_share(groups[i]))
        rows = [(i, answer) for i in range(len(problems)) for answer in groups[i]]
        rollouts = assemble(rows, seeds, self.policy.device)
        if not self.greedy:
            return rollouts
        best = self._answer_all(problems, prompts, range(len(problems)), deterministic=True)
        rewards = rollouts.reward.new_tensor([best[i][0].reward for i in range(len(problems))])
        return replace(rollouts, baseline=rewards[rollouts.group])

    def _problems(self, seeds: Sequence[int]) -> list[Problem]:
        problems = []
        for chunk in _chunks(list(seeds), self.venv.num_envs):
            questions = begin(self.venv, chunk)
            problems += [
                Problem(seed, question, lambda seed=seed: self._solution(seed))  # type: ignore[misc]
                for seed, question in zip(chunk, questions, strict=True)
            ]
        return problems

    def _prompts(self, problems: Sequence[Problem], history: Sequence[Sequence[float]]) -> list[Prompt]:
        prompts = self.guidance.prompts(problems, history)
        if not (
            isinstance(prompts, Sequence)
            and len(prompts) == len(problems)
            and all(isinstance(prompt, Prompt) for prompt in prompts)
        ):
            raise ValueError(
                f"{type(self.guidance).__name__}.prompts must return a Prompt for each of the {len(problems)} problems"
            )
        return list(prompts)

    def _solution(self, seed: int) -> str:
        return demonstrated(expert_lanes(self.venv), [seed])[0].utterances[0]

    def _answer_all(
        self,
        problems: Sequence[Problem],
        prompts: Sequence[Prompt],
        which: Sequence[int],
        *,
        deterministic: bool = False,
    ) -> dict[int, list[Answer]]:
        """``group_size`` answers to each of ``which``, or the one that is greedy."""
        groups: dict[int, list[Answer]] = {i: [] for i in which}
        rows = [i for i in which for _ in range(1 if deterministic else self.group_size)]
        for chunk in _chunks(rows, self.venv.num_envs):
            answers = self._answer(
                [problems[i].seed for i in chunk], [prompts[i] for i in chunk], deterministic=deterministic
            )
            for i, answer in zip(chunk, answers, strict=True):
                groups[i].append(answer)
        return groups

    def _answer(self, seeds: Sequence[int], prompts: Sequence[Prompt], *, deterministic: bool) -> list[Answer]:
        """Plays one episode a prompt."""
        policy = self.policy
        hints = [prompt.answer_start for prompt in prompts]  # part of what is said in the first turn
        tokens = [policy.tokenizer.prompt(*prompt) for prompt in prompts]
        dialogues = None if one_turn(self.venv) else policy.dialogues(tokens)

        def speak(episodes: Sequence[int], histories: Sequence[Tokens]) -> list[Written]:
            written = policy.write(histories, deterministic=deterministic, dialogues=dialogues, episodes=episodes)
            texts = [hints[i] + text for i, text in zip(episodes, policy.texts(written), strict=True)]
            hints[:] = [""] * len(hints)
            return rows_of(written, texts)

        return play(self.venv, policy.tokenizer, seeds, tokens, speak, self.on_step)


def fill(
    collector: Collector, curriculum: Curriculum, rewards: Reward, n_groups: int, rng: np.random.Generator
) -> Rollouts | None:
    """A batch of ``n_groups`` groups that the curriculum keeps, sampled in at most ``MAX_ROUNDS`` rounds.

    Returns:
        Answers with shaped rewards, fewer groups if the rounds ran out; None where nothing was kept.

    Raises:
        StopTraining: the collector's ``on_step`` said so.
        ValueError: rewards that are not finite numbers, one for each answer, or a seam that returned something else
            than it promises; nothing has been learnt.
    """
    parts: list[Rollouts] = []
    groups = 0
    for turn in range(MAX_ROUNDS):
        missing = n_groups - groups
        if missing <= 0:
            break
        rollouts = collector.collect(_sampled(curriculum, missing, rng))
        rollouts = replace(rollouts, group=rollouts.group + turn * n_groups)
        rollouts = _shaped(rollouts, _checked(rewards.shape(rollouts), len(rollouts)))
        curriculum.update(rollouts)
        kept = _kept(curriculum, rollouts)
        if kept.any():
            parts.append(rollouts if kept.all() else rollouts.take(kept))
            groups += len(torch.unique(parts[-1].group))
    if any(part.step_reward is not None for part in parts):
        parts = [by_turns(part) for part in parts]
    return join(parts) if parts else None


def _sampled(curriculum: Curriculum, n: int, rng: np.random.Generator) -> list[int]:
    """Up to ``n`` problems; a curriculum that has fewer is asked again."""
    seeds = list(curriculum.sample(n, rng))
    whole = all(isinstance(seed, int | np.integer) and seed >= 0 for seed in seeds)
    if not (1 <= len(seeds) <= n and whole):
        raise ValueError(
            f"{type(curriculum).__name__}.sample({n}) must name 1 to {n} problems by seeds (integers from 0), got "
            f"{seeds if len(seeds) < 8 else len(seeds)}"
        )
    return seeds


def _kept(curriculum: Curriculum, rollouts: Rollouts) -> Tensor:
    kept = torch.as_tensor(curriculum.keep(rollouts), device=rollouts.reward.device)
    if kept.dtype != torch.bool or kept.shape != (len(rollouts),):
        raise ValueError(
            f"{type(curriculum).__name__}.keep must say of each of the {len(rollouts)} answers whether to learn from "
            f"it (bool), got {kept.dtype} of shape {tuple(kept.shape)}"
        )
    return kept


def _shaped(rollouts: Rollouts, reward: Tensor) -> Rollouts:
    """With other rewards; what they add joins an episode's last turn."""
    if rollouts.step_reward is None:
        return replace(rollouts, reward=reward)
    last = turn_ends(torch.zeros_like(rollouts.turn), rollouts.mask)
    step_reward = rollouts.step_reward + last * (reward - rollouts.reward)[:, None]
    return replace(rollouts, reward=reward, step_reward=step_reward)


def _checked(reward: Tensor, n: int) -> Tensor:
    if reward.shape != (n,):
        raise ValueError(f"rewards must be one number for each of the {n} answers, got the shape {tuple(reward.shape)}")
    if not reward.isfinite().all():
        row = int((~reward.isfinite()).nonzero()[0])
        raise ValueError(f"the reward of answer {row} is {float(reward[row])}: rewards must be finite numbers")
    return reward


def by_turns(rollouts: Rollouts) -> Rollouts:
    """The same with a reward and a state for each turn, where a turn is all there is: the episode's, and the problem's.

    Raises:
        ValueError: several turns whose rewards or states were not collected.
    """
    if rollouts.step_reward is not None and rollouts.state is not None:
        return rollouts
    if (rollouts.turn * rollouts.mask).any():
        raise ValueError("this method reads rewards and states of turns, which were not collected with these episodes")
    ends = turn_ends(rollouts.turn, rollouts.mask)
    state = rollouts.seed[:, None].expand(rollouts.mask.shape)
    return replace(rollouts, step_reward=ends * rollouts.reward[:, None], state=state)


def _share(answers: Sequence[Answer]) -> float:
    return sum(answer.success for answer in answers) / len(answers)


def _chunks(items: list[int], size: int) -> Iterator[list[int]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
