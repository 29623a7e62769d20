"""Functions of scores whose gradients depend on the differences of the scores alone, for every device."""

import numpy as np

import numgrad as torch
from numgrad.distributions import Categorical, OneHotCategorical
from numgrad.nn import AdaptiveLogSoftmaxWithLoss
from numgrad.nn.functional import cross_entropy, ctc_loss, multi_margin_loss, one_hot, softmin

#: Differences that float32 can represent at a score of a million, for 3 examples of 6 classes.
DIFFERENCES = np.random.default_rng(0).integers(-48, 49, (3, 6)) / 16


def _targets(x):
    return torch.tensor([4, 0, 2], device=x.device)


def _adaptive(x):
    """A loss whose scores, of the head and of both clusters, are columns of ``x``."""
    module = AdaptiveLogSoftmaxWithLoss(6, 6, [2, 4], div_value=1.0, device=x.device, dtype=x.dtype)
    with torch.no_grad():
        for weight in module.parameters():
            weight.copy_(torch.eye(*weight.shape))
    return module(x, _targets(x)).output


def _ctc(x):
    """The loss of two labels along three steps, where the scores are negative."""
    return ctc_loss(-x.abs(), torch.tensor([[1, 2]], device=x.device), [3], [2], reduction="none")


#: Powers of 2 that two ways to the labels of :func:`_ctc` have the largest sum with; others are far behind.
_POWERS = 2.0 ** np.array([[1, 0, 2, 3, 3, 3], [1, 0, 0, 3, 3, 3], [2, 3, 0, 3, 3, 3]])


#: Each takes scores of shape (3, 6); a weighted sum of its results is differentiated.
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
    "OneHotCategorical": lambda x: OneHotCategorical(logits=x).log_prob(one_hot(_targets(x), 6).to(x.dtype)),
    "softmin": lambda x: softmin(x, 1), "multi_margin_loss": lambda x: multi_margin_loss(x, _targets(x), p=2),
    "adaptive log_softmax": _adaptive, "ctc_loss": lambda x: _ctc(x[:, None]),
    "ctc_loss of unlike ways": lambda x: _ctc((x * torch.tensor(_POWERS, dtype=x.dtype, device=x.device))[:, None]),
}  # fmt: skip


def gradient(function, size, device, dtype):
    """The gradient of the function where scores are ``size`` and some, as an array."""
    return _gradients(function, size, device, dtype, False)[0].detach().cpu().numpy()


def second_derivatives(function, size, device, dtype):
    """The gradient of a weighted sum of the gradient, as an array; 0 if it has none."""
    grad, x = _gradients(function, size, device, dtype, True)
    if not grad.requires_grad:
        return np.zeros(x.shape)
    weights = torch.linspace(-1, 2, x.numel(), dtype=dtype).to(device).view(x.shape)
    return torch.autograd.grad(grad, x, weights)[0].cpu().numpy()


def _gradients(function, size, device, dtype, create_graph):
    x = torch.tensor(DIFFERENCES + size, dtype=dtype, device=device, requires_grad=True)
    out = function(x)
    weights = torch.linspace(1, 2, out.numel(), dtype=dtype).to(device).view(out.shape)
    return torch.autograd.grad(out, x, weights, create_graph=create_graph)[0], x
