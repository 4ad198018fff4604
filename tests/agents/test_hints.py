"""A keyword that belongs elsewhere is refused with the place where it belongs."""

import pytest

from tiltyard import agents
from tiltyard.agents.hints import ELSEWHERE, hint
from tiltyard.agents.settings import whole_signature

COUNTDOWN = "tiltyard/Countdown-v0"


def test_every_name_of_another_library_leads_to_a_keyword_of_ours():
    assert set(ELSEWHERE.values()) <= set(whole_signature(agents.PolicyGradient).parameters)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("num_generations", "group_size here"),
        ("beta", "kl_coef here; as a parameter of a method"),
        ("max_completion_length", "max_answer_tokens here"),
        ("omega", r'a method \(gigpo, riskpo\) it is given as method_kwargs=\{"omega": ...\}'),
        ("level", r'environments take it: give agents.make, or --set, env_kwargs=\{"level": ...\}'),
    ],
)
def test_a_keyword_of_a_method_an_environment_or_another_library_is_told_where_it_belongs(name, said):
    for make in (agents.PolicyGradient, lambda **given: agents.make("gigpo", **given)):
        with pytest.raises(TypeError, match=f"unknown keyword '{name}'; .*{said}") as caught:
            make(env=COUNTDOWN, **{name: 1})
        assert "\n" not in str(caught.value)


def test_only_agents_that_take_what_a_hint_names_give_it():
    assert (
        hint("omega", ["env", "gamma"]) == "" == hint("num_generations", ["env", "gamma"]) == hint("level", ["gamma"])
    )
    with pytest.raises(
        TypeError, match=r'SAC: unknown keyword \'level\'; environments take it: .*env_kwargs=\{"level"'
    ):
        agents.make("sac", "tiltyard/Hopper-v5", level=2)


def test_what_the_hint_says_works():
    small = {"policy": "transformer-100k", "max_answer_tokens": 6, "seed": 0, "prompts_per_batch": 1}
    made = agents.make("gigpo", COUNTDOWN, **small, method_kwargs={"omega": 0.25}, env_kwargs={"level": 2})
    assert made.objective.params["omega"] == 0.25
    assert made.env.unwrapped.env.spec.kwargs["level"] == 2
