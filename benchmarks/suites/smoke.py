"""The race of ``make race``: every domain once."""

from .suite import Entry, Recipe, Suite, Task

_PHONE, _SHOWN = "tiltyard/Phone-v0", "tiltyard/phone/demonstrations-v0"
_PPO = {"n_steps": 64, "batch_size": 2048, "n_epochs": 4, "learning_rate": 1e-3}
_CLONING = {"offline_steps": 800, "batch_size": 64, "policy_kwargs": {"width": 64, "layers": 1}}

SMOKE = Suite(
    "smoke",
    "One task a domain, two agents each, and a phone's expert cloned: 10 to 15 minutes on two cores",
    tasks=(
        Task("tiltyard/Countdown-v0", (Entry("grpo", 7_680, 60), Entry("sft", 15_360, 60)), eval_episodes=256),
        Task(_PHONE, (Entry("ppo", 60_000, 55), Entry("dqn", 60_000, 65))),
        Task(_PHONE, (Entry("phone-bc", 0, 60, _CLONING),), dataset=_SHOWN, eval_points=3),
        Task("tiltyard/Highway-v0", (Entry("ppo", 300_000, 30), Entry("dqn", 100_000, 40))),
        Task(
            "tiltyard/HalfCheetah-v5",
            (Entry("fast-ppo", 1_500_000, 90, _PPO), Entry("sac", 14_000, 50)),
            eval_episodes=20,
        ),
    ),
    seeds=(0, 1, 2),
    datasets={_SHOWN: Recipe(_PHONE, "noisy-expert", {"episodes": 3_000, "noise": 0.05})},
)
