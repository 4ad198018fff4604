"""The default sampler, and what others are made of it."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from tiltyard.agents.language.collect import Collector
from tiltyard.agents.language.context import Context
from tiltyard.agents.language.episodes import Written
from tiltyard.agents.language.samplers.groups import Begun, play_prompts
from tiltyard.agents.language.trainer import PolicyGradient, corrected
from tiltyard.agents.language.update import IMPORTANCE_CAP, importance, policy_gradient_step
from tiltyard.agents.objectives.registry import load
from tiltyard.wrappers.components import Guidance, Prompt

SMALL = {"policy": "chain-sum-base", "group_size": 4, "prompts_per_batch": 2, "max_answer_tokens": 24, "seed": 0}


def agent(env="tiltyard/ChainSum-v0", **settings) -> PolicyGradient:
    return PolicyGradient(env=env, device="cpu", **{**SMALL, **settings})


def rollouts_of(trained: PolicyGradient, guidance: Guidance | None = None, n: int = 4):
    context = Context(trained.policy, trained.env, trained.rng, guidance=guidance or Guidance())
    return Collector(context, n).collect([3, 5])


@pytest.mark.parametrize("cut", [{"top_p": 0.6}, {"top_k": 2}])
def test_what_was_drawn_from_a_cut_distribution_says_so(cut):
    """Only the whole distribution's log-probability was logged, so that nothing could correct for the cut."""
    trained = agent(**cut)
    batch = rollouts_of(trained)
    again = trained.policy.evaluate(batch.tokens, batch.mask)
    assert torch.allclose(batch.logp_old, again.logp * batch.mask, atol=1e-4)  # what is trained is not cut
    gained = (batch.behaviour_logp - batch.logp_old)[batch.mask]
    assert (gained >= -1e-6).all()
    assert gained.max() > 0.05
    assert rollouts_of(agent()).behaviour_logp is None


def test_tokens_of_another_distribution_are_weighed_by_hand():
    batch = rollouts_of(agent())
    other = replace(batch, behaviour_logp=batch.logp_old + torch.where(batch.mask, np.log(4.0), 0.0))
    assert importance(batch) == 1.0
    assert torch.allclose(importance(other)[batch.mask], torch.tensor(0.25))
    likelier = replace(batch, behaviour_logp=batch.logp_old - 5)
    assert (importance(likelier)[batch.mask] == IMPORTANCE_CAP).all()
    assert corrected(other, "weight") is other
    assert torch.equal(corrected(other, "ratio").logp_old, other.behaviour_logp)
    assert torch.equal(corrected(other, "none").logp_old, batch.logp_old)
    assert corrected(other, "none").behaviour_logp is corrected(other, "ratio").behaviour_logp is None
    with pytest.raises(ValueError, match="did you mean 'weight'"):
        agent(correction="weigh")


def test_the_weight_scales_the_gradient():
    norms = []
    for gained in (0.0, np.log(4.0)):
        trained = agent()
        batch = rollouts_of(trained)
        batch = replace(batch, behaviour_logp=batch.logp_old + gained * batch.mask)
        step = policy_gradient_step(trained.policy, load("rloo"), batch, torch.ones(len(batch)))
        norms.append(float(step["grad_norm"]))
    assert norms[1] == pytest.approx(norms[0] / 4, rel=1e-4)


class Told(Guidance):
    """One completion of each group is told something that is not to be learnt."""

    def prompts(self, problems, history):
        return [[Prompt(p.question), Prompt("1+1", trained=p.question), Prompt(p.question)] for p in problems]


def test_a_prompt_may_differ_by_completion_and_its_hint_be_taken_away():
    trained = agent()
    batch = rollouts_of(trained, Told(), n=3)
    prompts = [batch.tokens[row][: int(batch.mask[row].nonzero()[0, 0])].tolist() for row in range(6)]
    assert prompts[0] == prompts[1] == prompts[2] != prompts[3]
    assert list(batch.prompts[1::3]) == ["1+1"] * 2
    again = trained.policy.evaluate(batch.tokens, batch.mask).logp
    assert torch.allclose(batch.logp_old[batch.mask], again[batch.mask], atol=1e-4)
    differs = (batch.behaviour_logp - batch.logp_old).abs().amax(1) > 1e-3
    assert differs.tolist() == [False, True, False] * 2


def test_guidance_that_prompts_another_number_of_completions_is_refused():
    with pytest.raises(ValueError, match="or 4 Prompts for each"):
        rollouts_of(agent(), Told())


def test_an_episode_goes_on_from_what_is_given_of_it():
    """A sampler that branches replays the beginning: whole turns, and part of one."""
    trained = agent("tiltyard/TwentyQuestions-v0", policy="twenty-questions-base")
    context = Context(trained.policy, trained.env, trained.rng)
    problem = context.problems([4])[0]
    prompt = Prompt(problem.question)
    (first,) = play_prompts(context, [4], [prompt])
    turn = first.turns[0]
    said = Written(turn.text, turn.written, turn.logp, turn.entropy)
    half = len(first.turns[1].written) // 2
    part = [getattr(first.turns[1], name)[:half] for name in ("written", "logp", "entropy")]
    (branch,) = play_prompts(context, [4], [prompt], begun=[Begun((said,), Written("", *part))])
    assert branch.turns[0].text == turn.text
    assert branch.turns[1].read.tolist() == first.turns[1].read.tolist()
    assert branch.turns[1].written[:half].tolist() == first.turns[1].written[:half].tolist()
    tokens = np.concatenate([np.concatenate([t.read, t.written]) for t in branch.turns])
    mask = np.concatenate([np.r_[np.zeros(len(t.read), bool), np.ones(len(t.written), bool)] for t in branch.turns])
    logp = np.concatenate([t.logp for t in branch.turns])
    again = context.score(torch.from_numpy(tokens)[None], torch.from_numpy(mask)[None])[0][torch.from_numpy(mask)]
    assert np.allclose(again.numpy(), logp, atol=1e-4)


def test_components_may_ask_the_policy():
    trained = agent()
    context = Context(trained.policy, trained.env, trained.rng)
    batch = context.sample(["1 + 2 - 3", "1 + 2 - 3", "4 + 4"], temperature=0.5)
    assert batch.group.tolist() == [0, 0, 1]
    assert (batch.reward == 0).all()
    assert torch.allclose(batch.logp_old, context.score(batch.tokens, batch.mask), atol=1e-4)
    assert not torch.allclose(batch.behaviour_logp, batch.logp_old, atol=1e-3)
    hidden = context.hidden(batch.tokens)
    logp = trained.policy.network.logits(hidden[:, :-1]).log_softmax(-1)
    own = logp.gather(-1, batch.tokens[:, 1:, None])[..., 0]
    assert torch.allclose(own[batch.mask[:, 1:]], batch.logp_old[batch.mask], atol=1e-4)
    graded = context.play([3, 5], group_size=2, deterministic=True)
    assert graded.group.tolist() == [0, 0, 1, 1]
    assert graded.completions[0] == graded.completions[1]
    assert graded.references() == [context.problems([seed])[0].solve() for seed in (3, 3, 5, 5)]
    assert context.detokenize(context.tokenize("12 + 3")) == "12 + 3"
    with pytest.raises(ValueError, match="no reference is kept"):
        context.score_reference(batch.tokens, batch.mask)
    kept = agent(kl_coef=0.1).context()
    assert torch.allclose(kept.score_reference(batch.tokens, batch.mask), batch.logp_old, atol=1e-4)
    with pytest.raises(ValueError, match="no reference is kept"):
        context.play_reference([3])


def test_the_reference_plays_as_the_policy_did_before_it_learnt():
    trained = agent(kl_coef=0.1)
    trained._callback = trained._setup_learn(1)[1]
    context = trained.context()
    before = context.play([3, 5], group_size=2, deterministic=True)
    with torch.no_grad():
        for weight in trained.policy.network.parameters():
            weight.add_(torch.randn(weight.shape, generator=torch.Generator().manual_seed(0)), alpha=0.1)
    network, after = trained.policy.network, context.play([3, 5], group_size=2, deterministic=True)
    assert after.completions != before.completions
    context.policy.generator.manual_seed(7)
    reference = context.play_reference([3, 5], group_size=2)
    assert reference.group.tolist() == [0, 0, 1, 1]
    written = context.score_reference(reference.tokens, reference.mask)
    assert torch.allclose(reference.logp_old, written, atol=1e-4)
    assert not torch.allclose(reference.logp_old, context.score(reference.tokens, reference.mask), atol=1e-2)
    assert trained.policy.network is network
    again = context.play([3, 5], group_size=2, deterministic=True)
    assert again.completions == after.completions
