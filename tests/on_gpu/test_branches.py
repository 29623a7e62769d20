"""Kernels with blocks of 256 threads at sizes that take every branch: results are the CPU's, and every line is run.

The emulator notes which lines of a kernel's text threads execute.
"""

import re
from collections import defaultdict

import numpy as np
import pytest

import numgrad as torch
from numgrad.nn import functional as F  # noqa: N812


def numbers(*shape, transposed=False, like=float):
    array = np.random.default_rng(sum(shape)).normal(size=shape)
    x = torch.from_numpy(array.round() if like is int else array)
    return x.transpose(0, -1).contiguous().transpose(0, -1) if transposed else x


def special(length):
    """Rows with infinities and NaN."""
    x = numbers(4, length)
    x[0], x[1, 2], x[2, 1] = -np.inf, np.nan, np.inf
    return x


def unbounded(*shape):
    """Numbers with an infinity."""
    x = numbers(*shape)
    x.flatten()[3] = np.inf
    return x


#: Kernels of gradients, whose indices those of the results have already reported.
REPORTED = re.compile("put_negative|cross_entropy_gradient|put_rows|scatter_axis")
REPORTING = re.compile("report|fence|(lane|level) == 0")

ROWS = [(700, 2), (40, 100), (3, 8), (3, 1200), (2, 5003)]
COLUMNS = [(2, 700, 3), (5, 3, 300), (1, 700, 20)]

def targets(x, ignored=-100):
    """Classes for all positions, some of them ignored."""
    shape = (x.shape[0], *x.shape[2:])
    result = (torch.arange(np.prod(shape)) % x.shape[1]).reshape(shape)
    result[0] = ignored
    return result.to(x.device)


def weighted_loss(x, loss=F.cross_entropy):
    return loss(x, targets(x), x.detach().transpose(0, 1).flatten(1)[:, 0].abs(), reduction="sum")


def without_class(x):
    """The loss for an invalid target is an error, which a GPU raises when a value is read."""
    with pytest.raises(IndexError):
        F.nll_loss(x, targets(x, x.shape[1])).item()
    return x * 1


def indices(x, count):
    return torch.arange(count, device=x.device) * 7 % x.shape[1]


def expanded_indices(x, count):
    """Indices of dimension 1 for all positions of the others."""
    return indices(x, count).reshape(1, -1, *(1,) * (x.dim() - 2)).expand(x.shape[0], -1, *x.shape[2:])


def without_element(x):
    beyond = x.shape[1]
    for take in (lambda: x[:, indices(x, 3) + beyond], lambda: x.gather(1, expanded_indices(x, 3) + beyond)):
        with pytest.raises((IndexError, RuntimeError), match="out of bounds"):
            take().sum().item()
    return x * 1


def improbable(x):
    valid = torch.ones_like(x.detach())
    for name, given in (("input", (valid * -0.5, valid)), ("target", (valid, valid * float("nan")))):
        with pytest.raises(RuntimeError, match=f"elements of {name} should be between 0 and 1"):
            F.binary_cross_entropy(*given).item()
    return x * 1


def optimized(x):
    """The parameters after two steps of optimizers, of which the second begins at an address without alignment."""
    results = []
    for make in (lambda p: torch.optim.Adam(p, 0.1, amsgrad=True), lambda p: torch.optim.SGD(p, 0.1, momentum=0.9)):
        memory = x.detach().flatten().clone()
        parameters = [memory[:-3].requires_grad_(), memory.clone()[3:].requires_grad_()]
        for p in parameters:
            p.grad = torch.ones_like(p)
        optimizer = make(parameters)
        optimizer.step()
        optimizer.step()
        results += [p.detach() for p in parameters]
    return x * 1 + torch.cat(results).sum()


#: By the family, the kernels, functions of a tensor, and tensors that together take every branch.
CASES = {
    "softmax": (
        "softmax_lines|backward_lines", [lambda x: F.softmax(x, 1), lambda x: F.log_softmax(x, 1)],
        [*(numbers(*shape) for shape in ROWS + COLUMNS), special(300)],
    ),
    "layer_norm": (
        "layer_norm_(rows|backward_rows|gradients)",
        [lambda x: F.layer_norm(x, x.shape[1:]),
         lambda x: F.layer_norm(x, x.shape[1:], x[0].detach() + 1, x[0].detach())],
        [numbers(*shape) for shape in [*ROWS, (40, 20)]],
    ),
    "channels": (
        "normalized_(planes|columns)|plane_sums|set_means|planes_gradient|column_sums|columns_gradient",
        [lambda x: F.batch_norm(x, None, None, training=True),
         lambda x: F.batch_norm(x, None, None, x[0].flatten(1)[:, 0].detach(), x[1].flatten(1)[:, 0].detach(), True),
         lambda x: F.batch_norm(x, *[x[0].flatten(1)[:, 0].detach() ** 2 + 0.5] * 3),
         lambda x: F.group_norm(x, 2 - x.shape[1] % 2)],
        [numbers(*shape) for shape in
         [(5000, 1, 1), (300, 1, 1), (700, 6, 1), (5, 2, 3), (3, 4, 1200), (30, 4, 8, 5), (2, 2, 5003)]],
    ),
    "sums": (
        "fold_axis|sure_norms",
        [lambda x: x.sum(1), lambda x: x.sum(), lambda x: x.amax(1), lambda x: x.logsumexp(1),
         lambda x: torch.linalg.vector_norm(x * 1e30, 3, 1)],
        [numbers(*shape) for shape in ROWS + COLUMNS],
    ),
    "sums of losses": (
        "mse_sum|bce_sum",
        [lambda x: F.mse_loss(x, x.detach().roll(1)), lambda x: F.binary_cross_entropy(x.sigmoid(), x.detach() ** 0),
         improbable],
        [numbers(3, 8), numbers(5, 4001)],
    ),
    "variances": (
        "moments_axis|join_moments",
        [lambda x: x.var(1), lambda x: x.std(),
         lambda x: F.batch_norm(torch.stack([x.flatten(1), x.flatten(1)], 1), None, None, training=True)],
        [numbers(*shape) for shape in [*ROWS, *COLUMNS, (700, 100), (1, 300_001)]],
    ),
    "scans": (
        "scan_.*", [lambda x: x.cumsum(1), lambda x: x.logcumsumexp(1), lambda x: x.cumsum(0)],
        [numbers(*shape) for shape in [*ROWS, *COLUMNS, (1, 70_001), (70_001, 2)]],
    ),
    "sorting": (
        "sort_tiles|merge_runs|take_.*|longest_runs",
        [lambda x: x.sort(1)[0], lambda x: x.topk(2, 1)[0], lambda x: x.kthvalue(2, 1)[0], lambda x: x.median(1)[0],
         lambda x: x.nanmedian(1)[0], lambda x: x.mode(1)[0]],
        [*(numbers(*shape, like=int) for shape in ROWS + COLUMNS), special(300)],
    ),
    "digits": (
        "count_digits|move_by_digit", [lambda x: x.sort(1)[0], lambda x: x.sort(1, descending=True)[0]],
        [numbers(2, 17_000), numbers(1, 20_001, 2), special(17_000)],
    ),
    "attention": (
        "attention.*",
        [lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True),
         lambda x: F.scaled_dot_product_attention(x[:, :, :3], x, x)],
        [numbers(1, 1, 67, 6), numbers(1, 1, 67, 70), numbers(1, 1, 67, 134)],
    ),
    "losses": (
        "negative_likelihood|likelihood_total|put_negative|cross_entropy_gradient",
        [lambda x: F.cross_entropy(x, targets(x)), lambda x: F.cross_entropy(x, targets(x), reduction="none"),
         weighted_loss, lambda x: weighted_loss(x, F.nll_loss), lambda x: F.nll_loss(x, targets(x)), without_class],
        [numbers(*shape) for shape in [(9000, 3), (3, 1203), (3, 5, 40)]],
    ),
    "indices": (
        "take_rows|put_rows|gather_axis|scatter_axis",
        [lambda x: x[:, indices(x, 9)], lambda x: x.gather(1, expanded_indices(x, 9)),
         lambda x: x.index_add(1, indices(x, 5), x[:, :5]), without_element],
        [numbers(*shape) for shape in [(700, 8), (3, 1200), (2, 6, 2600)]],
    ),
    "transposes": (
        "transpose|keep_triangle|join_rows",
        [lambda x: x.transpose(1, 2).contiguous(), torch.triu, torch.tril, lambda x: torch.cat([x] * 5, 1)],
        [numbers(2, 70, 40), numbers(3, 32, 64)],
    ),
    "padding": (
        "mend|mend_weight", [lambda x: F.conv2d(x, x[:2].detach(), padding=2), lambda x: F.conv2d(x[:1].detach(), x)],
        [numbers(3, 2, 5, 9), unbounded(3, 2, 5, 9)],
    ),
    "optimizers": ("adam.*|sgd.*", [optimized], [numbers(3000)]),
    "products": (
        "products|row_products|add_row_products",
        [lambda x: x @ x.t(), lambda x: x @ x[0], lambda x: F.linear(x, x, x[:, 0])],
        [numbers(70, 90), numbers(130, 5), numbers(3, 1200), numbers(70, 90, transposed=True)],
    ),
}  # fmt: skip


@pytest.fixture
def run_lines(cuda, monkeypatch):
    """By kernel and line of its text, how often threads have run it."""
    if not cuda.runtime.is_emulated():
        pytest.skip("only the emulator runs as many threads and notes what they do")
    from numgrad_kernels.cuda.emulator import EmulatedKernel, Profile

    found = defaultdict(int)
    traced = {}
    run = EmulatedKernel.run

    def run_traced(kernel, *arguments):
        own = traced.get(kernel)
        if own is None:
            own = traced[kernel] = EmulatedKernel(kernel.name, kernel.ptx, kernel.text, traced=True)
        profile = Profile(own.translator)
        moved = run(own, *arguments, profile=profile)
        assert not profile.races
        for place, issues in enumerate(profile.instruction_counts()[:, 0]):
            line = own.line(place)
            if line.text:
                found[kernel.name, line.text] += issues
        return moved

    monkeypatch.setattr(EmulatedKernel, "run", run_traced)
    return found


@pytest.mark.parametrize("family", CASES)
def test_every_line_of_a_kernel_is_run(run_lines, family):
    kernels, functions, tensors = CASES[family]
    for function in functions:
        for x in tensors:
            x = x.float()
            results = []
            for device in ("cpu", "cuda"):
                leaf = x.to(device).requires_grad_()
                y = function(leaf)
                (grad,) = torch.autograd.grad(y, leaf, torch.ones_like(y))
                results.append((y.detach().cpu().numpy(), grad.cpu().numpy()))
            for expected, actual in zip(*results, strict=True):
                largest = np.abs(expected[np.isfinite(expected)]).max(initial=1)
                np.testing.assert_allclose(actual, expected, 1e-3, 1e-3 * largest)
    names = re.compile(kernels)
    lines = {line: times for line, times in run_lines.items() if names.fullmatch(line[0])}
    assert lines
    unused = {line for line, times in lines.items() if not times}
    assert not {line for line in unused if not (REPORTED.match(line[0]) and REPORTING.search(line[1]))}
