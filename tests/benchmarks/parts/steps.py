"""Training steps: forward, backward, update."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

from timing import Case, Input, Part, Program, Step, integers, placed, tensor_of

__all__ = ["STEPS", "language_model", "parts", "perceptron", "training"]


def training(model: Any, optimizer: Any, loss: Callable[..., Any], x: Any, y: Any) -> Step:
    """One step: the loss of the model's output for ``x`` and the target ``y``, its gradients, and the update."""

    def step(x: Any, y: Any) -> Any:
        value = loss(model(x), y)
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
        return value

    return Step(step, (x, y), list(model.parameters()))


def perceptron(
    module: Any, batch: int, sizes: tuple[int, ...], optimizer: str = "SGD", lr: float = 0.01, **options: Any
) -> Step:
    """A multilayer perceptron, cross-entropy."""
    nn = module.nn
    module.manual_seed(0)
    layers: list[Any] = []
    for inputs, outputs in itertools.pairwise(sizes):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    model = placed(nn.Sequential(*layers[:-1]))
    updates = getattr(module.optim, optimizer)(model.parameters(), lr=lr, **options)
    x = tensor_of(module, Input((batch, sizes[0]), grad=False), 0)
    y = tensor_of(module, integers((batch,), sizes[-1]), 0)
    return training(model, updates, nn.functional.cross_entropy, x, y)


def language_model(module: Any, batch: int = 8, places: int = 64, width: int = 64, heads: int = 4) -> Step:
    """A transformer of two blocks on 65 letters, AdamW."""
    nn, functional = module.nn, module.nn.functional
    letters = 65

    class Block(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.project, self.join = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.widen, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x: Any) -> Any:
            b, t, _ = x.shape
            q, k, v = self.project(self.norm1(x)).view(b, t, 3, heads, width // heads).permute(2, 0, 3, 1, 4).unbind(0)
            mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.join(mixed.transpose(1, 2).reshape(b, t, width))
            return x + self.narrow(functional.gelu(self.widen(self.norm2(x))))

    class Model(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.letter, self.place = nn.Embedding(letters, width), nn.Embedding(places, width)
            self.blocks = nn.Sequential(Block(), Block())
            self.norm, self.out = nn.LayerNorm(width), nn.Linear(width, letters)

        def forward(self, text: Any) -> Any:
            x = self.letter(text) + self.place(module.arange(text.shape[1], device=text.device))
            return self.out(self.norm(self.blocks(x)))

    module.manual_seed(0)
    model = placed(Model())
    optimizer = module.optim.AdamW(model.parameters(), lr=1e-3)
    text = tensor_of(module, integers((batch, places + 1), letters), 0)
    x, y = text[:, :-1].contiguous(), text[:, 1:].contiguous()

    def loss(scores: Any, y: Any) -> Any:
        return functional.cross_entropy(scores.view(-1, letters), y.view(-1))

    return training(model, optimizer, loss, x, y)


def encoder(module: Any, batch: int = 16, places: int = 32, width: int = 128, heads: int = 4) -> Step:
    """``nn.TransformerEncoder`` with dropout, mean squared error, AdamW."""
    nn = module.nn
    module.manual_seed(0)
    layer = nn.TransformerEncoderLayer(width, heads, 4 * width, batch_first=True)
    model = placed(nn.TransformerEncoder(layer, 2))
    optimizer = module.optim.AdamW(model.parameters(), lr=1e-3)
    x, y = [tensor_of(module, Input((batch, places, width), grad=False), number) for number in range(2)]
    return training(model, optimizer, nn.functional.mse_loss, x, y)


def physics(module: Any, points: int = 256, width: int = 32) -> Program:
    """A network taught a differential equation, u'' = -u: its loss holds second derivatives; Adam."""
    nn = module.nn
    module.manual_seed(0)
    layers = nn.Linear(1, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1)
    model = placed(nn.Sequential(*layers))
    optimizer = module.optim.Adam(model.parameters(), lr=1e-3)
    x = tensor_of(module, Input((points, 1), 0, 3), 0)

    def step() -> None:
        u = model(x)
        (slope,) = module.autograd.grad(u.sum(), x, create_graph=True)
        (bend,) = module.autograd.grad(slope.sum(), x, create_graph=True)
        loss = ((bend + u) ** 2).mean() + (u[:1] - 1).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        x.grad = None

    return step


#: The programs by name.
STEPS: dict[str, Callable[[Any], Program]] = {
    "MLP 8-32-32-4, batch 32": lambda module: perceptron(module, 32, (8, 32, 32, 4), momentum=0.9),
    "MLP 64-128-128-10, batch 64": lambda module: perceptron(module, 64, (64, 128, 128, 10), momentum=0.9),
    "MLP 784-512-256-10, batch 128": lambda module: perceptron(module, 128, (784, 512, 256, 10), momentum=0.9),
    "GPT of 2 layers of width 64, 8 x 64 letters": language_model,
    "TransformerEncoder of 2 layers of width 128, 16 x 32": encoder,
    "PINN with second derivatives, 256 points": physics,
}


def parts(rows: int, columns: int) -> Iterator[Part]:
    """Three perceptrons, a small language model, an encoder, a physics-informed network."""
    yield Part("Whole steps of training", [Case(name, make) for name, make in STEPS.items()], 0.9)
