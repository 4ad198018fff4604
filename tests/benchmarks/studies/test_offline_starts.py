"""The study of what is learnt from data, played otherwise."""

import json
from pathlib import Path

import pytest

from tiltyard.benchmarks import Run
from tiltyard.benchmarks.studies.offline_starts import WAYS, main
from tiltyard.benchmarks.studies.phone_transfer import over_runs

SMALL = {"learning_starts": 60, "buffer_size": 1000, "policy_kwargs": {"net_arch": [16]}, "preset": "none"}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A stochastic and a deterministic agent."""
    root = tmp_path_factory.mktemp("runs")
    for agent in ("sac", "td3"):
        Run("tiltyard/HalfCheetah-v5", agent, 0, 100, SMALL, eval_episodes=2, eval_points=1).execute(root)
    return root


@pytest.mark.slow
def test_sampled_actions_change_stochastic_actors_alone_and_widened_starts_all(runs: Path, tmp_path: Path) -> None:
    main(["--runs", str(runs), "--episodes", "4", "--out", str(tmp_path)])
    first, second = json.loads((tmp_path / "starts.json").read_text())["runs"]
    assert (first["agent"], second["agent"]) == ("sac", "td3")
    for one in (first, second):
        assert list(one["means"]) == list(one["deviations"]) == list(WAYS)
    best, sampled, widened, both = (first["means"][way] for way in WAYS)
    assert len({best, sampled, widened, both}) == 4
    best, sampled, widened, both = (second["means"][way] for way in WAYS)
    assert best == sampled != widened == both
    assert second["deviations"]["best actions, widened starts"] > second["deviations"]["best actions"]


@pytest.mark.slow
def test_the_page_is_made_of_what_is_stored(runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["--runs", str(runs), "--episodes", "2", "--out", str(tmp_path)])
    text = (tmp_path / "README.md").read_text()
    capsys.readouterr()
    main(["--page", "--out", str(tmp_path)])
    assert capsys.readouterr().out == f"{text}\n"
    assert text.count("\n| sac |") == text.count("\n| td3 |") == 3
    assert "reset_noise_scale=0.5" in text


def test_a_folder_without_runs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="is to hold finished runs in one environment, found none"):
        main(["--runs", str(tmp_path), "--out", str(tmp_path)])


def test_an_interval_over_runs_is_students() -> None:
    assert over_runs([1.0, 2.0, 3.0], 3) == "2.000 [-0.484, 4.484]"
    assert over_runs([1.0], 3) == over_runs([1.0, 1.0], 3) == "1.000"
