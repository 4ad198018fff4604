from types import SimpleNamespace

import numpy as np
import pytest
import torch

from tiltyard.agents.language.trainer import PolicyGradient
from tiltyard.wrappers.curricula.catalogue import load
from tiltyard.wrappers.curricula.vade import VADE, information_gain


def answered(seeds, success) -> SimpleNamespace:
    return SimpleNamespace(seed=torch.tensor(seeds), info={"success": torch.tensor(success)})


def test_counts_forget_on_two_scales_by_hand():
    vade = VADE(pool=[11, 22, 33], decay=0.9, decay_visited=0.5)
    vade.update(answered([11, 11, 11, 22], [True, True, False, False]))
    assert vade.successes.tolist() == [2, 0, 0]
    assert vade.failures.tolist() == [1, 1, 0]
    vade.update(answered([11, 22, 99], [True, False, True]))  # 99 is no problem of the pool
    assert vade.successes.tolist() == pytest.approx([0.5 * 0.9 * 2 + 1, 0, 0])
    assert vade.failures.tolist() == pytest.approx([0.5 * 0.9 * 1, 0.5 * 0.9 * 1 + 1, 0])
    assert vade.mean().tolist() == pytest.approx([2.9 / 4.35, 1 / 3.45, 0.5])


def test_information_is_greatest_at_one_success_in_three():
    p = np.linspace(0, 1, 301)
    assert p[information_gain(p).argmax()] == pytest.approx(1 / 3)
    assert information_gain(np.array([0.0, 0.5, 1.0])).tolist() == [0, 0.125, 0]


def test_problems_that_teach_are_drawn_and_unknown_ones_are_tried():
    vade = VADE(pool=range(40))
    vade.successes[:20], vade.failures[20:30] = 1000, 1000  # always solved, never solved
    vade.successes[30:35], vade.failures[30:35] = 333, 667  # one in three; nothing is known of the last five
    rng = np.random.default_rng(0)
    drawn = np.bincount(np.concatenate([vade.sample(5, rng) for _ in range(200)]), minlength=40)
    assert drawn[:30].sum() == 0
    assert drawn[30:35].min() > 100
    assert drawn[35:].min() > 0


def test_a_moving_policy_is_followed_better_with_decay():
    """Problems once failed are solved from the thirtieth batch on: the error of the means, with and without decay."""
    errors = {}
    for decay in (1.0, 0.9):
        vade = VADE(pool=range(8), decay=decay, decay_visited=decay)
        for batch in range(60):
            vade.update(answered(list(range(8)), [batch >= 30] * 8))
        errors[decay] = float(np.square(vade.mean() - 1).mean())
    assert errors[0.9] < 0.1 * errors[1.0]


def test_uniform_groups_become_rare_among_problems_of_every_difficulty():
    """A thousand items, most of them always or never solved: the share of groups that teach, against uniform draws."""
    rng = np.random.default_rng(1)
    p = rng.permutation(np.concatenate([np.zeros(400), np.ones(400), rng.uniform(0.1, 0.9, 200)]))
    vade, mixed = VADE(pool=range(1000)), {"vade": 0, "uniform": 0}
    for _ in range(150):
        for name, seeds in (("vade", vade.sample(16, rng)), ("uniform", rng.integers(0, 1000, 16).tolist())):
            success = rng.random((16, 8)) < p[seeds, None]
            mixed[name] += int((success.any(1) & ~success.all(1)).sum())
            if name == "vade":
                vade.update(answered(np.repeat(seeds, 8).tolist(), success.ravel().tolist()))
    assert mixed["vade"] > 1.5 * mixed["uniform"]


def test_the_memory_can_be_stored():
    vade, other = VADE(pool=5), VADE(pool=5)
    vade.update(answered([vade.seeds[2]] * 2, [True, False]))
    other.load_state_dict(vade.state_dict())
    assert other.sample(3, np.random.default_rng(0)) == vade.sample(3, np.random.default_rng(0))
    assert other.mean().tolist() == vade.mean().tolist()
    vade.update(answered([vade.seeds[2]], [True]))
    assert other.mean().tolist() != vade.mean().tolist()  # a copy


def test_a_pool_is_the_same_for_ever_and_has_no_problem_twice():
    assert VADE(pool=50).seeds == VADE(pool=50).seeds
    assert len(set(VADE(pool=500).seeds)) == 500


@pytest.mark.parametrize("settings", [{"pool": 0}, {"pool": [3, 3]}, {"decay": 0.0}, {"decay_visited": 1.5}])
def test_settings_that_mean_nothing_are_refused(settings):
    with pytest.raises(ValueError, match=r"pool|decay"):
        VADE(**settings)


def test_an_agent_learns_from_the_pool_alone_and_counts_what_it_solved():
    agent = PolicyGradient(
        "chain-sum-base",
        "tiltyard/ChainSum-v0",
        curriculum={"name": "vade", "pool": 12},
        group_size=4,
        prompts_per_batch=4,
        max_answer_tokens=48,
        seed=0,
    )
    assert isinstance(agent.curriculum, type(load("vade")))
    agent.learn(48)
    counts = agent.curriculum.successes + agent.curriculum.failures
    assert 30 < counts.sum() < 48  # three batches of 16 completions, less what has been forgotten
    assert agent.curriculum.successes.sum() > 0
