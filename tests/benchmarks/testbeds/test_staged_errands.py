from dataclasses import replace

import numpy as np
import pytest

from tiltyard.benchmarks.testbeds import staged_errands
from tiltyard.benchmarks.testbeds.errands import Errands, play
from tiltyard.benchmarks.testbeds.staged_errands import StagedErrands, staged

BED = StagedErrands(task=Errands(held_out=8), budget=6_000, moments=4)


def test_stages_are_equal_parts_of_the_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[int, int]] = []

    def spied(*args: object, moves: int) -> object:
        found = play(*args, moves=moves)  # type: ignore[arg-type]
        assert found.length.max() <= moves == found.move.shape[1]
        seen.append((moves, int(found.length.sum())))
        return found

    monkeypatch.setattr(staged_errands, "play", spied)
    assert BED.run(staged(5, 10, 30), 0.01, 1000).shape == (4,)
    starts = np.cumsum([0, *(taken for _, taken in seen)])
    assert starts[-2] < 6_000 <= starts[-1]
    expected = [5 if at < 2_000 else 10 if at < 4_000 else 30 for at in starts[:-1]]
    assert [moves for moves, _ in seen] == expected
    assert set(expected) == {5, 10, 30}


def test_all_begin_alike_and_are_judged_with_all_moves() -> None:
    runs = [BED.run(staged(*moves), 0.0, 1000) for moves in ((2,), (30,))]
    exact = BED.task.learner(1000).exact()
    assert np.concatenate(runs) == pytest.approx([exact] * 8)  # a policy that learns nothing
    assert BED.run(staged(30), 0.05, 1000)[-1] != pytest.approx(exact)


def test_longer_training_learns() -> None:
    long = replace(BED, task=Errands(held_out=16), budget=150_000)
    assert long.run(staged(30), 0.02, 1000)[-1] > 2 * long.run(staged(30), 0.02, 1000)[0]
