"""Where a transition was drawn from is a column of its batch: no method reads it from the position."""

from typing import Any

import pytest
import torch as th

from tiltyard.agents import ARSQ, H2O, SAC, ReCOIL
from tiltyard.agents.control.replay import DATASET, EXPERT, OWN, Batch

SMALL: dict[str, Any] = {"policy_kwargs": {"net_arch": [16]}, "batch_size": 32, "learning_starts": 10, "seed": 0}
STILL: dict[str, Any] = {"discriminator_noise": 0.0, "next_state_scale": 0.0, "discriminator_width": 16}


def shuffled(batch: Batch) -> Batch:
    order = th.randperm(len(batch.rewards))
    return Batch(*(None if part is None else part[order] for part in batch))


@pytest.mark.parametrize(
    ("agent", "settings", "told"),
    [
        (ReCOIL, {}, ("value_loss", "actor_loss", "critic_loss", "q_mix", "q_expert")),
        (ARSQ, {"bins": 3}, ("critic_loss", "imitation_gap")),
        (H2O, STILL, ("discriminator_loss", "trust", "dynamics_gap")),  # its target is drawn, a row after the other
    ],
)
def test_an_update_does_not_depend_on_the_order_of_its_batch(agent: Any, settings: Any, told: Any, match: Any) -> None:
    found = []
    for change in (lambda batch: batch, shuffled):
        made = agent("MlpPolicy", match.env(), **SMALL, **settings).learn_offline(match.data(200), 5).learn(30)
        th.manual_seed(1)
        metrics = made.update(change(made.sample(64)))
        found.append([metrics[name].item() for name in told])
    assert found[0] == pytest.approx(found[1], rel=1e-4)


def test_every_batch_says_where_its_transitions_come_from(match: Any) -> None:
    agent = SAC("MlpPolicy", match.env(), offline_ratio=0.25, **SMALL)
    agent.learn(12)
    agent.replay_buffer.rewards[:] = 7.0  # type: ignore[union-attr]
    assert agent.sample(8).is_from(OWN).all()
    agent.learn_offline(match.data(200), 0)
    batch = agent.sample(64)
    assert batch.is_from(DATASET).sum() == 16
    assert batch.is_from(OWN).equal(batch.rewards == 7)
    assert not batch.is_from(EXPERT).any()
    steps = SAC("MlpPolicy", match.env(), n_steps=3, **SMALL).learn(12)  # SB3's own buffer
    assert steps.sample(8).is_from(OWN).all()


def test_a_batch_made_by_hand_may_leave_it_out() -> None:
    one = th.ones(1, 1)
    assert not Batch(one, one, th.ones(1), one, th.ones(1)).is_from(OWN).any()
