import numpy as np

from tiltyard.benchmarks.testbeds.combination_lock import CombinationLock, Locks, nearly_good


def test_one_wrong_choice_fails_for_good() -> None:
    env = Locks(4, horizon=3, choices=3)
    env.reset(seed=0)
    env.state = np.array([0, 0, 1, 2])
    env.good[:, 0] = (1, 2)
    assert env.best().tolist()[:3] == [1, 1, 2]
    assert env.holds(np.array([1, 2, 2, 1])).tolist() == [True, False, True, False]
    _, rewards, done, _, _ = env.step(np.eye(3)[[1, 2, 2, 1]] * 9)
    assert (env.state < 2).tolist() == [True, False, True, False]
    assert not rewards.any()
    assert not done.any()


def test_the_last_step_pays_and_begins_anew() -> None:
    env = Locks(64, horizon=2, choices=3)
    env.reset(seed=1)
    for _ in range(2):
        right = np.eye(3)[env.best()]
        right[32:] = np.roll(right[32:], 1, axis=1)
        seen, rewards, done, _, info = env.step(right * 9)
    assert (rewards[:32] == 1).all()
    assert set(rewards[32:].round(3)) == {np.float32(0.0), np.float32(0.1)}
    assert done.all()
    assert env.step_count == 0
    assert not np.array_equal(np.stack(list(info["final_obs"])), seen)


def test_observations_tell_state_and_step_once_turned_back() -> None:
    env = Locks(8, horizon=5, choices=3)
    seen, _ = env.reset(seed=0)
    latent = seen @ env.rotation / env.width
    assert (latent[:, :3].argmax(axis=1) == env.state).all()
    assert (latent[:, 3:].argmax(axis=1) == 0).all()


def test_data_are_of_a_policy_that_errs_once_an_episode() -> None:
    data = nearly_good(4000, 5, 4, 0)
    data.check(Locks(1, horizon=5).single_observation_space, Locks(1, horizon=5).single_action_space)
    assert len(data) == 20_000
    # A good action's softmax leaves 3 exp(-10) of doubt; a random one is right in a quarter of the cases: 0.85^5.
    assert abs(float((data.episode_returns == 1).mean()) - 0.85**5) < 0.03
    assert (data.rewards[~data.ends] == 0).all()


def test_a_policy_that_does_not_look_scores_next_to_nothing() -> None:
    class Still:
        def predict(self, observations: object, deterministic: bool = True) -> tuple[object, None]:
            return np.zeros((256, 4)), None

    assert CombinationLock().score(Still(), 0) < 0.02
