import ast
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

import tiltyard.benchmarks.suites
from tiltyard.agents import make
from tiltyard.agents.catalogue import find as find_agent
from tiltyard.agents.models.pretrained import PRETRAINED
from tiltyard.agents.objectives.catalogue import ROWS as METHODS
from tiltyard.benchmarks import Run, Suite
from tiltyard.benchmarks.execution import OF_RUN
from tiltyard.benchmarks.suites import RELEASED, SUITES, Comparison, Entry, Task, find
from tiltyard.envs.catalogue import find as find_env

SMALL = Suite(
    "small",
    "",
    (
        Task("tiltyard/Hopper-v5", (Entry("sac", 100, 3.0), Entry("td3", 200, 1.0)), eval_episodes=5, eval_points=2),
        Task("tiltyard/Highway-v0", (Entry("sac", 300, 2.0),), eval_episodes=7),
    ),
    (0, 1),
)


def test_a_race_is_agents_by_tasks_by_seeds_the_longest_first():
    hopper, highway = "tiltyard/Hopper-v5", "tiltyard/Highway-v0"
    assert SMALL.runs() == [
        Run(hopper, "sac", 0, 100, eval_episodes=5, eval_points=2),
        Run(hopper, "sac", 1, 100, eval_episodes=5, eval_points=2),
        Run(highway, "sac", 0, 300, eval_episodes=7, eval_points=6),
        Run(highway, "sac", 1, 300, eval_episodes=7, eval_points=6),
        Run(hopper, "td3", 0, 200, eval_episodes=5, eval_points=2),
        Run(hopper, "td3", 1, 200, eval_episodes=5, eval_points=2),
    ]
    assert SMALL.core_seconds == 2 * (3.0 + 1.0 + 2.0)


def test_agents_and_seeds_can_be_chosen_once_each():
    assert [(run.agent, run.seed) for run in SMALL.runs(agents=["td3", "td3"], seeds=[7, 7])] == [("td3", 7)]


def test_methods_are_chosen_by_their_own_names():
    text = find("text-v1")
    chosen = text.runs(agents=["gspo"], seeds=[0])
    assert {run.params["method"] for run in chosen} == {"gspo"}
    assert len(chosen) == len(text.tasks)
    assert text.runs(agents=["grpo"]) == text.runs()  # the agent of them all


def test_an_entrys_params_reach_its_runs():
    suite = Suite("one", "", (Task("tiltyard/Hopper-v5", (Entry("sac", 9, 1.0, {"gamma": 0.9}),)),), (0,))
    assert suite.runs()[0].params == {"gamma": 0.9}


def test_a_tasks_level_and_way_of_evaluation_reach_its_runs():
    entries = (Entry("grpo", 9, 1.0, {"method": "rloo"}),)
    task = Task("tiltyard/Maze-v0", entries, env_kwargs={"level": 2}, eval_sampled=True)
    run = Suite("one", "", (task,), (0,)).runs()[0]
    assert run.params == {"env_kwargs": {"level": 2}, "eval_sampled": True, "method": "rloo"}
    assert run.task == "tiltyard/Maze-v0 with level=2"


def test_an_unknown_suite_or_agent_is_refused_with_the_nearest_name():
    with pytest.raises(KeyError, match="unknown suite 'smok'; did you mean 'smoke'"):
        find("smok")
    with pytest.raises(KeyError, match="unknown agent 'sacc'; did you mean 'sac'"):
        SMALL.runs(agents=["sacc"])
    with pytest.raises(KeyError, match="unknown agent in suite 'small' 'ppo'"):
        SMALL.runs(agents=["ppo"])


@pytest.mark.parametrize("suite", SUITES, ids=lambda suite: suite.name)
def test_every_run_of_every_suite_can_start(suite):
    runs = suite.runs()
    for run in runs:
        run.check()
    assert len({run.name for run in runs}) == len(runs)


@pytest.mark.parametrize("suite", SUITES, ids=lambda suite: suite.name)
def test_every_control_agent_of_every_suite_can_be_made(suite):
    """What a keyword asks for may be something that an agent does not have, which its constructor alone knows."""
    for run in suite.runs(seeds=suite.seeds[:1]):
        if run.row.kind == "control":
            settings = {name: value for name, value in run.params.items() if name not in OF_RUN}
            env = make(run.agent, run.env_id, seed=run.seed, **settings).get_env()
            assert env is not None
            env.close()


def test_released_suites_are_what_they_were():
    assert {suite.name: suite.digest for suite in SUITES if suite.name in RELEASED} == RELEASED


@pytest.mark.parametrize(
    "change",
    [
        lambda suite: replace(suite, seeds=suite.seeds[1:]),
        lambda suite: replace(suite, tasks=suite.tasks[1:]),
        lambda suite: replace(suite, datasets={}),
        lambda suite: replace(suite, comparisons=suite.comparisons[1:]),
    ],
)
def test_a_suites_digest_is_of_its_content(change):
    suite = find("control-v1")
    assert change(suite).digest != suite.digest
    assert replace(suite, summary="In other words").digest == suite.digest


def test_suites_read_no_catalogue():
    folder = Path(tiltyard.benchmarks.suites.__file__).parent
    own = {"__init__", "files", "suite"}  # what suites are made of, and how they are found
    for path in folder.glob("*.py"):
        if path.stem not in own:
            tree = ast.parse(path.read_text())
            local = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level}
            whole = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
            whole += [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
            assert local == {"suite"}, f"{path.name} imports {local}: a suite is written out"
            assert not [name for name in whole if name.startswith("tiltyard")]


def test_smoke_races_two_agents_in_each_domain_and_a_cloned_expert_over_three_seeds():
    smoke = find("smoke")
    assert {find_env(task.env_id).domain for task in smoke.tasks} == {"text", "gui", "driving", "robotics"}
    assert all(len(task.entries) == (1 if task.dataset else 2) for task in smoke.tasks)
    assert [(task.dataset, task.env_id) for task in smoke.tasks if task.dataset] == [
        (name, recipe.env_id) for name, recipe in smoke.datasets.items()
    ]
    assert len(smoke.runs()) == 27


def test_manipulation_gives_the_same_demonstrations_networks_and_steps_to_all():
    for suite, env_id in [(find("peg-insertion-v1"), "PegInsertion")] + [
        (find("manipulation-v2"), name) for name in ("BoardInsertion", "CableRouting", "ObjectRelocation", "DrawerDoor")
    ]:
        row = find_agent("serl").settings_for(f"tiltyard/{env_id}-v0")
        mine = {(run.agent, run.track): run for run in suite.runs(seeds=[0]) if run.env_id == f"tiltyard/{env_id}-v0"}
        data, online = f"tiltyard/{env_id.lower()}/demonstrations-v0", "offline to online"
        assert suite.datasets[data].settings == {"episodes": 20}
        assert mine.keys() == {("serl", online), ("sac", online), ("bc", "offline")} | (
            {("sac", "online")} if env_id == "PegInsertion" else set()
        )
        assert {run.params.get("dataset") for (_, track), run in mine.items() if track != "online"} == {data}
        assert {run.params["policy_kwargs"]["net_arch"][0] for run in mine.values() if run.agent != "serl"} == {64}
        assert row["policy_kwargs"]["net_arch"] == [64, 64]
        assert {run.budget for run in mine.values() if run.budget} == {mine["serl", online].budget}
        for name in ("batch_size", "learning_starts", "ent_coef", "target_entropy"):
            assert mine["sac", online].params[name] == row[name]
        tuned = {"serl": 1e-3, "sac": 3e-3, "bc": 3e-4}  # docs/results/peg-insertion-v1-tuning
        assert {name: run.params["learning_rate"] for (name, track), run in mine.items() if track != "online"} == tuned


def test_text_races_every_method_with_all_else_equal():
    suite = find("text-v1")
    assert suite.core_seconds <= 6 * 3600
    for task in suite.tasks:
        *entries, base = task.entries
        assert base.params["learning_rate"] == 0
        methods = [entry.params["method"] for entry in entries]
        assert len(set(methods)) == len(methods) == 42
        assert set(methods) <= {row.handle for row in METHODS}
        assert {(entry.agent, entry.budget, entry.params["batch_size"]) for entry in entries} == {
            ("grpo", entries[0].budget, 64)
        }
        assert task.eval_sampled
        policy = find_agent("grpo").settings_for(task.env_id)
        assert policy["warm_start_steps"] == 0
        assert policy["policy"] in PRETRAINED


REGIMES = (
    "text-v2-stale",
    "text-v2-stale-base-2",
    "text-v2-hard",
    "text-v2-hard-base-2",
    "text-v2-pool",
    "text-v2-pool-base-2",
    "text-v2-noisy",
    "text-v2-noisy-base-2",
    "text-v2-length",
    "text-v2-length-base-2",
    "text-v2-turns",
    "text-v2-turns-base-2",
)
GATE = Path(__file__).parents[2] / "docs" / "results" / "gradient-gate"


def gated(name: str) -> dict:
    return json.loads((GATE / f"{name}.json").read_text())


@pytest.mark.parametrize("name", REGIMES)
def test_text_v2_races_few_conditions_of_one_task_alike_but_for_the_method(name):
    suite = find(name)
    ((task,), (compared,)) = suite.tasks, suite.comparisons
    assert (suite.score, suite.paired, suite.seeds) == ("area", True, tuple(range(12)))
    labels = [entry.label for entry in task.entries]
    assert 2 <= len(set(labels)) == len(labels) <= 6
    assert compared.reference == labels[0]
    assert len({entry.budget for entry in task.entries}) == 1
    assert {entry.params["batch_size"] for entry in task.entries} == {64}
    assert task.eval_sampled
    assert task.eval_group == 8
    assert task.eval_episodes <= 2_048
    assert 2 * suite.core_seconds <= 90 * 60  # with a tuning of 4 values x 3 seeds: as many runs as the race has
    iteration = {e.params.get("group_size", 8) * e.params.get("prompts_per_batch", 32) for e in task.entries}
    assert all(task.entries[0].budget % answers == 0 for answers in iteration)
    run = suite.runs(seeds=[0])[0]
    assert suite.label(run) in labels


@pytest.mark.parametrize("name", [suite.name for suite in SUITES if suite.repeats])
def test_a_suite_that_repeats_another_differs_from_it_in_the_base_and_the_rates_alone(name):
    second, first = find(name), find(name.removesuffix("-base-2"))
    assert second.repeats == first.name
    assert (second.seeds, second.score, second.paired) == (first.seeds, first.score, first.paired)
    (mine,), (theirs,) = second.tasks, first.tasks
    assert replace(mine, entries=()) == replace(theirs, entries=())
    base = find_agent("grpo").settings_for(mine.env_id)["policy"]
    for entry, other in zip(mine.entries, theirs.entries, strict=True):
        assert entry.params["policy"] in PRETRAINED
        assert entry.params["policy"] != base == other.params.get("policy", base)
        assert {k: v for k, v in but_for_rate(entry).items() if k != "policy"} == but_for_rate(other)
        assert (entry.agent, entry.budget, entry.label) == (other.agent, other.budget, other.label)
    assert replace(second, repeats="").digest != second.digest


def but_for_rate(entry: Entry) -> dict:
    return {name: value for name, value in entry.params.items() if name != "learning_rate"}


def as_gated(name: str) -> dict[str, str]:
    """Conditions of a regime by label, as the gate calls them: by their method, or by their label where it is own."""
    (task,), found = find(name).tasks, gated(name)
    first = but_for_rate(task.entries[0])
    alike = {entry.label: entry.agent for entry in task.entries if but_for_rate(entry) == first}
    own = {
        entry.label: entry.label
        for entry in task.entries
        if entry.label in set(found["methods"]) - {row.handle for row in METHODS}
    }
    return alike | own


@pytest.mark.parametrize("name", REGIMES)
def test_no_two_conditions_of_text_v2_take_nearly_the_same_step(name):
    (task,), found = find(name).tasks, gated(name)
    methods = set(as_gated(name).values())
    assert len(methods) >= len(task.entries) - 1  # SPO draws its problems otherwise, which no gradient shows
    assert methods <= set(found["methods"])
    places = [found["methods"].index(method) for method in sorted(methods)]
    for i in places:
        for j in places:
            assert i == j or found["cosines"][i][j] <= 0.95, (found["methods"][i], found["methods"][j])


@pytest.mark.parametrize("name", REGIMES)
def test_what_takes_nearly_the_step_of_a_condition_of_text_v2_is_named_as_equal_to_it(name):
    (compared,), found = find(name).comparisons, gated(name)
    told = {one: set(others.split(", ")) for one, others in re.findall(r"([\w-]+) \(and so ([^)]*)\)", compared.remark)}
    for label, method in as_gated(name).items():
        row = found["cosines"][found["methods"].index(method)]
        equal = {
            other for other, cosine in zip(found["methods"], row, strict=True) if cosine > 0.95 and other != method
        }
        if equal:
            assert told.get(label) == equal


@pytest.mark.parametrize(
    ("name", "what", "low", "high"),
    [
        ("text-v2-stale", "ratios beyond the clip", 0.02, 1.0),
        ("text-v2-stale-base-2", "ratios beyond the clip", 0.02, 1.0),
        ("text-v2-hard", "uniform groups", 0.7, 1.0),
        ("text-v2-hard-base-2", "uniform groups", 0.7, 1.0),
        ("text-v2-pool", "problems met before", 0.9, 1.0),
        ("text-v2-pool-base-2", "problems met before", 0.9, 1.0),
        ("text-v2-noisy", "rewards against the success", 0.15, 0.25),
        ("text-v2-noisy-base-2", "rewards against the success", 0.15, 0.25),
        ("text-v2-length", "deviation of lengths over their mean", 0.3, 1.0),
        ("text-v2-length-base-2", "deviation of lengths over their mean", 0.3, 1.0),
        ("text-v2-length", "completions at the longest", 0.05, 0.5),
        ("text-v2-length-base-2", "completions at the longest", 0.05, 0.5),
        ("text-v2-turns", "turns in states that others begin in", 0.5, 1.0),
        ("text-v2-turns-base-2", "turns in states that others begin in", 0.5, 1.0),
    ],
)
def test_what_a_regime_of_text_v2_is_about_occurs_there(name, what, low, high):
    """As the gate measured it with the reference's own completions; on-policy suites of v1 had none of it."""
    assert low <= gated(name)["mechanism"][what] <= high


def test_seeds_and_entries_that_are_there_twice_run_once() -> None:
    entry = Entry("sac", 100, 1.0)
    suite = Suite("twice", "", (Task("Pendulum-v1", (entry, entry)),) * 2, (0, 1, 0))
    assert suite.seeds == (0, 1)
    assert [run.seed for run in suite.runs()] == [0, 1]


ENTRY = Entry("sac", 100, 3.0)
TASK = Task("tiltyard/Hopper-v5", (ENTRY,))


@pytest.mark.parametrize(
    ("part", "given", "says"),
    [
        (SMALL, {"tasks": TASK}, "tasks of suite 'small' are a tuple, of one (value,), got Task("),
        (SMALL, {"tasks": (ENTRY,)}, "tasks of suite 'small' hold values of kind Task, got Entry("),
        (SMALL, {"seeds": 3}, "seeds of suite 'small' are a tuple, of one (value,), got 3"),
        (SMALL, {"seeds": ("0",)}, "seeds of suite 'small' hold values of kind int, got '0'"),
        (SMALL, {"datasets": {"mine": "medium"}}, "datasets of suite 'small' are recipes by id, got 'medium'"),
        (TASK, {"entries": (ENTRY)}, "entries of task 'tiltyard/Hopper-v5' are a tuple, of one (value,), got Entry("),
        (TASK, {"entries": "sac"}, "entries of task 'tiltyard/Hopper-v5' are a tuple"),
        (TASK, {"env_kwargs": "level=2"}, "env_kwargs of task 'tiltyard/Hopper-v5' is of kind Mapping"),
        (TASK, {"eval_group": "3"}, "eval_group of task 'tiltyard/Hopper-v5' is of kind int, got '3'"),
        (ENTRY, {"budget": 1e4}, "budget of an entry of agent 'sac' is of kind int, got 10000.0"),
        (ENTRY, {"seconds": None}, "seconds of an entry of agent 'sac' is of kind int | float, got None"),
        (ENTRY, {"params": ["gamma"]}, "params of an entry of agent 'sac' is of kind Mapping, got ['gamma']"),
        (Comparison("mine", ("a",), "sac"), {"tasks": "a"}, "tasks of comparison 'mine' are a tuple"),
    ],
)
def test_parts_of_a_suite_of_another_kind_are_refused_by_name(part, given, says) -> None:
    with pytest.raises(TypeError, match=re.escape(says)):
        replace(part, **given)
