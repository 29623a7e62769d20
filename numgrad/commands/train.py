"""``python -m numgrad train digits`` and ``score digits``: training of a small network on handwritten digits.

The code is written as it would be for PyTorch.
"""

from __future__ import annotations

import os
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tqdm import tqdm

import numgrad as torch
from numgrad import nn
from numgrad.data import digits as all_digits
from numgrad.utils.data import DataLoader, Subset, random_split


@dataclass
class History:
    """Results of a run: the loss of each epoch, and the accuracy on the held-out digits after it, in [0, 1]."""

    losses: list[float] = field(default_factory=list)
    accuracies: list[float] = field(default_factory=list)


def train_digits(
    *,
    model: str = "mlp",
    epochs: int,
    batch_size: int,
    lr: float,
    seed: int,
    seeds: int,
    hidden: int,
    device: str,
    save: str | None = None,
    plot: str | None = None,
    digits: int | None = None,
) -> float:
    """Train on four fifths of the digits, once for each of ``seeds`` seeds from ``seed`` on; report the accuracies.

    ``model`` is "mlp" for a hidden layer of ``hidden`` units, or "cnn" for two convolutions before it.  ``digits`` is
    the number of digits to use, None for all of them.  ``save`` names the file for the last run's model, ``plot`` the
    file for the learning curves.  Return the mean accuracy on the held-out fifths, in [0, 1].

    Raises:
        RuntimeError: there are fewer digits than requested, or too few to hold one out; or ``device`` is unavailable.
        OSError: a file cannot be written.
    """
    data = _data(digits)
    if plot is not None:
        try:
            from matplotlib.figure import Figure  # report a missing package before the training
        except ImportError as error:
            raise ImportError(f"--plot needs matplotlib: install the extra 'plot' ({error})") from None
        figure = Figure(figsize=(8, 3.5), layout="constrained")
        formats = figure.canvas.get_supported_filetypes()
        if Path(plot).suffix.lstrip(".").lower() not in (*formats, ""):
            raise RuntimeError(f"{plot}: matplotlib draws files of the types {', '.join(formats)}")
    for file in filter(None, (save, plot)):  # also before the training
        _check_writable(Path(file))

    started = time.perf_counter()
    histories = []
    steps = seeds * epochs * -(-_training_size(data) // batch_size)
    with tqdm(total=steps, unit="step", desc="train digits") as progress:
        for number in range(seed, seed + seeds):
            network, history = _run(number, data, epochs, batch_size, lr, model, hidden, device, progress)
            histories.append(history)
    seconds = time.perf_counter() - started
    accuracies = [history.accuracies[-1] for history in histories]
    mean = sum(accuracies) / seeds
    passes = "1 epoch" if epochs == 1 else f"{epochs} epochs"
    runs = f", mean of {seeds} seeds ({min(accuracies):.1%} to {max(accuracies):.1%})" if seeds > 1 else ""
    held_out = len(data) - _training_size(data)
    print(f"{mean:.1%} of {held_out} held-out digits read correctly{runs}, after {passes} in {seconds:.1f} s")
    if save is not None:
        sizes = {"hidden": hidden, "seed": seed + seeds - 1, "digits": len(data)}
        torch.save({"model": network.state_dict(), "network": model, **sizes}, save)
        print(f"saved in {save}")
    if plot is not None:
        _plot(figure, histories, seed, plot)
        print(f"drawn in {plot}")
    return mean


def score_digits(*, file: str, device: str) -> float:
    """Report the saved model's accuracy on the digits held out from its training, and return it, in [0, 1].

    Raises:
        RuntimeError: the file does not contain such a model.
    """
    state = torch.load(file)
    if not isinstance(state, dict) or not {"model", "hidden", "seed"} <= state.keys():
        raise RuntimeError(f"{file} holds no model saved by 'train digits'")
    model = _network(state.get("network", "mlp"), state["hidden"]).to(device)
    model.load_state_dict(state["model"])
    _, held_out = _parts(_data(state.get("digits")), state["seed"])
    accuracy = _accuracy(model, held_out, device)
    print(f"{accuracy:.1%} of {len(held_out)} held-out digits read correctly by {Path(file).name}")
    return accuracy


def _check_writable(file: Path) -> None:
    """Raise OSError if the file cannot be written."""
    if not file.absolute().parent.is_dir():
        raise FileNotFoundError(f"the directory of {file} does not exist")
    if file.is_dir():
        raise IsADirectoryError(f"{file} is a directory")
    if not file.exists():
        with tempfile.NamedTemporaryFile(dir=file.absolute().parent):  # fails on a full or read-only disk
            return
    if not os.access(file, os.W_OK):
        raise PermissionError(f"{file} cannot be written")


def _data(count: int | None) -> Any:
    """Return the first ``count`` digits, or all."""
    data = all_digits()
    if count is None:
        return data
    if not 5 <= count <= len(data):
        raise RuntimeError(f"--digits must be between 5 and {len(data)}, not {count}")
    return Subset(data, range(count))


def _training_size(data: Any) -> int:
    return len(data) - len(data) // 5


def _parts(data: Any, seed: int) -> list[Any]:
    """Return a random split of the digits into a training and a held-out part."""
    size = _training_size(data)
    return random_split(data, [size, len(data) - size], generator=torch.Generator().manual_seed(seed))


def _network(model: str, hidden: int) -> nn.Module:
    if model == "mlp":
        return nn.Sequential(nn.Flatten(), nn.Linear(64, hidden), nn.ReLU(), nn.Dropout(0.2), nn.Linear(hidden, 10))
    return nn.Sequential(
        nn.Unflatten(1, (1, 8)),  # one channel
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Dropout(0.25), nn.Linear(32 * 4 * 4, hidden), nn.ReLU(),
        nn.Dropout(0.25), nn.Linear(hidden, 10),
    )  # fmt: skip


def _run(
    seed: int, data: Any, epochs: int, batch_size: int, lr: float, name: str, hidden: int, device: str, progress: tqdm
) -> tuple[nn.Module, History]:
    torch.manual_seed(seed)
    training, held_out = _parts(data, seed)
    model = _network(name, hidden).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
    criterion = nn.CrossEntropyLoss()
    loader = DataLoader(training, batch_size=batch_size, shuffle=True)
    history = History()
    for _ in range(epochs):
        total = 0.0
        for images, labels in loader:
            loss = criterion(model(images.to(device)), labels.to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(labels)
            if not progress.n:
                progress.unpause()  # the first step compiles kernels: the estimate of the time leaves it out
            progress.update()
        history.losses.append(total / len(training))
        history.accuracies.append(_accuracy(model, held_out, device))
        progress.set_postfix(
            seed=seed, loss=f"{history.losses[-1]:.3f}", accuracy=f"{history.accuracies[-1]:.1%}", refresh=False
        )
    return model, history


def _accuracy(model: nn.Module, data: Any, device: str) -> float:
    """Return the share of digits that the model reads correctly, in [0, 1]."""
    model.eval()
    correct = 0
    with torch.no_grad():
        for images, labels in DataLoader(data, batch_size=256):
            correct += (model(images.to(device)).argmax(1) == labels.to(device)).sum().item()
    model.train()
    return correct / len(data)


def _plot(figure: Any, histories: list[History], first_seed: int, file: str) -> None:
    """Draw loss and accuracy over the epochs, one line for each run, on matplotlib's figure."""
    left, right = figure.subplots(1, 2)
    for number, history in enumerate(histories, first_seed):
        epochs = range(1, len(history.losses) + 1)
        left.plot(epochs, history.losses, label=f"seed {number}")
        right.plot(epochs, history.accuracies)
    if len(histories) > 1:
        left.legend()
    left.set(xlabel="epoch", ylabel="cross-entropy of the training digits", yscale="log")
    right.set(xlabel="epoch", ylabel="share of held-out digits read correctly")
    figure.savefig(file)
