import numpy as np
import pytest

from tiltyard.wrappers.curricula.mbtl import MBTL, SCALES, SourceSelection, gaussian_process

LINE = np.linspace(10, 20, 11)[:, None]


def test_a_gaussian_process_by_hand() -> None:
    # One performance y: mean y s^2 / (s^2 + n^2) there, variance s^2 - s^4 / (s^2 + n^2), for the most likely s of the
    # grid, whatever the length.
    y, noise = 0.8, 0.1
    mean, deviation = gaussian_process(np.zeros((1, 1)), np.array([y]), np.array([[0.0], [1e3]]), noise=noise)
    total = SCALES**2 + noise**2
    s = SCALES[(-0.5 * y**2 / total - 0.5 * np.log(total)).argmax()]
    assert mean[0] == pytest.approx(y * s**2 / (s**2 + noise**2))
    assert deviation[0] ** 2 == pytest.approx(s**2 - s**4 / (s**2 + noise**2))
    assert mean[1] == pytest.approx(0)
    assert deviation[1] == pytest.approx(s)


def test_a_smooth_function_is_found_between_its_points() -> None:
    x = np.linspace(0, 1, 7)[:, None]
    mean, _ = gaussian_process(x, np.sin(3 * x[:, 0]), np.array([[0.25], [0.6]]), noise=0.01)
    np.testing.assert_allclose(mean, np.sin([0.75, 1.8]), atol=0.03)


def test_what_contexts_promise_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    # Places 0, 1/2, 1; slope 1. The middle is worth 0.6 there and 0.1 at the ends. The model hopes for 0.9 everywhere:
    # at the left end that gains 0.8 there, nothing in the middle (0.4) and nothing at the right end: 0.8 / 3.
    found = SourceSelection([[0.0], [5.0], [10.0]], slope=1.0)
    assert found.choose() == 1
    found.observe(1, 0.6)
    np.testing.assert_allclose(found.best, [0.1, 0.6, 0.1])
    flat = lambda *_, **__: (np.full(3, 0.9), np.zeros(3))  # noqa: E731
    monkeypatch.setattr("tiltyard.wrappers.curricula.mbtl.gaussian_process", flat)
    np.testing.assert_allclose(found.acquisition(), [0.8 / 3, -np.inf, 0.8 / 3])
    found.observe(0, 0.9, transfer=[0.9, 0.2, 0.0])
    assert found.choose() == 2
    assert found.serving().tolist() == [0, 1, 1]


def test_uncertainty_counts_for_more_with_every_source(monkeypatch: pytest.MonkeyPatch) -> None:
    unsure = lambda *_, **__: (np.zeros(11), np.ones(11))  # noqa: E731
    monkeypatch.setattr("tiltyard.wrappers.curricula.mbtl.gaussian_process", unsure)
    found = SourceSelection(LINE, slope=0.0)
    for k, source in enumerate((0, 1, 2), 1):
        found.observe(source, 0.0)
        assert found.acquisition()[10] == pytest.approx(np.sqrt(np.log(k + 1)))


def test_sources_spread_where_transfer_is_short_and_few_serve_where_it_is_long() -> None:
    def serve(width: float) -> list[float]:
        places = np.linspace(0, 1, 21)
        found, shares = SourceSelection(places[:, None], slope=1 / width), []
        for _ in range(4):
            source = found.choose()
            found.observe(source, 1.0, np.maximum(1 - np.abs(places - places[source]) / width, 0))
            shares.append(float(found.best.mean()))
        return shares

    narrow, wide = serve(0.25), serve(4.0)
    assert wide[0] > 0.9
    assert narrow[0] < 0.3 < 0.6 < narrow[-1]
    assert (np.diff(narrow) > 0.05).all()


def test_a_teacher_stays_in_a_context_until_it_is_known() -> None:
    teacher = MBTL([10.0], [20.0], per_axis=3, episodes=4)
    seen = []
    for episode in range(12):
        seen.append(float(teacher.sample()[0]))
        teacher.update(teacher.sample(), float(episode % 4))
    assert seen[:4] == [15.0] * 4
    assert sorted(seen) == [10.0] * 4 + [15.0] * 4 + [20.0] * 4
    assert teacher.sample()[0] == 15.0  # begins again
    assert not teacher.selection.sources


def test_performance_is_that_of_the_last_quarter_in_units_of_the_range() -> None:
    teacher = MBTL([0.0], [1.0], per_axis=5, episodes=4)
    for earned in (0.0, 10.0, 10.0, 5.0):
        teacher.update(teacher.sample(), earned)
    assert teacher.selection.performances == [0.5]


@pytest.mark.parametrize("wrong", [[[1.0]], [1.0, 2.0], [[1.0], [np.nan]]])
def test_bad_contexts_are_refused(wrong: object) -> None:
    with pytest.raises(ValueError, match="contexts are finite, two or more"):
        SourceSelection(wrong)  # type: ignore[arg-type]


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="slope is at least 0 and noise above 0, got -1"):
        SourceSelection(LINE, slope=-1.0)
    with pytest.raises(ValueError, match="no source yet"):
        SourceSelection(LINE).serving()
    with pytest.raises(ValueError, match="finite performances at 11 contexts"):
        SourceSelection(LINE).observe(0, np.nan)
    with pytest.raises(ValueError, match="per_axis is at least 2"):
        MBTL([0.0], [1.0], per_axis=1)
    with pytest.raises(ValueError, match="episodes are at least 1"):
        MBTL([0.0], [1.0], episodes=0)
    both = SourceSelection([[0.0], [1.0]])
    both.observe(0, 1.0)
    both.observe(1, 1.0)
    with pytest.raises(ValueError, match="every context has been trained on"):
        both.choose()


def test_an_episode_that_began_in_an_earlier_context_is_not_one_of_the_present() -> None:
    teacher = MBTL([0.0], [1.0], per_axis=3, episodes=2)
    first = teacher.sample()
    for earned in (0.0, 10.0):
        teacher.update(first, earned)
    second = teacher.sample()
    assert second != first
    teacher.update(first, 10.0)  # of another environment, which had not finished
    teacher.update(second, 5.0)
    assert teacher.sample() == second
    teacher.update(second, 0.0)
    assert teacher.selection.performances == [1.0, 0.0]


@pytest.mark.parametrize("source", [-1, 2])
def test_a_source_is_one_of_the_contexts(source: int) -> None:
    with pytest.raises(ValueError, match="one of 2 contexts"):
        SourceSelection([[0.0], [1.0]]).observe(source, 0.5)
