"""Characters, small numbers and answer tags as tokens. No training, no files, nothing to download.

Numbers up to :data:`NUMBERS` and the tags that open and close an answer are one token each, as in the tokenizers of
large models: sums are facts about two tokens then, not about digits in places, and texts are half as long. All else is
read and written character by character.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

PAD, END, ANSWER, UNKNOWN = 0, 1, 2, 3
"""Filler, end of the completion, beginning of the completion, and any character outside the alphabet."""

ALPHABET = "\n" + "".join(map(chr, range(32, 127)))
"""Every character the network can read and write, in the order of the tokens (from 4)."""

TAGS = ("<answer>", "</answer>")

NUMBERS = 400
"""Numbers from 10 up to this one (exclusive) are tokens; larger ones are written digit by digit."""

PIECES = (*ALPHABET, *TAGS, *map(str, range(10, NUMBERS)))
"""Every token's text, in the order of the tokens (from 4)."""

WORD = " ?[A-Z]?[a-z]+"
"""A word with the space before it, if there is one, as tokenizers of large models have it."""

Tokens = npt.NDArray[np.int64]


class Tokenizer:
    """One token a piece.

    A run of digits is one token if it is a piece as a whole, and else one token a digit; likewise a word, if there are
    words among the pieces. Other pieces of several characters are taken wherever they stand.

    Args:
        pieces: texts of the tokens, in token order; every character of a piece must be a piece. A checkpoint stores
            them beside the weights.
    """

    def __init__(self, pieces: Sequence[str] = PIECES) -> None:
        self.pieces = tuple(pieces)
        self._token_of = {piece: UNKNOWN + 1 + i for i, piece in enumerate(self.pieces)}
        if len(self._token_of) != len(self.pieces):
            raise ValueError("a tokenizer names each piece once")
        self.vocabulary_size = UNKNOWN + 1 + len(self.pieces)
        long = sorted((p for p in self.pieces if len(p) > 1 and not p.isdigit()), key=len, reverse=True)
        others = [re.escape(piece) for piece in long if not re.fullmatch(WORD, piece)]
        words = [WORD] if len(others) < len(long) else []
        self._split = re.compile("|".join([*others, *words, "[0-9]+", "."]), re.DOTALL).findall
        self._text_of = ["", "", "", "?", *self.pieces]

    def encode(self, text: str) -> Tokens:
        """Tokens of ``text``; a character outside the alphabet becomes ``UNKNOWN``.

        Raises:
            TypeError: it is no string.
        """
        if not isinstance(text, str):
            raise TypeError(
                "a language agent reads strings (observations and messages of the environment, prompts of guidance), "
                f"got {type(text).__name__}: {text!r:.100}"
            )
        tokens: list[int] = []
        for piece in self._split(text):
            token = self._token_of.get(piece)
            tokens += [token] if token is not None else [self._token_of.get(char, UNKNOWN) for char in piece]
        return np.array(tokens, np.int64)

    def decode(self, tokens: Iterable[int]) -> str:
        """The text of ``tokens``; specials vanish, except ``UNKNOWN``, which becomes ``?``."""
        return "".join([self._text_of[token] for token in tokens])

    def prompt(self, question: str, completion_start: str = "") -> Tokens:
        """What the network reads before it writes: question, ``ANSWER`` mark, any given start of the completion."""
        return np.concatenate([self.encode(question), [ANSWER], self.encode(completion_start)])

    def message(self, written: Tokens, message: str) -> Tokens:
        """What the network reads between two turns: an ``END`` if it wrote none, the message, the ``ANSWER`` mark."""
        end = [] if len(written) and written[-1] == END else [END]
        return np.concatenate([np.array(end, np.int64), self.encode(message), [ANSWER]])


def common_words(texts: Iterable[str], count: int) -> tuple[str, ...]:
    """The ``count`` commonest words of several characters, spaces before them included, as pieces of a tokenizer."""
    found = Counter(word for text in texts for word in re.findall(WORD, text) if len(word) > 1)
    return tuple(sorted(found, key=lambda word: (-found[word], word))[:count])


def pad_right(rows: Sequence[Tokens]) -> Tokens:
    """``[len(rows), longest]`` with ``PAD`` after each row's tokens."""
    batch = np.full((len(rows), max(map(len, rows))), PAD, np.int64)
    for row, tokens in zip(batch, rows, strict=True):
        row[: len(tokens)] = tokens
    return batch
