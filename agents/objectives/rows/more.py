"""Further published methods."""

from ..row import HERE, Row

_LOSSES, _ADVANTAGES = HERE + "losses.", HERE + "advantages."
_TOKEN_MEAN, _SUM, _CONSTANT = HERE + "ops:token_mean", HERE + "ops:sequence_sum", HERE + "ops:constant_length"

ROWS: tuple[Row, ...] = (
    Row(
        "pacs",
        "Implicit Actor Critic Coupling via a Supervised Learning Framework for RLVR (2025)",
        loss=_LOSSES + "pacs:pacs",
        aggregate=_SUM,
        params={"beta": 1.0, "balance": True},
        silent_at_zero=False,  # dead groups are silent as long as nothing has moved
        needs=("groups",),
    ),
    Row(
        "rover",
        "Random Policy Valuation is Enough for LLM Reasoning with Verifiable Rewards (2025)",
        loss=_LOSSES + "rover:rover",
        aggregate=_TOKEN_MEAN,
        params={"scale": False, "rho": 1.0},
        silent_at_zero=False,
        needs=("logp_mean",),
    ),
    Row(
        "canon",  # CANON-Inter by entropy; CANON-Intra: mu=0; by length: metric="length"
        "Conditional Advantage Estimation for Reinforcement Learning in Large Reasoning Models (2025)",
        advantage=_ADVANTAGES + "canon:canon",
        aggregate=_CONSTANT,
        params={"mu": 1.0, "alpha": 1.0, "clip_low": 0.2, "clip_high": 0.28},
    ),
    Row(
        "disco",
        "DisCO: Reinforcing Large Reasoning Models with Discriminative Constrained Optimization (2025)",
        loss=_LOSSES + "disco:disco",
        aggregate=_SUM,
        params={"tau": 10.0, "kl_limit": 1e-4, "kl_weight": 1e3},
        silent_at_zero=False,
        needs=("groups",),
    ),
    Row(
        "drpo-decoupled",
        "DRPO: Efficient Reasoning via Decoupled Reward Policy Optimization (2025)",
        loss=_LOSSES + "disco:disco",
        aggregate=_SUM,
        params={"tau": 10.0, "kl_limit": 1e-4, "kl_weight": 1e3, "brevity": 0.1},
        silent_at_zero=False,
        needs=("groups",),
    ),
    Row(
        "stablereinforce",
        "R1-Reward: Training Multimodal Reward Model Through Stable Reinforcement Learning (2025)",
        advantage=_ADVANTAGES + "outlier_filter:outlier_filter",
        loss=_LOSSES + "pre_clip:pre_clip",
        params={"limit": 3.0, "ratio_limit": 1e3},
        dead_groups="learns",  # the baseline is the batch's
    ),
    Row(
        "steer",
        "Rethinking Entropy Interventions in RLVR: An Entropy Change Perspective (2025)",
        loss=_LOSSES + "steer:steer",
        aggregate=_TOKEN_MEAN,
        params={"weight_min": 0.8},
        needs=("groups",),
    ),
    Row(
        "trpa",
        "Trust Region Preference Approximation: A simple and stable reinforcement learning algorithm for LLM reasoning "
        "(2025)",
        loss=_LOSSES + "trpa:trpa",
        aggregate=_SUM,
        params={"beta": 0.1, "anisotropy": 2.5, "kl_old_coef": 1e-3},
        silent_at_zero=False,
        dead_groups="learns",
        needs=("groups",),
    ),
    Row(
        "gtpo",
        "GTPO: Trajectory-Based Policy Optimization in Large Language Models (2025)",
        advantage=_ADVANTAGES + "gtpo:gtpo",
        loss=_LOSSES + "log_likelihood:log_likelihood",
        params={"max_entropy": 0.7, "entropy_coef": 0.1, "boost": 2.0},
        dead_groups="learns",  # but only to be of less entropy
    ),
    Row(
        "copo",
        "COPO: Consistency-Aware Policy Optimization (2025)",
        advantage=_ADVANTAGES + "consistency:consistency",
        params={"gamma": 5.0, "rho": 1.0},
        dead_groups="learns",
    ),
    Row(
        "reg-grpo",
        "DeepVideo-R1: Video Reinforcement Fine-Tuning via Difficulty-aware Regressive GRPO (2025)",
        loss=_LOSSES + "reg_grpo:reg_grpo",
        aggregate=_SUM,
        params={"softness": 0.1},
        silent_at_zero=False,
        needs=("groups",),
    ),
    Row(
        "riskpo",  # ratios of tokens as in the authors' code; its scripts have centred=False, which only discourages
        "RiskPO: Risk-based Policy Optimization via Verifiable Reward for LLM Post-Training (2025)",
        advantage=_ADVANTAGES + "risk:risk",
        aggregate=_TOKEN_MEAN,
        params={"low": 0.2, "high": 0.8, "omega": 0.5, "bundle_size": 5, "centred": True},
        dead_groups="learns",
    ),
    Row(
        "oreal",
        "Exploring the Limit of Outcome Reward for Learning Mathematical Reasoning (2025)",
        advantage=_ADVANTAGES + "oreal:oreal",
        loss=_LOSSES + "oreal:oreal",
        aggregate=_TOKEN_MEAN,
        params={"right_weight": 1.0, "wrong_weight": 0.5, "kl_coef": 0.01},
    ),
    Row(
        "a-lol",  # reference-free: clip=None
        "Improving Language Models with Advantage-based Offline Policy Gradients (2023)",
        advantage=_ADVANTAGES + "leftover:leftover",
        loss=_LOSSES + "a_lol:a_lol",
        aggregate=_SUM,
        params={"clip": 0.9},
    ),
    Row(
        "copg",
        "Contrastive Policy Gradient: Aligning LLMs on sequence-level scores in a supervised-friendly fashion (2024)",
        loss=_LOSSES + "copg:copg",
        aggregate=_SUM,
        params={"kl_coef": 0.05},
        silent_at_zero=False,
        needs=("groups",),
    ),
    Row(
        "llds",
        "On GRPO Collapse in Search-R1: The Lazy Likelihood-Displacement Death Spiral (2025)",
        loss=_LOSSES + "llds:llds",
        aggregate=_TOKEN_MEAN,
        params={"preserve": 0.2},
        silent_at_zero=False,
    ),
    Row(
        "hapo",
        "From Uniform to Heterogeneous: Tailoring Policy Optimization to Every Token's Nature (2025)",
        advantage=_ADVANTAGES + "token_group:token_group",
        loss=_LOSSES + "hapo:hapo",
        aggregate=_TOKEN_MEAN,
        params={"pivot": 0.8},
        needs=("groups",),
    ),
    Row(
        "rl-plus",
        "RL-PLUS: Countering Capability Boundary Collapse of LLMs in Reinforcement Learning with Hybrid-policy "
        "Optimization (2025)",
        loss=_LOSSES + "rl_plus:rl_plus",
        aggregate=_CONSTANT,
        params={"scale": False, "gamma": 0.5},
        needs=("expert",),
    ),
)
