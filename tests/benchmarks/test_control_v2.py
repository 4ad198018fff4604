"""The suite control-v2: the same for all that replay, a budget of its own for PPO, and a race of it that resumes."""

from dataclasses import replace
from pathlib import Path

import pytest

from tiltyard.benchmarks import Suite, race
from tiltyard.benchmarks.power import too_few
from tiltyard.benchmarks.scores import last_five, raw_score
from tiltyard.benchmarks.suites import find

SUITE = find("control-v2")
REPLAYED = {"sac", "sb3-sac", "td3", "dsac-t", "tqc", "crossq", "hl-gauss", "fast-td3"}


def test_all_that_replay_have_the_same_networks_batches_and_updates_a_step() -> None:
    same = ("learning_starts", "batch_size", "learning_rate", "buffer_size", "preset")
    for task in SUITE.tasks:
        entries = {entry.agent: entry for entry in task.entries}
        assert entries.keys() == REPLAYED | {"stream-x", "fast-ppo"}
        assert len({tuple(entries[agent].params[name] for name in same) for agent in REPLAYED}) == 1
        assert {tuple(entries[agent].params["policy_kwargs"]["net_arch"]) for agent in REPLAYED} == {(256, 256)}
        updates = {agent: entries[agent].params["gradient_steps"] for agent in REPLAYED}
        assert {agent: n for agent, n in updates.items() if n != 1} == {"fast-td3": -1}  # as many as steps of its 64
        assert {entry.budget for entry in task.entries if entry.agent != "fast-ppo"} == {100_000}
        assert entries["fast-ppo"].budget == 3_000_000
        assert (task.eval_points, task.eval_sampled) == (20, False)
    assert SUITE.score == "last-five"


@pytest.mark.parametrize(
    ("name", "agents"),
    [
        ("control-v2-halfcheetah", {"sac", "td3", "dsac-t", "stream-x", "fast-ppo"}),
        ("control-v2-hopper", {"sac", "stream-x", "fast-ppo"}),
        ("control-v2-walker2d", {"sac", "td3", "stream-x", "fast-ppo"}),
        ("control-v2-hopper-off-policy", {"sac", "td3", "dsac-t"}),
        ("control-v2-walker2d-off-policy", {"sac", "td3", "dsac-t"}),
        ("control-v2-halfcheetah-off-policy", {"sac", "td3", "hl-gauss", "tqc"}),
    ],
)
def test_one_runner_alone_is_the_same_race_with_fewer_agents(name: str, agents: set[str]) -> None:
    small = find(name)
    (task,) = small.tasks
    whole = next(one for one in SUITE.tasks if one.env_id == task.env_id)
    assert {entry.agent for entry in task.entries} == agents
    assert set(task.entries) <= set(whole.entries)
    assert replace(task, entries=whole.entries) == whole
    assert (small.seeds, small.score) == (SUITE.seeds, SUITE.score)
    assert [comparison.reference for comparison in small.comparisons] == ["sac"]


@pytest.mark.parametrize(
    ("name", "gammas", "reference"),
    [
        ("control-v2-swimmer", [0.99, 0.9999], "fast-ppo, gamma=0.99"),
        ("control-v2-ant", [None], "fast-ppo"),
        ("control-v2-humanoid", [None], "fast-ppo"),
    ],
)
def test_ppo_is_raced_with_the_settings_of_the_whole_where_nothing_replays(
    name: str, gammas: list[float | None], reference: str
) -> None:
    suite = find(name)
    (task,) = suite.tasks
    whole = SUITE.tasks[0]
    ours = {entry.agent: entry for entry in whole.entries}
    proximal = [entry for entry in task.entries if entry.agent == "fast-ppo"]
    assert [entry.params.get("gamma") for entry in proximal] == gammas
    for entry in proximal:
        assert {**entry.params, "gamma": None} == {**ours["fast-ppo"].params, "gamma": None}
        assert entry.budget == ours["fast-ppo"].budget
    (streamed,) = (entry for entry in task.entries if entry.agent == "stream-x")
    assert (streamed.params, streamed.budget) == (ours["stream-x"].params, ours["stream-x"].budget)
    assert (task.eval_episodes, task.eval_points) == (whole.eval_episodes, whole.eval_points)
    assert (suite.seeds, suite.score) == (SUITE.seeds, SUITE.score)
    assert [comparison.reference for comparison in suite.comparisons] == [reference]
    assert reference in {entry.label for entry in task.entries}
    assert not too_few(suite)


def test_rollouts_on_swimmer_differ_in_their_shape_and_their_horizon_alone() -> None:
    suite = find("control-v2-swimmer-rollouts")
    (task,) = suite.tasks
    varied = ("n_envs", "n_steps", "gamma", "gae_lambda")
    shapes = [tuple(entry.params[name] for name in varied) for entry in task.entries]
    assert shapes == [
        (128, 128, 0.9999, 0.98),
        (16, 1024, 0.9999, 0.98),
        (16, 1024, 0.9999, 0.95),
        (16, 1024, 0.99, 0.98),
    ]
    others = [{**entry.params, **dict.fromkeys(varied)} for entry in task.entries]
    assert others == others[:1] * 4
    assert {entry.budget for entry in task.entries} == {1_000_000}
    assert 0 not in suite.seeds, "its conditions were chosen by runs with seed 0"
    assert [comparison.reference for comparison in suite.comparisons] == [task.entries[0].label]
    assert not too_few(suite)


@pytest.mark.parametrize(
    ("name", "agents", "reference"),
    [
        ("control-v2-offline", {"bc", "td3-bc", "iql"}, "bc"),
        ("control-v2-offline-weighted", {"bc", "iql", "awac", "trajectory-weighting", "f-dvl-recoil"}, "iql"),
    ],
)
def test_offline_agents_differ_in_their_method_alone_and_in_what_is_compiled(
    name: str, agents: set[str], reference: str
) -> None:
    suite = find(name)
    (task,) = suite.tasks
    assert {entry.agent for entry in task.entries} == agents
    assert {entry.budget for entry in task.entries} == {0}
    same = [{name: value for name, value in e.params.items() if name != "compiled"} for e in task.entries]
    assert same == [same[0]] * len(agents)
    assert same[0]["offline_steps"] == 100_000
    assert (suite.score, suite.comparisons[0].reference) == ("last-five", reference)
    assert suite.datasets[task.dataset].policy == "replay"


def test_one_update_a_step_is_done_by_one_environment_and_by_64() -> None:
    from tiltyard.agents import make

    for agent in ("sac", "fast-td3"):
        (entry,) = (one for one in SUITE.tasks[1].entries if one.agent == agent)
        assert entry.params["compiled"]
        small = {"learning_starts": 64, "batch_size": 8, "policy_kwargs": {"net_arch": [8]}, "compiled": False}
        made = make(agent, SUITE.tasks[1].env_id, seed=0, **{**entry.params, **small})
        made.learn(128)
        assert made.num_timesteps == 128
        assert made._n_updates == 128 - 64


@pytest.fixture(scope="module")
def tiny() -> Suite:
    """control-v2 on Hopper, with budgets and evaluations of a test."""
    small = {"learning_starts": 128, "batch_size": 16, "buffer_size": 1_000, "policy_kwargs": {"net_arch": [16]}}
    small["compiled"] = False
    task = next(task for task in SUITE.tasks if "Hopper" in task.env_id)
    entries = (
        *(replace(e, budget=384, params={**e.params, **small}) for e in task.entries if e.agent == "fast-td3"),
        *(
            replace(e, budget=768, params={**e.params, "n_steps": 1, "batch_size": 64})
            for e in task.entries
            if e.agent == "fast-ppo"
        ),
    )
    task = replace(task, entries=entries, eval_episodes=2, eval_points=6)
    return replace(SUITE, tasks=(task,), seeds=(0,), comparisons=())


def test_it_races_through_the_engine_and_goes_on_from_what_is_finished(tiny: Suite, tmp_path: Path) -> None:
    first = tiny.runs(agents=["fast-td3"])[0].execute(tmp_path)
    before = (first.folder / "final.json").stat().st_mtime_ns
    runs = race(tiny, root=tmp_path, workers=1)
    assert {run.run.agent for run in runs} == {"fast-td3", "fast-ppo"}
    assert (first.folder / "final.json").stat().st_mtime_ns == before
    for run in runs:
        assert len(run.curve) == 6
        returns = [point[1] for point in run.curve]
        assert raw_score(run, SUITE.score) == last_five(run) == pytest.approx(sum(returns[1:]) / 5)
