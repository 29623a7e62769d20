"""Functions of scores whose gradients depend on the differences of the scores alone, for every device."""

import numpy as np

import numgrad as torch
from numgrad.distributions import Categorical
from numgrad.nn.functional import cross_entropy

#: Differences that float32 can hold beside a score of a million, for 3 examples of 6 classes.
DIFFERENCES = np.random.default_rng(0).integers(-48, 49, (3, 6)) / 16


def _targets(x):
    return torch.tensor([4, 0, 2], device=x.device)


#: Each takes scores of shape (3, 6); the sum of its results, times ``weights_of``, is differentiated.
FUNCTIONS = {
    "logsumexp": lambda x: x.logsumexp(1), "logsumexp of columns": lambda x: x.logsumexp(0),
    "logsumexp of all": lambda x: x.logsumexp((0, 1)), "logcumsumexp": lambda x: x.logcumsumexp(1),
    "logcumsumexp of columns": lambda x: x.logcumsumexp(0),
    "logaddexp": lambda x: torch.logaddexp(x[0], x[1]), "logaddexp2": lambda x: torch.logaddexp2(x[0], x[1]),
    "softmax": lambda x: x.softmax(1), "softmax of columns": lambda x: x.softmax(0),
    "log_softmax": lambda x: x.log_softmax(1), "log_softmax of columns": lambda x: x.log_softmax(0),
    "cross_entropy": lambda x: cross_entropy(x, _targets(x), reduction="none"),
    "smoothed cross_entropy": lambda x: cross_entropy(x, _targets(x), label_smoothing=0.25, reduction="none"),
    "cross_entropy with shares": lambda x: cross_entropy(x, x.detach() * 0 + 0.125, reduction="none"),
    "Categorical": lambda x: Categorical(logits=x).log_prob(_targets(x)),
    "entropy": lambda x: Categorical(logits=x).entropy(),
}  # fmt: skip


def gradient(function, size, device, dtype):
    """The gradient of the function where scores are ``size`` and some, as an array."""
    x = torch.tensor(DIFFERENCES + size, dtype=dtype, device=device, requires_grad=True)
    out = function(x)
    out.backward(torch.linspace(1, 2, out.numel(), dtype=dtype).to(device).view(out.shape))
    return x.grad.cpu().numpy()
