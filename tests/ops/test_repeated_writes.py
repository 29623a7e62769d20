"""Derivatives of writes at indices that occur several times: the last one counts, so the others have none."""

import pytest

import numgrad
from numgrad import func, nn, tensor, zeros

ROW = tensor([2, 0, 2, 1, -4])  # of four; -4 is 0 again
INDEX = tensor([[1, 1], [0, 1], [1, 2], [1, 0]])
IMAGE = tensor([[[0, 5], [5, 0]]])


def assigned(target, b):
    out = target.clone()
    out[ROW] = b
    return out


def assigned_by_two(target, b):
    out = target.clone()
    out[ROW, :, ROW[:, None]] = b
    return out


def put_in_place(target, b):
    return target.clone().put_(ROW.reshape(5, 1), b)


WRITES = {
    "setitem of a vector": (assigned, (4,), (5,)),
    "setitem of rows": (assigned, (4, 3), (5, 3)),
    "setitem of one row": (assigned, (4, 3), (3,)),
    "setitem of one number": (assigned, (4, 3), ()),
    "setitem at two indices": (assigned_by_two, (4, 2, 4), (5, 5, 2)),
    "index_put": (lambda y, b: y.index_put((ROW.abs() % 4, ROW % 3), b), (4, 3), (5,)),
    "index_put of columns": (lambda y, b: numgrad.index_put(y.t(), (ROW,), b.t()).t(), (3, 4), (3, 5)),
    "index_put that adds": (lambda y, b: y.index_put((ROW,), b, accumulate=True), (4, 3), (5, 3)),
    "index_copy": (lambda y, b: y.index_copy(1, ROW % 4, b), (2, 4, 3), (2, 5, 3)),
    "index_copy of a vector": (lambda y, b: y.index_copy(0, ROW % 4, b), (4,), (5,)),
    "scatter": (lambda y, b: y.scatter(0, INDEX, b), (3, 3), (4, 3)),
    "scatter along rows": (lambda y, b: y.clone().scatter_(1, INDEX.t(), b), (3, 3), (2, 4)),
    "put": (lambda y, b: y.put(ROW.reshape(5, 1), b), (2, 2), (5,)),
    "put of a matrix": (put_in_place, (2, 2), (1, 5)),
    "put that adds": (lambda y, b: y.put(ROW.reshape(5, 1), b, accumulate=True), (2, 2), (5,)),
    "max_unpool2d": (lambda y, b: y + nn.functional.max_unpool2d(b, IMAGE, 2), (1, 4, 4), (1, 2, 2)),
}  # fmt: skip


@pytest.fixture(params=WRITES.values(), ids=WRITES)
def case(request):
    """Return a linear write, its operands, and its exact result for perturbed operands."""
    write, shape, values = request.param
    numgrad.manual_seed(0)
    y, b, c = [numgrad.randint(9, size, dtype=numgrad.float64) for size in (shape, values, shape)]
    rows = []  # the derivative by each element of b
    for direction in numgrad.eye(b.numel(), dtype=b.dtype):
        rows.append(write(y, b + direction.reshape(values)) - write(y, b))
    return write, y, b, c, numgrad.stack(rows)


def test_forward_and_reverse_mode(case):
    write, y, b, c, jacobian = case
    expected = (jacobian * c).flatten(1).sum(1).reshape(b.shape)
    value, gradient = func.vjp(lambda b: write(y, b), b)
    assert gradient(c)[0].tolist() == expected.tolist()
    assert value.tolist() == write(y, b).tolist()
    forward = func.jvp(lambda b: write(y, b), (b,), (b + 1,))[1]
    assert forward.tolist() == (jacobian.flatten(1) * (b + 1).reshape(-1, 1)).sum(0).reshape(c.shape).tolist()


def test_derivatives_by_both_and_of_derivatives(case):
    write, y, b, *_ = case
    assert numgrad.autograd.gradcheck(write, (y.requires_grad_(), b.requires_grad_()), check_forward_ad=True)
    assert numgrad.autograd.gradgradcheck(write, (y, b), check_fwd_over_rev=True)


def test_under_vmap(case):
    write, y, b, c, _ = case
    batches = [numgrad.stack([each, each + 1, 3 * each]) for each in (y, b, c)]
    gradient = func.grad(lambda y, b, c: (write(y, b) * c).sum(), 1)
    expected = numgrad.stack([gradient(*each) for each in zip(*batches, strict=True)])
    assert numgrad.vmap(gradient)(*batches).tolist() == expected.tolist()


def test_indices_that_differ_among_examples():
    index = tensor([[0, 0, 1], [2, 1, 2]])
    values = tensor([[1.0, 20.0, 300.0], [4.0, 50.0, 600.0]])
    gradient = func.grad(lambda b, i: (zeros(3).index_put((i,), b) * tensor([1.0, 2.0, 3.0])).sum())
    assert numgrad.vmap(gradient)(values, index).tolist() == [[0, 1, 2], [0, 2, 3]]
    by_scatter = func.grad(lambda b, i: (zeros(3).scatter(0, i, b) * tensor([1.0, 2.0, 3.0])).sum())
    assert numgrad.vmap(by_scatter)(values, index).tolist() == [[0, 1, 2], [0, 2, 3]]


def test_in_a_compiled_program():
    def f(b):
        y = zeros(3)
        y[[0, 0, 1]] = b
        return (y * tensor([1.0, 20.0, 300.0])).sum()

    compiled = numgrad.compile(f)
    for _ in range(4):
        b = tensor([1.0, 2.0, 3.0], requires_grad=True)
        compiled(b).backward()
        assert b.grad.tolist() == [0, 1, 20]
