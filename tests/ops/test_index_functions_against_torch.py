"""Functions on indices and masks against PyTorch, in every layout and dtype."""

import numpy as np
import pytest
from ops.index_programs import X, lines, program
from ops.torch_comparison import assert_same, randoms

pytestmark = [
    pytest.mark.torch,
    pytest.mark.filterwarnings("ignore:The reduce argument of torch.scatter"),
    pytest.mark.filterwarnings("ignore:where received a uint8 condition"),
]

FUNCTIONS = lines("""
    x.gather(1, k)
    m.gather(x, 0, k[:2, :, :3] * 0 + 2)
    x.gather(-1, k.int())
    x.gather(1, k[:, :1])
    x.gather(1, k[:, :0])
    m.gather(x[0, 0, 0], 0, m.tensor(0))
    m.gather(x[0, 0, 0], 0, m.tensor([0, 0, 0]))
    m.gather(x[0, 0], 0, m.tensor(3))
    m.take_along_dim(x, k[:, :1], 1)
    m.take_along_dim(x, k[:1, :2, :1], 1)
    x.take_along_dim(k[:, :, :1] * 0 + 4, dim=2)
    m.take_along_dim(x, k[:, :1] - x.shape[1], 1)
    m.take_along_dim(x.contiguous(), k)
    x.scatter(1, u, y)
    x.scatter(1, u.int(), y)
    x.scatter(1, u[:, :1], y.detach())
    x.scatter(1, u, 3)
    x.scatter(1, u, value=2.5)
    x.scatter(1, k, 2, reduce="add").detach()
    x.scatter(1, k, 2, reduce="multiply").detach()
    x.detach().scatter(1, k, y.detach(), reduce="add")
    x.detach().scatter(1, k, y.detach(), reduce="multiply")
    w.scatter_(1, u, y); w
    w.scatter_(1, u, 4); w
    w[1:].scatter_(1, u[1:], y[1:]); w
    w.transpose(0, 1).scatter_(0, u.transpose(0, 1)[:, :2], 1); w
    x.scatter_add(1, k, y)
    x.scatter_add(0, k * 0, y)
    x.scatter_add(1, k[:2, :, :3], y.detach())
    x.scatter_add(2, k, y)
    w.scatter_add_(1, k, y); w
    x.scatter_reduce(1, k, y, "sum")
    x.scatter_reduce(1, k, y, "sum", include_self=False)
    x.scatter_reduce(1, k, y, "mean")
    x.scatter_reduce(1, k, y, "mean", include_self=False)
    x.scatter_reduce(1, k, y, "prod")
    x.scatter_reduce(1, k, y, "prod", include_self=False)
    x.scatter_reduce(1, k, y, "amax")
    x.scatter_reduce(1, k, y, "amax", include_self=False)
    x.scatter_reduce(1, k, y, reduce="amin", include_self=True)
    x.scatter_reduce(1, k, (y.detach().long() * 1).to(x.dtype), reduce="amin", include_self=False)
    m.zeros_like(x).scatter_reduce(1, k, y, "prod")
    x.scatter_reduce(1, k, y * (y > 0), "prod")
    w.scatter_reduce_(1, k, y, "mean"); w
    w.scatter_reduce_(1, k, y, "amax"); w
    m.tensor([1.0, float("nan")]).scatter_reduce(0, m.tensor([0, 1, 0]), m.tensor([3.0, 2, float("nan")]), "amax")
    x.index_select(0, i)
    m.index_select(x, 1, j % 4)
    x.index_select(-1, i.int())
    x.index_select(1, m.tensor(2))
    x.index_select(1, i[:0])
    x[0, 0, 0].index_select(0, m.tensor(0))
    x.index_add(1, i, y)
    x.index_add(1, i, y, alpha=2.5)
    x.index_add(0, m.tensor(1), y[:1])
    m.index_add(x, 0, i, y[m.tensor([0, 1, 2, 0])], alpha=-1)
    w.index_add_(1, i, y); w
    w[1:].index_add_(1, i, y[1:]); w
    w.transpose(0, 2).index_add_(1, i, y.transpose(0, 2)); w
    x.index_reduce(1, i, y, "prod")
    x.index_reduce(1, i, y, "mean")
    x.index_reduce(-2, i, y, "mean", include_self=False)
    x.index_reduce(1, i, y, "amax", include_self=False)
    x.index_reduce(1, i, y, "amin")
    w.index_reduce_(1, i, y, "amax"); w
    m.tensor([3]).index_reduce(0, m.tensor([0, 0]), m.tensor([1, -9]), "mean")
    m.tensor(3.0).index_reduce(0, m.tensor(0), m.tensor(1.0), "mean")
    x.index_copy(1, m.tensor([3, 0]), y[:, :2])
    x.index_copy(0, m.tensor(1), y[:1])
    w.index_copy_(1, m.tensor([3, 0, 1, 2]), y); w
    x.index_fill(1, i, 3)
    x.index_fill(1, i, y[0, 0, 0])
    x.index_fill(1, j, 2.5)
    x.index_fill(1, m.tensor(2), m.tensor(3.0))
    w.index_fill_(1, i, -1.5); w
    w.index_fill_(1, i, y[0, 0, 0]); w
    x.take(m.tensor([[0, 59], [-1, -60]]))
    m.take(x, i[:0])
    x.put(m.tensor([[0, 59], [-1, 0]]), y[0, :2, :2], accumulate=True)
    x.put(m.tensor([3, 1]), y[0, 0, :2])
    w.put_(m.tensor([3, 1]), y[0, 0, :2]); w
    w.put_(m.tensor([3, 3]), y[0, 0, :2], True); w
    x.masked_fill(b, 3)
    x.masked_fill(b[0], -2.5)
    x.masked_fill(b[:, :1], m.tensor(4.0, dtype=m.float64))
    x.masked_fill(b, y[0, 0, 0])
    x[0].masked_fill(b, 3)
    w.masked_fill_(b, 3); w
    w.masked_fill_(b[0], y[0, 0, 0]); w
    w[1:].masked_fill_(b[1:], 3); w
    v = w * w; w2 = v.masked_fill_(b, 0); w2 * 2
    x.masked_select(b)
    x.masked_select(b[0])
    x[0].masked_select(b)
    m.masked_select(x, b & ~b)
    x.masked_scatter(b, y)
    x.masked_scatter(b[0], y)
    x.masked_scatter(b[:, :1], y.transpose(0, 1))
    w.masked_scatter_(b, y); w
    m.embedding(x[0], i)
    m.embedding(x[0], i.int(), 2)
    m.embedding(x[0], i.reshape(2, 2), -1, True)
    m.embedding(x[0], m.tensor(3), 3)
    x.nonzero()
    m.nonzero(b)
    b.nonzero(as_tuple=True)
    m.argwhere(b[0])
    m.argwhere(x[0, 0, 0])
    m.nonzero(x[0, 0, 0], as_tuple=True)
    m.nonzero(b[:0], as_tuple=True)
    m.where(b)
    m.where(b, x, y[:, :1])
    m.where(b, 1, 0)
    m.where(b, 1.5, 0)
    m.where(b, x, 2)
    m.where(b.byte(), x, y)
    m.where(b, m.tensor(2), 2.5)
    x.where(b, 0)
    m.tril_indices(3, 4)
    m.tril_indices(4, 3, -1)
    m.triu_indices(3, 4, 1)
    m.triu_indices(0, 4)
    m.triu_indices(5, 2, -2, dtype=m.int32)
""")  # fmt: skip


@pytest.mark.parametrize("expression", FUNCTIONS)
def test_functions(expression):
    for array in X.values():
        assert_same(program(expression), array, randoms((3, 4, 5), seed=4)[0])
    array = X["contiguous"].astype(np.float32)
    assert_same(program(expression), array, randoms((3, 4, 5), seed=4, dtype="float32")[0])


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "int64", "bool", "complex64", "complex128"])
def test_other_dtypes(dtype):
    x, y = [np.rint(20 * values).astype(dtype) for values in randoms((3, 4, 5), (3, 4, 5), seed=2)]
    for expression in lines("""
        x[i]
        x[:, i, None, i]
        x[i.reshape(2, 2)]
        w[j] = y[0]; w
        w[j] = 3; w
        w.index_put((i[:3],), y, True)
        x.gather(1, k)
        x.scatter(1, u, y)
        x.scatter_add(1, k, y)
        x.scatter_reduce(1, k, y, "prod")
        x.scatter_reduce(1, k, y, "mean")
        x.scatter_reduce(1, k, y, "mean", include_self=False)
        x.scatter_reduce(1, k, y, "amax")
        x.scatter_reduce(1, k, y, "amin", include_self=False)
        x.index_add(1, i, y)
        x.index_add(1, i, y, alpha=2)
        x.index_copy(1, u[0, :, 0], y)
        x.index_fill(1, i, 1)
        x.take(i)
        x.put(i, y[0, :4, 0], True)
        x.masked_fill(x != 0, 1)
        x.masked_select(x != 0)
        x.masked_scatter(x != 0, y)
        x.nonzero()
    """):  # fmt: skip
        assert_same(program(expression), x, y, requires_grad=False)


@pytest.mark.parametrize("expression", lines("""
    x.gather(1, k + 2)
    x.gather(1, k - 1)
    x.gather(3, k)
    x.gather(1, k[0])
    x.gather(1, m.zeros(4, 1, 5, dtype=m.int64))
    x.gather(1, k.float())
    x.gather(1, k.short())
    x.gather(1, [0])
    m.take_along_dim(x, k[0], 1)
    m.take_along_dim(x, k.int(), 1)
    x.scatter(1, k + 2, y)
    x.scatter(1, k, y.float())
    x.scatter(1, k[0], y)
    x.scatter(1, m.zeros(3, 5, 5, dtype=m.int64), y)
    x.scatter(1, m.zeros(4, 1, 5, dtype=m.int64), y)
    x.scatter(1, k, m.tensor(5.0, dtype=m.float64))
    x.scatter(1, k, y, reduce="mean")
    x.scatter_reduce(1, k, y, "add")
    x.scatter_add(1, k + 2, y)
    x.scatter_add_(1, k, y)
    w.scatter_(1, k, w); w
    x.index_select(1, m.tensor([4]))
    x.index_select(1, m.tensor([-1]))
    x.index_select(1, m.tensor([[1]]))
    x.index_select(1, m.tensor([1.0]))
    x[0, 0, 0].index_select(0, m.tensor([0, 0]))
    x.index_add(1, i, y[:, :3])
    x.index_add(1, i, y[:2])
    x.index_add(1, i, y.float())
    x.index_add(1, m.tensor([0, 1, 2, 4]), y)
    x.index_add(1, m.tensor([0, 1, 2, -1]), y)
    x.index_copy(1, i, y[:, :3])
    x.index_copy(1, i, y[:2])
    x.index_copy(1, i, y.float())
    x.index_copy(1, i.int(), y)
    x.index_copy(1, m.tensor([0, 1, 2, 4]), y)
    x.index_fill(1, i + 2, 3)
    x.index_fill(1, i, m.tensor([3.0]))
    x.index_fill(1, i.reshape(2, 2), 3)
    x.index_fill(1, i, "a")
    x.index_fill(1, i.int(), 3)
    x.take(m.tensor([60]))
    x.take(m.tensor([-61]))
    x.take(i.int())
    m.zeros(0).take(i)
    x.put(i, y)
    x.put(i, y[0, :4, 0].float())
    x.put(m.tensor([60]), y[0, 0, :1])
    x.masked_fill(b.byte(), 3)
    x.masked_fill(b.long(), 3)
    x.masked_fill(b, m.tensor([3.0]))
    x.masked_fill(b[:2], 3)
    x.masked_fill(True, 3)
    x.masked_fill(b, 1j)
    w[0].masked_fill_(b, 3); w
    m.zeros(3, dtype=m.int64).masked_fill(m.tensor([True, False, True]), 1e30)
    x.masked_select(b.byte())
    x.masked_select(b[:2])
    x.masked_scatter(b, y[0, 0])
    x.masked_scatter(b, y.float())
    x.masked_scatter(b.byte(), y)
    m.embedding(x, i)
    m.embedding(x[0], i + 2)
    m.embedding(x[0], i - 1)
    m.embedding(x[0], i.short())
    m.where(b.long(), x, y)
    m.where(b, x)
    m.where(True, 1, 2)
    m.tril_indices(-1, 3)
    m.tril_indices(3, 3, dtype=m.float32)
    m.zeros(3, dtype=m.bool).scatter_reduce(0, m.tensor([0]), m.tensor([True]), "mean")
    m.zeros(3, dtype=m.complex64).scatter_reduce(0, m.tensor([0]), m.zeros(1, dtype=m.complex64), "amax")
"""))  # fmt: skip
def test_errors_of_functions(expression):
    assert_same(program(expression), X["contiguous"], randoms((3, 4, 5), seed=4)[0])
