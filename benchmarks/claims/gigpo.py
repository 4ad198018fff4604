"""Does credit from equal states teach what credit from whole episodes does not?

An errand on a grid of 5 x 5 cells, some of them walls: fetch a parcel, then bring it to a door, in 30 moves at most. A
move is a token; the reward is 1 for a parcel brought and 0 otherwise. The policy is a small network that sees where it
is and where it has to go next, so that what one errand teaches changes all others. Each update draws eight errands and
plays each eight times; episodes come back to cells, bump into walls and meet each other's, as agents do in a household
or a shop. Success is no estimate: it is computed by moving the policy's distribution over states forward, on errands
that were not trained on.

All arms run through the catalogue:

* ``gigpo``, as in its row, and ``gigpo, scaled``, where both of its advantages are divided by their group's standard
  deviation; the authors have either;
* ``episodes alone``: ``gigpo`` with omega = 0, which is group-relative credit without the standard deviation;
* ``grpo``, as in its row but for the KL penalty;
* ``episodes alone, discounted``: a parcel brought in n moves earns gamma ** (n - 1). GiGPO's steps are discounted, so
  that it learns to be quick too; this arm says how much of its lead that is.

Each arm has the best of three learning rates by the same score on grids of its own. The score is success averaged over
training, which is high for learning soon and well; the effect is that of GiGPO's better arm minus that of the best
other arm.
"""

from collections.abc import Collection
from dataclasses import asdict, dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch as th
from torch import Tensor, nn

from ...agents.language.rollouts import PolicyOut, Rollouts
from ...agents.objectives.registry import Objective, load
from ..statistics import Floats
from .comparisons import best_rates, interval, summary
from .harness import Claim, Measurement

CLAIM = Claim(
    handle="gigpo",
    sentence="Comparing actions taken in equal states within a group makes agents succeed more often than GRPO's "
    "credit for whole episodes, from the same rollouts (Feng et al. 2025, abstract)",
    effect="held-out success over training of GiGPO's better arm minus that of the best with credit for episodes alone",
)

SEEDS, TUNING_SEEDS = 12, 2
SIDE, WALLS, MOVES = 5, 4, 30
CELLS = SIDE * SIDE
ERRANDS, GROUP, HELD_OUT = 8, 8, 64
UPDATES, EVERY, HIDDEN = 100, 10, 32
RATES = (0.01, 0.03, 0.1)
GAMMA = 0.95

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Arm:
    """A method, and whether the reward of a parcel brought is discounted."""

    handle: str
    omega: float = 0.0
    scale: bool = False
    discounted: bool = False

    def objective(self) -> Objective:
        """From the catalogue."""
        if self.handle == "grpo":
            return load("grpo", kl_coef=0.0)
        return load("gigpo", omega=self.omega, gamma=GAMMA, scale=self.scale)


ARMS = {
    "gigpo": Arm("gigpo", 1.0),
    "gigpo, scaled": Arm("gigpo", 1.0, scale=True),
    "episodes alone": Arm("gigpo"),
    "grpo": Arm("grpo"),
    "episodes alone, discounted": Arm("gigpo", discounted=True),
}
OURS = ("gigpo", "gigpo, scaled")
OTHERS = ("episodes alone", "grpo", "episodes alone, discounted")


class Grid:
    """Cells that can all be reached: ``leads_to`` ``[cells, 4]`` is the cell after a move; walls and edges hold back.

    ``free`` are the cells without walls.
    """

    def __init__(self, rng: np.random.Generator) -> None:
        while True:
            wall = np.zeros((SIDE + 2, SIDE + 2), bool)
            wall[[0, -1]] = wall[:, [0, -1]] = True
            cells = rng.permutation(CELLS)
            wall[1 + cells[:WALLS] // SIDE, 1 + cells[:WALLS] % SIDE] = True
            row, column = 1 + np.arange(CELLS) // SIDE, 1 + np.arange(CELLS) % SIDE
            moved = [(row + down, column + right) for down, right in ((-1, 0), (1, 0), (0, -1), (0, 1))]
            there = np.stack([(r - 1) * SIDE + c - 1 for r, c in moved], 1)
            blocked = np.stack([wall[r, c] for r, c in moved], 1)
            self.leads_to: Ints = np.where(blocked, np.arange(CELLS)[:, None], there)
            self.free: Ints = cells[WALLS:]
            if self._reached_from(int(self.free[0])) == len(self.free):
                return

    def _reached_from(self, cell: int) -> int:
        seen = np.zeros(CELLS, bool)
        seen[cell] = True
        for _ in range(CELLS):
            seen[self.leads_to[seen]] = True
        return int(seen.sum())

    def errands(self, n: int, rng: np.random.Generator, *, but: Collection[tuple[int, ...]] = ()) -> Ints:
        """Where to start, fetch and bring, ``[n, 3]``, three different cells each; none of those in ``but``."""
        drawn: list[tuple[int, ...]] = []
        while len(drawn) < n:
            errand = tuple(rng.permutation(self.free)[:3].tolist())
            if errand not in but:
                drawn.append(errand)
        return np.array(drawn)


class Mover(nn.Module):
    """A policy: ``self()`` is the log-probability of each move, ``[cells, goals, 4]``, at a cell with a goal."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        generator = th.Generator().manual_seed(seed)
        self.cell, self.goal = (nn.Parameter(th.randn(CELLS, HIDDEN, generator=generator)) for _ in range(2))
        self.out = nn.Parameter(0.1 * th.randn(HIDDEN, 4, generator=generator))

    def forward(self) -> Tensor:
        """See the class."""
        return ((self.cell[:, None] + self.goal[None]).tanh() @ self.out).log_softmax(-1)


class Episodes(NamedTuple):
    """Errands run: B episodes of T moves at most; whatever comes after ``length`` is not part of them."""

    cell: Ints  # [B, T]
    goal: Ints  # [B, T] the parcel's cell, then the door's
    carries: Ints  # [B, T] 0 or 1
    move: Ints  # [B, T]
    length: Ints  # [B]
    won: npt.NDArray[np.bool_]  # [B]


def play(grid: Grid, errands: Ints, chances: Floats, rng: np.random.Generator) -> Episodes:
    """One episode of each errand ``[B, 3]`` with the chances of each move ``[cells, goals, 4]``."""
    below = chances.cumsum(-1)[..., :3]
    cell, parcel, door = errands.T
    carries, done, length = np.zeros(len(cell), np.int64), np.zeros(len(cell), bool), np.zeros(len(cell), np.int64)
    columns: list[tuple[Ints, ...]] = []
    for _ in range(MOVES):
        goal = np.where(carries, door, parcel)
        move = (rng.random((len(cell), 1)) > below[cell, goal]).sum(1)
        columns.append((cell, goal, carries, move))
        length += ~done
        there = grid.leads_to[cell, move]
        done = done | ((carries == 1) & (there == door))
        carries, cell = carries | (there == parcel), there
    cells, goals, loads, moves = (np.stack(column, 1) for column in zip(*columns, strict=True))
    return Episodes(cells, goals, loads, moves, length, done)


def success(grid: Grid, errands: Ints, chances: Floats) -> float:
    """The exact probability that an errand is done in time, mean over errands ``[N, 3]``."""
    start, parcel, door = errands.T
    rows = np.arange(len(errands))
    onward = np.zeros((len(errands), CELLS, 2, CELLS))  # to each cell, from each, without the parcel and with it
    for carries, goal in enumerate((parcel, door)):
        for move in range(4):
            onward[:, np.arange(CELLS), carries, grid.leads_to[:, move]] += chances[:, goal, move].T
    empty, loaded, brought = np.zeros((len(errands), CELLS)), np.zeros((len(errands), CELLS)), np.zeros(len(errands))
    empty[rows, start] = 1.0
    for _ in range(MOVES):
        empty, loaded = (np.einsum("nc,ncd->nd", at, onward[:, :, k]) for k, at in enumerate((empty, loaded)))
        brought += loaded[rows, door]
        loaded[rows, door] = 0.0
        loaded[rows, parcel] += empty[rows, parcel]
        empty[rows, parcel] = 0.0
    return float(brought.mean())


def as_rollouts(arm: Arm, found: Episodes, logp: Tensor) -> Rollouts:
    """Episodes as objectives read them: a turn is one token, ``GROUP`` episodes after each other are a group."""
    size, length, won = len(found.length), th.from_numpy(found.length), th.from_numpy(found.won).float()
    turn = th.arange(MOVES).expand(size, MOVES)
    group = th.arange(size) // GROUP
    return Rollouts(
        tokens=th.from_numpy(found.move),
        mask=turn < length[:, None],
        logp_old=logp.detach(),
        logp_ref=None,
        reward=won * GAMMA ** (length - 1) if arm.discounted else won,
        group=group,
        seed=group,
        turn=turn,
        length=length,
        entropy=th.zeros(size, MOVES),
        step_reward=(turn == length[:, None] - 1) * won[:, None],
        state=th.from_numpy(2 * found.cell + found.carries),
    )


def course(name: str, rate: float, seed: int) -> Floats:
    """Held-out success of an arm at the start and after every ``EVERY`` updates."""
    arm, rng = ARMS[name], np.random.default_rng([2505, seed])
    grid, policy, objective = Grid(rng), Mover(seed), arm.objective()
    held_out = grid.errands(HELD_OUT, rng)
    unseen = set(map(tuple, held_out.tolist()))
    optimizer = th.optim.Adam(policy.parameters(), lr=rate)
    found = []
    for update in range(UPDATES + 1):
        logps = policy()
        chances = logps.detach().exp().double().numpy()
        if update % EVERY == 0:
            found.append(success(grid, held_out, chances))
        played = play(grid, grid.errands(ERRANDS, rng, but=unseen).repeat(GROUP, 0), chances, rng)
        logp = logps[played.cell, played.goal, played.move]
        rollouts = as_rollouts(arm, played, logp)
        loss, _ = objective(rollouts, PolicyOut(logp, rollouts.entropy))
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    return np.array(found)


def measure(*, seeds: int | None = None) -> Measurement:
    """Trains every arm on ``seeds`` grids (12 by default), after choosing its learning rate: half a minute."""
    count = SEEDS if seeds is None else seeds
    rates = best_rates(
        lambda arm, rate, seed: float(course(arm, rate, seed).mean()),
        ARMS,
        seeds=min(count, TUNING_SEEDS),
        grid=RATES,
    )
    found = {arm: np.array([course(arm, rates[arm], seed) for seed in range(count)]) for arm in ARMS}
    score = {arm: courses.mean(1) for arm, courses in found.items()}
    ours, best = (max(arms, key=lambda arm: float(score[arm].mean())) for arms in (OURS, OTHERS))
    ends = {arm: courses[:, -1] for arm, courses in found.items()}
    details = {
        "seeds": count,
        "updates": UPDATES,
        "episodes an update": ERRANDS * GROUP,
        "learning rates": {"grid": list(RATES), "tuning seeds": min(count, TUNING_SEEDS), "chosen": rates},
        "success before training": float(found[ours][:, 0].mean()),
        "success over training": summary(score),
        "success at the end": summary(ends),
        "GiGPO's better arm": ours,
        "best other arm": best,
        f"{ours} minus each": summary({arm: score[ours] - score[arm] for arm in OTHERS}),
        f"success at the end, {ours} minus each": summary({arm: ends[ours] - ends[arm] for arm in OTHERS}),
        "gigpo minus episodes alone": asdict(interval(score["gigpo"] - score["episodes alone"])),
    }
    return Measurement(interval(score[ours] - score[best], 50), details)
