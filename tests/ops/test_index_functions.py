"""Functions on indices and masks beyond the table's samples: in place, and errors."""

import numpy as np
import pytest
from snapshots import refused, unchanged

import numgrad
from numgrad import arange, ones, tensor, zeros

ROWS = tensor([0, 2])


@pytest.fixture
def x():
    return arange(12.0).reshape(3, 4).clone()


IN_PLACE = [
    ("index_add", (0, ROWS, ones(2, 4))), ("index_copy", (1, ROWS, ones(3, 2))), ("index_fill", (0, ROWS, 5)),
    ("index_fill", (0, ROWS, tensor(5.0))), ("index_put", ((ROWS,), tensor(5.0))), ("put", (ROWS, ones(2))),
    ("scatter", (1, ROWS.expand(3, 2), ones(3, 2))), ("scatter", (1, ROWS.expand(3, 2), 5)),
    ("scatter_add", (1, ROWS.expand(3, 2), ones(3, 2))), ("masked_fill", (arange(4) > 1, 5)),
    ("scatter_reduce", (1, ROWS.expand(3, 2), ones(3, 2), "mean")),
    ("scatter_reduce", (1, ROWS.expand(3, 2), ones(3, 2), "amax")),
    ("index_reduce", (1, ROWS, ones(3, 2), "mean")),
    ("masked_fill", (arange(4) > 1, tensor(5.0))), ("masked_scatter", (arange(4) > 1, arange(20.0))),
]  # fmt: skip


@pytest.mark.parametrize(("name", "arguments"), IN_PLACE, ids=lambda value: value if isinstance(value, str) else "")
def test_in_place(x, name, arguments):
    with unchanged(x):
        expected = getattr(x, name)(*arguments)
    for target in (x.clone(), x.t().contiguous().t(), zeros(3, 8)[:, ::2].copy_(x)):
        assert getattr(target, f"{name}_")(*arguments) is target
        assert target.tolist() == expected.tolist()
    version = x._version
    getattr(x, f"{name}_")(*arguments)
    assert x._version == version + 1


@pytest.mark.parametrize(("name", "arguments"), IN_PLACE, ids=lambda value: value if isinstance(value, str) else "")
def test_in_place_is_recorded_as_the_copy_is(x, name, arguments):
    found = []
    for change in (name, f"{name}_"):
        leaf = x.clone().requires_grad_()
        given = [v.clone().requires_grad_() if isinstance(v, numgrad.Tensor) and v.is_floating_point() else v
                 for v in arguments]
        changed = getattr(leaf * 1, change)(*given)
        (changed * changed * arange(12.0).reshape(3, 4)).sum().backward()
        leaves = [v for v in given if isinstance(v, numgrad.Tensor) and v.requires_grad]
        found.append([changed.grad_fn.name(), leaf.grad.tolist(), *[v.grad.tolist() for v in leaves]])
    assert found[0] == found[1]


def test_writing_to_a_part_through_a_function(x):
    y = x.requires_grad_() * 1
    y[1:].scatter_(1, tensor([[0], [3]]), 9.0)
    assert y.tolist() == [[0, 1, 2, 3], [9, 5, 6, 7], [8, 9, 10, 9]]
    y.sum().backward()
    assert x.grad.tolist() == [[1, 1, 1, 1], [0, 1, 1, 1], [1, 1, 1, 0]]


def test_gather_and_its_sisters(x):
    assert numgrad.gather(x, 1, tensor([[3, 3], [0, 1]])).tolist() == [[3, 3], [4, 5]]
    assert x.gather(-1, tensor([[3], [0]], dtype=numgrad.int32), sparse_grad=True).tolist() == [[3], [4]]
    assert numgrad.gather(tensor(3.0), 0, tensor([0, 0])).tolist() == [3, 3]
    assert numgrad.take_along_dim(x, tensor([[1]]), dim=1).tolist() == [[1], [5], [9]]
    assert x.take_along_dim(tensor([[5, 7]])).tolist() == [5, 7]
    assert x.take(tensor([[-1, 0]])).tolist() == [[11, 0]]
    assert x.index_select(1, tensor([3, 3, 0])).tolist() == [[3, 3, 0], [7, 7, 4], [11, 11, 8]]
    assert numgrad.index_select(x, 0, tensor(1)).tolist() == [[4, 5, 6, 7]]


def test_embedding_counts_and_pads():
    weight = arange(6.0).reshape(3, 2).clone().requires_grad_()
    words = tensor([[0, 1], [1, 2]])
    assert numgrad.embedding(weight, words).tolist() == [[[0, 1], [2, 3]], [[2, 3], [4, 5]]]
    for settings, rows in (((), [1, 2, 1]), ((1,), [1, 0, 1]), ((2, True), [1, 1, 0])):
        weight.grad = None
        numgrad.embedding(weight, words.int(), *settings).sum().backward()
        assert weight.grad.tolist() == [[row, row] for row in rows]


def test_scatter_has_several_forms(x):
    index = tensor([[0, 0, 1]])
    assert x.scatter(0, index, 5).tolist() == x.scatter(0, index, value=5).tolist()
    assert zeros(2, 3).scatter(0, index, 1.5, reduce="add").tolist() == [[1.5, 1.5, 0], [0, 0, 1.5]]
    with pytest.warns(UserWarning, match="reduce argument"):
        assert x.scatter(1, index, ones(1, 3) * 2, reduce="multiply").tolist()[0] == [0, 2, 2, 3]
    whole = tensor([1, 2, 6])
    for reduce, expected in {"sum": 7, "prod": 9, "mean": 2, "amax": 3, "amin": 1}.items():
        assert whole.scatter_reduce(0, tensor([0, 0]), tensor([3, 3]), reduce).tolist() == [expected, 2, 6]
    assert whole.scatter_reduce(0, tensor([0, 0]), tensor([-3, -4]), "mean", include_self=False).tolist() == [-4, 2, 6]


def test_extremes_share_their_gradient():
    x, y = tensor([2.0, 0.0], requires_grad=True), tensor([2.0, 1.0, 2.0], requires_grad=True)
    x.scatter_reduce(0, tensor([0, 0, 0]), y, "amax").sum().backward()
    assert np.allclose(x.grad.tolist(), [1 / 3, 1])
    assert np.allclose(y.grad.tolist(), [1 / 3, 0, 1 / 3])
    nan = tensor([float("nan"), 1.0])
    assert np.isnan(zeros(1).scatter_reduce(0, tensor([0, 0]), nan, "amax").item())


def test_products_with_zeros_have_gradients():
    for factors in ([2.0, 3.0, 4.0], [2.0, 0.0, 4.0], [0.0, 0.0, 4.0]):
        x, y = tensor(factors[:1], requires_grad=True), tensor(factors[1:], requires_grad=True)
        x.scatter_reduce(0, tensor([0, 0]), y, "prod").sum().backward()
        a, b, c = factors
        assert x.grad.tolist() + y.grad.tolist() == [b * c, a * c, a * b]


def test_where_and_nonzero():
    mask = tensor([[True, False], [True, True]])
    assert mask.nonzero().tolist() == numgrad.argwhere(mask).tolist() == [[0, 0], [1, 0], [1, 1]]
    assert [row.tolist() for row in numgrad.where(mask)] == [[0, 1, 1], [0, 0, 1]]
    assert [row.tolist() for row in tensor(3.0).nonzero(as_tuple=True)] == [[0]]
    assert tensor(3.0).nonzero().shape == (1, 0)
    assert numgrad.where(mask, 1, 0).dtype is numgrad.int64
    assert numgrad.where(mask, 1.0, 0).tolist() == [[1, 0], [1, 1]]
    assert numgrad.where(mask, tensor([1, 2]), 0.5).tolist() == [[1, 0.5], [1, 2]]
    with pytest.warns(UserWarning, match="uint8"):
        assert numgrad.where(mask.byte(), mask, mask).tolist() == mask.tolist()
    for wrong, error in (((True, 1, 2), TypeError), ((mask, 1), TypeError), ((mask.long(), 1, 2), RuntimeError)):
        with pytest.raises(error, match="where"):
            numgrad.where(*wrong)


def test_indices_of_triangles():
    for height, width, offset in ((3, 4, 0), (4, 2, -1), (2, 5, 2), (0, 3, 0)):
        lower = np.array(np.tril_indices(height, offset, width))
        assert numgrad.tril_indices(height, width, offset).tolist() == lower.tolist()
        upper = np.array(np.triu_indices(height, offset, width))
        assert numgrad.triu_indices(height, width, offset, dtype=numgrad.int32).tolist() == upper.tolist()
    with pytest.raises(RuntimeError, match="row must be non-negative, got -1"):
        numgrad.tril_indices(-1, 3)
    with pytest.raises(NotImplementedError, match="'Float'"):
        numgrad.triu_indices(2, 3, dtype=numgrad.float32)


HERE, MASK = tensor([[0], [1], [2]]), tensor([True, False, True, False])

REFUSED = [
    ("gather", (1, HERE + 2), RuntimeError, ["index 4 is out of bounds for dimension 1 with size 4"]),
    ("gather", (1, HERE - 1), RuntimeError, ["index -1 is out of bounds"]),
    ("gather", (2, HERE), IndexError, ["Dimension out of range"]),
    ("gather", (1, HERE[0]), RuntimeError, ["same number of dimensions", "[1]", "[3, 4]"]),
    ("gather", (1, HERE.float()), RuntimeError, ["Expected dtype int32/int64 for index", "float32"]),
    ("gather", (1, zeros(4, 1).long()), RuntimeError, ["Size does not match at dimension 0", "[4, 1]", "[3, 4]"]),
    ("take_along_dim", (HERE[0], 1), RuntimeError, ["same number of dimensions", "2 dimensions", "1 dimensions"]),
    ("take_along_dim", (HERE.int(), 1), RuntimeError, ["dtype of indices should be Long but got Int"]),
    ("scatter", (1, HERE + 2, 1.0), RuntimeError, ["index 4 is out of bounds for dimension 1 with size 4"]),
    ("scatter", (1, HERE, ones(2, 1)), RuntimeError, ["Expected index [3, 1] to be no larger", "src [2, 1]"]),
    ("scatter", (1, HERE, ones(3, 1).double()), RuntimeError, ["Expected self.dtype to be equal to src.dtype"]),
    ("scatter", (1, HERE, "a"), TypeError, ["number"]),
    ("scatter_add", (1, HERE, 1.0), TypeError, ["'src' (position 3) must be Tensor, not float"]),
    ("scatter_add", (0, HERE[:, 0], ones(3)), RuntimeError, ["same number of dimensions as self"]),
    ("scatter_reduce", (1, HERE, ones(3, 1), "add"), RuntimeError, ["sum, prod, mean, amax or amin, got add"]),
    ("index_select", (1, tensor([4])), RuntimeError, ["id=4 axis_dim=4"]),
    ("index_select", (1, HERE), IndexError, ["Index is supposed to be a vector", "[3, 1]"]),
    ("index_add", (0, ROWS, ones(3, 4)), RuntimeError, ["Number of indices (2)", "(3), for dim: 0"]),
    ("index_add", (0, ROWS, ones(2, 3)), RuntimeError, ["source tensor shape must match", "[3, 4]", "[2, 3]"]),
    ("index_add", (0, ROWS + 1, ones(2, 4)), IndexError, ["index out of range in self: 3"]),
    ("index_reduce", (0, ROWS, ones(2, 4), "sum"), RuntimeError, ["one of prod, mean, amax or amin but got sum"]),
    ("index_reduce", (0, ROWS, ones(2, 3), "mean"), RuntimeError, ["source tensor shape must match", "[2, 3]"]),
    ("index_reduce", (0, ROWS + 1, ones(2, 4), "mean"), IndexError, ["index out of range in self: 3"]),
    ("index_copy", (0, ROWS, ones(3, 4)), IndexError, ["Number of indices (2)", "(3)"]),
    ("index_copy", (0, ROWS.int(), ones(2, 4)), RuntimeError, ["Expected a long tensor for index, but got Int"]),
    ("index_copy", (0, [0], ones(1, 4)), TypeError, ["'index' (position 2) must be Tensor, not list"]),
    ("index_copy", (0, ROWS, [1.0]), TypeError, ["'source' (position 3) must be Tensor, not list"]),
    ("index_fill", (0, [0], 5), TypeError, ["'index' (position 2) must be Tensor, not list"]),
    ("index_fill", (0, ROWS, ones(1)), RuntimeError, ["0-dimensional value tensor", "1 dimension"]),
    ("index_fill", (0, ROWS + 1, 5), IndexError, ["index 3 is out of bounds for dimension 0 with size 3"]),
    ("put", (ROWS, [1.0, 2.0]), TypeError, ["'source' (position 2) must be Tensor, not list"]),
    ("put", (ROWS, ones(3)), IndexError, ["source.numel() = 3, index.numel() = 2"]),
    ("put", (ROWS + 10, ones(2)), IndexError, ["tried to access index 12 on a tensor of 12 elements"]),
    ("take", (ROWS.int(),), RuntimeError, ["Expected a long tensor for index, but got Int"]),
    ("masked_fill", (MASK.byte(), 5), RuntimeError, ["only supports boolean masks", "uint8"]),
    ("masked_fill", (MASK, ones(1)), RuntimeError, ["0-dimensional value tensor"]),
    ("masked_fill", (MASK[:3], 5), RuntimeError, ["must match", "non-singleton dimension 1"]),
    ("masked_fill", (True, 5), TypeError, ["'mask' (position 1) must be Tensor, not bool"]),
    ("masked_select", (MASK.long(),), RuntimeError, ["expected BoolTensor for mask"]),
    ("masked_scatter", (MASK, ones(5)), RuntimeError, ["Number of elements of source < number of ones", "(5 < 6)"]),
    ("masked_scatter", (MASK, ones(6).double()), RuntimeError, ["same dtypes", "Float and Double"]),
]


@pytest.mark.parametrize(("name", "arguments", "error", "words"), REFUSED)
def test_bad_arguments_change_nothing(x, name, arguments, error, words):
    with refused(error, [x], *words):
        getattr(x, name)(*arguments)
    if hasattr(x, f"{name}_"):
        with refused(error, [x], *words):
            getattr(x, f"{name}_")(*arguments)


def test_targets_that_may_not_be_written_to(x):
    for change in (
        lambda t: t.index_add_(0, ROWS, t[:2]), lambda t: t.scatter_(1, HERE, t[:, 1:2]),
        lambda t: t.masked_scatter_(MASK, t), lambda t: t.put_(ROWS, t[0, :2]),
        lambda t: t.index_copy_(0, ROWS, t[1:]),
    ):
        with refused(RuntimeError, [x], "refer to a single memory location", "clone()"):
            change(x)
    with refused(RuntimeError, [x], "output with shape [3, 4] doesn't match the broadcast shape [2, 3, 4]"):
        x.masked_fill_(ones(2, 3, 4) > 0, 1)
    leaf = ones(3, 4, requires_grad=True)
    with refused(RuntimeError, [leaf], "a leaf Variable that requires grad"):
        leaf.masked_fill_(MASK, 1)


def test_embedding_refuses(x):
    for indices, error, words in (
        (tensor([3]), IndexError, "index out of range in self: 3"), (tensor([-1]), IndexError, "out of range"),
        (tensor([1.0]), RuntimeError, "torch.FloatTensor"), ([1], TypeError, "'indices' (position 2) must be Tensor"),
    ):
        with refused(error, [x], words):
            numgrad.embedding(x, indices)
    with refused(RuntimeError, [x], "'weight' must be 2-D", "[4]"):
        numgrad.embedding(x[0], tensor([0]))


def test_bools_have_no_mean_and_complex_numbers_no_order():
    for kind, reduce in ((numgrad.bool, "mean"), (numgrad.complex64, "amax")):
        x = zeros(2, dtype=kind)
        with refused(NotImplementedError, [x], f"reduce_{reduce}", "[2]"):
            x.scatter_reduce(0, tensor([0]), x[:1], reduce)


@pytest.mark.parametrize(("index", "expected", "gradients"), [([], 6, [3, 0]), ([0], 7, [0, 1]), ([0, -1], 7, [0, 1])])
def test_index_fill_of_a_tensor_without_dimensions(index, expected, gradients):
    index = tensor(index, dtype=numgrad.int64)
    for name in ("index_fill", "index_fill_"):
        x, value = tensor(2.0, requires_grad=True), tensor(7.0, requires_grad=True)
        result = getattr(x * 3, name)(0, index, value)
        assert (result.item(), result.shape) == (expected, ())
        assert [g.item() for g in numgrad.autograd.grad(result, [x, value])] == gradients


@pytest.mark.parametrize("fill", [
    lambda x, value: x.masked_fill_(x > 0, value), lambda x, value: x.masked_fill(x > 0, value),
    lambda x, value: x.index_fill_(0, tensor([0]), value), lambda x, value: x.__setitem__(x > 0, value),
    lambda x, value: x.__setitem__(x > 9, value), lambda x, value: x.index_put_((x > 0,), value),
])
@pytest.mark.parametrize(("value", "kind"), [
    (tensor(300), "uint8"), (tensor(1e30), "int64"), (tensor(float("nan")), "int32"), (tensor(1 + 2j), "float32"),
    (tensor(1e300, dtype=numgrad.float64), "float32"),
])
def test_a_number_in_a_tensor_that_the_dtype_cannot_hold_is_refused(fill, value, kind):
    x = ones(2).to(getattr(numgrad, kind))
    with pytest.raises(RuntimeError, match=f"cannot be converted to type {kind} without overflow"):
        fill(x, value)
    assert x.tolist() == [1, 1]
