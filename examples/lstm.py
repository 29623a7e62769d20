"""An LSTM that continues a time series: two waves, the slower of which changes the height of the faster, and noise.

    python -m numgrad run examples/lstm.py
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from common import Losses, options
from torch import nn

LENGTH, WIDTH, BATCH, AHEAD = 48, 48, 32, 100


def series(length: int) -> torch.Tensor:
    """The values at so many times, and noise of standard deviation 0.03 on them."""
    time = torch.arange(length, dtype=torch.float32)
    clean = torch.sin(0.3 * time) * (1 + 0.5 * torch.sin(0.06 * time))
    return clean + 0.03 * torch.randn(length)


class Forecast(nn.Module):
    """The next value after each of a sequence, and the state to go on from."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(1, WIDTH, num_layers=2, batch_first=True)
        self.head = nn.Linear(WIDTH, 1)

    def forward(self, values: torch.Tensor, state: tuple[torch.Tensor, ...] | None = None) -> tuple:
        seen, state = self.lstm(values, state)
        return values + self.head(seen), state


def main(arguments: Sequence[str] | None = None) -> Losses:
    """Train on the first part of a series, continue it, and compare with the rest."""
    given = options("An LSTM that continues a time series", 300, arguments)
    torch.manual_seed(given.seed)
    values = series(1200)
    known, future = values[:-AHEAD], values[-AHEAD:]
    windows = known.unfold(0, LENGTH + 1, 1).unsqueeze(2)

    model = Forecast()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, given.steps)
    losses = Losses()
    for _ in losses.during(given.steps):
        batch = windows[torch.randint(len(windows), (BATCH,))].transpose(1, 2).reshape(BATCH, LENGTH + 1, 1)
        loss = nn.functional.mse_loss(model(batch[:, :-1])[0], batch[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        losses.append(loss.item())

    with torch.no_grad():
        out, state = model(known.reshape(1, -1, 1))
        forecast = []
        for _ in range(AHEAD):
            forecast.append(out[0, -1, 0])
            out, state = model(out[:, -1:], state)
    error = (torch.stack(forecast) - future).square().mean().sqrt().item()
    print(f"{AHEAD} values ahead, unseen: off by {error:.3f} (root mean square; the series has {future.std():.3f})")
    losses.draw(given.plot, "An LSTM on a time series")
    return losses


if __name__ == "__main__":
    main()
