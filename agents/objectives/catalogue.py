"""One row a method of language agents. A variant (other numbers, same code) is a row alone.

Importing this imports nothing heavy: functions are named by strings, relative to this package. A method's own functions
stand in the file named after its handle; formulas that several methods share stand in ``parts``.
"""

from ... import unknown
from .row import Row

__all__ = ["ROWS", "Row", "find"]

ROWS: tuple[Row, ...] = (
    Row("grpo", params={"kl_coef": 0.04}),
    Row(
        "dr-grpo",  # length=: the longest completion; an agent gives its max_answer_tokens
        aggregate=".parts.aggregates:constant_length",
        params={"scale": False},
    ),
    Row(
        # its objective; its other parts are curriculum="dynamic-sampling" and rewards="soft-overlong-punishment"
        "dapo",
        aggregate=".parts.aggregates:token_mean",
        params={"clip_low": 0.2, "clip_high": 0.28},
    ),
    Row(
        "rloo",
        advantage=".parts.leave_one_out:leave_one_out",
        loss=".parts.log_likelihood:log_likelihood",
        aggregate=".parts.aggregates:sequence_sum",
    ),
    Row(
        "reinforce",
        advantage=".parts.batch_mean:batch_mean",
        loss=".parts.log_likelihood:log_likelihood",
        aggregate=".parts.aggregates:sequence_sum",
        uniform_groups="learns",  # the baseline is the batch's
    ),
    Row(
        "ppo",
        advantage=".parts.gae:gae",
        aggregate=".parts.aggregates:token_mean",
        params={"gamma": 1.0, "gae_lambda": 0.95},
        uniform_groups="learns",  # the baseline is a critic's
        needs=("values",),
    ),
    Row(
        "nlpo",  # "ppo" among the tokens that an older policy finds likely
        paper="rl4lms-nlpo-grue",
        advantage=".parts.gae:gae",
        aggregate=".parts.aggregates:token_mean",
        params={"gamma": 1.0, "gae_lambda": 0.95},
        uniform_groups="learns",
        needs=("values",),
        components={"sampler": "nlpo"},
    ),
    Row(
        "tulu-3-rlvr",  # "ppo" for answers that a verifier accepts
        advantage=".parts.gae:gae",
        aggregate=".parts.aggregates:token_mean",
        params={"gamma": 1.0, "gae_lambda": 0.95},
        uniform_groups="learns",
        needs=("values",),
        components={"rewards": ["tulu-3-rlvr", "kl-penalty"]},
    ),
    Row(
        "dpo-norm",  # DPO on log-ratios a token, with the authors' beta
        paper="tulu-3-rlvr",
        advantage=".parts.preference_pairs:preference_pairs",
        loss=".rpo:loss",
        params={"beta": 5.0, "eta": 0.0, "per_token": True},
        needs=("groups", "logp_ref"),
    ),
    Row("gspo", loss=".gspo:loss", params={"clip_low": 0.0003, "clip_high": 0.0004}),
    Row("cispo", loss=".cispo:loss", aggregate=".parts.aggregates:token_mean"),
    Row(
        "reinforce-plus-plus",
        advantage=".reinforce_plus_plus:advantage",
        aggregate=".parts.aggregates:token_mean",
        params={"reward_kl_coef": 0.01},
        uniform_groups="learns",  # mean and deviation are the batch's
        needs=("logp_ref",),
    ),
    Row(
        "filtered-bc",
        paper="archer",
        advantage=".filtered_bc:advantage",
        loss=".parts.log_likelihood:log_likelihood",
        aggregate=".parts.aggregates:token_mean",
        params={"share": 0.1},
        uniform_groups="learns",  # what is imitated is the batch's best
    ),
    Row(
        "ngrpo",  # its dropping of all-correct groups is a curriculum's business; they are silent here
        advantage=".ngrpo:advantage",
        aggregate=".parts.aggregates:token_mean",
        params={"max_reward": 1.0, "clip_low": 0.16, "clip_high": 0.24},
        uniform_groups="failures",
    ),
    Row(
        "lite-ppo",
        advantage=".lite_ppo:advantage",
        aggregate=".parts.aggregates:token_mean",
        smallest_group=2,
    ),
    Row(
        "w-reinforce-nsr",  # NSR: positive_weight=0; PSR: positive_weight=1, negative_weight=0
        advantage=".parts.signed_success:signed_success",
        aggregate=".parts.aggregates:token_mean",
        params={"positive_weight": 0.1, "negative_weight": 1.0},
        uniform_groups="learns",
    ),
    Row(
        "remax",
        advantage=".parts.baseline:baseline",
        loss=".parts.log_likelihood:log_likelihood",
        aggregate=".parts.aggregates:sequence_sum",
        uniform_groups="learns",  # the baseline is the greedy completion's
        needs=("greedy",),
    ),
    Row(
        "topr",
        advantage=".parts.signed_success:signed_success",
        loss=".topr:loss",
        aggregate=".parts.aggregates:sequence_sum",
        params={"baseline": 0.0},
        uniform_groups="learns",
    ),
    Row(
        "sapo",
        loss=".sapo:loss",
    ),
    Row(
        "spo",
        advantage=".parts.baseline:baseline",
        aggregate=".parts.aggregates:token_mean",
        params={"whiten": True, "clip_low": 0.2, "clip_high": 0.28},
        uniform_groups="learns",  # the baseline is the problem's past
        needs=("tracker",),
        components={"curriculum": "spo"},  # a pool, whose problems are met again
    ),
    Row(
        "rec-red",  # REC-OneSide-NoIS; others of the family by clip=, weight=, tau=, imitation= and drop=
        advantage=".rec_red:advantage",
        loss=".rec_red:loss",
        aggregate=".parts.aggregates:token_mean",
        params={"drop": False, "clip": "one-side", "clip_low": 0.2, "clip_high": 0.2},
    ),
    Row(
        "forking-tokens-80-20",
        advantage=".forking_tokens_80_20:advantage",
        aggregate=".parts.aggregates:token_mean",
        params={"share": 0.2, "clip_low": 0.2, "clip_high": 0.28},
    ),
    Row(
        "kimi-k1-5",
        advantage=".kimi_k1_5:advantage",
        loss=".kimi_k1_5:loss",
        aggregate=".parts.aggregates:sequence_sum",
        # no length reward to begin with, a constant one later, as in the paper, which gives neither weight nor time
        params={"tau": 0.1, "length_weight": {"schedule": "step", "start": 0.0, "end": 0.5, "finish": 0.5}},
        silent_at_zero=False,  # every completion holds the policy to where it was written
    ),
    Row(
        "pure",
        advantage=".pure:advantage",
        aggregate=".parts.aggregates:token_mean",
        params={"temperature": 0.1, "reward_kl_coef": 0.001, "mask_separators": True},
        uniform_groups="learns",  # rewards are compared a token, so that equal ones differ where lengths do
        needs=("steps",),
    ),
    Row(
        "prime",  # outcomes alone: process_weight=0
        advantage=".prime:advantage",
        aggregate=".parts.aggregates:token_mean",
        params={"beta": 0.05, "gamma": 1.0, "normalise": True, "whiten": True},
        uniform_groups="learns",  # process rewards differ where outcomes do not; its filter drops such groups
        needs=("logp_ref", "logp_prm"),
        components={"curriculum": {"name": "online-difficulty-filter", "low": 0.2, "high": 0.8}},
    ),
    Row(
        "pav",  # outcomes alone: alpha=0
        advantage=".pav:advantage",
        aggregate=".parts.aggregates:token_mean",
        params={"best_of": 4},
        uniform_groups="learns",  # progress differs where outcomes do not
        needs=("verifier",),
    ),
    Row(
        "degrpo",
        aggregate=".degrpo:aggregate",
        params={"scale": False, "alpha": 0.001, "kl_coef": 0.001},
    ),
    Row(
        "gigpo",
        advantage=".gigpo:advantage",
        aggregate=".parts.aggregates:token_mean",
        params={"omega": 1.0, "gamma": 0.95},
        needs=("steps", "states"),
    ),
    Row(
        "arpo",  # its hard estimation; the soft one, its default: method="grpo" with sampler="arpo"
        advantage="tiltyard.agents.language.samplers.arpo:advantage",
        components={"sampler": "arpo"},
    ),
    Row(
        "reinforce-ada",  # Reinforce-Ada-balance; -pos: sampler={"name": "reinforce-ada", "rule": "positive"}
        advantage="tiltyard.agents.language.samplers.reinforce_ada:advantage",
        aggregate=".parts.aggregates:token_mean",
        params={"clip_low": 0.2, "clip_high": 0.28},
        components={"sampler": "reinforce-ada"},
    ),
    Row("scaf-grpo", components={"guidance": "scaf-grpo"}),
    Row(
        "guide",  # Guide-GRPO
        components={"guidance": "guide", "correction": "ratio"},
    ),
    Row(
        "rpo",  # with the mean log-likelihood of appendix F: sft="mean", beta=0.5, eta=0.2
        advantage=".parts.preference_pairs:preference_pairs",
        loss=".rpo:loss",
        params={"beta": 0.05, "eta": 0.005},
        needs=("groups", "logp_ref"),
    ),
    Row(
        "salt",
        advantage=".salt:advantage",
        params={"history": 1},
        needs=("states",),
    ),
    Row(
        "simpo",
        advantage=".simpo:advantage",
        loss=".simpo:loss",
        params={"beta": 2.0, "margin": 1.0},
        needs=("groups",),
    ),
    Row(
        "pacs",
        loss=".pacs:loss",
        aggregate=".parts.aggregates:sequence_sum",
        params={"beta": 1.0, "balance": True},
        silent_at_zero=False,  # uniform reward groups are silent as long as nothing has moved
        needs=("groups",),
    ),
    Row(
        "rover",
        loss=".rover:loss",
        aggregate=".parts.aggregates:token_mean",
        params={"scale": False, "rho": 1.0},
        silent_at_zero=False,
        needs=("logp_mean",),
    ),
    Row(
        "canon",  # CANON-Inter by entropy; CANON-Intra: mu=0; by length: metric="length"
        advantage=".canon:advantage",
        aggregate=".parts.aggregates:constant_length",
        params={"mu": 1.0, "alpha": 1.0, "clip_low": 0.2, "clip_high": 0.28},
        smallest_group=2,
    ),
    Row(
        "disco",
        loss=".disco:loss",
        aggregate=".parts.aggregates:sequence_sum",
        params={"tau": 10.0, "kl_limit": 0.0001, "kl_weight": 1000.0},
        silent_at_zero=False,
        needs=("groups",),
    ),
    Row(
        "drpo-decoupled",
        loss=".disco:loss",
        aggregate=".parts.aggregates:sequence_sum",
        params={"tau": 10.0, "kl_limit": 0.0001, "kl_weight": 1000.0, "brevity": 0.1},
        silent_at_zero=False,
        needs=("groups",),
    ),
    Row(
        "stablereinforce",
        advantage=".stablereinforce:advantage",
        loss=".stablereinforce:loss",
        params={"limit": 3.0, "ratio_limit": 1000.0},
        uniform_groups="learns",  # the baseline is the batch's
    ),
    Row(
        "steer",
        loss=".steer:loss",
        aggregate=".parts.aggregates:token_mean",
        params={"weight_min": 0.8},
        needs=("groups",),
    ),
    Row(
        "trpa",
        loss=".trpa:loss",
        aggregate=".parts.aggregates:sequence_sum",
        params={"beta": 0.1, "anisotropy": 2.5, "kl_old_coef": 0.001},
        silent_at_zero=False,
        uniform_groups="learns",
        needs=("groups", "logp_ref"),
    ),
    Row(
        "gtpo",
        advantage=".gtpo:advantage",
        loss=".parts.log_likelihood:log_likelihood",
        params={"max_entropy": 0.7, "entropy_coef": 0.1, "boost": 2.0},
        uniform_groups="learns",  # but only to be of less entropy
    ),
    Row(
        "copo",
        advantage=".copo:advantage",
        params={"gamma": 5.0, "rho": 1.0},
        uniform_groups="learns",
    ),
    Row(
        "reg-grpo",
        loss=".reg_grpo:loss",
        aggregate=".parts.aggregates:sequence_sum",
        params={"softness": 0.1},
        silent_at_zero=False,
        needs=("groups",),
    ),
    Row(
        "riskpo",  # ratios of tokens as in the authors' code
        advantage=".riskpo:advantage",
        aggregate=".parts.aggregates:token_mean",
        params={"low": 0.2, "high": 0.8, "omega": 0.5, "bundle_size": 5, "credit": "sum-mean"},
        smallest_group=2,
    ),
    Row(
        "oreal",
        advantage=".oreal:advantage",
        loss=".oreal:loss",
        aggregate=".parts.aggregates:token_mean",
        params={"right_weight": 1.0, "wrong_weight": 0.5, "kl_coef": 0.01},
    ),
    Row(
        "a-lol",  # reference-free: clip=None
        advantage=".a_lol:advantage",
        loss=".a_lol:loss",
        aggregate=".parts.aggregates:sequence_sum",
        params={"clip": 0.9},
        smallest_group=2,
    ),
    Row(
        "copg",
        loss=".copg:loss",
        aggregate=".parts.aggregates:sequence_sum",
        params={"kl_coef": 0.05},
        silent_at_zero=False,
        needs=("groups",),
    ),
    Row(
        "llds",
        loss=".llds:loss",
        aggregate=".parts.aggregates:token_mean",
        params={"preserve": 0.2},
        silent_at_zero=False,
    ),
    Row(
        "hapo",
        advantage=".hapo:advantage",
        loss=".hapo:loss",
        aggregate=".parts.aggregates:token_mean",
        params={"pivot": 0.8},
        needs=("groups",),
    ),
    Row(
        "rl-plus",
        loss=".rl_plus:loss",
        aggregate=".parts.aggregates:constant_length",
        params={"scale": False, "gamma": 0.5},
        needs=("expert",),
    ),
    Row(
        "llamarl",  # AIPO, with generators in processes of their own
        loss=".llamarl:loss",
        aggregate=".parts.aggregates:sequence_sum",
        params={"scale": False, "rho": 4.0},
        components={"rollout_workers": 1, "max_staleness": 1, "correction": "ratio"},
    ),
    Row(
        "asyncflow",  # GRPO, as in its experiments, by a streaming dataflow with weights that are one update late
        components={"rollout_workers": 1, "max_staleness": 1, "micro_batch_groups": 4, "correction": "ratio"},
    ),
)


def find(handle: str) -> Row:
    """The row of ``handle``; ``KeyError`` with the nearest valid handles otherwise."""
    for row in ROWS:
        if row.handle == handle:
            return row
    raise KeyError(unknown("method", handle, [row.handle for row in ROWS]))
