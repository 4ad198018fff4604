"""Published problems stay what they are: a result of one version is a result of the next.

A digest is of what the first test problems show. One that changes is a change of the task: say so in CHANGELOG.md, and
mark the pages under docs/results that were measured before. Robots and roads are left out, as their numbers hang on the
processor's arithmetic.
"""

from hashlib import blake2b
from typing import Any

import gymnasium
import pytest

from tiltyard.envs.catalogue import ROWS
from tiltyard.envs.row import Row

FIRST = 40  # problems

DIGESTS = {
    "tiltyard/Countdown-v0": "bfacf7fa8eead6b9",
    "tiltyard/ReasoningGym-v0": "6788f89c752ee17c",
    "tiltyard/ChainSum-v0": "9ace0aaf7dae731d",
    "tiltyard/KnightsKnaves-v0": "cc9781e47fed91f5",
    "tiltyard/Maze-v0": "00d82a6448c0113c",
    "tiltyard/TreeMDP-v0": "311da72dc1ff271a",
    "tiltyard/TwentyQuestions-v0": "cc40fb46a0543478",
    "tiltyard/GuessMyCity-v0": "779e3f8e67884265",
    "tiltyard/Phone-v0": "90f6395c6ee836ba",
    "tiltyard/Phone-v1": "00e313046f7f342c",
}


def shown(row: Row) -> str:
    """Digest of what the first test problems say, in words, and what is behind them."""
    env: Any = gymnasium.make(row.id, split="test")
    seen = blake2b(digest_size=8)
    for seed in range(FIRST):
        observation, info = env.reset(seed=seed)
        words = observation if isinstance(observation, str) else [observation["goal"], observation["tree"]]
        seen.update(repr((words, info.get("problem"))).encode())  # a phone's digest names all that is on it
    env.close()
    return seen.hexdigest()


@pytest.mark.parametrize("row", [row for row in ROWS if row.domain in ("text", "gui")], ids=lambda row: row.id)
def test_the_first_problems_are_those_that_were_published(row: Row) -> None:
    assert shown(row) == DIGESTS.get(row.id), f"{row.id} shows other problems: see this file's first lines"
