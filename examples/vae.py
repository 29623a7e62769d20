"""A variational autoencoder of handwritten digits (Kingma and Welling, 2014).

    python -m numgrad run examples/vae.py
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from common import Losses, options
from torch import nn
from torch.distributions import Bernoulli, Independent, Normal, kl_divergence
from torch.utils.data import DataLoader, TensorDataset

from numgrad.data import load_digits

LATENT, WIDTH, BATCH = 8, 128, 64


class VAE(nn.Module):
    """A distribution of codes for an image, and one of images for a code."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 2 * LATENT))
        self.decoder = nn.Sequential(nn.Linear(LATENT, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 64))

    def codes(self, images: torch.Tensor) -> Independent:
        mean, log_scale = self.encoder(images).chunk(2, dim=-1)
        return Independent(Normal(mean, log_scale.exp()), 1)

    def images(self, codes: torch.Tensor) -> Independent:
        return Independent(Bernoulli(logits=self.decoder(codes), validate_args=False), 1)

    def loss(self, images: torch.Tensor) -> torch.Tensor:
        """The negative evidence lower bound, in nats, in the mean."""
        codes = self.codes(images)
        likelihood = self.images(codes.rsample()).log_prob(images)
        prior = Independent(Normal(torch.zeros(LATENT), torch.ones(LATENT)), 1)
        return (kl_divergence(codes, prior) - likelihood).mean()


def main(arguments: Sequence[str] | None = None) -> Losses:
    """Train, and print digits that the network makes up."""
    given = options("A variational autoencoder of handwritten digits", 1500, arguments)
    torch.manual_seed(given.seed)
    ink = torch.from_numpy(load_digits()[0]).flatten(1).float() / 16
    loader = DataLoader(TensorDataset(ink), batch_size=BATCH, shuffle=True, drop_last=True)

    model = VAE()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    losses = Losses()
    batches = iter(loader)
    for step in losses.during(given.steps):
        if step and step % len(loader) == 0:
            batches = iter(loader)
        (batch,) = next(batches)
        loss = model.loss(batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())

    with torch.no_grad():
        made = model.images(torch.randn(6, LATENT)).mean.reshape(6, 8, 8)
    for rows in zip(*made.tolist(), strict=True):
        print("   ".join("".join(" .:*#@"[min(int(6 * level), 5)] * 2 for level in row) for row in rows))
    losses.draw(given.plot, "A variational autoencoder of digits")
    return losses


if __name__ == "__main__":
    main()
