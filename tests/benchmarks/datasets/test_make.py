import shlex
import subprocess
import sys
import warnings

import minari
import numpy as np
import pytest

import tiltyard.agents
from tiltyard.agents.control.datasets import Transitions
from tiltyard.benchmarks.cli import main
from tiltyard.benchmarks.datasets import load_dataset, make_dataset, medium, store
from tiltyard.benchmarks.datasets.make import Wanted
from tiltyard.benchmarks.datasets.medium import Recipe
from tiltyard.benchmarks.datasets.show import summarise
from tiltyard.benchmarks.datasets.tq_saco import state_action_coverage
from tiltyard.benchmarks.runs import Run

HOPPER = "tiltyard/Hopper-v5"
SMALL = {"learning_starts": 40, "buffer_size": 1000, "policy_kwargs": {"net_arch": [8]}, "gradient_steps": 1}


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    return tmp_path / "minari"


@pytest.fixture
def _easy(monkeypatch):
    """A medium agent is one that has been looked at once."""
    monkeypatch.setattr(medium, "TARGET", -1.0)
    monkeypatch.setattr(medium, "EVERY", 160)
    monkeypatch.setattr(medium, "EPISODES", 2)


def test_minari_loads_it_and_makes_its_environment_without_an_import_of_ours(root):
    make_dataset(HOPPER, "random", episodes=3)
    code = (
        "import minari\n"
        "d = minari.load_dataset('tiltyard/hopper/random-v0')\n"
        "assert (d.total_episodes, len(d)) == (3, 3)\n"
        "train, test = d.recover_environment(), d.recover_environment(eval_env=True)\n"
        "assert train.spec.id == 'tiltyard/Hopper-v5' and test.spec.kwargs['split'] == 'test'\n"
        "e = d[0]\n"
        "seed = next(iter(d.storage.get_episode_metadata([0])))['seed']\n"
        "assert (train.reset(seed=seed)[0] == e.observations[0]).all()\n"
        "for t, a in enumerate(e.actions): assert train.step(a)[1] == e.rewards[t]\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_everything_that_made_it_is_beside_it():
    made = make_dataset(HOPPER, "random,expert", shares=[0.75, 0.25], episodes=4, seed=9)
    assert made.id == "tiltyard/hopper/random-75-expert-25-v0"
    metadata = made.storage.metadata
    assert (metadata["ref_min_score"], metadata["ref_max_score"]) == (16.8, 3179.4)
    recorded = metadata["tiltyard"]
    command = (
        "tiltyard dataset make --env tiltyard/Hopper-v5 --policy random,expert --shares 0.75,0.25 --episodes 4 --seed 9"
    )
    assert recorded["command"] == command
    assert recorded["versions"]["mujoco"]
    assert (recorded["env_id"], recorded["seed"], recorded["medium"]) == (HOPPER, 9, None)
    assert store.policies(made) == ["random", "random", "random", "expert"]


def test_the_recorded_command_makes_the_same_data_again():
    first = make_dataset(HOPPER, "random", episodes=4, seed=2, settings={"env_kwargs": {"ctrl_cost_weight": 0.5}})
    read = Transitions.from_minari(first, first.observation_space, first.action_space)
    assert main([*shlex.split(first.storage.metadata["tiltyard"]["command"])[1:], "--force"]) == 0
    again = load_dataset(first.id)
    assert again.env_spec.kwargs["ctrl_cost_weight"] == 0.5
    other = Transitions.from_minari(again, again.observation_space, again.action_space)
    np.testing.assert_array_equal(read.observations, other.observations)
    np.testing.assert_array_equal(read.rewards, other.rewards)


def test_other_seeds_share_no_problem():
    seeds = [
        {known["seed"] for known in made.storage.get_episode_metadata(range(20))}
        for made in (make_dataset(HOPPER, "random", episodes=20, seed=s, dataset_id=f"me/b{s}-v0") for s in (0, 1))
    ]
    assert not seeds[0] & seeds[1]


@pytest.mark.usefixtures("_easy")
def test_medium_and_replay_need_one_training(root, monkeypatch):
    make = {"settings": SMALL, "train_steps": 400}
    sampled = make_dataset(HOPPER, "medium", episodes=3, **make)
    assert sampled.id == "tiltyard/hopper/medium-v0"
    trained = sampled.storage.metadata["tiltyard"]["medium"]
    assert (trained["agent"], trained["steps"]) == ("sac", 160)

    def never(*_):
        raise AssertionError("trained twice")

    monkeypatch.setattr(medium, "_train", never)
    replay = make_dataset(HOPPER, "replay", **make)
    assert replay.total_steps == 160  # everything it was trained on
    some = make_dataset(HOPPER, "replay", episodes=3, dataset_id="me/some-v0", **make)
    returns, kept = summarise(replay).returns, summarise(some).returns
    assert kept.tolist() == [returns[0], returns[round((len(returns) - 1) / 2)], returns[-1]]
    with pytest.raises(ValueError, match=f"has {len(returns)} episodes: ask for no more"):
        make_dataset(HOPPER, "replay", episodes=len(returns) + 1, dataset_id="me/more-v0", **make)
    with pytest.raises(AssertionError, match="trained twice"):
        make_dataset(HOPPER, "replay", dataset_id="me/anew-v0", retrain=True, **make)
    with pytest.raises(AssertionError, match="trained twice"):
        make_dataset(HOPPER, "replay", dataset_id="me/other-v0", seed=1, **make)
    assert set(minari.list_local_datasets()) == {sampled.id, replay.id, "me/some-v0"}  # the agent is none


@pytest.mark.usefixtures("_easy")
def test_the_same_seed_trains_and_samples_the_same():
    def once(name):
        made = make_dataset(
            HOPPER, "medium,replay", episodes=6, settings=SMALL, train_steps=400, retrain=True, dataset_id=name
        )
        return Transitions.from_minari(made, made.observation_space, made.action_space)

    first, second = once("me/first-v0"), once("me/second-v0")
    np.testing.assert_array_equal(first.observations, second.observations)
    np.testing.assert_array_equal(first.actions, second.actions)


def test_an_agent_that_stays_bad_is_no_medium_one_and_leaves_nothing(root, monkeypatch):
    monkeypatch.setattr(medium, "EVERY", 80)
    monkeypatch.setattr(medium, "EPISODES", 2)
    with pytest.raises(RuntimeError, match=r"sac came -?0\.\d\d of the way from random to expert in 200 steps, but"):
        make_dataset(HOPPER, "medium", settings=SMALL, train_steps=200)
    assert minari.list_local_datasets() == {}
    assert not Recipe(HOPPER, settings=SMALL).folder.exists()
    assert not list(root.glob("**/*.partial"))


def test_a_training_shorter_than_the_first_look_is_told():
    with pytest.raises(RuntimeError, match="sac trained for 60 steps and was never scored, which is done every 2,000"):
        make_dataset(HOPPER, "medium", settings=SMALL, train_steps=60)


def test_a_make_that_breaks_off_leaves_the_old_dataset(root, monkeypatch):
    make_dataset(HOPPER, "random", episodes=2)

    def broken(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(Transitions, "from_minari", broken)
    with pytest.raises(KeyboardInterrupt):
        make_dataset(HOPPER, "random", episodes=5, force=True)
    assert minari.load_dataset("tiltyard/hopper/random-v0").total_episodes == 2
    with pytest.raises(KeyboardInterrupt):
        make_dataset(HOPPER, "random", episodes=5, dataset_id="me/b-v0")
    assert list(minari.list_local_datasets()) == ["tiltyard/hopper/random-v0"]
    assert not list(root.glob("**/.*"))


def test_there_is_no_overwriting_without_force():
    make_dataset(HOPPER, "random", episodes=2)
    with pytest.raises(FileExistsError, match="there is a dataset tiltyard/hopper/random-v0 already"):
        make_dataset(HOPPER, "random", episodes=3)
    assert make_dataset(HOPPER, "random", episodes=3, force=True).total_episodes == 3


@pytest.mark.parametrize(
    ("shares", "episodes", "counts"),
    [
        ((0.95, 0.05), 200, [190, 10]),
        ((0.5, 0.5), 5, [3, 2]),
        ((0.6, 0.4), 7, [4, 3]),  # 4.2 and 2.8
        ((0.95, 0.05), None, [190, 10]),
    ],
)
def test_shares_are_of_episodes_by_largest_remainder(shares, episodes, counts):
    assert list(Wanted(HOPPER, ("random", "expert"), shares, episodes).counts.values()) == counts


@pytest.mark.parametrize(
    ("policies", "shares", "name"),
    [
        (("medium",), (1.0,), "medium"),
        (("random", "expert"), (0.5, 0.5), "random-expert"),
        (("random", "expert"), (0.95, 0.05), "random-95-expert-5"),
        (("medium", "replay"), (0.5, 0.5), "medium-and-replay"),
        (("random", "expert"), (0.995, 0.005), "random-99_5-expert-0_5"),
    ],
)
def test_names_say_what_is_in_it(policies, shares, name):
    assert Wanted(HOPPER, policies, shares).name == name
    store.check_id(f"tiltyard/hopper/{name}-v0")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("make --env tiltyard/Hoper-v5", "did you mean 'tiltyard/Hopper-v5'"),
        ("make --env tiltyard/Hopper-v5 --policy medum", "unknown policy 'medum'; did you mean 'medium'"),
        ("make --env tiltyard/Hopper-v5 --policy random,random", "one or several different policies"),
        ("make --env tiltyard/Hopper-v5 --policy random --episodes 0", "at least 1 episode, got 0"),
        ("make --env tiltyard/Hopper-v5 --policy random,expert --shares 0.5,0.6", "shares add up to 1, got 0.5 + 0.6"),
        ("make --env tiltyard/Hopper-v5 --policy random,expert --shares 1", "one share above 0 is needed for each"),
        ("make --env tiltyard/Hopper-v5 --policy random,expert --shares half", "--shares takes numbers with commas"),
        ("make --env tiltyard/Hopper-v5 --policy random,expert --episodes 1", "1 episodes are too few for shares"),
        ("make --env tiltyard/Hopper-v5 --agent sacc", "unknown agent 'sacc'; did you mean 'sac'"),
        ("make --env tiltyard/Hopper-v5 --id nothing", "a dataset's id is like tiltyard/hopper/medium-v0"),
        (
            "make --env tiltyard/Hopper-v5 --policy random,expert --set gamma=0.9",
            "gamma is a setting of the medium agent, and random and expert need none",
        ),
        ("make --env tiltyard/Hopper-v5 --set gama=1", "unknown keyword 'gama'; did you mean 'gamma'"),
        (
            'make --env tiltyard/Hopper-v5 --set \'env_kwargs={"split": "test"}\'',
            "datasets hold training problems alone",
        ),
        ("make --env tiltyard/Countdown-v0", "datasets hold Box observations and actions"),
        ("make --env tiltyard/Countdown-v0 --policy expert", "datasets hold Box observations and actions"),
        ("make --env tiltyard/Hopper-v5 --polcy random", "unknown option of dataset make '--polcy'; did you mean"),
        ("make --policy random", "Missing from tiltyard dataset make: --env"),
        ("mke", "unknown command of tiltyard dataset 'mke'; did you mean 'make'"),
        ("show tiltyard/hopper/medium-v0", "there is no local dataset tiltyard/hopper/medium-v0: make it with"),
        ("show me/ref-v0 --out returns.xyz", "a picture's name ends in .png, .svg, .pdf or .jpg, got 'returns.xyz'"),
        ("show medium", "a dataset's id is like tiltyard/hopper/medium-v0"),
        ("import-d4rl nowhere.hdf5 --env tiltyard/Hopper-v5", "there is no file nowhere.hdf5"),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_code_2(capsys, line, message):
    assert main(["dataset", *shlex.split(line)]) == 2
    (said,) = [line for line in capsys.readouterr().err.splitlines() if line]
    assert said.startswith("tiltyard: ")
    assert message in said
    assert minari.list_local_datasets() == {}


def test_show_prints_counts_quality_and_coverage_and_draws(capsys, tmp_path):
    assert main(shlex.split("dataset make --env tiltyard/Hopper-v5 --policy random,expert --episodes 4")) == 0
    assert main(shlex.split("dataset make --env tiltyard/Hopper-v5 --policy random --episodes 4 --id me/ref-v0")) == 0
    capsys.readouterr()
    picture = tmp_path / "made" / "returns.png"
    show = f"dataset show tiltyard/hopper/random-expert-v0 --reference me/ref-v0 --bins 3 --out {picture}"
    assert main(shlex.split(show)) == 0
    said = capsys.readouterr().out
    found = summarise("tiltyard/hopper/random-expert-v0", reference="me/ref-v0", bins=3)
    assert f"{found.quality:.3f}" in said
    assert f"{found.coverage:.3f}" in said
    assert "50.0%" in said  # two of four end by a fall, and the other two succeed
    assert found.successes.tolist() == [False, False, True, True]
    assert found.quality == pytest.approx((found.returns.mean() - 16.8) / (3179.4 - 16.8))
    assert picture.stat().st_size > 10_000


def test_data_of_another_environment_are_named(tmp_path):
    name = make_dataset("tiltyard/PointMaze-v0", "random", episodes=1).id
    params = {"dataset": name, "offline_steps": 1, "batch_size": 2}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Run("tiltyard/PointMaze-v0", "bc", 0, 0, params, eval_episodes=1, eval_points=1).execute(tmp_path)
    with pytest.warns(UserWarning, match=f"{name} was recorded in tiltyard/PointMaze-v0, and bc is evaluated in"):
        Run("tiltyard/PointMazeLarge-v0", "bc", 0, 0, params, eval_episodes=1, eval_points=1).execute(tmp_path)


def test_coverage_refers_to_the_replay_beside_and_compares_equal_sizes():
    make_dataset(HOPPER, "random", episodes=12, dataset_id="tiltyard/hopper/replay-v0")
    small = make_dataset(HOPPER, "random", episodes=4)
    found = summarise(small, bins=4)
    assert found.reference == "tiltyard/hopper/replay-v0"
    assert 0 < found.coverage < 3
    assert summarise("tiltyard/hopper/replay-v0").coverage == 1.0
    read = [
        Transitions.from_minari(d, d.observation_space, d.action_space) for d in (small, load_dataset(found.reference))
    ]
    pairs = [np.concatenate((part.observations, part.actions), axis=1) for part in read]
    assert state_action_coverage(*pairs, bins=4) < found.coverage  # against all of a replay three times its size


def test_demonstrations_of_a_phone_by_one_command_are_learnt_from(capsys):
    command = "dataset make --env tiltyard/Phone-v0 --policy noisy-expert --episodes 3 --noise 0.1 --seed 4"
    assert main(command.split()) == 0
    made = load_dataset("tiltyard/phone/noisy-expert-v0")
    assert made.total_episodes == 3
    assert made.storage.metadata["tiltyard"]["command"] == f"tiltyard {command.replace(' --noise 0.1', '')} --noise 0.1"
    found = summarise(made)
    assert found.lengths.sum() == made.total_steps
    assert found.successes is not None
    assert found.coverage is None
    small = {"width": 8, "heads": 2, "layers": 1, "token_width": 8}
    agent = tiltyard.agents.make("phone-bc", "tiltyard/Phone-v0", policy_kwargs=small, batch_size=8)
    agent.learn_offline("tiltyard/phone/noisy-expert-v0", 2)
    assert sum(map(len, agent.kept)) == made.total_steps


def test_noise_is_a_probability():
    with pytest.raises(ValueError, match="from 0 to 1, got 1.5"):
        make_dataset("tiltyard/Phone-v0", "noisy-expert", noise=1.5)
