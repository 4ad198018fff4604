from dataclasses import replace

import numpy as np
import pytest
import torch

from tiltyard.agents.language.rollouts import Rollouts
from tiltyard.benchmarks.claims.gigpo import CLAIM, last
from tiltyard.benchmarks.testbeds.errands import GAMMA, Episodes, ErrandLearner, Errands, Grid, play, signal, success
from tiltyard.benchmarks.testbeds.sequences import Sequences

TASK = Errands()


@pytest.fixture
def corridor() -> Grid:
    """Three cells in a row."""
    grid = Grid(Errands(side=3, walls=6), np.random.default_rng(0))
    grid.leads_to = np.tile(np.arange(9)[:, None], 4)
    grid.leads_to[[0, 1], 3], grid.leads_to[[1, 2], 2] = [1, 2], [0, 1]
    return grid


def test_success_by_hand(corridor: Grid) -> None:
    # From the middle: fetch on the right, bring to the middle, in three moves. Moves are left and right alone, equally
    # likely. Right, left: 1/4; the parcel by another way takes three moves and leaves none. Stay (against the wall on
    # the right) and left: 1/8. Together 3/8.
    chances = np.zeros((9, 9, 4))
    chances[..., 2:] = 0.5
    assert success(corridor, np.array([[1, 2, 1]]), chances, moves=3) == pytest.approx(3 / 8)


def test_success_is_what_episodes_come_to() -> None:
    rng = np.random.default_rng(3)
    grid, chances = Grid(TASK, rng), rng.dirichlet(4 * np.ones(4), (TASK.cells, TASK.cells))
    errands = grid.errands(3, rng)
    played = play(grid, errands.repeat(4000, 0), chances, rng)
    exact = success(grid, errands, chances)
    assert 0.02 < exact < 0.98
    assert played.won.mean() == pytest.approx(exact, abs=4 * np.sqrt(0.25 / 12000))
    assert (played.length[~played.won] == TASK.moves).all()


def test_errands_held_out_are_not_trained_on(corridor: Grid) -> None:
    rng = np.random.default_rng(0)
    corridor.free = np.array([0, 1, 2])  # six errands in all
    drawn = set(map(tuple, corridor.errands(50, rng, but={(0, 1, 2), (2, 1, 0)}).tolist()))
    assert drawn == {(0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1)}


def detour() -> Rollouts:
    """A group of two: one comes back to its first cell and then goes on, one goes on at once; both arrive."""
    cell = np.array([[0, 0, 1], [0, 1, 0]])
    zero, moves = np.zeros_like(cell), np.array([[2, 3, 3], [3, 3, 0]])
    found = Episodes(cell, zero + 2, zero, moves, np.array([3, 2]), np.array([True, True]))
    return ErrandLearner(Errands(moves=3, group=2), 0).as_rollouts(found)


def test_a_detour_costs_credit_only_where_states_are_compared() -> None:
    rollouts, conditions = detour(), CLAIM.conditions
    credit = conditions["gigpo"].objective().advantage(rollouts)
    # returns from cell 0: 0.95^2 by the detour, 0.95 afterwards, 0.95 without it; mean 0.934167
    torch.testing.assert_close(credit[:, 0], torch.tensor([0.9025, 0.95]) - 2.8025 / 3)
    assert credit[0, 1] == pytest.approx(0.95 - 2.8025 / 3)
    assert (conditions["episodes alone"].objective().advantage(rollouts) == 0).all()  # both arrived
    apart = replace(rollouts, state=torch.arange(6).reshape(2, 3))
    assert (conditions["gigpo"].objective().advantage(apart) == 0).all()
    sees = conditions["episodes alone, discounted"].sees
    assert sees is not None
    torch.testing.assert_close(sees(rollouts, torch.Generator()).reward, torch.tensor([0.9025, 0.95]))


@pytest.mark.parametrize("name", CLAIM.conditions)
def test_every_condition_learns(name: str) -> None:
    bed = Sequences(task=replace(TASK, held_out=8), iterations=20)
    runs = [bed.run(CLAIM.conditions[name], 0.03, seed) for seed in range(3)]
    before, _, after = np.mean(runs, axis=0)
    assert after > before + 0.05


def test_signal_is_the_cosine_of_two_gradients() -> None:
    method, learner = CLAIM.conditions["episodes alone, discounted"], TASK.learner(1000)
    gradients = []
    for _ in range(2):
        batch = learner.rollouts()
        later = GAMMA ** (batch.length - 1.0)
        credit = (batch.reward * later).reshape(8, 8)
        credit = (credit - credit.mean(1, keepdim=True)).reshape(64, 1) * batch.mask
        policy_gradient = -(learner.logp(batch) * credit).sum()
        gradients.append(torch.cat([one.flatten() for one in torch.autograd.grad(policy_gradient, learner.weights())]))
    cosine = torch.cosine_similarity(*gradients, dim=0).item()
    assert 0 < abs(cosine) < 0.9
    assert signal(TASK, method, 1000, batches=2) == pytest.approx(cosine, abs=1e-4)


def test_gigpo_is_judged_against_each_baseline() -> None:
    found = CLAIM.smallest().measure()
    for measured, suffix in (("success over training", ""), ("success at the end", ", at the end")):
        scores = {name: one["estimate"] for name, one in found.details[measured].items()}
        leads = {f"over {name}{suffix}": scores["gigpo"] - scores[name] for name in CLAIM.baselines}
        assert {name: found.means[name] for name in leads} == pytest.approx(leads)
        assert {found.parts[name].decides for name in leads} == {not suffix}
    assert last(np.array([0.1, 0.9, 0.5])) == 0.5
