"""The trained evaluator: what it reads, that it learns, its errors, and its file."""

import pickle
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tiltyard.agents.control.cloning import Cloning
from tiltyard.agents.control.outcome_model import OutcomeModel, screens
from tiltyard.agents.control.trajectories import Trajectory
from tiltyard.agents.models.elements import Shape

sys.path.insert(0, str(Path(__file__).parent))
from phones import SMALL, episodes, tiny

SMALLEST = Shape(width=16, layers=1, heads=2, token_width=8)


def telling(n: int, seed: int = 0) -> list[Trajectory]:
    """Episodes whose last screen shows a switch that is on exactly where they succeeded."""
    found = []
    for one in episodes(n, right=0.5, seed=seed):
        elements = one.observations["elements"].copy()
        elements[-1, 0, 5] = 1 + one.success
        found.append(replace(one, observations={**one.observations, "elements": elements}))
    return found


def model(**settings: float) -> OutcomeModel:
    return OutcomeModel(SMALLEST, learning_rate=3e-3, batch_size=32, **settings)  # type: ignore[arg-type]


def test_the_last_screen_and_the_last_that_looked_otherwise_are_read() -> None:
    (one,) = episodes(1, right=1.0)
    elements = np.stack([np.full((64, 24), number, np.int16) for number in (1, 2, 3, 3, 3)])
    goals = np.tile(one.observations["goal"][:1], (5, 1))
    still = np.full_like(elements, 7)
    several = [replace(one, observations={"elements": part, "goal": goals}) for part in (elements, still)]
    seen, asked = screens(several)
    assert seen[:, :, 0, 0].tolist() == [[2, 3], [7, 7]]
    assert seen.shape == (2, 2, 64, 24)
    assert asked.tolist() == [goals[0].tolist()] * 2


def test_it_learns_what_success_looks_like_and_says_how_often_it_errs() -> None:
    learner = model()
    first = learner.fit(telling(200), 30)
    assert learner.fit(telling(200), 30) < first
    held_out = telling(100, seed=1)
    won = np.array([one.success for one in held_out])
    probabilities = learner.predict_proba(held_out)
    assert probabilities.shape == (100,)
    assert probabilities[won].mean() > 0.8
    assert probabilities[~won].mean() < 0.2
    assert [learner.judge(one) for one in held_out[:20]] == (probabilities[:20] > 0.5).tolist()
    found = learner.error(held_out)
    assert (found.false_positive.n, found.false_negative.n) == ((~won).sum(), won.sum())
    assert found.false_positive.estimate == (probabilities[~won] > 0.5).mean()
    assert found.false_negative.estimate == (probabilities[won] <= 0.5).mean()
    assert found.false_negative.low <= found.false_negative.estimate < found.false_negative.high


def test_rare_successes_are_half_of_each_batch() -> None:
    """One in ten succeeds, and nothing shows it: the model is left with even odds."""
    (one,) = episodes(1, right=1.0)
    rare = [replace(one, success=i % 10 == 0) for i in range(100)]
    learner = model()
    learner.fit(rare, 20)
    assert 0.4 < learner.predict_proba(rare).mean() < 0.6


def test_the_threshold_is_what_a_probability_must_exceed() -> None:
    assert model(threshold=0.0).judge(telling(1)[0])
    assert not model(threshold=1.0).judge(telling(1)[0])


def test_the_seed_decides_the_model_and_nothing_else_does() -> None:
    data = telling(20)
    one, same, other = (model(seed=seed) for seed in (1, 1, 2))
    for learner in (one, same, other):
        learner.fit(data, 2)
    np.testing.assert_array_equal(one.predict_proba(data), same.predict_proba(data))
    assert not np.array_equal(one.predict_proba(data), other.predict_proba(data))


def test_a_file_gives_back_the_same_model_and_an_agent_can_name_it(tmp_path: Path) -> None:
    learner, data = model(threshold=0.4), telling(30)
    learner.fit(data, 5)
    learner.save(tmp_path / "model")
    again = OutcomeModel.load(tmp_path / "model")
    np.testing.assert_array_equal(learner.predict_proba(data), again.predict_proba(data))
    assert again.threshold == 0.4
    file = str(tmp_path / "model.safetensors")
    agent = Cloning(env=tiny(2), **SMALL, evaluator={"model": file, "threshold": 0.3})
    assert isinstance(agent.evaluator, OutcomeModel)
    assert agent.evaluator.threshold == 0.3
    assert [agent.evaluator.judge(one) for one in data] == (learner.predict_proba(data) > 0.3).tolist()


def test_other_files_are_refused_in_a_sentence_and_run_nothing(tmp_path: Path) -> None:
    learner = model()
    learner.save(tmp_path / "model.safetensors")
    whole = (tmp_path / "model.safetensors").read_bytes()
    bad = {
        "cut": whole[:-50],
        "pickle": pickle.dumps({"width": 16}),
        "wide": whole.replace(b'"width":"16"', b'"width":"17"'),
        "huge": whole.replace(b'"heads":"2"', b'"heads":"0"'),
        "other": whole.replace(b"tiltyard outcome", b"another1 outcome"),
    }
    for name, content in bad.items():
        assert content != whole
        (tmp_path / name).with_suffix(".safetensors").write_bytes(content)
        with pytest.raises(ValueError, match=f"{name}.safetensors is no outcome model, or is damaged") as error:
            OutcomeModel.load(tmp_path / name)
        assert "\n" not in str(error.value)
    with pytest.raises(FileNotFoundError, match="there is no outcome model"):
        OutcomeModel.load(tmp_path / "nothing")


@pytest.mark.parametrize("updates", [0, -1, 1.5, True])
def test_there_is_something_to_learn_and_a_number_of_updates(updates: float) -> None:
    with pytest.raises(ValueError, match="updates must be a whole number of at least 1, got"):
        model().fit(telling(10), updates)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="learns from failures and successes: all of these episodes ended alike"):
        model().fit([one for one in telling(20) if one.success], 1)
