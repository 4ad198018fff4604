"""Episodes of text environments, token for token: what was read, what was written, what each turn earned.

An environment of several turns shows its new message alone. It is appended to the tokens that stand, so that what the
policy wrote is never made into text and back: :func:`play` keeps the history, :func:`assemble` makes tensors of it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
import torch
from stable_baselines3.common.vec_env import VecEnv
from torch import Tensor

from ...envs.text.base import last_answer
from ...wrappers.text import reset_to
from ..models.generation import Generated
from ..models.language_model import TextTokenizer
from ..models.tokenizer import Tokens, pad_right
from .rollouts import Rollouts

OnStep = Callable[[list[dict[str, Any]]], bool]
"""Told of every environment step with the infos of the environments that took it; False stops the training."""


class StopTraining(Exception):
    """A callback asked for it."""


class Written(NamedTuple):
    """What was said in one turn."""

    text: str
    tokens: Tokens
    logp: np.ndarray  # [len(tokens)] under the policy
    entropy: np.ndarray  # [len(tokens)]
    drawn: np.ndarray | None = None  # [len(tokens)] under the distribution they were drawn from, if another


Speak = Callable[[Sequence[int], Sequence[Tokens]], Sequence[Written]]
"""Says something in each of the given episodes (their numbers) after their histories."""


class Turn(NamedTuple):
    """One turn of an episode."""

    read: Tokens  # what was read before: the prompt, or the environment's message
    written: Tokens
    logp: np.ndarray  # [len(written)] under the policy
    entropy: np.ndarray  # [len(written)]
    reward: float
    state: int  # in which the turn began: equal numbers, equal states
    text: str = ""  # what the environment was told
    drawn: np.ndarray | None = None  # [len(written)] under the distribution they were drawn from, if another
    message: str = ""  # what the environment said next, if the episode went on


@dataclass(frozen=True)
class Completion:
    """One graded episode."""

    turns: tuple[Turn, ...]
    success: bool
    final: str  # what was answered in the end

    @property
    def reward(self) -> float:
        """Of the whole episode."""
        return sum(turn.reward for turn in self.turns)

    @property
    def length(self) -> int:
        """Tokens written."""
        return sum(len(turn.written) for turn in self.turns)


def succeeded(info: dict[str, Any], reward: float) -> bool:
    """Whether an episode that ended with ``info`` was a success; where it does not say, whether it was rewarded."""
    return bool(info.get("is_success", info.get("success", reward > 0)))


def final_answer(text: str) -> str:
    """What a text answers in the end: what its last ``<answer>...</answer>`` holds, or all of it."""
    final = last_answer(text)
    return text if final is None else final


def begin(venv: VecEnv, seeds: Sequence[int]) -> list[str]:
    """Resets the environments to ``seeds`` and returns their prompts; spare environments repeat the last."""
    spare = [seeds[-1]] * (venv.num_envs - len(seeds))
    return list(reset_to(venv, [*seeds, *spare])[: len(seeds)])


def one_turn(venv: VecEnv) -> bool:
    """Whether episodes are known to end with their first completion: their registration says so."""
    try:
        spec = venv.get_attr("spec")[0]
    except AttributeError:
        return False
    return spec is not None and spec.max_episode_steps == 1


def play(
    venv: VecEnv,
    tokenizer: TextTokenizer,
    seeds: Sequence[int],
    prompts: Sequence[Tokens],
    speak: Speak,
    on_step: OnStep,
    max_turns: int | None = None,
) -> list[Completion]:
    """Plays one episode per environment until all have ended; those that end early say no more.

    Args:
        venv: text environment; has at least as many environments as there are seeds.
        tokenizer: makes tokens of the environment's messages.
        seeds: ``[n]`` problems.
        prompts: ``[n]``, what is read first.
        speak: says what comes next in the episodes that have not ended.
        on_step: called after each environment step.
        max_turns: after so many, an episode that goes on is cut off: it keeps what it has earned, and has not
            succeeded (None: the environment alone ends episodes).

    Raises:
        StopTraining: ``on_step`` said so.
        ValueError: a reward that is not a finite number.
    """
    begun = zip(seeds, begin(venv, seeds), venv.unwrapped.reset_infos, strict=False)  # spare environments come last
    states = [state_number(seed, info.get("state", question)) for seed, question, info in begun]
    reads, histories = list(prompts), list(prompts)
    turns: list[list[Turn]] = [[] for _ in seeds]
    ended: dict[int, Completion] = {}
    while len(ended) < len(seeds):
        running = [i for i in range(len(seeds)) if i not in ended]
        said = speak(running, [histories[i] for i in running])
        actions = np.full(venv.num_envs, "", dtype=object)
        for i, written in zip(running, said, strict=True):
            actions[i] = written.text
        observed, rewards, dones, infos = venv.step(actions)
        messages: Any = observed
        _check_rewards(rewards, running, venv.num_envs)
        if not on_step([infos[i] for i in running]):
            raise StopTraining
        for i, written in zip(running, said, strict=True):
            columns = (written.tokens, written.logp, written.entropy)
            turns[i].append(Turn(reads[i], *columns, float(rewards[i]), states[i], written.text, written.drawn))
            if dones[i] or len(turns[i]) == max_turns:
                completion = Completion(tuple(turns[i]), False, final_answer(written.text))
                success = bool(dones[i]) and succeeded(infos[i], completion.reward)
                ended[i] = replace(completion, success=success)
                continue
            message = messages[i]
            turns[i][-1] = turns[i][-1]._replace(message=message)
            states[i] = state_number(seeds[i], infos[i].get("state", message))
            reads[i] = tokenizer.message(written.tokens, message)
            histories[i] = np.concatenate([histories[i], written.tokens, reads[i]])
    return [ended[i] for i in range(len(seeds))]


def _check_rewards(rewards: np.ndarray, indices: Sequence[int], n_envs: int) -> None:
    if np.shape(rewards) != (n_envs,):
        raise ValueError(
            f"rewards must be one number for each of the {n_envs} environments, got shape {np.shape(rewards)}"
        )
    for index in indices:
        if not np.isfinite(rewards[index]):
            raise ValueError(
                f"the environment's reward in environment {index} is {rewards[index]}: it must be a finite number"
            )


def state_number(seed: int, state: Any) -> int:
    """A number for where an episode stands: equal for equal states of a problem, and surely not for others.

    Args:
        seed: the problem.
        state: the environment's ``info["state"]``, a string, a number, an array or tuples of them; where an environment
            has none, its last observation, as in GiGPO's code. What was said on the way there does not count.
    """
    plain = state.tolist() if isinstance(state, np.ndarray | np.generic) else state
    return int.from_bytes(blake2b(repr((seed, plain)).encode(), digest_size=8).digest(), "little", signed=True)


def rows_of(generated: Generated, texts: Sequence[str]) -> list[Written]:
    """What each environment wrote, with the texts that the environment is told."""
    columns = [getattr(generated, name).cpu().numpy() for name in ("tokens", "logp", "entropy", "drawn")]
    lengths = generated.length.tolist()
    return [
        Written(text, *(column[row, :length] for column in columns))
        for row, (text, length) in enumerate(zip(texts, lengths, strict=True))
    ]


def assemble(rows: Sequence[tuple[int, Completion]], seeds: Sequence[int], device: torch.device) -> Rollouts:
    """Completions, each with its problem's position in ``seeds``, as one batch.

    Rewards and states of turns are filled in where a completion has several.
    """
    tokens = pad_right([np.concatenate([part for t in completion.turns for part in t[:2]]) for _, completion in rows])
    logp, entropy, drawn, step_reward = np.zeros((4, *tokens.shape), np.float32)
    mask = np.zeros(tokens.shape, np.bool_)
    turn, state = np.zeros((2, *tokens.shape), np.int64)
    for i, (_, completion) in enumerate(rows):
        stop = 0
        for number, part in enumerate(completion.turns):
            own = slice(stop + len(part.read), stop + len(part.read) + len(part.written))
            mask[i, own], logp[i, own], entropy[i, own] = True, part.logp, part.entropy
            drawn[i, own] = part.logp if part.drawn is None else part.drawn
            turn[i, stop:], state[i, stop:] = number, part.state
            stop = own.stop
            step_reward[i, stop - 1] = part.reward

    def tensor(values: Any) -> Tensor:
        return torch.as_tensor(values, device=device)

    several = any(len(completion.turns) > 1 for _, completion in rows)
    return Rollouts(
        tokens=tensor(tokens),
        mask=tensor(mask),
        logp_old=tensor(logp),
        logp_ref=None,
        reward=tensor([completion.reward for _, completion in rows]),
        group=tensor([i for i, _ in rows]),
        seed=tensor([seeds[i] for i, _ in rows]),
        turn=tensor(turn),
        length=tensor([completion.length for _, completion in rows]),
        entropy=tensor(entropy),
        info={
            "success": tensor([completion.success for _, completion in rows]),
            "answer": tensor(np.unique([completion.final for _, completion in rows], return_inverse=True)[1]),
        },
        step_reward=tensor(step_reward) if several else None,
        state=tensor(state) if several else None,
        behaviour_logp=None if np.array_equal(drawn, logp) else tensor(drawn),
        completions=[[part.text for part in completion.turns] for _, completion in rows],
        messages=[[part.message for part in completion.turns[:-1]] for _, completion in rows],
    )
