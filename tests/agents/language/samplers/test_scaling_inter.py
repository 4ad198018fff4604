import pytest
import torch

from tiltyard.agents.language.collect import Collector
from tiltyard.agents.language.samplers.scaling_inter import ScalingInter
from tiltyard.agents.language.trainer import PolicyGradient

GAME = "tiltyard/GuessMyCity-v0"
SMALL = {"policy": "transformer-100k", "max_answer_tokens": 4, "group_size": 2, "prompts_per_batch": 2, "seed": 0}


def agent(**settings) -> PolicyGradient:
    return PolicyGradient(env=GAME, **{**SMALL, "sampler": "scaling-inter", "device": "cpu", **settings})


def played(trained: PolicyGradient, progress: float):
    trained._callback = trained._setup_learn(1)[1]
    context = trained.context()
    context.progress = progress
    return Collector(context, 2, sampler=trained.sampler).collect([5, 6])


def test_stages_are_equal_shares_of_training():
    sampler = ScalingInter(turns=(2, 5, 9))
    context = agent().context()
    found = []
    for context.progress in (0.0, 0.33, 0.34, 0.66, 0.67, 1.0):
        found.append(sampler.max_turns(context))
    assert found == [2, 2, 5, 5, 9, 9]


def test_episodes_are_cut_off_after_the_turns_of_their_stage():
    trained = agent(sampler={"name": "scaling-inter", "turns": (1, 2)})
    whole = played(agent(sampler="groups"), 0.0)
    assert min(map(len, whole.completions)) == 3  # nothing that is understood
    for progress, turns in ((0.0, 1), (0.5, 2)):
        cut = played(trained, progress)
        assert set(map(len, cut.completions)) == {turns}
        assert int(cut.turn[cut.mask].max()) == turns - 1
        assert not cut.info["success"].any()
        assert torch.isfinite(cut.reward).all()


def test_an_episode_that_ends_by_itself_in_time_is_none_that_was_cut_off():
    settings = {"env": "tiltyard/Countdown-v0", "sampler": {"name": "scaling-inter", "turns": (1,)}}
    one_turn, usual = (
        PolicyGradient(**{**SMALL, "device": "cpu", **settings, **other}) for other in ({}, {"sampler": "groups"})
    )
    a, b = played(one_turn, 0.0), played(usual, 0.0)
    assert torch.equal(a.tokens, b.tokens)
    assert torch.equal(a.info["success"], b.info["success"])


@pytest.mark.parametrize("turns", ["10", (1.5,), 10, (True,)])
def test_turns_that_are_no_numbers_are_refused(turns):
    with pytest.raises(TypeError, match="turns are whole numbers, one for each stage"):
        ScalingInter(turns=turns)


@pytest.mark.parametrize("turns", [(), (0, 5)])
def test_a_stage_has_a_turn(turns):
    with pytest.raises(ValueError, match="turns has a number of at least 1 for each stage"):
        ScalingInter(turns=turns)
