import math

import numpy as np
import pytest
import torch

from tiltyard.agents.objectives.registry import load
from tiltyard.benchmarks.claims import harness, laboratory
from tiltyard.benchmarks.claims.laboratory import Student, Tree, World, compare, draw_world, learn, weakest
from tiltyard.envs.text import tree as exact


def two_problems(tree: Tree, right: list[int]) -> World:
    """Tabular: a feature a problem; every choice is as likely as any other."""
    reward = torch.zeros(2, len(tree), dtype=torch.float64)
    reward[[0, 1], right] = 1
    base = torch.zeros(2, tree.n_nodes * tree.branching, dtype=torch.float64)
    return World(tree, torch.eye(2, dtype=torch.float64), reward, base, trained=1)


def test_answers_that_stop_by_hand() -> None:
    # Of two choices, twice: stop; go and stop; go and go.
    tree = Tree(2, 2, stops=True)
    assert tree.choices.tolist() == [[0, 0], [1, 0], [1, 1]]
    assert tree.written.tolist() == [[True, False], [True, True], [True, True]]
    assert tree.nodes[1:].tolist() == [[0, 2], [0, 2]]
    student = Student(two_problems(tree, [0, 1]), load("rloo"), seed=0, learning_rate=0.1)
    assert student.distribution()[0].tolist() == pytest.approx([0.5, 0.25, 0.25])
    rollouts = student.write(torch.tensor([0, 1]), torch.tensor([0, 1]))
    assert rollouts.tokens.tolist() == [[0, 0, 0], [1, 1, 0]]
    assert rollouts.mask.tolist() == [[False, True, False], [False, True, True]]
    assert rollouts.logp_old.sum(1).tolist() == pytest.approx([-math.log(2), -2 * math.log(2)])
    assert rollouts.reward.tolist() == [1, 1]
    assert student.greedy_reward().tolist() == [1, 0]  # ties go to choice 0


def test_probabilities_and_gradients_are_those_of_the_exact_tree() -> None:
    tree = Tree(3, 3)
    world = draw_world(5, tree, trained=2, held_out=1, width=4, right=3)
    student = Student(world, load("rloo"), seed=0, learning_rate=0.1)
    logits = (world.features[0] @ world.base).view(-1, 3).numpy()
    policy = exact.softmax([logits[:1].reshape(3), logits[1:4].reshape(3, 3), logits[4:].reshape(3, 3, 3)])
    rewards = world.reward[0].view(3, 3, 3).numpy()
    assert rewards.sum() == 3
    np.testing.assert_allclose(student.distribution()[0], exact.node_probabilities(policy)[-1].ravel(), rtol=1e-12)
    (student.evaluate(*_all_answers(student)).logp.sum(1).exp() * world.reward[0]).sum().backward()
    gradient = np.concatenate([table.reshape(-1, 3) for table in exact.policy_gradient(policy, rewards)])
    expected = torch.outer(world.features[0], torch.from_numpy(gradient.ravel()))
    np.testing.assert_allclose(student.weight.grad, expected, atol=1e-12)


def _all_answers(student: Student) -> tuple[torch.Tensor, torch.Tensor]:
    everything = torch.arange(len(student.tree))
    rollouts = student.write(torch.zeros_like(everything), everything)
    return rollouts.tokens, rollouts.mask


def test_answers_come_as_often_as_they_should() -> None:
    world = draw_world(3, Tree(2, 3), trained=2, held_out=0, width=4)
    student = Student(world, load("grpo"), seed=0, learning_rate=0.1)
    drawn = student.sample(torch.arange(2).repeat(20_000))
    seen = [torch.bincount(drawn.info["answer"][drawn.seed == problem], minlength=9) / 20_000 for problem in (0, 1)]
    np.testing.assert_allclose(torch.stack(seen), student.distribution(), atol=0.015)  # 4 standard errors of 0.0035
    assert (drawn.reward == world.reward[drawn.seed, drawn.info["answer"]]).all()


@pytest.mark.parametrize(
    "handle", ["reinforce", "rloo", "grpo", "ppo", "remax", "spo", "reinforce-plus-plus", "rover", "simpo"]
)
def test_methods_learn_with_all_they_need(handle: str) -> None:
    student = Student(two_problems(Tree(2, 3), [4, 4]), load(handle), seed=0, learning_rate=0.1, prompts=1, group=32)
    course = learn(student, 50, every=50)
    assert course.success[:, 0].tolist()[0] == pytest.approx(1 / 9)
    assert course.success[-1, 0] > 0.8
    assert course.success[-1, 1] == pytest.approx(1 / 9)  # shares no feature
    assert course.answers.tolist() == [0, 50 * (33 if handle == "remax" else 32)]


def test_a_course_by_hand() -> None:
    success = np.array([[0.9, 0.0, 0.2], [0.9, 0.2, 0.6], [0.9, 0.5, 1.0]])
    course = laboratory.Course(np.array([0, 10, 40]), success, np.zeros((3, 3)), trained=1)
    assert course.held_out.tolist() == pytest.approx([0.1, 0.4, 0.75])
    assert course.mean_held_out == pytest.approx((10 * 0.25 + 30 * 0.575) / 40)
    assert course.pass_at(2) == pytest.approx((0.75 + 1) / 2)
    assert (course.answers_until(0.4), course.answers_until(0.8)) == (10, math.inf)


def test_each_arm_gets_the_rate_that_suits_it_on_seeds_of_their_own() -> None:
    ran = []

    def run(arm: str, rate: float, seed: int) -> laboratory.Course:
        ran.append(seed)
        held_out = 1 - abs(rate - {"slow": 0.01, "fast": 0.09}[arm])
        return laboratory.Course(np.array([0, 1]), np.full((2, 1), held_out + seed), np.zeros((2, 1)), trained=0)

    arms = compare(run, ("slow", "fast"), seeds=3)
    assert {name: arm.rate for name, arm in arms.items()} == {"slow": 0.01, "fast": 0.1}
    assert arms["fast"].each(lambda course: course.mean_held_out).tolist() == pytest.approx([0.99, 1.99, 2.99])
    assert ran == [1000, 1001, 1002, 1003] * 8 + [0, 1, 2] * 2


def test_the_weakest_part_decides() -> None:
    assert weakest({"a": [1.0, 1.0, 1.0], "b": [0.5, 0.5, 0.5]}).estimate == 0.5
    parts = weakest({"a": [1.0, 1.1, 0.9, 1.0], "b": [0.1, -0.3, 0.2, 0.1]})
    assert parts.low < 0 < parts.high < 0.3


def test_parts_that_may_all_hold_are_not_refuted_together() -> None:
    values = np.random.default_rng(0).normal(size=(20, 8))
    values -= values.mean(0)  # eight parts of which nothing is known
    parts = weakest({str(i): column for i, column in enumerate(values.T)})
    assert parts.low < 0 < parts.high


def test_the_laboratory_is_no_claim() -> None:
    assert not {"laboratory", "comparisons"} & set(harness.claims())
