"""One row a reward."""

from collections.abc import Sequence

from ..components import Choice, Reward, Row, choose

_ROOM = "tiltyard.wrappers.rewards"

ROWS: tuple[Row, ...] = (
    Row("laser", f"{_ROOM}.laser:LASER"),
    Row("soft-overlong-punishment", f"{_ROOM}.soft_overlong_punishment:SoftOverlongPunishment", paper="dapo"),
    Row("toolrl", f"{_ROOM}.toolrl:ToolRL"),
    Row("clip-and-delta", f"{_ROOM}.clip_and_delta:ClipAndDelta"),
    Row("implicitprm", f"{_ROOM}.implicitprm:ImplicitPRM"),
    Row("unlikeliness-grpo", f"{_ROOM}.unlikeliness_grpo:UnlikelinessGRPO"),
    Row("grpo-lambda", f"{_ROOM}.grpo_lambda:GRPOLambda"),
    Row("otc-po", f"{_ROOM}.otc_po:OTCPO"),
    Row("curriculumgrpo-budget", f"{_ROOM}.curriculumgrpo_budget:BudgetCurriculum"),
    Row("g-ra", f"{_ROOM}.g_ra:GRA"),
    Row("tldr-rlhf", f"{_ROOM}.tldr_rlhf:RewardModel"),
    Row("rm-ensemble", f"{_ROOM}.rm_ensemble:RewardEnsemble"),
    Row("par", f"{_ROOM}.par:PAR"),
    Row("lsc", f"{_ROOM}.lsc:LSC"),
    Row("tulu-3-rlvr", f"{_ROOM}.tulu_3_rlvr:RLVR"),
    Row("infalign-ctrl", f"{_ROOM}.infalign_ctrl:InfAlignCTRL"),
)

PLAIN: tuple[Row, ...] = (
    Row("outcome", f"{_ROOM}.outcome:Outcome"),
    Row("turn-cost", f"{_ROOM}.turn_cost:TurnCost"),
    Row("kl-penalty", f"{_ROOM}.kl_penalty:KLPenalty"),
)
"""Rewards of no paper."""

Choices = Choice | Reward | Sequence[Choice | Reward]
"""One reward or several in order, each by name, by name with parameters or as an object."""


def load(choice: Choice | Reward) -> Reward:
    """The reward that ``choice`` names; see :func:`tiltyard.wrappers.components.choose`."""
    return choose("reward", choice, ROWS + PLAIN, Reward)


def load_all(choices: Choices) -> tuple[Reward, ...]:
    """The rewards that ``choices`` name, in the order in which they shape; none for None."""
    if isinstance(choices, Sequence) and not isinstance(choices, str):
        return tuple(load(choice) for choice in choices)
    return () if choices is None else (load(choices),)
