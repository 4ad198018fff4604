import gymnasium
import numpy as np
import pytest
import torch

from tiltyard import agents
from tiltyard.benchmarks.datasets.episodes import Episode, Tape, packed, unpacked
from tiltyard.benchmarks.datasets.record import Recorder, record
from tiltyard.benchmarks.datasets.training import seeded

HOPPER = "tiltyard/Hopper-v5"
SMALL = {"learning_starts": 40, "buffer_size": 2000, "policy_kwargs": {"net_arch": [8]}, "gradient_steps": 1}


def equal(first, second):
    return all(
        np.array_equal(getattr(a, name), getattr(b, name))
        for a, b in zip(first, second, strict=True)
        for name in ("observations", "actions", "rewards", "terminated", "seed")
    )


def test_a_tape_is_cut_by_hand():
    tape = Tape("mine")
    tape.begin(0, np.array([0.0]), seed=7)
    tape.begin(1, np.array([9.0]))
    tape.add(0, np.array([1.0]), 2.0, np.array([3.0]), success=False)
    tape.add(0, np.array([4.0]), 5.0, np.array([6.0]), success=True)
    episode = tape.cut(0, terminated=True)
    assert episode.observations.tolist() == [[0], [3], [6]]
    assert episode.actions.tolist() == [[1], [4]]
    assert episode.rewards.tolist() == [2, 5]
    assert episode.infos["success"].tolist() == [False, False, True]
    assert (episode.seed, episode.policy, len(episode)) == (7, "mine", 2)
    buffer = episode.buffer()
    assert buffer.terminations.tolist() == [False, True]
    assert buffer.truncations.tolist() == [False, False]
    assert tape.cut_all() == []  # environment 1 has begun, but not moved
    tape.begin(1, np.array([9.0]))
    tape.add(1, np.array([1.0]), 1.0, np.array([8.0]), success=False)
    (cut,) = tape.cut_all()
    assert cut.buffer().truncations.tolist() == [True]
    assert not cut.terminated


def test_what_is_packed_is_unpacked():
    rng = np.random.default_rng(0)
    first = [
        Episode(
            rng.random((n + 1, 3)), rng.random((n, 2)), rng.random(n), n == 4, "p", {"success": rng.random(n + 1) > 0.5}
        )
        for n in (4, 1, 7)
    ]
    second = unpacked(packed(first), "p")
    assert equal(first, second)
    assert [e.infos["success"].tolist() for e in first] == [e.infos["success"].tolist() for e in second]


@pytest.mark.parametrize("policy", ["random", "expert"])
def test_data_hang_neither_on_the_number_of_environments_nor_on_that_of_episodes(policy):
    seeds = [5, 900, 31, 2**31 - 1, 7]
    alone = record(HOPPER, policy, seeds, num_envs=1, env_kwargs={"healthy_z_range": (1.2, 2.0)})
    assert equal(alone, record(HOPPER, policy, seeds, num_envs=3, env_kwargs={"healthy_z_range": (1.2, 2.0)}))
    assert equal(alone[:2], record(HOPPER, policy, seeds[:2], num_envs=2, env_kwargs={"healthy_z_range": (1.2, 2.0)}))
    assert [episode.seed for episode in alone] == seeds
    assert len({episode.actions[0].tobytes() for episode in alone}) == 5


def test_a_recorded_episode_is_what_the_environment_does_on_its_own():
    (episode,) = record(HOPPER, "random", [11])
    env = gymnasium.make(HOPPER)
    observation, _ = env.reset(seed=11)
    env.action_space.seed(11)
    for t, action in enumerate(episode.actions):
        np.testing.assert_array_equal(episode.observations[t], observation)
        np.testing.assert_array_equal(action, env.action_space.sample())
        observation, reward, terminated, _, info = env.step(action)
        assert reward == episode.rewards[t]
        assert info["success"] == episode.infos["success"][t + 1]
    assert terminated == episode.terminated
    np.testing.assert_array_equal(episode.observations[-1], observation)


def test_experts_succeed_and_a_time_limit_is_no_termination():
    (episode,) = record(HOPPER, "expert", [3])
    assert len(episode) == 1000
    assert not episode.terminated
    assert episode.infos["success"][-1]


def test_a_trained_agent_samples_and_the_seed_decides_what():
    agent = agents.make("sac", HOPPER, seed=0, **SMALL)
    before = torch.get_rng_state()

    def once(seed):
        with seeded(seed):
            return record(HOPPER, "medium", [1, 2, 3], agent=agent, num_envs=2)

    first = once(5)
    assert equal(first, once(5))
    assert not equal(first, once(6))
    assert torch.equal(torch.get_rng_state(), before)  # nobody else's numbers change
    assert not np.array_equal(first[0].actions, agent.predict(first[0].observations[:-1], deterministic=True)[0])


def test_a_recorder_keeps_what_the_replay_buffer_holds_cut_into_true_episodes():
    agent = agents.make("sac", HOPPER, seed=0, n_envs=3, **SMALL)
    recorder = Recorder(agent.get_env(), "replay")
    agent.set_env(recorder)
    agent.learn(300)
    episodes, buffer = recorder.finish(), agent.replay_buffer
    assert sum(map(len, episodes)) == 300
    stored = buffer.pos
    assert stored == 100
    indices = {index: np.flatnonzero(buffer.dones[:stored, index]) for index in range(3)}
    ends = sorted((end, index) for index, ended in indices.items() for end in ended)
    for episode, (end, index) in zip(episodes, ends, strict=False):  # in the order in which they ended
        begin = end + 1 - len(episode)
        states = episode.observations.astype(buffer.observations.dtype)
        np.testing.assert_array_equal(states[:-1], buffer.observations[begin : end + 1, index])
        np.testing.assert_array_equal(states[-1], buffer.next_observations[end, index])
        np.testing.assert_array_equal(episode.rewards, buffer.rewards[begin : end + 1, index])
        scaled = agent.policy.scale_action(episode.actions)
        np.testing.assert_allclose(scaled, buffer.actions[begin : end + 1, index], atol=1e-6)
        assert episode.terminated
    unfinished = episodes[len(ends) :]
    assert len(unfinished) <= 3
    assert not any(episode.terminated for episode in unfinished)


def test_a_recorder_keeps_time_limits_apart_from_terminations():
    env = gymnasium.make_vec(HOPPER, 2, "vector_entry_point", max_episode_steps=5)
    recorder = Recorder(agents.make("sac", env, seed=0, **SMALL).get_env(), "replay")
    recorder.reset()
    for _ in range(11):
        recorder.step(np.zeros((2, 3), np.float32))
    episodes = recorder.finish()
    assert [len(episode) for episode in episodes] == [5, 5, 5, 5, 1, 1]
    assert not any(episode.terminated for episode in episodes)
    assert not np.array_equal(episodes[0].observations[-1], episodes[2].observations[0])


@pytest.mark.parametrize("env_id", ["tiltyard/Countdown-v0", "tiltyard/Phone-v0"])
def test_environments_of_strings_are_refused(env_id):
    with pytest.raises(TypeError, match="datasets hold Box observations and actions"):
        record(env_id, "random", [1])


PHONE, NUMBERS = "tiltyard/Phone-v0", {"observation": "elements"}


def test_a_noisy_expert_of_a_phone_is_the_same_however_many_play_at_once():
    alone = record(PHONE, "noisy-expert", [5, 6, 7], num_envs=1, noise=0.4, env_kwargs=NUMBERS)
    several = record(PHONE, "noisy-expert", [5, 6, 7], num_envs=3, noise=0.4, env_kwargs=NUMBERS)
    for one, other in zip(alone, several, strict=True):
        np.testing.assert_equal(one.observations, other.observations)
        np.testing.assert_array_equal(one.actions, other.actions)
    steady = record(PHONE, "noisy-expert", [5, 6, 7], noise=0.0, env_kwargs=NUMBERS)
    assert all(one.infos["success"][-1] for one in steady)
    assert any(len(one) != len(other) for one, other in zip(alone, steady, strict=True))


def test_a_noisy_expert_acts_on_phones_alone():
    with pytest.raises(TypeError, match="acts on phones"):
        record(HOPPER, "noisy-expert", [1])


class Counts:
    """A policy with memory: its action is the number of steps of the episode so far, in hundredths."""

    def predict(self, observations, state=None, episode_start=None, deterministic=False):
        count = np.zeros(len(observations)) if state is None else state[0] + 1
        count = np.where(episode_start, 0.0, count)
        return np.repeat(count[:, None] / 100, 3, axis=1).astype(np.float32), (count,)


def test_a_policy_with_memory_remembers_its_episode_and_forgets_those_before():
    episodes = record(HOPPER, "mine", range(5), agent=Counts(), num_envs=2)
    assert len({len(episode) for episode in episodes}) > 1
    for episode in episodes:
        assert episode.actions[:, 0].tolist() == pytest.approx([step / 100 for step in range(len(episode))])
