"""A laboratory for methods of language agents in which nothing but training is left to chance.

A *world* has problems whose answers are the paths of one tree of choices (:mod:`tiltyard.envs.text.tree` spells out the
arithmetic for a single problem). A problem is a vector of features; the policy is a softmax at every node, linear in
the features, so that what is learnt from one problem changes all others, as in a language model. Right is what a hidden
policy of the same form, the *teacher*, likes best at every node, and the next best paths; training starts from the
teacher's weights plus noise. Longer feature vectors make surer policies: a world's problems range from nearly solved to
nearly hopeless.

Few enough paths to enumerate: success, pass@k and entropy are exact, on the problems trained on and on others. What is
measured is the methods' own code: objectives come from the registry, and a gradient step is the language trainer's
(:func:`tiltyard.agents.language.update.policy_gradient_step`). An iteration takes about a millisecond a gradient step,
so that a claim can afford dozens of seeds, and a learning rate for every arm from one grid on seeds of its own.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ...agents.language.critic import RATE, STEPS
from ...agents.language.rollouts import PolicyOut, Rollouts
from ...agents.language.tracker import Tracker
from ...agents.language.update import minibatches, policy_gradient_step
from ...agents.objectives.parts.gae import raw_gae
from ...agents.objectives.parts.ops import masked_mean
from ...agents.objectives.registry import Objective
from ..statistics import Floats
from .comparisons import GRID, TUNING, Arm, Course, best_rates, compare, interval, leads, report, summary, weakest

__all__ = [
    "GRID",
    "TUNING",
    "Arm",
    "Course",
    "Student",
    "Tree",
    "World",
    "answer_logp",
    "best_rates",
    "compare",
    "draw_world",
    "interval",
    "leads",
    "learn",
    "node_logp",
    "report",
    "summary",
    "weakest",
]


class Tree:
    """All answers: paths of ``depth`` choices among ``branching``, each node numbered, shallow ones first.

    Args:
        depth: D, choices of a whole path.
        branching: b.
        stops: choice 0 ends an answer, so that answers have 1 to D tokens.

    Attributes:
        choices: ``[L, D]`` of every answer; 0 after a stop.
        written: ``[L, D]`` bool, which of them are part of it.
        nodes: ``[L, D]`` the node at which each is made.
        possible: ``[b^D]`` bool, which paths are answers.
        reached: ``[nodes]`` bool, where an answer may come by.
    """

    def __init__(self, depth: int, branching: int, *, stops: bool = False) -> None:
        self.depth, self.branching = depth, branching
        self.n_nodes = sum(branching**d for d in range(depth))
        paths = torch.from_numpy(np.array(list(np.ndindex(*(branching,) * depth))))
        over = ((paths == 0) & stops).cumsum(1).bool().roll(1, 1)  # a stop came before
        over[:, 0] = False
        possible = ((paths == 0) | ~over).all(1)
        self.choices, self.written = paths[possible], ~over[possible]
        self.nodes = self.node_of(self.choices)
        self.possible = possible
        self.reached = torch.zeros(self.n_nodes, dtype=torch.bool)
        self.reached[self.nodes[self.written]] = True

    def __len__(self) -> int:
        return len(self.choices)

    def node_of(self, choices: Tensor) -> Tensor:
        """The node of each choice ``[B, T]``, from those before it in the row; ``[B, T]`` int64."""
        node, nodes = torch.zeros(len(choices), dtype=torch.int64), []
        for choice in choices.T:
            nodes.append(node)
            node = node * self.branching + choice + 1
        return torch.stack(nodes, 1)


@dataclass(frozen=True)
class World:
    """Problems ``0..trained - 1`` are learnt from, the others held out. N problems, L answers, F features."""

    tree: Tree
    features: Tensor  # [N, F]
    reward: Tensor  # [N, L] of every answer
    base: Tensor  # [F, nodes * b] weights that training starts from
    trained: int


def draw_world(
    seed: int,
    tree: Tree,
    *,
    trained: int = 256,
    held_out: int = 128,
    width: int = 6,
    right: int = 1,
    skill: float = 1.0,
    noise: float = 1.0,
    sureness: tuple[float, float] = (1.0, 4.0),
) -> World:
    """A world of its own for each seed.

    Args:
        seed: decides everything.
        tree: of answers.
        trained: problems to learn from.
        held_out: problems to be judged on only.
        width: F; fewer features tie problems closer together.
        right: right answers a problem.
        skill: weight of the teacher in the base policy.
        noise: weight of noise in it.
        sureness: shortest and longest feature vector; uniform in between.
    """
    rng = np.random.default_rng([2025, seed])
    size = width, tree.n_nodes * tree.branching
    teacher, error = rng.normal(size=size), rng.normal(size=size)
    directions = rng.normal(size=(trained + held_out, width))
    lengths = rng.uniform(*sureness, size=(len(directions), 1))
    features = _tensor(directions / np.linalg.norm(directions, axis=1, keepdims=True) * lengths)
    logits = node_logp(tree, features, _tensor(teacher))
    regret = _along_paths(tree, logits.amax(-1, keepdim=True) - logits)  # 0 on the path liked best, short or long
    reward = torch.zeros_like(regret).scatter(1, regret.topk(right, 1, largest=False).indices, 1.0)
    return World(tree, features, reward, _tensor(skill * teacher + noise * error), trained)


def node_logp(tree: Tree, features: Tensor, weight: Tensor) -> Tensor:
    """Log-probability of every choice at every node, ``[N, nodes, b]``, for features ``[N, F]``."""
    return (features @ weight).view(len(features), tree.n_nodes, tree.branching).log_softmax(-1)


def answer_logp(tree: Tree, features: Tensor, weight: Tensor) -> Tensor:
    """Log-probability of every answer, ``[N, L]``."""
    return _along_paths(tree, node_logp(tree, features, weight))


def _along_paths(tree: Tree, each: Tensor) -> Tensor:
    """The sum over every answer's choices, ``[N, L]``, of a number for each, ``[N, nodes, b]``."""
    each = each * tree.reached[:, None]  # what is not written counts nothing
    total, first = torch.zeros(len(each), 1, dtype=each.dtype), 0
    for d in range(tree.depth):
        size = tree.branching**d
        total = (total[..., None] + each[:, first : first + size]).flatten(1)
        first += size
    return total[:, tree.possible]


class Student:
    """A policy in a world and the method that trains it; a language policy to the trainer's functions.

    Tokens are the problem's number, then the choices. One iteration draws ``prompts`` problems, answers each ``group``
    times and takes ``epochs`` passes of gradient steps, as :class:`~tiltyard.agents.language.PolicyGradient` does; what
    the method's row needs besides (a reference, a critic, greedy answers, a tracker) is supplied.

    Args:
        world: to learn in.
        objective: the method.
        seed: of everything drawn.
        learning_rate: of Adam.
        prompts: problems an iteration.
        group: answers to each.
        epochs: passes over an iteration's answers.
        batch_size: answers a gradient step (None: all).
        critic_rate: the critic's learning rate in learning rates of the policy.
    """

    def __init__(
        self,
        world: World,
        objective: Objective,
        *,
        seed: int,
        learning_rate: float,
        prompts: int = 8,
        group: int = 8,
        epochs: int = 1,
        batch_size: int | None = None,
        critic_rate: float = RATE,
    ) -> None:
        self.world, self.tree, self.objective = world, world.tree, objective
        self.prompts, self.group, self.epochs, self.batch_size = prompts, group, epochs, batch_size
        self.rng, self.generator = np.random.default_rng([1, seed]), torch.Generator().manual_seed(seed)
        self.weight = nn.Parameter(world.base.clone())
        self.network = nn.ParameterList([self.weight])
        self.optimizer = torch.optim.Adam([self.weight], lr=learning_rate, betas=(0.9, 0.98))
        self.tracker, self.critic = Tracker(), Critic(world, critic_rate * learning_rate)
        self.answered = 0

    def evaluate(
        self, tokens: Tensor, mask: Tensor, network: Any = None, *, vocabulary_mean: bool = False
    ) -> PolicyOut:
        """As :meth:`tiltyard.agents.language.policy.TextPolicy.evaluate`; ``network`` may be other weights."""
        weight, choices = self.weight if network is None else network, tokens[:, 1:]
        logits = (self.world.features[tokens[:, 0]] @ weight).view(len(tokens), self.tree.n_nodes, -1)
        logps = logits[torch.arange(len(tokens))[:, None], self.tree.node_of(choices)].log_softmax(-1)  # [B, T, b]
        logp, entropy = logps.gather(-1, choices[..., None])[..., 0], -(logps.exp() * logps).sum(-1)
        columns = [logp, entropy, logps.detach().mean(-1)] if vocabulary_mean else [logp, entropy]
        return PolicyOut(*(nn.functional.pad(torch.where(mask[:, 1:], c, 0.0), (1, 0)) for c in columns))

    @torch.no_grad()
    def write(self, problems: Tensor, answers: Tensor) -> Rollouts:
        """The answers ``[B]`` to problems ``[B]`` as a batch; rows of equal problems are a group."""
        tokens = torch.cat([problems[:, None], self.tree.choices[answers]], 1)
        mask = nn.functional.pad(self.tree.written[answers], (1, 0))
        out = self.evaluate(tokens, mask, vocabulary_mean=True)
        reward = self.world.reward[problems, answers]
        return Rollouts(
            tokens=tokens,
            mask=mask,
            logp_old=out.logp,
            logp_ref=self.evaluate(tokens, mask, self.world.base).logp if "logp_ref" in self.objective.needs else None,
            reward=reward,
            group=problems,
            seed=problems,
            turn=torch.zeros_like(tokens),
            length=mask.sum(1),
            entropy=out.entropy,
            info={"success": reward > 0, "answer": answers},
            logp_mean_old=out.logp_mean,
        )

    @torch.no_grad()
    def sample(self, problems: Tensor) -> Rollouts:
        """An answer to each problem ``[B]``."""
        different, row = torch.unique(problems, return_inverse=True)
        below = answer_logp(self.tree, self.world.features[different], self.weight).exp().cumsum(1)
        drawn = torch.rand(len(problems), 1, dtype=torch.float64, generator=self.generator)
        return self.write(problems, (below[row] <= drawn).sum(1).clamp(max=len(self.tree) - 1))

    def supplied(self, rollouts: Rollouts) -> Rollouts:
        """Answers with what the method's row needs besides them."""
        needs = self.objective.needs
        if "greedy" in needs:
            rollouts = replace(rollouts, baseline=self.greedy_reward()[rollouts.seed])
        if "tracker" in needs:
            rollouts = replace(rollouts, baseline=self.tracker.read(rollouts))
            self.tracker.update(rollouts, lambda tokens, mask: self.evaluate(tokens, mask).logp.detach())
        return replace(rollouts, values=self.critic.values(rollouts).detach()) if "values" in needs else rollouts

    def improve(self, rollouts: Rollouts) -> None:
        """Gradient steps on answers, which may be another policy's."""
        advantage = self.objective.advantage(rollouts)
        size, whole = self.batch_size or len(rollouts), "groups" in self.objective.needs
        policy: Any = self  # all of a policy that the trainer's step asks for
        for _ in range(self.epochs):
            for rows in minibatches(rollouts.group, size, self.rng, whole=whole):
                part, own = rollouts.take(rows), advantage[rows]
                own = own if own.dim() == 1 else own[:, : part.tokens.shape[1]]
                policy_gradient_step(policy, self.objective, part, own)
        if "values" in self.objective.needs:
            self.critic.fit(rollouts, raw_gae(rollouts) + rollouts.need("values"))

    def iterate(self, problems: Tensor | None = None) -> Rollouts:
        """One iteration, on problems ``[prompts]`` drawn without replacement unless given; returns its answers."""
        if problems is None:
            problems = torch.from_numpy(self.rng.choice(self.world.trained, self.prompts, replace=False))
        rollouts = self.supplied(self.sample(problems.repeat_interleave(self.group)))
        self.improve(rollouts)
        self.answered += len(rollouts) + len(problems) * ("greedy" in self.objective.needs)
        return rollouts

    @torch.no_grad()
    def distribution(self) -> Tensor:
        """The probability of every answer to every problem, ``[N, L]``."""
        return answer_logp(self.tree, self.world.features, self.weight).exp()

    @torch.no_grad()
    def greedy_reward(self) -> Tensor:
        """The reward ``[N]`` of the answer made of the likeliest choices."""
        best = node_logp(self.tree, self.world.features, self.weight).argmax(-1)  # [N, nodes]
        taken = (best[:, self.tree.nodes] == self.tree.choices) | ~self.tree.written
        return self.world.reward[taken.all(-1)]


class Critic:
    """A value for every node, linear in the features, which starts at 0 and is fitted as the trainer's critic is."""

    def __init__(self, world: World, learning_rate: float) -> None:
        self.world = world
        self.weight = torch.zeros(world.features.shape[1] + 1, world.tree.n_nodes, dtype=torch.float64)
        self.optimizer = torch.optim.Adam([self.weight.requires_grad_()], lr=learning_rate, betas=(0.9, 0.98))

    def values(self, rollouts: Rollouts) -> Tensor:
        """Values ``[B, T]`` before each token."""
        features = self.world.features[rollouts.tokens[:, 0]]
        all_nodes = nn.functional.pad(features, (0, 1), value=1.0) @ self.weight
        known = all_nodes.gather(1, self.world.tree.node_of(rollouts.tokens[:, 1:]))
        return torch.where(rollouts.mask, nn.functional.pad(known, (1, 0)), 0.0)

    def fit(self, rollouts: Rollouts, returns: Tensor) -> None:
        """Takes a few gradient steps on (V - returns)^2 / 2, the mean over written tokens."""
        for _ in range(STEPS):
            self.optimizer.zero_grad()
            masked_mean((self.values(rollouts) - returns).square() / 2, rollouts.mask).backward()  # type: ignore[no-untyped-call]
            self.optimizer.step()


def learn(student: Student, iterations: int, *, every: int = 10, iterate: Callable[[], Any] | None = None) -> Course:
    """Trains and watches: at the start, and every ``every`` iterations.

    Args:
        student: is changed.
        iterations: how many.
        every: iterations from one moment to the next.
        iterate: another thing to do than ``student.iterate()``; answers it draws itself are its own to count.
    """
    found: list[tuple[int, Floats, Floats]] = []
    for iteration in range(iterations + 1):
        if iteration % every == 0:
            chance = student.distribution()
            success = (chance * (student.world.reward > 0)).sum(1)
            found.append((student.answered, success.numpy(), torch.special.entr(chance).sum(1).numpy()))
        if iteration < iterations:
            (iterate or student.iterate)()
    answers, success_at, entropy = (np.array(column) for column in zip(*found, strict=True))
    return Course(answers, success_at, entropy, student.world.trained)


def _tensor(array: Floats) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(array))
