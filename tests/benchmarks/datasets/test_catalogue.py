import math
import warnings
from hashlib import sha256

import h5py
import numpy as np
import pytest

from tiltyard.benchmarks import race
from tiltyard.benchmarks.cli import main
from tiltyard.benchmarks.datasets import catalogue, load_dataset
from tiltyard.benchmarks.datasets.episodes import Episode
from tiltyard.benchmarks.datasets.store import path_of

ROW = catalogue.Dataset(
    id="tiltyard/d5rl/tiny-v0",
    env_id="tiltyard/PointMaze-v0",
    policy="play",
    episodes=3,
    noise=0.3,
    recording={"min_path": 1, "max_episode_steps": 5},
    sha256="",
    steps=15,
    success=0.0,
)
OTHER = {**catalogue.REFERENCE, "processor": "another"}


@pytest.fixture(autouse=True)
def _root(tmp_path, monkeypatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))


@pytest.fixture
def row(monkeypatch):
    row = catalogue.measured(ROW, ROW.record())
    monkeypatch.setattr(catalogue, "ROWS", (row,))
    return row


def test_a_digest_by_hand():
    episode = Episode(np.array([[1.0], [2.0]]), np.array([[0.5]], np.float32), np.array([1.0]), True, "p")
    told = (
        b"observations <f8 (2, 1)" + np.array([1.0, 2.0]).tobytes(),
        b"actions <f4 (1, 1)" + np.float32(0.5).tobytes(),
        b"rewards <f8 (1,)" + np.float64(1).tobytes(),
        b"terminations |b1 (1,)\x01",
    )
    assert catalogue.digest([episode]) == sha256(b"".join(told)).hexdigest()


def test_tolerance_by_hand():
    assert ROW.tolerance == pytest.approx(4 * math.sqrt(2 * (1 / 3) * (2 / 3) / 3))


def test_a_dataset_is_made_loaded_and_evaluated_in_the_task_itself(row, capsys):
    assert main(["dataset", "catalogue", "--make", row.id]) == 0
    assert row.id in capsys.readouterr().out
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dataset = load_dataset(row.id)
    assert catalogue.digest(dataset.iterate_episodes()) == row.sha256
    assert dataset.recover_environment(eval_env=True).spec.max_episode_steps == 300
    assert dataset.recover_environment(eval_env=True).spec.kwargs == {"split": "test"}
    with pytest.raises(FileExistsError):
        catalogue.make(row.id)


def test_one_that_is_not_there_says_how_to_make_it(row):
    with pytest.raises(FileNotFoundError, match=f"tiltyard dataset catalogue --make {row.id}"):
        load_dataset(row.id)


def test_a_race_makes_what_its_agents_learn_from(row, tmp_path):
    suite = tmp_path / "suite.toml"
    suite.write_text(f'''seeds = [0]
[[tasks]]
env_id = "tiltyard/PointMaze-v0"
dataset = "{row.id}"
eval_episodes = 2
eval_points = 1
entries = [{{ agent = "bc", budget = 0, params = {{ offline_steps = 2 }} }}]
''')
    (run,) = race(str(suite), root=tmp_path / "runs", workers=1)
    assert run.run.params["dataset"] == row.id
    assert load_dataset(row.id).total_steps == row.steps


def test_a_changed_number_is_noticed(row):
    catalogue.make(row.id)
    with h5py.File(path_of(row.id) / "data" / "main_data.hdf5", "r+") as file:
        file["episode_1/actions"][2, 0] += 1e-6
    with pytest.raises(ValueError, match=r"not those it was stored with: make it again with .* --force"):
        load_dataset(row.id)


def test_other_bits_are_an_error_here_and_a_warning_elsewhere(row):
    with pytest.raises(ValueError, match="same processor with the same versions"):
        catalogue.compare(row, "0" * 64, row.success, catalogue.REFERENCE)
    with pytest.warns(UserWarning, match=r"differs .* in bits.*processor another"):
        catalogue.compare(row, "0" * 64, row.success, OTHER)
    with pytest.raises(ValueError, match="which another processor does not explain"):
        catalogue.compare(row, "0" * 64, 1.0 + row.tolerance, OTHER)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        catalogue.compare(row, row.sha256, row.success, OTHER)


def test_an_unknown_one_is_refused():
    with pytest.raises(KeyError, match="dataset"):
        catalogue.make("tiltyard/d5rl/point-maze-plai-v0")


def test_the_list_names_all(capsys):
    assert main(["dataset", "catalogue"]) == 0
    said = capsys.readouterr().out
    assert all(one.id in said and one.sha256[:12] in said for one in catalogue.ROWS)
