"""Gradient steps on completions as they come: a micro-batch is learnt from while later ones are still being sampled."""

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ..objectives.registry import Objective
from .collect import Collector, together
from .rollouts import Rollouts
from .update import Metrics, backward, descend_terms, step

if TYPE_CHECKING:
    from .trainer import PolicyGradient


class MicroBatches:
    """The first pass over an iteration's completions, by gradients that micro-batches add up to.

    Rewards, what providers supply, advantage and gradient are computed as soon as a micro-batch of whole groups is
    there. The optimiser takes a step once ``batch_size`` completions have been seen (None: all of the iteration's).
    Micro-batches weigh as many as they have completions: the gradient is that of the whole batch for objectives whose
    advantage looks at groups alone and whose aggregate weighs completions alike (``sequence_mean``, ``sequence_sum``,
    ``constant_length``); a mean over tokens or a statistic of the batch is that of a micro-batch.

    Args:
        agent: that learns.
        objective: its method, as it is now.

    Paper: AsyncFlow: An Asynchronous Streaming RL Framework for Efficient LLM Post-Training (2025), streaming pipeline
    overlapping.
    """

    def __init__(self, agent: "PolicyGradient", objective: Objective) -> None:
        self.agent, self.objective = agent, objective
        self.seen: list[Metrics] = []
        self._learnt: list[Rollouts] = []
        self._rows = 0  # whose gradient has been added up

    def learn(self, collector: Collector, n_groups: int, size: int) -> Rollouts | None:
        """Takes ``n_groups`` groups, ``size`` at a time; returns all completions, None where there were none.

        Raises:
            StopTraining: a callback asked for it.
            ValueError: a component returned something else than it promises.
        """
        agent = self.agent
        agent._update_learning_rate(agent.policy.optimizer)
        agent.policy.optimizer.zero_grad()
        parts: list[Rollouts] = []
        for part in collector.stream(n_groups, size):
            agent.policy.set_training_mode(True)
            self._add(agent.readied(part, collector.context))
            parts.append(part)
            if agent.batch_size is not None and self._rows >= agent.batch_size:
                self._step()
            agent.policy.set_training_mode(False)
        if self._rows:
            self._step()
        return together(parts)

    def rows(self) -> Rollouts:
        """All completions as they were learnt from, with what the objective reads besides them."""
        whole = together(self._learnt)
        assert whole is not None
        return whole

    def _add(self, part: Rollouts) -> None:
        self._learnt.append(part)
        advantage = self.objective.advantage(part)
        found = backward(
            self.agent.policy, self.objective, part, advantage, ent_coef=self.agent.ent_coef, weight=len(part)
        )
        self._rows += len(part)
        self.seen += [{**found, "loss": found["loss"] / len(part)}] if found else []

    def _step(self) -> None:
        policy = self.agent.policy
        gradients: list[Tensor] = [p.grad for p in policy.network.parameters() if p.grad is not None]
        for gradient in gradients:
            gradient /= self._rows
        joined = descend_terms(policy, self.agent._terms())
        if gradients or joined:
            self.seen.append({**joined, "grad_norm": step(policy, self.agent.max_grad_norm)})
            self.agent._n_updates += 1
        policy.optimizer.zero_grad()
        self._rows = 0


def means(seen: list[Metrics]) -> dict[str, float]:
    """The mean of each metric over the steps that have it."""
    names = dict.fromkeys(name for metrics in seen for name in metrics)
    return {name: float(torch.stack([m[name] for m in seen if name in m]).mean()) for name in names}
