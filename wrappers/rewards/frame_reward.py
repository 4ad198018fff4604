"""Rewards that are scores of rendered frames, in place of the environment's own."""

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper

from ..checks import own_reward, own_rewards
from ..driving import Array, Floats
from ..perturbations.streams import reset_mask

Info = dict[str, Any]
Score = Callable[[Array], Floats]
"""Of frames ``uint8 [n, H, W, 3]``, ``[n]``."""


class FrameReward(gymnasium.Wrapper[Any, Any, Any, Any]):
    """An environment whose reward is the score of the frame after each step; its own stays as ``true_reward``.

    It is paid at every step: where success ends an episode, staying near it may earn more than getting there. Take
    tasks that go on (mazes: ``continuing=True``).

    Args:
        env: made with ``render_mode="rgb_array"``.
        score: of frames.
        term: the reward's name in ``info["reward_terms"]``.

    Raises:
        ValueError: the environment renders no frames.
    """

    def __init__(self, env: gymnasium.Env[Any, Any], score: Score, term: str) -> None:
        super().__init__(env)
        check_rendered(env.render_mode)
        self.score, self.term = score, term

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, Info]:
        """Steps, renders and scores."""
        observation, paid, terminated, truncated, info = self.env.step(action)
        reward = float(self.score(np.asarray(self.env.render())[None])[0])
        told = {**info, "true_reward": own_reward(info, paid), "reward_terms": {self.term: reward}}
        return observation, reward, terminated, truncated, told


class VectorFrameReward(VectorWrapper[Any, Any, Any]):
    """:class:`FrameReward` of all environments of a vector, whose frames are scored in one batch.

    In NEXT_STEP mode the step in which an environment resets is paid 0, as it had no action.

    Args:
        env: a vector made with ``render_mode="rgb_array"``, in NEXT_STEP or DISABLED autoreset.
        score: of frames.
        term: the reward's name in the info.

    Raises:
        ValueError: the environments render no frames, or the last frame of an episode is not to be had.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any], score: Score, term: str) -> None:
        super().__init__(env)
        check_rendered(env.render_mode)
        if env.metadata.get("autoreset_mode") == AutoresetMode.SAME_STEP:
            raise ValueError(
                "in SAME_STEP autoreset the last frame of an episode is gone before it can be scored: take NEXT_STEP "
                "or DISABLED, or wrap each environment instead of the vector"
            )
        self.score, self.term = score, term
        self._ended = np.zeros(env.num_envs, np.bool_)

    def reset(self, *, seed: Any = None, options: Info | None = None) -> tuple[Any, Info]:
        """Resets."""
        self._ended = self._ended & ~reset_mask(options, self.num_envs)
        return self.env.reset(seed=seed, options=options)

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, Info]:
        """Steps, renders and scores."""
        observations, paid, terminated, truncated, info = self.env.step(actions)
        rewards = self.score(np.stack(self.env.render()))  # type: ignore[arg-type]
        if self.env.metadata.get("autoreset_mode") == AutoresetMode.NEXT_STEP:
            rewards[self._ended] = 0.0
        self._ended = np.logical_or(terminated, truncated)
        whole = np.ones(self.num_envs, np.bool_)
        told = {self.term: rewards, f"_{self.term}": whole}
        told |= {"true_reward": own_rewards(info, paid), "_true_reward": whole}
        return observations, rewards, terminated, truncated, {**info, **told}


def check_frames(frames: Array) -> None:
    """Refuses what are no frames.

    Raises:
        ValueError: they are not ``uint8 [n, H, W, 3]``.
    """
    if frames.ndim != 4 or frames.shape[-1] != 3 or frames.dtype != np.uint8:
        raise ValueError(f"frames are uint8 [n, H, W, 3], got {frames.dtype} {list(frames.shape)}")


def check_rendered(render_mode: str | None) -> None:
    """Refuses an environment that renders no frames.

    Raises:
        ValueError: see above.
    """
    if render_mode != "rgb_array":
        raise ValueError(
            f"rewards of this kind score frames: make the environment with render_mode='rgb_array', not {render_mode!r}"
        )
