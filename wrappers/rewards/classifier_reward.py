"""Rewards by a success classifier in place of the simulator's truth, as on a robot that nobody scores."""

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.utils import RecordConstructorArgs
from stable_baselines3.common.buffers import ReplayBuffer

from ... import unknown
from ..checks import own_reward
from .calibration import Floats, sigmoid
from .success_classifier import SuccessClassifier

Info = dict[str, Any]
Array = npt.NDArray[Any]

REWARDS, LEARNS = ("sparse", "log-odds"), ("none", "visited", "checked")
MOST_ODDS = 10.0
"""Log-odds are cut to this, either way: beyond it they are extrapolation."""


class ClassifierReward(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """The reward is 1 where the classifier claims success, else 0; the truth stays in the info, for evaluation alone.

    ``info`` holds ``success_probability``, ``claimed_success``, the environment's own reward as ``true_reward`` and its
    ``success`` as ever; ``reward_terms`` are now the classifier's. Note what still tells the truth: an environment that
    terminates on success does so whatever is claimed.

    ``learns_from`` lets the classifier learn while the agent does, every ``update_every`` steps: from the "visited"
    states, all of which it takes for failures (VICE), or from claims that are "checked": as if somebody looked at each,
    it is added to the successes or to the failures by the environment's ``success``. Rewards that agents have in their
    replay buffers are then out of date: see :func:`relabel`.

    Args:
        env: whose reward is replaced.
        classifier: fitted; environments may share one.
        reward: "sparse" (0 or 1, SERL's) or "log-odds" (VICE's, cut to 10).
        view: what the classifier sees of an observation, such as one camera of a Dict, or
            ``lambda _: env.render()`` for frames that the policy does not see (SERL's); None for all of it.
        end_on_success: whether an episode terminates when success is claimed, as SERL's do.
        learns_from: "none", "visited" or "checked".
        update_every: steps between two updates of the classifier.
        update_steps: gradient steps an update.

    Raises:
        TypeError: no classifier.
        ValueError: a bad setting, a classifier that was never fitted, or one that was loaded and shall learn on.
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        classifier: SuccessClassifier,
        *,
        reward: str = "sparse",
        view: Callable[[Any], Array] | None = None,
        end_on_success: bool = False,
        learns_from: str = "none",
        update_every: int = 1000,
        update_steps: int = 200,
    ) -> None:
        RecordConstructorArgs.__init__(
            self,
            _disable_deepcopy=True,
            classifier=classifier,
            reward=reward,
            view=view,
            end_on_success=end_on_success,
            learns_from=learns_from,
            update_every=update_every,
            update_steps=update_steps,
        )
        super().__init__(env)
        if not hasattr(classifier, "logits"):
            raise TypeError(f"classifier must be a fitted SuccessClassifier, got {classifier!r:.200}")
        if getattr(classifier, "network", classifier) is None:
            raise ValueError("this classifier has learned nothing yet: call its fit() or load() first")
        for name, value, valid in (("reward", reward, REWARDS), ("learns_from", learns_from, LEARNS)):
            if value not in valid:
                raise ValueError(unknown(name, value, valid))
        if learns_from != "none" and getattr(classifier, "_train", classifier) is None:
            raise ValueError(
                f"learns_from={learns_from!r} goes on from the examples of fit(), which a loaded classifier no longer "
                'has: fit it here, or take learns_from="none"'
            )
        if update_every < 1 or update_steps < 1:
            raise ValueError(f"update_every and update_steps are at least 1, got {update_every} and {update_steps}")
        self.classifier, self.reward, self.view = classifier, reward, view
        self.end_on_success, self.learns_from = end_on_success, learns_from
        self.update_every, self.update_steps = update_every, update_steps
        self.steps = self.updates = 0
        self._found: dict[bool, list[Array]] = {True: [], False: []}  # by whether they are taken for successes

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, Info]:
        """Steps and judges."""
        observation, paid, terminated, truncated, info = self.env.step(action)
        seen = np.asarray(observation if self.view is None else self.view(observation))
        logits = self.classifier.logits(seen[None])
        claimed = bool(claims(logits, self.classifier)[0])
        reward = float(rewards(logits, self.classifier, self.reward)[0])
        info = {
            **info,
            "true_reward": own_reward(info, paid),
            "claimed_success": claimed,
            "success_probability": float(sigmoid(logits)[0]),
            "reward_terms": {"classifier": reward},
        }
        self._keep(seen, claimed, bool(info.get("success", False)))
        return observation, reward, terminated or (claimed and self.end_on_success), truncated, info

    def _keep(self, seen: Array, claimed: bool, success: bool) -> None:
        if self.learns_from == "visited":
            self._found[False].append(seen.copy())
        elif self.learns_from == "checked" and claimed:
            self._found[success].append(seen.copy())
        self.steps += 1
        if self.steps % self.update_every == 0 and any(self._found.values()):
            successes, failures = (np.stack(states) if states else None for states in self._found.values())
            self.classifier.add(successes=successes, failures=failures, steps=self.update_steps)
            for states in self._found.values():
                states.clear()
            self.updates += 1


def claims(logits: Floats, classifier: SuccessClassifier) -> npt.NDArray[np.bool_]:
    """Whether these log-odds ``[n]`` reach the classifier's threshold."""
    threshold = classifier.threshold
    claimed: npt.NDArray[np.bool_] = logits >= np.log(threshold / (1 - threshold))
    return claimed


def rewards(logits: Floats, classifier: SuccessClassifier, reward: str) -> Floats:
    """The rewards ``[n]`` of states with these log-odds ``[n]``: "sparse" or "log-odds"."""
    if reward == "sparse":
        return claims(logits, classifier).astype(np.float64)
    return np.clip(logits, -MOST_ODDS, MOST_ODDS)


def relabel(buffer: ReplayBuffer, classifier: SuccessClassifier, *, reward: str = "sparse") -> None:
    """Judges anew, in place, all that a replay buffer of SB3's holds, after the classifier has learned on.

    VICE's authors judge when they sample; this is the same if done after each update of the classifier. Whether an
    episode ended stays as it was. The classifier must judge whole observations of one Box.

    Raises:
        TypeError: the buffer does not keep what came after each step.
    """
    if getattr(buffer, "next_observations", None) is None:
        raise TypeError("relabel judges next_observations: make the agent with optimize_memory_usage=False")
    filled = buffer.buffer_size if buffer.full else buffer.pos
    states = np.asarray(buffer.next_observations[:filled])  # [filled, environments, ...]
    judged = rewards(classifier.logits(states.reshape(-1, *states.shape[2:])), classifier, reward)
    buffer.rewards[:filled] = judged.reshape(filled, -1)
