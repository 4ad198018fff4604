from types import SimpleNamespace

import pytest
import torch

from tiltyard.agents.language.trainer import PolicyGradient
from tiltyard.wrappers.components import Reward
from tiltyard.wrappers.rewards.clip_and_delta import ClipAndDelta, clip, delta


class Likes(Reward):
    """A process reward that any token pleases: ``score`` on each."""

    def __init__(self, score: float = 0.9) -> None:
        self.score, self.fitted = score, 0

    def shape(self, episodes, context):
        return episodes.token_reward + self.score * episodes.mask

    def fit(self, episodes, context):
        self.fitted += 1
        return {}


class Whole(Reward):
    """A process reward of the whole episode."""

    def shape(self, episodes, context):
        return episodes.reward + 0.25


CONTEXT = SimpleNamespace(detokenize=lambda tokens: " " if int(tokens[0]) == 2 else "a")


def episodes(*lengths: int):
    """Rows of so many steps of one token after a prompt of one; the first has earned 1."""
    mask = torch.arange(1 + max(lengths)) <= torch.tensor(lengths)[:, None]
    mask[:, 0] = False
    reward = torch.zeros(len(lengths))
    reward[0] = 1
    last = mask & (mask.flip(1).cumsum(1).flip(1) == 1)
    columns = {"tokens": torch.full(mask.shape, 2), "mask": mask, "turn": torch.zeros(mask.shape, dtype=torch.int64)}
    return SimpleNamespace(reward=reward, token_reward=last * reward[:, None], **columns)


def test_clip_and_delta_by_hand():
    scores, ends = torch.tensor([[0.0, 0.9, 0.0, 0.2, 0.6]]), torch.tensor([[0, 1, 0, 1, 1]]).bool()
    assert clip(scores[ends], 0.5).tolist() == pytest.approx([0.0, -0.3, 0.0])
    assert delta(scores, ends)[0].tolist() == pytest.approx([0.0, 0.7, 0.0, -0.4, 0.6])
    to_go = delta(scores, ends).flip(1).cumsum(1).flip(1)
    assert to_go[ends].tolist() == pytest.approx(scores[ends].tolist())  # the return from a step on is its score


@pytest.mark.parametrize(
    ("mode", "paid"),
    [("none", [1 + 0.9, 2.7]), ("clip", [1.0, 0.0]), ("delta", [1.9, 0.9]), ("clip+delta", [1.0, 0.0])],
)
def test_only_raw_scores_grow_with_steps(mode, paid):
    shaped = ClipAndDelta(process=Likes(), mode=mode, eta=0.5, alpha=1.0).shape(episodes(1, 3), CONTEXT)
    assert shaped.sum(1).tolist() == pytest.approx(paid)


@pytest.mark.parametrize("mode", ["clip", "delta", "clip+delta"])
@pytest.mark.parametrize("score", [-2.0, 0.0, 0.3, 1.0])
def test_what_an_episode_earns_is_bounded_whatever_its_length(mode, score):
    rows = episodes(1, 5, 50)
    bonus = (ClipAndDelta(process=Likes(score), mode=mode, alpha=1.0).shape(rows, CONTEXT) - rows.token_reward).sum(1)
    assert bonus.max() <= max(score, 0) + 1e-4


def test_tokens_of_a_step_are_summed_and_a_score_of_the_whole_is_of_the_last_step():
    rows = episodes(4)
    rows.tokens[0, 1] = 1  # the first step has two tokens now
    raw = ClipAndDelta(process=Likes(0.5), mode="none", alpha=0.1)
    assert (raw.shape(rows, CONTEXT) - rows.token_reward)[0].tolist() == pytest.approx([0, 0, 0.1, 0.05, 0.05])
    whole = ClipAndDelta(process=Whole(), mode="delta", alpha=1.0).shape(rows, CONTEXT) - rows.token_reward
    assert whole[0].tolist() == pytest.approx([0, 0, 0, -0.25, 0.25])  # of the step before it, whose score is 0


def test_an_unknown_mode_is_refused():
    with pytest.raises(ValueError, match="unknown mode"):
        ClipAndDelta(process=Likes(), mode="clop")


def test_the_process_reward_is_trained_and_its_memory_kept():
    inner = Likes()
    reward = ClipAndDelta(process=inner)
    reward.fit(None, None)
    assert inner.fitted == 1
    assert reward.state_dict() == {}
    assert reward.networks() == {}


def test_in_training_repeated_steps_are_paid_by_raw_scores_alone():
    """Chain sums, whose steps end with a space: rewards that are learnt from, with and without refinement."""
    paid = {}
    for mode in ("none", "clip+delta"):
        agent = PolicyGradient(
            "chain-sum-base",
            "tiltyard/ChainSum-v0",
            rewards=ClipAndDelta(process=Likes(0.1), mode=mode, eta=0.0, alpha=1.0),
            group_size=4,
            prompts_per_batch=4,
            max_answer_tokens=48,
            seed=0,
        )
        seen, train = [], agent.train
        agent.train = lambda rollouts, objective, seen=seen, train=train: (
            seen.append(rollouts),
            train(rollouts, objective),
        )
        agent.learn(16)
        paid[mode] = seen[0].reward - seen[0].info["success"].float()
        assert seen[0].step_reward is not None
    assert torch.corrcoef(torch.stack([paid["none"], seen[0].length.float()]))[0, 1] > 0.99
    assert paid["clip+delta"].max() <= 1e-5
