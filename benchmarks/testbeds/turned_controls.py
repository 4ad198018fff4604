"""A point mass to be steered to a goal, in tasks that turn its controls: what is right in one is wrong in another.

An observation tells where the goal lies from here, the velocity, and the task, one of several, as an indicator. In task
k the thrust is turned by k / tasks of a full turn before it acts. The reward is by how much a step comes nearer, and 1
for arriving, which ends the episode; others end after 30 steps.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any, NamedTuple, Self

import gymnasium
import numpy as np
import numpy.typing as npt
import torch as th
from gymnasium.spaces import Box
from torch.nn import functional as F

from ...agents import make
from ...agents.control.mixture import ExpertActor, dormant_ratio
from ...agents.control.networks import Actor
from ...agents.control.perturbing import forget
from ...envs.seeding import generator
from ..statistics import Floats

STEPS, NEAR, THRUST, DRAG = 30, 0.15, 0.08, 0.7
SETTINGS: dict[str, Any] = {
    "train_freq": 1,
    "learning_starts": 500,
    "batch_size": 128,
    "buffer_size": 10_000,
    "perturb_interval": 500,
    "policy_kwargs": {
        "net_arch": [64, 64],
        "mixture": {"n_experts": 8, "top_k": 2, "expert_width": 64, "gate_width": 64},
    },
}
SILENCED = 5  # the stream of seeds that neurons are drawn by
SMALL: dict[str, Any] = {"learning_starts": 20, "perturb_interval": 20, "batch_size": 16}


class TurnedControls(gymnasium.Env[npt.NDArray[np.float32], npt.NDArray[np.float32]]):
    """The tasks; observations are ``[4 + tasks]``, actions ``[2]`` in [-1, 1].

    Args:
        tasks: how many.
        task: the only one, or None for another one in every episode.
    """

    def __init__(self, tasks: int = 6, task: int | None = None) -> None:
        self.tasks, self.only = tasks, task
        self.observation_space = Box(-np.inf, np.inf, (4 + tasks,), np.float32)
        self.action_space = Box(-1, 1, (2,), np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[npt.NDArray[np.float32], dict[str, Any]]:
        """A goal half a unit to a unit away."""
        super().reset(seed=seed)
        self.task = int(self.np_random.integers(self.tasks)) if self.only is None else self.only
        angle, distance = self.np_random.uniform(0, 2 * np.pi), self.np_random.uniform(0.5, 1)
        self.away = distance * np.array([np.cos(angle), np.sin(angle)])
        self.velocity, self.count = np.zeros(2), 0
        turn = 2 * np.pi * self.task / self.tasks
        self.turning = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
        return self._seen(), {}

    def step(
        self, action: npt.NDArray[np.float32]
    ) -> tuple[npt.NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Turns the thrust, and moves the mass."""
        before = float(np.hypot(*self.away))
        self.velocity = DRAG * self.velocity + THRUST * self.turning @ np.clip(action, -1, 1)
        self.away = self.away - self.velocity
        after, self.count = float(np.hypot(*self.away)), self.count + 1
        arrived = after < NEAR
        ended = not arrived and self.count == STEPS
        info = {"is_success": arrived} if arrived or ended else {}
        return self._seen(), before - after + arrived, arrived, ended, info

    def _seen(self) -> npt.NDArray[np.float32]:
        return np.concatenate([self.away, self.velocity, np.eye(self.tasks)[self.task]]).astype(np.float32)


@dataclass(frozen=True)
class Steering:
    """A condition: settings of MENTOR that differ from those of all."""

    settings: dict[str, Any] = field(default_factory=dict)


class Steered(NamedTuple):
    """Of one agent.

    Attributes:
        arrivals: share of test episodes in which it arrived, after each part of training, ``[parts]``.
        injured: how many of the last parts came after the injury.
        dormant: the dormant ratio just before the injury and just after it.
        cosine: see :func:`task_cosine`, mean over the ends of the parts before the injury.
    """

    arrivals: Floats
    injured: int
    dormant: tuple[float, float]
    cosine: float

    @property
    def sound(self) -> float:
        """Mean share of arrivals while all neurons worked."""
        return float(self.arrivals[: -self.injured].mean())

    @property
    def recovering(self) -> float:
        """Mean share of arrivals after the injury."""
        return float(self.arrivals[-self.injured :].mean())


@dataclass(frozen=True, kw_only=True)
class SteeringTasks:
    """The testbed.

    Attributes:
        tasks: how many.
        part: steps of training after which the agent is tested.
        sound: parts before the injury.
        injured: parts after it.
        silenced: share of the actor's hidden neurons that the injury silences.
        episodes: that are played in each task at a test, the same ones for all.
        settings: of all conditions.
    """

    tasks: int = 6
    part: int = 500
    sound: int = 8
    injured: int = 4
    silenced: float = 0.75
    episodes: int = 20
    settings: Mapping[str, Any] = field(default_factory=SETTINGS.copy)

    def run(self, condition: Steering, rate: float, seed: int) -> Steered:
        """Trains an agent at a learning rate, and injures it on the way."""
        agent: Any = make(
            "mentor",
            TurnedControls(self.tasks),
            seed=seed,
            learning_rate=rate,
            device="cpu",
            **{**self.settings, **condition.settings},
        )
        arrivals, cosines, dormant = [], [], [0.0, 0.0]
        for part in range(self.sound + self.injured):
            if part == self.sound:
                seen = agent.replayed(agent.batch_size).observations
                threshold = agent.settings.dormant_threshold
                dormant[0] = float(dormant_ratio(agent.actor, seen, threshold))
                silence(agent.actor, self.silenced, seed)
                dormant[1] = float(dormant_ratio(agent.actor, seen, threshold))
            agent.learn(self.part, reset_num_timesteps=False)
            arrivals.append(arrived(agent, self.tasks, self.episodes))
            if part < self.sound:
                cosines.append(task_cosine(agent, self.tasks))
        return Steered(np.array(arrivals), self.injured, (dormant[0], dormant[1]), float(np.mean(cosines)))

    def smallest(self) -> Self:
        """A few steps and episodes."""
        return replace(self, part=40, sound=1, injured=1, episodes=1, settings={**self.settings, **SMALL})


@th.no_grad()
def silence(actor: Actor, share: float, seed: int) -> None:
    """Sets what enters a random share of the hidden neurons to 0, so that no gradient reaches them; Adam forgets.

    Args:
        actor: whose experts and other hidden layers it is; the gate and the actions are left alone.
        share: of the neurons of each layer.
        seed: of which ones.
    """
    rng = generator(seed, SILENCED)
    nets = [actor.net, actor.mixture.experts] if isinstance(actor, ExpertActor) else [actor.net]
    for net in nets:
        weights = list(net.params)[::2] if isinstance(actor, ExpertActor) else list(net.params)[:-2:2]
        for weight, bias in zip(weights, list(net.params)[1::2], strict=False):
            for i in range(net.n):
                out = rng.permutation(weight.shape[-1])[: round(share * weight.shape[-1])]
                weight[i][:, out] = 0
                bias[i][:, out] = 0
    forget(actor.optimizer)


def arrived(agent: Any, tasks: int, episodes: int) -> float:
    """The share of episodes, equally many in each task and the same ones each time, in which an agent arrives."""
    envs = [TurnedControls(tasks, task) for task in range(tasks) for _ in range(episodes)]
    seen = np.stack([env.reset(seed=10_000 + i)[0] for i, env in enumerate(envs)])
    going, there = np.arange(len(envs)), 0
    for _ in range(STEPS):
        actions = agent.predict(seen, deterministic=True)[0]
        steps = [envs[i].step(action) for i, action in zip(going, actions, strict=True)]
        there += sum(step[2] for step in steps)
        on = [not step[2] for step in steps]
        going, seen = going[on], np.stack([step[0] for step in steps])[on]
        if not len(going):
            break
    return there / len(envs)


def task_cosine(agent: Any, tasks: int, states: int = 64) -> float:
    """The mean cosine between the gradients that the actor's value has in two tasks, over all pairs: conflict below 0.

    Gradients are of the whole actor, at the same random states but for the indicator of the task.
    """
    rng = th.Generator().manual_seed(0)
    place = th.randn(states, 4, generator=rng) * th.tensor([0.5, 0.5, 0.1, 0.1])
    agent.policy.set_training_mode(False)
    params = list(agent.actor.parameters())
    gradients = []
    for task in range(tasks):
        seen = th.cat([place, F.one_hot(th.tensor(task), tasks).float().expand(states, -1)], dim=1)
        value = agent.critic.minimum(seen, agent.actor(seen, deterministic=True)).mean()
        found = th.autograd.grad(value, params, allow_unused=True)
        gradients.append(
            th.cat(
                [
                    th.zeros(param.numel()) if one is None else one.flatten()
                    for one, param in zip(found, params, strict=True)
                ]
            )
        )
    pairs = [F.cosine_similarity(one, other, dim=0) for one, other in combinations(gradients, 2)]
    return float(th.stack(pairs).mean())
