"""MBRCSL: stitches trajectories by rolling the data's policy out in a learnt model, then imitates the best by return.

Paper: Zhou et al., Free from Bellman Completeness: Trajectory Stitching via Model-based Return-conditioned Supervised
Learning (2023), section 4. "The authors' code" is github.com/zhaoyizhou1123/mbrcsl,
``examples/pointmaze/run_mbrcsl_maze.py``, which numbers are from.
"""

import warnings
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import torch as th
from stable_baselines3.common.policies import BasePolicy
from torch import Tensor
from torch.nn.functional import cross_entropy

from ..models.dynamics import DynamicsEnsemble, Rollout, Steps
from ..optimizers import FusedAdam
from .actor_critic import ActorCritic, Metrics
from .datasets import Transitions
from .on_policy.action_tokens import actions_of, tokens_of
from .rcsl import CONDITIONED, RCSLSettings, ReturnPolicy, begins, check_flat, condition, imitation_loss
from .replay import DATASET, MODEL, Batch, Demonstrations, FloatArray
from .settings import takes
from .updates import Mlp, minimise

LEAST_STD = 1e-3
"""Of a number of the observations, so that one that never changes divides by something."""


class AutoregressiveBehaviour:
    r"""The policy that made the data: one dimension of the action after the other, each a bin of an interval.

    :math:`\pi(a|s) = \prod_i softmax(z(s, a_1, ..., a_{i-1}, i))`, by one network for all dimensions i, which learns
    by maximum likelihood. It can express any modes, and that one dimension goes with another.

    Args:
        observations: ``[N, obs]``.
        actions: ``[N, act]``, scaled to [-1, 1].
        bins: of each dimension, equally wide; an action drawn is the middle of its bin.
        net_arch: widths of the hidden layers.
        learning_rate: of Adam.
        updates: of learning, all done here.
        batch_size: of an update.
    """

    def __init__(
        self,
        observations: Tensor,
        actions: Tensor,
        *,
        bins: int = 64,
        net_arch: Sequence[int] = (256, 256),
        learning_rate: float = 1e-3,
        updates: int = 10_000,
        batch_size: int = 256,
    ) -> None:
        self.bins, self.size = bins, actions.shape[1]
        self.mean = observations.mean(dim=0)
        self.std = observations.std(dim=0, correction=0).clamp_min(LEAST_STD)
        self.net = Mlp(1, observations.shape[1] + 2 * self.size, net_arch, bins).to(actions.device)
        self.which = th.eye(self.size, device=actions.device)
        self.before = self.which.cumsum(dim=0) - self.which  # [i, j]: 1 where j comes before i
        optimizer, tokens = FusedAdam(self.net.parameters(), lr=learning_rate), tokens_of(actions, bins)
        for _ in range(updates):
            drawn = th.randint(len(tokens), (batch_size,)).to(actions.device)
            minimise(optimizer, self.loss(observations[drawn], tokens[drawn]))

    def logits(self, observations: Tensor, actions: Tensor) -> Tensor:
        """Of every dimension's bins ``[B, act, bins]``, given the dimensions before it of ``actions`` ``[B, act]``."""
        seen = ((observations - self.mean) / self.std).unsqueeze(1).expand(-1, self.size, -1)
        known = actions.unsqueeze(1) * self.before
        inputs = th.cat([seen, known, self.which.expand(len(seen), -1, -1)], dim=2)
        found: Tensor = self.net(inputs.flatten(0, 1))[0]
        return found.view(len(seen), self.size, self.bins)

    def loss(self, observations: Tensor, tokens: Tensor) -> Tensor:
        """Cross-entropy of ``tokens`` ``[B, act]``, mean over batch and dimensions."""
        logits = self.logits(observations, actions_of(tokens, self.bins))
        return cross_entropy(logits.flatten(0, 1), tokens.flatten())

    @th.no_grad()
    def __call__(self, observations: Tensor) -> Tensor:
        """Drawn actions ``[B, act]`` at ``[B, obs]``."""
        actions = th.zeros(len(observations), self.size, device=observations.device)
        for i in range(self.size):
            drawn = self.logits(observations, actions)[:, i].softmax(dim=-1).multinomial(1)[:, 0]
            actions[:, i] = actions_of(drawn, self.bins)
        return actions


def rollout_returns(rollout: Rollout) -> Tensor:
    """The undiscounted return from each step on, ``[T, B]``; 0 where the trajectory had ended before."""
    return (rollout.steps.rewards * rollout.alive).flip(0).cumsum(0).flip(0)


@dataclass(frozen=True)
class MBRCSLSettings(RCSLSettings):
    """Those of MBRCSL, beside RCSL's; ``target_return`` is the largest return predicted of a rollout if None.

    Args:
        n_models: members of the ensemble of dynamics models.
        n_elites: of which the best predict.
        model_net_arch: widths of the members' hidden layers; four of 200 if None.
        model_learning_rate: of Adam.
        model_weight_decay: of Adam.
        model_batch_size: of each member.
        model_updates: at most.
        model_patience: passes without improvement that end the fit; None to do all updates.
        behaviour_net_arch: widths of the behaviour policy's hidden layers; two of 256 if None.
        behaviour_learning_rate: of Adam.
        behaviour_updates: of the behaviour policy.
        bins: of each dimension of the behaviour policy's actions.
        rollouts: better than all data that are wanted.
        rollout_batch_size: rollouts at once.
        max_rollouts: after which no more are tried.
        rollout_horizon: steps of a rollout; those of the longest episode if None.
    """

    _: KW_ONLY
    n_models: int = 7
    n_elites: int = 5
    model_net_arch: list[int] | None = None
    model_learning_rate: float = 1e-3
    model_weight_decay: float = 5e-5
    model_batch_size: int = 256
    model_updates: int = 50_000
    model_patience: int | None = 5
    behaviour_net_arch: list[int] | None = None
    behaviour_learning_rate: float = 1e-3
    behaviour_updates: int = 10_000
    bins: int = 64
    rollouts: int = 100
    rollout_batch_size: int = 200
    max_rollouts: int = 200_000
    rollout_horizon: int | None = None


class MBRCSL(ActorCritic):
    """Model-based return-conditioned supervised learning: RCSL on rollouts that are better than the data.

    Before the first update on a dataset (its algorithm 1): an ensemble of dynamics models, rewards included, and a
    behaviour policy that can express several modes learn from the data; from the data's first states the behaviour
    policy is rolled out in the model for whole episodes, and rollouts whose predicted return is above the best of the
    data are kept, until there are ``rollouts`` of them. Its policy, that of :class:`~.rcsl.RCSL`, then learns from
    these alone, and is asked for the largest return predicted. The behaviour policy acts on states, not on histories:
    where trajectories meet it goes on now with one and now with another, which is what stitches. No values are backed
    up anywhere.

    Where ``max_rollouts`` hold none above the data's best it warns, and learns from the data as RCSL does.

    Departures: what :class:`~.rcsl.RCSL` and :class:`~..models.dynamics.DynamicsEnsemble` name, and one weight decay
    for all layers of the latter; the behaviour policy is autoregressive over bins, where theirs is a diffusion U-Net
    whose weights are averaged; whether episodes end is predicted, where their code rolls out tasks without ends. There
    is no filter by the model's uncertainty, in their code neither.

    Attributes:
        rollouts_kept: of the last dataset.
        rollouts_tried: likewise.
    """

    policy_aliases: ClassVar[dict[str, type[BasePolicy]]] = {"MlpPolicy": ReturnPolicy}
    policy_defaults: ClassVar[dict[str, Any]] = CONDITIONED
    needs_data: ClassVar[bool] = True
    settings: MBRCSLSettings
    policy: ReturnPolicy
    rollouts_kept: int = 0
    rollouts_tried: int = 0

    @takes(MBRCSLSettings)
    def __init__(self, settings: MBRCSLSettings) -> None:
        self._stitched: Demonstrations | None = None
        self.construct(settings)

    def _setup_model(self) -> None:
        if not 1 <= self.settings.n_elites <= self.settings.n_models:
            raise ValueError(
                f"n_elites must be between 1 and the {self.settings.n_models} members, got {self.settings.n_elites}"
            )
        check_flat(self)
        super()._setup_model()

    def reference_returns(self, transitions: Transitions) -> FloatArray:
        """Undiscounted returns from each step on, ``[N]``."""
        return transitions.returns(1.0)

    def on_dataset(self, transitions: Transitions) -> None:
        """Forgets the rollouts of earlier data; keeps where episodes begin, their longest and their best."""
        firsts = begins(transitions)
        self._starts = th.from_numpy(transitions.observations[firsts]).to(self.device)
        self._best = float(self.reference_returns(transitions)[firsts].max())
        self._longest = int(transitions.lengths.max())
        self._stitched = None

    def _do_updates(self, gradient_steps: int, batch_size: int) -> None:
        if self._stitched is None:
            self._stitched = self.stitch()
        super()._do_updates(gradient_steps, batch_size)
        self.logger.record("train/rollouts_kept", self.rollouts_kept)
        self.logger.record("train/target_return", float(self.policy.target))

    def real_steps(self) -> Steps:
        """All transitions of the dataset."""
        assert self.demonstrations is not None
        return self._columns().steps(self.demonstrations.rows.to(self.device))

    def fit_model(self, steps: Steps) -> DynamicsEnsemble:
        """The ensemble of dynamics models of these steps."""
        asked = self.settings
        model = DynamicsEnsemble(
            steps.observations.shape[1],
            steps.actions.shape[1],
            n_members=asked.n_models,
            n_elites=asked.n_elites,
            net_arch=asked.model_net_arch or [200] * 4,
        ).to(self.device)
        optimizer = FusedAdam(model.parameters(), lr=asked.model_learning_rate, weight_decay=asked.model_weight_decay)
        model.fit(
            steps,
            optimizer,
            updates=asked.model_updates,
            batch_size=asked.model_batch_size,
            patience=asked.model_patience,
        )
        return model

    def fit_behaviour(self, steps: Steps) -> AutoregressiveBehaviour:
        """The policy that made these steps."""
        asked = self.settings
        return AutoregressiveBehaviour(
            steps.observations,
            steps.actions,
            bins=asked.bins,
            net_arch=asked.behaviour_net_arch or [256] * 2,
            learning_rate=asked.behaviour_learning_rate,
            updates=asked.behaviour_updates,
            batch_size=self.batch_size,
        )

    def stitch(self) -> Demonstrations:
        """Fits model and behaviour policy, and gathers the rollouts that beat the data; see the class."""
        steps = self.real_steps()
        model, behaviour = self.fit_model(steps), self.fit_behaviour(steps)
        kept, best = self._better(model, behaviour)
        if kept is None:
            assert self.demonstrations is not None
            warnings.warn(
                f"none of {self.rollouts_tried} rollouts has a predicted return above {self._best:g}, the best of the "
                "data: MBRCSL learns from the data alone, as RCSL does",
                stacklevel=2,
            )
            kept, best = self.demonstrations, self._best
        (rows, columns), asked = (kept.rows, self._columns()), self.settings.target_return
        seen, rewards = rows[:, columns.observation], rows[:, columns.reward]
        condition(self.policy, seen, kept.returns, rewards, target=best if asked is None else asked)
        return kept

    def _better(
        self, model: DynamicsEnsemble, behaviour: AutoregressiveBehaviour
    ) -> tuple[Demonstrations | None, float]:
        """Rollouts whose predicted return is above the data's best, and the largest of their returns."""
        asked, rows, returns, best = self.settings, [], [], self._best
        self.rollouts_kept = self.rollouts_tried = 0
        horizon = asked.rollout_horizon or self._longest
        while self.rollouts_kept < asked.rollouts and self.rollouts_tried < asked.max_rollouts:
            count = min(asked.rollout_batch_size, asked.max_rollouts - self.rollouts_tried)
            starts = self._starts[th.randint(len(self._starts), (count,)).to(self.device)]
            rollout = model.rollout(starts, behaviour, horizon)
            to_go = rollout_returns(rollout)
            better = to_go[0] > self._best
            best = max(best, float(to_go[0].max()))
            chosen = rollout.alive & better
            rows.append(self._columns().rows(Rollout(rollout.steps, chosen).flat()).cpu())
            returns.append(to_go[chosen].cpu())
            self.rollouts_tried += count
            self.rollouts_kept += int(better.sum())
        return (Demonstrations(th.cat(rows), th.cat(returns)) if self.rollouts_kept else None), best

    def sample(self, batch_size: int) -> Batch:
        """A batch of the rollouts that were kept; of the dataset where there are none."""
        kept = self._stitched
        if kept is None:
            return super().sample(batch_size)
        found = kept.draw(batch_size)
        source = MODEL if self.rollouts_kept else DATASET
        rows, returns = kept.rows[found].to(self.device), kept.returns[found].to(self.device)
        return self._columns().batch(rows, self.gamma, source, returns)

    def update(self, batch: Batch) -> Metrics:
        """See :class:`~.rcsl.RCSL`."""
        return {"actor_loss": minimise(self.actor.optimizer, imitation_loss(self.policy.actor, batch))}

    def _excluded_save_params(self) -> list[str]:
        return [*super()._excluded_save_params(), "_stitched", "_starts", "_best", "_longest"]
