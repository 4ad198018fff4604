"""Turns a catalogue row and an environment into an agent."""

from collections.abc import Mapping
from copy import deepcopy
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any

import gymnasium
from gymnasium.spaces import Dict, Space, Text
from gymnasium.vector import VectorEnv
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm
from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm
from stable_baselines3.common.preprocessing import is_image_space
from stable_baselines3.common.vec_env import VecEnv

from ..envs import catalogue as environments
from ..envs.row import Domain
from ..wrappers.spaces import sb3_env, sb3_spaces, to_sb3
from . import presets
from .catalogue import ROWS, Row
from .checkpoint import check_keywords
from .control.base import check_spaces
from .row import OF_METHOD, merged
from .schedules import of_remaining
from .settings import OutOfRange, check_setting

if TYPE_CHECKING:
    from stable_baselines3.common.base_class import BaseAlgorithm

NAMED = 5
"""Agents that are named where another one is needed."""
READ = {"elements", "goal"}
"""What a phone's ``observation="elements"`` is made of."""


def build(row: Row, env: Any, settings: dict[str, Any]) -> "BaseAlgorithm":
    """Builds ``row``'s agent for ``env``; see :func:`tiltyard.agents.make`."""
    if not isinstance(env, str | gymnasium.Env | VectorEnv | VecEnv):
        raise TypeError(
            f"agents are made for an environment's id, a Gymnasium environment or vector, or a VecEnv, got {env!r:.200}"
        )
    agent_class = row.load()
    n_envs, env_kwargs = settings.pop("n_envs", None), settings.pop("env_kwargs", {})
    preset = settings.pop("preset", presets.AUTO)
    check_keywords(agent_class, settings)
    row.check_method(settings)
    check_setting("n_envs", n_envs, int | None, of=row.name)
    check_setting("env_kwargs", env_kwargs, dict, of=row.name)
    check_setting("seed", settings.get("seed"), int | None, of=row.name)  # environments get it before the agent
    env_id = _id(env)
    if settings.get("verbose", 0):
        print(presets.described(row.name, env_id, preset))
    settings = merged(
        deepcopy(_settings(row, env_id, settings, preset)), settings
    )  # SB3 writes into the dicts it is given
    settings = settings if row.speaks else of_remaining(settings)
    if isinstance(env, str):
        env = _make(row, env, n_envs, preset, env_kwargs, settings)
    elif n_envs is not None or env_kwargs:
        raise TypeError("n_envs and env_kwargs make an environment from its id: this one is made already")
    elif not row.speaks:
        env = _adapted(env)
    _check_spaces(agent_class, env, env_id)
    if signature(agent_class).parameters["policy"].default is Parameter.empty:
        settings = _with_policy(agent_class, env.observation_space, settings)
    try:
        agent: BaseAlgorithm = agent_class(env=env, **settings)
    except OutOfRange:
        raise
    except AssertionError as error:  # how Stable-Baselines3 refuses spaces
        raise TypeError(f"{agent_class.__name__}: {error}") from error
    return agent


def rollout_steps(row: Row, env_id: str, settings: Mapping[str, Any]) -> int | None:
    """Steps of a rollout, ``n_steps`` times ``n_envs``, of the on-policy agent that :func:`build` makes; else None."""
    agent_class = row.load()
    if row.speaks or not issubclass(agent_class, OnPolicyAlgorithm):
        return None
    preset = settings.get("preset", presets.AUTO)
    defaults = [signature(one).parameters.get("n_steps") for one in agent_class.__mro__]
    default = next((one.default for one in defaults if one is not None), None)
    n_steps = {"n_steps": default, **_settings(row, env_id, dict(settings), preset), **settings}["n_steps"]
    n_envs = settings.get("n_envs") or row.n_envs_for(env_id, preset)
    return n_steps * n_envs if isinstance(n_steps, int) else None


def in_form(agent_class: type[Any], env_id: str, n_envs: int, spaces: list[Space[Any]]) -> VecEnv | None:
    """The environment with the keywords of a row of ``agent_class`` that give it ``spaces``; None if no row's do.

    So an agent of the phone, which was made with ``observation="elements"``, is loaded for the phone by its id alone.
    """
    own = f"{agent_class.__module__}:{agent_class.__qualname__}"
    forms = [row.env_kwargs_for(env_id) for row in ROWS if row.entry_point == own]
    for form in (form for i, form in enumerate(forms) if form and form not in forms[:i]):
        env = sb3_env(env_id, n_envs, **form)
        if [env.observation_space, env.action_space] == spaces:
            return env
        env.close()
    return None


def domain_of(env: Any) -> Domain | None:
    """The domain of an environment: its row's, given its id; of one that is made, "text" if it speaks text alone.

    One whose text is adapted to numbers (:mod:`tiltyard.wrappers.spaces`) is not of text any more.
    """
    if isinstance(env, str):
        return environments.find(env).domain
    of_one = "single_" if isinstance(env, VectorEnv) else ""
    spaces = (getattr(env, f"{of_one}{of}_space", None) for of in ("observation", "action"))
    return "text" if all(isinstance(space, Text) for space in spaces) else None


def _id(env: Any) -> str:
    """The id of an environment, or "" if it has none."""
    spec = None if isinstance(env, str | VecEnv) else getattr(env, "spec", None)
    return env if isinstance(env, str) else str(spec.id) if spec is not None else ""


def _settings(row: Row, env_id: str, given: dict[str, Any], preset: str | None) -> dict[str, Any]:
    """The settings of row and preset for an environment; those for all environments where it is in no catalogue.

    Parameters of the row's method are not those of another one that was ``given``.
    """
    listed = any(env_id == known.id for known in environments.rows())
    found = row.settings_for(env_id if listed else "", preset)
    other = given.get("method", found.get("method")) != found.get("method")
    return {name: value for name, value in found.items() if not (other and name in OF_METHOD)}


def _make(
    row: Row, env_id: str, n_envs: int | None, preset: str | None, env_kwargs: dict[str, Any], settings: dict[str, Any]
) -> VecEnv:
    found = environments.resolve(env_id)
    if row.speaks and not row.trains_in(found):
        raise TypeError(f"{row.name} trains on {' and '.join(row.domains)} environments, {env_id} is {found.domain}")
    env_kwargs = row.env_kwargs_for(env_id) | env_kwargs
    n_envs = n_envs or row.n_envs_for(env_id, preset)
    return sb3_env(env_id, n_envs, seed=settings.get("seed"), strings=row.speaks, **env_kwargs)


def _adapted(env: Any) -> Any:
    if isinstance(env, VectorEnv):
        return to_sb3(env)
    return sb3_spaces(env) if isinstance(env, gymnasium.Env) else env


def _check_spaces(agent_class: type[Any], env: Any, env_id: str) -> None:
    acts_in: tuple[type[Space[Any]], ...] = getattr(agent_class, "acts_in", ())
    if acts_in and not isinstance(env.action_space, acts_in):
        kinds = " or ".join(kind.__name__ for kind in acts_in)
        raise TypeError(
            f"{agent_class.__name__} acts in {kinds} spaces, not in {env.action_space} of {env_id or 'its env'}: "
            f"choose another agent ({_instead(agent_class, env.action_space, env_id)}) or other actions"
        )
    if acts_in:
        check_spaces(agent_class, env.observation_space, env.action_space)


def _instead(agent_class: type[Any], actions: Space[Any], env_id: str) -> str:
    """Names of agents that act in such a space: those of the environment's domain first, of the same kind next."""
    able = [row for row in ROWS if not row.speaks and isinstance(actions, row.load().acts_in)]
    domain = next((row.domain for row in environments.rows() if row.id == env_id), None)

    def far(row: Row) -> tuple[bool, bool]:
        replays = [issubclass(one, OffPolicyAlgorithm) for one in (agent_class, row.load())]
        return domain not in row.domains, replays[0] != replays[1]

    names = ", ".join(row.name for row in sorted(able, key=far)[:NAMED]) or "none fits"
    return names + (f", or another of {len(able)}: tiltyard list agents" if len(able) > NAMED else "")


def _with_policy(agent_class: type[Any], observation_space: Space[Any], settings: dict[str, Any]) -> dict[str, Any]:
    """The settings with the class's own policy for such observations, unless one is given that could read them."""
    flat = settings.get("policy", "") in ("MlpPolicy", "CnnPolicy") and isinstance(observation_space, Dict)
    if "policy" in settings and not flat:
        return settings
    return {"policy": _policy(agent_class, observation_space), **settings}


def _policy(agent_class: type[Any], observation_space: Space[Any]) -> str:
    """The class's own policy for such observations: ``MlpPolicy``, or what it has instead (``MlpLstmPolicy``).

    Raises:
        TypeError: it has none.
    """
    known = getattr(agent_class, "policy_aliases", {})
    if "ElementsPolicy" in known and isinstance(observation_space, Dict) and observation_space.keys() == READ:
        return "ElementsPolicy"
    images = not isinstance(observation_space, Dict) and is_image_space(observation_space)
    kind = "MultiInput" if isinstance(observation_space, Dict) else "Cnn" if images else "Mlp"
    found = next((name for name in known if name.startswith(kind)), "")
    if known and not found:
        what = {"MultiInput": "dicts", "Cnn": "images", "Mlp": "plain numbers"}[kind]
        raise TypeError(
            f"{agent_class.__name__} reads no {what} such as {observation_space}: flatten them "
            "(gymnasium.wrappers.FlattenObservation), or take another agent"
        )
    return found or f"{kind}Policy"
