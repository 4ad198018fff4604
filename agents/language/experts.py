"""An expert's answers among the policy's own."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import torch
from stable_baselines3.common.vec_env import VecEnv

from .collect import Answer, assemble, final_answer, seed_lanes, succeeded
from .policy import TextPolicy
from .rollouts import Rollouts, join
from .tokenizer import ANSWER, END, Tokens
from .update import pieces
from .warm_start import expert_lanes


def with_experts(rollouts: Rollouts, venv: VecEnv, policy: TextPolicy) -> Rollouts:
    """The same with one answer of the environment's expert more in each group, graded by the environment.

    ``info["expert"]`` says which they are. Their ``logp_old`` and ``entropy`` are the policy's as it is now, their
    rewards the environment's before any shaping.

    Args:
        rollouts: the policy's answers, of one turn each.
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
    texts = expert_lanes(venv).demonstrations(seeds).answers
    lanes = venv.num_envs
    for start in range(0, len(seeds), lanes):
        now = seeds[start : start + lanes]
        spare = lanes - len(now)
        seed_lanes(venv, [*now, *[now[-1]] * spare])
        venv.reset()
        _, rewards, _, infos = venv.step(np.array([*texts[start : start + lanes], *[""] * spare], dtype=object))
        for i, text in enumerate(texts[start : start + lanes]):
            written = np.append(policy.tokenizer.encode(text), END)
            blank = np.zeros(len(written), np.float32)
            reward = float(rewards[i])
            yield Answer(
                prompts[start + i], written, blank, blank, reward, succeeded(infos[i], reward), final_answer(text)
            )


@torch.no_grad()
def _judged(rollouts: Rollouts, policy: TextPolicy) -> Rollouts:
    """With ``logp_old`` and ``entropy`` of the policy as it is."""
    logp, entropy = torch.zeros_like(rollouts.logp_old), torch.zeros_like(rollouts.entropy)
    for rows, length in pieces(rollouts.mask):
        out = policy.evaluate(rollouts.tokens[rows, :length], rollouts.mask[rows, :length])
        logp[rows, :length], entropy[rows, :length] = out.logp, out.entropy
    return replace(rollouts, logp_old=logp, entropy=entropy)
