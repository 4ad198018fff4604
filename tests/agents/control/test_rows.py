import gymnasium
import numpy as np
import pytest
import torch

from tiltyard.agents import make
from tiltyard.agents.catalogue import find
from tiltyard.benchmarks.studies import practice

ARM = ("PegInsertion", "BoardInsertion", "CableRouting", "ObjectRelocation", "DrawerDoor")
MAZES = ("PointMaze", "PointMazeMedium", "PointMazeLarge", "AntMaze", "AntMazeMedium", "AntMazeLarge")


@pytest.mark.parametrize("name", [*ARM, *MAZES])
def test_serl_wants_half_the_dimensions_as_entropy_and_others_the_settings_of_rare_success(name: str) -> None:
    env_id = f"tiltyard/{name}-v0"
    env = gymnasium.make(env_id)
    assert env.action_space.shape is not None
    assert find("serl").settings_for(env_id)["target_entropy"] == -env.action_space.shape[0] / 2
    env.close()
    assert find("iql").settings_for(env_id)["expectile"] == 0.9
    assert find("f-dvl-recoil").settings_for(env_id)["divergence"] == "total-variation"


def test_values_of_demonstrations_rise_towards_success() -> None:
    agent = make("serl", practice.TASK, seed=0, device="cpu")
    shown = practice.demonstrations(0)
    agent.learn_offline(shown, 200)
    actions = torch.as_tensor(agent.policy.scale_action(shown.actions))
    with torch.no_grad():
        values = agent.critic.mean(torch.as_tensor(shown.observations), actions).flatten().numpy()
    ends = np.flatnonzero(shown.ends)
    first, last = values[np.append(0, ends[:-1] + 1)], values[ends]
    assert last.mean() == pytest.approx(1, abs=0.15)  # the reward, after which nothing comes
    assert first.mean() < 0.9 * last.mean()  # 35 steps before
