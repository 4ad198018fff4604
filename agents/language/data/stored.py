"""Completions, preference pairs and episodes of several turns from a file or a list."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from ...models.tokenizer import Tokens, pad_right
from ..choices import SUPERVISED
from ..context import Context
from ..episodes import assemble
from ..rollouts import Rollouts
from .base import DataSource
from .jsonl import Entry, completion_of, groups_of, read_rows


class Stored(DataSource):
    """Rows of a JSON-lines file, or given as they are, drawn group by group without replacement within a batch.

    A row is a completion, ``{"prompt": ..., "completion": ..., "reward": ...}``; an episode of several turns,
    ``{"prompt": ..., "turns": [{"completion": ..., "reward": ..., "message": ...}, ...]}``, where ``message`` is what
    the environment said next; or a pair, ``{"prompt": ..., "chosen": ..., "rejected": ...}``, of texts or of lists of
    turns, a group of its own with the rewards 1 and 0. Completions and episodes of equal ``seed``, or of equal prompts
    where they have none, are a group. A turn with ``"learn": false`` is read and not learnt from. ``method="sft"``
    imitates completions and episodes whatever they earned, and of pairs what was chosen alone.
    :func:`~tiltyard.agents.language.data.jsonl.write_rows` stores episodes so.

    Who wrote them is not known: their ``logp_old`` is that of the policy as it was when training began, the reference
    of offline methods. The file is read when the first batch is drawn.

    Args:
        path: of the file.
        rows: the rows themselves, in place of a file.
        **settings: of :class:`~tiltyard.agents.language.data.base.DataSource`.
    """

    needs = ("logp_ref",)

    def __init__(
        self, *, path: str | None = None, rows: Sequence[Mapping[str, Any]] | None = None, **settings: Any
    ) -> None:
        if (path is None) == (rows is None):
            raise ValueError("stored data are rows= or the path= of a file, one of the two")
        if rows is not None and (isinstance(rows, str) or not isinstance(rows, Sequence)):
            raise TypeError(f"rows must be a list of rows, got {type(rows).__name__}: a file is named with path=")
        super().__init__(**settings)
        self.path, self.rows = path, rows
        self._groups: list[list[Entry]] = []

    def batch(self, context: Context) -> Rollouts:
        """Whole groups, ``batch_size`` rows or a few more.

        Raises:
            ValueError: a row that is none of these; the sentence says which, a file's by the number of its line.
        """
        if not self._groups:
            groups = groups_of(read_rows(str(self.path)) if self.rows is None else self.rows)
            imitates = self.objective.handle == SUPERVISED
            self._groups = [[one for one in group if not (imitates and one.rejected)] for group in groups]
        drawn: list[Entry] = []
        for i in context.rng.permutation(len(self._groups)):
            drawn += self._groups[i]
            if len(drawn) >= self.batch_size:
                break
        batch = rows_of(context, drawn)
        return replace(batch, logp_old=context.score_reference(batch.tokens, batch.mask))


def rows_of(context: Context, entries: Sequence[Entry]) -> Rollouts:
    """Stored episodes as rollouts, their log-probabilities still 0.

    Raises:
        ValueError: a row longer than the context, or written in other tokens.
    """
    completions = [completion_of(entry, context.policy.tokenizer) for entry in entries]
    seeds = [entry.group if entry.seed is None else entry.seed for entry in entries]
    batch = assemble(list(enumerate(completions)), seeds, context.policy.device)
    check_length(context, batch.tokens.shape[1])
    learn = torch.ones_like(batch.mask)
    for row, entry in enumerate(entries):
        for number, said in enumerate(entry.turns):
            learn[row] &= said.learn | (batch.turn[row] != number)
    mask = batch.mask & learn
    return replace(
        batch,
        mask=mask,
        group=torch.tensor([entry.group for entry in entries], device=mask.device),
        length=mask.sum(1),
        prompts=[entry.prompt for entry in entries],
        hints=[entry.start for entry in entries],
    )


def as_rollouts(
    context: Context, spoken: Sequence[tuple[Tokens, Any]], rewards: Sequence[float], groups: Sequence[int]
) -> Rollouts:
    """Token rows with masks of what is learnt from, as rollouts.

    Raises:
        ValueError: a row longer than the context.
    """
    check_length(context, max(len(tokens) for tokens, _ in spoken))
    device = context.policy.device
    tokens = torch.from_numpy(pad_right([tokens for tokens, _ in spoken])).to(device)
    mask = torch.from_numpy(pad_right([own.astype(np.int64) for _, own in spoken]) == 1).to(device)
    zeros, reward = torch.zeros(tokens.shape, device=device), torch.tensor(rewards, device=device)
    group = torch.tensor(groups, device=device)
    return Rollouts(
        tokens=tokens,
        mask=mask,
        logp_old=zeros,
        logp_ref=None,
        reward=reward,
        group=group,
        seed=group,
        turn=torch.zeros_like(tokens),
        length=mask.sum(1),
        entropy=zeros,
        info={"success": reward > 0},
    )


def check_length(context: Context, longest: int) -> None:
    """Raises ``ValueError`` for stored rows of more tokens than the context has."""
    if longest > context.policy.context_length:
        raise ValueError(f"a stored row of {longest} tokens does not fit the context: raise context_length")
