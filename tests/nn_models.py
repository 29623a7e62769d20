"""Modules that several tests use."""

from numgrad import nn

__all__ = ["Net", "refusal"]


class Net(nn.Module):
    """Two layers, a list, a buffer that is saved and one that is not."""

    def __init__(self, torch):
        super().__init__()
        self.first = nn.Linear(2, 3)
        self.body = nn.Sequential(nn.Tanh(), nn.Linear(3, 1, bias=False))
        self.scale = nn.Parameter(torch.tensor(2.0))
        self.register_buffer("steps", torch.tensor(0))
        self.register_buffer("cache", torch.zeros(2), persistent=False)

    def forward(self, x):
        return self.scale * self.body(self.first(x))


def refusal(action):
    """The error that an action ends with, as text, or None."""
    try:
        action()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None
