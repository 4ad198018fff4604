from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch

from tiltyard.agents import make
from tiltyard.agents.language.episodes import Written, assemble
from tiltyard.agents.language.rollouts import Rollouts
from tiltyard.agents.language.slots import episode
from tiltyard.agents.language.t_ppo import TPPO, Step, egae, monte_carlo
from tiltyard.agents.language.update import logp_of
from tiltyard.agents.models.tokenizer import END
from tiltyard.agents.objectives.parts.gae import raw_gae
from tiltyard.benchmarks.testbeds.long_tails import PIECES, WalksVectorEnv

LONGEST = 9


def rows(values: list[list[float]], rewards: list[float]) -> Rollouts:
    """A prompt of one token, and as many written tokens as there are values."""
    numbers = [np.zeros(len(row), np.float32) for row in values]
    written = [Written("", np.full(len(row), 5), of, of) for row, of in zip(values, numbers, strict=True)]
    made = [(i, episode(np.array([9]), one, rewards[i])) for i, one in enumerate(written)]
    found = assemble(made, range(len(made)), torch.device("cpu"))
    columns = torch.zeros(found.mask.shape)
    columns[found.mask] = torch.tensor([value for row in values for value in row])
    return replace(found, values=columns)


def agent(**settings: Any) -> TPPO:
    small = {"policy": "transformer-100k", "pieces": PIECES, "max_answer_tokens": LONGEST, "seed": 0, "device": "cpu"}
    return TPPO(env=WalksVectorEnv(6, longest=8), **{"slots": 6, "window": 3, **small, **settings})


def ready(**settings: Any) -> TPPO:
    """An untrained agent whose iterations are called one by one."""
    trained = agent(**settings)
    _, trained._callback = trained._setup_learn(1)
    return trained


class Watched(TPPO):
    """Keeps what its steps wrote, and what its value network learnt from."""

    def write(self) -> Step:
        self.steps = [*getattr(self, "steps", []), super().write()]
        return self.steps[-1]

    def _learn_values(self, finished: Rollouts) -> None:
        self.fitted = [*getattr(self, "fitted", []), finished]
        super()._learn_values(finished)


@cache
def watched(completions: int, **settings: Any) -> Watched:
    small = {"policy": "transformer-100k", "pieces": PIECES, "max_answer_tokens": LONGEST, "seed": 0, "device": "cpu"}
    small |= {"warm_start_steps": 20, "warm_start_batch_size": 8, "learning_rate": 1e-5}
    trained = Watched(env=WalksVectorEnv(6, longest=8), **{"slots": 6, "window": 3, **small, **settings})
    trained.learn(completions)
    return trained


def texts(part: Rollouts) -> dict[int, list[int]]:
    """What ``mask`` covers of each row, by seed."""
    assert len(set(part.seed.tolist())) == len(part)
    return {
        seed: tokens[mask].tolist()
        for seed, tokens, mask in zip(part.seed.tolist(), part.tokens, part.mask, strict=True)
    }


def test_by_hand():
    # cut, lambda 1/2: delta_2 = 0.25 - 0.25 = 0, delta_1 = 0.25 - 0.5, A_1 = -0.25
    # ended with 1: delta_2 = 1 - 0.25, delta_1 = -0.25, A_1 = -0.25 + 0.75 / 2
    both = rows([[0.5, 0.25], [0.5, 0.25]], [0.0, 1.0])
    unfinished = torch.tensor([True, False])
    assert egae(both, unfinished, gae_lambda=0.5).tolist() == [[0.0, -0.25, 0.0], [0.0, 0.125, 0.75]]
    # V behind the cut 0.75: delta_2 = 0.5, A_1 = -0.25 + 0.5 / 2; it means nothing for the row that ended
    after = torch.tensor([0.75, 9.0])
    assert egae(both, unfinished, after=after, gae_lambda=0.5).tolist() == [[0.0, 0.0, 0.5], [0.0, 0.125, 0.75]]
    # gamma 1/2: delta_2 = 0.125 - 0.25, delta_1 = 0.125 - 0.5, A_1 = -0.375 - 0.125 / 4
    assert egae(both, unfinished, gamma=0.5, gae_lambda=0.5)[0].tolist() == [0.0, -0.40625, -0.125]


def test_it_is_gae_where_nothing_is_truncated():
    values = torch.rand(3, 4, generator=torch.Generator().manual_seed(0)).tolist()
    whole = rows([values[0], values[1][:2], values[2][:3]], [1.0, 0.0, 0.5])
    for gamma, gae_lambda in product((1.0, 0.9), (0.0, 0.95, 1.0)):
        how = {"gamma": gamma, "gae_lambda": gae_lambda}
        assert torch.equal(egae(whole, torch.zeros(3, dtype=torch.bool), **how), raw_gae(whole, **how))


REWARD = {text: float(value) for text, value in zip(product((0, 1), repeat=3), (0, 3, 1, -2, 5, 0, 2, 7), strict=True)}
CHANCE = (0.3, 0.7)


def value(text: tuple[int, ...]) -> float:
    """Of the state behind ``text``, where three tokens are written, each 1 with a chance of 0.7."""
    return REWARD[text] if len(text) == 3 else sum(CHANCE[a] * value((*text, a)) for a in (0, 1))


@pytest.mark.parametrize("gae_lambda", [0.0, 0.5, 1.0])
def test_with_the_true_values_it_is_unbiased_but_for_the_last_token_of_a_held_cut(gae_lambda):
    texts = list(product((0, 1), repeat=2))  # cut after two of the three tokens
    windows = rows([[value(()), value(text[:1])] for text in texts], [0.0] * 4)
    cut, after = torch.ones(4, dtype=torch.bool), torch.tensor([value(text) for text in texts])
    held = egae(windows, cut, gae_lambda=gae_lambda)[:, 1:]
    evaluated = egae(windows, cut, after=after, gae_lambda=gae_lambda)[:, 1:]
    true = torch.tensor([[value(text[:1]) - value(()), value(text) - value(text[:1])] for text in texts])
    assert torch.allclose(evaluated[:, 1], true[:, 1], atol=1e-5)
    assert held[:, 1].tolist() == [0.0] * 4
    assert (true[:, 1].abs() > 0.5).all()
    for found in (held, evaluated):
        for first in (0, 1):  # what follows it, by its chances
            mine = sum(CHANCE[text[1]] * found[i, 0] for i, text in enumerate(texts) if text[0] == first)
            assert float(mine) == pytest.approx(value((first,)) - value(()), abs=1e-5)


def test_returns_are_what_is_paid_at_the_end():
    whole = rows([[0.0, 0.0, 0.0], [0.0]], [1.0, 0.5])
    assert monte_carlo(whole).tolist() == [[0.0, 1.0, 1.0, 1.0], [0.0, 0.5, 0.0, 0.0]]
    assert monte_carlo(whole, 0.5).tolist() == [[0.0, 0.25, 0.5, 1.0], [0.0, 0.5, 0.0, 0.0]]


def test_no_token_is_lost_or_learnt_from_twice():
    trained = watched(30)
    learnt: dict[int, list[int]] = {}
    finished: dict[int, list[int]] = {}
    for step in trained.steps:
        for seed, window in texts(step.windows).items():
            assert 1 <= len(window) <= 3
            assert seed not in finished
            learnt[seed] = learnt.get(seed, []) + window
        finished |= texts(step.finished) if step.finished is not None else {}
        assert {one.seed for one in step.kept} == set(learnt) - set(finished)
    left = {one.seed: one.written.tokens.tolist() for one in trained.unfinished.kept}
    assert learnt == finished | left
    assert left
    assert any(len(text) > 3 for text in finished.values())
    assert all(text[-1] == END or len(text) == LONGEST for text in finished.values())
    assert trained.num_timesteps == len(finished) >= 30
    assert trained.tokens_written == sum(map(len, learnt.values()))


def test_every_slot_is_used_in_every_step_and_a_free_one_takes_a_new_prompt():
    trained = watched(30)
    assert all(len(step.windows) == 6 for step in trained.steps)
    for before, now in zip(trained.steps, trained.steps[1:], strict=False):
        carried = {one.seed for one in before.kept}
        assert carried <= set(now.windows.seed.tolist())
        assert len(carried) < 6 or before.finished is None
        fresh = [seed not in carried for seed in now.windows.seed.tolist()]
        begins = now.windows.mask.int().argmax(1)
        assert (begins[torch.tensor(fresh)] == 4).all()  # behind a prompt of three tokens and its mark
        assert (begins[~torch.tensor(fresh)] > 4).all()


def test_the_value_network_learns_from_finished_sequences_alone_and_from_all_of_each():
    trained = watched(30)
    steps = [step.finished for step in trained.steps if step.finished is not None]
    assert len(steps) == len(trained.fitted) < len(trained.steps)
    for finished, fitted in zip(steps, trained.fitted, strict=True):
        assert fitted is finished
        for seed, text in texts(fitted).items():
            assert text[-1] == END or len(text) == LONGEST
            row = fitted.seed.tolist().index(seed)
            assert fitted.mask[row].int().argmax() == 4  # from its first window on
        assert torch.equal(fitted.reward == 1, fitted.info["success"])
    truncated = [step.windows.reward[step.unfinished] for step in trained.steps]
    assert (torch.cat(truncated) == 0).all()


def test_a_step_in_which_nothing_ends_leaves_the_value_network_as_it_was():
    trained = ready(window=2, seed=5)
    with torch.no_grad():
        trained.critic.weight += 0.1  # so that there are advantages
    before = [weight.clone() for weight in trained.critic.parameters()]
    start = trained.policy.network.embedding.weight.detach().clone()
    trained.iterate()
    assert trained.num_timesteps == 0
    assert len(trained.unfinished) == 6
    assert all(torch.equal(old, new) for old, new in zip(before, trained.critic.parameters(), strict=True))
    assert not torch.equal(trained.policy.network.embedding.weight, start)


def test_each_window_was_written_by_the_policy_that_learns_from_it():
    trained = watched(12)
    trained.unfinished.kept = trained.write().kept
    step = trained.write()
    assert step.unfinished.any()
    assert (step.windows.mask.int().argmax(1) > 4).any()  # one that is carried on
    now = logp_of(trained.policy, step.windows.tokens, step.windows.mask)
    assert torch.allclose(now, step.windows.logp_old, atol=1e-4)


def test_the_value_behind_a_cut_is_that_before_the_next_window():
    trained = watched(12, value_at_cut="evaluated")
    first = trained.write()
    trained.unfinished.kept = first.kept
    behind = dict(zip(first.windows.seed.tolist(), trained._values_behind(first.windows).tolist(), strict=True))
    second = trained.write().windows
    values = trained.critic.values(second)
    starts = second.mask.int().argmax(1)
    next_values = {int(seed): float(values[i, starts[i]]) for i, seed in enumerate(second.seed)}
    assert len(first.kept) > 1
    for one in first.kept:
        assert behind[one.seed] == pytest.approx(next_values[one.seed], abs=1e-5)
        assert abs(behind[one.seed]) > 1e-6
    valued = replace(first.windows, values=trained.critic.values(first.windows))
    evaluated = trained.advantages(valued, first.unfinished)
    trained.value_at_cut = "held"
    assert not torch.allclose(trained.advantages(valued, first.unfinished), evaluated)


def test_with_the_longest_window_it_is_synchronous():
    trained = watched(18, window=LONGEST)
    assert not any(step.unfinished.any() or step.kept for step in trained.steps)
    assert len(trained.steps) == 3
    assert all(torch.equal(step.windows.tokens, step.finished.tokens) for step in trained.steps)


def test_time_and_idle_slots_by_hand():
    trained = ready()
    step = Step(rows([[0.0] * 4, [0.0], [0.0] * 3], [0.0] * 3), torch.zeros(3, dtype=torch.bool), None, [])
    trained._count(step)
    trained._count(step)
    assert (trained.generation_steps, trained.tokens_written) == (8, 16)  # 4 passes, 8 tokens of 12, twice
    assert trained.logger.name_to_value["rollout/idle_share"] == pytest.approx(1 / 3)


def test_a_window_beyond_the_longest_completion_is_cut_there():
    trained = watched(30, window=7)
    found = [text for step in trained.steps if step.finished is not None for text in texts(step.finished).values()]
    assert max(map(len, found)) == LONGEST


@pytest.mark.parametrize("change", [{"n_epochs": 2, "batch_size": 4}, {"top_k": 3}, {"ent_coef": 0.01}])
def test_settings_of_steps_and_of_sampling_are_taken(change):
    trained = watched(12, **change)
    passes = change.get("n_epochs", 1) * (2 if "batch_size" in change else 1)
    assert passes * len(trained.steps) * 0.5 < trained._n_updates <= passes * len(trained.steps)


def test_another_environment_drops_what_was_under_way():
    trained = watched(12)
    assert len(trained.unfinished)
    trained.set_env(WalksVectorEnv(6, longest=6))
    assert len(trained.unfinished) == 0


def test_an_environment_of_several_turns_is_refused():
    game = make("t-ppo", "tiltyard/GuessMyCity-v0", policy="transformer-100k", slots=4, n_envs=4, seed=0, device="cpu")
    with pytest.raises(ValueError, match="one turn, and this one goes on after a completion"):
        game.learn(16)


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"slots": 0}, "slots must be a whole number of at least 1, got 0"),
        ({"window": 0}, "window must be a whole number of at least 1, got 0"),
        ({"n_epochs": 0}, "n_epochs must be a whole number of at least 1, got 0"),
        ({"value_at_cut": "hold"}, "unknown value_at_cut 'hold'; did you mean 'held'"),
    ],
)
def test_settings_that_mean_nothing_are_refused(settings, error):
    with pytest.raises(ValueError, match=error):
        agent(**settings)
