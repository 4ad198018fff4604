"""Stored completions, pairs and demonstrations: as rows, as losses, beside a method or alone."""

import json

import pytest
import torch

from tiltyard.agents.language.data.catalogue import load_all
from tiltyard.agents.language.data.demonstrations import Demonstrations
from tiltyard.agents.language.data.stored import Stored, groups_of
from tiltyard.agents.language.trainer import PolicyGradient
from tiltyard.agents.language.update import Term, policy_gradient_step
from tiltyard.agents.models.tokenizer import END
from tiltyard.agents.objectives.registry import load

ENV = "tiltyard/ChainSum-v0"
SMALL = {"policy": "transformer-100k", "group_size": 2, "prompts_per_batch": 2, "max_answer_tokens": 8, "seed": 0}
PROMPTS = ["1 + 2", "3 - 1", "7 + 9", "12 - 4"]
PAIRS = [{"prompt": prompt, "chosen": "good", "rejected": "bad"} for prompt in PROMPTS]
ROWS = [
    {"prompt": prompt, "completion": said, "reward": worth}
    for prompt in PROMPTS
    for said, worth in (("good", 1.0), ("bad", 0.0))
]


def agent(**settings) -> PolicyGradient:
    return PolicyGradient(env=ENV, device="cpu", **{"learning_rate": 3e-3, **SMALL, **settings})


def weights(trained: PolicyGradient) -> torch.Tensor:
    return torch.cat([p.detach().flatten() for p in trained.policy.network.parameters()])


def preference(trained: PolicyGradient) -> float:
    """How much likelier the good completions are than the bad ones, in nats."""
    (source,) = load_all({"name": "stored", "rows": ROWS, "batch_size": 8})
    batch = source.batch(agent(kl_coef=0.1).context())  # any reference will do
    logp = trained.context().score(batch.tokens, batch.mask).sum(1)
    return float(logp[batch.reward == 1].mean() - logp[batch.reward == 0].mean())


@pytest.mark.parametrize(("method", "rows"), [("simpo", PAIRS), ("topr", ROWS), ("a-lol", ROWS), ("sft", ROWS[::2])])
def test_offline_objectives_learn_from_what_they_were_made_for(method, rows):
    source = {"name": "stored", "rows": rows, "method": method, "batch_size": 8}
    trained = agent(method=None, data=source)
    before = preference(trained)
    trained.learn(8 * 30)
    assert trained.num_timesteps >= 8 * 30 / 2  # rows, four of them where there are no bad ones
    assert preference(trained) > before + 2


def test_imitation_of_pairs_is_of_what_was_chosen():
    trained = agent(method=None, data={"name": "stored", "rows": [*PAIRS, ROWS[1]], "batch_size": 8})
    batch = trained.data[0].batch(trained.context())
    assert sorted(said for (said,) in batch.completions) == ["bad", *["good"] * 4]  # a row that is no pair is imitated
    assert batch.reward.tolist().count(0.0) == 1


def test_rows_are_prompt_and_completion_with_the_starts_log_probabilities():
    trained = agent(method=None, data={"name": "stored", "rows": PAIRS, "method": "simpo", "batch_size": 4})
    batch = trained.data[0].batch(trained.context())
    assert len(batch) == 4
    assert batch.group.unique(return_counts=True)[1].tolist() == [2, 2]
    for row in range(4):
        tokenizer = trained.policy.tokenizer
        expected = [*tokenizer.prompt(batch.prompts[row]), *tokenizer.encode(batch.completions[row][0]), END]
        assert batch.tokens[row, : len(expected)].tolist() == expected
        assert batch.reward[row] == (batch.completions[row][0] == "good")
        assert batch.mask[row].sum() == len(tokenizer.encode(batch.completions[row][0])) + 1
    assert torch.allclose(batch.logp_old, trained.context().score(batch.tokens, batch.mask), atol=1e-5)
    trained.learn(40)
    again = trained.context().score(batch.tokens, batch.mask)
    assert not torch.allclose(batch.logp_old, again, atol=1e-2)
    fresh = trained.context().score_reference(batch.tokens, batch.mask)
    assert torch.allclose(batch.logp_old, fresh, atol=1e-5)


def test_losses_add_by_weight():
    """One step on two losses is a step along the sum of their gradients."""

    def gradient(weight: float, alone: bool = False) -> torch.Tensor:
        trained = agent(method=None, data={"name": "stored", "rows": PAIRS, "method": "simpo", "batch_size": 8})
        rows = trained.data[0].batch(trained.context())
        objective = load("rloo")
        advantage = torch.zeros(len(rows)) if alone else rows.reward
        term = [Term("data", load("simpo"), rows, weight)] if weight else []
        policy_gradient_step(trained.policy, objective, rows, advantage, max_grad_norm=1e9, terms=term)
        return torch.cat([p.grad.flatten() for p in trained.policy.network.parameters() if p.grad is not None])

    own, stored, both = gradient(0.0), gradient(1.0, alone=True), gradient(0.5)
    assert torch.allclose(both, own + 0.5 * stored, atol=1e-4 * float(both.abs().max()))


def test_a_source_joins_the_policys_own_completions_and_is_logged():
    source = {"name": "demonstrations", "weight": {"schedule": "linear", "start": 1.0, "end": 0.0}, "batch_size": 4}
    trained = agent(method="rloo", data=[source, {"name": "stored", "rows": PAIRS, "method": "simpo"}])
    plain = agent(method="rloo")
    start = weights(plain).clone()
    plain.learn(4, log_interval=None)
    trained.learn(4, log_interval=None)
    assert torch.equal(weights(plain), start)  # an untrained policy earns nothing
    assert not torch.equal(weights(trained), start)
    assert trained.num_timesteps == plain.num_timesteps == 4
    assert {"train/data_loss", "train/data1_loss"} <= trained.logger.name_to_value.keys()


def test_a_saved_agent_draws_on_from_its_file(tmp_path):
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, ROWS)))
    source = {"name": "stored", "path": str(tmp_path / "rows.jsonl"), "method": "a-lol", "batch_size": 4}
    whole, part = agent(method=None, data=source).learn(24), agent(method=None, data=source).learn(12)
    part.save(tmp_path / "agent")
    again = PolicyGradient.load(tmp_path / "agent", env=ENV, device="cpu").learn(12, reset_num_timesteps=False)
    assert again.num_timesteps == whole.num_timesteps
    assert torch.equal(weights(again), weights(whole))


def test_what_is_no_data_is_refused():
    with pytest.raises(ValueError, match="row 0 has"):
        groups_of([{"prompt": "1", "completion": "2"}])
    with pytest.raises(ValueError, match="no stored rows"):
        groups_of([])
    with pytest.raises(ValueError, match="one of the two"):
        Stored(method="simpo")
    with pytest.raises(ValueError, match="name some with data="):
        agent(method=None)
    with pytest.raises(KeyError, match="did you mean 'stored'"):
        agent(data="storred")
    with pytest.raises(TypeError, match="unknown parameter 'wieght'"):
        agent(data={"name": "stored", "wieght": 2})


def test_demonstrations_are_the_experts_solutions():
    trained = agent(method="rloo", max_answer_tokens=48)
    trained._callback = trained._setup_learn(1)[1]
    context = trained.context()
    batch = Demonstrations(batch_size=4, weight=1.0).batch(context)
    assert batch.reward.tolist() == [1.0] * 4
    assert len(set(batch.group.tolist())) == 4
    written = [
        context.policy.tokenizer.decode(row[mask].tolist()) for row, mask in zip(batch.tokens, batch.mask, strict=True)
    ]
    assert all("<answer>" in text for text in written)
    assert torch.allclose(batch.logp_old, context.score(batch.tokens, batch.mask))


@pytest.mark.parametrize("method", ["ppo", "remax", "spo", "rl-plus"])
def test_methods_that_need_what_stored_rows_lack_are_refused(method):
    with pytest.raises(ValueError, match=f"method '{method}' needs .*, which stored rows do not have"):
        load_all({"name": "stored", "rows": ROWS, "method": method})


@pytest.mark.parametrize("rows", [ROWS[:1], ROWS[::2]])
def test_rows_that_hold_nothing_to_learn_are_named(rows):
    trained = agent(method=None, data={"name": "stored", "rows": rows, "method": "simpo"})
    before = weights(trained)
    with pytest.raises(ValueError, match="held nothing that method 'simpo' learns from"):
        trained.learn(8)
    assert torch.equal(weights(trained), before)
    assert trained.num_timesteps == 0


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"weight": float("nan")}, ValueError, "weight must be"),
        ({"weight": -1.0}, ValueError, "weight must be a number of at least 0"),
        ({"weight": {"schedule": "linear", "start": 1.0, "end": -1.0}}, ValueError, "weight must be a number of at"),
        ({"weight": "x"}, ValueError, "weight must be a number of at least 0 that is finite, got 'x'"),
        ({"weight": True}, ValueError, "weight must be a number"),
        ({"batch_size": 2.5}, TypeError, "data source 'stored': batch_size must be a whole number, got 2.5"),
    ],
)
def test_numbers_of_a_source_are_checked(settings, error, message):
    with pytest.raises(error, match=message):
        load_all({"name": "stored", "rows": ROWS, **settings})


def test_a_file_that_is_not_there_is_named():
    trained = agent(method=None, data={"name": "stored", "path": "nowhere.jsonl"})
    with pytest.raises(FileNotFoundError, match=r"there is no file nowhere\.jsonl of stored rows"):
        trained.learn(4)


@pytest.mark.parametrize("rows", [PAIRS[0], "rows.jsonl"])
def test_rows_that_are_no_list_are_refused(rows):
    with pytest.raises(TypeError, match="rows must be a list of rows, got (dict|str): a file is named with path="):
        Stored(rows=rows)
