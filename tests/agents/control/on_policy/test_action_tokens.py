"""Action tokens: bins, a policy over them, and episodes as objectives read them."""

from typing import Any

import numpy as np
import pytest
import torch as th
from gymnasium.spaces import Box, Dict, Discrete

from tiltyard.agents.control.on_policy.action_tokens import (
    ActionTokenPolicy,
    Episodes,
    actions_of,
    joined,
    tokens_of,
)

SEEN = Box(-np.inf, np.inf, (3,), np.float32)


def policy(**settings: Any) -> ActionTokenPolicy:
    th.manual_seed(0)
    space = Box(np.array([0.0, -2.0], np.float32), np.array([1.0, 2.0], np.float32))
    small: dict[str, Any] = {"net_arch": [8], "bins": 5, "chunk_size": 3}
    return ActionTokenPolicy(SEEN, space, lambda _: 1e-3, **small | settings)


def episodes(lengths: tuple[int, ...] = (4, 1), chunks: int = 2, size: int = 2) -> Episodes:
    """Of one number an action, rewards 0, 1, 0, ..., neighbours in a group."""
    th.manual_seed(1)
    n = len(lengths)
    used = th.arange(chunks * size).expand(n, -1) < th.tensor(lengths).unsqueeze(1)
    return Episodes(
        observations=th.randn(n, chunks, 3),
        tokens=th.randint(5, (n, chunks, size, 1)),
        used=used.view(n, chunks, size),
        reward=(th.arange(n) % 2).float(),
        group=th.arange(n) // 2,
    )


def test_bins_by_hand() -> None:
    """Four bins of width 0.5 from -1: 0.1 is in the third, whose middle is 0.25; the ends belong to the outer ones."""
    actions = th.tensor([-1.0, -0.51, -0.5, 0.1, 1.0])
    assert tokens_of(actions, 4).tolist() == [0, 0, 1, 2, 3]
    assert actions_of(th.arange(4), 4).tolist() == [-0.75, -0.25, 0.25, 0.75]
    assert tokens_of(actions_of(th.arange(256), 256), 256).equal(th.arange(256))


def test_tokens_become_actions_within_the_bounds() -> None:
    """The first and the last of five bins are 0.1 and 0.9 of the way from the lower bound to the upper one."""
    chunks = policy().chunks(th.tensor([[[0, 0], [4, 4], [2, 2]]]))
    np.testing.assert_allclose(chunks[0].numpy(), [[0.1, -1.6], [0.9, 1.6], [0.5, 0.0]], atol=1e-6)


def test_logp_is_of_the_logits_over_the_temperature() -> None:
    one = policy(temperature=2.0)
    seen, tokens = th.randn(4, 3), th.randint(5, (4, 3, 2))
    logp, entropy = one.logp(seen, tokens)
    by_hand = (one.logits(seen) / 2).softmax(-1)
    th.testing.assert_close(logp.exp(), by_hand.gather(-1, tokens.unsqueeze(-1)).squeeze(-1))
    th.testing.assert_close(entropy, -(by_hand * by_hand.log()).sum(-1))


def test_drawing_follows_the_temperature_and_the_greedy_policy_does_not() -> None:
    cold, hot = policy(temperature=1e-4), policy(temperature=1000.0)
    seen = th.zeros(4000, 3)
    greedy = cold.drawn(seen[:1], deterministic=True)
    assert hot.drawn(seen[:1], deterministic=True).equal(greedy)
    assert (cold.drawn(seen) == greedy).float().mean() > 0.95
    assert float((hot.drawn(seen) == greedy).float().mean()) == pytest.approx(0.2, abs=0.02)


def test_predict_goes_through_its_chunk() -> None:
    one, seen = policy(), np.zeros((2, 3), np.float32)
    first, state = one.predict(seen)
    assert state is not None
    np.testing.assert_array_equal(first, state[0][:, 0])
    second, later = one.predict(seen, state, np.array([False, True]))
    assert later is not None
    np.testing.assert_array_equal(second[0], state[0][0, 1])
    np.testing.assert_array_equal(second[1], later[0][1, 0])
    assert later[1].tolist() == [1, 2]
    alone, nothing = policy(chunk_size=1).predict(seen[0], deterministic=True)
    assert alone.shape == (2,)
    assert nothing is None


def test_predict_draws_or_takes_the_likeliest() -> None:
    one, seen = policy(), np.zeros((50, 3), np.float32)
    greedy, _ = one.predict(seen, deterministic=True)
    assert (greedy == greedy[0]).all()
    np.testing.assert_array_equal(greedy[0], one(th.zeros(1, 3), deterministic=True)[0].numpy())
    assert len(np.unique(one.predict(seen)[0][:, 0])) > 2


def test_moments_are_those_of_the_first_dataset() -> None:
    one = policy()
    seen = th.tensor([[0.0, 0.0, 0.0], [2.0, 4.0, 0.0]])
    one.fix_moments(seen)
    one.fix_moments(seen + 100)
    th.testing.assert_close(one.moments.mean.float(), th.tensor([1.0, 2.0, 0.0]), atol=1e-3, rtol=0)


def test_rollouts_hold_the_tokens_of_actions_that_were_taken() -> None:
    found = episodes((3, 1)).rollouts()
    assert found.mask.tolist() == [[True, True, True, False], [True, False, False, False]]
    assert found.length.tolist() == [3, 1]
    assert found.turn[0].tolist() == [0, 0, 1, 1]
    assert found.info["success"].tolist() == [False, True]


def test_what_the_policy_says_of_episodes_is_of_their_tokens_and_0_elsewhere() -> None:
    one = policy(chunk_size=2)
    one.n_numbers, one.net[-1] = 1, th.nn.Linear(8, 10)
    some = episodes((4, 1))
    out = some.policy_out(one)
    logp, _ = one.logp(some.observations[0], some.tokens[0])
    th.testing.assert_close(out.logp[0], logp.flatten())
    assert out.logp[1, 2:].tolist() == [0, 0]
    some.observations[1, 1] = th.nan
    assert some.policy_out(one).logp.equal(out.logp)


def test_joined_batches_are_padded_with_actions_that_were_not_taken() -> None:
    both = joined([episodes((4, 4)), episodes((6, 5), chunks=3)])
    assert both.used.sum((1, 2)).tolist() == [4, 4, 6, 5]
    assert both.observations.shape == (4, 3, 3)
    assert not both.used[:2, 2].any()


def test_other_spaces_and_a_temperature_of_0_are_refused() -> None:
    bounded = Box(-1, 1, (1,))
    for observations, actions, says in (
        (Dict({"a": SEEN}), bounded, "a policy of action tokens needs flat Box observations"),
        (SEEN, Box(-np.inf, np.inf, (1,)), "needs Box actions with finite bounds"),
        (SEEN, Discrete(2), "needs Box actions with finite bounds"),
    ):
        with pytest.raises(TypeError, match=says):
            ActionTokenPolicy(observations, actions, lambda _: 0.0)
    with pytest.raises(ValueError, match="temperature must be above 0, got 0"):
        policy(temperature=0.0)
