"""Continuous control: locomotion and sparse rewards, online, offline, and offline to online; our SAC beside SB3's."""

from collections.abc import Mapping
from typing import Any

from .suite import Comparison, Entry, Recipe, Suite, Task

# Control: networks of 2 x 128 and the same rate of learning for everyone, ours or not, so that what differs is the
# method; about the same computing time for every method would favour the fast ones instead.
_SMALL = {"policy_kwargs": {"net_arch": [128, 128]}, "learning_rate": 1e-3}
_LARGE = {"policy_kwargs": {"net_arch": [256, 256]}, "learning_rate": 1e-3}  # where bf16 pays
_EXACT = {"gradient_steps": -1}  # an update a step, where a row says otherwise
_ALL_RATES = {  # some agents have a slower one of their own for a part
    "dsac-t": {"ent_coef_learning_rate": 1e-3},
    "cql": {"actor_learning_rate": 1e-3},
    "cal-ql": {"actor_learning_rate": 1e-3},
}


def _online(steps: int, seconds: Mapping[str, float], params: Mapping[str, Any] = _SMALL) -> tuple[Entry, ...]:
    """One entry an agent; ``seconds`` are of 10,000 steps."""
    return tuple(
        Entry(agent, steps, steps / 10_000 * cost, {**params, **_EXACT, **_ALL_RATES.get(agent, {})})
        for agent, cost in seconds.items()
    )


_RACERS = {"sac": 40, "td3": 32, "dsac-t": 57, "sb3-sac": 62, "sb3-td3": 45}
_WITH_MORE = {**_RACERS, "hl-gauss": 85, "tqc": 105}
_STREAM = Entry("stream-x", 60_000, 40)


def _offline(updates: int, seconds: Mapping[str, float]) -> tuple[Entry, ...]:
    return tuple(
        Entry(agent, 0, cost, {"offline_steps": updates, **_SMALL, **_ALL_RATES.get(agent, {})})
        for agent, cost in seconds.items()
    )


_LEARNERS = {
    "bc": 10,
    "td3-bc": 30,
    "awr": 20,
    "awac": 50,
    "iql": 40,
    "cql": 150,
    "f-dvl-recoil": 40,
    "trajectory-weighting": 40,
}


def _onward(updates: int, steps: int, seconds: Mapping[str, float]) -> tuple[Entry, ...]:
    """Offline, then online; RLPD needs no updates before its first step."""
    return tuple(
        Entry(
            agent,
            steps,
            cost,
            {**_SMALL, **_ALL_RATES.get(agent, {}), "offline_steps": 0 if agent == "serl" else updates},
        )
        for agent, cost in seconds.items()
    )


_FINE_TUNERS = {"iql": 80, "awac": 90, "cal-ql": 250, "f-dvl-recoil": 80, "serl": 200}

_RUNNERS = tuple(f"tiltyard/{name}-v5" for name in ("Hopper", "HalfCheetah", "Walker2d", "Ant"))
_SPARSE = ("tiltyard/PointMaze-v0", "tiltyard/PegInsertion-v0")
_FULL = "sac, policy_kwargs={'net_arch': [256, 256]}"

CONTROL = Suite(
    "control-v1",
    "Locomotion and two sparse tasks: online, offline, and offline to online; about eight core hours",
    tasks=(
        Task("tiltyard/Hopper-v5", (*_online(15_000, _WITH_MORE), _STREAM), eval_episodes=20),
        Task(
            "tiltyard/HalfCheetah-v5",
            (
                *_online(20_000, _WITH_MORE),
                *_online(20_000, {"sac": 85}, _LARGE),
                *_online(20_000, {"sac": 48}, {**_LARGE, "matmul_precision": "bf16", "compiled": True}),
                _STREAM,
            ),
            eval_episodes=20,
        ),
        Task("tiltyard/Walker2d-v5", (*_online(15_000, _RACERS), _STREAM), eval_episodes=20),
        Task("tiltyard/Ant-v5", (*_online(15_000, _RACERS), _STREAM), eval_episodes=20),
        Task("tiltyard/PointMaze-v0", _online(15_000, {"sac": 40, "sb3-sac": 62}), eval_episodes=50),
        Task("tiltyard/PegInsertion-v0", _online(10_000, {"sac": 40, "sb3-sac": 65}), eval_episodes=50),
        *(
            Task(env_id, _offline(10_000, _LEARNERS), eval_episodes=20, eval_points=4, dataset=dataset)
            for env_id, dataset in (
                ("tiltyard/Hopper-v5", "tiltyard/hopper/medium-v0"),
                ("tiltyard/HalfCheetah-v5", "tiltyard/halfcheetah/medium-v0"),
                ("tiltyard/PointMaze-v0", "tiltyard/pointmaze/random-50-expert-50-v0"),
            )
        ),
        *(
            Task(env_id, _onward(5_000, 8_000, _FINE_TUNERS), eval_episodes=50, dataset=dataset)
            for env_id, dataset in (
                ("tiltyard/Hopper-v5", "tiltyard/hopper/medium-v0"),
                ("tiltyard/PointMaze-v0", "tiltyard/pointmaze/demonstrations-v0"),
                ("tiltyard/PegInsertion-v0", "tiltyard/peginsertion/demonstrations-v0"),
            )
        ),
    ),
    seeds=(0, 1, 2, 3, 4),
    datasets={
        "tiltyard/hopper/medium-v0": Recipe("tiltyard/Hopper-v5", "medium", {"episodes": 100}),
        "tiltyard/halfcheetah/medium-v0": Recipe("tiltyard/HalfCheetah-v5", "medium", {"episodes": 50}),
        "tiltyard/pointmaze/random-50-expert-50-v0": Recipe(
            "tiltyard/PointMaze-v0", "random,expert", {"episodes": 200}
        ),
        "tiltyard/pointmaze/demonstrations-v0": Recipe("tiltyard/PointMaze-v0", "expert", {"episodes": 20}),
        "tiltyard/peginsertion/demonstrations-v0": Recipe("tiltyard/PegInsertion-v0", "expert", {"episodes": 20}),
    },
    comparisons=(
        Comparison("Online, four runners", _RUNNERS, "sb3-sac"),
        Comparison("Online, two runners and more agents", _RUNNERS[:2], "sb3-sac"),
        Comparison("Online, sparse rewards", _SPARSE, "sb3-sac"),
        Comparison(
            "Compiled bf16 beside fp32",
            _RUNNERS[1:2],
            _FULL,
            (_FULL, _FULL.replace("policy", "compiled=True, matmul_precision=bf16, policy")),
        ),
        Comparison(
            "Offline",
            (*(f"{env_id} from medium-v0" for env_id in _RUNNERS[:2]), f"{_SPARSE[0]} from random-50-expert-50-v0"),
            "bc",
        ),
        Comparison(
            "Offline to online",
            (
                f"{_RUNNERS[0]} from medium-v0, then online",
                *(f"{env_id} from demonstrations-v0, then online" for env_id in _SPARSE),
            ),
            "iql",
        ),
    ),
)
