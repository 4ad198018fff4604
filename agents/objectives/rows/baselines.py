"""What every method is compared with."""

from ..row import HERE, Row

ROWS: tuple[Row, ...] = (
    Row(
        "grpo",
        "DeepSeekMath: Pushing the Limits of Mathematical Reasoning in Open Language Models (2024)",
        params={"kl_coef": 0.04},
    ),
    Row(
        "dr-grpo",
        "Understanding R1-Zero-Like Training: A Critical Perspective (2025)",
        aggregate=HERE + "ops:constant_length",
        params={"scale": False},
    ),
    Row(
        "dapo",  # its objective; its dynamic sampling is curriculum="dynamic-sampling"
        "DAPO: An Open-Source LLM Reinforcement Learning System at Scale (2025)",
        aggregate=HERE + "ops:token_mean",
        params={"clip_low": 0.2, "clip_high": 0.28},
    ),
    Row(
        "rloo",
        "Back to Basics: Revisiting REINFORCE Style Optimization for Learning from Human Feedback in LLMs (2024)",
        advantage=HERE + "advantages.leave_one_out:leave_one_out",
        loss=HERE + "losses.log_likelihood:log_likelihood",
        aggregate=HERE + "ops:sequence_sum",
    ),
    Row(
        "reinforce",
        "Simple Statistical Gradient-Following Algorithms for Connectionist Reinforcement Learning (1992)",
        advantage=HERE + "advantages.batch_mean:batch_mean",
        loss=HERE + "losses.log_likelihood:log_likelihood",
        aggregate=HERE + "ops:sequence_sum",
        dead_groups="learns",  # the baseline is the batch's
    ),
    Row(
        "ppo",
        "Proximal Policy Optimization Algorithms (2017)",
        advantage=HERE + "advantages.gae:gae",
        aggregate=HERE + "ops:token_mean",
        params={"gamma": 1.0, "gae_lambda": 0.95},
        dead_groups="learns",  # the baseline is a critic's
        needs=("values",),
    ),
    Row(
        "gspo",
        "Group Sequence Policy Optimization (2025)",
        loss=HERE + "losses.gspo:gspo",
        params={"clip_low": 3e-4, "clip_high": 4e-4},
    ),
    Row(
        "cispo",
        "MiniMax-M1: Scaling Test-Time Compute Efficiently with Lightning Attention (2025)",
        loss=HERE + "losses.cispo:cispo",
        aggregate=HERE + "ops:token_mean",
    ),
    Row(
        "reinforce-plus-plus",
        "REINFORCE++: An Efficient RLHF Algorithm with Robustness to Both Prompt and Reward Models (2025)",
        advantage=HERE + "advantages.token_whitened:token_whitened",
        aggregate=HERE + "ops:token_mean",
        params={"reward_kl_coef": 0.01},
        dead_groups="learns",  # mean and deviation are the batch's
        needs=("logp_ref",),
    ),
    Row(
        "filtered-bc",
        "ArCHer: Training Language Model Agents via Hierarchical Multi-Turn RL (2024)",
        advantage=HERE + "advantages.filtered:filtered",
        loss=HERE + "losses.log_likelihood:log_likelihood",
        aggregate=HERE + "ops:token_mean",
        params={"share": 0.1},
        dead_groups="learns",  # what is imitated is the batch's best
    ),
)
