"""A GPT that learns to write sonnets, character by character.

    python -m numgrad run examples/gpt.py

A decoder-only transformer (Radford et al., 2018) with the layer normalization before each part.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from common import Losses, options
from torch import nn
from torch.nn import functional as F  # noqa: N812 - the name that everybody gives it

from numgrad.data import sonnets

CONTEXT, WIDTH, HEADS, LAYERS, BATCH = 64, 96, 4, 2, 24


class Block(nn.Module):
    """Causal attention, then a network for each position, both added to their input."""

    def __init__(self) -> None:
        super().__init__()
        self.norms = nn.ModuleList([nn.LayerNorm(WIDTH) for _ in range(2)])
        self.projections = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.network = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, _ = x.shape
        parts = self.projections(self.norms[0](x)).split(WIDTH, dim=2)
        q, k, v = [part.view(batch, length, HEADS, -1).transpose(1, 2) for part in parts]
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(seen.transpose(1, 2).reshape(batch, length, WIDTH))
        return x + self.network(self.norms[1](x))


class GPT(nn.Module):
    """Scores for the character that comes next, at each position."""

    def __init__(self, characters: int) -> None:
        super().__init__()
        self.characters = nn.Embedding(characters, WIDTH)
        self.positions = nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.Sequential(*[Block() for _ in range(LAYERS)])
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, characters)

    def forward(self, indices: torch.Tensor) -> torch.Tensor:
        x = self.characters(indices) + self.positions(torch.arange(indices.shape[1]))
        return self.head(self.norm(self.blocks(x)))

    @torch.no_grad()
    def write(self, indices: torch.Tensor, count: int) -> torch.Tensor:
        """The text with ``count`` characters more, each drawn by its probability after those before it."""
        for _ in range(count):
            scores = self(indices[:, -CONTEXT:])[:, -1]
            indices = torch.cat([indices, torch.multinomial(scores.softmax(-1), 1)], dim=1)
        return indices


def main(arguments: Sequence[str] | None = None) -> Losses:
    """Train, and print a text."""
    given = options("A GPT that learns to write sonnets", 400, arguments)
    torch.manual_seed(given.seed)
    text = sonnets()
    alphabet = sorted(set(text))
    data = torch.tensor([alphabet.index(character) for character in text])

    model = GPT(len(alphabet))
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    losses = Losses()
    for _ in losses.during(given.steps):
        starts = torch.randint(len(data) - CONTEXT, (BATCH,))
        batch = torch.stack([data[start : start + CONTEXT + 1] for start in starts])
        loss = F.cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())

    written = model.write(data[:1].reshape(1, 1), 300)[0]
    print("".join(alphabet[index] for index in written.tolist()))
    losses.draw(given.plot, "A GPT on sonnets")
    return losses


if __name__ == "__main__":
    main()
