import csv
import fcntl
import json
import re
import resource
import shutil
import warnings
from dataclasses import asdict, replace

import gymnasium
import numpy as np
import pytest

from tiltyard.agents import PolicyGradient
from tiltyard.benchmarks import Run, VersionWarning, execution, load_runs, provenance
from tiltyard.benchmarks.datasets import make_dataset
from tiltyard.benchmarks.evaluation import (
    check_held_out,
    evaluate,
    evaluation_env,
    evaluation_seeds,
    play_episodes,
    wilson,
)
from tiltyard.benchmarks.loading import one_version
from tiltyard.benchmarks.runs import is_finished, read_run
from tiltyard.envs.catalogue import find

HOPPER = "tiltyard/Hopper-v5"
RUN = Run(
    HOPPER,
    "sac",
    0,
    150,
    {"learning_starts": 60, "n_envs": 1, "gradient_steps": 1, "policy_kwargs": {"net_arch": [16]}, "buffer_size": 1000},
    eval_episodes=4,
    eval_points=3,
)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    steps = []
    run = RUN.execute(tmp_path_factory.mktemp("runs"), progress=steps.append)
    assert steps[0] >= 1
    return run


@pytest.fixture
def copy(finished, tmp_path):
    return shutil.copytree(finished.folder, tmp_path / finished.folder.name)


def edit(path, **changes):
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_a_finished_run_owns_one_folder_with_everything_in_it(finished):
    names = {path.name for path in finished.folder.iterdir()}
    assert names == {"run.json", "final.json", "evaluations.npz", "progress.csv", "checkpoint.zip"}
    assert [path.name for path in finished.folder.parent.iterdir()] == [RUN.name]
    record = json.loads((finished.folder / "run.json").read_text())
    assert record["run"] == asdict(RUN)
    assert record["command"] == RUN.command
    assert {"tiltyard", "python", "numpy", "torch", "gymnasium", "stable-baselines3", "mujoco"} <= set(
        record["versions"]
    )
    with (finished.folder / "progress.csv").open() as file:
        assert "eval/mean_reward" in next(csv.reader(file))


def test_evaluations_are_in_sb3s_format_and_end_with_the_final_scores(finished):
    with np.load(finished.folder / "evaluations.npz") as points:
        assert points["timesteps"].tolist() == [50, 100, 150]
        assert points["results"].shape == points["successes"].shape == points["ep_lengths"].shape == (3, 4)
        assert tuple(points["results"][-1]) == finished.scores
    assert [step for step, _, _ in finished.curve] == [50, 100, 150]
    assert finished.curve[-1][1] == pytest.approx(sum(finished.scores) / 4)
    assert len(finished.clock) == 3
    assert 0 < finished.clock[0][0] < finished.clock[-1][0] < finished.wall_seconds
    assert 0 < finished.clock[0][1] < finished.clock[-1][1]


def test_the_stored_agent_earns_the_stored_scores_again(finished):
    from tiltyard.benchmarks.commands import load_agent

    agent, env_id = load_agent(finished.folder)
    assert evaluate(agent, env_id, episodes=4).scores == finished.scores


def test_the_same_run_gives_the_same_bits_and_another_seed_does_not(finished, tmp_path):
    again = RUN.execute(tmp_path)
    assert again.scores == finished.scores
    assert again.curve == finished.curve
    assert replace(RUN, seed=1).execute(tmp_path).scores != finished.scores


def test_a_finished_run_is_read_and_not_run_again(finished):
    before = (finished.folder / "final.json").stat().st_mtime_ns
    assert RUN.execute(finished.folder.parent) == finished
    assert (finished.folder / "final.json").stat().st_mtime_ns == before


def test_the_normalised_score_is_half_way_between_random_and_expert(copy):
    row = find("tiltyard/Hopper-v5")
    scores = [row.random_score, row.expert_score] * 2
    edit(copy / "final.json", scores=scores)
    with np.load(copy / "evaluations.npz") as found:
        points = dict(found)
    points["results"][-1] = scores
    np.savez(copy / "evaluations.npz", **points)
    assert read_run(copy).normalised == pytest.approx(0.5)


def test_a_renamed_folder_is_told_its_name_and_not_called_damaged(copy):
    renamed = copy.rename(copy.with_name("best"))
    with pytest.raises(ValueError, match=f"best was renamed.*: rename it back to {copy.name}") as caught:
        read_run(renamed)
    assert "damaged" not in str(caught.value)
    assert read_run(renamed.rename(copy)).run == RUN


def test_partial_and_half_written_folders_never_count(copy):
    shutil.copytree(copy, copy.with_name("Hopper-v5-sac-s9-00000000.partial"))
    assert [run.folder for run in load_runs(copy.parent)] == [copy]
    for name in ("final.json", "run.json"):
        whole = (copy / name).read_text()
        for end in (0, 1, len(whole) // 2, len(whole) - 3):
            (copy / name).write_text(whole[:end])
            assert not is_finished(copy)
            assert load_runs(copy.parent) == []
        (copy / name).write_text(whole)
    (copy / "evaluations.npz").unlink()
    assert load_runs(copy.parent) == []


def test_a_damaged_curve_is_named_and_left_out(copy):
    (copy / "evaluations.npz").write_bytes(b"PK half a zip")
    with pytest.warns(UserWarning, match=f"{copy.name} is damaged"):
        assert load_runs(copy.parent) == []


def test_a_half_written_folder_is_run_again_from_the_start(finished, copy):
    (copy / "final.json").write_text("{")
    (copy / "leftover").touch()
    rubbish = RUN.partial(copy.parent) / "rubbish"
    rubbish.mkdir(parents=True)
    (rubbish / "of a killed process").touch()
    assert RUN.execute(copy.parent).scores == finished.scores
    assert {path.name for path in copy.iterdir()} == {path.name for path in finished.folder.iterdir()}
    assert [path.name for path in copy.parent.iterdir()] == [RUN.name]


def test_another_process_at_the_same_run_is_refused(tmp_path):
    with RUN.folder(tmp_path).with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(RuntimeError, match=f"{RUN.name} is being run by another process"):
            RUN.execute(tmp_path)


def test_a_full_disk_names_the_run_and_leaves_nothing_that_counts(tmp_path):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))  # the checkpoint is larger, everything else smaller
    try:
        with pytest.raises(OSError, match=f"{RUN.name}: File too large"):
            RUN.execute(tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert load_runs(tmp_path) == []
    assert len(RUN.execute(tmp_path).scores) == 4


def test_a_folder_of_another_version_says_so_by_name(copy):
    edit(copy / "run.json", versions=provenance.versions() | {"mujoco": "3.1.0", "python": "3.9.0"})
    with pytest.warns(
        VersionWarning, match=rf"{copy.name} was run with mujoco 3.1.0 \(now .*\): its numbers may differ"
    ):
        (run,) = load_runs(copy.parent)
    assert run.versions["mujoco"] == "3.1.0"


def test_a_folder_of_the_same_versions_is_silent(copy):
    edit(copy / "run.json", versions=provenance.versions() | {"python": "3.9.0"})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(load_runs(copy.parent)) == 1


def test_one_version_keeps_the_installed_one_else_the_most_frequent(finished):
    old, older = ({**finished.versions, "tiltyard": name} for name in ("0.0.2", "0.0.1"))
    mixed = [replace(finished, versions=old), replace(finished, versions=old), finished]
    assert one_version(mixed) == ([finished], mixed[:2])
    kept, left_out = one_version([replace(finished, versions=older), *mixed[:2]])
    assert [run.versions["tiltyard"] for run in kept] == ["0.0.2", "0.0.2"]
    assert [run.versions["tiltyard"] for run in left_out] == ["0.0.1"]
    assert one_version([]) == ([], [])


def test_the_command_reproduces_the_run():
    run = Run("tiltyard/Hopper-v5", "sac", 3, 500, {"gamma": 0.9, "policy": "MlpPolicy", "policy_kwargs": {"n": [1]}})
    assert run.command == (
        "tiltyard train --env tiltyard/Hopper-v5 --agent sac --seed 3 --steps 500 --eval-episodes 100 --eval-points 10 "
        "--set gamma=0.9 --set policy=MlpPolicy --set 'policy_kwargs={\"n\": [1]}'"
    )


def test_different_runs_have_different_names_and_equal_runs_equal_ones():
    variants = [
        RUN,
        replace(RUN, seed=1),
        replace(RUN, budget=151),
        replace(RUN, params={}),
        replace(RUN, eval_episodes=5),
        replace(RUN, agent="td3"),
    ]
    assert len({run.name for run in variants}) == len(variants)
    assert replace(RUN).name == RUN.name
    assert Run("tiltyard/Hopper-v5", "sac", 0, 1, {"net": (1, 2)}) == Run(
        "tiltyard/Hopper-v5", "sac", 0, 1, {"net": [1, 2]}
    )


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"env_id": "tiltyard/Hoper-v5"}, KeyError, "did you mean 'tiltyard/Hopper-v5'"),
        ({"agent": "sacc"}, KeyError, "did you mean 'sac'"),
        ({"env_id": "tiltyard/Countdown-v0"}, ValueError, "'sac' trains in driving, robotics environments"),
        ({"params": {"gama": 0.9}}, TypeError, "unknown keyword 'gama'; did you mean 'gamma'"),
        ({"params": {"seed": 3}}, TypeError, "'seed' is set by the run itself"),
        ({"env_id": "tiltyard/Phone-v1", "agent": "phone-bc", "params": {}}, TypeError, "phone-bc learns from data"),
    ],
)
def test_a_run_that_cannot_start_is_refused_before_anything_starts(tmp_path, change, error, message):
    with pytest.raises(error, match=message):
        replace(RUN, **change).execute(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed": -1}, "seed must be an integer of at least 0"),
        ({"seed": True}, "seed must be an integer"),
        ({"seed": 1_000_000}, "below 1000000, where evaluation seeds begin"),
        ({"budget": 0}, "budget must be an integer of at least 1"),
        ({"params": {"gamma": object()}}, "what JSON can hold"),
        ({"params": ["gamma"]}, r"a run's params must be a mapping, got \['gamma'\]"),
        ({"env_id": None}, "a run's env_id must be text, got None"),
        ({"agent": 3}, "a run's agent must be text, got 3"),
    ],
)
def test_a_run_that_makes_no_sense_cannot_be_written_down(change, message):
    with pytest.raises(ValueError, match=message):
        replace(RUN, **change)


def test_training_tuning_and_evaluation_seeds_never_meet():
    reported, tuning = evaluation_seeds(9_999, 4), evaluation_seeds(10_000, 4)
    assert reported == [1_000_000_000, 1_000_000_001, 1_000_000_002, 1_000_000_003]
    assert tuning == [1_500_000_000, 1_500_000_001, 1_500_000_002, 1_500_000_003]
    assert max(evaluation_seeds(0, 128)) < min(tuning)


def test_several_episodes_of_a_problem_stand_beside_each_other():
    """Also where environments go on with further problems: a policy that solves some problems solves whole groups."""
    assert evaluation_seeds(0, 6, 3) == [1_000_000_000] * 3 + [1_000_000_001] * 3
    env = evaluation_env("tiltyard/ChainSum-v0", "grpo", 256, level=2)
    assert env.num_envs == 128
    met = []

    class SolvesSome:
        def predict(self, observations, state=None, episode_start=None, deterministic=True):
            met.extend(observations)
            sums = [sum(map(int, re.findall(r"[+-]?\d+", one))) for one in observations]
            return [f"<answer>{n}</answer>" if n % 2 else "" for n in sums], None

    found = play_episodes(SolvesSome(), env, 256, seeds=evaluation_seeds(0, 128, 8))
    solved = np.array(found.successes).reshape(32, 8)
    assert (solved == solved[:, :1]).all()
    assert 0 < solved[:16].mean() < 1
    assert 0 < solved[16:].mean() < 1
    assert len(set(met)) == 32


def test_groups_of_evaluation_episodes_that_do_not_come_out_even_are_refused():
    for episodes, group in ((6, 4), (6, 0), (1280, 5)):
        with pytest.raises(ValueError, match=f"got {group} for {episodes} episodes"):
            replace(RUN, params={"eval_group": group}, eval_episodes=episodes).check()
    with pytest.raises(TypeError, match="eval_group is a number of episodes, got True"):
        replace(RUN, params={"eval_group": True}, eval_episodes=6).check()
    replace(RUN, params={"eval_group": 3}, eval_episodes=6).check()


def test_training_on_the_problems_of_the_evaluation_is_refused(tmp_path):
    with pytest.raises(ValueError, match="the training environment makes problems of the 'test' split"):
        replace(RUN, params={"env_kwargs": {"split": "test"}}).execute(tmp_path)
    assert load_runs(tmp_path) == []


def test_evaluating_on_training_problems_is_refused():
    train = evaluation_env("tiltyard/Hopper-v5", "sac", 1, split="train")
    with pytest.raises(ValueError, match="the evaluation environment makes problems of the 'train' split"):
        check_held_out(train, train)
    check_held_out(train, evaluation_env("tiltyard/Hopper-v5", "sac", 1))


class Still:
    """Does nothing, and so falls over after another number of steps on every problem."""

    def predict(self, observation, state=None, episode_start=None, deterministic=True):
        return np.zeros((len(observation), 3), np.float32), state


def test_evaluation_lists_episodes_by_problem_whatever_ends_first():
    few, many = (evaluate(Still(), "tiltyard/Hopper-v5", episodes=n) for n in (3, 8))
    assert sorted(many.lengths) != list(many.lengths)
    assert few.lengths == many.lengths[:3]
    assert few.scores == many.scores[:3]


def test_an_evaluation_of_more_episodes_than_environments_counts_each_problem_once():
    found = evaluate("expert", "tiltyard/Countdown-v0", episodes=300)
    assert len(found.scores) == len(found.successes) == len(found.lengths) == 300
    assert found.mean == 1.0
    assert found.success_rate == 1.0
    assert evaluate("random", "tiltyard/Countdown-v0", episodes=10).success_rate == 0.0


def test_an_agent_is_not_evaluated_where_its_actions_mean_nothing(finished):
    from tiltyard.benchmarks.commands import load_agent

    agent, _ = load_agent(finished.folder)
    with pytest.raises(TypeError, match="this agent's actions are Box"):
        evaluate(agent, "tiltyard/HalfCheetah-v5", episodes=1)
    with pytest.raises(ValueError, match="unknown policy 'expertt'; did you mean 'expert'"):
        evaluate("expertt", "tiltyard/Hopper-v5", episodes=1)
    with pytest.raises(ValueError, match="at least 1 episode"):
        evaluate("expert", "tiltyard/Hopper-v5", episodes=0)


def test_a_plain_function_of_a_question_is_a_policy():
    asked = []

    def answer(question):
        asked.append(question)
        return "<answer>no</answer>"

    found = evaluate(answer, "tiltyard/Countdown-v0", episodes=3)
    assert found.successes == (False,) * 3
    assert len(set(asked)) == 3
    assert all(isinstance(question, str) for question in asked)
    numbers = evaluate(lambda observation: np.zeros(6, np.float32), "tiltyard/HalfCheetah-v5", episodes=2)
    assert numbers.lengths == (1000, 1000)


def test_a_policy_of_ones_own_reads_words_if_it_acts_in_words():
    characters = gymnasium.make("tiltyard/Countdown-v0").action_space.character_set

    class Words:
        action_space = gymnasium.spaces.Text(8, charset="".join(characters))

        def predict(self, observation, state=None, episode_start=None, deterministic=True):
            assert all(isinstance(question, str) for question in observation)
            return ["1"] * len(observation), state

    assert len(evaluate(Words(), "tiltyard/Countdown-v0", episodes=2).scores) == 2
    Words.action_space = gymnasium.spaces.Text(8, charset="1234567890")
    with pytest.raises(TypeError, match="writes other characters: those of the environment are also ") as caught:
        evaluate(Words(), "tiltyard/Countdown-v0", episodes=2)
    assert "\n" not in str(caught.value)


def test_a_language_agent_is_evaluated_in_any_text_environment_of_its_characters():
    small = {"policy": "transformer-100k", "max_answer_tokens": 6, "group_size": 2, "prompts_per_batch": 2, "seed": 0}
    agent = PolicyGradient(env="tiltyard/Countdown-v0", device="cpu", **small)
    for env_id in ("tiltyard/ChainSum-v0", "tiltyard/GuessMyCity-v0"):
        assert len(evaluate(agent, env_id, episodes=2).scores) == 2
    with pytest.raises(TypeError, match="this agent's actions are Text.*; those of the environment are Box"):
        evaluate(agent, "tiltyard/Hopper-v5", episodes=1)
    agent.policy.context_length = 10
    with pytest.raises(ValueError, match="do not fit the context of 10"):
        evaluate(agent, "tiltyard/ChainSum-v0", episodes=1)


def test_wilsons_interval_of_ten_in_ten():
    low, high = wilson([True] * 10)  # 1 / (1 + z^2 / n) with z^2 = 3.8415
    assert low == pytest.approx(1 / 1.38415, abs=1e-4)
    assert high == pytest.approx(1.0)


def offline_run(**changes):
    params = {"dataset": "tiltyard/hopper/random-v0", "offline_steps": 4, "batch_size": 8, "n_envs": 1}
    return Run(
        **{
            "env_id": HOPPER,
            "agent": "iql",
            "seed": 0,
            "budget": 0,
            "params": params,
            "eval_episodes": 2,
            "eval_points": 2,
            **changes,
        }
    )


def test_a_run_learns_from_a_dataset_and_then_goes_on_online(tmp_path, monkeypatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "data"))
    with pytest.raises(FileNotFoundError, match="tiltyard dataset make"):
        offline_run().execute(tmp_path)
    make_dataset(HOPPER, "random", episodes=3)
    offline = offline_run().execute(tmp_path)
    assert offline.run.track == "offline"
    assert [step for step, *_ in offline.curve] == [2, 4]  # updates
    both = offline_run(budget=8).execute(tmp_path)
    assert both.run.track == "offline to online"
    assert [step for step, *_ in both.curve] == [0, 4, 8]  # environment steps, from what the data gave
    assert both.run.length == "4 updates, 8 steps"
    assert (offline.run.task, both.run.task) == (f"{HOPPER} from random-v0", f"{HOPPER} from random-v0, then online")
    assert "--set dataset=tiltyard/hopper/random-v0" in both.run.command


def test_evaluations_are_of_the_best_actions_or_of_sampled_ones_if_asked(tmp_path, monkeypatch):
    asked = []

    def spied(*args, deterministic, **kwargs):
        asked.append(deterministic)
        return play_episodes(*args, deterministic=deterministic, **kwargs)

    monkeypatch.setattr(execution, "play_episodes", spied)
    for params in ({}, {"eval_sampled": True}):
        Run(HOPPER, "sac", 0, 4, params, eval_episodes=2, eval_points=1).execute(tmp_path)
    assert asked == [True, False]
    with pytest.raises(TypeError, match="eval_sampled is true or false, got 'yes'"):
        Run(HOPPER, "sac", 0, 4, {"eval_sampled": "yes"}).check()


def test_a_run_at_another_level_is_another_task():
    assert Run("tiltyard/Maze-v0", "grpo", 0, 8, {"env_kwargs": {"split": "train", "level": 2}}).task == (
        "tiltyard/Maze-v0 with level=2, split=train"
    )


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"params": {}, "budget": 0}, ValueError, "budget must be an integer of at least 1"),
        ({"agent": "bc", "params": {}, "budget": 9}, TypeError, "bc learns from data"),
        ({"agent": "ppo", "budget": 9}, TypeError, "ppo cannot learn from a dataset: agents that can are"),
        ({"params": {"dataset": 3, "offline_steps": 1}}, TypeError, "dataset is the id of a Minari dataset"),
        ({"params": {"dataset": "a/b-v0", "offline_steps": "x"}}, TypeError, "offline_steps is a number of updates"),
    ],
)
def test_runs_that_could_not_learn_from_data_are_refused(changes, error, message):
    with pytest.raises(error, match=message):
        offline_run(**changes).check()
