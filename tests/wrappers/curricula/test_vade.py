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
    vade = VADE(size=3, decay=0.9, decay_visited=0.5)
    first, second, _ = vade.pool.seeds.tolist()
    vade.update(answered([first] * 3 + [second], [True, True, False, False]))
    assert [column.tolist() for column in vade.counts()] == [[2, 0, 0], [1, 1, 0]]
    vade.update(answered([first], [True]))
    successes, failures = vade.counts()
    assert successes.tolist() == pytest.approx([0.5 * 0.9 * 2 + 1, 0, 0])
    assert failures.tolist() == pytest.approx([0.5 * 0.9 * 1, 0.9 * 1, 0])
    assert vade.mean().tolist() == pytest.approx([2.9 / 4.35, 1 / 2.9, 0.5])


def test_information_is_greatest_at_one_success_in_three():
    p = np.linspace(0, 1, 301)
    assert p[information_gain(p).argmax()] == pytest.approx(1 / 3)
    assert information_gain(np.array([0.0, 0.5, 1.0])).tolist() == [0, 0.125, 0]


def test_problems_that_teach_are_drawn_and_unknown_ones_are_tried():
    vade = VADE(size=40)
    successes, failures = vade.counts()
    successes[:20], failures[20:30] = 1000, 1000  # always solved, never solved
    successes[30:35], failures[30:35] = 333, 667  # one in three; nothing is known of the last five
    rng = np.random.default_rng(0)
    places = np.concatenate([vade.pool.places(vade.sample(5, rng)) for _ in range(200)])
    drawn = np.bincount(places, minlength=40)
    assert drawn[:30].sum() == 0
    assert drawn[30:35].min() > 100
    assert drawn[35:].min() > 0


def test_a_moving_policy_is_followed_better_with_decay():
    """Problems once failed are solved from the thirtieth batch on: the error of the means, with and without decay."""
    errors = {}
    for decay in (1.0, 0.9):
        vade = VADE(size=8, decay=decay, decay_visited=decay)
        for batch in range(60):
            vade.update(answered(vade.pool.seeds.tolist(), [batch >= 30] * 8))
        errors[decay] = float(np.square(vade.mean() - 1).mean())
    assert errors[0.9] < 0.1 * errors[1.0]


def test_uniform_groups_become_rare_among_problems_of_every_difficulty():
    """A thousand problems, most of them always or never solved: groups that teach, against uniform draws."""
    rng = np.random.default_rng(1)
    p = rng.permutation(np.concatenate([np.zeros(400), np.ones(400), rng.uniform(0.1, 0.9, 200)]))
    vade, mixed = VADE(size=1000), {"vade": 0, "uniform": 0}
    for _ in range(150):
        seeds = vade.sample(16, rng)
        for name, places in (("vade", vade.pool.places(seeds)), ("uniform", rng.integers(0, 1000, 16))):
            success = rng.random((16, 8)) < p[places, None]
            mixed[name] += int((success.any(1) & ~success.all(1)).sum())
            if name == "vade":
                vade.update(answered(np.repeat(seeds, 8).tolist(), success.ravel().tolist()))
    assert mixed["vade"] > 1.5 * mixed["uniform"]


def test_the_memory_can_be_stored():
    vade, other = VADE(size=5), VADE(size=5)
    seed = int(vade.pool.seeds[2])
    vade.update(answered([seed] * 2, [True, False]))
    other.load_state_dict(vade.state_dict())
    assert other.sample(3, np.random.default_rng(0)) == vade.sample(3, np.random.default_rng(0))
    assert other.mean().tolist() == vade.mean().tolist()
    vade.update(answered([seed], [True]))
    assert other.mean().tolist() != vade.mean().tolist()  # a copy


@pytest.mark.parametrize("settings", [{"size": 0}, {"decay": 0.0}, {"decay_visited": 1.5}])
def test_settings_that_mean_nothing_are_refused(settings):
    with pytest.raises(ValueError, match=r"pool|decay"):
        VADE(**settings)


@pytest.mark.slow
def test_an_agent_learns_from_the_pool_alone_and_counts_what_it_solved():
    agent = PolicyGradient(
        "chain-sum-base",
        "tiltyard/ChainSum-v0",
        curriculum={"name": "vade", "size": 12},
        group_size=4,
        prompts_per_batch=4,
        max_answer_tokens=48,
        seed=0,
    )
    assert isinstance(agent.curriculum, type(load("vade")))
    agent.learn(48)
    successes, failures = agent.curriculum.counts()
    assert 30 < (successes + failures).sum() < 48  # three batches of 16 completions, less what has been forgotten
    assert successes.sum() > 0
