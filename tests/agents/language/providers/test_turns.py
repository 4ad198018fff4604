import torch

from tiltyard.agents.language.providers.turns import Turns


def test_an_episode_of_one_turn_has_its_reward_on_its_last_token(sampled):
    rollouts, context = sampled()
    supplied = Turns().supply(rollouts, context)
    assert torch.allclose(supplied.step_reward.sum(1), rollouts.reward)
    last = torch.tensor([int(row.nonzero()[-1, 0]) for row in rollouts.mask])
    assert torch.allclose(supplied.step_reward[torch.arange(len(last)), last], rollouts.reward)
    state = torch.where(rollouts.mask, supplied.state, 0)
    first = state[torch.arange(len(last)), last]
    same_problem = rollouts.group[:, None] == rollouts.group[None]
    assert torch.equal(first[:, None] == first[None], same_problem)
