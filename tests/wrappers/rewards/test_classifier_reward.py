import sys
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.wrappers import TimeLimit
from stable_baselines3.common.buffers import ReplayBuffer

from tiltyard.agents import make
from tiltyard.wrappers import ClassifierReward, SuccessClassifier
from tiltyard.wrappers.rewards.classifier_reward import relabel

sys.path.insert(0, str(Path(__file__).parents[1]))
from shuttle import Shuttle  # noqa: E402

AHEAD = np.array([1.0], np.float32)


def learned(kind: type[SuccessClassifier] = SuccessClassifier, **settings: Any) -> SuccessClassifier:
    """Takes places from about 0.2 on for success, where 0.4 is: it was shown no failures between the two."""
    rng = np.random.default_rng(0)
    classifier = kind(**settings)
    classifier.fit(rng.uniform(0.4, 0.6, (100, 1)), rng.uniform(-0.6, 0.0, (100, 1)), steps=400)
    return classifier


@pytest.fixture(scope="module")
def classifier() -> SuccessClassifier:
    return learned()


def test_the_reward_is_the_verdict_and_the_truth_stays_in_the_info(classifier: SuccessClassifier) -> None:
    env = ClassifierReward(TimeLimit(Shuttle(), 20), classifier)
    env.reset(seed=0)
    told = []
    for _ in range(5):
        seen, reward, terminated, _, info = env.step(AHEAD)
        told.append((reward, info["true_reward"], info["claimed_success"], info["success"], terminated))
        assert info["reward_terms"] == {"classifier": reward}
        assert info["success_probability"] == pytest.approx(float(classifier.probability(seen[None])[0]))
        if terminated:
            break
    first = next(step for step, one in enumerate(told) if one[2])
    assert told[first] == (1.0, 0.0, True, False, False)  # a false positive is paid
    assert told[-1] == (1.0, 1.0, True, True, True)
    assert all(reward == 0 for reward, *_ in told[:first])


def test_a_claim_can_end_the_episode(classifier: SuccessClassifier) -> None:
    env = ClassifierReward(TimeLimit(Shuttle(), 20), classifier, end_on_success=True)
    env.reset(seed=0)
    terminated = False
    while not terminated:
        _, reward, terminated, _, info = env.step(AHEAD)
    assert reward == 1.0
    assert info["claimed_success"]
    assert not info["success"]


def test_log_odds_are_paid_up_to_ten(classifier: SuccessClassifier) -> None:
    env = ClassifierReward(TimeLimit(Shuttle(), 20), classifier, reward="log-odds")
    env.reset(seed=0)
    seen, reward, *_ = env.step(AHEAD)
    assert reward == pytest.approx(float(classifier.logits(seen[None])[0]))
    env.unwrapped.place = -1e6  # type: ignore[attr-defined]
    assert abs(env.step(AHEAD)[1]) == 10.0


def test_a_threshold_is_where_claims_begin() -> None:
    careful = learned(threshold=0.9)
    env = ClassifierReward(TimeLimit(Shuttle(), 20), careful)
    env.reset(seed=0)
    for _ in range(6):
        _, reward, terminated, _, info = env.step(np.array([0.7], np.float32))
        assert reward == (info["success_probability"] >= 0.9)
        if terminated:
            break


def test_a_view_chooses_what_is_judged() -> None:
    rng = np.random.default_rng(0)
    frames = SuccessClassifier(hidden=(8,))
    dark, bright = (rng.integers(low, low + 50, (20, 16, 16, 3)).astype(np.uint8) for low in (0, 200))
    frames.fit(bright, dark, steps=40, batch_size=16)
    env = ClassifierReward(Shuttle(), frames, view=lambda seen: bright[0] if seen[0] > 0 else dark[0])
    env.reset(seed=0)
    paid = [env.step(AHEAD)[1] for _ in range(4)]
    assert paid[0] == 0
    assert paid[-1] == 1


@pytest.mark.parametrize(("learns_from", "after"), [("none", True), ("checked", False), ("visited", False)])
def test_what_is_found_in_training_ends_an_exploit(learns_from: str, after: bool) -> None:
    own = learned()
    env = ClassifierReward(TimeLimit(Shuttle(), 50), own, learns_from=learns_from, update_every=50, update_steps=400)
    env.reset(seed=0)
    env.unwrapped.place = 0.3  # type: ignore[attr-defined]
    for step in range(50):  # to and fro between 0.24 and 0.3
        env.step(np.array([0.3 if step % 2 else -0.3], np.float32))
    assert env.updates == (learns_from != "none")
    assert own.claims([[0.26]])[0] == after
    assert own.claims([[0.55]])[0]


class Noted(SuccessClassifier):
    """Tells what it was taught."""

    def add(self, **given: Any) -> Any:
        self.taught = {name: given[name] for name in ("successes", "failures")}
        return super().add(**given)


@pytest.mark.parametrize("learns_from", ["checked", "visited"])
def test_checked_claims_are_taken_for_what_they_are_and_visited_states_for_failures(learns_from: str) -> None:
    own = learned(kind=Noted)
    assert isinstance(own, Noted)
    env = ClassifierReward(Shuttle(), own, learns_from=learns_from, update_every=7, update_steps=1)
    env.reset(seed=0)
    places = []
    for _ in range(7):  # from about -0.5 to 0.5
        seen, _, _, _, info = env.step(np.array([0.7], np.float32))
        places.append((seen[0], info["claimed_success"], info["success"]))
    wrong = [place for place, claimed, success in places if claimed and not success]
    right = [place for place, claimed, success in places if claimed and success]
    assert len(wrong) >= 1
    assert len(right) >= 1
    assert len(wrong) + len(right) < 7
    if learns_from == "visited":
        assert own.taught["failures"][:, 0].tolist() == [place for place, *_ in places]
        assert own.taught["successes"] is None
    else:
        assert own.taught["failures"][:, 0].tolist() == wrong
        assert own.taught["successes"][:, 0].tolist() == right


def test_a_replay_buffer_is_judged_anew() -> None:
    own = learned()
    env = ClassifierReward(TimeLimit(Shuttle(safe=True), 20), own)
    agent: Any = make("sac", env, seed=0, learning_starts=100, buffer_size=100, device="cpu")
    agent.learn(60)
    buffer = agent.replay_buffer
    before = buffer.rewards.copy()
    relabel(buffer, own)
    assert np.array_equal(buffer.rewards, before)
    places = buffer.next_observations[:60, 0, 0]
    own.threshold = 0.01
    relabel(buffer, own)
    assert np.array_equal(buffer.rewards[:60, 0], own.claims(places[:, None]))
    assert buffer.rewards.sum() > before.sum()
    assert not buffer.rewards[60:].any()
    relabel(buffer, own, reward="log-odds")
    assert buffer.rewards[:60, 0] == pytest.approx(own.logits(places[:, None]), rel=1e-5)


def test_agents_are_trained_on_a_real_task() -> None:
    rng = np.random.default_rng(0)
    any_states = SuccessClassifier()
    any_states.fit(rng.normal(1, 1, (40, 25)), rng.normal(-1, 1, (40, 25)), steps=20)
    env = ClassifierReward(gymnasium.make("tiltyard/PegInsertion-v0"), any_states)
    check_env(env, skip_render_check=True)
    make("sac", env, seed=0, learning_starts=10, buffer_size=100, device="cpu").learn(30)
    assert env.spec is not None
    other = gymnasium.make(env.spec)
    assert np.array_equal(other.reset(seed=1)[0], env.reset(seed=1)[0])


def test_bad_settings_are_refused(classifier: SuccessClassifier) -> None:
    for bad, message in (
        ({"reward": "spars"}, "did you mean 'sparse'"),
        ({"learns_from": "visit"}, "did you mean 'visited'"),
        ({"update_every": 0}, "at least 1"),
    ):
        with pytest.raises(ValueError, match=message):
            ClassifierReward(Shuttle(), classifier, **bad)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="has learned nothing yet: call its fit"):
        ClassifierReward(Shuttle(), SuccessClassifier())
    with pytest.raises(TypeError, match="classifier must be a fitted SuccessClassifier, got None"):
        ClassifierReward(Shuttle(), None)  # type: ignore[arg-type]


def test_a_buffer_that_keeps_no_next_observations_is_refused() -> None:
    space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
    thrifty = ReplayBuffer(10, space, space, optimize_memory_usage=True, handle_timeout_termination=False)
    with pytest.raises(TypeError, match="optimize_memory_usage=False"):
        relabel(thrifty, SuccessClassifier())


def test_a_loaded_classifier_that_shall_learn_on_is_refused_at_once(
    classifier: SuccessClassifier, tmp_path: Path
) -> None:
    classifier.save(tmp_path / "one.safetensors")
    loaded = SuccessClassifier.load(tmp_path / "one.safetensors")
    with pytest.raises(ValueError, match="a loaded classifier no longer has"):
        ClassifierReward(gymnasium.make("tiltyard/PegInsertion-v0"), loaded, learns_from="visited")
    ClassifierReward(gymnasium.make("tiltyard/PegInsertion-v0"), loaded)
