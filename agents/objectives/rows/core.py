"""Methods of the papers at the core of this project."""

from ..row import HERE, Row

ROWS: tuple[Row, ...] = (
    Row(
        "ngrpo",  # its dropping of all-right groups is a curriculum's business; they are silent here
        "NGRPO: Negative-enhanced Group Relative Policy Optimization (2025)",
        advantage=HERE + "advantages.virtual_success:virtual_success",
        aggregate=HERE + "ops:token_mean",
        params={"max_reward": 1.0, "clip_low": 0.16, "clip_high": 0.24},
        dead_groups="failures",
    ),
    Row(
        "lite-ppo",
        "Part I: Tricks or Traps? A Deep Dive into RL for LLM Reasoning (2025)",
        advantage=HERE + "advantages.batch_scaled:batch_scaled",
        aggregate=HERE + "ops:token_mean",
    ),
    Row(
        "w-reinforce-nsr",  # NSR: positive_weight=0; PSR: positive_weight=1, negative_weight=0
        "The Surprising Effectiveness of Negative Reinforcement in LLM Reasoning (2025)",
        advantage=HERE + "advantages.verdict:verdict",
        aggregate=HERE + "ops:token_mean",
        params={"positive_weight": 0.1, "negative_weight": 1.0},
        dead_groups="learns",
    ),
    Row(
        "remax",
        "ReMax: A Simple, Effective, and Efficient Reinforcement Learning Method for Aligning Large Language Models "
        "(2023)",
        advantage=HERE + "advantages.baseline:baseline",
        loss=HERE + "losses.log_likelihood:log_likelihood",
        aggregate=HERE + "ops:sequence_sum",
        dead_groups="learns",  # the baseline is the greedy answer's
        needs=("greedy",),
    ),
    Row(
        "topr",
        "Tapered Off-Policy REINFORCE: Stable and efficient reinforcement learning for LLMs (2025)",
        advantage=HERE + "advantages.verdict:verdict",
        loss=HERE + "losses.topr:topr",
        aggregate=HERE + "ops:sequence_sum",
        params={"baseline": 0.0},
        dead_groups="learns",
    ),
    Row("sapo", "Soft Adaptive Policy Optimization (2025)", loss=HERE + "losses.sapo:sapo"),
    Row(
        "spo",
        "Single-stream Policy Optimization (2025)",
        advantage=HERE + "advantages.baseline:baseline",
        aggregate=HERE + "ops:token_mean",
        params={"whiten": True, "clip_low": 0.2, "clip_high": 0.28},
        dead_groups="learns",  # the baseline is the problem's past
        needs=("tracker",),
    ),
    Row(
        "rec-red",  # REC-OneSide-NoIS; others of the family by clip=, weight=, tau=, imitation= and drop=
        "Group-Relative REINFORCE Is Secretly an Off-Policy Algorithm: Demystifying Some Myths About GRPO and Its "
        "Friends (2025)",
        advantage=HERE + "advantages.balanced:balanced",
        loss=HERE + "losses.rec:rec",
        aggregate=HERE + "ops:token_mean",
        params={"drop": False, "clip": "one-side", "clip_low": 0.2, "clip_high": 0.2},
    ),
    Row(
        "forking-tokens-80-20",
        "Beyond the 80/20 Rule: High-Entropy Minority Tokens Drive Effective Reinforcement Learning for LLM Reasoning "
        "(2025)",
        advantage=HERE + "advantages.forking_tokens:forking_tokens",
        aggregate=HERE + "ops:token_mean",
        params={"share": 0.2, "clip_low": 0.2, "clip_high": 0.28},
    ),
    Row(
        "kimi-k1-5",
        "Kimi k1.5: Scaling Reinforcement Learning with LLMs (2025)",
        advantage=HERE + "advantages.length_reward:length_reward",
        loss=HERE + "losses.mirror_descent:mirror_descent",
        aggregate=HERE + "ops:sequence_sum",
        params={"tau": 0.1, "length_weight": 0.0},
        silent_at_zero=False,  # every answer holds the policy to where it was written
    ),
    Row(
        "pure",
        "Stop Summation: Min-Form Credit Assignment Is All Process Reward Model Needs for Reasoning (2025)",
        advantage=HERE + "advantages.min_form:min_form",
        aggregate=HERE + "ops:token_mean",
        params={"temperature": 0.1},
        dead_groups="learns",  # rewards are compared a token, so that equal ones differ where lengths do
        needs=("steps",),
    ),
    Row(
        "degrpo",
        "Thinkless: LLM Learns When to Think (2025)",
        aggregate=HERE + "aggregates.decoupled:decoupled",
        params={"scale": False, "alpha": 0.001},
    ),
    Row(
        "gigpo",
        "Group-in-Group Policy Optimization for LLM Agent Training (2025)",
        advantage=HERE + "advantages.group_in_group:group_in_group",
        aggregate=HERE + "ops:token_mean",
        params={"omega": 1.0, "gamma": 0.95},
        needs=("steps", "states"),
    ),
    Row(
        "simpo",
        "SimPO: Simple Preference Optimization with a Reference-Free Reward (2024)",
        advantage=HERE + "advantages.extremes:extremes",
        loss=HERE + "losses.simpo:simpo",
        params={"beta": 2.0, "margin": 1.0},
        needs=("groups",),
    ),
)
