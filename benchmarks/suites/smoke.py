"""The race of ``make race``: every domain once."""

from .suite import Entry, Suite, Task

SMOKE = Suite(
    "smoke",
    "One task a domain, two agents each: about ten minutes on two cores",
    tasks=(
        Task("tiltyard/Countdown-v0", (Entry("grpo", 7_680, 60), Entry("sft", 15_360, 60)), eval_episodes=256),
        Task("tiltyard/Phone-v0", (Entry("ppo", 60_000, 55), Entry("dqn", 60_000, 65))),
        Task("tiltyard/Highway-v0", (Entry("ppo", 300_000, 30), Entry("dqn", 100_000, 40))),
        Task("tiltyard/Hopper-v5", (Entry("sac", 14_000, 50), Entry("dsac-t", 14_000, 55)), eval_episodes=20),
    ),
    seeds=(0, 1, 2),
)
