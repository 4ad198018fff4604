"""The outcome reward: successes alone, and a reward model's errors that belong to the text it reads."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from tiltyard.wrappers.rewards.catalogue import load
from tiltyard.wrappers.rewards.outcome import Outcome


def batch(successes: list[bool], completions: list[list[str]], seeds: list[int]) -> Any:
    class Rows(SimpleNamespace):
        def __len__(self) -> int:
            return len(self.reward)

    return Rows(
        reward=torch.full((len(seeds),), -0.1),
        seed=torch.tensor(seeds),
        completions=completions,
        info={"success": torch.tensor(successes)},
    )


def test_success_is_worth_one_and_failures_are_alike_whatever_the_environment_paid() -> None:
    rows = batch([True, False, False], [["a"], ["b"], [""]], [1, 1, 2])
    assert load("outcome").shape(rows, None).tolist() == [1.0, 0.0, 0.0]  # type: ignore[arg-type]


def test_the_same_text_has_the_same_score_and_other_texts_and_problems_have_others() -> None:
    rows = batch([False] * 4, [["a", "b"], ["a", "b"], ["ab"], ["a", "b"]], [1, 1, 1, 2])
    model = Outcome(flips=0.2, deviation=0.5)
    first, again, other, elsewhere = model.shape(rows, None).tolist()  # type: ignore[arg-type]
    assert first == again
    assert len({first, other, elsewhere}) == 3
    assert model.shape(rows, None).tolist() == [first, again, other, elsewhere]  # type: ignore[arg-type]
    assert Outcome(flips=0.2, deviation=0.5, noise_seed=1).shape(rows, None)[0] != first  # type: ignore[arg-type]


def test_as_many_are_flipped_and_as_much_noise_is_added_as_asked_for() -> None:
    n = 4000
    rows = batch([i % 2 == 0 for i in range(n)], [[str(i)] for i in range(n)], [0] * n)
    told = rows.info["success"].numpy()
    flipped = Outcome(flips=0.2).shape(rows, None).numpy() != told  # type: ignore[arg-type]
    for side in (told, ~told):
        assert flipped[side].mean() == pytest.approx(0.2, abs=4 * np.sqrt(0.16 / 2000))
    noise = Outcome(deviation=0.25).shape(rows, None).numpy() - told  # type: ignore[arg-type]
    assert noise.mean() == pytest.approx(0, abs=4 * 0.25 / np.sqrt(n))
    assert noise.std() == pytest.approx(0.25, rel=0.05)
    assert abs(np.corrcoef(flipped, noise)[0, 1]) < 0.07


@pytest.mark.parametrize("wrong", [{"flips": 1.5}, {"flips": -0.1}, {"deviation": -1.0}])
def test_what_is_no_probability_or_no_deviation_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="flips is a probability"):
        Outcome(**wrong)
