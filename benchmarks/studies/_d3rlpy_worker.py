"""d3rlpy's half of ``d3rlpy_peer.py``: runs inside d3rlpy's own virtual environment and knows nothing of Tiltyard.

``python _d3rlpy_worker.py JOB.json`` builds the algorithm and then, for each line it reads, trains ``chunk`` updates
and answers with one line of JSON. After the last of ``updates`` one more line makes it save the policy. d3rlpy's log
goes to the standard error.
"""

import json
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import numpy.typing as npt

Arrays = Mapping[str, npt.NDArray[Any]]

RETURN_RANGE = 1000.0
"""Between the best and the worst episode after scaling the rewards of IQL, as on Tiltyard's side."""


def split(data: Arrays) -> list[dict[str, Any]]:
    """The keywords of d3rlpy's episodes, so that it draws exactly the transitions in ``data``.

    An episode of d3rlpy's that was cut off by a time limit loses its last transition, for want of the observation after
    it. So that one is put in as one more step, with an action and a reward of zero that are never drawn; returns to go
    are not changed by it.

    Args:
        data: ``observations``, ``next_observations`` ``[N, obs]``, ``actions`` ``[N, act]``, ``rewards``,
            ``terminations`` and ``ends`` ``[N]``, episodes one after the other.
    """
    episodes = []
    start = 0
    for end in (np.flatnonzero(data["ends"]) + 1).tolist():
        part = slice(start, end)
        observations, actions, rewards = (data[name][part] for name in ("observations", "actions", "rewards"))
        terminated = bool(data["terminations"][end - 1])
        if not terminated:
            observations = np.concatenate([observations, data["next_observations"][end - 1 : end]])
            actions = np.concatenate([actions, np.zeros_like(actions[:1])])
            rewards = np.concatenate([rewards, np.zeros_like(rewards[:1])])
        episodes.append(
            {"observations": observations, "actions": actions, "rewards": rewards[:, None], "terminated": terminated}
        )
        start = end
    return episodes


def algorithm(job: Mapping[str, Any]) -> Any:
    """d3rlpy's algorithm with the settings of ``job``, which speak Tiltyard's language."""
    from d3rlpy.models import VectorEncoderFactory  # type: ignore[import-not-found]

    settings = job["settings"]
    encoder = VectorEncoderFactory(hidden_units=settings["policy_kwargs"]["net_arch"])
    common = {
        "batch_size": settings["batch_size"],
        "gamma": settings["gamma"],
        "tau": settings["tau"],
        "critic_learning_rate": settings["learning_rate"],
        "actor_learning_rate": settings.get("actor_learning_rate", settings["learning_rate"]),
        "actor_encoder_factory": encoder,
        "critic_encoder_factory": encoder,
    }
    return CONFIGS[job["algorithm"]](job, common).create(device="cpu:0")


def _iql(job: Mapping[str, Any], common: dict[str, Any]) -> Any:
    from d3rlpy.algos import IQLConfig  # type: ignore[import-not-found]
    from d3rlpy.optimizers import AdamFactory  # type: ignore[import-not-found]
    from d3rlpy.optimizers.lr_schedulers import CosineAnnealingLRFactory  # type: ignore[import-not-found]
    from d3rlpy.preprocessing import ReturnBasedRewardScaler  # type: ignore[import-not-found]

    low, high = job["returns"]
    settings = job["settings"]
    return IQLConfig(
        **common,
        value_encoder_factory=common["critic_encoder_factory"],
        actor_optim_factory=AdamFactory(lr_scheduler_factory=CosineAnnealingLRFactory(T_max=job["updates"])),
        reward_scaler=ReturnBasedRewardScaler(return_max=high, return_min=low, multiplier=RETURN_RANGE),
        expectile=settings["expectile"],
        weight_temp=settings["beta"],
        max_weight=settings["weight_limit"],
    )


def _calql(job: Mapping[str, Any], common: dict[str, Any]) -> Any:
    from d3rlpy.algos import CalQLConfig

    settings = job["settings"]
    return CalQLConfig(
        **common,
        temp_learning_rate=settings["actor_learning_rate"],
        alpha_learning_rate=0.0,  # a fixed weight
        alpha_threshold=0.0,
        conservative_weight=settings["min_q_weight"],
        n_action_samples=settings["n_actions"],
        max_q_backup=settings["max_target_backup"],
    )


def _td3_bc(job: Mapping[str, Any], common: dict[str, Any]) -> Any:
    from d3rlpy.algos import TD3PlusBCConfig
    from d3rlpy.preprocessing import StandardObservationScaler

    settings = job["settings"]
    return TD3PlusBCConfig(
        **common,
        observation_scaler=StandardObservationScaler(),
        alpha=settings["alpha"],
        target_smoothing_sigma=settings["target_policy_noise"],
        target_smoothing_clip=settings["target_noise_clip"],
        update_actor_interval=settings["policy_delay"],
    )


CONFIGS = {"iql": _iql, "cal-ql": _calql, "td3-bc": _td3_bc}


def train(job: Mapping[str, Any], asked: TextIO, answers: TextIO) -> None:
    """Trains a chunk whenever a line is ``asked``, then saves the policy."""
    import d3rlpy  # type: ignore[import-not-found]

    def answer(**found: Any) -> None:
        print(json.dumps(found), file=answers, flush=True)

    d3rlpy.seed(job["seed"])
    with np.load(job["data"], allow_pickle=False) as data:
        arrays = dict(data)
    episodes = [d3rlpy.dataset.Episode(**episode) for episode in split(arrays)]
    buffer = d3rlpy.dataset.ReplayBuffer(d3rlpy.dataset.InfiniteBuffer(), episodes=episodes)
    algo = algorithm(job)
    algo.build_with_dataset(buffer)
    epochs = algo.fitter(
        buffer,
        n_steps=job["updates"],
        n_steps_per_epoch=job["chunk"],
        logger_adapter=d3rlpy.logging.NoopAdapterFactory(),
        show_progress=False,
    )
    for _ in range(job["updates"] // job["chunk"]):
        asked.readline()
        start = time.process_time()
        _, metrics = next(epochs)
        seconds = time.process_time() - start
        answer(seconds=seconds, updating=seconds * metrics["time_algorithm_update"] / metrics["time_step"])
    asked.readline()
    algo.save_policy(job["policy"])
    answer(transitions=buffer.transition_count, actions=algo.predict(arrays["observations"][: job["probes"]]).tolist())


def main() -> None:
    """Reads the job and keeps the standard output for answers alone."""
    import torch

    torch.set_num_threads(1)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    train(json.loads(Path(sys.argv[1]).read_text()), sys.stdin, answers)


if __name__ == "__main__":
    main()
