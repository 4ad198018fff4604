"""Slots of a rollout batch: sequences that are written a window at a time, and stay until they end.

A slot holds one sequence. A step writes the next window of every slot's sequence; a slot whose sequence has ended takes
a new prompt in the next step.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from ..models.tokenizer import END, Tokens
from .episodes import Completion, Turn, Written, final_answer

NOTHING = Written("", np.zeros(0, np.int64), *(np.zeros(0, np.float32) for _ in range(3)))


class Piece(NamedTuple):
    """A sequence under way.

    Attributes:
        seed: of its problem.
        prompt: what was read before it.
        written: so far, by as many policies as there were steps.
    """

    seed: int
    prompt: Tokens
    written: Written = NOTHING

    @property
    def history(self) -> Tokens:
        """Prompt and what has been written, ``[n]``."""
        return np.concatenate([self.prompt, self.written.tokens])

    def ended(self, longest: int) -> bool:
        """Whether it says so, or has ``longest`` tokens."""
        tokens = self.written.tokens
        return len(tokens) >= longest or (len(tokens) > 0 and bool(tokens[-1] == END))

    def go_on(self, window: Written) -> "Piece":
        """With a further window."""
        return self._replace(written=joined(self.written, window))


def joined(before: Written, after: Written) -> Written:
    """Two parts of one text."""
    columns = zip(_columns(before), _columns(after), strict=True)
    return Written(before.text + after.text, *(np.concatenate(pair) for pair in columns))


def cut(window: Written, longest: int) -> Written:
    """Its first ``longest`` tokens; the text is left as it is."""
    return Written(window.text, *(column[:longest] for column in _columns(window)))


def episode(read: Tokens, written: Written, reward: float = 0.0, success: bool = False) -> Completion:
    """Tokens as an episode of one turn, which began after ``read``; unfinished ones earn nothing."""
    turn = Turn(read, written.tokens, written.logp, written.entropy, reward, 0, written.text, written.drawn)
    return Completion((turn,), success, final_answer(written.text))


class Unfinished:
    """The sequences that the next step carries on, as a checkpoint keeps them."""

    def __init__(self) -> None:
        self.kept: list[Piece] = []

    def __len__(self) -> int:
        return len(self.kept)

    def state_dict(self) -> dict[str, Tensor]:
        """Everything as tensors: seeds ``[n]``, sizes ``[n, 2]`` (prompt, written), all else one after the other."""
        sizes = [(len(one.prompt), len(one.written.tokens)) for one in self.kept]
        rows = [(one.prompt, *_columns(one.written)) for one in self.kept] or [(NOTHING.tokens, *_columns(NOTHING))]
        names = ("prompt", "tokens", "logp", "entropy", "drawn")
        return {
            "seeds": torch.tensor([one.seed for one in self.kept], dtype=torch.int64),
            "sizes": torch.tensor(sizes, dtype=torch.int64).view(-1, 2),
            **{
                name: torch.from_numpy(np.concatenate(column))
                for name, column in zip(names, zip(*rows, strict=True), strict=True)
            },
        }

    def load_state_dict(self, state: Mapping[str, Tensor], strict: bool = True) -> None:
        """Becomes what :meth:`state_dict` described; texts come back when sequences end.

        Raises:
            ValueError: sequences that are not as long as the state says.
        """
        seeds, sizes = state["seeds"], state["sizes"]
        prompts, written = sizes.sum(0).tolist()
        lengths = {name: written for name in ("tokens", "logp", "entropy", "drawn")} | {"prompt": prompts}
        if len(seeds) != len(sizes) or bool((sizes < 1).any()) or any(len(state[k]) != n for k, n in lengths.items()):
            raise ValueError("the unfinished sequences are not as long as their sizes say")
        ends = sizes.cumsum(0)[:-1].T.tolist() if len(sizes) else [[], []]
        heads = _parts(state["prompt"], ends[0])
        columns = [_parts(state[name], ends[1]) for name in ("tokens", "logp", "entropy", "drawn")]
        rows = zip(seeds.tolist(), heads, *columns, strict=False)  # nothing at all is one empty part
        self.kept = [Piece(seed, head, Written("", *row)) for seed, head, *row in rows]


def _columns(written: Written) -> Sequence[Any]:
    drawn = written.logp if written.drawn is None else written.drawn
    return written.tokens, written.logp, written.entropy, drawn


def _parts(column: Tensor, ends: Sequence[int]) -> list[Any]:
    return np.split(column.cpu().numpy().copy(), ends)
