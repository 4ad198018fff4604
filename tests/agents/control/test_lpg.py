import gymnasium
import numpy as np
import pytest
import torch

from tiltyard.agents.control.lpg import (
    LPGAgent,
    LPGRule,
    Rates,
    Rollout,
    Tables,
    ascent,
    clipped,
    divergence_gradient,
    lpg_update,
    roll_out,
)
from tiltyard.agents.control.lpg_worlds import GymWorld, RandomWorlds

STEP = Rollout(*(torch.tensor([[[x]]]) for x in (0, 0, 1.0, 0.0, 1)))
"""One agent's one step: action 0 in state 0 earned 1 and led to state 1."""


def some(n: int = 2, workers: int = 3, steps: int = 4) -> tuple[Tables, Rollout]:
    rng = np.random.default_rng(0)
    worlds = RandomWorlds(n, rng, states=5, actions=3)
    tables = Tables.fresh(worlds, 2, rng)
    return tables, roll_out(worlds, tables, worlds.reset(workers, rng), steps, rng)[0]


def saying(policy: float, prediction: list[float]) -> LPGRule:
    """A rule that always says the same."""
    rule = LPGRule(units=3, predictions=len(prediction))
    with torch.no_grad():
        rule.policy_target.weight.zero_()
        rule.prediction_target.weight.zero_()
        rule.policy_target.bias.fill_(policy)
        rule.prediction_target.bias.copy_(torch.tensor(prediction).log())
    return rule


def test_an_update_by_hand() -> None:
    # Policy: ((1, 0) - (1/2, 1/2)) * 2 = (1, -1), times the rate 3. Predictions: of y = (1/2, 1/2) and y-hat =
    # (3/4, 1/4), log y/y-hat is (log 2/3, log 2), and the gradient 1/2 (log 2/3 - m, log 2 - m) with m their mean:
    # (-log 3 / 4, log 3 / 4), times weight 1/2 and rate 4.
    tables = Tables(torch.zeros(1, 2, 2), torch.zeros(1, 2, 2), torch.zeros(1, 2))
    rates = Rates(policy=3.0, prediction=4.0, weight=0.5, clip=10.0)
    after, wanted = lpg_update(saying(2.0, [0.75, 0.25]), tables, STEP, rates)
    assert wanted.policy.item() == 2.0
    np.testing.assert_allclose(after.policy.detach()[0], [[3, -3], [0, 0]], atol=1e-6)
    half = np.log(3) / 2
    np.testing.assert_allclose(after.prediction.detach()[0], [[half, -half], [0, 0]], atol=1e-6)


def test_gradients_are_clipped_for_each_agent() -> None:
    step = torch.tensor([[[3.0, 4.0]], [[0.3, 0.0]]])
    np.testing.assert_allclose(clipped(step, 0.5), [[[0.3, 0.4]], [[0.3, 0.0]]])


def test_written_gradients_are_the_losses() -> None:
    tables, seen = some()
    weight, wanted = torch.randn(seen.reward.shape), torch.softmax(torch.randn(*seen.reward.shape, 2), dim=-1)
    policy, y = tables.policy.requires_grad_(), tables.prediction.requires_grad_()
    which = torch.arange(2)[:, None, None]
    logp = torch.log_softmax(policy, dim=-1)[which, seen.state, seen.action]
    logy = torch.log_softmax(y, dim=-1)[which, seen.state]
    divergence = (logy.exp() * (logy - wanted.log())).sum(dim=-1)
    by_policy, by_y = torch.autograd.grad(((logp * weight) + divergence).sum() / 12, (policy, y))
    np.testing.assert_allclose(ascent(policy, seen, weight).detach(), by_policy, atol=1e-6)
    np.testing.assert_allclose(divergence_gradient(y, seen.state, wanted).detach(), by_y, atol=1e-6)


def test_gradients_reach_the_rule_through_updates_and_not_through_what_it_reads() -> None:
    tables, seen = some()
    rule = LPGRule(units=3, predictions=2)
    tables.policy.requires_grad_()
    tables.prediction.requires_grad_()
    after, _ = lpg_update(rule, tables, seen, Rates())
    after, _ = lpg_update(rule, after, seen, Rates())
    after.policy.square().sum().backward()
    assert tables.prediction.grad is None
    assert tables.policy.grad is not None
    assert all(weight.grad is not None for weight in (rule.recurrent, rule.policy_target.weight, rule.inputs.weight))
    assert float(rule.recurrent.grad.abs().sum()) > 0  # type: ignore[union-attr]


def test_a_rule_looks_ahead_and_not_past_the_end_of_an_episode() -> None:
    rule = LPGRule(seed=3)
    reward, done, chance = torch.zeros(1, 4), torch.tensor([[0.0, 1.0, 0.0, 0.0]]), torch.full((1, 4), 0.5)
    y = torch.full((1, 4, 8), 1 / 8)
    later = reward.clone()
    later[0, 3] = 1.0
    before, after = (rule(one, done, chance, y, y).policy[0].detach() for one in (reward, later))
    assert (before != after).tolist() == [False, False, True, True]
    other = y.roll(1, -1) * torch.linspace(0.5, 1.5, 8)
    ended = rule(reward, done, chance, y, other).policy[0].detach()
    assert (before != ended).tolist() == [True, False, True, True]  # at an end there is no next prediction to read


def test_more_pi_hat_makes_actions_likelier_in_any_discrete_environment() -> None:
    agent = LPGAgent(saying(1.0, [0.5, 0.5]), GymWorld(lambda: gymnasium.make("FrozenLake-v1")), workers=2, steps=5)
    before = agent.tables.policy.clone()
    assert agent.learn(2) is agent
    assert float((agent.tables.policy - before).abs().sum()) > 0
    assert agent.predict(np.array([0])).shape == (1,)
    assert agent.predict(np.array([0]), deterministic=True) == agent.tables.policy[0, 0].argmax()
    assert 0 <= agent.worth()[0] <= 1


def test_a_seed_decides_rules_and_agents() -> None:
    worth = [
        LPGAgent(LPGRule(seed=1), RandomWorlds(2, np.random.default_rng(0)), seed=4).learn(3).worth() for _ in "ab"
    ]
    np.testing.assert_array_equal(*worth)
    assert not torch.equal(LPGRule(seed=1).recurrent, LPGRule(seed=2).recurrent)


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match=r"gamma lies in \[0, 1\], got 32, 8, 16 and 1.5"):
        LPGRule(gamma=1.5)
    with pytest.raises(ValueError, match="workers and steps are at least 1, got 0 and 20"):
        LPGAgent(LPGRule(), RandomWorlds(1, np.random.default_rng(0)), workers=0)
