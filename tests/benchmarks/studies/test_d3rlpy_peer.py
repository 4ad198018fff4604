import json
import math
import sys
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
import torch

from tiltyard import agents
from tiltyard.agents.control.datasets import Transitions
from tiltyard.benchmarks.datasets import make_dataset
from tiltyard.benchmarks.studies import _d3rlpy_report as report
from tiltyard.benchmarks.studies import d3rlpy_peer as peer
from tiltyard.benchmarks.studies._d3rlpy_worker import CONFIGS, split

HOPPER = "tiltyard/Hopper-v5"
JOB = peer.Job("iql", "tiltyard/hopper/random-v0", 0, updates=4, chunk=2, episodes=2)
# A peer that answers, with nothing learnt: how long it would have taken.
ANSWERS = "import sys\nfor i, _ in enumerate(sys.stdin): print('{\"seconds\": %d}' % (i + 1), flush=True)"


def part(algorithm, seed, ours, theirs, dataset="tiltyard/hopper/medium-v0"):
    job = replace(JOB, algorithm=algorithm, dataset=dataset, seed=seed, chunk=100)
    return {
        "job": asdict(job),
        "ours": {"normalised": ours, "seconds": [9.0, 1.0, 0.5]},
        "theirs": {"normalised": theirs, "seconds": [2.0, 8.0, 4.0], "updating": [1.0, 2.0, 3.0]},
    }


def test_d3rlpy_draws_exactly_our_transitions():
    # Two episodes: of two steps, terminated; of three, cut off by a time limit.
    observations = np.arange(5, dtype=np.float32)[:, None]
    data = {
        "observations": observations,
        "next_observations": np.array([[1], [90], [3], [4], [91]], np.float32),
        "actions": observations / 10,
        "rewards": np.array([1, 2, 3, 4, 5], np.float32),
        "terminations": np.array([0, 1, 0, 0, 0], np.float32),
        "ends": np.array([False, True, False, False, True]),
    }
    done, cut = split(data)
    assert (done["terminated"], cut["terminated"]) == (True, False)
    assert done["observations"].ravel().tolist() == [0, 1]
    assert done["rewards"].tolist() == [[1], [2]]
    assert cut["observations"].ravel().tolist() == [2, 3, 4, 91]  # d3rlpy draws the first three of these four steps
    assert cut["rewards"].tolist() == [[3], [4], [5], [0]]
    assert cut["actions"].ravel().tolist() == pytest.approx([0.2, 0.3, 0.4, 0])


def test_every_algorithm_has_settings_on_both_sides():
    assert set(CONFIGS) == set(peer.SETTINGS)
    for name, settings in peer.SETTINGS.items():
        agent = agents.make(name, HOPPER, n_envs=1, device="cpu", **settings)
        assert agent.policy.actor.net.n_in == 11
        assert agent.batch_size == 256
        assert agent.gamma == 0.99


def test_rates_are_of_the_median_chunk():
    rates = report.rates(part("iql", 0, 0.5, 0.4))
    assert rates == {"ours": 100.0, "theirs": 25.0, "theirs, updating alone": 50.0}


def test_a_row_holds_means_chances_and_ratios():
    scores = {0: (0.6, 0.1), 1: (0.4, 0.5), 2: (0.8, 0.3)}
    row = report.summary([part("iql", seed, *pair) for seed, pair in scores.items()])["iql"]
    assert row["seeds"] == 3
    assert row["ours"][0] == pytest.approx(0.6)
    assert row["theirs"][0] == pytest.approx(0.3)
    assert row["improvement"][0] == pytest.approx(8 / 9)  # of the nine pairs only 0.4 against 0.5 is lost
    assert row["improvement"][1] < 8 / 9 <= row["improvement"][2] <= 1
    assert row["ratio"] == [4.0, 4.0, 4.0]


def test_datasets_are_columns_and_are_compared_each_with_itself():
    parts = [
        part("iql", seed, *pair, dataset=dataset)
        for dataset, pair in {"a/easy-v0": (0.9, 0.8), "a/hard-v0": (0.2, 0.3)}.items()
        for seed in range(3)
    ]
    assert report.returns(parts, "ours").tolist() == [[0.9, 0.2]] * 3
    assert report.summary(parts)["iql"]["improvement"][0] == 0.5


def test_too_few_seeds_have_no_interval():
    row = report.summary([part("iql", 0, 0.5, 0.4)])["iql"]
    assert (row["ours"], row["improvement"]) == ([0.5], [1.0])
    assert report.verdict(row["improvement"], row["seeds"]) == "no verdict below four runs a side"


@pytest.mark.parametrize(
    ("interval", "said"),
    [
        ([0.9, 0.6, 1.0], "ours better"),
        ([0.1, 0.0, 0.4], "theirs better"),
        ([0.6, 0.5, 0.8], "no significant difference"),
    ],
)
def test_a_verdict_needs_the_whole_interval_on_one_side(interval, said):
    assert report.verdict(interval, 4) == said
    assert report.verdict(interval, 3) == "no verdict below four runs a side"


def test_the_page_holds_tables_command_and_what_differs():
    parts = [part(name, seed, 0.5 + seed / 20, 0.4) for name in ("iql", "cal-ql") for seed in range(8)]
    result = {
        "command": "python benchmarks/studies/d3rlpy_peer.py",
        "commit": "abc",
        "hardware": "2 cores",
        "versions": {"peer d3rlpy": "2.8.0", "torch": "2"},
        "settings": {"iql": {"beta": 3.0}},
        "summary": report.summary(parts),
        "parts": parts,
    }
    text = report.page(result, differences=peer.__doc__.partition("What differs")[2])
    assert "| iql | 0.675 [" in text
    assert "| 0.400 [no interval: identical runs] | 1.000 [0.631, 1.000] | ours better |" in text
    assert "| cal-ql | tiltyard/hopper/medium-v0 | 4 | 0.700 | 0.400 |" in text
    assert "`python benchmarks/studies/d3rlpy_peer.py`" in text
    assert "What differs all the same" in text


def test_finished_parts_are_kept_and_others_made_whole_or_not_at_all(tmp_path):
    calls = []

    def execute(job):
        calls.append(job.seed)
        if len(calls) == 2:
            raise RuntimeError("killed")
        return {"seed": job.seed}

    assert peer.finished(JOB, tmp_path, execute) == {"seed": 0}
    assert peer.finished(JOB, tmp_path, execute) == {"seed": 0}
    other = replace(JOB, seed=1)
    with pytest.raises(RuntimeError, match="killed"):
        peer.finished(other, tmp_path, execute)
    assert len(list(tmp_path.iterdir())) == 1
    assert peer.finished(other, tmp_path, execute) == {"seed": 1}
    assert calls == [0, 1, 1]


def test_whatever_may_change_the_outcome_changes_the_name(monkeypatch):
    others = [
        replace(JOB, **change)
        for change in (
            {"algorithm": "cal-ql"},
            {"seed": 1},
            {"updates": 8},
            {"episodes": 3},
            {"fingerprint": "1"},
            {"versions": {"torch": "3"}},
        )
    ]
    assert len({job.name for job in (JOB, *others)}) == 7
    before = JOB.name
    monkeypatch.setitem(peer.SETTINGS, "iql", {**peer.SETTINGS["iql"], "beta": 4.0})
    assert JOB.name != before


@pytest.fixture
def transitions(tmp_path, monkeypatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    dataset = make_dataset(HOPPER, "random", episodes=3)
    env = dataset.recover_environment()
    return Transitions.from_minari(dataset, env.observation_space, env.action_space)


def test_both_sides_train_in_turns(tmp_path, transitions):
    agent = agents.make("iql", HOPPER, n_envs=1, device="cpu", batch_size=4)
    with peer.Peer([sys.executable, "-c", ANSWERS], tmp_path / "log.txt") as other:
        turns, ask, seen = peer.InTurns(other, chunk=2), other.ask, []
        other.ask = lambda: seen.append(agent._n_updates) or ask()
        agent.learn_offline(transitions, 6, callback=turns)
        assert ask() == {"seconds": 4}
    assert seen == [2, 4, 6]
    assert [chunk["seconds"] for chunk in turns.theirs] == [1, 2, 3]
    assert len(turns.ours) == 3
    assert min(turns.ours) > 0


def test_a_peer_that_fails_says_why(tmp_path):
    code = "raise ValueError('no such algorithm')"
    with (
        peer.Peer([sys.executable, "-c", code], tmp_path / "log.txt") as other,
        pytest.raises(RuntimeError, match="ended early: ValueError: no such algorithm"),
    ):
        other.ask()


def test_the_job_handed_over_holds_our_data_and_settings(tmp_path, transitions):
    path = peer.hand_over(JOB, transitions, transitions.actions / 2, tmp_path)
    task = json.loads(path.read_text())
    assert task["settings"]["expectile"] == 0.7
    assert task["returns"] == [transitions.episode_returns.min(), transitions.episode_returns.max()]
    with np.load(task["data"]) as data:
        assert (data["actions"] == transitions.actions / 2).all()
        assert len(split(dict(data))) == 3


def test_an_exported_policy_acts_in_the_units_of_the_environment_and_must_act_as_it_says(tmp_path):
    agent = agents.make("td3-bc", "Pendulum-v1", device="cpu", policy_kwargs={"net_arch": [8]})  # torques up to 2
    path = tmp_path / "policy.pt"
    torch.jit.trace(lambda x: torch.tanh(x[:, :1]), torch.zeros(1, 3)).save(str(path))
    policy = peer.Exported(path, agent)
    observations = np.array([[0.5, 0, 0], [-9.0, 0, 0]])
    actions, _ = policy.predict(observations, deterministic=True)
    assert actions.ravel().tolist() == pytest.approx([2 * math.tanh(0.5), 2 * math.tanh(-9)])
    policy.check(observations, [[math.tanh(0.5)], [-1.0]])
    with pytest.raises(RuntimeError, match="acts otherwise"):
        policy.check(observations, [[math.tanh(0.5)], [-0.9]])


def test_a_missing_virtual_environment_is_one_sentence_with_its_command(tmp_path):
    with pytest.raises(SystemExit, match=r"no d3rlpy at .*python3 -m venv .*d3rlpy==2\.8\.0"):
        peer.peer_versions(tmp_path / "python")
    with pytest.raises(SystemExit, match="no d3rlpy"):
        peer.peer_versions(Path(sys.executable))  # a Python, but not the peer's


def test_the_fingerprint_is_of_the_numbers(tmp_path, monkeypatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    found = []
    for seed in (0, 0, 1):
        make_dataset(HOPPER, "random", episodes=1, seed=seed, force=True)
        found.append(peer.fingerprint("tiltyard/hopper/random-v0"))
    assert found[0] == found[1] != found[2]
    with pytest.raises(SystemExit, match="no local dataset tiltyard/hopper/medium-v0: make it with"):
        peer.fingerprint("tiltyard/hopper/medium-v0")


def test_the_command_reproduces_the_result_anywhere(tmp_path, capsys):
    given = ["--dataset", "a/b-v0", "--seeds", "3", "4", "--updates", "40", "--chunk", "20", "--out", str(tmp_path)]
    args = peer.options(given)
    words = peer.command(args).split()
    assert str(tmp_path) not in words
    assert vars(peer.options(words[2:])) == {**vars(args), "out": peer.OUT}
    with pytest.raises(SystemExit):
        peer.options(["--updates", "50", "--chunk", "20"])
    assert "--updates must be a multiple of --chunk, got 50 and 20" in capsys.readouterr().err
