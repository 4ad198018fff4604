from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tiltyard.wrappers.rewards.calibration import calibration, fit_temperature, sigmoid


def logit(probability: float) -> float:
    return float(np.log(probability / (1 - probability)))


def test_a_report_by_hand() -> None:
    # Two successes at 0.9 and 0.3, four failures at 0.1, 0.1, 0.1 and 0.9: a success weighs 1/4, a failure 1/8.
    successes = np.array([logit(0.9 + 1e-9), logit(0.3 + 1e-9)])
    failures = np.array([logit(0.1 + 1e-9)] * 3 + [logit(0.9 + 1e-9)])
    report = calibration(successes, failures, temperature=1.0, threshold=0.5)
    assert report.weight[[1, 3, 9]] == pytest.approx([3 / 8, 1 / 4, 3 / 8])
    assert report.frequency[[1, 3, 9]] == pytest.approx([0.0, 1.0, 2 / 3])
    # 3/8 * 0.1 + 1/4 * 0.7 + 3/8 * (0.9 - 2/3)
    assert report.error == pytest.approx(0.3)
    assert (report.false_positives, report.false_negatives) == (1 / 4, 1 / 2)
    assert (report.successes, report.failures) == (2, 4)
    assert np.isnan(report.confidence[0])


def test_a_probability_at_the_threshold_is_a_claim() -> None:
    report = calibration(np.array([0.0, 1.0]), np.array([0.0, -1.0]), temperature=1.0, threshold=0.5)
    assert (report.false_positives, report.false_negatives) == (0.5, 0.0)


def test_how_many_there_are_of_a_class_changes_nothing() -> None:
    successes, failures = np.array([1.0, 2.0, -1.0]), np.array([-3.0, 0.5])
    one = calibration(successes, failures, temperature=2.0, threshold=0.7)
    other = calibration(successes, np.tile(failures, 50), temperature=2.0, threshold=0.7)
    assert other.error == pytest.approx(one.error)
    assert other.weight == pytest.approx(one.weight)


def test_the_temperature_undoes_overconfidence() -> None:
    rng = np.random.default_rng(0)
    true = rng.normal(0, 2, 20_000)
    labels = rng.random(20_000) < sigmoid(true)
    sets = 3 * true[labels], 3 * true[~labels]  # three times as sure as it should be
    temperature = fit_temperature(*sets)
    assert temperature == pytest.approx(3.0, rel=0.05)
    before, after = (calibration(*sets, temperature=t, threshold=0.5).error for t in (1.0, temperature))
    assert after < 0.02 < before


def test_a_few_states_all_judged_rightly_do_not_ask_for_endless_confidence() -> None:
    temperature = fit_temperature(np.array([4.0, 4.0]), np.array([-4.0, -4.0]))
    # Platt's labels are 3/4 and 1/4: the best logit is log 3, so T = 4 / log 3.
    assert temperature == pytest.approx(4 / np.log(3), rel=0.002)


def test_the_figure_is_drawn(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    report = calibration(rng.normal(1, 2, 50), rng.normal(-1, 2, 50), temperature=1.0, threshold=0.5)
    report.plot(tmp_path / "reliability.png")
    with Image.open(tmp_path / "reliability.png") as picture:
        assert min(picture.size) > 400
        assert len(set(picture.convert("RGB").tobytes())) > 20


def test_great_logits_do_not_overflow() -> None:
    assert sigmoid([-1e4, 0.0, 1e4]).tolist() == [0.0, 0.5, 1.0]
