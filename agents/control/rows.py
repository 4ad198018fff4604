"""Control agents, a row a name, with what makes its method out of the class; see :mod:`tiltyard.agents.catalogue`.

Values are the papers', where they are not the class's own already. What was tuned for environments stands in presets
(:mod:`tiltyard.agents.presets`).
"""

from ..row import Row
from .data_rows import FROM_DATA
from .in_context_rows import IN_CONTEXT
from .model_based_rows import MODEL_BASED
from .on_policy_rows import ON_POLICY
from .phone_rows import PHONES

ROWS: tuple[Row, ...] = (
    *ON_POLICY,
    Row(
        "sac",
        "tiltyard.agents.control.sac:SAC",
        ("driving", "robotics"),
        "Soft actor-critic with fast updates",
    ),
    Row(
        "td3",
        "tiltyard.agents.control.td3:TD3",
        ("driving", "robotics"),
        "Twin delayed deterministic policy gradient with fast updates",
    ),
    Row(
        "tqc",
        "tiltyard.agents.control.tqc:TQC",
        ("driving", "robotics"),
        "SAC with truncated quantile critics and fast updates",
    ),
    Row(
        "fast-td3",
        "tiltyard.agents.control.parallel.fast_td3:FastTD3",
        ("driving", "robotics"),
        "TD3 over native vectors of many environments, with distributional critics and mixed exploration noise",
        n_envs={"*": 64},
    ),
    Row(
        "fast-sac",
        "tiltyard.agents.control.parallel.fast_sac:FastSAC",
        ("driving", "robotics"),
        "SAC over native vectors of many environments, with distributional critics",
        n_envs={"*": 64},
    ),
    Row(
        "mentor",
        "tiltyard.agents.control.mentor:MENTOR",
        ("driving", "robotics"),
        "Actor-critic with an actor of experts, which explores while its neurons are dormant and is perturbed towards "
        "its best episodes",
    ),
    Row(
        "mex",
        "tiltyard.agents.control.mex:MEX",
        ("driving", "robotics"),
        "TD3 with optimistic critics: of values that agree with experience those that promise most",
    ),
    Row(
        "rat",
        "tiltyard.agents.control.rat:RAT",
        ("driving", "robotics"),
        "Perturbs a trained agent's observations so that it does what a teacher of preferences wants",
    ),
    Row(
        "sb3-sac",
        "tiltyard.agents.control.stock:SB3SAC",
        ("driving", "robotics"),
        "Stable-Baselines3's SAC, the baseline of ours",
        paper="sac",
    ),
    Row(
        "sb3-td3",
        "tiltyard.agents.control.stock:SB3TD3",
        ("driving", "robotics"),
        "Stable-Baselines3's TD3, the baseline of ours",
        settings={"*": {"action_noise": 0.1}},  # the paper's: by itself it explores not at all
        paper="td3",
    ),
    Row(
        "sb3-tqc",
        "tiltyard.agents.control.stock:SB3TQC",
        ("driving", "robotics"),
        "sb3-contrib's TQC, the baseline of ours",
        paper="tqc",
    ),
    Row(
        "crossq",
        "tiltyard.agents.control.stock:CrossQ",
        ("driving", "robotics"),
        "sb3-contrib's CrossQ: SAC without target networks, with batch-normalised critics, a baseline",
    ),
    Row(
        "dqn",
        "tiltyard.agents.control.stock:DQN",
        ("gui", "driving"),
        "Stable-Baselines3's DQN",
        env_kwargs={"driving": {"action": "discrete"}},
    ),
    Row(
        "spr",
        "tiltyard.agents.control.spr:SPR",
        ("driving",),
        "Double Q-learning from pixels (or vectors) whose encoder learns to predict its own latents some steps ahead",
        env_kwargs={"driving": {"action": "discrete"}},
    ),
    Row(
        "tscac",
        "tiltyard.agents.control.tscac:TSCAC",
        ("driving",),
        "Actor-critic in two stages: a policy for each auxiliary reward, then one for the main reward that stays near",
        settings={"driving": {"auxiliary": ["ttc", "comfort"]}},
        env_kwargs={"driving": {"action": "discrete"}},
    ),
    Row(
        "dsac-t",
        "tiltyard.agents.control.dsac_t:DSACT",
        ("driving", "robotics"),
        "SAC with Gaussian return critics and three refinements",
    ),
    Row(
        "stream-x",
        "tiltyard.agents.control.stream_x:StreamAC",
        ("driving", "robotics"),
        "Actor and critic that learn from each step once, without replay or batches, in constant memory",
        env_kwargs={"driving": {"action": "discrete"}},
    ),
    Row(
        "stream-q",
        "tiltyard.agents.control.stream_x:StreamQ",
        ("driving",),
        "Q-learning from each step once, without replay or batches, in constant memory",
        paper="stream-x",
        env_kwargs={"driving": {"action": "discrete"}},
    ),
    *FROM_DATA,
    *IN_CONTEXT,
    *MODEL_BASED,
    *PHONES,
)
