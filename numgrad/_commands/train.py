"""``python -m numgrad train digits``: a small network learns to read, on tensors and autograd alone."""

from __future__ import annotations

import time

import numpy as np
from tqdm import tqdm

import numgrad
from numgrad.data import load_digits
from numgrad.nn.functional import cross_entropy

__all__ = ["train_digits"]

MOMENTUM = 0.9


def train_digits(*, epochs: int, batch_size: int, lr: float, seed: int, hidden: int) -> float:
    """Train on four fifths of the digits, show the progress, and report the accuracy on the last fifth.

    The network has one layer of ``hidden`` rectified units. Returns the accuracy on the held-out digits, in
    [0, 1].
    """
    numgrad.manual_seed(seed)
    shuffle = np.random.default_rng(seed % 2**64)
    images, labels = load_digits()
    order = shuffle.permutation(len(labels))
    images = images.reshape(-1, 64)[order].astype(np.float32) / 16
    targets = labels[order].astype(np.int64)
    held_out = len(labels) // 5
    train_images, train_targets = images[held_out:], targets[held_out:]

    weight1 = (numgrad.randn(64, hidden) * (2 / 64) ** 0.5).requires_grad_()
    bias1 = numgrad.zeros(hidden, requires_grad=True)
    weight2 = (numgrad.randn(hidden, 10) * (2 / hidden) ** 0.5).requires_grad_()
    bias2 = numgrad.zeros(10, requires_grad=True)
    parameters = [weight1, bias1, weight2, bias2]
    velocities = [numgrad.zeros_like(parameter) for parameter in parameters]

    def network(x: numgrad.Tensor) -> numgrad.Tensor:
        return (x @ weight1 + bias1).relu() @ weight2 + bias2

    started = time.perf_counter()
    steps = epochs * -(-len(train_targets) // batch_size)
    with tqdm(total=steps, unit="step", desc="train digits") as progress:
        for _ in range(epochs):
            order = shuffle.permutation(len(train_targets))
            x = numgrad.from_numpy(train_images[order])
            y = numgrad.from_numpy(train_targets[order])
            for start in range(0, len(order), batch_size):
                batch, target = x[start : start + batch_size], y[start : start + batch_size]
                scores = network(batch)
                loss = cross_entropy(scores, target)
                loss.backward()
                with numgrad.no_grad():
                    for parameter, velocity in zip(parameters, velocities, strict=True):
                        velocity.mul_(MOMENTUM).add_(parameter.grad)
                        parameter.add_(velocity, alpha=-lr)
                        parameter.grad = None
                progress.set_postfix(
                    loss=f"{loss.item():.3f}", accuracy=f"{_accuracy(scores, target):.1%}", refresh=False
                )
                progress.update()
    seconds = time.perf_counter() - started

    with numgrad.no_grad():
        scores = network(numgrad.from_numpy(images[:held_out]))
    accuracy = _accuracy(scores, numgrad.from_numpy(targets[:held_out]))
    passes = "1 epoch" if epochs == 1 else f"{epochs} epochs"
    print(f"{accuracy:.1%} of {held_out} held-out digits read correctly, after {passes} in {seconds:.1f} s")
    return accuracy


def _accuracy(scores: numgrad.Tensor, targets: numgrad.Tensor) -> float:
    return (scores.argmax(1) == targets).sum().item() / len(targets)
