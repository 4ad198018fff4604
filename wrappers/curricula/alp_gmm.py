"""Curricula over the parameters of an environment: a teacher draws them, an episode is played, its return comes back.

    teacher = ALPGMM(low=[-2, -2], high=[2, 2], seed=0)
    env = TaughtEnv(gymnasium.make("tiltyard/PointMaze-v0", allow_unreachable=True), teacher, {"goal": [0, 1]})

A teacher draws from the whole box, walls of the maze included: an environment that refuses some parameters must be told
to take them, or the reset that draws one fails.

Teachers are plain objects with ``sample`` and ``update``, for those who would rather set parameters themselves.
"""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.utils import RecordConstructorArgs

from .clustering import Floats, GaussianMixture, fit_mixture

Info = dict[str, Any]
Index = int | slice | Sequence[int]


class RandomTeacher:
    """Draws parameters uniformly from a box and learns nothing: the baseline of every curriculum.

    Args:
        low: ``[d]`` least value of each parameter.
        high: ``[d]`` largest value of each parameter.
        seed: of all draws; from the system's entropy if None.

    Raises:
        ValueError: the box is empty, or not finite.
    """

    def __init__(self, low: npt.ArrayLike, high: npt.ArrayLike, *, seed: int | None = None) -> None:
        self.low, self.high = np.array(low, np.float64), np.array(high, np.float64)
        if self.low.ndim != 1 or self.low.shape != self.high.shape or not len(self.low):
            raise ValueError(f"low and high are one number a parameter, got shapes {self.low.shape}, {self.high.shape}")
        if not (np.isfinite(self.high - self.low).all() and (self.low < self.high).all()):
            raise ValueError(f"every parameter needs finite low < high, got {self.low} and {self.high}")
        self.seed(seed)

    def seed(self, seed: int | None) -> None:
        """Starts the stream of draws anew; what was learnt stays."""
        self.rng = np.random.default_rng(seed)

    def sample(self) -> Floats:
        """The parameters ``[d]`` of the next episode."""
        return self.rng.uniform(self.low, self.high)

    def update(self, params: npt.ArrayLike, episode_return: float) -> None:
        """Learns that an episode with ``params`` ``[d]`` earned ``episode_return``.

        Raises:
            ValueError: parameters of another shape, or a number that is not finite.
        """
        params = np.asarray(params, np.float64)
        if params.shape != self.low.shape or not (np.isfinite(params).all() and np.isfinite(episode_return)):
            raise ValueError(
                f"update takes {len(self.low)} finite parameters and a finite return, got {params} and {episode_return}"
            )


class ALPGMM(RandomTeacher):
    """Draws parameters where the student's returns change most, whether they rise or fall.

    Absolute learning progress of an episode is ``|return - return'|``, where ``return'`` is that of the earlier episode
    with the nearest parameters. Every ``fit_every`` episodes, mixtures of Gaussians over (parameters, progress) are
    fitted to the last ``fit_every`` ones, and the one with the lowest AIC is kept. A draw is uniform with probability
    ``random_share`` (and always until the first fit); else a component is chosen in proportion to its mean progress,
    and the parameters are drawn from it and clipped to the box.

    Departure: distances and fits are in units of the box and of the range of returns seen so far, so that neither
    depends on what the parameters and rewards are measured in; the authors map returns to [0, 1] by hand.

    Args:
        low: ``[d]`` least value of each parameter.
        high: ``[d]`` largest value of each parameter.
        seed: of all draws; from the system's entropy if None.
        fit_every: episodes between two fits, and episodes each is fitted to.
        random_share: probability of a uniform draw.
        components: numbers of Gaussians tried.

    Raises:
        ValueError: an empty box, a share outside [0, 1], or more components than episodes to fit.

    Paper: Teacher algorithms for curriculum learning of Deep RL in continuously parameterized environments (2019),
    algorithm 1; the numbers are the authors'.
    """

    MEMORIES = 5  # with fewer earlier episodes the nearest is too far to tell anything; the authors' number

    def __init__(
        self,
        low: npt.ArrayLike,
        high: npt.ArrayLike,
        *,
        seed: int | None = None,
        fit_every: int = 250,
        random_share: float = 0.2,
        components: Sequence[int] = range(2, 11),
    ) -> None:
        super().__init__(low, high, seed=seed)
        if not 0 <= random_share <= 1:
            raise ValueError(f"random_share is a probability, got {random_share}")
        if not components or not 1 <= min(components) <= max(components) <= fit_every:
            raise ValueError(f"components are numbers from 1 to fit_every={fit_every}, got {list(components)}")
        self.fit_every, self.random_share, self.components = fit_every, random_share, tuple(components)
        self.episodes = 0
        self.mixture: GaussianMixture | None = None
        self._params = np.empty((fit_every, len(self.low)))  # in units of the box; grows
        self._returns = np.empty(fit_every)
        self._progress = np.empty(fit_every)

    def sample(self) -> Floats:
        """See the class."""
        if self.mixture is None or self.rng.random() < self.random_share:
            return super().sample()
        progress = self.mixture.means[:, -1]  # a mean of absolute values
        share = progress / progress.sum() if progress.sum() > 0 else None
        chosen = self.rng.choice(len(progress), p=share)
        spread = np.linalg.cholesky(self.mixture.covariances[chosen, :-1, :-1])
        drawn = self.mixture.means[chosen, :-1] + spread @ self.rng.standard_normal(len(self.low))
        return self.low + (self.high - self.low) * np.clip(drawn, 0, 1)

    def update(self, params: npt.ArrayLike, episode_return: float) -> None:
        """See the class."""
        super().update(params, episode_return)
        n = self.episodes
        if n == len(self._returns):
            self._params, self._returns, self._progress = (
                np.concatenate((kept, np.empty_like(kept))) for kept in (self._params, self._returns, self._progress)
            )
        place = (np.asarray(params, np.float64) - self.low) / (self.high - self.low)
        self._progress[n] = 0.0
        if n > self.MEMORIES:
            distances = np.square(self._params[:n] - place).sum(axis=1)
            nearest = n - 1 - distances[::-1].argmin()  # of equals the latest: clipped draws meet in the box's corners
            self._progress[n] = abs(episode_return - self._returns[nearest])
        self._params[n], self._returns[n] = place, episode_return
        self.episodes += 1
        if self.episodes % self.fit_every == 0:
            self._fit()

    def _fit(self) -> None:
        last = slice(self.episodes - self.fit_every, self.episodes)
        scale = float(np.ptp(self._returns[: self.episodes])) or 1.0
        points = np.column_stack((self._params[last], self._progress[last] / scale))
        fits = [fit_mixture(points, k, self.rng) for k in self.components]
        self.mixture = min(fits, key=lambda fit: fit.aic(points))


class _NotedOptions(dict[str, Any]):
    """A reset's options, which note what of them is read."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        super().__init__(options)
        self.read: set[str] = set()

    def __getitem__(self, key: str) -> Any:
        self.read.add(key)
        return super().__getitem__(key)

    def __contains__(self, key: object) -> bool:
        self.read.add(str(key))
        return super().__contains__(key)

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def get(self, key: str, default: Any = None) -> Any:
        self.read.add(key)
        return super().get(key, default)

    def pop(self, key: str, *default: Any) -> Any:
        self.read.add(key)
        return super().pop(key, *default)

    def keys(self) -> Any:
        self.read.update(super().keys())
        return super().keys()

    def items(self) -> Any:
        self.read.update(super().keys())
        return super().items()

    def values(self) -> Any:
        self.read.update(super().keys())
        return super().values()

    def copy(self) -> dict[str, Any]:
        return dict(self.items())


class TaughtEnv(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Every reset plays the parameters that a teacher draws; every finished episode tells it the return.

    The parameters travel in ``reset(options=...)`` and stand in ``info["params"]``. A reset whose caller gives one of
    the taught options itself is the caller's own: the teacher is neither asked nor told, and ``info["params"]`` is
    missing. ``reset(seed=...)`` seeds the teacher's draws as well. Several environments in one process may share a
    teacher.

    Args:
        env: takes the options named below at reset.
        teacher: a :class:`RandomTeacher` or a subclass.
        options: which parameters make up each option: ``{"goal": [0, 1], "wind": 2}``; one number for an int, an array
            for a list or slice.

    Raises:
        TypeError: no teacher.
        ValueError: no options, or a parameter that the teacher does not draw.

    Warns:
        UserWarning: once, where the environment's reset does not look at a taught option, so that nothing is taught.
    """

    def __init__(self, env: gymnasium.Env[Any, Any], teacher: RandomTeacher, options: Mapping[str, Index]) -> None:
        RecordConstructorArgs.__init__(self, _disable_deepcopy=True, teacher=teacher, options=options)
        super().__init__(env)
        if not all(hasattr(teacher, name) for name in ("low", "seed", "sample", "update")):
            raise TypeError(f"teacher must be a RandomTeacher or a subclass, such as ALPGMM, got {teacher!r:.200}")
        self.teacher, self.options = teacher, dict(options)
        self._warned = False
        count = len(teacher.low)
        if not options:
            raise ValueError('options say which parameters make up each option, such as {"goal": [0, 1]}')
        for name, index in self.options.items():
            try:
                size = np.size(teacher.low[index if isinstance(index, int | slice) else list(index)])
            except IndexError:
                size = 0
            if not size:
                raise ValueError(f"option {name!r} asks for parameters {index}, but the teacher draws {count}")
        self._params: Floats | None = None
        self._return = 0.0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        """Resets with drawn parameters; an episode that was not finished teaches nothing."""
        if seed is not None:
            self.teacher.seed(seed)
        given = _NotedOptions(options or {})
        self._params, self._return = None, 0.0
        if not self.options.keys() & (options or {}).keys():
            self._params = self.teacher.sample()
            given.update({name: self._part(self._params, index) for name, index in self.options.items()})
        observation, info = self.env.reset(seed=seed, options=given)
        unread = sorted(self.options.keys() - given.read)
        if unread and self._params is not None and not self._warned:
            self._warned = True
            warnings.warn(
                f"the reset of {self.env.unwrapped} does not look at {' and '.join(map(repr, unread))}, so that a "
                "teacher changes nothing there: name options that it takes",
                stacklevel=2,
            )
        return observation, self._with_params(info)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, Info]:
        """Steps; the last step of an episode updates the teacher."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._return += float(reward)
        info = self._with_params(info)
        if (terminated or truncated) and self._params is not None:
            self.teacher.update(self._params, self._return)
            self._params = None
        return observation, reward, terminated, truncated, info

    @staticmethod
    def _part(params: Floats, index: Index) -> float | Floats:
        if isinstance(index, int):
            return float(params[index])
        part: Floats = params[index if isinstance(index, slice) else list(index)]
        return part.copy()

    def _with_params(self, info: Info) -> Info:
        return info if self._params is None else {**info, "params": self._params.copy()}
