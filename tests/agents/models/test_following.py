"""A network that reads along, and nuclei."""

import numpy as np
import pytest
import torch

from tiltyard.agents.models.following import Follower, nucleus
from tiltyard.agents.models.generation import Progress, generate
from tiltyard.agents.models.tokenizer import END, Tokenizer
from tiltyard.agents.models.transformer import Transformer

TOKENIZER = Tokenizer()


def network(seed: int) -> Transformer:
    torch.manual_seed(seed)
    made = Transformer(TOKENIZER.vocabulary_size, width=32, depth=2, heads=2)
    made.forbidden[END] = 4.0  # so that completions end at different times
    return made


@pytest.mark.parametrize("batch_size", [3, 16])
def test_it_sees_what_one_pass_over_the_whole_text_sees(batch_size):
    """Also where completions end at different times and others take their places."""
    writer, other = network(0), network(1)
    texts = ("1 + 1", "what is it?", "1 + 1", "x", "go north", "what is it?", "y")
    prompts = [TOKENIZER.prompt(text) for text in texts]
    seen: dict[tuple[int, int], torch.Tensor] = {}
    follower: list[Follower] = []

    def mask(progress: Progress) -> torch.Tensor:
        if not follower:
            follower.append(Follower(other, progress.prompts, progress.written.shape[1], len(progress.row)))
        logits = follower[0].logits(progress)
        for row, said, found in zip(progress.row.tolist(), progress.written, logits, strict=True):
            seen[row, int((said != 0).sum())] = found
        return torch.ones(logits.shape, dtype=torch.bool)

    made = generate(
        writer,
        prompts,
        max_new_tokens=30,
        batch_size=batch_size,
        mask=mask,
        generator=torch.Generator().manual_seed(0),
    )
    assert len(set(made.length.tolist())) > 3
    assert len(seen) == int(made.length.sum())
    for row, prompt in enumerate(prompts):
        written = made.tokens[row, : int(made.length[row])].numpy()
        whole = other.logits(other(torch.from_numpy(np.concatenate([prompt, written]))[None])[0])
        for n in range(len(written)):
            torch.testing.assert_close(seen[row, n], whole[len(prompt) - 1 + n], rtol=1e-4, atol=1e-4)


def test_nuclei_by_hand():
    p = torch.tensor([[0.1, 0.5, 0.15, 0.25], [0.97, 0.01, 0.01, 0.01]])
    assert nucleus(p, 0.7).tolist() == [[False, True, False, True], [True, False, False, False]]
    assert nucleus(p, 0.76)[0].tolist() == [False, True, True, True]
    assert nucleus(p, 0.5, min_tokens=3).sum(1).tolist() == [3, 3]
    assert nucleus(p, 1.0).all()
