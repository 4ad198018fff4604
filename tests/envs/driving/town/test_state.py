import pytest

from tiltyard.envs.driving.town.episode import EPISODE
from tiltyard.envs.driving.town.state import AGENT, ROUTE, allocate, bytes_a_world


def test_a_world_of_32_agents_fits_in_20_kilobytes():
    batch = allocate(3, 32, crossings=40)
    assert batch.agents.shape == (3, 32)
    assert bytes_a_world(batch) == (sum(a[0].nbytes for n, a in batch._asdict().items() if n != "logs"))
    assert 32 * (AGENT.itemsize + 4 * ROUTE) < bytes_a_world(batch) < 20_000
    assert bytes_a_world(batch) + 32 * EPISODE.itemsize < 20_000  # if policies drive all of them


@pytest.mark.parametrize(("worlds", "agents", "said"), [(0, 4, "at least one world"), (1, 0, "0"), (1, 129, "128")])
def test_impossible_sizes_are_refused(worlds, agents, said):
    with pytest.raises(ValueError, match=said):
        allocate(worlds, agents)
