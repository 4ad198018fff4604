import math

import numpy as np
import pytest
import torch

from tiltyard.agents.objectives.registry import load
from tiltyard.benchmarks.testbeds.answer_tree import AnswerTree, TreeMethod
from tiltyard.benchmarks.testbeds.course import Course
from tiltyard.benchmarks.testbeds.tree_learner import Learner, learn
from tiltyard.benchmarks.testbeds.tree_task import Tree, TreeTask, node_success
from tiltyard.envs.text import tree as exact


def two_problems(tree: Tree, correct: list[int]) -> TreeTask:
    """Tabular: a feature a problem; every choice is as likely as any other."""
    reward = torch.zeros(2, len(tree), dtype=torch.float64)
    reward[[0, 1], correct] = 1
    base = torch.zeros(2, tree.n_nodes * tree.branching, dtype=torch.float64)
    return TreeTask(tree, torch.eye(2, dtype=torch.float64), reward, base, trained=1)


def test_completions_that_stop_by_hand() -> None:
    # Of two choices, twice: stop; go and stop; go and go.
    tree = Tree(2, 2, stops=True)
    assert tree.choices.tolist() == [[0, 0], [1, 0], [1, 1]]
    assert tree.written.tolist() == [[True, False], [True, True], [True, True]]
    assert tree.nodes[1:].tolist() == [[0, 2], [0, 2]]
    learner = Learner(two_problems(tree, [0, 1]), load("rloo"), seed=0, learning_rate=0.1)
    assert learner.distribution()[0].tolist() == pytest.approx([0.5, 0.25, 0.25])
    rollouts = learner.write(torch.tensor([0, 1]), torch.tensor([0, 1]))
    assert rollouts.tokens.tolist() == [[0, 0, 0], [1, 1, 0]]
    assert rollouts.mask.tolist() == [[False, True, False], [False, True, True]]
    assert rollouts.logp_old.sum(1).tolist() == pytest.approx([-math.log(2), -2 * math.log(2)])
    assert rollouts.reward.tolist() == [1, 1]
    assert learner.greedy_reward().tolist() == [1, 0]  # ties go to choice 0


def test_the_success_from_each_node_by_hand() -> None:
    # Correct is to stop at once, or to go twice; at a node where nothing is chosen there is nothing to expect.
    task = two_problems(Tree(2, 2, stops=True), [0, 2])
    assert node_success(task, task.base).tolist() == [[0.5, 0, 0], [0.25, 0, 0.5]]
    whole = two_problems(Tree(2, 2), [0, 3])
    assert node_success(whole, whole.base).tolist() == [[0.25, 0.5, 0], [0.25, 0, 0.5]]


def test_probabilities_and_gradients_are_those_of_the_exact_tree() -> None:
    bed = AnswerTree(depth=3, branching=3, trained=2, held_out=1, width=4, correct=3)
    learner = bed.learner(TreeMethod("rloo"), 0.1, 5)
    task = learner.task
    logits = (task.features[0] @ task.base).view(-1, 3).numpy()
    policy = exact.softmax([logits[:1].reshape(3), logits[1:4].reshape(3, 3), logits[4:].reshape(3, 3, 3)])
    rewards = task.reward[0].view(3, 3, 3).numpy()
    assert rewards.sum() == 3
    np.testing.assert_allclose(learner.distribution()[0], exact.node_probabilities(policy)[-1].ravel(), rtol=1e-12)
    (learner.evaluate(*_all_completions(learner)).logp.sum(1).exp() * task.reward[0]).sum().backward()
    gradient = np.concatenate([table.reshape(-1, 3) for table in exact.policy_gradient(policy, rewards)])
    expected = torch.outer(task.features[0], torch.from_numpy(gradient.ravel()))
    np.testing.assert_allclose(learner.weight.grad, expected, atol=1e-12)


def _all_completions(learner: Learner) -> tuple[torch.Tensor, torch.Tensor]:
    everything = torch.arange(len(learner.tree))
    rollouts = learner.write(torch.zeros_like(everything), everything)
    return rollouts.tokens, rollouts.mask


def test_completions_come_as_often_as_they_should() -> None:
    task = AnswerTree(depth=2, branching=3, trained=2, held_out=0, width=4).task(3)
    learner = Learner(task, load("grpo"), seed=0, learning_rate=0.1)
    drawn = learner.sample(torch.arange(2).repeat(20_000))
    seen = [torch.bincount(drawn.info["answer"][drawn.seed == problem], minlength=9) / 20_000 for problem in (0, 1)]
    np.testing.assert_allclose(torch.stack(seen), learner.distribution(), atol=0.015)  # 4 standard errors of 0.0035
    assert (drawn.reward == task.reward[drawn.seed, drawn.info["answer"]]).all()


@pytest.mark.parametrize(
    "handle", ["reinforce", "rloo", "grpo", "ppo", "remax", "spo", "reinforce-plus-plus", "rover", "simpo"]
)
def test_methods_learn_with_all_they_need(handle: str) -> None:
    learner = Learner(two_problems(Tree(2, 3), [4, 4]), load(handle), seed=0, learning_rate=0.1, prompts=1, group=32)
    course = learn(learner, 50, every=50)
    assert course.success[:, 0].tolist()[0] == pytest.approx(1 / 9)
    assert course.success[-1, 0] > 0.8
    assert course.success[-1, 1] == pytest.approx(1 / 9)  # shares no feature
    assert course.completions.tolist() == [0, 50 * (33 if handle == "remax" else 32)]


def test_a_course_by_hand() -> None:
    success = np.array([[0.9, 0.0, 0.2], [0.9, 0.2, 0.6], [0.9, 0.5, 1.0]])
    course = Course(np.array([0, 10, 40]), success, np.zeros((3, 3)), trained=1)
    assert course.held_out.tolist() == pytest.approx([0.1, 0.4, 0.75])
    assert course.mean_held_out == pytest.approx((10 * 0.25 + 30 * 0.575) / 40)
    assert course.pass_at(2) == pytest.approx((0.75 + 1) / 2)
    assert (course.completions_until(0.4), course.completions_until(0.8)) == (10, math.inf)
