"""The study of what steps in the environment add to what was learnt from data."""

import json
from pathlib import Path

import pytest

from tiltyard.benchmarks import Run
from tiltyard.benchmarks.datasets import make_dataset
from tiltyard.benchmarks.studies.offline_to_online import ALONE, ARMS, CHANGES, MIXED, ONLINE, POINTS, main, of, report

CHEETAH = "tiltyard/HalfCheetah-v5"
SMALL = {"dataset": "tiltyard/halfcheetah/random-v0", "offline_steps": 4, "batch_size": 8, "preset": "none"}
EARLY = {"learning_starts": 4, "policy_kwargs": {"net_arch": [8]}}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Finished runs from data, and what was made of them by going on for 20 steps or updates."""
    runs, done = tmp_path_factory.mktemp("runs"), tmp_path_factory.mktemp("done")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MINARI_DATASETS_PATH", str(tmp_path_factory.mktemp("data")))
        make_dataset(CHEETAH, "random", episodes=2)
        for agent in ("iql", "td3-bc", "bc"):
            params = {**SMALL, **EARLY} if agent != "bc" else SMALL
            Run(CHEETAH, agent, 3, 0, params, eval_episodes=2, eval_points=1).execute(runs)
        main(["run", "--runs", str(runs), "--steps", "20", "--done", str(done)])
        main(["run", "--mixed", "--runs", str(runs), "--steps", "20", "--done", str(done)])
    return runs, done


@pytest.mark.slow
def test_both_arms_begin_as_the_run_ended_and_then_differ(made: tuple[Path, Path]) -> None:
    runs, done = made
    records = [json.loads(file.read_text()) for file in sorted(done.glob("*.json"))]
    assert len(records) == len(CHANGES) * len(ARMS) + 1  # BC does not go on
    for agent in CHANGES:
        (online,), (alone,) = (list(of(records, agent, arm).values()) for arm in ARMS)
        (finished,) = runs.glob(f"*-{agent}-s3-*")
        before = json.loads((finished / "final.json").read_text())["normalised"]
        assert online["scores"][0] == alone["scores"][0] == pytest.approx(before)
        assert online["scores"][1:] != alone["scores"][1:]
        assert online["scores"][-1] != online["scores"][0] != alone["scores"][-1]  # both have learnt
        for one in (online, alone):
            assert one["timesteps"] == [20 * i // POINTS for i in range(POINTS + 1)]
            assert len(one["scores"]) == POINTS + 1


@pytest.mark.slow
def test_sac_with_the_data_mixed_in_has_a_curve_of_its_own(made: tuple[Path, Path]) -> None:
    (told,) = (json.loads(file.read_text()) for file in made[1].glob("sac-mixed-s3.json"))
    assert told["timesteps"] == [20 * i // POINTS for i in range(POINTS + 1)]
    assert told["settings"]["params"]["offline_ratio"] == 0.5
    assert told["settings"]["params"]["learning_starts"] == 5_000  # as in the race of SAC without data
    assert len(told["scores"]) == POINTS + 1


@pytest.mark.slow
def test_what_was_run_is_not_run_again(made: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    runs, done = made
    before = {file: file.stat().st_mtime_ns for file in done.glob("*.json")}
    main(["run", "--runs", str(runs), "--steps", "20", "--done", str(done), "--seeds", "3"])
    assert capsys.readouterr().out.count(" before, ") == len(before) - 1 == 4
    assert {file: file.stat().st_mtime_ns for file in done.glob("*.json")} == before
    with pytest.raises(ValueError, match="no finished run of iql or td3-bc with these seeds"):
        main(["run", "--runs", str(runs), "--done", str(done), "--seeds", "4"])


def stored(folder: Path, agent: str, arm: str, seed: int, scores: list[float]) -> None:
    about = {"commit": "a", "hardware": "b", "versions": {"torch": "2"}, "cpu_seconds": 60.0}
    settings = {"agent": agent, "arm": arm, "from": "x", "steps": 20}
    told = {"settings": settings, "env": CHEETAH, "seed": seed, "timesteps": list(range(0, 21, 2)), "scores": scores}
    (folder / f"{agent}-{arm}-{seed}.json").write_text(json.dumps({**told, **about}))


def test_differences_are_within_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for seed, start in ((0, 0.2), (1, 0.6)):
        stored(tmp_path, "iql", ONLINE, seed, [start, start - 0.1, *[start] * 4, *[start + 0.3] * 5])
        stored(tmp_path, "iql", ALONE, seed, [start, *[start] * 5, *[start + 0.2 + 0.02 * seed] * 5])
        stored(tmp_path, "sac", MIXED, seed, [0.0] * 6 + [0.8 + 0.1 * seed] * 5)
    report(tmp_path, tmp_path / "out", "report")
    page = (tmp_path / "out" / "README.md").read_text()
    assert capsys.readouterr().out == f"{page}\n"
    assert (
        "| iql | 2 | 0.400 [-2.141, 2.941] | 0.700 [-1.841, 3.241] | 0.610 [-2.058, 3.278] | 0.090 [-0.037, 0.217] |"
        in page
    )
    assert "| iql | -0.100" in page
    assert "| SAC, data mixed in | 2 | 0.850 [0.215, 1.485] |" in page
    assert "| iql, online | 0.400 [-2.141, 2.941] | 0.400 [-2.141, 2.941] | 0.700 [-1.841, 3.241] |" in page
    assert "| td3-bc |" not in page
    assert (tmp_path / "out" / "curves.png").stat().st_size > 10_000
    assert len(json.loads((tmp_path / "out" / "results.json").read_text())["runs"]) == 6


def test_arms_with_other_seeds_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="holds no run yet"):
        report(tmp_path, tmp_path, "report")
    stored(tmp_path, "iql", ONLINE, 0, [0.0] * 11)
    with pytest.raises(ValueError, match=r"iql has the seeds \[0\] online and \[\] from data alone"):
        report(tmp_path, tmp_path / "out", "report")
