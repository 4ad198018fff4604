r"""DPT: a transformer that is taught the optimal action, given transitions of a task, and then acts in new tasks.

    agent = make("dpt", env)                     # an environment with an expert(), whose problems are the tasks
    agent.learn(1_000_000)                       # pretraining
    online = agent.deploy(new, episodes=10, seed=0)             # samples, and appends what it meets
    actions, _ = agent.predict(seen, state=Context.of(*data), deterministic=True)   # offline, from a dataset

Paper: Lee et al., Supervised Pretraining Can Learn In-Context Reinforcement Learning (2023), sec. 3 and algorithm 1.
"The authors' code" is github.com/jon--lee/decision-pretrained-transformer.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from stable_baselines3.common.vec_env import VecEnv

from ..models.in_context import Context
from .dpt_tasks import Batch, Ints, Player, Task, batch_of, drawn, expert_of, kept, mixtures
from .in_context_agent import Deployment, InContextAgent, InContextSettings
from .settings import takes

__all__ = ["DPT", "DPTSettings", "Deployment"]


@dataclass(frozen=True)
class DPTSettings(InContextSettings):
    """Those of DPT, beside :class:`~.InContextSettings`.

    Args:
        expert_ratio: in a task up to this share of its actions, drawn evenly, is the expert's.
    """

    expert_ratio: float = 0.0


class DPT(InContextAgent):
    r"""Decision-pretrained transformer.

    In pretraining a task :math:`\tau` is a problem of the environment, that is, a seed of its reset. A behaviour policy
    (:func:`~.dpt_tasks.mixtures`) plays ``episodes_per_task`` episodes of it; the expert says the optimal action in
    each state. With states :math:`s` of the task and sets :math:`D` of its transitions, of every size,

    .. math:: \min_\theta - E_{\tau, D, s} \log M_\theta(a^*_\tau(s) \mid s, D).

    Deployed online (:meth:`deploy`) actions are sampled from :math:`M_\theta(\cdot \mid s, D)` and D is what the agent
    has met in the task, which approximates posterior sampling; offline (:meth:`predict` with a :class:`Context` as
    state and ``deterministic=True``) D is a dataset and the likeliest action is taken.

    A family of tasks is any environment with Discrete actions, a Box as observation and an ``expert()``. Its problem
    must be the same whenever a seed is: several episodes of a task are resets with the same seed, so that an
    environment whose rewards are noisy needs one long episode a task, or its noise would repeat. Give a family with
    states that the behaviour policy rarely sees some of the expert's steps (``expert_ratio``).

    Departures: the authors' network is a causal GPT-2 with positions, and D is shuffled to make it forget them; here
    transitions have no positions and do not see each other (:mod:`~..models.in_context`), so that logits do not depend
    on their order. Losses are of some sets of each task, drawn at random, where theirs are of all beginnings of one
    order. Query states are those of the behaviour's episodes, where theirs in Dark-Room are uniform. Tasks are played
    as training goes on. Those kept are not in a checkpoint: a loaded agent that learns on plays new ones.
    """

    settings: DPTSettings

    @takes(DPTSettings)
    def __init__(self, settings: DPTSettings) -> None:
        super().__init__(settings)

    def player(self, env: VecEnv) -> Player:
        """Mixed behaviour, some of it the expert's; the expert's actions are the labels."""
        expert, n = expert_of(env), env.num_envs
        behaviour = mixtures(self.rng, n, self.policy.network.n_actions)
        shares = self.rng.random(n) * self.settings.expert_ratio

        def play(seen: Any, columns: list[Context]) -> tuple[Ints, Ints]:
            labels = expert(seen)
            return np.where(self.rng.random(n) < shares, labels, drawn(self.rng, behaviour)), labels

        return play

    def keep(self, context: Context, labels: Ints) -> list[Task]:
        """Of each task up to ``context_length`` transitions at random."""
        return kept(context, labels, self.settings.context_length, self.rng)

    def batch(self, tasks: list[Task]) -> Batch:
        """States at random, and random sets of transitions; see :func:`~.batch_of`."""
        return batch_of(tasks, self.settings.queries_per_task, self.rng)
