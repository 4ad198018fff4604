"""Characters as tokens: printable ASCII, newline and four specials. No training, no files, nothing to download."""

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

PAD, END, ANSWER, UNKNOWN = 0, 1, 2, 3
"""Filler, end of the answer, beginning of the answer, and any character outside the alphabet."""

ALPHABET = "\n" + "".join(map(chr, range(32, 127)))
"""Every character the network can read and write, in the order of the tokens (from 4)."""

Tokens = npt.NDArray[np.int64]


class CharTokenizer:
    """One token a character.

    Args:
        alphabet: the characters, in token order; a checkpoint stores them beside the weights.
    """

    def __init__(self, alphabet: str = ALPHABET) -> None:
        if len(set(alphabet)) != len(alphabet):
            raise ValueError("a tokenizer's alphabet names each character once")
        self.alphabet = alphabet
        self.vocabulary_size = UNKNOWN + 1 + len(alphabet)
        codes = np.frombuffer(alphabet.encode("utf-32-le"), np.uint32)
        self._token_of = np.full(int(codes.max()) + 2, UNKNOWN, np.int64)  # the last entry stands for all larger codes
        self._token_of[codes] = np.arange(len(alphabet)) + UNKNOWN + 1
        self._text_of = ["", "", "", "?", *alphabet]

    def encode(self, text: str) -> Tokens:
        """Tokens ``[len(text)]``; a character outside the alphabet becomes ``UNKNOWN``."""
        codes = np.frombuffer(text.encode("utf-32-le", errors="surrogatepass"), np.uint32)
        tokens: Tokens = self._token_of[np.minimum(codes, len(self._token_of) - 1)]
        return tokens

    def decode(self, tokens: Iterable[int]) -> str:
        """The text of ``tokens``; specials vanish, except ``UNKNOWN``, which becomes ``?``."""
        return "".join([self._text_of[token] for token in tokens])

    def prompt(self, question: str, answer_start: str = "") -> Tokens:
        """What the network reads before it writes: the question, the ``ANSWER`` mark, any given start of the answer."""
        return np.concatenate([self.encode(question), [ANSWER], self.encode(answer_start)])


def pad_right(rows: Sequence[Tokens]) -> Tokens:
    """``[len(rows), longest]`` with ``PAD`` after each row's tokens."""
    batch = np.full((len(rows), max(map(len, rows))), PAD, np.int64)
    for row, tokens in zip(batch, rows, strict=True):
        row[: len(tokens)] = tokens
    return batch
