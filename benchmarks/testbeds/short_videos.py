"""Sessions of a feed of short videos: a dense reward, two sparse ones that conflict with it, and users who leave.

A synthetic relative of what Cai et al. (2023, TSCAC) log: watch time of every video, likes and follows of few.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from ...agents.control.vector_rewards import VectorTransitions

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

TOPICS, LONGEST = 4, 30
SIGNALS = ("watch", "like", "follow")
BAIT, PLAIN, GEM = range(3)
"""Kinds of videos: there is one of each kind in every topic; action 3 t + k shows kind k of topic t."""
WATCH = np.array([1.0, 0.6, 0.35])
LIKE = np.array([0.02, 0.08, 0.25])
FOLLOW = np.array([0.0, 0.02, 0.2])
QUALITY = np.array([0.1, 0.5, 0.9])
"""By kind: watch time, chances of a like and of a follow (all if the topic suits the user), and what satisfies."""


class ShortVideos(VectorEnv[Any, Any, Any]):
    r"""Several users side by side, each of whom is shown a video a step.

    A user has interests :math:`u`, one number from 0 to 1 a topic, satisfaction x, and has seen much of some topics,
    :math:`b_t \leftarrow 0.7 b_t + 0.3 \cdot 1\{t\ \text{shown}\}`; all are observed. With :math:`u_t` of the video's
    topic, its rewards are

    * watch: :math:`w_k u_t (1 - 0.6 b_t) e^{\epsilon}`, with :math:`\epsilon` of deviation 0.3,
    * like: 1 with a chance of :math:`l_k u_t x`,
    * follow: 1 with a chance of :math:`f_k u_t b_t`: of whom the user has seen before.

    Satisfaction moves a quarter of the way to :math:`q_k u_t`, and the user leaves with a chance of
    :math:`0.02 + 0.2 (1 - x)^2`; no session has more than 30 videos. So what is watched for long is not what is liked,
    and follows need the very repetition that bores.

    The reward is "watch"; ``info["reward_terms"]`` has all three.

    Args:
        num_envs: users.
    """

    metadata = {"autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012

    def __init__(self, num_envs: int) -> None:
        self.num_envs = num_envs
        self.single_observation_space = Box(0, 1, (2 * TOPICS + 2,), np.float32)
        self.single_action_space = Discrete(3 * TOPICS)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.draws = np.random.default_rng()
        self.interests, self.seen = np.zeros((num_envs, TOPICS)), np.zeros((num_envs, TOPICS))
        self.satisfaction, self.shown = np.zeros(num_envs), np.zeros(num_envs, np.int64)

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        """New users; with ``seed`` (one, or one a user) the draws begin anew."""
        if seed is not None:
            self.draws = np.random.default_rng([2302, *np.atleast_1d(np.asarray(seed, np.int64))])
        self._begin(np.ones(self.num_envs, np.bool_))
        return self._observed(), {}

    def _begin(self, which: Bools) -> None:
        count = int(which.sum())
        self.interests[which] = self.draws.uniform(0.2, 1.0, (count, TOPICS))
        self.seen[which], self.shown[which], self.satisfaction[which] = 0.0, 0, 0.6

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Shows a video to each; those who leave are followed by others."""
        rewards = self.respond(np.asarray(actions))
        self.shown += 1
        left = self.draws.random(self.num_envs) < 0.02 + 0.2 * (1 - self.satisfaction) ** 2
        cut = ~left & (self.shown == LONGEST)
        info, ended = self._terms(rewards, np.ones_like(left)), left | cut
        if ended.any():
            final = np.full(self.num_envs, None, object)
            for index, row in zip(np.flatnonzero(ended), self._observed()[ended], strict=True):
                final[index] = row
            info |= {"final_obs": final, "_final_obs": ended, "final_info": self._terms(rewards, ended)}
            info["_final_info"] = ended
            self._begin(ended)
        return self._observed(), rewards[:, 0], left, cut, info

    def respond(self, actions: npt.NDArray[np.int64]) -> Floats:
        """Rewards ``[N, 3]`` by :data:`SIGNALS`, of videos ``[N]``; the users' states move."""
        topic, kind = actions // 3, actions % 3
        rows = np.arange(self.num_envs)
        suits, seen = self.interests[rows, topic], self.seen[rows, topic]
        noise = np.exp(self.draws.normal(0, 0.3, self.num_envs))
        chance = self.draws.random((2, self.num_envs))
        watch = WATCH[kind] * suits * (1 - 0.6 * seen) * noise
        like = chance[0] < LIKE[kind] * suits * self.satisfaction
        follow = chance[1] < FOLLOW[kind] * suits * seen
        self.seen *= 0.7
        self.seen[rows, topic] += 0.3
        self.satisfaction += 0.25 * (QUALITY[kind] * suits - self.satisfaction)
        return np.stack([watch, like, follow], axis=1)

    def _terms(self, rewards: Floats, which: Bools) -> dict[str, Any]:
        terms: dict[str, Any] = dict(zip(SIGNALS, rewards.T, strict=True))
        return {"reward_terms": terms | {f"_{name}": which for name in SIGNALS}, "_reward_terms": which}

    def _observed(self) -> npt.NDArray[np.float32]:
        rest = np.stack([self.satisfaction, self.shown / LONGEST], axis=1)
        return np.concatenate([self.interests, self.seen, rest], axis=1).astype(np.float32)


class Logging:
    """The policy that was in use: it prefers topics that suit, of any kind.

    Args:
        rng: of its draws.
    """

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng

    def predict(self, observations: Any, deterministic: bool = False) -> tuple[Any, None]:
        """As of SB3's policies, but always drawn: topics by softmax of 4 u."""
        scores = np.exp(4 * np.asarray(observations)[:, :TOPICS])
        shares = np.cumsum(scores / scores.sum(axis=1, keepdims=True), axis=1)
        topic = (self.rng.random((len(shares), 1)) > shares[:, :-1]).sum(axis=1)
        return 3 * topic + self.rng.integers(3, size=len(topic)), None


def values(policy: Any, sessions: int, seed: int = 10**6) -> Floats:
    """Mean returns of a session by :data:`SIGNALS`, ``[3]``, of users whom no agent learns from; actions are drawn."""
    env = ShortVideos(sessions)
    seen, _ = env.reset(seed=seed)
    totals, open_ = np.zeros((sessions, 3)), np.ones(sessions, np.bool_)
    for _ in range(LONGEST):
        actions, _ = policy.predict(seen, deterministic=False)
        seen, _, left, cut, info = env.step(actions)
        rewards = np.stack([info["reward_terms"][name] for name in SIGNALS], axis=1)
        totals += rewards * open_[:, None]
        open_ &= ~(left | cut)
    found: Floats = totals.mean(axis=0)
    return found


def logged(sessions: int, seed: int) -> VectorTransitions:
    """Sessions under :class:`Logging`, with the terms of :data:`SIGNALS`."""
    env, policy = ShortVideos(sessions), Logging(np.random.default_rng([seed, 1]))
    seen, _ = env.reset(seed=seed)
    open_, rows = np.ones(sessions, np.bool_), []
    while open_.any():
        actions, _ = policy.predict(seen)
        after, _, left, cut, info = env.step(actions)
        last, ended = after.copy(), left | cut
        if ended.any():
            last[ended] = np.stack(list(info["final_obs"][ended]))
        terms = np.stack([info["reward_terms"][name] for name in SIGNALS], axis=1)
        rows.append([part[open_] for part in (np.arange(sessions), seen, actions, terms, last, left, ended)])
        seen, open_ = after, open_ & ~ended
    of, *parts = (np.concatenate(column) for column in zip(*rows, strict=True))
    order = np.argsort(of, kind="stable")
    observations, actions, terms, following, left, ended = (part[order] for part in parts)
    return VectorTransitions(
        observations=observations.astype(np.float32),
        actions=actions,
        rewards=terms[:, 0].astype(np.float32),
        next_observations=following.astype(np.float32),
        terminations=left.astype(np.float32),
        ends=ended,
        episodes=of[order],
        episode_returns=np.bincount(of[order], weights=terms[:, 0]).astype(np.float64),
        terms=terms.astype(np.float32),
        names=SIGNALS,
    )
