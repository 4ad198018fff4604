"""The study of pixels: the expert can be said in cells, black screens are black, and a run of it at the least size."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch as th

from tiltyard.benchmarks.studies import phone_pixels


@pytest.mark.slow
def test_demonstrations_are_whole_solutions_and_goals_alone_hide_the_screen() -> None:
    data = phone_pixels.demonstrations(phone_pixels.seeds_of(phone_pixels.TRAINING, 0, 2))
    assert data["screen"].shape == (len(data["action"]), 3, 192, 108)
    assert (data["action"] == 299).sum() == 2, "an episode of the expert ends by the last index, done"
    assert phone_pixels.shown("pixels", data, [0])["screen"].any()
    assert not phone_pixels.shown("goal alone", data, np.arange(2))["screen"].any()
    before = phone_pixels.cloned("pixels", 0, 1e-3, data, 0)
    after = phone_pixels.cloned("pixels", 0, 1e-3, data, 8)
    with th.no_grad():
        told = [p.evaluate_actions(phone_pixels.shown("pixels", data, slice(None)), th.as_tensor(data["action"]))[1]
                for p in (before, after)]  # fmt: skip
    assert told[1].mean() > told[0].mean() + 0.5, "eight updates raise the likelihood of what was shown"


@pytest.mark.slow
def test_a_run_of_the_least_size(tmp_path: Path) -> None:
    small = ["--seeds", "1", "--demonstrations", "2", "--updates", "1", "--problems", "2", "--out", str(tmp_path)]
    with pytest.raises(SystemExit, match="--tune first"):
        phone_pixels.main(small)
    phone_pixels.main([*small, "--tune", "--rates", "1e-3"])
    phone_pixels.main(small)
    made = {path.name for path in tmp_path.glob("*.json")}
    assert made == {"tuning.json", "references.json", "run-pixels-0.json", "run-goal-alone-0.json"}
    assert set(json.loads((tmp_path / "references.json").read_text())["random"]) == set(phone_pixels.TESTS)
    page = (tmp_path / "README.md").read_text()
    assert "| pixels - goal alone |" in page
    assert "| expert, taps in cells |" in page
