"""An expert's answers among the policy's own."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import torch
from stable_baselines3.common.vec_env import VecEnv

from .episodes import Answer, Written, assemble, play
from .policy import TextPolicy
from .rollouts import Rollouts, join
from .tokenizer import ANSWER, END, Tokens
from .update import pieces
from .warm_start import demonstrated, expert_lanes


def with_experts(rollouts: Rollouts, venv: VecEnv, policy: TextPolicy) -> Rollouts:
    """The same with one answer of the environment's expert more in each group, graded by the environment.

    ``info["expert"]`` says which they are. Their ``logp_old`` and ``entropy`` are the policy's as it is now, their
    rewards the environment's before any shaping.

    Args:
        rollouts: the policy's answers.
        venv: the environment they were given to; its lanes are reset.
        policy: wrote them, and has not learned since.

    Raises:
        TypeError: an environment that cannot demonstrate.
    """
    _, index = torch.unique(rollouts.group, return_inverse=True)
    first = [int((index == i).nonzero()[0]) for i in range(int(index.max()) + 1)]
    seeds = rollouts.seed[first].tolist()
    prompts = [_prompt(rollouts.tokens[row].cpu().numpy()) for row in first]
    answers = enumerate(_demonstrated(venv, policy, seeds, prompts))
    extra = assemble(list(answers), seeds, rollouts.tokens.device)
    extra = _judged(replace(extra, group=rollouts.group[first]), policy)
    known = rollouts.info.keys() & extra.info.keys()
    return join([_marked(rollouts, known, expert=False), _marked(extra, known, expert=True)])


def _marked(rollouts: Rollouts, columns: Iterable[str], *, expert: bool) -> Rollouts:
    info = {name: rollouts.info[name] for name in columns}
    return replace(rollouts, info=info | {"expert": torch.full_like(rollouts.reward, expert, dtype=torch.bool)})


def _prompt(tokens: Tokens) -> Tokens:
    """Up to the mark behind which an answer begins: an expert is given no start of it."""
    end: int = (tokens == ANSWER).argmax() + 1
    return tokens[:end]


def _demonstrated(
    venv: VecEnv, policy: TextPolicy, seeds: Sequence[int], prompts: Sequence[Tokens]
) -> Iterator[Answer]:
    """The expert's answer to each problem, graded."""
    held = demonstrated(expert_lanes(venv), seeds)
    said = [0] * len(seeds)
    for start in range(0, len(seeds), venv.num_envs):

        def speak(episodes: Sequence[int], histories: Sequence[Tokens], start: int = start) -> list[Written]:
            found = []
            for i in (start + episode for episode in episodes):
                text = held[i].utterances[said[i]]
                said[i] += 1
                tokens = np.append(policy.tokenizer.encode(text), END)
                blank = np.zeros(len(tokens), np.float32)
                found.append(Written(text, tokens, blank, blank))
            return found

        now = slice(start, start + venv.num_envs)
        yield from play(venv, policy.tokenizer, seeds[now], prompts[now], speak, lambda infos: True)


@torch.no_grad()
def _judged(rollouts: Rollouts, policy: TextPolicy) -> Rollouts:
    """With ``logp_old`` and ``entropy`` of the policy as it is."""
    logp, entropy = torch.zeros_like(rollouts.logp_old), torch.zeros_like(rollouts.entropy)
    for rows, length in pieces(rollouts.mask):
        out = policy.evaluate(rollouts.tokens[rows, :length], rollouts.mask[rows, :length])
        logp[rows, :length], entropy[rows, :length] = out.logp, out.entropy
    return replace(rollouts, logp_old=logp, entropy=entropy)
