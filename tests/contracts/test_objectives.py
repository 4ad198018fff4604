"""What every row of the objectives' catalogue must do."""

from dataclasses import replace

import pytest
import torch

from tiltyard.agents import make
from tiltyard.agents.language.providers.catalogue import PROVIDERS
from tiltyard.agents.language.rollouts import PolicyOut, Rollouts
from tiltyard.agents.objectives.catalogue import ROWS, find
from tiltyard.agents.objectives.parts.ops import turn_ends
from tiltyard.agents.objectives.registry import load

REWARDS, GROUPS = [1.0, 0.0, -0.1, 1.0, 0.0, 0.0, 1.0, 0.0], [0, 0, 0, 0, 5, 5, 5, 5]
every_row = pytest.mark.parametrize("handle", [row.handle for row in ROWS])


def batch(rewards: list[float], *, seed: int = 0, steps: int = 6) -> Rollouts:
    """Random answers of one turn: two prompt tokens, then 1 to ``steps`` tokens, then padding. No column is missing."""
    generator = torch.Generator().manual_seed(seed)
    n, width = len(rewards), steps + 2
    lengths = torch.randint(1, steps, (n,), generator=generator)
    columns = torch.arange(width)
    mask = (columns >= 2) & (columns < 2 + lengths[:, None])
    logp_old = -torch.rand(n, width, generator=generator) * mask
    turn = torch.zeros(n, width, dtype=torch.int64)
    return Rollouts(
        tokens=torch.randint(4, 100, (n, width), generator=generator),
        mask=mask,
        logp_old=logp_old,
        logp_ref=(logp_old - 0.1 * torch.rand(n, width, generator=generator)) * mask,
        reward=torch.tensor(rewards),
        group=torch.tensor(GROUPS),
        seed=torch.tensor(GROUPS),
        turn=turn,
        length=lengths,
        entropy=torch.rand(n, width, generator=generator) * mask,
        info={"success": torch.tensor(rewards) > 0},
        values=0.1 * torch.rand(n, width, generator=generator) * mask,
        baseline=torch.full((n,), 0.25),
        step_reward=turn_ends(turn, mask) * torch.tensor(rewards)[:, None],
        state=torch.tensor(GROUPS)[:, None].expand(n, width).clone(),
        logp_mean_old=(logp_old - 1) * mask,
        logp_prm=(logp_old + 0.1 * torch.tensor(rewards)[:, None]) * mask,
    )


WIDE = (
    *("tokens", "logp_old", "logp_ref", "turn", "entropy", "values", "step_reward", "state", "logp_mean_old"),
    "logp_prm",
)


def permuted(rollouts: Rollouts, order: torch.Tensor) -> Rollouts:
    every = {name: getattr(rollouts, name) for name in rollouts.__dataclass_fields__}
    columns = {name: column for name, column in every.items() if isinstance(column, torch.Tensor)}
    info = {name: column[order] for name, column in rollouts.info.items()}
    return replace(rollouts, **{name: column[order] for name, column in columns.items()}, info=info)


def policy_out(rollouts: Rollouts) -> PolicyOut:
    """A policy that has moved a little."""
    noise = torch.randn(rollouts.logp_old.shape, generator=torch.Generator().manual_seed(1))
    return PolicyOut((rollouts.logp_old + 0.1 * noise * rollouts.mask).requires_grad_(), rollouts.entropy.clone())


def loss_and_gradient(handle: str, rollouts: Rollouts, out: PolicyOut, **params) -> tuple[torch.Tensor, torch.Tensor]:
    loss, _ = load(handle, **params)(rollouts, out)
    loss.backward()
    return loss.detach(), out.logp.grad


@every_row
def test_loss_is_finite_and_its_gradient_is_not_zero(handle):
    rollouts = batch(REWARDS)
    loss, gradient = loss_and_gradient(handle, rollouts, policy_out(rollouts))
    assert loss.isfinite()
    assert gradient.isfinite().all()
    assert gradient.abs().sum() > 0


@every_row
def test_a_better_answer_is_made_likelier(handle):
    rollouts = batch(REWARDS)
    out = PolicyOut(rollouts.logp_old.clone().requires_grad_(), rollouts.entropy)
    rollouts = replace(rollouts, logp_ref=rollouts.logp_old)
    _, gradient = loss_and_gradient(handle, rollouts, out)
    assert (gradient[0] <= 0).all()  # descent raises the best of the first group
    assert (gradient[2] >= 0).all()  # and lowers its worst
    assert (gradient[0].sum() < 0) | (gradient[2].sum() > 0)


@every_row
def test_tokens_outside_the_mask_get_no_gradient(handle):
    rollouts = batch(REWARDS)
    _, gradient = loss_and_gradient(handle, rollouts, policy_out(rollouts))
    assert (gradient[~rollouts.mask] == 0).all()


@every_row
@pytest.mark.parametrize("garbage", [7.0, float("nan"), float("inf")])
def test_garbage_outside_the_mask_changes_nothing(handle, garbage):
    rollouts = batch(REWARDS)
    clean = loss_and_gradient(handle, rollouts, policy_out(rollouts))
    outside = ~rollouts.mask
    columns = {name: getattr(rollouts, name) for name in WIDE}
    spoilt = replace(
        rollouts,
        **{
            name: column.masked_fill(outside, garbage if column.is_floating_point() else 99)
            for name, column in columns.items()
        },
    )
    moved = policy_out(rollouts)
    out = PolicyOut(*(column.detach().masked_fill(outside, garbage) for column in (moved.logp, moved.entropy)))
    out.logp.requires_grad_()
    loss, gradient = loss_and_gradient(handle, spoilt, out)
    assert torch.equal(loss, clean[0])
    assert torch.equal(gradient, clean[1])
    objective = load(handle)
    per_token, metrics = objective.loss(spoilt, objective.advantage(spoilt), out)
    assert per_token.isfinite().all()  # a caller may sum it as he likes
    assert all(metric.isfinite() for metric in metrics.values())


@every_row
def test_words_between_written_tokens_take_no_time(handle):
    """What the environment says between two turns is neither learnt from nor a step of its own."""
    rollouts, at = batch(REWARDS), 4
    given = policy_out(rollouts)
    given = replace(given, logp_mean=(given.logp.detach() - 1) * rollouts.mask)
    loss, gradient = loss_and_gradient(handle, rollouts, given)

    def apart(column: torch.Tensor) -> torch.Tensor:
        said = torch.zeros_like(column[:, :1]) if column.dtype == torch.bool else column[:, at - 1 : at]
        return torch.cat([column[:, :at], said, column[:, at:]], 1)

    spread = replace(rollouts, **{name: apart(getattr(rollouts, name)) for name in (*WIDE, "mask")})
    out = PolicyOut(apart(given.logp.detach()).requires_grad_(), apart(given.entropy), apart(given.logp_mean))
    other_loss, other_gradient = loss_and_gradient(handle, spread, out)
    assert torch.allclose(other_loss, loss, atol=1e-6)
    assert (other_gradient[:, at] == 0).all()
    assert torch.allclose(other_gradient[:, [*range(at), *range(at + 1, other_gradient.shape[1])]], gradient, atol=1e-6)


@every_row
def test_the_order_of_rows_does_not_matter(handle):
    rollouts = batch(REWARDS)
    loss, gradient = loss_and_gradient(handle, rollouts, policy_out(rollouts))
    order = torch.tensor([5, 2, 7, 0, 3, 6, 1, 4])
    moved = policy_out(rollouts)
    out = PolicyOut(moved.logp.detach()[order].requires_grad_(), moved.entropy[order])
    other_loss, other_gradient = loss_and_gradient(handle, permuted(rollouts, order), out)
    assert torch.allclose(other_loss, loss, atol=1e-6)
    assert torch.allclose(other_gradient, gradient[order], atol=1e-6)


@every_row
def test_a_group_of_equal_rewards_teaches_what_the_paper_says(handle):
    """Beside a group that is mixed; without KL penalties, whose pull to the reference never stops."""
    taught = {}
    params = {"kl_coef": 0.0} if "kl_coef" in load(handle).params else {}
    for reward in (-0.1, 0.0, 1.0):
        rollouts = batch([reward] * 4 + [0.0, 0.0, 1.0, 0.0])
        fresh = PolicyOut(rollouts.logp_old.clone().requires_grad_(), rollouts.entropy)
        taught[reward] = bool((loss_and_gradient(handle, rollouts, fresh, **params)[1][:4] != 0).any())
    says = find(handle).uniform_groups
    assert any(taught.values()) == (says != "silent")
    assert taught[1.0] == (says == "learns")


@every_row
def test_an_answer_without_advantage_has_no_gradient_where_the_row_says_so(handle):
    rollouts = batch(REWARDS)
    objective = load(handle, **({"kl_coef": 0.0} if "kl_coef" in load(handle).params else {}))
    advantage, out = objective.advantage(rollouts), policy_out(rollouts)
    advantage = torch.where(
        torch.tensor([1, 1, 0, 1, 0, 1, 1, 1]).bool().view(-1, *[1] * (advantage.dim() - 1)), advantage, 0
    )
    per_token, _ = objective.loss(rollouts, advantage, out)
    (per_token * objective.aggregate(rollouts.mask))[rollouts.mask].sum().backward()
    assert objective.silent_at_zero == bool((out.logp.grad[[2, 4]] == 0).all())


@every_row
def test_a_column_that_is_not_there_is_named(handle):
    """What a row needs and the rollouts lack is one clear sentence; what it does not declare, it does not read."""
    rollouts, needs = batch(REWARDS), load(handle).needs
    assert needs <= set(PROVIDERS)
    reads = {"values": "values", "greedy": "baseline", "tracker": "baseline", "steps": "step_reward", "states": "state"}
    reads |= {"verifier": "values", **{name: name for name in ("logp_ref", "logp_prm")}}
    bare = replace(rollouts, **dict.fromkeys(reads.values()))
    wanted = {need: reads[need] for need in needs if need in reads}
    given = {column: getattr(rollouts, column) for column in wanted.values()}
    load(handle)(replace(bare, **given), policy_out(rollouts))
    for column in wanted.values():
        with pytest.raises(ValueError, match=column):
            load(handle)(replace(bare, **{**given, column: None}), policy_out(rollouts))


@every_row
def test_unknown_parameters_are_refused(handle):
    with pytest.raises(TypeError, match="unknown parameter 'clip_hihg'"):
        load(handle, clip_hihg=0.1)


@every_row
def test_pieces_of_a_batch_add_up(handle):
    """A trainer may cut a batch: weights times tokens, summed over the pieces, is the loss of the whole.

    Anywhere, or between groups where the row says so; answers without advantage may be left out.
    """
    rollouts = batch(REWARDS)
    out, objective = policy_out(rollouts), load(handle)
    whole, _ = objective(rollouts, out)
    advantage, weights = objective.advantage(rollouts), objective.aggregate(rollouts.mask)
    total = torch.zeros(())
    cut = ([0, 1, 2, 3], [4, 5, 6, 7]) if "groups" in objective.needs else ([0, 3, 4], [1, 2, 5, 6, 7])
    for rows in map(torch.tensor, cut):
        if objective.silent_at_zero:
            rows = rows[(advantage[rows] != 0).flatten(1).any(1) if advantage.dim() > 1 else advantage[rows] != 0]
        part = rollouts.take(rows)
        width = part.tokens.shape[1]
        piece = PolicyOut(out.logp[rows, :width], out.entropy[rows, :width])
        own = advantage[rows] if advantage.dim() == 1 else advantage[rows, :width]
        per_token, _ = objective.loss(part, own, piece)
        total = total + (per_token * weights[rows, :width])[part.mask].sum()
    assert torch.allclose(total, whole, atol=1e-6)


@every_row
def test_inputs_are_left_as_they_were(handle):
    rollouts = batch(REWARDS)
    names = ("mask", "reward", "group", "length", "baseline", *WIDE)
    before = {name: getattr(rollouts, name).clone() for name in names}
    load(handle)(rollouts, policy_out(rollouts))
    assert all(torch.equal(getattr(rollouts, name), value) for name, value in before.items())


@pytest.mark.usefixtures("small_verifier")
@every_row
def test_an_agent_trains_by_it_when_asked_by_name(handle):
    agent = make("grpo", "tiltyard/ChainSum-v0", method=handle, n_envs=16, prompts_per_batch=4, seed=0, group_size=4)
    before = {name: value.clone() for name, value in agent.policy.state_dict().items()}
    agent.learn(16)
    after = agent.policy.state_dict()
    assert all(value.isfinite().all() for value in after.values())
    assert any(not torch.equal(value, before[name]) for name, value in after.items())


def test_handles_are_unique():
    assert len({row.handle for row in ROWS}) == len(ROWS)
