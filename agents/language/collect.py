"""Answers from an environment: groups of them to the same problem, through guidance, as :class:`Rollouts`."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from stable_baselines3.common.vec_env import VecEnv
from torch import Tensor

from ...envs.text.base import last_answer
from ...wrappers.seams import Curriculum, Guidance, Problem, Prompt, Reward
from ..objectives.ops import turn_ends
from .policy import TextPolicy
from .rollouts import Rollouts, join
from .tokenizer import Tokens, pad_right
from .warm_start import expert_lanes

MAX_ROUNDS = 8
"""Batches sampled at most to fill one, where a curriculum throws answers away."""

OnStep = Callable[[list[dict[str, Any]]], bool]
"""Told of every environment step with the infos of its answers; False stops the training."""


class StopTraining(Exception):
    """A callback asked for it."""


@dataclass(frozen=True)
class Answer:
    """One graded answer."""

    prompt: Tokens
    written: Tokens
    logp: np.ndarray  # [len(written)]
    entropy: np.ndarray  # [len(written)]
    reward: float
    success: bool
    final: str  # what was answered in the end


def succeeded(info: dict[str, Any], reward: float) -> bool:
    """Whether an episode that ended with ``info`` was a success; where it does not say, whether it was rewarded."""
    return bool(info.get("is_success", info.get("success", reward > 0)))


def final_answer(text: str) -> str:
    """What a text answers in the end: what its last ``<answer>...</answer>`` holds, or all of it."""
    final = last_answer(text)
    return text if final is None else final


def seed_lanes(venv: VecEnv, seeds: Sequence[int]) -> None:
    """Sets the seed of every lane's next reset, whatever kind of ``VecEnv`` it is."""
    base = venv.unwrapped
    if hasattr(base, "seed_lanes"):
        base.seed_lanes(seeds)
    else:
        base._seeds = [int(seed) for seed in seeds]  # what SB3's own vectors pass to reset


class Collector:
    """Asks an environment's problems and has its answers graded, one turn each.

    Args:
        venv: one-turn text environment; its lanes are used as they come, however many there are.
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
        prompts = self.guidance.prompts(problems, [[] for _ in problems])
        groups = self._answer_all(problems, prompts, range(len(problems)))
        history = [[_share(groups[i])] for i in range(len(problems))]
        while True:
            wanted = self.guidance.prompts(problems, history)
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
            questions = self._reset(chunk)
            problems += [
                Problem(seed, question, lambda seed=seed: self._solution(seed))  # type: ignore[misc]
                for seed, question in zip(chunk, questions, strict=True)
            ]
        return problems

    def _solution(self, seed: int) -> str:
        solution: str = expert_lanes(self.venv).demonstrations([seed]).answers[0]
        return solution

    def _reset(self, seeds: Sequence[int]) -> list[str]:
        """Resets the lanes to ``seeds``; where there are fewer than lanes, the others repeat the last."""
        spare = [seeds[-1]] * (self.venv.num_envs - len(seeds))
        seed_lanes(self.venv, [*seeds, *spare])
        questions: Any = self.venv.reset()
        return list(questions[: len(seeds)])

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
            self._reset([problems[i].seed for i in chunk])
            answers = self._answer([prompts[i] for i in chunk], deterministic=deterministic)
            for i, answer in zip(chunk, answers, strict=True):
                groups[i].append(answer)
        return groups

    def _answer(self, prompts: Sequence[Prompt], *, deterministic: bool) -> Iterator[Answer]:
        """Writes and grades one answer a prompt, on the problems just reset."""
        tokens = [self.policy.tokenizer.prompt(*prompt) for prompt in prompts]
        written = self.policy.write(tokens, deterministic=deterministic)
        texts = [prompt.answer_start + text for prompt, text in zip(prompts, self.policy.texts(written), strict=True)]
        actions = np.array([*texts, *[""] * (self.venv.num_envs - len(texts))], dtype=object)
        _, rewards, dones, infos = self.venv.step(actions)
        if not dones[: len(texts)].all():
            raise ValueError("PolicyGradient trains on one-turn tasks: this environment's episodes take several steps")
        if not self.on_step(infos[: len(texts)]):
            raise StopTraining
        columns = (written.tokens.cpu().numpy(), written.logp.cpu().numpy(), written.entropy.cpu().numpy())
        for row, length in enumerate(written.length.tolist()):
            own, logp, entropy = (column[row, :length] for column in columns)
            reward = float(rewards[row])
            success = succeeded(infos[row], reward)
            yield Answer(tokens[row], own, logp, entropy, reward, success, final_answer(texts[row]))


def fill(
    collector: Collector, curriculum: Curriculum, rewards: Reward, n_groups: int, rng: np.random.Generator
) -> Rollouts | None:
    """A batch of ``n_groups`` groups that the curriculum keeps, sampled in at most ``MAX_ROUNDS`` rounds.

    Returns:
        Answers with shaped rewards, fewer groups if the rounds ran out; None where nothing was kept.

    Raises:
        StopTraining: the collector's ``on_step`` said so.
        ValueError: rewards that are not numbers, or not one for each answer.
    """
    parts: list[Rollouts] = []
    groups = 0
    for turn in range(MAX_ROUNDS):
        missing = n_groups - groups
        if missing <= 0:
            break
        rollouts = collector.collect(curriculum.sample(missing, rng))
        rollouts = replace(rollouts, group=rollouts.group + turn * n_groups)
        rollouts = replace(rollouts, reward=_checked(rewards.shape(rollouts), len(rollouts)))
        curriculum.update(rollouts)
        kept = curriculum.keep(rollouts)
        if kept.any():
            parts.append(rollouts if kept.all() else rollouts.take(kept))
            groups += len(torch.unique(parts[-1].group))
    return join(parts) if parts else None


def _checked(reward: Tensor, n: int) -> Tensor:
    if reward.shape != (n,):
        raise ValueError(f"rewards must be one number for each of the {n} answers, got the shape {tuple(reward.shape)}")
    if not reward.isfinite().all():
        row = int((~reward.isfinite()).nonzero()[0])
        raise ValueError(f"the reward of answer {row} is {float(reward[row])}: rewards must be finite numbers")
    return reward


def assemble(rows: Sequence[tuple[int, Answer]], seeds: Sequence[int], device: torch.device) -> Rollouts:
    """Answers, each with its problem's position in ``seeds``, as one batch."""
    tokens = pad_right([np.concatenate([answer.prompt, answer.written]) for _, answer in rows])
    logp, entropy = np.zeros((2, *tokens.shape), np.float32)
    mask = np.zeros(tokens.shape, np.bool_)
    for i, (_, answer) in enumerate(rows):
        own = slice(len(answer.prompt), len(answer.prompt) + len(answer.written))
        mask[i, own], logp[i, own], entropy[i, own] = True, answer.logp, answer.entropy

    def tensor(values: Any) -> Tensor:
        return torch.as_tensor(values, device=device)

    return Rollouts(
        tokens=tensor(tokens),
        mask=tensor(mask),
        logp_old=tensor(logp),
        logp_ref=None,
        reward=tensor([answer.reward for _, answer in rows]),
        group=tensor([i for i, _ in rows]),
        seed=tensor([seeds[i] for i, _ in rows]),
        turn=tensor(np.zeros_like(tokens)),
        length=tensor([len(answer.written) for _, answer in rows]),
        entropy=tensor(entropy),
        info={
            "success": tensor([answer.success for _, answer in rows]),
            "answer": tensor(np.unique([answer.final for _, answer in rows], return_inverse=True)[1]),
        },
    )


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
