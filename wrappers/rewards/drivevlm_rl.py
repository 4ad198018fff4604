"""DriveVLM-RL: VLM-RL's reward on every frame, and a slow judge of danger where something critical is near.

Paper: Huang et al., DriveVLM-RL: Neuroscience-Inspired Reinforcement Learning with Vision-Language Models for Safe and
Deployable Autonomous Driving (2026). Only its abstract and summaries of it could be read, and there is no code: two
pathways, the gate by a light detector, several frames for the slow model, hierarchical synthesis of both with the
vehicle's state as in VLM-RL, and an asynchronous pipeline are the paper's. How the two scores are joined (here: the
worse of both counts), the gate's distances and the number of frames are ours.
"""

from collections import deque
from typing import Any, NamedTuple, Protocol

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import VectorEnv
from stable_baselines3.common.callbacks import BaseCallback

from ..driving import Array, Floats, Judged, VectorJudged, seen
from ..late import Late
from .driving_captions import ATTRIBUTES, GOALS
from .driving_encoder import Encoder
from .vlm_rl import PENALTY, TARGET, Contrast, LanguageGoals, pace

FRAMES = 4  # that the slow model sees
PERSON, VEHICLE, ASIDE = 12.0, 8.0, 4.0  # m: nearer than this ahead, and no further aside, is critical
DANGER = (ATTRIBUTES[1].sentences[0], ATTRIBUTES[1].sentences[2])
"""What the built-in slow model contrasts: nobody ahead, and somebody just in front."""


class SlowJudge(Protocol):
    """A slow model that sees several frames, such as a large vision-language model."""

    def risks(self, clips: Array) -> Floats:
        """How dangerous clips ``uint8 [n, k, 64, 64, 8]`` are, oldest frame first: ``[n]`` in [0, 1]."""


class ContrastJudge:
    """The built-in slow judge: the mean danger of a clip's frames by contrast of two sentences.

    It stands for a large vision-language model, which nobody can run here; it is slow because it is told to be.

    Args:
        contrast: whose score is 1 where there is no danger.
    """

    def __init__(self, contrast: Contrast) -> None:
        self.contrast = contrast

    def risks(self, clips: Array) -> Floats:
        """See :class:`SlowJudge`."""
        scores = self.contrast.score(clips.reshape(-1, *clips.shape[2:])).reshape(clips.shape[:2])
        found: Floats = 1.0 - scores.mean(axis=1)
        return found


def gate(observations: Array) -> npt.NDArray[np.bool_]:
    """Whether something critical is near, ``[n]``: the detector of the paper, here the simulator's own list."""
    others = seen(observations).others
    x, y = 80.0 * others[:, :, 1], 80.0 * others[:, :, 2]
    reach = np.where(others[:, :, 9] > 0.5, VEHICLE, PERSON)
    near = (others[:, :, 0] > 0.5) & (x > 0.0) & (x < reach) & (np.abs(y) < ASIDE)
    return np.asarray(near.any(axis=1))


class Asked(NamedTuple):
    """A question to the slow judge, and what its answer will be joined with."""

    place: int  # in the batch
    episode: int
    clip: Array  # [k, 64, 64, 8]
    step: int  # since the first
    fast: float  # score of the other pathway
    speed: float  # m/s
    quality: float  # of that step


class Correction(NamedTuple):
    """What a step of the past would have been paid, had the slow judge answered at once."""

    place: int  # in the batch
    ago: int  # steps
    reward: float


class DualPathway(LanguageGoals):
    """The reward of both pathways, as a judge of :mod:`tiltyard.wrappers.driving`.

    The slow judge answers ``delay`` steps late. Until then its last answer of the same episode counts, so that the loop
    never waits: a risk r lowers the score of the fast pathway to at most 1 - r, for ``hold`` steps after its answer.
    With ``late`` it lowers that of the step that was asked about instead, as in the paper: :attr:`corrections` says
    what such steps should have been paid, and :class:`LateRewards` writes it into the replay buffer.

    Args:
        contrast: of the fast pathway.
        slow: judge.
        delay: of its answers, in steps.
        hold: steps that an answer counts for.
        late: whether answers correct the past instead.
        target: see :class:`.vlm_rl.LanguageGoals`.
        penalty: likewise.
    """

    def __init__(
        self,
        contrast: Contrast,
        slow: SlowJudge,
        *,
        delay: int = 5,
        hold: int = 5,
        late: bool = False,
        target: float = TARGET,
        penalty: float = PENALTY,
    ) -> None:
        super().__init__(contrast, target=target, penalty=penalty)
        if hold < 1:
            raise ValueError(f"hold is at least 1 step, got {hold}")
        self.slow, self.hold, self.late = slow, hold, late
        self.corrections: list[Correction] = []
        self.queue: Late[Asked, float] = Late(self._answer, delay=delay)
        self.frames = self.steps = 0
        self._clips: dict[int, deque[Array]] = {}
        self._episodes: dict[int, int] = {}
        self._risks: dict[int, tuple[int, float]] = {}  # steps that it counts for, and the risk

    def _answer(self, asked: list[Asked]) -> list[float]:
        return [float(risk) for risk in self.slow.risks(np.stack([one.clip for one in asked]))]

    def begin(self, indices: npt.NDArray[np.int64]) -> None:
        """Forgets frames and answers of these places; answers that are still to come are of no use there."""
        super().begin(indices)
        for index in map(int, indices):
            self._clips[index] = deque(maxlen=FRAMES)
            self._episodes[index] = self._episodes.get(index, 0) + 1
            self._risks.pop(index, None)

    def judge(self, before: Array, after: Array, infractions: Array, frames: Array | None) -> dict[str, Floats]:
        """See the class; steps that something is asked about are paid by the fast pathway at first."""
        terms = super().judge(before, after, infractions, frames)
        assert frames is not None
        self.steps += 1
        self.frames += len(frames)
        critical, speeds = gate(after) & (infractions == ""), seen(after).speed
        for index, frame in enumerate(frames):
            clip = self._clips[index]
            clip.append(frame)
            if critical[index]:
                shown = [clip[0]] * (FRAMES - len(clip)) + list(clip)
                then = (float(terms["score"][index]), float(speeds[index]), float(terms["quality"][index]))
                self.queue.ask(Asked(index, self._episodes[index], np.stack(shown), self.steps, *then))
        self.corrections = []
        for one, risk in self.queue.step():
            if self.late:
                paid = one.quality * float(pace(min(one.fast, 1.0 - risk), one.speed, self.target))
                self.corrections.append(Correction(one.place, self.steps - one.step, paid))
            elif one.episode == self._episodes[one.place]:
                self._risks[one.place] = (self.hold, risk)
        return terms

    def scores(self, after: Array, infractions: Array, frames: Array) -> Floats:
        """The worse of both pathways, ``[n]``."""
        worst = self.contrast.score(frames)
        for index, (left, risk) in list(self._risks.items()):
            worst[index] = min(worst[index], 1.0 - risk)
            if left > 1:
                self._risks[index] = (left - 1, risk)
            else:
                del self._risks[index]
        return worst


class LateRewards(BaseCallback):
    """Writes late answers into the replay buffer of an agent that learns in a vector under this reward.

    ``agent.learn(n, callback=LateRewards(env))``, with ``env = VectorDriveVLMRL(..., late=True)``. A step whose row has
    been written over since, or that ended an episode by an infraction, stays as it is.

    Args:
        env: whose corrections are written.

    Raises:
        TypeError: the environment has no late answers; or later an agent without a replay buffer.
    """

    def __init__(self, env: "VectorDriveVLMRL") -> None:
        if not (isinstance(env, VectorDriveVLMRL) and env.pathways.late):
            raise TypeError(f"late rewards are those of VectorDriveVLMRL(..., late=True), and not of {env!r:.200}")
        super().__init__()
        self.env, self.written = env, 0

    def _init_callback(self) -> None:
        if getattr(self.model, "replay_buffer", None) is None:
            raise TypeError(
                f"{type(self.model).__name__} keeps no replay buffer to write late rewards into: take an agent that "
                "has one, such as sac, or late=False"
            )

    def _on_step(self) -> bool:
        buffer: Any = self.model.replay_buffer  # type: ignore[attr-defined]
        stored = buffer.buffer_size if buffer.full else buffer.pos
        for one in self.env.pathways.corrections:
            if 1 <= one.ago <= stored:  # the step of now is not stored yet: SB3 calls back before
                buffer.rewards[(buffer.pos - one.ago) % buffer.buffer_size, one.place] = one.reward
                self.written += 1
        return True


def pathways(
    encoder: Encoder | None,
    span: tuple[float, float] | None,
    slow: SlowJudge | None,
    *,
    delay: int,
    late: bool = False,
    penalty: float,
) -> DualPathway:
    """Both pathways, with the built-in judge where ``slow`` is None."""
    fast = Contrast(encoder, goals=(GOALS[0], GOALS[1]), span=span)
    judge = slow or ContrastJudge(Contrast(encoder, goals=DANGER, span=span))
    return DualPathway(fast, judge, delay=delay, late=late, penalty=penalty)


class DriveVLMRL(Judged):
    """A driving scene under DriveVLM-RL's reward; its own stays in the info as ``true_reward``.

    Args:
        env: with ``observation="vector"``.
        encoder: of the fast pathway; the one that is shipped if None.
        span: see :class:`.vlm_rl.Contrast`.
        slow: judge; the built-in one if None.
        delay: of its answers, in steps.
        penalty: of an infraction; 0 for the paper's setting without one.
    """

    needs_frames = True

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        *,
        encoder: Encoder | None = None,
        span: tuple[float, float] | None = None,
        slow: SlowJudge | None = None,
        delay: int = 5,
        penalty: float = PENALTY,
    ) -> None:
        RecordConstructorArgs.__init__(
            self, _disable_deepcopy=True, encoder=encoder, span=span, slow=slow, delay=delay, penalty=penalty
        )
        super().__init__(env, pathways(encoder, span, slow, delay=delay, penalty=penalty))


class VectorDriveVLMRL(VectorJudged):
    """:class:`DriveVLMRL` of all environments of a vector: the slow judge sees all that is due at once.

    Args:
        env: a vector of scenes with ``observation="vector"``.
        encoder: see :class:`DriveVLMRL`, as are the others.
        span: likewise.
        slow: likewise.
        delay: likewise.
        late: whether answers correct the past, by :class:`LateRewards`, instead of counting from when they come.
        penalty: likewise.
    """

    needs_frames = True

    def __init__(
        self,
        env: VectorEnv[Any, Any, Any],
        *,
        encoder: Encoder | None = None,
        span: tuple[float, float] | None = None,
        slow: SlowJudge | None = None,
        delay: int = 5,
        late: bool = False,
        penalty: float = PENALTY,
    ) -> None:
        if late and delay < 1:
            raise ValueError("late answers correct steps that are stored: their delay is at least 1")
        self.pathways = pathways(encoder, span, slow, delay=delay, late=late, penalty=penalty)
        super().__init__(env, self.pathways)
