import numpy as np
import pytest

from tiltyard.wrappers import GROOVE, LevelReplay
from tiltyard.wrappers.curricula.groove import ranked


def remembering(scores: list[float], **settings: float) -> LevelReplay:
    """A buffer with levels 0.1, 0.2, ... of these scores."""
    teacher = LevelReplay([0.0], [1.0], seed=0, least=1, **settings)  # type: ignore[arg-type]
    for i, score in enumerate(scores, 1):
        teacher.draws = i
        teacher.update([i / 10], score)
    return teacher


def test_ranks_by_hand() -> None:
    # Weights 1, 1/3 and 1/2 sum to 11/6; at temperature 1/2 they are squared: 1, 1/9 and 1/4 sum to 49/36.
    np.testing.assert_allclose(ranked(np.array([3.0, -1.0, 2.0]), 1.0), np.array([6, 2, 3]) / 11)
    np.testing.assert_allclose(ranked(np.array([3.0, -1.0, 2.0]), 0.5), np.array([36, 4, 9]) / 49)


def test_probabilities_are_of_ranks_and_of_staleness_by_hand() -> None:
    # Told after draws 1, 2 and 3, they are 3, 2 and 1 draws old after the fourth.
    teacher = remembering([3.0, -1.0, 2.0], temperature=1.0, staleness=0.25)
    teacher.draws = 4
    np.testing.assert_allclose(
        teacher.probabilities(), 0.75 * np.array([6, 2, 3]) / 11 + 0.25 * np.array([3, 2, 1]) / 6
    )


def test_half_of_the_levels_are_new_and_the_others_have_high_scores() -> None:
    teacher = remembering([0.1 * i for i in range(9)], temperature=0.3)
    drawn = []
    for _ in range(2000):
        level = teacher.sample()
        drawn.append(round(float(level[0]) * 10, 6))
        teacher._in_play.clear()
    counts = [drawn.count(i) for i in range(1, 10)]
    assert 900 < sum(counts) < 1100
    assert counts[8] > 0.7 * sum(counts)
    assert min(counts) > 0  # by staleness


def test_a_level_in_play_is_not_drawn_until_it_has_been_told() -> None:
    teacher = remembering([1.0, 2.0], replay=1.0)
    first, second, third = (float(teacher.sample()[0]) for _ in range(3))
    assert {first, second} == {0.1, 0.2}
    assert third not in {0.1, 0.2}
    teacher.update([0.1], 5.0)
    assert teacher.sample() == [0.1]
    assert teacher.scores.tolist() == [5.0, 2.0]


def test_a_level_that_was_never_told_comes_back_after_as_many_draws_as_the_buffer_holds() -> None:
    teacher = remembering([1.0], replay=1.0, size=3)
    drawn = [float(teacher.sample()[0]) for _ in range(5)]
    assert [level == 0.1 for level in drawn] == [True, False, False, False, True]


def test_a_full_buffer_loses_the_lowest_score() -> None:
    teacher = remembering([3.0, 1.0, 2.0], size=3)
    teacher.update([0.9], 1.5)
    assert teacher.levels[:, 0].tolist() == [0.1, 0.3, 0.9]
    teacher.update([0.8], 0.5)
    assert teacher.scores.tolist() == [3.0, 2.0, 1.5]


def test_the_score_of_groove_is_the_algorithmic_regret() -> None:
    teacher = GROOVE([0.0, 0.0], [1.0, 1.0], lambda level: 10 * float(level[0]), seed=0)
    teacher.update([0.5, 0.0], 2.0)
    teacher.update([0.1, 0.0], 3.0)
    assert teacher.scores.tolist() == [3.0, -2.0]


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"least": 0}, "least lies between 1 and size=4000, got 0"),
        ({"least": 9, "size": 8}, "least lies between 1 and size=8"),
        ({"replay": 1.1}, "replay and staleness are probabilities"),
        ({"temperature": 0.0}, "temperature is above 0"),
    ],
)
def test_what_cannot_be_is_refused(settings: dict[str, float], match: str) -> None:
    with pytest.raises(ValueError, match=match):
        LevelReplay([0.0], [1.0], **settings)  # type: ignore[arg-type]


def test_a_return_that_is_no_number_is_refused_and_nothing_changes() -> None:
    teacher = GROOVE([0.0], [1.0], lambda level: 1.0)
    with pytest.raises(ValueError, match="finite return"):
        teacher.update([0.5], float("nan"))
    assert not len(teacher.levels)
