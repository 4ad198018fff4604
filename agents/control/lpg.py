r"""Learned Policy Gradient: an update rule that is itself a network, and tabular agents that learn by it.

    rule = meta_train(GridFamily(), steps=300, seed=0)  # :mod:`.lpg_training`; a minute
    agent = LPGAgent(rule, RandomWorlds(10, np.random.default_rng(0)), seed=0)
    agent.learn(60).worth()

:class:`.lpg_worlds.GymWorld` makes a world of any Gymnasium environment with discrete states and actions. How far a
rule goes is another matter: after a minute's training it serves in larger grids and random processes, but agents learnt
nothing by it in FrozenLake, where rewards are rare and A2C learns.

The rule reads a rollout from its end: at each step the reward r, whether the episode ended, the discount, the
probability pi(a|s) of the action, and embeddings of the agent's predictions y(s) and y(s'). It emits a target pi-hat
for the policy and a distribution y-hat for the prediction, by which the agent changes its parameters:

.. math::
    \Delta\theta \propto E[\nabla\log\pi(a|s)\,\hat\pi - \alpha_y \nabla KL(y(s) \| \hat y)]

What y means is for the rule to find out: nothing says that it predicts returns.

Paper: Discovering Reinforcement Learning Algorithms (2020); the sizes, rates and the clipped gradients are those
of github.com/EmptyJackson/groove, the code of Discovering General Reinforcement Learning Algorithms with Adversarial
Environment Design (2023), where nothing else is said.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .backward_lstm import backward_lstm
from .lpg_worlds import Bools, Floats, Ints, Worlds


class Rollout(NamedTuple):
    """What n agents' workers did; tensors ``[n, workers, T]``."""

    state: Tensor
    action: Tensor
    reward: Tensor
    done: Tensor
    next_state: Tensor


class Targets(NamedTuple):
    """What a rule wants of the agents."""

    policy: Tensor  # [..., T] pi-hat
    prediction: Tensor  # [..., T, m] y-hat, distributions


class LPGRule(nn.Module):
    """The network: a backward LSTM over steps, which forgets at the ends of episodes.

    Departures: the authors' code has a GRU and no input for the discount, the first paper an LSTM and the discount,
    which is what is here; there, 256 units, here 32 by default, for a processor. Past an episode's end the discount
    that is fed is 0.

    Args:
        units: of the LSTM.
        predictions: m, the size of y.
        embedding: units of the network that makes one number of y.
        gamma: the discount that is fed to it.
        seed: of the weights.

    Raises:
        ValueError: a size below one, or a discount that is not in [0, 1].
    """

    def __init__(
        self, *, units: int = 32, predictions: int = 8, embedding: int = 16, gamma: float = 0.99, seed: int = 0
    ) -> None:
        super().__init__()
        if min(units, predictions, embedding) < 1 or not 0 <= gamma <= 1:
            raise ValueError(
                "units, predictions and embedding are at least 1 and gamma lies in [0, 1], "
                f"got {units}, {predictions}, {embedding} and {gamma}"
            )
        self.units, self.predictions, self.gamma = units, predictions, gamma
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.embed = nn.Sequential(nn.Linear(predictions, embedding), nn.ReLU(), nn.Linear(embedding, 1))
            self.inputs = nn.Linear(6, 4 * units)
            self.recurrent = nn.Parameter(nn.Linear(units, 4 * units).weight.detach().clone())
            self.policy_target = nn.Linear(units, 1)
            self.prediction_target = nn.Linear(units, predictions)
        with torch.no_grad():
            self.inputs.bias[units : 2 * units] = 1.0  # LSTMs that begin by remembering learn faster

    def forward(self, reward: Tensor, done: Tensor, probability: Tensor, y: Tensor, next_y: Tensor) -> Targets:
        """Targets for steps ``[N, T]``.

        Args:
            reward: ``[N, T]``.
            done: ``[N, T]``, 1 where an episode ended with the step.
            probability: ``[N, T]`` of the action that was done.
            y: ``[N, T, m]`` predictions, distributions.
            next_y: ``[N, T, m]`` of the next state.
        """
        going = 1 - done
        embedded, next_embedded = self.embed(y)[..., 0], self.embed(next_y)[..., 0] * going
        seen = torch.stack([reward, done, self.gamma * going, probability, embedded, next_embedded], dim=-1)
        given = self.inputs(seen.transpose(0, 1))
        out = F.relu(backward_lstm(given, self.recurrent, done.T)).transpose(0, 1)
        return Targets(self.policy_target(out)[..., 0], log_shares(self.prediction_target(out)).exp())


@dataclass(frozen=True)
class Rates:
    """How agents step: gradients are clipped to a norm of ``clip`` for each agent and table, then scaled.

    Attributes:
        policy: learning rate of the policy's table.
        prediction: learning rate of the tables of predictions and values.
        weight: alpha_y, of the predictions' loss.
        clip: largest norm of a gradient.
    """

    policy: float = 40.0
    prediction: float = 4.0
    weight: float = 0.5
    clip: float = 0.5


@dataclass(frozen=True)
class Tables:
    """Parameters of n tabular agents.

    Attributes:
        policy: ``[n, states, actions]`` logits.
        prediction: ``[n, states, m]`` logits of y.
        value: ``[n, states]``, for those that need one.
    """

    policy: Tensor
    prediction: Tensor
    value: Tensor

    @classmethod
    def fresh(cls, worlds: Worlds, predictions: int, rng: np.random.Generator) -> Self:
        """Agents that know nothing: uniform policies, values of 0, and predictions that differ a little by state."""
        noise = torch.as_tensor(rng.normal(size=(worlds.n, worlds.n_states, predictions)), dtype=torch.float32)
        shape = (worlds.n, worlds.n_states)
        return cls(torch.zeros(*shape, worlds.n_actions), 0.1 * noise, torch.zeros(shape))

    def detached(self) -> Self:
        """The same numbers, of which no gradient is known."""
        return replace(
            self, policy=self.policy.detach(), prediction=self.prediction.detach(), value=self.value.detach()
        )

    def probabilities(self) -> Floats:
        """The policies, ``[n, states, actions]``."""
        logits = self.policy.detach().double().numpy()
        shares = np.exp(logits - logits.max(axis=-1, keepdims=True))
        return np.asarray(shares / shares.sum(axis=-1, keepdims=True))


def log_shares(logits: Tensor) -> Tensor:
    """The logarithms of softmax ``[..., k]``; for a small k, torch's own takes three times as long."""
    return logits - logits.logsumexp(dim=-1, keepdim=True)


def at(table: Tensor, state: Tensor) -> Tensor:
    """Rows of tables ``[n, states, k]`` or ``[n, states]`` at states ``[n, ...]``: ``[n, ..., k]`` or ``[n, ...]``."""
    n, states = table.shape[:2]
    first = states * torch.arange(n).reshape(-1, *[1] * (state.dim() - 1))
    found = table.reshape(n * states, *table.shape[2:]).index_select(0, (state + first).flatten())
    return found.reshape(*state.shape, *table.shape[2:])


def chosen_logp(table: Tensor, seen: Rollout) -> Tensor:
    """Log-probabilities ``[n, workers, T]`` of the actions that were done, by policies ``[n, states, actions]``."""
    return log_shares(at(table, seen.state)).gather(-1, seen.action[..., None])[..., 0]


def gradient(table: Tensor, state: Tensor, rows: Tensor) -> Tensor:
    """The gradient of a mean over the steps ``[n, ...]`` of each agent, given that of each step's ``rows``."""
    n, states = table.shape[:2]
    first = states * torch.arange(n).reshape(-1, *[1] * (state.dim() - 1))
    flat = rows.reshape(-1, *table.shape[2:]) / state[0].numel()
    zero = torch.zeros(n * states, *table.shape[2:])
    return zero.index_add(0, (state + first).flatten(), flat).reshape(table.shape)


def clipped(step: Tensor, clip: float) -> Tensor:
    """Each agent's gradient ``[n, ...]``, shortened to a norm of ``clip`` where it is longer."""
    norm = step.flatten(1).square().sum(dim=1).clamp(min=1e-12).sqrt()
    scale = (clip / norm).clamp(max=1.0)
    return step * scale.reshape(-1, *[1] * (step.dim() - 1))


def roll_out(worlds: Worlds, tables: Tables, state: Ints, steps: int, rng: np.random.Generator) -> tuple[Rollout, Ints]:
    """Steps on from ``state`` ``[n, workers]`` with the agents' policies; what was done, and the states after it."""
    bounds = tables.probabilities().cumsum(axis=-1)[..., :-1]
    rows = np.arange(worlds.n)[:, None]
    kept: list[tuple[Ints, Ints, Floats, Bools, Ints]] = []
    for _ in range(steps):
        action = (rng.random((*state.shape, 1)) > bounds[rows, state]).sum(axis=-1)
        after, reward, done = worlds.step(action, rng)
        kept.append((state, action, reward, done, after))
        state = after
    columns = [torch.as_tensor(np.stack(part, axis=-1)) for part in zip(*kept, strict=True)]
    states, actions, rewards, ends, next_states = columns
    return Rollout(states, actions, rewards.float(), ends.float(), next_states), state


def ascent(table: Tensor, seen: Rollout, weight: Tensor) -> Tensor:
    r"""The gradient of :math:`E[\log \pi(a|s) w]` by the logits, ``[n, states, actions]``; w is ``[n, workers, T]``."""
    share = log_shares(at(table, seen.state)).exp()
    chosen = F.one_hot(seen.action, table.shape[-1])
    return gradient(table, seen.state, (chosen - share) * weight[..., None])


def lpg_update(rule: LPGRule, tables: Tables, seen: Rollout, rates: Rates) -> tuple[Tables, Targets]:
    """One update of n agents by a rule; gradients flow from the new tables to the rule, and to the old ones.

    What the rule reads of the agents is cut off from gradients, as in the authors' code.
    """
    with torch.no_grad():
        chance = chosen_logp(tables.policy, seen).exp()
        y = log_shares(at(tables.prediction, seen.state)).exp()
        next_y = log_shares(at(tables.prediction, seen.next_state)).exp()
    read = (part.flatten(0, 1) for part in (seen.reward, seen.done, chance, y, next_y))
    wanted = Targets(*(part.reshape(*seen.state.shape, *part.shape[2:]) for part in rule(*read)))
    up = ascent(tables.policy, seen, wanted.policy)
    down = rates.weight * divergence_gradient(tables.prediction, seen.state, wanted.prediction)
    changed = replace(
        tables,
        policy=tables.policy + rates.policy * clipped(up, rates.clip),
        prediction=tables.prediction - rates.prediction * clipped(down, rates.clip),
    )
    return changed, wanted


def divergence_gradient(table: Tensor, state: Tensor, wanted: Tensor) -> Tensor:
    r"""The gradient of :math:`E[KL(y(s) \| \hat y)]` by the logits of y, ``[n, states, m]``.

    Args:
        table: ``[n, states, m]`` logits.
        state: ``[n, workers, T]``.
        wanted: ``[n, workers, T, m]`` y-hat.
    """
    logp = log_shares(at(table, state))
    excess = logp - torch.log(wanted + 1e-8)
    mean = (logp.exp() * excess).sum(dim=-1, keepdim=True)
    return gradient(table, state, logp.exp() * (excess - mean))


class LPGAgent:
    """A tabular agent in each of n worlds that learns by a rule.

    Args:
        rule: how.
        worlds: where: :class:`.lpg_worlds.GymWorld` makes one of a Gymnasium environment.
        workers: that play each world at once.
        steps: of each worker for an update.
        rates: of the updates.
        seed: of all draws.
    """

    def __init__(
        self,
        rule: LPGRule,
        worlds: Worlds,
        *,
        workers: int = 16,
        steps: int = 20,
        rates: Rates | None = None,
        seed: int = 0,
    ) -> None:
        if workers < 1 or steps < 1:
            raise ValueError(f"workers and steps are at least 1, got {workers} and {steps}")
        self.rule, self.worlds, self.steps, self.rates = rule, worlds, steps, rates or Rates()
        self.rng = np.random.default_rng(seed)
        self.tables = Tables.fresh(worlds, rule.predictions, self.rng)
        self.state = worlds.reset(workers, self.rng)

    @torch.no_grad()
    def learn(self, updates: int) -> Self:
        """Learns by so many updates."""
        for _ in range(updates):
            seen, self.state = roll_out(self.worlds, self.tables, self.state, self.steps, self.rng)
            self.tables, _ = lpg_update(self.rule, self.tables, seen, self.rates)
        return self

    def predict(self, state: Ints, *, deterministic: bool = False) -> Ints:
        """Actions ``[n]`` in states ``[n]`` of the worlds: drawn from the policies, or the likeliest."""
        share = self.tables.probabilities()[np.arange(self.worlds.n), state]
        if deterministic:
            return np.asarray(share.argmax(axis=-1))
        return np.asarray((self.rng.random((len(share), 1)) > share.cumsum(axis=-1)[:, :-1]).sum(axis=-1))

    def worth(self) -> Floats:
        """Expected return ``[n]`` of an episode in each world by the policy so far."""
        return self.worlds.worth(self.tables.probabilities())
