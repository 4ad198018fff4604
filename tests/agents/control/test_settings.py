"""Constructors name every keyword: editors, type checkers and ``inspect`` see all of them, with their defaults."""

import inspect
import re
import subprocess
import sys
from dataclasses import FrozenInstanceError, fields
from pathlib import Path
from typing import Any

import pytest

from tiltyard.agents import ARSQ, IQL, SAC, CalQL
from tiltyard.agents.catalogue import ROWS
from tiltyard.agents.control.actor_critic import ActorCritic
from tiltyard.agents.control.offline import LearnsFromData
from tiltyard.agents.control.parallel.agent import ParallelActorCritic
from tiltyard.agents.settings import whole_signature

OURS = sorted({row.load() for row in ROWS if not row.speaks}, key=lambda kind: kind.__name__)
TYPED = [kind for kind in OURS if issubclass(kind, ActorCritic)]
ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("kind", OURS)
def test_the_constructor_itself_lists_every_keyword(kind: Any) -> None:
    own = inspect.signature(kind.__init__).parameters
    assert not any(one.kind in (one.VAR_KEYWORD, one.VAR_POSITIONAL) for one in own.values())
    assert {"policy", "env", "learning_rate", "seed"} <= own.keys()
    assert own.keys() - {"self"} == inspect.signature(kind).parameters.keys() == whole_signature(kind).parameters.keys()


@pytest.mark.parametrize("kind", TYPED)
def test_settings_are_the_constructors(kind: Any) -> None:
    own = inspect.signature(kind.__init__).parameters
    made = kind("MlpPolicy", "Pendulum-v1", buffer_size=10, policy_kwargs={"net_arch": [4]})
    assert own.keys() - {"self"} == {field.name for field in fields(made.settings)}
    for field in fields(made.settings):
        assert own[field.name].default is (
            inspect.Parameter.empty if field.name in ("policy", "env") else field.default
        )
    assert made.settings.buffer_size == 10
    with pytest.raises(FrozenInstanceError):
        made.settings.gamma = 0.5


@pytest.mark.parametrize("kind", TYPED)
def test_no_method_stands_on_another(kind: Any) -> None:
    above = kind.__mro__[1 : kind.__mro__.index(LearnsFromData)]
    assert above in ((ActorCritic,), (ParallelActorCritic, ActorCritic))  # of one learner, or of many environments


def test_cal_ql_has_the_keywords_of_all_that_it_is_made_of() -> None:
    own = inspect.signature(CalQL.__init__).parameters
    assert len(own) - 1 == 45
    defaults = {name: own[name].default for name in ("max_target_backup", "n_actions", "ent_coef", "offline_ratio")}
    assert defaults == {"max_target_backup": True, "n_actions": 10, "ent_coef": "auto", "offline_ratio": 0.5}
    assert own["min_q_weight"].annotation is float


@pytest.mark.slow
def test_type_checkers_see_every_keyword(tmp_path: Path) -> None:
    (tmp_path / "snippet.py").write_text(
        "from tiltyard.agents.control.cal_ql import CalQL\n"
        "from tiltyard.agents.control.iql import IQL\n"
        "from tiltyard.agents.control.bc import BC\n"
        'CalQL("MlpPolicy", "Pendulum-v1", min_q_weight=3.0, gamma=0.9, critic_subset=2, seed=0)\n'
        'CalQL(policy="MlpPolicy", env="Pendulum-v1", n_actions=4)\n'
        'CalQL("MlpPolicy", "Pendulum-v1", min_q_wieght=3.0)\n'
        'IQL("MlpPolicy", "Pendulum-v1", expectile="high")\n'
        'BC("MlpPolicy", "Pendulum-v1", expectile=0.5)\n'
        'IQL("MlpPolicy")\n'
    )
    command = [sys.executable, "-m", "mypy", str(tmp_path / "snippet.py")]  # at the root, whose cache it shares
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    said = dict(re.findall(r"snippet\.py:(\d+): (error: .*)", done.stdout))
    assert said.keys() == {"6", "7", "8", "9"}, done.stdout + done.stderr
    assert 'Unexpected keyword argument "min_q_wieght"' in said["6"]
    assert '"expectile" to "IQL" has incompatible type "str"; expected "float"' in said["7"]
    assert 'Unexpected keyword argument "expectile" for "BC"' in said["8"]
    assert 'Missing positional argument "env"' in said["9"]


def test_a_subclass_may_still_hand_keywords_on() -> None:
    class Mine(IQL):
        def __init__(self, policy: Any, env: Any, *, bonus: float = 1.0, **settings: Any) -> None:
            self.bonus = bonus
            super().__init__(policy, env, **settings)

    agent = Mine("MlpPolicy", "Pendulum-v1", bonus=2.0, expectile=0.9, buffer_size=10)
    assert (agent.bonus, agent.settings.expectile) == (2.0, 0.9)
    assert {"bonus", "expectile", "gamma"} <= inspect.signature(Mine).parameters.keys()
    with pytest.raises(TypeError, match="Mine: unknown keyword 'expectil'; did you mean 'expectile'"):
        Mine("MlpPolicy", "Pendulum-v1", expectil=0.9)


def test_a_setting_may_be_changed_later_and_is_checked() -> None:
    agent = ARSQ("MlpPolicy", "Pendulum-v1", buffer_size=10, policy_kwargs={"net_arch": [4]})
    agent.imitation_ratio = 0.25
    assert agent.settings.imitation_ratio == 0.25
    with pytest.raises(ValueError, match="ent_coef must be above 0, got 0"):
        agent.ent_coef = 0.0
    assert agent.settings.ent_coef == agent.ent_coef == 0.01
    other = SAC("MlpPolicy", "Pendulum-v1", buffer_size=10)
    other.policy_delay = 3
    assert other.settings.policy_delay == 3
    assert other.settings.env is None  # the settings keep no environment alive
