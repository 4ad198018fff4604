"""SPO's parts together: a pool that is met again, what is known of it, and what is drawn."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from tiltyard.agents.language.providers.spo import PrioritisedSampling
from tiltyard.agents.language.tracker import Tracker
from tiltyard.agents.language.trainer import PolicyGradient

SMALL = {"policy": "chain-sum-base", "group_size": 1, "prompts_per_batch": 8, "max_answer_tokens": 48, "seed": 0}


def agent(size: int = 12, offline: int = 4, **settings) -> PolicyGradient:
    curriculum = {"name": "spo", "size": size, "offline": offline}
    kwargs = {"curriculum": curriculum, "learning_rate": 1e-3, **SMALL, **settings}
    return PolicyGradient(env="tiltyard/ChainSum-v0", method="spo", device="cpu", **kwargs)


def weights(trained: PolicyGradient) -> torch.Tensor:
    return torch.cat([p.detach().flatten() for p in trained.policy.network.parameters()])


def context_of(tracker: Tracker, rewards: list[float], counted: list[int]) -> SimpleNamespace:
    def play(seeds, *, group_size):
        counted.append(len(seeds) * group_size)
        return SimpleNamespace(reward=torch.tensor(rewards))

    return SimpleNamespace(providers={"tracker": SimpleNamespace(networks=lambda: {"tracker": tracker})}, play=play)


def test_the_pool_is_measured_once_and_drawn_by_hand():
    tracker, played = Tracker(), []
    curriculum = PrioritisedSampling(size=2, offline=4)
    context = context_of(tracker, [1.0] * 4 + [1.0, 0.0, 1.0, 0.0], played)
    for _ in range(2):
        curriculum.begin(context)
    assert played == [8]
    first, second = (tracker.records[seed] for seed in curriculum.pool.seeds.tolist())
    assert (first.alpha, first.beta) == pytest.approx((8 * 4.5 / 5, 8 * 0.5 / 5))  # worth 1 / (1 - 0.875) = 8
    assert (second.alpha, second.beta) == pytest.approx((4, 4))
    assert curriculum.weights() == pytest.approx([0.3 + 0.05, 0.5 + 0.05])  # sqrt(0.9 * 0.1) = 0.3


def test_without_measurement_all_begin_alike():
    tracker, curriculum = Tracker(), PrioritisedSampling(size=3, offline=0)
    curriculum.begin(context_of(tracker, [], []))
    assert [record.alpha for record in tracker.records.values()] == [0.5] * 3
    assert np.ptp(curriculum.weights()) == 0


def test_the_tracker_is_read_by_the_problems_that_come_again():
    """With problems from all 2^31 seeds it was never hit: the weights were those of a constant baseline."""
    trained = agent()
    seen = []
    train = trained.train
    trained.train = lambda rollouts, objective: (seen.append(rollouts.baseline), train(rollouts, objective))
    trained.learn(48 + 24)
    assert trained.num_timesteps == 4 * 12 + 3 * 8  # offline completions are paid for
    assert all(len(baseline.unique()) > 1 for baseline in seen)  # known of each, not one number for all
    assert set(trained.networks.tracker.records) == set(trained.curriculum.pool.seeds.tolist())


def test_what_is_remembered_changes_what_is_learnt():
    def learnt(forgets: bool) -> torch.Tensor:
        trained = agent(offline=0)
        if forgets:
            trained.networks.tracker.success = lambda seed: 0.5
        return weights(trained.learn(40))

    assert not torch.equal(learnt(True), learnt(False))


def test_a_saved_agent_goes_on_with_its_pool(tmp_path):
    whole = agent().learn(48 + 16)
    part = agent().learn(48 + 8)
    part.save(tmp_path / "agent")
    again = PolicyGradient.load(tmp_path / "agent", env="tiltyard/ChainSum-v0", device="cpu")
    again.learn(8, reset_num_timesteps=False)
    assert again.num_timesteps == whole.num_timesteps
    assert torch.equal(weights(again), weights(whole))


@pytest.mark.parametrize("bad", [{"epsilon": 0.0}, {"offline": -1}, {"size": 0}])
def test_bad_numbers_are_refused(bad):
    with pytest.raises(ValueError, match="epsilon|at least one problem"):
        PrioritisedSampling(**bad)
