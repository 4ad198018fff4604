"""Overlap of stored rows of text with the problems that language agents are evaluated on, by n-grams.

A row that holds a test problem teaches its answer, so that scores on it say nothing. As in TÜLU 3: Pushing Frontiers
in Open Language Model Post-Training (2024), section 3.2, a problem and a row match where n-grams that they share cover
more than a share of the problem's tokens, and rows that match are left out of the training data.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ...agents.language.data.jsonl import read_rows
from .. import folders
from ..evaluation import evaluation_env, evaluation_seeds

Gram = tuple[str, ...]
SHOWN = 10
"""Matches that are quoted."""


class Match(NamedTuple):
    """A row, and the problem that it overlaps with most."""

    row: int
    problem: int
    share: float  # of the problem's tokens


class Overlap:
    """Which rows overlap with some problems.

    Tokens are words and single marks in lower case. A problem of fewer than n tokens has one n-gram, itself. Authors'
    code: ``decontamination/search.py`` of open-instruct, with spaCy's tokens and an index on a server.

    Args:
        problems: their texts.
        n: tokens of an n-gram.
        threshold: the share of a problem's tokens above which a row matches it.

    Raises:
        ValueError: no problem, an n below 1, or a threshold that is no share from 0 to below 1.
    """

    def __init__(self, problems: Sequence[str], *, n: int = 8, threshold: float = 0.5) -> None:
        if n < 1 or not 0 <= threshold < 1:
            raise ValueError(f"n is at least 1 and threshold a share from 0 to below 1, got {n} and {threshold}")
        self.n, self.threshold = n, threshold
        self.lengths = [len(tokens_of(problem)) for problem in problems]
        if not any(self.lengths):
            raise ValueError("there is no text to look for: the problems are empty")
        self._starts: dict[Gram, list[tuple[int, int]]] = defaultdict(list)
        for number, problem in enumerate(problems):
            tokens = tokens_of(problem)
            for start, gram in enumerate(_grams(tokens, min(n, len(tokens)))):
                self._starts[gram].append((number, start))
        self._sizes = sorted({len(gram) for gram in self._starts})

    def match(self, row: int, text: str) -> Match | None:
        """What the row of this text matches, if anything: of several problems the one that it covers most."""
        tokens = tokens_of(text)
        covered: dict[int, set[int]] = defaultdict(set)
        for size in self._sizes:
            for gram in set(_grams(tokens, size)):
                for problem, start in self._starts.get(gram, ()):
                    covered[problem].update(range(start, start + size))
        found = [Match(row, number, len(places) / self.lengths[number]) for number, places in covered.items()]
        best = max(found, key=lambda one: (one.share, -one.problem), default=None)
        return best if best is not None and best.share > self.threshold else None

    def matches(self, texts: Sequence[str]) -> list[Match]:
        """Those of all rows that match, in their order."""
        found = (self.match(row, text) for row, text in enumerate(texts))
        return [one for one in found if one is not None]


def tokens_of(text: str) -> list[str]:
    """Words and single marks, in lower case."""
    return re.findall(r"\w+|[^\w\s]", text.lower())


def _grams(tokens: Sequence[str], size: int) -> Iterator[Gram]:
    if size:
        yield from (tuple(tokens[start : start + size]) for start in range(len(tokens) - size + 1))


def problems_of(env_id: str, n: int) -> list[str]:
    """The problems of an evaluation of ``n`` episodes, as an agent reads them when each begins.

    Raises:
        KeyError: no such environment.
        TypeError: one whose observations are not text.
        ValueError: fewer than one problem.
    """
    env = evaluation_env(env_id, _silence, n)
    try:
        env.unwrapped.seed_envs(evaluation_seeds(0, env.num_envs))  # type: ignore[attr-defined]
        read: Any = env.reset()
        if not all(isinstance(one, str) for one in read):
            raise TypeError(f"problems of {env_id} are no texts: rows are compared with those of a text environment")
        texts = [[one] for one in read]
        targets = [(n + i) // env.num_envs for i in range(env.num_envs)]  # as evaluate_policy shares them out
        while any(len(own) < target for own, target in zip(texts, targets, strict=True)):
            read, _, dones, _ = env.step([""] * env.num_envs)  # type: ignore[arg-type]
            for own, one, done in zip(texts, read, dones, strict=True):
                own += [one] * bool(done)
        return [one for own, target in zip(texts, targets, strict=True) for one in own[:target]]
    finally:
        env.close()


def _silence(question: str) -> str:
    return ""


def report(
    file: Path, env_id: str, *, problems: int = 1_000, n: int = 8, threshold: float = 0.5, out: Path | None = None
) -> list[Match]:
    """Prints which rows of a file overlap with test problems, writes the others as they are, and returns the matches.

    Args:
        file: JSON lines, an object with a ``prompt`` each.
        env_id: whose test problems.
        problems: of the evaluation that rows are compared with.
        n: tokens of an n-gram.
        threshold: see :class:`Overlap`.
        out: file for the rows that do not overlap (None: they are not written).

    Raises:
        FileExistsError: ``out`` is there.
        FileNotFoundError: ``file`` is not.
        ValueError: a row without a prompt, no rows, or what :class:`Overlap` refuses.
    """
    if out is not None and out.exists():
        raise FileExistsError(f"{out} is there already: name another file for the rows that do not overlap")
    prompts = {where: _prompt(row, where) for where, row in read_rows(file)}
    if not prompts:
        raise ValueError(f"there are no rows in {file}")
    texts = problems_of(env_id, problems)
    found = Overlap(texts, n=n, threshold=threshold).matches(list(prompts.values()))
    hit = len({one.problem for one in found})
    print(f"{len(found):,} of {len(prompts):,} rows overlap with {hit:,} of {len(texts):,} test problems of {env_id}")
    lines = list(prompts)
    for one in found[:SHOWN]:
        print(f"{lines[one.row]}: {one.share:.0%} of {texts[one.problem]!r:.100}")
    if len(found) > SHOWN:
        print(f"and {len(found) - SHOWN:,} more")
    if out is not None:
        left = {one.row for one in found}
        with file.open(encoding="utf-8") as rows:
            kept = [line for row, line in enumerate(line for line in rows if line.strip()) if row not in left]
        folders.write_whole(out, "".join(kept).encode())
        print(f"wrote {out}: {len(kept):,} rows")
    return found


def _prompt(row: Any, where: str) -> str:
    if not isinstance(row, dict) or not isinstance(row.get("prompt"), str):
        raise ValueError(f"{where} has no prompt that is a text: rows are objects with a prompt each")
    return str(row["prompt"])
