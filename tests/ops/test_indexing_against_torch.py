"""Indexing against PyTorch: index expressions, listed and random, read, assigned and derived."""

import random
import warnings

import numpy as np
import pytest
from ops.index_programs import X, lines, program
from ops.torch_comparison import assert_same, randoms

import numgrad

pytestmark = [
    pytest.mark.torch,
    pytest.mark.filterwarnings("ignore:Using a non-tuple sequence"),
    pytest.mark.filterwarnings("ignore:indexing with dtype torch.uint8"),
]

# -- tensor[...] --------------------------------------------------------------------------------------------------

READS = lines("""
    x[i]
    x[:, i]
    x[:, :, i]
    x[i, i]
    x[i, :, i]
    x[:, i, i]
    x[..., i]
    x[i, ..., i]
    x[i[:, None], i]
    x[i[:2, None], :, i[None, :3]]
    x[i[None]]
    x[:, i.reshape(2, 2)]
    x[None, i]
    x[i, None]
    x[i, None, i]
    x[1:, i]
    x[::2, 1:, i]
    x[0, i]
    x[:, 0, i]
    x[0, :, i]
    x[i, 0]
    x[i, :, 0]
    x[i, 1:3]
    x[b]
    x[b[:, 0, 0]]
    x[:, b[0, :, 0]]
    x[b[:, :, 0], 1]
    x[b[:, :, 0], 1:3]
    x[b[:, 0, 0], :, b[0, 0]] if int(b[:, 0, 0].sum()) == int(b[0, 0].sum()) else x
    x[0, b[0]]
    x[..., b[0, 0]]
    x[~b]
    x[b & ~b]
    x[True]
    x[False]
    x[:, True]
    x[True, i]
    x[m.tensor(True)]
    x[m.tensor(1), i]
    x[m.tensor(1)]
    x[[0, 2]]
    x[[0, 2], [1, 3]]
    x[[[0], [2]], [1, 3]]
    x[[True, False, True]]
    x[range(2)]
    x[np.array([0, 2])]
    x[np.array([True, False, True])]
    x[np.array(1)]
    x[np.int64(1), [0, 1]]
    x[i.int()]
    x[[]]
    x[[[0, 1], [1, 2]]]
    x[[0, slice(None)]]
    x[i[:0]]
    x[i[:0], i[:0]]
    x[j]
    x[:, j]
    x[j, j]
    x[j[0]]
    x[(b[:, 0, 0]).byte()]
""")  # fmt: skip


@pytest.mark.parametrize("expression", READS)
def test_reading(expression):
    for array in X.values():
        assert_same(program(expression), array)
    assert_same(program(expression), np.rint(X["contiguous"]).astype(np.int64))


WRITES = lines("""
    w[i] = 5; w
    w[i] = -2.5; w
    w[:, j] = x[:, :2] * 2; w
    w[j] = y; w
    w[b] = 7; w
    w[b] = m.tensor(7.0, dtype=m.float64); w
    w[b] = x[b] * 3; w
    w[b[:, 0, 0]] = y; w
    w[:, b[0, :, 0], 1] = 2; w
    w[1:, j] = y; w
    w[0][j] = y; w
    w[0, j] = y; w
    w.permute(2, 1, 0)[j] = 4; w
    w.permute(2, 1, 0)[:, j] = x.permute(2, 1, 0)[:, :2] * 1; w
    w[::2, ..., j] = m.tensor([[[1.0, 2.0]]], dtype=m.float64); w
    w[None, j] = y; w
    w[j, 1:3] = y; w
    w[j, 0] = y; w
    w[[0, 1], [1, 2]] = y; w
    w[True] = 3; w
    w[True] = m.tensor(7); w
    w[True] = x.float(); w
    w[False] = 3; w
    w[j, ..., j] = 1; w
    w[j] += 2; w
    w[j[0]] = y; w
    w[b] *= 2; w
    v = w[1]; v[j] = y; v
    v = w[1]; v[j] = y; w
    v = w[1:]; w[j] = y; v
    w[j].add_(1); w
    z = x.detach() * 1; z[j] = y; z
    w.index_put((j, m.tensor([1, 3])), m.tensor(3.0, dtype=m.float64))
    w.index_put((m.tensor([0, 0, 2]),), y, accumulate=True)
    m.index_put(w, (b,), m.tensor(3.0, dtype=m.float64), True)
    w.index_put_((m.tensor([0, 0, 2]),), y, accumulate=True); w
    w[1:].index_put_((m.tensor([0, 0, 1]),), y, True); w
    w.transpose(0, 2).index_put((j,), m.tensor(3.0, dtype=m.float64))
""")  # fmt: skip


@pytest.mark.parametrize("expression", WRITES)
def test_writing(expression):
    (row,) = randoms((5,), seed=3)
    for array in X.values():
        assert_same(program(expression), array, row)


def test_versions_after_writing():
    assert_same(lambda m, x: (_written(m, x), m.tensor(_written(m, x)._version))[1:], X["contiguous"])


def _written(m, x):
    y = x.detach() * 1
    y[m.tensor([0, 1])] = 5
    y[0][m.tensor([1])] += 1
    return y


@pytest.mark.parametrize("expression", lines("""
    x[m.tensor([0, 3])]
    x[:, m.tensor([-5])]
    x[m.tensor([0.0])]
    x[m.tensor(1.0)]
    x[m.tensor([True, False])]
    x[:, m.tensor([True, False])]
    x[i, i, i, i]
    x[b, b]
    x[i, j]
    x[{}]
    x[1.0]
    x["a"]
    x[0, 1.0]
    x[object()]
    x[[10 ** 30]]
    x[0][0][0][i]
    m.zeros(0, 3)[i]
    x[i.short()]
    w[m.tensor([0, 3])] = 1; w
    w[m.tensor([True, False])] = 1; w
    w[i] = y; w
    w[i] = m.zeros(3, 4, 4, 5, dtype=m.float64); w
    w[j] = m.zeros(5); w
    w[j] = m.zeros(5, dtype=m.int64); w
    w[j] = "a"; w
    w[j] = None; w
    w[j] = 1j; w
    x[j] = 1; x
    x[0, j] = 1; x
    v = x.detach(); v[j] = v[1:]; v
    w.index_put(j, y)
    w.index_put((j,), 5.0)
    w.index_put((None, j), y)
    w.index_put((j,), m.zeros(7, dtype=m.float64))
    w.index_put((m.tensor([0.0]),), y)
    del w[0]; w
"""))  # fmt: skip
def test_errors(expression):
    assert_same(program(expression), X["contiguous"], randoms((3,))[0])


# -- random index expressions -------------------------------------------------------------------------------------


KINDS = ("integer", "slice", "slice", "none", "tensor", "tensor", "tensor", "mask", "list", "ellipsis")


def random_case(number):
    """A shape, and an index as a function of the module."""
    choice = random.Random(number)
    # PyTorch chooses other strides for parts of size 0, and of size 1 of non-contiguous tensors.
    layout = ("contiguous", "transposed", "stepped")[number % 3]
    shape = tuple(choice.choice((1, 2, 3, 4) if number % 3 == 0 else (2, 3, 4)) for _ in range(choice.randint(1, 4)))
    together = tuple(choice.choice((1, 2, 3)) for _ in range(choice.randint(0, 2)))
    items, dim, ellipsis = [], 0, False
    while dim < len(shape) and choice.random() < 0.85:
        extent = shape[dim]
        kind = choice.choice(KINDS)
        if kind == "ellipsis":
            if ellipsis:
                continue
            ellipsis = True
            skipped = choice.randint(0, len(shape) - dim)
            if choice.random() < 0.5:
                items.append(("plain", Ellipsis))
                dim += skipped
                rest = len(shape) - dim
                items += [("plain", choice.choice([0, -1, slice(None)])) for _ in range(rest)]
                dim = len(shape)
            continue
        if kind == "none":
            items.append(("plain", None))
            continue
        if kind == "integer":
            items.append(("plain", choice.randrange(-extent, extent)))
        elif kind == "slice":
            ends = [choice.choice((None, *range(-extent - 1, extent + 2))) for _ in range(2)]
            items.append(("plain", slice(*ends, choice.choice((None, 1, 2)))))
        elif kind == "list":
            items.append(("plain", [choice.randrange(-extent, extent) for _ in range(together[-1] if together else 1)]))
        elif kind == "tensor":
            cut = choice.randint(0, len(together))
            own = tuple(choice.choice((1, n)) for n in together[cut:])
            values = np.array([choice.randrange(-extent, extent) for _ in range(int(np.prod(own)))]).reshape(own)
            items.append(("tensor", values.astype(choice.choice((np.int64, np.int32)))))
        else:
            span = choice.randint(1, len(shape) - dim)
            mask = np.array([choice.random() < 0.6 for _ in range(int(np.prod(shape[dim : dim + span])))])
            items.append(("tensor", mask.reshape(shape[dim : dim + span])))
            dim += span - 1
        dim += 1

    def index(m):
        made = [m.from_numpy(np.asarray(item)) if kind == "tensor" else item for kind, item in items]
        return made[0] if len(made) == 1 else tuple(made)

    (array,) = randoms(shape, seed=number, layout=layout)
    if 0 in part_shape(shape, index):
        return random_case(number + 10_000)
    return array, index


def part_shape(shape, index):
    """Return the shape of the selected part, () for a refused index."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return tuple(numgrad.zeros(shape)[index(numgrad)].shape)
        except IndexError:
            return ()


@pytest.mark.parametrize("start", range(0, 600, 50))
def test_random_reading(start):
    for number in range(start, start + 50):
        array, index = random_case(number)
        assert_same(lambda m, x, index=index: x[index(m)], array)


@pytest.mark.parametrize("start", range(0, 600, 50))
def test_random_assigning(start):
    for number in range(start, start + 50):
        array, index = random_case(number)
        part = part_shape(array.shape, index)
        shape = [1 if (number >> d) % 3 == 0 else n for d, n in enumerate(part)][number % max(len(part), 1) :]
        (value,) = randoms(tuple(shape), seed=number + 1)

        def write(m, x, y, index=index):
            w = x * 1
            w[index(m)] = y
            return w

        def write_number(m, x, index=index):
            w = x * 1
            w[index(m)] = -9
            return w

        assert_same(write_number, array)
        if part and distinct(array.shape, index):
            assert_same(write, array, value)


def distinct(shape, index):
    """Return True if an index names no element twice; of two writes to one, PyTorch may keep either."""
    found = numgrad.arange(int(np.prod(shape))).reshape(shape)[index(numgrad)].numpy().ravel()
    return len(set(found.tolist())) == found.size


@pytest.mark.parametrize("start", range(0, 300, 50))
def test_random_second_derivatives(start):
    for number in range(start, start + 50):
        array, index = random_case(number)

        def second(m, x, y, index=index):
            (slope,) = m.autograd.grad((x[index(m)] ** 3).sum(), x, create_graph=True)
            return (slope * y).sum()

        assert_same(second, array, *randoms(array.shape, seed=number + 1), graph=False)
