"""Critics of whole utterances, and the turns of past episodes that they learn from."""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from ..objectives.ops import turn_ends
from .rollouts import Rollouts
from .tokenizer import Tokens, pad_right
from .transformer import Transformer
from .update import pieces


class Transition(NamedTuple):
    """One turn of an episode; its tokens hold the history, then the utterance, then what makes the next history."""

    tokens: Tokens
    said: int  # where the utterance begins: tokens before it are the history
    heard: int  # where the environment's message begins: tokens before it are history and utterance
    reward: float
    done: bool  # the episode ended with this turn, and tokens with its utterance

    @property
    def history(self) -> Tokens:
        """What the policy had read before it spoke."""
        return self.tokens[: self.said]


def transitions(rollouts: Rollouts) -> Iterator[Transition]:
    """The turns of episodes, which must have ``step_reward``."""
    ends = turn_ends(rollouts.turn, rollouts.mask)
    columns = (rollouts.tokens, rollouts.mask, ends, rollouts.need("step_reward"))
    for tokens, mask, end, reward in zip(*(column.cpu().numpy() for column in columns), strict=True):
        begins = np.flatnonzero(mask & ~np.append(False, mask[:-1] & ~end[:-1]))  # first written token of each turn
        stops = np.flatnonzero(end) + 1
        for k, (said, heard) in enumerate(zip(begins.tolist(), stops.tolist(), strict=True)):
            done = k + 1 == len(begins)
            until = heard if done else int(begins[k + 1])
            yield Transition(tokens[:until].copy(), said, heard, float(reward[heard - 1]), done)


class Replay:
    """The last ``capacity`` turns."""

    def __init__(self, capacity: int) -> None:
        self.kept: deque[Transition] = deque(maxlen=capacity)

    def __len__(self) -> int:
        return len(self.kept)

    def add(self, found: Iterable[Transition]) -> None:
        """Takes in turns; the oldest go."""
        self.kept.extend(found)

    def sample(self, n: int, rng: np.random.Generator) -> list[Transition]:
        """``n`` turns, drawn with replacement."""
        return [self.kept[i] for i in rng.integers(len(self.kept), size=n)]

    def state_dict(self) -> dict[str, Tensor]:
        """Everything as tensors."""
        flat = np.concatenate([one.tokens for one in self.kept]) if self.kept else np.zeros(0, np.int64)
        marks = [(len(one.tokens), one.said, one.heard, one.done) for one in self.kept]
        return {
            "tokens": torch.from_numpy(flat),
            "marks": torch.tensor(marks, dtype=torch.int64).view(-1, 4),
            "reward": torch.tensor([one.reward for one in self.kept], dtype=torch.float64),
        }

    def load_state_dict(self, state: Mapping[str, Tensor], strict: bool = True) -> None:
        """Becomes what :meth:`state_dict` described."""
        self.kept.clear()
        tokens, stop = state["tokens"].cpu().numpy(), 0
        for (length, said, heard, done), reward in zip(state["marks"].tolist(), state["reward"].tolist(), strict=True):
            self.kept.append(Transition(tokens[stop : stop + length].copy(), said, heard, reward, bool(done)))
            stop += length


class Values(NamedTuple):
    """What two critics say of each of B turns."""

    q: Tensor  # [2, B] Q(history, utterance)
    v: Tensor  # [2, B] V(history)
    v_next: Tensor  # [2, B] V(next history); of the utterance's end where the episode ended, and then without meaning


class TurnCritics(nn.Module):
    """Two Q(history, utterance) and two V(history) on one encoder, a copy of the policy's network as it is now.

    The encoder reads history and utterance in one pass; its state behind the history and the one behind the utterance
    encode the two. Every head is a small network, and all begin at 0.

    Args:
        network: is copied.
        rng: draws the heads' weights.
    """

    def __init__(self, network: Transformer, rng: torch.Generator) -> None:
        super().__init__()
        self.body = deepcopy(network).requires_grad_(True)
        self.q = nn.ModuleList(_head(2 * network.width, network.width, rng) for _ in range(2))
        self.v = nn.ModuleList(_head(network.width, network.width, rng) for _ in range(2))
        self.to(network.embedding.weight.device)

    def forward(self, turns: Sequence[Transition]) -> Values:
        """Values of B turns."""
        device = self.body.embedding.weight.device
        hidden = self.body(torch.from_numpy(pad_right([turn.tokens for turn in turns])).to(device))
        places = torch.tensor([(turn.said, turn.heard, len(turn.tokens)) for turn in turns], device=device) - 1
        rows = torch.arange(len(turns), device=device)
        history, utterance, following = (hidden[rows, places[:, k]] for k in range(3))
        both = torch.cat((history, utterance), 1)
        return Values(
            torch.stack([head(both)[:, 0] for head in self.q]),
            torch.stack([head(history)[:, 0] for head in self.v]),
            torch.stack([head(following)[:, 0] for head in self.v]),
        )

    @torch.no_grad()
    def advantages(self, turns: Sequence[Transition]) -> Tensor:
        """A = min over critics of Q - min over critics of V; ``[B]``."""
        found = torch.zeros(len(turns), device=self.body.embedding.weight.device)
        for rows in similar(turns):
            values: Values = self([turns[row] for row in rows])
            found[rows] = values.q.amin(0) - values.v.amin(0)
        return found

    @torch.no_grad()
    def follow(self, other: "TurnCritics", tau: float) -> None:
        """Moves all weights towards ``other``'s by the share ``tau``."""
        for own, theirs in zip(self.parameters(), other.parameters(), strict=True):
            own.lerp_(theirs, tau)


def similar(turns: Sequence[Transition]) -> Iterator[list[int]]:
    """Rows of turns of similar length together, in pieces whose activations stay in the processor's cache."""
    lengths = torch.tensor([len(turn.tokens) for turn in turns])
    for rows, _ in pieces(torch.arange(int(lengths.amax())) < lengths[:, None]):
        yield rows.tolist()


def critic_loss(values: Values, v_next: Tensor, q_fresh: Tensor, reward: Tensor, done: Tensor, gamma: float) -> Tensor:
    """The sum over both critics of mean (Q - (r + gamma (1 - done) V_target(s')))^2 + mean (V - Q_target(s, u'))^2.

    Args:
        values: of the turns.
        v_next: ``[2, B]`` V(s') of the target critics.
        q_fresh: ``[2, B]`` Q(s, u') of the target critics, u' being what the policy says now.
        reward: ``[B]`` of the turns.
        done: ``[B]``, 1 where the episode ended.
        gamma: discount a turn.
    """
    target = reward + gamma * (1 - done) * v_next
    return (values.q - target).square().mean(1).sum() + (values.v - q_fresh).square().mean(1).sum()


def _head(width: int, hidden: int, rng: torch.Generator) -> nn.Sequential:
    layers = [nn.Linear(width, hidden), nn.Linear(hidden, hidden), nn.Linear(hidden, 1)]
    with torch.no_grad():
        for layer in layers:
            layer.weight.copy_(torch.randn(layer.weight.shape, generator=rng) * (2 / layer.in_features) ** 0.5)
            layer.bias.zero_()
        layers[-1].weight.zero_()
    return nn.Sequential(layers[0], nn.ReLU(), layers[1], nn.ReLU(), layers[2])
