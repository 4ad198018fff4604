from dataclasses import replace

import numpy as np
import pytest
import torch

from tiltyard.benchmarks.claims import gigpo as claim


@pytest.fixture
def corridor(monkeypatch: pytest.MonkeyPatch) -> claim.Grid:
    """Three cells in a row."""
    for name, value in {"SIDE": 3, "CELLS": 9, "WALLS": 6, "MOVES": 3}.items():
        monkeypatch.setattr(claim, name, value)
    grid = claim.Grid(np.random.default_rng(0))
    grid.leads_to = np.tile(np.arange(9)[:, None], 4)
    grid.leads_to[[0, 1], 3], grid.leads_to[[1, 2], 2] = [1, 2], [0, 1]
    return grid


def test_success_by_hand(corridor: claim.Grid) -> None:
    # From the middle: fetch on the right, bring to the middle, in three moves. Moves are left and right alone, equally
    # likely. Right, left: 1/4; the parcel by another way takes three moves and leaves none. Stay (against the wall on
    # the right) and left: 1/8. Together 3/8.
    chances = np.zeros((9, 9, 4))
    chances[..., 2:] = 0.5
    assert claim.success(corridor, np.array([[1, 2, 1]]), chances) == pytest.approx(3 / 8)


def test_success_is_what_episodes_come_to() -> None:
    rng = np.random.default_rng(3)
    grid, chances = claim.Grid(rng), rng.dirichlet(4 * np.ones(4), (claim.CELLS, claim.CELLS))
    errands = grid.errands(3, rng)
    played = claim.play(grid, errands.repeat(4000, 0), chances, rng)
    exact = claim.success(grid, errands, chances)
    assert 0.02 < exact < 0.98
    assert played.won.mean() == pytest.approx(exact, abs=4 * np.sqrt(0.25 / 12000))
    assert (played.length[~played.won] == claim.MOVES).all()


def test_errands_held_out_are_not_trained_on(corridor: claim.Grid) -> None:
    rng = np.random.default_rng(0)
    corridor.free = np.array([0, 1, 2])  # six errands in all
    drawn = set(map(tuple, corridor.errands(50, rng, but={(0, 1, 2), (2, 1, 0)}).tolist()))
    assert drawn == {(0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1)}


def episodes() -> claim.Episodes:
    """A group of two: one comes back to its first cell and then goes on, one goes on at once; both arrive."""
    cell = np.array([[0, 0, 1], [0, 1, 0]])
    zero, moves = np.zeros_like(cell), np.array([[2, 3, 3], [3, 3, 0]])
    return claim.Episodes(cell, zero + 2, zero, moves, np.array([3, 2]), np.array([True, True]))


def test_a_detour_costs_credit_only_where_states_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claim, "MOVES", 3)
    monkeypatch.setattr(claim, "GROUP", 2)
    arm, logp = claim.ARMS["gigpo"], torch.zeros(2, 3)
    rollouts = claim.as_rollouts(arm, episodes(), logp)
    credit = arm.objective().advantage(rollouts)
    # returns from cell 0: 0.95^2 by the detour, 0.95 afterwards, 0.95 without it; mean 0.934167
    torch.testing.assert_close(credit[:, 0], torch.tensor([0.9025, 0.95]) - 2.8025 / 3)
    assert credit[0, 1] == pytest.approx(0.95 - 2.8025 / 3)
    assert (claim.ARMS["episodes alone"].objective().advantage(rollouts) == 0).all()  # both arrived
    apart = replace(rollouts, state=torch.arange(6).reshape(2, 3))
    assert (arm.objective().advantage(apart) == 0).all()
    discounted = claim.as_rollouts(claim.ARMS["episodes alone, discounted"], episodes(), logp)
    torch.testing.assert_close(discounted.reward, torch.tensor([0.9025, 0.95]))


def test_every_arm_learns_and_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"UPDATES": 20, "RATES": (0.03,), "HELD_OUT": 8}.items():
        monkeypatch.setattr(claim, name, value)
    found = claim.measure(seeds=3)
    scores, ends = found.details["success over training"], found.details["success at the end"]
    assert scores.keys() == claim.ARMS.keys()
    assert all(end["estimate"] > found.details["success before training"] + 0.05 for end in ends.values())
    ours, best = (max(scores[arm]["estimate"] for arm in arms) for arms in (claim.OURS, claim.OTHERS))
    assert found.effect.estimate == pytest.approx(ours - best)
