"""What luck wins of each text task: the best of the policies of ``blind_answers.py``, which ignore what decides."""

import sys
from pathlib import Path

import numpy as np
import pytest

from tiltyard.envs.catalogue import ROWS

sys.path.insert(0, str(Path(__file__).parent))
from blind_answers import best

BLIND = {  # at the default level, over 300 test problems
    "tiltyard/Countdown-v0": 0.113,
    "tiltyard/ReasoningGym-v0": 0.020,
    "tiltyard/ChainSum-v0": 0.073,
    "tiltyard/KnightsKnaves-v0": 0.237,
    "tiltyard/Maze-v0": 0.040,
    "tiltyard/TreeMDP-v0": 0.160,
    "tiltyard/TwentyQuestions-v0": 0.503,
    "tiltyard/GuessMyCity-v0": 0.287,
}


@pytest.mark.parametrize("env_id", [row.id for row in ROWS if row.domain == "text"])
def test_the_best_blind_policy_wins_no_more_than_is_known(env_id: str) -> None:
    stated = BLIND[env_id]
    name, success = best(env_id, 150)
    assert abs(success - stated) < 4 * np.sqrt(stated * (1 - stated) / 150), name
