"""Training does not wait for the GPU: launches are put on the stream, and the host goes on."""

import pytest

import numgrad as torch
from numgrad.nn import functional


class WaitedError(AssertionError):
    """The host has waited for the GPU."""


@pytest.fixture
def no_waiting(cuda, monkeypatch):
    """After a call, every wait for the GPU, and every read of its memory, raises."""

    def refuse(*arguments):
        raise WaitedError

    def begin():
        for name in ("synchronize", "synchronize_device", "wait_for_event", "copy_to_host"):
            monkeypatch.setattr(cuda.runtime.driver, name, refuse)

    return begin


class Language(torch.nn.Module):
    """A transformer's parts: embeddings, normalization, attention, a gate, dropout."""

    def __init__(self):
        super().__init__()
        self.letter, self.place = torch.nn.Embedding(5, 8), torch.nn.Embedding(4, 8)
        self.norm = torch.nn.LayerNorm(8)
        self.project, self.out = torch.nn.Linear(8, 24), torch.nn.Linear(8, 5)
        self.dropout = torch.nn.Dropout(0.1)

    def forward(self, text):
        x = self.letter(text) + self.place(torch.arange(text.shape[1], device=text.device))
        q, k, v = self.project(self.norm(x)).view(*text.shape, 3, 2, 4).permute(2, 0, 3, 1, 4).unbind(0)
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + functional.gelu(self.dropout(mixed.transpose(1, 2).reshape(x.shape)))
        return self.out(x).flatten(0, 1)


def perceptron():
    layers = torch.nn.Linear(6, 4), torch.nn.ReLU(), torch.nn.Linear(4, 5)
    return torch.nn.Sequential(*layers), torch.ones(8, 6)


def language_model():
    return Language(), torch.tensor([[0, 1, 2, 3], [4, 3, 2, 1]])


@pytest.mark.parametrize("make", [perceptron, language_model])
@pytest.mark.parametrize("optimizer", [torch.optim.SGD, torch.optim.AdamW])
def test_a_step_of_training_does_not_wait(no_waiting, make, optimizer):
    model, x = make()
    model, x, y = model.to("cuda"), x.to("cuda"), torch.tensor([0, 1, 2, 3, 4, 0, 1, 2], device="cuda")
    updates = optimizer(model.parameters(), lr=0.1)

    def step():
        loss = functional.cross_entropy(model(x), y)
        updates.zero_grad()
        loss.backward()
        updates.step()
        return loss

    step()  # the first may, since it initializes libraries
    no_waiting()
    loss = step()
    with pytest.raises(WaitedError):
        loss.item()
