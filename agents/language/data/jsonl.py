"""Stored completions, preference pairs and episodes of several turns as JSON lines: read, checked, written."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...models.language_model import TextTokenizer
from ...models.tokenizer import END, Tokens
from ..episodes import Completion, Turn, final_answer, state_number
from ..rollouts import Rollouts


class Said(NamedTuple):
    """One stored turn."""

    completion: str
    reward: float
    message: str = ""  # what the environment said next
    tokens: tuple[int, ...] = ()  # as written; none: those of the text, and END
    state: int | None = None  # in which the turn began (``Rollouts.state``); None: told by what was read last
    learn: bool = True  # whether its tokens are learnt from


class Entry(NamedTuple):
    """One stored episode; a completion has one turn."""

    prompt: str
    turns: tuple[Said, ...]
    group: int
    seed: int | None = None  # of the problem
    success: bool | None = None  # None: whether it was rewarded
    start: str = ""  # how the first completion was begun for its writer
    rejected: bool = False  # the side of a pair that was not chosen


def read_rows(path: str | Path) -> Iterator[tuple[str, Any]]:
    """Each line of a file that is not empty, with words for where it stands.

    Raises:
        FileNotFoundError: no such file.
        ValueError: a line that is not JSON.
    """
    if not Path(path).is_file():
        raise FileNotFoundError(f"there is no file {path} of stored rows")
    with open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            where = f"line {number} of {Path(path).name}"
            if line.strip():
                try:
                    yield where, json.loads(line)
                except json.JSONDecodeError as error:
                    raise ValueError(f"{where} is not JSON: {error.msg} at column {error.colno}") from error


def groups_of(rows: Sequence[Any] | Iterator[tuple[str, Any]]) -> list[list[Entry]]:
    """Completions and episodes by ``seed``, or by prompt where they have none; pairs as groups of two.

    Args:
        rows: as they are, or those of :func:`read_rows`.

    Raises:
        ValueError: no rows, or one that is none of these; the sentence says which.
    """
    placed = ((f"row {number}", row) for number, row in enumerate(rows)) if isinstance(rows, Sequence) else rows
    found: dict[Any, list[Entry]] = {}
    for where, row in placed:
        entries, pair = _entries(row, where)
        seed, prompt = entries[0].seed, entries[0].prompt
        found.setdefault(("pair", where) if pair else prompt if seed is None else seed, []).extend(entries)
    if not found:
        raise ValueError("there are no stored rows")
    return [[entry._replace(group=i) for entry in group] for i, group in enumerate(found.values())]


def _entries(row: Any, where: str) -> tuple[list[Entry], bool]:
    """The episodes of a row, and whether they are a pair."""
    if not isinstance(row, Mapping):
        raise ValueError(f"{where} is {row!r}: a row is an object with names and values")
    if {"prompt", "completion", "reward"} <= row.keys():
        return [_entry(row, [{"completion": row["completion"], "reward": row["reward"]}], where)], False
    if {"prompt", "turns"} <= row.keys():
        return [_entry(row, row["turns"], where)], False
    if {"prompt", "chosen", "rejected"} <= row.keys():
        return [
            _entry(row, _worth(row[kind], worth), where)._replace(rejected=kind == "rejected") for kind, worth in _PAIR
        ], True
    raise ValueError(
        f"{where} has {sorted(row)}: a completion has prompt, completion and reward, an episode prompt and turns, a "
        "pair prompt, chosen and rejected"
    )


_PAIR = (("chosen", 1.0), ("rejected", 0.0))


def _worth(said: Any, worth: float) -> Any:
    """A side of a pair, a text or turns, as turns with a reward at the end."""
    if not isinstance(said, Sequence) or isinstance(said, str):
        return [{"completion": said, "reward": worth}]
    turns = [{**turn, "reward": 0.0} if isinstance(turn, Mapping) else turn for turn in said]
    return [*turns[:-1], *({**turn, "reward": worth} if isinstance(turn, Mapping) else turn for turn in turns[-1:])]


def _entry(row: Mapping[str, Any], turns: Any, where: str) -> Entry:
    if not isinstance(turns, Sequence) or isinstance(turns, str) or not turns:
        raise ValueError(f"{where}: turns must be a list of at least one turn, got {turns!r}")
    said = tuple(_said(turn, f"{where}, turn {n}", last=n == len(turns)) for n, turn in enumerate(turns, start=1))
    if not any(turn.learn for turn in said):
        raise ValueError(f"{where} has no turn to learn from")
    entry = Entry(
        _typed(row, "prompt", str, where),
        said,
        0,
        _typed(row, "seed", int, where, None),
        _typed(row, "success", bool, where, None),
        _typed(row, "start", str, where, ""),
    )
    if not said[0].completion.startswith(entry.start):
        raise ValueError(f"{where}: its first completion does not begin with its start {entry.start!r}")
    return entry


def _said(turn: Any, where: str, *, last: bool) -> Said:
    if not isinstance(turn, Mapping):
        raise ValueError(f"{where} is {turn!r}: a turn has completion, reward, and message where another follows")
    tokens = turn.get("tokens", ())
    if not isinstance(tokens, Sequence) or not all(type(token) is int and token > 0 for token in tokens):
        raise ValueError(f"{where}: tokens must be a list of integers above 0, got {tokens!r}")
    return Said(
        _typed(turn, "completion", str, where),
        _number(turn, where),
        _typed(turn, "message", str, where, *([""] if last else [])),
        tuple(tokens),
        _typed(turn, "state", int, where, None),
        _typed(turn, "learn", bool, where, True),
    )


def _typed(row: Mapping[str, Any], name: str, kind: type, where: str, *default: Any) -> Any:
    """The value of ``name``; there must be one where no default is given."""
    if name not in row and default:
        return default[0]
    if name not in row:
        raise ValueError(f"{where} has no {name}, only {sorted(row)}")
    if type(row[name]) is not kind:
        raise ValueError(f"{where}: {name} must be {_KINDS[kind]}, got {row[name]!r}")
    return row[name]


_KINDS = {str: "a text", int: "an integer", bool: "true or false"}


def _number(turn: Mapping[str, Any], where: str) -> float:
    reward = turn.get("reward")
    if isinstance(reward, bool) or not isinstance(reward, int | float) or not math.isfinite(reward):
        raise ValueError(f"{where}: reward must be a finite number, got {reward!r}")
    return float(reward)


def completion_of(entry: Entry, tokenizer: TextTokenizer) -> Completion:
    """An episode in tokens, as :func:`~tiltyard.agents.language.episodes.play` has it, its log-probabilities still 0.

    Raises:
        ValueError: tokens that the tokenizer does not have.
    """
    turns, read, heard = [], tokenizer.prompt(entry.prompt, entry.start), entry.prompt
    problem = entry.group if entry.seed is None else entry.seed
    for number, said in enumerate(entry.turns):
        own = said.completion.removeprefix("" if number else entry.start)
        written = np.array(said.tokens, np.int64) if said.tokens else _written(tokenizer, own)
        if written.max() >= tokenizer.vocabulary_size:
            raise ValueError(f"a stored row was written in other tokens than this policy's {tokenizer.vocabulary_size}")
        state = state_number(problem, heard) if said.state is None else said.state
        blank = np.zeros(len(written), np.float32)
        turns.append(Turn(read, written, blank, blank, said.reward, state, said.completion, None, said.message))
        read, heard = tokenizer.message(written, said.message), said.message
    rewarded = sum(said.reward for said in entry.turns) > 0
    success = rewarded if entry.success is None else entry.success
    return Completion(tuple(turns), success, final_answer(entry.turns[-1].completion))


def _written(tokenizer: TextTokenizer, text: str) -> Tokens:
    return np.append(tokenizer.encode(text), END)


def write_rows(path: str | Path, rollouts: Rollouts, tokenizer: TextTokenizer) -> None:
    """Stores episodes as JSON lines, from which the data source ``"stored"`` reads the same tokens, masks and rewards.

    The tokens of a turn are written beside its text where they are not those of the text, such as where a completion
    was cut at its longest length. Log-probabilities are not stored.

    Args:
        path: of the file, which is replaced.
        rollouts: as samplers and ``context.play`` return them, with their texts.
        tokenizer: of the policy that wrote them.

    Raises:
        ValueError: rollouts without texts, or tokens that do not follow from them; nothing has been written.
    """
    if not len(rollouts) == len(rollouts.prompts) == len(rollouts.completions) == len(rollouts.messages):
        raise ValueError("only episodes with their prompts, completions and messages can be stored: these have none")
    lines = [json.dumps(_row(rollouts, row, tokenizer)) for row in range(len(rollouts))]
    Path(path).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _row(rollouts: Rollouts, row: int, tokenizer: TextTokenizer) -> dict[str, Any]:
    tokens, mask, turn = (getattr(rollouts, name)[row].cpu().numpy() for name in ("tokens", "mask", "turn"))
    start = rollouts.hints[row] if rollouts.hints else ""
    stored: dict[str, Any] = {"prompt": rollouts.prompts[row], "seed": int(rollouts.seed[row]), "turns": []}
    stored |= {"success": bool(rollouts.info["success"][row])} if "success" in rollouts.info else {}
    stored |= {"start": start} if start else {}
    messages = rollouts.messages[row]
    for number, text in enumerate(rollouts.completions[row]):
        own = mask & (turn == number)
        said = {"completion": text, "reward": float(rollouts.token_reward[row].cpu().numpy()[own].sum())}
        said |= {"message": messages[number]} if number < len(messages) else {}
        written = tokens[own]
        if not np.array_equal(written, _written(tokenizer, text.removeprefix("" if number else start))):
            said["tokens"] = written.tolist()
        if rollouts.state is not None:
            said["state"] = int(rollouts.state[row][int(own.argmax())])
        stored["turns"].append(said)
    again = completion_of(groups_of([stored])[0][0], tokenizer)
    whole = np.concatenate([part for one in again.turns for part in (one.read, one.written)])
    if not np.array_equal(whole, tokens[: int(mask.nonzero()[0].max()) + 1]):
        raise ValueError(f"the tokens of episode {row} do not follow from its prompt, completions and messages")
    return stored
