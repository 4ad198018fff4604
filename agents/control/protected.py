r"""PROTECTED: a few policies, each the best against some attack on observations, and a bandit that adapts.

    agent = make("protected", env, n_policies=3, policy_timesteps=200_000).learn(600_000)
    agent.begin_episode()  # draws one of the policies, which predict() then acts by
    agent.end_episode(total)  # tells the bandit what it earned

Paper: Liu et al., Beyond Worst-case Attacks: Robust RL with Adaptive Defense via Non-dominated Policies (2024), section
4. "The authors' code" is github.com/umd-huang-lab/PROTECTED.
"""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import numpy as np
import numpy.typing as npt
import torch as th
from gymnasium.spaces import Box, Discrete, MultiDiscrete
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.type_aliases import GymEnv, Schedule
from stable_baselines3.common.vec_env import VecEnv
from torch import Tensor

from ... import unknown
from .on_policy.fast_ppo import FastPPO
from .on_policy.moments import RunningMoments
from .on_policy.rollout import Rollout
from .on_policy.shown import Shown
from .on_policy.sources import Source, Step, source_of

Floats = npt.NDArray[np.float64]
Attack = Callable[[Any], Any]
FIRST = ("natural", "minimax")
"""What the first policy is trained against: nothing, or an adversary that lowers its return."""
REFRESH = 10
"""Every so many updates of the adversary each policy before is tried against it once, as in the authors' code."""
SPREAD, BEGIN = 0.5, 1.0
"""Deviations of the adversary's parameters: of trials around them, and of where they begin."""


class Exp3:
    r"""EXP3 with implicit exploration, for rewards in [0, 1].

    .. math::
        p = w / \sum w, \quad w_i \leftarrow w_i e^{\eta r / (p_i + \eta / 2)}, \quad
        \eta = c \sqrt{\ln K / (K T)}

    for the arm i that was drawn (the authors' code).

    Args:
        arms: K.
        rounds: T, how many are to come.
        rate: c, in the authors' code 2, and 5 against attacks that switch.

    Raises:
        ValueError: no arms or rounds.
    """

    def __init__(self, arms: int, rounds: int, rate: float = 2.0) -> None:
        if arms < 1 or rounds < 1:
            raise ValueError(f"a bandit has at least one arm and one round, got {arms} and {rounds}")
        self.logits: Floats = np.zeros(arms)
        self.eta = rate * float(np.sqrt(np.log(arms) / (arms * rounds)))

    @property
    def probabilities(self) -> Floats:
        """p, ``[K]``."""
        weights = np.exp(self.logits - self.logits.max())
        return np.asarray(weights / weights.sum())

    def update(self, arm: int, reward: float) -> None:
        """Learns what an arm earned that was drawn.

        Raises:
            ValueError: a reward outside [0, 1].
        """
        if not 0 <= reward <= 1:
            raise ValueError(f"a reward lies between 0 and 1, got {reward}")
        self.logits[arm] += self.eta * reward / (self.probabilities[arm] + self.eta / 2)


class Attacked:
    """Steps environments and perturbs what is observed.

    Args:
        source: of steps.
        attack: from observations ``[N, d]`` to perturbed ones.
    """

    def __init__(self, source: Source, attack: Attack) -> None:
        self.source, self.attack = source, attack

    def step(self, actions: npt.NDArray[Any]) -> Step:
        """Steps all environments."""
        found = self.source.step(actions)
        found.observation = self.attack(found.observation)
        if found.last:
            rows = np.array(found.observation)
            for index, last in found.last.items():
                rows[index] = last
            seen = self.attack(rows)
            found.last = {index: seen[index] for index in found.last}
        return found


def episode_returns(rewards: Tensor, ended: Tensor) -> Tensor:
    """The mean return of each environment's episodes in a rollout, ``[N]``: its rewards over ends, of which one counts.

    Args:
        rewards: ``[T, N]``.
        ended: ``[T, N]``.
    """
    return rewards.sum(dim=0) / ended.sum(dim=0).clamp(min=1)


class PROTECTED(FastPPO):
    r"""Iterative discovery of non-dominated policies on PPO, and EXP3 over them.

    The first policy is trained without an attack. Each further one, with an adversary :math:`\nu` of its own, is to be
    better somewhere than all before it:

    .. math::
        \max_\pi \max_\nu \min_{\pi' \in \tilde\Pi} J(\pi, \nu) - J(\pi', \nu)

    An adversary moves each number observed by at most ``epsilon`` deviations: :math:`\epsilon \tanh(W [s, 1])`. It and
    the policy learn in turn: a rollout of PPO under the adversary; then one of the policy and one of the best policy
    before, in which every environment has another W, and W follows the difference of their returns.

    Departures: the adversary is a linear map that learns by evolution strategies, where the authors' is a network that
    learns by PPO; how long a policy is trained is given, where the paper goes on until the gap closes.

    Args:
        policy: "MlpPolicy"; observations are a flat box.
        env: to learn in; without attacks.
        learning_rate: of the policies.
        n_steps: of each environment in a rollout, in which at least one episode should end.
        batch_size: as of PPO.
        n_epochs: as of PPO.
        gamma: discount.
        gae_lambda: lambda of generalised advantage estimation.
        ent_coef: weight of the entropy.
        n_policies: K, at most so many are discovered.
        policy_timesteps: steps until the next one is begun, adversary's rollouts included; the last one goes on.
        epsilon: radius of attacks, in deviations of observations (in their units without ``norm_obs``).
        adversary_learning_rate: of W.
        first: one of :data:`FIRST`; with "minimax" and one policy this is plain adversarial training.
        bandit_rounds: T of the bandit.
        bandit_rate: c of the bandit.
        return_low: an episode's return that counts as 0 for the bandit; the least one seen if None.
        return_high: an episode's return that counts as 1 for the bandit; the largest one seen if None.
        norm_obs: whether observations are normalised.
        norm_reward: whether rewards are divided by the deviation of the discounted return.
        stats_window_size: episodes that logged means are of.
        tensorboard_log: folder of logs.
        policy_kwargs: of the policy.
        verbose: 0 to 2.
        seed: of everything random.
        device: of the networks.
    """

    acts_in = (Box, Discrete, MultiDiscrete)

    def __init__(
        self,
        policy: str | type[ActorCriticPolicy],
        env: GymEnv | str,
        learning_rate: float | Schedule = 3e-4,
        n_steps: int = 128,
        batch_size: int = 2048,
        n_epochs: int = 4,
        gamma: float = 0.99,
        gae_lambda: float = 0.95,
        ent_coef: float = 0.0,
        *,
        n_policies: int = 3,
        policy_timesteps: int = 100_000,
        epsilon: float = 0.1,
        adversary_learning_rate: float = 0.3,
        first: str = "natural",
        bandit_rounds: int = 200,
        bandit_rate: float = 2.0,
        return_low: float | None = None,
        return_high: float | None = None,
        norm_obs: bool = True,
        norm_reward: bool = True,
        stats_window_size: int = 100,
        tensorboard_log: str | None = None,
        policy_kwargs: dict[str, Any] | None = None,
        verbose: int = 0,
        seed: int | None = None,
        device: th.device | str = "auto",
        _init_setup_model: bool = True,
    ) -> None:
        if first not in FIRST:
            raise ValueError(unknown("first", first, FIRST))
        self.n_policies, self.policy_timesteps, self.epsilon = n_policies, policy_timesteps, epsilon
        self.adversary_learning_rate, self.first = adversary_learning_rate, first
        self.bandit_rounds, self.bandit_rate = bandit_rounds, bandit_rate
        self.return_low, self.return_high = return_low, return_high
        self.progress = th.zeros(4)  # steps of this policy, rollout in its cycle, cycles, policies before
        self.extremes = th.tensor([np.inf, -np.inf])
        common: dict[str, Any] = {"stats_window_size": stats_window_size, "tensorboard_log": tensorboard_log}
        common |= {"policy_kwargs": policy_kwargs, "verbose": verbose, "seed": seed, "device": device}
        common |= {"norm_obs": norm_obs, "norm_reward": norm_reward, "_init_setup_model": _init_setup_model}
        common |= {"gae_lambda": gae_lambda, "ent_coef": ent_coef}
        super().__init__(policy, env, learning_rate, n_steps, batch_size, n_epochs, gamma, **common)

    def _setup_model(self) -> None:
        space = self.observation_space
        if not isinstance(space, Box) or len(space.shape) != 1:
            raise TypeError(f"PROTECTED attacks observations that are flat boxes, not {space}: flatten them first")
        super()._setup_model()
        self.states = th.zeros(self.n_policies - 1, len(self._state()), dtype=th.float64)
        self.worths, self.logits = th.zeros(self.n_policies), th.zeros(self.n_policies)
        self.chosen: int | None = None
        self._new_adversary()

    def _new_adversary(self) -> None:
        width = int(np.prod(self.observation_space.shape or ()))
        self.adversary = BEGIN * th.randn(width, width + 1)
        self.trials = th.zeros(0, width, width + 1)
        self.scores = th.zeros(0)

    @property
    def members(self) -> Tensor:
        """The policies before the newest, flat, ``[k, P]``."""
        return self.states[: int(self.progress[3])]

    @property
    def rollouts_of_a_cycle(self) -> tuple[str, ...]:
        """Which rollouts come in turn: of the policy that learns, and of the adversary on it and on one before."""
        if len(self.members):
            return ("policy", "newest", "before")
        return ("policy",) if self.first == "natural" else ("policy", "newest")

    @property
    def kind(self) -> str:
        """Of the next rollout, or of the one that is learnt from."""
        return self.rollouts_of_a_cycle[int(self.progress[1])]

    def attacked(self, observations: Any, parameters: Tensor) -> npt.NDArray[np.float32]:
        """Observations ``[N, d]`` as adversaries with W ``[N, d, d + 1]`` or ``[1, d, d + 1]`` wish, in the space."""
        seen, deviation = self._normalised(observations)
        inputs = th.cat([seen, th.ones(len(seen), 1)], dim=1)
        moved = self.epsilon * th.tanh((parameters @ inputs[:, :, None]).squeeze(2)) * deviation
        space: Any = self.observation_space
        shown = np.clip(np.asarray(observations) + moved.numpy(), space.low, space.high)
        return np.asarray(shown, np.float32)

    def _normalised(self, observations: Any) -> tuple[Tensor, Tensor]:
        """As the policy reads them, and the deviations that it divides them by."""
        values = th.as_tensor(np.asarray(observations), dtype=th.float32)
        moments = [one for one in self.policy.modules() if isinstance(one, RunningMoments)]
        if not moments:
            return values, th.ones(values.shape[1])
        return moments[0](values.to(self.device), 10.0).cpu(), moments[0].var.sqrt().float().cpu()

    def _state(self) -> Tensor:
        return th.cat([part.detach().flatten().cpu().double() for part in self.policy.state_dict().values()])

    def _load(self, policy: ActorCriticPolicy, state: Tensor) -> None:
        own = policy.state_dict()
        parts = th.split(state, [part.numel() for part in own.values()])
        found = {name: part.view_as(own[name]).to(own[name].dtype) for name, part in zip(own, parts, strict=True)}
        policy.load_state_dict(found)

    def collect_rollouts(  # type: ignore[override]
        self, env: VecEnv, callback: BaseCallback, rollout_buffer: Rollout, n_rollout_steps: int
    ) -> bool:
        """New episodes of the policy, or of one before, under attack; callbacks see the newest, as it is afterwards."""
        if self.kind == "before" and len(self.trials) != env.num_envs:  # after a checkpoint
            self.progress[1] = 0
        newest, parameters = self._state(), self.adversary[None]
        if self.kind == "newest":
            half = th.randn(-(-env.num_envs // 2), *self.adversary.shape)
            self.trials = th.cat([half, -half])[: env.num_envs]
        if self.kind != "policy":
            parameters = self.adversary + SPREAD * self.trials
        is_safe = self.rollouts_of_a_cycle == ("policy",)

        def attack(observations: Any) -> Any:
            return observations if is_safe else self.attacked(observations, parameters)

        self._last_obs = attack(env.reset())
        self._source = Attacked(source_of(env), attack)
        self.reward_scale.reset(env.num_envs)
        if self.kind != "before":
            return super().collect_rollouts(env, callback, rollout_buffer, n_rollout_steps)
        opponent = self.members[self.opponent]
        seen: Any = Shown(callback, lambda: self._load(self.policy, newest), lambda: self._load(self.policy, opponent))
        self._load(self.policy, opponent)
        try:
            return super().collect_rollouts(env, seen, rollout_buffer, n_rollout_steps)
        finally:
            self._load(self.policy, newest)

    @property
    def opponent(self) -> int:
        """The policy before that the next adversary's rollout is of: the best one, and at times each in turn."""
        turn = int(self.progress[2]) % REFRESH
        return turn if turn < len(self.members) else int(self.worths[: len(self.members)].argmax())

    def train(self) -> None:
        """Learns from the last rollout, which was for the policy or for the adversary."""
        rollout, kind = self.rollout_buffer, self.kind
        returns = episode_returns(rollout.rewards * rollout.valid, rollout.terminated | rollout.truncated)
        self.extremes = th.stack([th.minimum(self.extremes[0], returns.min()), self.extremes[1].maximum(returns.max())])
        if kind == "policy":
            super().train()
        elif kind == "newest":
            self.scores = returns.clone()
            if self.first == "minimax" and not len(self.members):
                self._improve_adversary(-self.scores)
        else:
            self.worths[self.opponent] = returns.mean()
            self._improve_adversary(self.scores - returns)
        self._advance(int(rollout.valid.sum()))

    def _improve_adversary(self, scores: Tensor) -> None:
        """A step of evolution strategies: trials ``[N, d, d + 1]`` weighted by their scores ``[N]``, standardised."""
        spread = scores.std(correction=0)
        if spread > 0:
            weights = (scores - scores.mean()) / spread
            step = (weights[:, None, None] * self.trials).mean(dim=0)
            self.adversary = self.adversary + self.adversary_learning_rate * step

    def _advance(self, steps: int) -> None:
        """To the next rollout; after its share of steps a policy joins the others, and the next goes on from it."""
        taken, row, cycles, before = self.progress.tolist()
        row = (row + 1) % len(self.rollouts_of_a_cycle)
        self.progress = th.tensor([taken + steps, row, cycles + (row == 0), before])
        if row == 0 and taken + steps >= self.policy_timesteps and len(self.members) < self.n_policies - 1:
            self.states[int(before)] = self._state()
            self._new_adversary()
            self.progress = th.tensor([0, 0, 0, before + 1])

    def member(self, index: int) -> ActorCriticPolicy:
        """A policy that was discovered, as a copy; the last one is the newest, and no copy."""
        if index == len(self.members):
            return self.policy
        found = deepcopy(self.policy)
        self._load(found, self.members[index])
        return found

    def _bandit(self) -> Exp3:
        bandit = Exp3(len(self.members) + 1, self.bandit_rounds, self.bandit_rate)
        bandit.logits = self.logits[: len(self.members) + 1].double().numpy()
        return bandit

    @property
    def probabilities(self) -> Floats:
        """With which the bandit draws each of the policies."""
        return self._bandit().probabilities

    def begin_episode(self) -> int:
        """Draws the policy that :meth:`predict` acts by from now on."""
        self.chosen = int(th.multinomial(th.as_tensor(self.probabilities), 1))
        self._chosen_policy = self.member(self.chosen)
        return self.chosen

    def end_episode(self, total: float) -> None:
        """Tells the bandit what the drawn policy's episode earned; :meth:`predict` is the newest policy's again.

        Raises:
            ValueError: no policy was drawn.
        """
        if self.chosen is None:
            raise ValueError("there is no episode to end: call begin_episode() first")
        low = float(self.extremes[0]) if self.return_low is None else self.return_low
        high = float(self.extremes[1]) if self.return_high is None else self.return_high
        bandit = self._bandit()
        bandit.update(self.chosen, float(np.clip((total - low) / max(high - low, 1e-9), 0, 1)))
        self.logits[: len(bandit.logits)] = th.as_tensor(bandit.logits, dtype=th.float32)
        self.chosen = None

    def predict(self, observation: Any, *args: Any, **kwargs: Any) -> Any:
        """As in SB3: by the policy that :meth:`begin_episode` drew, or else by the newest."""
        policy = self.policy if self.chosen is None else self._chosen_policy
        return policy.predict(observation, *args, **kwargs)

    def _get_torch_save_params(self) -> tuple[list[str], list[str]]:
        names, variables = super()._get_torch_save_params()
        own = ["states", "worths", "logits", "adversary", "progress", "extremes"]
        return names, [*variables, *own]

    def _excluded_save_params(self) -> list[str]:
        return [*super()._excluded_save_params(), "chosen", "_chosen_policy", "trials", "scores"]
