"""What luck wins of each text task: the best of the policies of ``blind_answers.py``, which ignore what decides."""

import sys
from pathlib import Path

import numpy as np
import pytest

from tiltyard.envs.catalogue import ROWS, Row

sys.path.insert(0, str(Path(__file__).parent))
from blind_answers import best


@pytest.mark.parametrize("row", [row for row in ROWS if row.domain == "text"], ids=lambda row: row.id)
def test_the_best_blind_policy_wins_what_the_row_states(row: Row) -> None:
    stated = row.blind_success
    assert stated is not None
    assert row.blind_score == stated
    name, success = best(row.id, 150)
    assert abs(success - stated) < 4 * np.sqrt(stated * (1 - stated) / 150), name
