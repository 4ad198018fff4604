"""Novelty, fronts and emitters by worked numbers; the autoencoder learns to reconstruct."""

import numpy as np
import pytest
import torch as th
from gymnasium.spaces import Box, Discrete, MultiDiscrete

from tiltyard.agents.control.stax_networks import LARGEST, Autoencoder, GenomePolicy, check_spaces, outputs_of
from tiltyard.agents.control.stax_parts import Emitter, Individuals, first_front, initial_std, mutated, novelty


def individuals(genomes: list[list[float]], rewards: list[float]) -> Individuals:
    known = th.tensor(genomes), th.tensor(rewards), th.zeros(len(rewards), 1)
    return Individuals(*known, descriptors=th.zeros(len(rewards), 1), surprise=th.zeros(len(rewards)))


def test_novelty_by_hand() -> None:
    archive = th.tensor([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0], [6.0, 8.0]])
    found = novelty(archive[:2], archive, n_neighbors=2)
    assert found.tolist() == pytest.approx([(1 + 5) / 2, (18**0.5 + 5) / 2])
    assert novelty(archive[:1], archive, n_neighbors=15).tolist() == [pytest.approx((1 + 5 + 10) / 3)]
    assert novelty(archive[:1], archive[:1], n_neighbors=2).tolist() == [0.0]


def test_the_first_front_holds_those_that_none_exceeds() -> None:
    novel, better = np.array([1.0, 3.0, 2.0, 3.0, 0.0]), np.array([5.0, 1.0, 2.0, 1.0, 5.0])
    assert first_front(novel, better).tolist() == [0, 1, 2, 3]
    assert first_front(np.array([1.0, 2.0]), np.array([1.0, 2.0])).tolist() == [1]


def test_an_emitters_deviation_is_a_third_of_the_distance_to_the_nearest_genome() -> None:
    others = th.tensor([[0.0, 9.0], [6.0, 8.0]])
    assert initial_std(th.zeros(1, 2), others, 0.05) == pytest.approx(3.0)
    assert initial_std(others[:1], others, 0.05) == 0.05


def test_children_are_parents_plus_normal_noise_within_the_limit() -> None:
    parents = th.tensor([[0.0, 4.9], [1.0, 4.9]])
    children = mutated(parents, 0.5, 4.5, np.random.default_rng(3))
    noise = np.random.default_rng(3).normal(0.0, 0.5, (4, 2))
    wanted = np.clip(np.repeat(parents.numpy(), 2, axis=0) + noise, -4.5, 4.5)
    assert children.numpy() == pytest.approx(wanted, abs=1e-6)
    assert float(children[:, 1].max()) == 4.5


def test_an_emitters_update_keeps_the_best_of_parents_and_children() -> None:
    emitter = Emitter(individuals([[0.0]], [0.1]), std=0.5)
    asked = emitter.ask(2, 5.0, np.random.default_rng(0))
    assert asked.numpy() == pytest.approx(np.random.default_rng(0).normal(0.0, 0.5, (2, 1)))
    emitter.tell(individuals([[1.0], [2.0]], [0.2, 0.4]))
    assert emitter.on_trial
    for reward in (0.3, 0.6, 0.5, 0.9, 1.0):
        assert emitter.ask(2, 5.0, np.random.default_rng(0)).shape == (4, 1)
        emitter.tell(individuals([[3.0], [4.0], [5.0], [reward]], [0.0, 0.0, 0.0, reward]))
    assert emitter.rows is not None
    assert emitter.rows.rewards.tolist() == pytest.approx([1.0, 0.9])
    assert emitter.rows.genomes.flatten().tolist() == pytest.approx([1.0, 0.9])
    assert not emitter.on_trial
    emitter.estimate()
    first = (0.2 + 0.4 + 0.4 + 0.3 + 0.6 + 0.4) / 6
    assert emitter.improvement == pytest.approx((0.6 + 0.5 + 0.9 + 0.6 + 1.0 + 0.9) / 6 - first)


def test_an_emitter_gives_its_first_best_and_later_what_exceeds_it() -> None:
    emitter = Emitter(individuals([[0.0]], [0.1]), std=0.5)
    emitter.tell(individuals([[1.0], [2.0], [3.0]], [0.0, -1.0, 0.0]))
    assert len(emitter.to_archive()) == 0
    emitter.tell(individuals([[4.0], [5.0]], [0.2, 0.3]))
    assert emitter.to_archive().rewards.tolist() == pytest.approx([0.3])
    assert len(emitter.to_archive()) == 0
    emitter.tell(individuals([[6.0], [7.0]], [0.4, 0.5]))
    assert emitter.to_archive().rewards.tolist() == pytest.approx([0.5, 0.4])


def test_an_emitter_keeps_the_latest_of_those_more_novel_than_all_before() -> None:
    emitter = Emitter(individuals([[0.0]], [0.1]), std=0.5)
    emitter.tell(individuals([[1.0], [2.0]], [0.1, 0.2]))
    emitter.note_novel(th.tensor([1.0, 2.0]), keep=3)
    emitter.note_novel(th.tensor([1.5, 3.0]), keep=3)
    emitter.note_novel(th.tensor([4.0, 5.0]), keep=3)
    assert emitter.novel is not None
    assert emitter.novel.genomes.flatten().tolist() == [2.0, 1.0, 2.0]


@pytest.mark.parametrize(("rises", "wanted"), [(False, True), (True, False)])
def test_an_emitter_stagnates_when_rewards_no_longer_rise(rises: bool, wanted: bool) -> None:
    emitter = Emitter(individuals([[0.0]], [0.1]), std=0.5)
    emitter.tell(individuals([[1.0], [2.0]], [0.1, 0.2]))
    for generation in range(131):  # 20 * 1 / 2 + 120 generations, and one more
        assert not emitter.stagnates(1)
        reward = 1.0 + generation if rises else 1.0
        emitter.tell(individuals([[3.0], [3.0]], [reward, reward]))
    assert emitter.stagnates(1) is wanted


def test_the_autoencoder_learns_to_reconstruct_and_tells_the_unknown_by_its_error() -> None:
    rng, th_seed = np.random.default_rng(0), th.manual_seed(0)
    hidden = th.as_tensor(rng.normal(size=(300, 2)), dtype=th.float32)
    views = 100 + 10 * th.tanh(hidden @ th.randn(2, 12, generator=th_seed))
    network = Autoencoder(12, 2, 32, standardise=True)
    optimizer = th.optim.Adam(network.parameters(), lr=3e-3)
    begun, ended = network.learn(views, optimizer, n_epochs=60, batch_size=64, rng=rng)
    assert ended < 0.3 * begun
    descriptors, surprise = network.described(views, 1)
    assert descriptors.shape == (300, 2)
    _, strange = network.described(100 + 10 * th.randn(50, 12, generator=th_seed), 1)
    assert float(strange.mean()) > 2 * float(surprise.mean())
    pairs, errors = network.described(views.reshape(150, 24), 2)
    assert pairs == pytest.approx(descriptors.reshape(150, 4))
    assert errors.numpy() == pytest.approx(surprise.reshape(150, 2).sum(dim=1).numpy(), rel=1e-4)
    with pytest.raises(ValueError, match="two observations"):
        network.learn(views[:1], optimizer, n_epochs=1, batch_size=1, rng=rng)


def test_outputs_of_many_genomes_by_hand() -> None:
    genomes = th.tensor([[1.0, -1.0, 0.5, 2.0, 0.0], [0.0, 0.0, 1.0, 1.0, 1.0]])
    inputs = th.tensor([[0.5, 1.0], [7.0, 7.0]])
    first = np.tanh(2.0 * np.tanh(1.0 * 0.5 - 1.0 * 1.0 + 0.5) + 0.0)
    second = np.tanh(1.0 * np.tanh(1.0) + 1.0)
    assert outputs_of(genomes, inputs, [2, 1, 1]).flatten().tolist() == pytest.approx([first, second])


def test_actions_are_scaled_to_the_box_or_are_the_largest_output() -> None:
    box = GenomePolicy(Box(-1, 1, (2,)), Box(np.float32(2), np.float32(6), (1,)), lambda _: 0.0, net_arch=[])
    genomes, seen = th.tensor([[9.0, 0.0, 0.0], [0.0, 0.0, 0.0]]), np.ones((2, 2), np.float32)
    assert box.act(genomes, seen).flatten() == pytest.approx([6.0, 4.0])
    choices = GenomePolicy(Box(-1, 1, (1,)), Discrete(3, start=5), lambda _: 0.0, net_arch=[])
    assert choices.act(th.tensor([[0.0, 0, 0, 1, 2, 3], [0.0, 0, 0, 1, 3, 2]]), seen[:, :1]).tolist() == [7, 6]


def test_images_are_read_as_shares_of_255() -> None:
    image = Box(0, 255, (1, 8, 8), np.uint8)
    policy = GenomePolicy(image, Discrete(2), lambda _: 0.0)
    assert policy.features(np.full((1, 1, 8, 8), 51, np.uint8)).flatten().tolist() == pytest.approx([0.2] * 64)
    assert policy.widths == [64, 5, 5, 2]


@pytest.mark.parametrize(
    ("observations", "actions", "says"),
    [
        (Discrete(3), Discrete(2), "observes Box spaces.*FlattenObservation"),
        (Box(0, 1, (LARGEST + 1,)), Discrete(2), "at most 12,288 numbers.*not 12,289"),
        (Box(0, 1, (3,)), MultiDiscrete([2, 2]), "acts in Box or Discrete"),
        (Box(0, 1, (3,)), Box(-np.inf, np.inf, (1,)), "needs bounds of actions"),
    ],
)
def test_other_spaces_are_refused_in_one_sentence(observations: object, actions: object, says: str) -> None:
    with pytest.raises(ValueError, match=says) as error:
        check_spaces(observations, actions)  # type: ignore[arg-type]
    assert "\n" not in str(error.value)
