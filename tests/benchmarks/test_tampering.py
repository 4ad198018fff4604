"""A run that somebody changed: what verify says of it, and what the leaderboard does with it.

Each tampering is done to a copy of a real run, all its files changed consistently, as one who wants to win would.
"""

import json
import os
import shutil
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from tiltyard.benchmarks import Run, Suite, docs
from tiltyard.benchmarks.cli import main
from tiltyard.benchmarks.leaderboard import Board, print_leaderboard
from tiltyard.benchmarks.leaderboard.admission import core
from tiltyard.benchmarks.leaderboard_commands import reported
from tiltyard.benchmarks.plausible import score_limits
from tiltyard.benchmarks.runs import CHECKPOINT, CURVE, FINAL, RUN, read_run
from tiltyard.benchmarks.suites import Entry, Task
from tiltyard.benchmarks.verified import verified_names
from tiltyard.benchmarks.verify import FAILED, PASSED, Verification, verify
from tiltyard.benchmarks.verify_submission import _picked
from tiltyard.envs.catalogue import ROWS, find

HOPPER, WALKER = "tiltyard/Hopper-v5", "tiltyard/Walker2d-v5"
PPO = {"policy_kwargs": {"net_arch": [16]}, "n_steps": 32, "n_envs": 2, "batch_size": 32}
SUITE = Suite("tiny", "", (Task(HOPPER, (Entry("ppo", 64, 1.0, PPO),), eval_episodes=6, eval_points=2),), (0, 1))
TOML = """
seeds = [0, 1]
[[tasks]]
env_id = "tiltyard/Hopper-v5"
eval_episodes = 6
eval_points = 2
[[tasks.entries]]
agent = "ppo"
budget = 64
params = {policy_kwargs = {net_arch = [16]}, n_steps = 32, n_envs = 2, batch_size = 32}
"""


@pytest.fixture(scope="module")
def genuine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two finished runs, seeds 0 and 1."""
    root = tmp_path_factory.mktemp("genuine")
    for run in SUITE.runs():
        run.execute(root)
    return root


@pytest.fixture
def root(genuine: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(genuine, tmp_path / "runs"))


def folder_of(root: Path) -> Path:
    return SUITE.runs()[0].folder(root)


def forge(
    folder: Path,
    *,
    scores: Callable[[Any], Any] | None = None,
    episodes: int | None = None,
    timesteps: int | None = None,
    facts: dict[str, Any] | None = None,
    **changes: Any,
) -> Path:
    """The run in ``folder`` with other contents, all files and the folder's name fitting each other."""
    record, final = (json.loads((folder / name).read_text()) for name in (RUN, FINAL))
    with np.load(folder / CURVE) as found:
        points = dict(found)
    if episodes is not None:
        best = np.argsort(points["results"][-1])[::-1][:episodes]
        points = {name: values if name == "timesteps" else values[:, best] for name, values in points.items()}
        changes["eval_episodes"] = episodes
    if scores is not None:
        points["results"] = scores(points["results"])
    if timesteps is not None:
        final["timesteps"] = points["timesteps"][-1] = timesteps
    run = Run(**{**record["run"], **changes})
    record |= {"run": vars(run), "command": run.command, **(facts or {})}
    final |= {name: points[key][-1].tolist() for name, key in (("scores", "results"), ("successes", "successes"))}
    final["normalised"] = find(run.env_id).normalise(float(np.mean(final["scores"])))
    (folder / FINAL).write_text(json.dumps(final))
    np.savez(folder / CURVE, **points)
    (folder / RUN).write_text(json.dumps(record))
    return folder.rename(folder.with_name(run.name))


def copied(root: Path, name: str = "copy") -> Path:
    return Path(shutil.copytree(folder_of(root), root / name))


def dup_link(root: Path) -> Path:
    """The folder AAA-dup, which comes first by name and leads to a better run of seed 0 elsewhere."""
    elsewhere = Path(shutil.copytree(folder_of(root), root.parent / "elsewhere" / folder_of(root).name))
    forge(elsewhere, scores=lambda x: x + 1000)
    (root / "AAA-dup").symlink_to(elsewhere)
    return root / "AAA-dup"


def dup_settings(root: Path) -> Path:
    """Seed 0 again, better, under a digest of its own: with one evaluation more."""
    return forge(copied(root), eval_points=3, scores=lambda x: x + 1000)


def unknown_agent(root: Path) -> Path:
    return forge(folder_of(root), agent="nobody:Nothing")


def another_agent(root: Path) -> Path:
    return forge(folder_of(root), agent="sac", params={"policy_kwargs": {"net_arch": [16]}})


def million(root: Path) -> Path:
    return forge(folder_of(root), scores=lambda x: np.full_like(x, 3.1626e9))


def plausible_scores(root: Path) -> Path:
    return forge(folder_of(root), scores=lambda x: 20 * x)


def one_episode(root: Path) -> Path:
    return forge(folder_of(root), episodes=1)


def small_budget(root: Path) -> Path:
    return forge(folder_of(root), budget=8)


def large_budget(root: Path) -> Path:
    return forge(folder_of(root), budget=1_000_000, timesteps=1_000_000)


def added_task(root: Path) -> Path:
    return forge(copied(root), env_id=WALKER, agent="sac", params={})


def other_versions(root: Path) -> Path:
    record = json.loads((folder_of(root) / RUN).read_text())
    return forge(folder_of(root), facts={"versions": record["versions"] | {"mujoco": "3.10.0"}})


def all_successes(root: Path) -> Path:
    """Of a run that is said to be of another machine, so that its evaluation need not be equal bit for bit."""
    folder = forge(folder_of(root), facts={"hardware": "a larger machine"})
    with np.load(folder / CURVE) as found:
        points = dict(found)
    points["successes"] = np.ones_like(points["successes"])
    np.savez(folder / CURVE, **points)
    final = json.loads((folder / FINAL).read_text())
    (folder / FINAL).write_text(json.dumps(final | {"successes": [True] * 6}))
    return folder


def early_evaluation(root: Path) -> Path:
    """The curve's first point, of step 32, as one of step 2: what rises early has a larger area under its curve."""
    folder = folder_of(root)
    with np.load(folder / CURVE) as found:
        points = dict(found)
    points["timesteps"][0] = 2
    np.savez(folder / CURVE, **points)
    return folder


def other_seed(root: Path) -> Path:
    return forge(folder_of(root), seed=7)


def changed_tree(root: Path) -> Path:
    return forge(folder_of(root), facts={"commit": "0123456789abcdef+changes"})


def not_a_number(root: Path) -> Path:
    final = json.loads((folder_of(root) / FINAL).read_text())
    final["scores"][0] = float("nan")
    (folder_of(root) / FINAL).write_text(json.dumps(final))
    return folder_of(root)


def truncated(root: Path) -> Path:
    for name in (RUN, FINAL, CURVE):
        os.truncate(folder_of(root) / name, (folder_of(root) / name).stat().st_size // 2)
    return folder_of(root)


def stored_normalised(root: Path) -> Path:
    final = json.loads((folder_of(root) / FINAL).read_text())
    (folder_of(root) / FINAL).write_text(json.dumps(final | {"normalised": 0.99}))
    return folder_of(root)


def other_command(root: Path) -> Path:
    record = json.loads((folder_of(root) / RUN).read_text())
    (folder_of(root) / RUN).write_text(json.dumps(record | {"command": "rm -r ."}))
    return folder_of(root)


def other_checkpoint(root: Path) -> Path:
    shutil.copy(SUITE.runs()[1].folder(root) / CHECKPOINT, folder_of(root) / CHECKPOINT)
    return folder_of(root)


def pickled_checkpoint(root: Path) -> Path:
    (folder_of(root) / CHECKPOINT).write_bytes(b"\x80\x04cposix\nsystem\n")
    return folder_of(root)


class Case(NamedTuple):
    """A tampering: what is said of it in the docs, the check of verify that fails, and the leaderboard's words."""

    tamper: Callable[[Path], Path]
    named: str
    check: str
    board: str = ""
    counts: tuple[int, ...] = (1,)
    """Seeds that the leaderboard still counts."""
    with_suite: str = ""


CASES = [
    Case(dup_link, "a folder `AAA-dup` with seed 0 that replaces the genuine run", "name", "is another name", (0, 1)),
    Case(
        dup_settings,
        "seed 0 again, under a digest of its own",
        "suite",
        "found twice; only Hopper",
        (0, 1),
        "eval_points 3",
    ),
    Case(unknown_agent, "an unknown agent", "", "its code is unknown", (1,)),
    Case(another_agent, "the run called another agent's", "checkpoint", "", (1,)),
    Case(million, "a normalised score of a million", "scores", "is not between"),
    Case(plausible_scores, "scores twenty times as high", "evaluation", "", (0, 1)),
    Case(
        one_episode, "1 of the episodes, the best", "suite", "evaluated on 1 episodes, the others on 6", (1,), "eval_"
    ),
    Case(small_budget, "a budget smaller than what was trained", "suite", "", (0, 1), "budget 8 instead of 64"),
    Case(large_budget, "a made-up budget", "checkpoint", "", (0, 1), "budget 1,000,000 instead of 64"),
    Case(added_task, "an added task that un-ranks a whole domain", "suite", "in no rank", (0, 1), "has no task"),
    Case(other_versions, "mixed versions", "", "left out, of other versions"),
    Case(all_successes, "every episode a success, on a machine that was made up", "evaluation", "", (0, 1)),
    Case(early_evaluation, "evaluations at earlier steps", "episodes", "", (0, 1)),
    Case(other_seed, "a run called another seed's", "checkpoint", "", (1, 7)),
    Case(changed_tree, "a run from a changed tree", "", "runs started from a changed tree", (0, 1)),
    Case(not_a_number, "NaN among the scores", "files", "must hold finite numbers"),
    Case(truncated, "truncated files", "files", "is damaged"),
    Case(stored_normalised, "another normalised score in `final.json`", "normalised", "", (0, 1)),
    Case(other_command, "another command", "command", "", (0, 1)),
    Case(other_checkpoint, "another run's checkpoint", "checkpoint", "", (0, 1)),
    Case(pickled_checkpoint, "a checkpoint that is a pickle", "checkpoint", "", (0, 1)),
]
PAGE = docs.DOCS / "verify.md"


def failed(found: Verification) -> list[str]:
    return [check.name for check in found.checks if check.state == FAILED]


def test_a_genuine_run_is_verified_bit_for_bit(root: Path) -> None:
    found = verify(folder_of(root), suite=SUITE)
    assert found.verdict == "verified", found.checks
    assert found.checks[-1].said == "the same 6 returns and successes, bit for bit"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.tamper.__name__)
def test_verify_finds_what_was_changed(root: Path, case: Case, capsys: pytest.CaptureFixture[str]) -> None:
    folder = case.tamper(root)
    found = verify(folder, suite=SUITE if case.check == "suite" else None, play=case.check in ("", "evaluation"))
    assert case.check in ("", *failed(found)), found.checks
    assert bool(found.faults) == bool(case.check)
    if not case.check:
        assert found.verdict == "consistent" or case.tamper is other_versions or case.tamper is changed_tree
    assert main(["verify", str(folder), "--no-play"]) == int(bool(set(failed(found)) - {"suite", "evaluation"}))
    assert "Traceback" not in capsys.readouterr().err


def board_of(root: Path, suite: Suite | None = None) -> Board:
    return print_leaderboard(reported(root, suite))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.tamper.__name__)
def test_the_leaderboard_names_it_or_leaves_it_out(root: Path, case: Case, capsys: pytest.CaptureFixture[str]) -> None:
    case.tamper(root)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        board = board_of(root)
        said = capsys.readouterr()
    shown = " ".join(f"{said.out} {said.err} {' '.join(str(one.message) for one in told)}".split())
    assert case.board in shown
    ours = [result for result in board.results if result.agent.startswith("ppo") and result.task == HOPPER]
    assert tuple(sorted(run.run.seed for result in ours for run in result.runs)) == case.counts
    if case.with_suite:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            board = board_of(root, SUITE)
        assert case.with_suite in capsys.readouterr().err
        assert {run.run.name for run in board.runs} <= {run.name for run in SUITE.runs()}


def test_an_added_task_takes_nobody_out_of_the_ranks(root: Path) -> None:
    for agent, env_id in (("sac", HOPPER), ("td3", HOPPER), ("td3", WALKER)):
        assert forge(copied(root), agent=agent, env_id=env_id, params={}).is_dir()
    (section,) = board_of(root).sections
    assert section.ranked_on == (HOPPER,)
    assert {standing.agent for standing in section.standings if standing.rank} == {"ppo", "sac", "td3"}


def test_ranks_are_of_the_tasks_that_most_agents_ran() -> None:
    assert core({"a": "xy", "b": "xy", "c": "x"}, {}) == {"x", "y"}
    assert core({"a": "x", "b": "x", "c": "xyz"}, {}) == {"x"}
    assert core({"a": "x", "b": "xy"}, {}) == {"x", "y"}
    assert core({"a": "x", "b": "y"}, {"a": 3, "b": 2}) == {"x"}


def test_the_docs_have_a_row_for_every_tampering() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert [case.named for case in CASES if f"| {case.named} |" not in text] == []


def test_verified_rows_are_marked_until_their_files_change(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = tmp_path / "verified.json"
    assert main(["verify", str(root), "--record", str(record)]) == 0
    assert "2 runs: 2 verified (2 bit for bit), 0 consistent, 0 faulty" in capsys.readouterr().out
    line = ["leaderboard", str(root), "--verified", str(record), "--out", str(tmp_path / "site")]
    assert main(line) == 0
    assert "ppo ✓" in capsys.readouterr().out
    assert "✓ verified" in (tmp_path / "site" / "index.html").read_text()
    plausible_scores(root)
    kept = reported(root)
    assert verified_names(record, kept) == {SUITE.runs()[1].name}
    print_leaderboard(kept, verified=verified_names(record, kept))
    assert "ppo ✓" not in capsys.readouterr().out


def test_without_a_checkpoint_everything_else_is_checked(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder_of(root) / CHECKPOINT).unlink()
    assert main(["verify", str(folder_of(root))]) == 0
    said = capsys.readouterr().out
    assert "no checkpoint.zip here: everything was checked but the evaluation" in said
    assert said.splitlines()[-2].startswith("1 runs: 0 verified, 1 consistent")
    million(root)
    assert verify(folder_of(root)).verdict == "faulty"


def test_evaluate_says_whether_the_stored_scores_come_out_again(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", str(folder_of(root))]) == 0
    assert "stored: the same 6 returns and successes, bit for bit" in capsys.readouterr().out
    plausible_scores(root)
    assert main(["evaluate", str(folder_of(root))]) == 1
    assert "stored: 6 of 6 returns differ" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["csv", "hf"])
def test_what_counts_on_no_board_is_not_exported(
    name: str, root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    forged = forge(copied(root), seed=2, scores=lambda x: x + 1e6).name
    assert main(["export", str(root), "--format", name, "--out", str(tmp_path / "out")]) == 0
    assert f"left out: {forged}: they count on no leaderboard" in capsys.readouterr().err
    (table,) = (tmp_path / "out").rglob("runs.csv")
    assert forged not in table.read_text()
    assert all(run.name in table.read_text() for run in SUITE.runs())


def submission(root: Path, **fields: str) -> Path:
    table = {"agent": "checkpoint", "suite": "smoke", "command": "tiltyard race smoke", **fields}
    text = "".join(f"{name} = {json.dumps(value)}\n" for name, value in table.items())
    (root.parent / "submission.toml").write_text(text)
    return root.parent


def test_a_submission_needs_every_seed_and_its_suites_tasks(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = submission(root, suite="control-v1")
    assert main(["verify", str(folder), "--no-play"]) == 1
    said = capsys.readouterr().out
    assert "FAULT  ppo on tiltyard/Hopper-v5 lacks seeds 2, 3, 4 of control-v1" in said
    assert "suite: eval_episodes 6 instead of 20, as suite control-v1 has it" in said
    (folder_of(root) / CHECKPOINT).unlink()
    assert main(["verify", str(folder), "--no-play"]) == 1
    assert "a submission by checkpoint needs its checkpoint.zip" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"agents": "x"}, "unknown field 'agents'"),
        ({"suite": "mine.toml"}, "is the name of one of ours"),
        ({"suite": "smokk"}, "unknown suite 'smokk'"),
        ({"runs": "../../elsewhere"}, "inside the submission"),
    ],
)
def test_a_submission_is_read_strictly(
    root: Path, fields: dict[str, str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify", str(submission(root, **fields))]) == 2
    assert said in capsys.readouterr().err


def test_a_submission_needs_every_seed_of_each_condition(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for seed in 2, 3, 4:
        forge(copied(root), seed=seed)
    forge(SUITE.runs()[1].folder(root), params={**PPO, "gamma": 0.9})
    assert main(["verify", str(submission(root, suite="control-v1")), "--no-play"]) == 1
    said = capsys.readouterr().out
    assert "FAULT  ppo on tiltyard/Hopper-v5 lacks seeds 1 of control-v1" in said
    assert "FAULT  ppo, gamma=0.9 on tiltyard/Hopper-v5 lacks seeds 0, 2, 3, 4 of control-v1" in said


def test_a_submission_by_checkpoint_is_of_an_agent_of_ours(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    forge(folder_of(root), agent="spies:Spy")
    assert main(["verify", str(submission(root, suite="control-v1")), "--no-play"]) == 1
    assert 'agent spies:Spy is none of ours: its submission says agent = "spies:Spy"' in capsys.readouterr().out


def test_a_module_is_imported_only_with_trust(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "spies.py").write_text(
        "from pathlib import Path\nfrom stable_baselines3 import PPO\n"
        f"Path({str(tmp_path / 'ran')!r}).touch()\nclass Spy(PPO):\n    pass\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path / "code"))
    folder = forge(folder_of(root), agent="spies:Spy")
    shutil.rmtree(SUITE.runs()[1].folder(root))
    for path in (folder, submission(root, agent="spies:Spy")):
        main(["verify", str(path)])
        assert "not imported without --trust" in capsys.readouterr().out
        assert not (tmp_path / "ran").exists()
    main(["verify", str(folder), "--trust"])
    assert (tmp_path / "ran").exists()


def test_a_suite_file_can_be_given(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "tiny.toml").write_text(TOML)
    assert main(["verify", str(folder_of(root)), "--suite", str(tmp_path / "tiny.toml"), "--no-play"]) == 0
    assert "a run of tiny" in capsys.readouterr().out


@pytest.mark.parametrize("content", ['{"a": 1}', '{"Hopper-v5-sac-s0-0123abcd": "verified"}'])
def test_what_is_no_record_of_verified_runs_is_refused(content: str, tmp_path: Path) -> None:
    (tmp_path / "record.json").write_text(content)
    with pytest.raises(ValueError, match="is no record of verified runs, which is what"):
        verified_names(tmp_path / "record.json", [])


@pytest.mark.parametrize("env_id", [row.id for row in ROWS if row.scored])
def test_what_a_random_policy_and_the_expert_get_can_be(env_id: str) -> None:
    """Of costs too (Reacher, Pusher), whose experts' returns are below 0 and random ones far below -10."""
    row = find(env_id)
    low, high = score_limits(row, Run(env_id, "ppo", 0, 100))
    assert low < 2 * min(row.random_score, 0) + min(0, row.random_score)
    assert max(row.expert_score, 1.0 if row.expert_score <= 1 else 0.0) <= high


def test_a_plugins_scale_ends_nowhere_that_its_row_does_not_say() -> None:
    row = replace(find(HOPPER), id="corridor/Corridor-v0", random_score=-30.0, expert_score=0.5)
    low, high = score_limits(row, Run(HOPPER, "ppo", 0, 100))
    assert low < -30
    assert high > 2


def test_a_score_below_a_random_policys_is_told_with_its_sign(root: Path) -> None:
    folder = forge(folder_of(root), scores=lambda x: x - 1000)
    check = next(one for one in verify(folder, play=False).checks if one.name == "normalised")
    assert check.state == PASSED
    assert check.said == f"{read_run(folder).normalised:.6g} follows from the returns"
    assert check.said.startswith("-0.")


def test_seeds_beside_a_suites_could_have_been_picked() -> None:
    assert _picked({0, 1, 2}, (0, 1, 2)) == _picked({0, 1}, (0, 1, 2)) == []
    assert _picked({0, 1, 2, 3, 4}, (0, 1, 2)) == []
    assert _picked({0, 1, 2, 3, 5}, (0, 1, 2)) == [3, 5]
    assert _picked({0, 1, 2, 57}, (0, 1, 2)) == [57]


def test_a_submission_with_picked_seeds_is_faulty(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    forge(copied(root), seed=57)
    assert main(["verify", str(submission(root, suite="control-v1")), "--no-play"]) == 1
    assert "FAULT  ppo on tiltyard/Hopper-v5 has seeds 57 besides those of control-v1" in capsys.readouterr().out
