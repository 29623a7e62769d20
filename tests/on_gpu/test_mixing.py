"""Operations on tensors of two devices: the accepted ones, and PyTorch's errors for all others."""

import pytest
from ops.samples import SAMPLES

import numgrad
from numgrad import tensor

MIXED = "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"


@pytest.fixture(autouse=True)
def _in_use(cuda):
    """Every test here uses GPUs."""


#: Operations that accept tensors of another device, as in PyTorch: indices and sources of copies.
ALLOWED = {"index_op", "index_put_op"}


def mixed_cases():
    """One case of every operation that takes several tensors."""
    cases, seen = [], set()
    for sample in SAMPLES:
        for case in sample.cases(shape=(2, 3)):
            several = len([leaf for leaf in case.leaves(sample.dtypes[0]) if leaf is not None and leaf.dim()]) > 1
            if several and case.layout == "contiguous" and sample.name not in seen | ALLOWED:
                seen.add(sample.name)
                cases.append(pytest.param(case, sample.dtypes[0], id=sample.name))
    return cases


@pytest.mark.parametrize(("case", "dtype"), mixed_cases())
def test_every_operation_wants_its_tensors_on_one_device(case, dtype):
    leaves = case.leaves(dtype)
    places = [place for place, leaf in enumerate(leaves) if leaf is not None and leaf.dim()]
    for place in (places[0], places[-1]):
        mixed = [leaf.cuda() if number == place else leaf for number, leaf in enumerate(leaves)]
        with pytest.raises(RuntimeError, match=MIXED):
            case(*mixed)


@pytest.mark.parametrize("counts", [lambda x, y: numgrad.bincount(x.int(), y), numgrad.searchsorted, numgrad.bucketize])
def test_functions_outside_of_the_table_refuse_mixed_devices(counts):
    x = tensor([1.0, 2.0])
    for mixed in ((x, x.cuda()), (x.cuda(), x)):
        with pytest.raises(RuntimeError, match=MIXED):
            counts(*mixed)


@pytest.mark.parametrize(
    "write",
    [
        lambda x, y: x.add_(y), lambda x, y: y.mul_(x), lambda x, y: x.addcmul_(y, y), lambda x, y: x.lerp_(y, 0.5),
        lambda x, y: numgrad.add(x, x, out=y), lambda x, y: numgrad.matmul(y.reshape(2, 1), y.reshape(1, 2), out=x),
        lambda x, y: x.masked_fill_(y > 0, 1.0), lambda x, y: x.index_add_(0, tensor([0, 1], device="cuda"), y),
        lambda x, y: x.scatter_(0, tensor([0, 1], device="cuda"), y), lambda x, y: x.set_(y),
    ],
)
def test_in_place_too(write):
    x, y = tensor([1.0, 2.0], device="cuda"), tensor([1.0, 2.0])
    with pytest.raises(RuntimeError, match=MIXED):
        write(x, y)
    assert x.tolist() == y.tolist() == [1, 2]


def test_one_number_of_the_cpu_is_accepted():
    x, number = tensor([1.0, 2.0], device="cuda", requires_grad=True), tensor(3.0, requires_grad=True)
    for out in (x * number, number * x):
        assert out.is_cuda
        assert out.tolist() == [3, 6]
    (x * number).sum().backward()
    assert (number.grad.device, number.grad.item()) == (numgrad.device("cpu"), 3)
    assert (x.grad.device, x.grad.tolist()) == (numgrad.device("cuda:0"), [3, 3])
    plain = x.detach()
    assert plain.clone().add_(tensor(1.0)).tolist() == [2, 3]
    assert numgrad.where(plain > 1, plain, tensor(0.0)).tolist() == [0, 2]
    assert (plain > tensor(1.0)).tolist() == [False, True]
    there = tensor(1.0, device="cuda")
    for refused in (
        lambda: tensor([1.0]) * there, lambda: number.detach().add_(there),
        lambda: plain.select_scatter(number, 0, 1), lambda: numgrad.block_diag(plain, number),
    ):
        with pytest.raises(RuntimeError, match=MIXED):
            refused()


def test_indices_of_the_cpu_are_accepted():
    x = tensor([1.0, 2.0, 3.0], device="cuda")
    assert x[tensor([2, 0])].tolist() == [3, 1]
    assert x[tensor([True, False, True])].tolist() == [1, 3]
    with pytest.raises(RuntimeError, match="indices should be either on cpu or on the same device"):
        tensor([1.0, 2.0])[tensor([0], device="cuda")]
