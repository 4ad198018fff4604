"""STARC: what leaves the order of policies alone is at distance 0, the opposite at 1, and it is a metric."""

import numpy as np
import pytest

from tiltyard.benchmarks.analysis.starc import MDP, canonical, distance, epic, regret

TWO = MDP(np.array([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]]]), 0.5)
"""Two states; action 0 leads to state 0, action 1 to state 1."""


def random_mdp(rng: np.random.Generator, states: int = 32, actions: int = 4) -> MDP:
    return MDP(rng.dirichlet(np.full(states, 0.1), size=(states, actions)), 0.95)


def shaped(mdp: MDP, reward: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    potential = 10 * rng.normal(size=len(reward))
    return reward + mdp.gamma * potential[None, None] - potential[:, None, None]


def redistributed(mdp: MDP, reward: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The same in expectation over next states, another in each."""
    moved = rng.normal(size=reward.shape)
    return reward + moved - (mdp.transition * moved).sum(-1, keepdims=True)


def test_the_canonical_form_by_hand() -> None:
    """Reward 1 for going to state 1: the uniform policy earns 1/2 a step and V = 1; advantages are -1/2 and 1/2."""
    reward = np.array([[0.0, 1.0], [0.0, 1.0]])
    assert canonical(reward, TWO).tolist() == [[-0.5, 0.5], [-0.5, 0.5]]
    other = np.array([[0.0, 1.0], [0.0, 0.0]])  # in state 0 alone: V = 0.75 there, 0.25 in state 1
    assert canonical(other, TWO) == pytest.approx(np.array([[-0.375, 0.375], [0.125, -0.125]]))
    cosine = (-0.5 * -0.375 + 0.5 * 0.375 + -0.5 * 0.125 + 0.5 * -0.125) / (1.0 * np.sqrt(2 * (0.375**2 + 0.125**2)))
    assert distance(reward, other, TWO) == pytest.approx(np.sqrt(2 - 2 * cosine) / 2)


@pytest.mark.parametrize("seed", range(4))
def test_what_leaves_the_order_of_policies_alone_is_at_distance_0(seed: int) -> None:
    rng = np.random.default_rng(seed)
    mdp = random_mdp(rng)
    reward = rng.normal(size=mdp.transition.shape)
    for same in (3.7 * reward, shaped(mdp, reward, rng), redistributed(mdp, reward, rng), reward + 5.0):
        assert distance(reward, same, mdp) == pytest.approx(0, abs=1e-7)
        assert regret(reward, same, mdp) == pytest.approx(0, abs=1e-7)
    assert distance(reward, -reward, mdp) == pytest.approx(1)
    assert regret(reward, -reward, mdp) == pytest.approx(1)
    assert epic(reward, shaped(mdp, reward, rng), mdp) == pytest.approx(0, abs=1e-7)
    assert epic(reward, redistributed(mdp, reward, rng), mdp) > 0.2, "EPIC does not know of the transitions"
    assert distance(reward, rng.normal(size=reward.shape), mdp) > 0.3


def test_it_is_a_pseudometric() -> None:
    rng = np.random.default_rng(1)
    mdp = random_mdp(rng, 6, 3)
    rewards = [rng.normal(size=mdp.transition.shape) for _ in range(6)] + [np.zeros(6)]
    table = np.array([[distance(one, other, mdp) for other in rewards] for one in rewards])
    assert table == pytest.approx(table.T)
    assert np.diag(table) == pytest.approx(np.zeros(7), abs=1e-7)
    assert ((table >= 0) & (table <= 1)).all()
    assert (table[:, None] <= table[:, :, None] + table[None] + 1e-12).all()
    assert table[-1, :-1] == pytest.approx(np.full(6, 0.5)), "a trivial reward is half way to all others"


def test_shaping_alone_is_a_trivial_reward() -> None:
    rng = np.random.default_rng(2)
    mdp = random_mdp(rng, 8, 3)
    nothing = shaped(mdp, np.zeros(mdp.transition.shape), rng)
    assert not canonical(nothing, mdp).any()
    assert distance(nothing, np.zeros(8), mdp) == 0
    assert regret(nothing, rng.normal(size=8), mdp) == 0


def test_the_best_policy_is_best() -> None:
    rng = np.random.default_rng(3)
    mdp = random_mdp(rng, 3, 2)
    reward = mdp.expected(rng.normal(size=mdp.transition.shape))
    every = [np.eye(2)[[a, b, c]] for a in (0, 1) for b in (0, 1) for c in (0, 1)]
    worth = [mdp.worth(reward, policy) for policy in every]
    assert mdp.worth(reward, mdp.best(reward)) == pytest.approx(max(worth))
    assert mdp.worth(reward, mdp.best(-reward)) == pytest.approx(min(worth))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MDP(np.ones((2, 2)), 0.9), "states, actions, states"),
        (lambda: MDP(np.ones((2, 1, 2)), 0.9), "sum to 1"),
        (lambda: MDP(TWO.transition, 1.0), "below 1"),
        (lambda: MDP(TWO.transition, 0.9, np.array([0.5, 0.6])), "first ones"),
        (lambda: distance(np.zeros(3), np.zeros(2), TWO), "a reward is finite and of shape"),
        (lambda: epic(np.full((2, 2, 2), np.nan), np.zeros(2), TWO), "a reward is finite"),
    ],
)
def test_bad_input_is_a_sentence(make, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()
