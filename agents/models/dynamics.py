"""An ensemble of learnt dynamics models, whose members learn and predict side by side.

Papers: Chua et al., Deep Reinforcement Learning in a Handful of Trials using Probabilistic Dynamics Models (2018),
called PETS; Janner et al., When to Trust Your Model: Model-Based Policy Optimization (2019), called MBPO. Numbers are
those of MBRL-Lib (github.com/facebookresearch/mbrl-lib), ``gaussian_mlp.py`` and ``model_trainer.py``.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch as th
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, silu, softplus

LOG_VAR_RANGE = (-10.0, 0.5)
"""Where the bounds of the log-variances begin, in units of the outputs' variances."""
ENDS_RARELY = -4.0
"""Log-odds that an episode ends, of which members begin."""
BOUND_COEF = 0.01
"""What bounds far from each other cost."""
LEAST_GAIN = 0.01
"""By which share of itself an error must fall to count as an improvement."""
MOST_ASIDE = 5000


class Steps(NamedTuple):
    """Transitions."""

    observations: Tensor  # [N, D]
    actions: Tensor  # [N, A], scaled to [-1, 1]
    rewards: Tensor  # [N]
    next_observations: Tensor  # [N, D]
    terminated: Tensor  # [N], 1 where the episode ended there by itself, else 0


class Rollout(NamedTuple):
    """Predicted trajectories of T steps from B states."""

    steps: Steps  # [T, B, ...]
    alive: Tensor  # [T, B] whether the trajectory had not ended before this step

    def flat(self) -> Steps:
        """The transitions of trajectories that had not ended, ``[N, ...]``."""
        return Steps(*(part[self.alive] for part in self.steps))


class Predicted(NamedTuple):
    """What n members say of B steps, outputs in units of their mean and standard deviation in the data."""

    mean: Tensor  # [n, B, D + 1] of the change of the observation, and of the reward
    log_var: Tensor | None  # [n, B, D + 1], of a probabilistic ensemble
    ended: Tensor  # [n, B] log-odds that the episode ends there


class Fitted(NamedTuple):
    """How a fit went."""

    updates: int
    error: Tensor  # [n] squared errors of the steps kept aside, by the weights of the loss


def gaussian_nll(predicted: Predicted, wanted: Tensor) -> Tensor:
    r""":math:`\frac{1}{2} ((y - \mu)^2 e^{-v} + v)`, the mean over outputs, without its constant; ``[n, B]``.

    Args:
        predicted: means and log-variances v.
        wanted: y ``[n, B, D + 1]``.
    """
    assert predicted.log_var is not None
    error = (wanted - predicted.mean).square()
    return 0.5 * (error * (-predicted.log_var).exp() + predicted.log_var).mean(dim=-1)


class DynamicsEnsemble(nn.Module):
    """n perceptrons that predict what a step changes, what it pays, and whether the episode ends there.

    Probabilistic members predict a Gaussian (independent outputs, log-variances between learnt bounds) and maximise
    likelihood; others its mean, and minimise a squared error, by weights if there are any. Each member learns from a
    bootstrap sample of its own. Inputs and outputs are normalised by the data of the last fit.

    Departures: outputs are normalised, which squared errors with weights undo; whether an episode ends is learnt
    (by cross-entropy; more likely than not counts as yes), where MBPO is told; predictions stay inside the range of
    what was seen, so that no rollout leaves it.

    Args:
        n_observation: D.
        n_action: A.
        n_members: n.
        n_elites: members with the least error, which alone predict.
        net_arch: widths of the hidden layers.
        probabilistic: whether members predict variances.
    """

    elites: Tensor
    low: Tensor
    high: Tensor
    input_mean: Tensor
    input_std: Tensor
    target_mean: Tensor
    target_std: Tensor

    def __init__(
        self,
        n_observation: int,
        n_action: int,
        *,
        n_members: int = 7,
        n_elites: int = 5,
        net_arch: Sequence[int] = (200, 200, 200, 200),
        probabilistic: bool = True,
    ) -> None:
        super().__init__()
        if not 1 <= n_elites <= n_members:
            raise ValueError(f"n_elites must be between 1 and the {n_members} members, got {n_elites}")
        self.n_members, self.probabilistic = n_members, probabilistic
        self.n_inputs, self.n_targets = n_observation + n_action, n_observation + 1
        sizes = [self.n_inputs, *net_arch, self.n_targets * (1 + probabilistic) + 1]
        layers = list(zip(sizes[:-1], sizes[1:], strict=True))
        self.weights = nn.ParameterList(nn.Parameter(_beginning(n_members, *layer)) for layer in layers)
        self.biases = nn.ParameterList(nn.Parameter(th.zeros(n_members, 1, width)) for _, width in layers)
        with th.no_grad():
            self.biases[-1][..., -1] = ENDS_RARELY
        if probabilistic:
            bounds = [th.full((n_members, 1, self.n_targets), bound) for bound in LOG_VAR_RANGE]
            self.min_log_var, self.max_log_var = map(nn.Parameter, bounds)
        for name, size in {"input": self.n_inputs, "target": self.n_targets}.items():
            self.register_buffer(f"{name}_mean", th.zeros(size))
            self.register_buffer(f"{name}_std", th.ones(size))
        self.register_buffer("low", th.full((self.n_targets,), -th.inf))
        self.register_buffer("high", th.full((self.n_targets,), th.inf))
        self.register_buffer("elites", th.arange(n_elites))

    def forward(self, observations: Tensor, actions: Tensor, members: Tensor | None = None) -> Predicted:
        """Predictions of some ``members`` (indices; all if None), for states ``[B, D]`` or ``[n, B, D]``."""
        return self.predict((th.cat([observations, actions], dim=-1) - self.input_mean) / self.input_std, members)

    def predict(self, inputs: Tensor, members: Tensor | None = None) -> Predicted:
        """:meth:`forward` of inputs that are normalised already, ``[B, D + A]`` or ``[n, B, D + A]``."""
        chosen = slice(None) if members is None else members
        h = inputs.expand(len(self.weights[0][chosen]), *inputs.shape[-2:])
        for layer, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            h = th.baddbmm(bias[chosen], silu(h) if layer else h, weight[chosen])
        mean, ended = h[..., : self.n_targets], h[..., -1]
        if not self.probabilistic:
            return Predicted(mean, None, ended)
        low, high = self.min_log_var[chosen], self.max_log_var[chosen]
        log_var = high - softplus(high - h[..., self.n_targets : -1])
        return Predicted(mean, low + softplus(log_var - low), ended)

    def fit(
        self,
        steps: Steps,
        optimizer: th.optim.Optimizer,
        *,
        weights: Tensor | None = None,
        updates: int = 2000,
        batch_size: int = 256,
        patience: int | None = 5,
        share_aside: float = 0.2,
        bootstrap: bool = True,
    ) -> Fitted:
        r"""Goes on learning, from ``steps`` alone; then the members of least error are the elites.

        Args:
            steps: all that is known.
            optimizer: of all parameters.
            weights: ``[N, D + 1]`` :math:`w` of :math:`\sum_i w_i (\hat y_i - y_i)^2`, in units of the outputs; without
                them Gaussian likelihood, or the mean squared error of normalised outputs.
            updates: at most.
            batch_size: steps of each member an update.
            patience: passes through the data without an improvement of any member, after which all stop and each is as
                it was at its best; None to do all updates.
            share_aside: of the steps, which tell errors.
            bootstrap: whether each member's steps are drawn with replacement.

        Raises:
            ValueError: fewer than two steps, or weights for a probabilistic ensemble.
        """
        if len(steps.rewards) < 2:
            raise ValueError(f"a dynamics model needs at least 2 steps to learn from, got {len(steps.rewards)}")
        if weights is not None and self.probabilistic:
            raise ValueError("weights are of squared errors: make the ensemble with probabilistic=False")
        table = self._normalise(steps, weights)
        order = th.randperm(len(table))
        n_aside = min(MOST_ASIDE, max(1, int(share_aside * len(order))))
        aside, given = order[:n_aside], order[n_aside:]
        own = given.expand(self.n_members, -1)
        if bootstrap:
            own = given[th.randint(len(given), own.shape)]
        each_pass = -(-len(given) // batch_size)
        best = _Best(list(self.parameters()), self._error(table[aside])) if patience else None
        done = 0
        while done < updates and (best is None or patience is None or best.waited < patience):
            for _ in range(min(each_pass, updates - done)):
                at = own.gather(1, th.randint(len(given), (self.n_members, batch_size)))
                optimizer.zero_grad()
                self._loss(table[at]).backward()  # type: ignore[no-untyped-call]
                optimizer.step()
                done += 1
            if best is not None:
                best.look(self._error(table[aside]))
        error = self._error(table[aside]) if best is None else best.restore()
        self.elites.copy_(error.argsort()[: len(self.elites)])
        return Fitted(done, error)

    @th.no_grad()
    def _normalise(self, steps: Steps, weights: Tensor | None) -> Tensor:
        """Takes the data's moments and range; a table ``[N, ...]`` of normalised inputs and outputs, ends and weights.

        Weights, if any, are in units of normalised outputs.
        """
        raw = th.cat([steps.next_observations - steps.observations, steps.rewards[:, None]], dim=1)
        inputs, seen = th.cat(steps[:2], dim=1), th.cat([steps.next_observations, steps.rewards[:, None]], dim=1)
        for name, values in (("input", inputs), ("target", raw)):
            std = values.std(dim=0, correction=0)
            getattr(self, f"{name}_mean").copy_(values.mean(dim=0))
            getattr(self, f"{name}_std").copy_(th.where(std > 1e-6, std, th.ones_like(std)))
        self.low.copy_(seen.amin(dim=0))
        self.high.copy_(seen.amax(dim=0))
        normalised = (inputs - self.input_mean) / self.input_std, (raw - self.target_mean) / self.target_std
        scaled = [] if weights is None else [weights * self.target_std.square()]
        return th.cat([*normalised, steps.terminated[:, None], *scaled], dim=1)

    def _loss(self, rows: Tensor) -> Tensor:
        """What all members minimise, each on rows ``[n, B, ...]`` of the table."""
        end = self.n_inputs + self.n_targets
        predicted = self.predict(rows[..., : self.n_inputs])
        ends = binary_cross_entropy_with_logits(predicted.ended, rows[..., end], reduction="none")
        if self.probabilistic:
            likelihood = gaussian_nll(predicted, rows[..., self.n_inputs : end])
            return (likelihood + ends).mean(dim=1).sum() + BOUND_COEF * (self.max_log_var - self.min_log_var).sum()
        return (self._squared(predicted, rows) + ends).mean(dim=1).sum()

    @th.no_grad()
    def _error(self, rows: Tensor) -> Tensor:
        """Squared errors ``[n]`` on rows ``[M, ...]`` of the table."""
        return self._squared(self.predict(rows[..., : self.n_inputs]), rows).mean(dim=1)

    def _squared(self, predicted: Predicted, rows: Tensor) -> Tensor:
        """Weighted sums of squared errors, or their mean where there are no weights, over outputs, ``[n, B]``."""
        end = self.n_inputs + self.n_targets
        error = (rows[..., self.n_inputs : end] - predicted.mean).square()
        weights = rows[..., end + 1 :]
        return (weights * error).sum(dim=-1) if weights.shape[-1] else error.mean(dim=-1)

    @th.no_grad()
    def step(self, observations: Tensor, actions: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Next observations ``[B, D]``, rewards ``[B]`` and whether episodes end ``[B]``, each said by a random elite.

        Every elite speaks for equally many states (one more or less); probabilistic ones draw from their Gaussian.
        """
        n, count = len(observations), len(self.elites)
        each = -(-n // count)
        at = (th.randperm(count * each) % n).view(count, each)
        found = self(observations[at], actions[at], self.elites)
        drawn = found.mean
        if found.log_var is not None:
            drawn = drawn + (0.5 * found.log_var).exp() * th.randn_like(drawn)
        outputs, ended = drawn.new_empty(n, self.n_targets), th.empty(n, dtype=th.bool, device=drawn.device)
        outputs[at.flatten()] = (drawn * self.target_std + self.target_mean).flatten(0, 1)
        ended[at.flatten()] = found.ended.flatten() > 0
        outputs[:, :-1] += observations
        outputs = outputs.clamp(self.low, self.high)
        return outputs[:, :-1], outputs[:, -1], ended

    @th.no_grad()
    def rollout(self, observations: Tensor, act: Callable[[Tensor], Tensor], length: int) -> Rollout:
        """Trajectories of at most ``length`` steps from ``observations`` ``[B, D]``, by a policy ``act``."""
        alive = th.ones(len(observations), dtype=th.bool, device=observations.device)
        parts: list[tuple[Tensor, ...]] = []
        for _ in range(length):
            actions = act(observations)
            following, rewards, ended = self.step(observations, actions)
            parts.append((observations, actions, rewards, following, ended.to(rewards.dtype), alive))
            observations, alive = following, alive & ~ended
        *steps, kept = (th.stack(part) for part in zip(*parts, strict=True))
        return Rollout(Steps(*steps), kept)


class _Best:
    """Each member as it was when its error was least."""

    def __init__(self, params: list[nn.Parameter], error: Tensor) -> None:
        self.params, self.error, self.waited = params, error, 0
        self.kept = [param.detach().clone() for param in params]

    def look(self, error: Tensor) -> None:
        """Keeps the members whose error has fallen by :data:`LEAST_GAIN` of itself."""
        better = error < (1 - LEAST_GAIN) * self.error
        for kept, param in zip(self.kept, self.params, strict=True):
            kept[better] = param.detach()[better]
        self.error = th.where(better, error, self.error)
        self.waited = 0 if bool(better.any()) else self.waited + 1

    @th.no_grad()
    def restore(self) -> Tensor:
        """Puts all members back to their best; their errors ``[n]``."""
        for kept, param in zip(self.kept, self.params, strict=True):
            param.copy_(kept)
        return self.error


def _beginning(n: int, n_in: int, n_out: int) -> Tensor:
    """Weights ``[n, n_in, n_out]``, as in PETS: a normal of deviation 1 / (2 sqrt(n_in)), cut off at twice that."""
    std = 0.5 / n_in**0.5
    drawn: Tensor = nn.init.trunc_normal_(th.empty(n, n_in, n_out), std=std, a=-2 * std, b=2 * std)
    return drawn
