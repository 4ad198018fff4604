"""What an agent's settings may be: kinds from its constructor's annotations, ranges from one table.

The table speaks Stable-Baselines3's vocabulary, so a keyword means the same in every agent; what depends on other
settings (``critic_subset`` on the number of critics) its own class checks.
"""

import inspect
import math
import os
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

import numpy as np

_UNCHECKED = ("policy", "env", "rewards", "_init_setup_model")
"""Parameters that classes look at themselves."""
_ALSO: dict[str, tuple[Any, ...]] = {"action_noise": (float,), "tensorboard_log": (os.PathLike,)}
"""Kinds that our agents take where the annotation of SB3's class has fewer."""


class WrongKind(TypeError, ValueError):
    """A setting of another kind than the constructor takes; also the ``ValueError`` that SB3 raises for some."""


class OutOfRange(ValueError, AssertionError):
    """A setting outside its range; also the ``AssertionError`` that SB3 raises for some."""


@dataclass(frozen=True)
class Range:
    """Numbers from ``low`` to ``high``, both included unless ``above`` (low) or ``below`` (high) says otherwise."""

    low: float = -math.inf
    high: float = math.inf
    above: bool = False
    below: bool = False
    infinite: bool = False

    def __contains__(self, value: float) -> bool:
        """Whether ``value`` lies there; NaN never does (no comparison holds), infinity where it means "no limit"."""
        if math.isinf(value) and not self.infinite:
            return False
        over = value > self.low if self.above else value >= self.low
        return over and (value < self.high if self.below else value <= self.high)

    def words(self, number: str) -> str:
        """``number`` ("a number", "a whole number") with where it lies, in words."""
        if math.isinf(self.low):
            return number if "whole" in number else f"{number} that is finite"
        if math.isinf(self.high):
            return f"{number} above {self.low:g}" if self.above else f"{number} of at least {self.low:g}"
        if self.above and self.below:
            return f"{number} between {self.low:g} and {self.high:g}"
        low = f"above {self.low:g} and at most" if self.above else f"from {self.low:g} to"
        return f"{number} {low} {int(self.high)}"


_SHARE, _COUNT, _AT_LEAST_0, _POSITIVE = Range(0.0, 1.0), Range(1), Range(0), Range(0, above=True)
_LIMIT = Range(0, above=True, infinite=True)
_Table = tuple[tuple[Range, str], ...]
_SB3: _Table = (
    (_SHARE, "gamma gae_lambda tau exploration_fraction exploration_initial_eps exploration_final_eps"),
    (
        _COUNT,
        """batch_size buffer_size n_steps n_epochs train_freq target_update_interval policy_delay stats_window_size
        n_envs n_critics n_quantiles bptt_steps""",
    ),
    (Range(-1), "gradient_steps sde_sample_freq"),
    (
        _AT_LEAST_0,
        """learning_rate learning_starts ent_coef vf_coef action_noise target_policy_noise target_noise_clip verbose
        top_quantiles_to_drop_per_net""",
    ),
    (_POSITIVE, "clip_range clip_range_vf target_kl"),
    (_LIMIT, "max_grad_norm"),
    (Range(), "target_entropy"),
    (Range(0, 2**32 - 1), "seed"),
)
_OURS: _Table = (
    (
        _SHARE,
        """td_lambda trace_lambda offline_ratio imitation_ratio warm_start_noise outcome_lambda teacher_accuracy
        stage_one expert_ratio current_goal_ratio ahead_goal_ratio actor_random_goal_ratio real_ratio
        gradient_quantile momentum dormant_threshold target_dormant_ratio exploit_ratio min_kept max_kept
        kl_balance""",
    ),
    (Range(0.0, 1.0, above=True), "boundary_tau top_p meta_step_size"),
    (Range(0.0, 1.0, above=True, below=True), "expectile"),
    (
        _COUNT,
        """critic_subset refresh_interval n_actions n_target_actions n_next_states discriminator_width levels group_size
        prompts_per_batch episodes_per_iteration fresh_turns actor_steps max_answer_tokens context_length
        warm_start_batch_size rollouts actor_updates value_updates instruction_updates horizon critic_width
        rollout_updates stages ask_every margin_gone groups_per_task micro_batch_groups
        critic_updates critic_backups inverse_updates inner_updates implicit_terms meta_batch_size
        abstraction_factor subgoal_steps slots window
        n_policies policy_timesteps bandit_rounds episodes_per_task queries_per_task
        population_size chunk_size chunk_length n_neighbors archived_per_generation n_views descriptor_size
        autoencoder_width denoise_steps n_groups oversample_limit n_models n_elites model_batch_size
        model_train_freq model_updates model_patience rollouts_per_step rollout_length kept_fits
        n_support feature_dim behaviour_updates rollout_batch_size max_rollouts rollout_horizon
        prediction_steps best_episodes sequence_length inner_interval outer_interval segment_length
        preferences_per_session preference_interval reward_updates n_reward_models""",
    ),
    (Range(2), "bins"),
    (Range(0, 1024), "rollout_workers"),
    (
        _AT_LEAST_0,
        """actor_learning_rate critic_learning_rate ent_coef_learning_rate warm_start_learning_rate discriminator_noise
        next_state_scale beta alpha min_q_weight temperature kappa_policy kappa_value imitation_weight
        clip_low clip_high kl_coef top_k warm_start_steps critic_warm_up verb_weight argument_weight step_weight
        episode_weight min_deviation max_staleness delay margin margin_weight
        margin_kept guidance_weight noise_min noise_max optimism_coef offline_coef inverse_past
        inverse_learning_rate momentum_power reward_learning_rate gamma_coef epsilon
        adversary_learning_rate bandit_rate bonus_weight bonus_limit value_learning_rate
        emitter_size high_beta low_beta clone_learning_rate model_learning_rate model_weight_decay mse_steps
        uniform_actions behaviour_learning_rate spr_weight bisimulation_weight shift intensity
        max_action_noise noise_clip dormant_temperature exploit_temperature perturb_interval perturb_rate
        gate_entropy_coef multiplier_learning_rate kl_weight free_nats weight_learning_rate max_preferences
        switch_steps victim_timesteps lora_rank language_weight""",
    ),
    (
        _POSITIVE,
        """implicit_step multiplier action_std boundary huber reward_bound reward_scale sampler_temperature
        guidance_temperature cell_width mutation_std genome_limit noise_level ridge
        initial_multiplier""",
    ),
    (_LIMIT, "weight_limit max_clip guidance_limit clip_obs clip_reward"),
    (Range(0, infinite=True), "patch_limit"),
    (Range(), "target_return terminal_value target_action_gap imitation_margin reward_shift return_low return_high"),
)


def _by_name(table: _Table) -> dict[str, Range]:
    return {name: span for span, names in table for name in names.split()}


RANGES: dict[str, Range] = _by_name(_SB3) | _by_name(_OURS)
"""By keyword, what a number may be. In classes of other packages only SB3's words are known to mean this."""
WORDS: dict[str, tuple[str, str]] = {
    "ent_coef": (r"auto(_0*\.?0*[1-9][\d.]*(e-?\d+)?)?", '"auto" or "auto_0.1"'),
    "target_entropy": ("auto", '"auto"'),
    "reward_scale": ("auto", '"auto"'),
    "reward_shift": ("auto", '"auto"'),
}
"""By keyword, what a word in a number's place may be: its pattern, and how to say so."""


def whole_signature(cls: type[Any]) -> inspect.Signature:
    """The constructor's parameters, with those of the next constructor in place of its ``**settings``.

    They are keywords then, unless it hands ``*args`` on as well.
    """
    found: dict[str, inspect.Parameter] = {}
    positional = True
    for owner in cls.__mro__:
        if "__init__" not in vars(owner):
            continue
        own = list(inspect.signature(vars(owner)["__init__"]).parameters.values())[1:]
        kinds = {one.kind for one in own}
        named = [one for one in own if one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL) and one.name not in found]
        added = {one.name: one if positional else one.replace(kind=one.KEYWORD_ONLY) for one in named}
        found = {**found, **added} if positional else {**added, **found}
        positional = positional and inspect.Parameter.VAR_POSITIONAL in kinds
        if inspect.Parameter.VAR_KEYWORD not in kinds:
            break
    return inspect.Signature(sorted(found.values(), key=lambda one: (one.kind, one.name == "_init_setup_model")))


def check_settings(agent: type[Any], settings: Mapping[str, Any]) -> None:
    """Refuses a setting that ``agent``'s constructor could not mean.

    Raises:
        TypeError: a value of another kind than the constructor's annotation allows.
        ValueError: a number outside its range, an unknown word, or a device that is not there.
    """
    parameters = whole_signature(agent).parameters
    for name, value in settings.items():
        annotation = parameters[name].annotation if name in parameters else Any
        named = name == "policy" and type in _kinds(annotation)  # those of language agents are models too
        if name in parameters and (named or name not in _UNCHECKED):
            ranges = RANGES if agent.__module__.startswith("tiltyard.") else _by_name(_SB3)
            check_setting(name, value, annotation, of=agent.__name__, ranges=ranges)


def check_setting(name: str, value: Any, annotation: Any, *, of: str, ranges: Mapping[str, Range] = RANGES) -> None:
    """Refuses one setting; see :func:`check_settings`."""
    span = ranges.get(name, Range())
    kinds = (*_ALSO.get(name, ()), *_kinds(annotation))
    value = value.item() if isinstance(value, np.generic) else value
    if not any(_is_of(value, kind) for kind in kinds):
        raise WrongKind(f"{of}: {name} must be {_words(name, kinds, span)}, got {value!r:.200}")
    if not _is_meant(name, value, span):
        raise OutOfRange(f"{of}: {name} must be {_words(name, kinds, span)}, got {value!r:.200}")
    if name == "device":
        check_device(value)


def check_steps(steps: Any) -> None:
    """Refuses a number of steps to learn that is negative, or no whole number; 0 learns nothing.

    Raises:
        TypeError: no number.
        ValueError: a negative or broken one.
    """
    if isinstance(steps, bool) or not isinstance(steps, int | float | np.integer | np.floating):
        raise TypeError(f"total_timesteps must be a whole number of at least 0, got {steps!r:.200}")
    if not (steps >= 0 and float(steps).is_integer()):  # so written that NaN is refused too
        raise ValueError(f"total_timesteps must be a whole number of at least 0, got {steps!r}")


def check_taught(agent: Any) -> None:
    """Refuses to have an agent that only imitates go on by itself, before it has seen data or begun from a base.

    Raises:
        ValueError: it would imitate its own untrained policy; the message says what to give.
    """
    begun = agent.kept or agent._n_updates or "base" in (agent.policy_kwargs or {})
    if getattr(agent, "needs_data", False) and not begun:
        raise ValueError(
            f"{type(agent).__name__} imitates recorded episodes and was given none: call learn_offline(dataset, "
            "gradient_steps) first (tiltyard train: --set dataset=ID offline_steps=N; tiltyard dataset make records "
            'one), or begin from a base with policy_kwargs={"base": "phone-v1-base"}'
        )


def check_device(device: Any) -> None:
    """Refuses a device that torch does not know or does not find; SB3 would quietly take the processor.

    Raises:
        ValueError: such a device.
    """
    import torch

    if str(device) == "auto":
        return
    try:
        wanted = torch.device(device)
    except RuntimeError:
        raise ValueError(f"device must be auto, cpu or cuda, or as torch writes them, got {str(device)!r}") from None
    count = {"cuda": torch.cuda.device_count(), "mps": int(torch.backends.mps.is_available())}.get(wanted.type)
    if count is not None and (wanted.index or 0) >= count:
        raise ValueError(f"device {str(device)!r} is not there (torch finds {count} of {wanted.type}): use cpu or auto")


def present_device(device: Any) -> Any:
    """``device``, or the processor, with a warning, if torch does not find such a device: for loading a checkpoint.

    Where an agent was trained says nothing of where it is to act, and ``load(path, device="cuda")`` is in many scripts.

    Raises:
        ValueError: torch knows no such device.
    """
    try:
        check_device(device)
    except ValueError as error:
        if "is not there" not in str(error):
            raise
        warnings.warn(f"{error}: loading to the CPU", stacklevel=3)
        return "cpu"
    return device


def _kinds(annotation: Any) -> tuple[Any, ...]:
    """The kinds that an annotation allows, such as ``(int, NoneType)``."""
    parts = get_args(annotation) if isinstance(annotation, UnionType) or get_origin(annotation) is Union else ()
    return tuple(_kind(part) for part in parts or (annotation,))


def _kind(part: Any) -> Any:
    origin = get_origin(part)
    return part if origin is None or origin is Literal else origin


def numbers_of(annotation: Any) -> tuple[Any, ...]:
    """Those of ``int`` and ``float`` that an annotation allows."""
    return tuple(kind for kind in _kinds(annotation) if kind in (int, float))


def _is_of(value: Any, kind: Any) -> bool:
    if get_origin(kind) is Literal:
        return isinstance(value, str) and value in get_args(kind)
    if kind in (Any, inspect.Parameter.empty) or not isinstance(kind, type):  # such as a name yet to be resolved
        return True
    if isinstance(value, bool):
        return kind is bool
    if isinstance(value, int) and kind is float:
        return True
    if getattr(kind, "_is_protocol", False):  # an object of the user's own, which is no plain data
        return not isinstance(value, int | float | str | Mapping | Sequence | NoneType)
    alike: dict[Any, Any] = {dict: Mapping, tuple: (tuple, list)}
    return isinstance(value, alike.get(kind, kind))


def _is_meant(name: str, value: Any, span: Range) -> bool:
    """Whether a value of the right kind lies in the setting's range, or is one of its words."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value in span
    if isinstance(value, str) and name in WORDS:
        return re.fullmatch(WORDS[name][0], value) is not None
    if isinstance(value, tuple | list) and name == "train_freq":
        unit = getattr(value[-1], "value", value[-1]) if len(value) == 2 else None
        return isinstance(value[0], int) and value[0] >= 1 and unit in ("step", "episode")
    if isinstance(value, list | tuple) and name == "net_arch":
        return all(isinstance(width, dict) or (isinstance(width, int) and width >= 1) for width in value)  # old SB3's
    return True


def _words(name: str, kinds: tuple[Any, ...], span: Range) -> str:
    """What is allowed: "a number from 0 to 1 or None"."""
    said = {
        bool: "true or false",
        str: WORDS.get(name, ("", "a string"))[1],
        tuple: 'a pair such as [1, "episode"]',
        dict: "a dict",
        Mapping: "a dict",
        Sequence: "a list",
        list: "a list of whole numbers of at least 1" if name == "net_arch" else "a list",
        Callable: "a schedule (a function of the remaining progress)",
        type: "a class",
        NoneType: "None",
    }
    numbers = [kind for kind in kinds if kind in (int, float)]
    parts = [span.words("a number" if float in numbers else "a whole number")] if numbers else []
    for kind in kinds:
        if get_origin(kind) is Literal:
            parts += [f'"{word}"' for word in get_args(kind)]
        elif kind not in numbers:
            parts.append(said.get(kind, getattr(kind, "__name__", str(kind))))
    return " or ".join(dict.fromkeys(parts))
