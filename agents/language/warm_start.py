"""Supervised learning on the environment's own expert: where a network trained from scratch gets its first words."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from stable_baselines3.common.vec_env import VecEnv
from torch import Tensor

from .tokenizer import END, PAD, Tokenizer, pad_right

BUCKET = 8
"""Batches drawn at once and sorted by length, so that little of a batch is padding."""


def expert_lanes(venv: VecEnv) -> Any:
    """The lanes of a text environment, which can demonstrate how to answer.

    Raises:
        TypeError: an environment that cannot.
    """
    try:
        lanes = venv.get_attr("lanes")[0]
    except AttributeError:
        lanes = None
    if not hasattr(lanes, "demonstrations"):
        raise TypeError(
            "a warm start, method='sft' and guidance need an environment with demonstrations (the text tasks of "
            "tiltyard); for others set warm_start_steps=0 and start from a trained policy"
        )
    return lanes


def demonstration_batches(
    venv: VecEnv, tokenizer: Tokenizer, *, batch_size: int, noise: float, rng: np.random.Generator
) -> Iterator[tuple[Tensor, Tensor]]:
    """Endless batches of demonstrations on problems of the environment's own split, drawn by ``rng``.

    Args:
        venv: a text environment.
        tokenizer: makes tokens of the texts.
        batch_size: demonstrations a batch.
        noise: share of demonstrations that mislead (see ``TextLanes.demonstrations``).
        rng: draws problems and noise.

    Yields:
        tokens ``[batch_size, T]`` int64, padded on the right, and the mask (bool) of the expert's own tokens.
    """
    lanes = expert_lanes(venv)
    while True:
        seeds = rng.integers(0, 2**31, size=BUCKET * batch_size)
        shown = lanes.demonstrations(seeds, noise=noise, rng=rng)
        prompts = [tokenizer.prompt(question) for question in shown.prompts]
        answers = [np.append(tokenizer.encode(answer), END) for answer in shown.answers]
        order = np.argsort([len(p) + len(a) for p, a in zip(prompts, answers, strict=True)], kind="stable")
        for batch in rng.permutation(BUCKET):
            rows = order[batch * batch_size : (batch + 1) * batch_size]
            tokens = torch.from_numpy(pad_right([np.concatenate([prompts[i], answers[i]]) for i in rows]))
            starts = torch.tensor([len(prompts[i]) for i in rows])
            yield tokens, (tokens != PAD) & (torch.arange(tokens.shape[1]) >= starts[:, None])


def warm_start_rate(step: int, steps: int, peak: float) -> float:
    """Learning rate of a warm start: a linear rise over the first twentieth, then a linear fall to ``peak / 10``."""
    rise = max(1, steps // 20)
    return peak * min((step + 1) / rise, 1.0) * (1.0 - 0.9 * step / steps)
