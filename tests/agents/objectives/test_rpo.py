import math

import pytest

from tiltyard.agents.language.trainer import PolicyGradient
from tiltyard.agents.objectives.parts.preference_pairs import preference_pairs
from tiltyard.agents.objectives.registry import load
from tiltyard.agents.objectives.rpo import loss as rpo


def log_loss(gap: float) -> float:
    return math.log(1 + math.exp(-gap))


def pair(completions):
    """Chosen: log pi -3 against log pi_ref -4, of two tokens; rejected: -2 against -1.5, of one."""
    return completions([1.0, 0.0], [[-1.0, -2.0], [-2.0]], ref=[[-2.0, -2.0], [-1.5]])


def test_a_pair_by_hand(completions):
    rollouts, out = pair(completions)  # h_w - h_l = 1 - (-0.5) = 1.5
    total, metrics = load("rpo", beta=0.1, eta=0.2)(rollouts, out)
    assert total.item() == pytest.approx(log_loss(0.15) + 0.2 * 0.1 * 3.0)
    assert metrics["ranking_accuracy"] == 1
    total.backward()  # -+beta (1 - sigmoid(0.15)), on the chosen with -eta beta
    push = 0.1 / (1 + math.exp(0.15))
    assert out.logp.grad[0, 1:].tolist() == pytest.approx([-push - 0.02] * 2)
    assert out.logp.grad[1].tolist() == pytest.approx([0.0, push, 0.0])


def test_the_mean_variant_by_hand(completions):
    rollouts, out = pair(completions)
    total, _ = load("rpo", beta=0.5, eta=0.2, sft="mean")(rollouts, out)
    assert total.item() == pytest.approx(log_loss(0.75) + 0.2 * 1.5)


def test_without_the_supervised_term_it_is_dpo_which_lowers_both(completions):
    """A chosen completion whose tokens are those of the rejected one but the last: DPO's gradient cancels on them."""
    rollouts, out = pair(completions)
    total, _ = load("rpo", beta=0.1, eta=0.0)(rollouts, out)
    assert total.item() == pytest.approx(log_loss(0.15))
    total.backward()
    assert out.logp.grad[0, 1].item() == pytest.approx(-out.logp.grad[1, 1].item())  # nothing holds the chosen up


def test_length_normalised_dpo_by_hand(completions):
    rollouts, out = pair(completions)  # a token: h_w = 1 / 2 and h_l = -0.5
    total, metrics = load("dpo-norm")(rollouts, out)
    assert total.item() == pytest.approx(log_loss(5.0))
    assert metrics["ranking_accuracy"] == 1
    total.backward()  # -+beta (1 - sigmoid(5)) / |y|
    push = 5.0 / (1 + math.exp(5.0))
    assert out.logp.grad[:, 1:].tolist() == [pytest.approx([-push / 2] * 2), pytest.approx([push, 0.0])]


def test_groups_weigh_the_same_whatever_their_pairs(completions):
    # one group of a pair, one of two chosen and one rejected, one without a pair
    old = [[-1.0]] * 7
    rollouts, out = completions([1.0, 0.0, 1.0, 1.0, 0.0, 0.5, 0.5], old, group=[0, 0, 1, 1, 1, 2, 2], ref=[[-1.0]] * 7)
    total, _ = load("rpo", beta=0.1, eta=0.0)(rollouts, out)
    assert total.item() == pytest.approx(math.log(2))
    total.backward()
    # each group's gradient is beta / 2 on either side, halved over two groups; split over its chosen completions
    assert out.logp.grad[:, 1].tolist() == pytest.approx([-0.025, 0.025, -0.0125, -0.0125, 0.025, 0, 0])


def test_weights_of_pairs_by_hand(completions):
    rollouts, _ = completions([1.0, 1.0, 0.0, 0.5, 0.3, 0.3], [[-1.0]] * 6, group=[0, 0, 0, 0, 7, 7])
    assert preference_pairs(rollouts).tolist() == [3.0, 3.0, -6.0, 0.0, 0.0, 0.0]  # six rows, one group with a pair


def test_an_unknown_supervised_term_is_refused(completions):
    rollouts, out = pair(completions)
    with pytest.raises(ValueError, match="unknown sft"):
        rpo(rollouts, preference_pairs(rollouts), out, sft="median")


def learnt(eta: float) -> tuple[float, float]:
    """Log-likelihoods of chosen and rejected completions after a hundred steps on stored pairs alone."""
    pairs = [{"prompt": prompt, "chosen": "good", "rejected": "gone"} for prompt in ("1+2", "3-1", "7+9", "12-4")]
    source = {"name": "stored", "rows": pairs, "batch_size": 8, "method": "rpo"}
    agent = PolicyGradient(
        "transformer-100k",
        "tiltyard/ChainSum-v0",
        method=None,
        data={**source, "method_kwargs": {"beta": 0.5, "eta": eta}},
        learning_rate=1e-3,
        seed=0,
    )
    agent.learn(8 * 60)
    batch = agent.data[0].batch(agent.context())
    logp = agent.context().score(batch.tokens, batch.mask).sum(1)
    return float(logp[batch.reward == 1].mean()), float(logp[batch.reward == 0].mean())


def test_stored_pairs_are_learnt_and_the_supervised_term_keeps_the_chosen_likely():
    (chosen, rejected), (held, _) = learnt(0.0), learnt(1.0)
    assert chosen > rejected + 3
    assert held > chosen + 1
