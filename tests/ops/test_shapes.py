"""Views, parts, joins and rearrangements through their public functions, against NumPy's."""

import itertools

import numpy as np
import pytest
from ops.gradients import check_gradients

import numgrad
from numgrad.nn.functional import pad

X = np.arange(24.0).reshape(2, 3, 4)


def same(result, expected):
    """Return True if numgrad's tensors (one, or a sequence) equal NumPy's arrays."""
    if isinstance(result, tuple | list):
        return len(result) == len(expected) and all(map(same, result, expected))
    return np.array_equal(result.numpy(), expected) and result.shape == np.shape(expected)


VIEWS = [
    (lambda x: x.flatten(), X.ravel()),
    (lambda x: x.flatten(1), X.reshape(2, 12)),
    (lambda x: numgrad.flatten(x, start_dim=0, end_dim=1), X.reshape(6, 4)),
    (lambda x: x.unflatten(2, (2, -1)), X.reshape(2, 3, 2, 2)),
    (lambda x: numgrad.unflatten(x, -1, (4, 1)), X.reshape(2, 3, 4, 1)),
    (lambda x: x.ravel(), X.ravel()),
    (lambda x: x.swapaxes(0, 2), X.swapaxes(0, 2)),
    (lambda x: numgrad.swapdims(x, 1, 2), X.swapaxes(1, 2)),
    (lambda x: x.movedim(0, -1), np.moveaxis(X, 0, -1)),
    (lambda x: numgrad.moveaxis(x, (0, 1), (2, 0)), np.moveaxis(X, (0, 1), (2, 0))),
    (lambda x: x.permute(dims=(2, 0, 1)), X.transpose(2, 0, 1)),
    (lambda x: x.T, X.T),
    (lambda x: x.mT, X.swapaxes(1, 2)),
    (lambda x: x.mH, X.swapaxes(1, 2)),
    (lambda x: x[0].H, X[0].T),
    (lambda x: x.adjoint(), X.swapaxes(1, 2)),
    (lambda x: x.reshape(shape=(4, 6)), X.reshape(4, 6)),
    (lambda x: x.view(size=(4, -1)), X.reshape(4, 6)),
    (lambda x: x.broadcast_to(2, 2, 3, 4), np.broadcast_to(X, (2, 2, 3, 4))),
    (lambda x: numgrad.broadcast_tensors(x, x[:1, :, :1]), np.broadcast_arrays(X, X[:1, :, :1])),
    (lambda x: numgrad.atleast_1d(x[0, 0, 0]), np.atleast_1d(X[0, 0, 0])),
    (lambda x: numgrad.atleast_2d(x[0, 0]), np.atleast_2d(X[0, 0])),
    (lambda x: numgrad.atleast_3d([x[0, 0], x[0], x]), np.atleast_3d(X[0, 0], X[0], X)),
    (lambda x: x.split(2, 1), np.split(X, [2], 1)),
    (lambda x: numgrad.split(x, [1, 3], dim=2), np.split(X, [1], 2)),
    (lambda x: x.chunk(3, 2), np.split(X, [2], 2)),
    (lambda x: x[:0].chunk(3), [X[:0]] * 3),
    (lambda x: x.tensor_split(3, 2), np.array_split(X, 3, 2)),
    (lambda x: x.tensor_split((1, 9, -1), 2), np.array_split(X, (1, 9, -1), 2)),
    (lambda x: x.tensor_split(numgrad.tensor([1, 2]), 2), np.array_split(X, (1, 2), 2)),
    (lambda x: x.hsplit(3), np.hsplit(X, 3)),
    (lambda x: x.vsplit([1]), np.vsplit(X, [1])),
    (lambda x: x.dsplit(2), np.dsplit(X, 2)),
    (lambda x: x.unsafe_chunk(2, 1), np.split(X, [2], 1)),
    (lambda x: x.diagonal(1, 1, 2), X.diagonal(1, 1, 2)),
    (lambda x: x.unfold(2, 3, 1), np.lib.stride_tricks.sliding_window_view(X, 3, 2)),
    (lambda x: x.narrow(1, numgrad.tensor(1), 2), X[:, 1:]),
    (lambda x: x.as_strided((3, 2), (1, 4), 2), X.ravel()[np.add.outer(np.arange(3), [0, 4]) + 2]),
    (lambda x: x.squeeze(()), X),
    (lambda x: numgrad.meshgrid(x[0, 0], x[0, :, 0], indexing="ij"), np.meshgrid(X[0, 0], X[0, :, 0], indexing="ij")),
    (lambda x: numgrad.meshgrid(x[0, 0], x[0, :, 0], indexing="xy"), np.meshgrid(X[0, 0], X[0, :, 0])),
]
COPIES = [
    (lambda x: numgrad.hstack((x, x)), np.hstack((X, X))),
    (lambda x: numgrad.hstack([x[0, 0, 0], x[0, 0]]), np.hstack((X[0, 0, 0], X[0, 0]))),
    (lambda x: numgrad.vstack((x[0], x[0, 0])), np.vstack((X[0], X[0, 0]))),
    (lambda x: numgrad.row_stack((x[0, 0], x[0, 0])), np.vstack((X[0, 0], X[0, 0]))),
    (lambda x: numgrad.dstack((x[0, 0], x[0, 0])), np.dstack((X[0, 0], X[0, 0]))),
    (lambda x: numgrad.column_stack((x[0, 0], x[0].t())), np.column_stack((X[0, 0], X[0].T))),
    (lambda x: numgrad.concatenate((x, x), 1), np.concatenate((X, X), 1)),
    (lambda x: x.fliplr(), np.fliplr(X)),
    (lambda x: x.flipud(), np.flipud(X)),
    (lambda x: x.flip(()), X),
    (lambda x: x.roll(5), np.roll(X, 5)),
    (lambda x: x.roll((1, -1), (0, 2)), np.roll(X, (1, -1), (0, 2))),
    (lambda x: x.rot90(), np.rot90(X)),
    (lambda x: x.rot90(2, (1, 2)), np.rot90(X, 2, (1, 2))),
    (lambda x: x.rot90(-1, (2, 0)), np.rot90(X, -1, (2, 0))),
    (lambda x: x.repeat(2, 1, 3, 1), np.tile(X, (2, 1, 3, 1))),
    (lambda x: x.tile(2), np.tile(X, 2)),
    (lambda x: x.repeat_interleave(2), np.repeat(X, 2)),
    (lambda x: x.repeat_interleave(3, dim=1), np.repeat(X, 3, 1)),
    (lambda x: x.repeat_interleave(numgrad.tensor([2, 0, 1]), dim=1), np.repeat(X, [2, 0, 1], 1)),
    (lambda x: x[0].diag(-1), np.diag(X[0], -1)),
    (lambda x: x[0, 0].diag(2), np.diag(X[0, 0], 2)),
    (lambda x: x[0].diagflat(-1), np.diagflat(X[0], -1)),
    (lambda x: x.diag_embed(), X[..., None] * np.eye(4)),
    (lambda x: x[0].trace(), np.trace(X[0])),
    (lambda x: x.tril(-1), np.tril(X, -1)),
    (lambda x: x.triu(1), np.triu(X, 1)),
    (lambda x: numgrad.cartesian_prod(x[0, 0], x[0, :, 0]), np.array(list(itertools.product(X[0, 0], X[0, :, 0])))),
    (lambda x: numgrad.combinations(x[0, 0], 3), np.array(list(itertools.combinations(X[0, 0], 3)))),
    (lambda x: pad(x, (1, 2), value=5), np.pad(X, ((0, 0), (0, 0), (1, 2)), constant_values=5)),
    (lambda x: pad(x, (1, -1)), np.pad(X[..., :-1], ((0, 0), (0, 0), (1, 0)))),
    (lambda x: pad(x, (2, 1), "reflect"), np.pad(X, ((0, 0), (0, 0), (2, 1)), "reflect")),
    (lambda x: pad(x, (2, 5), "replicate"), np.pad(X, ((0, 0), (0, 0), (2, 5)), "edge")),
    (lambda x: pad(x, (3, 1), "circular"), np.pad(X, ((0, 0), (0, 0), (3, 1)), "wrap")),
    (lambda x: pad(x, (-1, 2), "reflect"), X[..., [1, 2, 3, 2, 1]]),
    (lambda x: pad(x, (3, -2), "reflect"), X[..., [3, 2, 1, 0, 1]]),
    (lambda x: pad(x, (-3, -1, 1, -2), "reflect"), X[:, [1, 0]][..., :0]),
    (lambda x: pad(x, (-1, 2), "replicate"), X[..., [1, 2, 3, 3, 3]]),
    (lambda x: pad(x, (-5, 2), "replicate"), X[..., [3]]),
    (lambda x: pad(x, (2, -1, -1, -1), "replicate"), X[:, [1]][..., [0, 0, 0, 1, 2]]),
    (lambda x: pad(x, (-1, 2), "circular"), X[..., [1, 2, 3, 1, 2]]),
    (lambda x: pad(x, (1, -2, -1, 0), "circular"), X[:, 1:][..., [1, 0, 1]]),
]


@pytest.mark.parametrize("number", range(len(VIEWS)))
def test_views(number):
    function, expected = VIEWS[number]
    x = numgrad.from_numpy(X.copy())
    result = function(x)
    assert same(result, expected)
    for part in result if isinstance(result, tuple | list) else [result]:
        assert np.shares_memory(part.numpy(), x.numpy()) == (part.numel() > 0)


@pytest.mark.parametrize("number", range(len(COPIES)))
def test_copies(number):
    function, expected = COPIES[number]
    x = numgrad.from_numpy(X.copy())
    result = function(x)
    assert same(result, expected)
    assert not np.shares_memory(result.numpy(), x.numpy())
    assert np.array_equal(x.numpy(), X)


@pytest.mark.parametrize(
    "function",
    [lambda x: pad(x, (2, 1), "reflect"), lambda x: pad(x, (1, 2), "replicate"),
     lambda x: x.repeat_interleave(2, dim=0), lambda x: x.as_strided((2, 3), (1, 2)), lambda x: x.unfold(1, 3, 1)],
)
def test_gradients_where_an_element_is_used_several_times(function):
    x = numgrad.from_numpy(np.random.default_rng(0).normal(size=(2, 4))).requires_grad_()
    check_gradients(lambda x: function(x) ** 2, x)


def test_elements_in_one_place_share_their_gradient():
    x = numgrad.ones(3, requires_grad=True)
    repeated = x[:1].expand(4)
    repeated.as_strided((2,), (0,)).sum().backward()
    assert x.grad.tolist() == [2.0, 0.0, 0.0]
    (gradient,) = numgrad.autograd.grad(repeated.as_strided((2,), (0,)).sum(), repeated)
    assert gradient.tolist() == [0.5] * 4


BEYOND = {
    "a slice": lambda x: x[2:4].as_strided((6,), (1,), 0),
    "every second": lambda x: x[::2].as_strided((2, 2), (2, 1)),
    "a part of a part": lambda x: x[1:][1::2].as_strided((3,), (2,), 1),
    "another row": lambda x: x.view(2, 3)[0].as_strided((2, 2), (1, 2), 1),
    "a transposed part": lambda x: x.view(3, 2).t()[1].as_strided((3,), (1,)),
}


@pytest.mark.parametrize("view", BEYOND.values(), ids=BEYOND)
def test_as_strided_of_elements_that_its_tensor_does_not_have(view):
    check_gradients(lambda x: view(x * 1) ** 2, numgrad.arange(6, dtype=numgrad.float64).requires_grad_())
    x = numgrad.arange(6.0)
    weights = numgrad.arange(1.0, 1 + view(x).numel()).reshape(view(x).shape)
    gradient = numgrad.func.grad(lambda x: (view(x) * weights).sum())(x)
    assert numgrad.func.jvp(view, (x,), (x,))[1].tolist() == view(x).tolist()
    assert (gradient * x).sum() == (view(x) * weights).sum()
    y = numgrad.zeros(6, requires_grad=True) * 1
    view(y).copy_(weights)
    assert y.count_nonzero() == weights.numel()


def test_as_strided_that_cannot_be_recorded():
    x = numgrad.arange(6.0, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"as_strided_\(\[6\], .* that the tensor of shape \[2\] does not"):
        (x * 1)[2:4].as_strided_((6,), (1,), 0)
    with pytest.raises(RuntimeError, match="cannot be recorded"):
        numgrad.func.jvp(lambda x: x[2:4].as_strided((6,), (1,), 0), (x,), (x,))


def test_as_strided_under_vmap():
    x = numgrad.arange(12.0).reshape(3, 4)
    rows = numgrad.vmap(lambda row: row.as_strided((2, 2), (1, 2)))(x)
    assert rows.tolist() == [row.clone().as_strided((2, 2), (1, 2)).tolist() for row in x]
    assert numgrad.vmap(lambda row: row.as_strided((2,), (1,), 2))(x).tolist() == x[:, 2:].tolist()
    for view, dim, words in [
        (lambda column: column.as_strided((2,), (1,)), 1, r"shape \[3\] with strides \[4\] reaches memory outside"),
        (lambda row: row[1:].as_strided((4,), (1,)), 0, "reaches memory outside of the example"),
        (lambda row: row[1:].as_strided((2,), (1,), 0), 0, "storage_offset of a view of an example"),
    ]:
        with pytest.raises(RuntimeError, match=words):
            numgrad.vmap(view, in_dims=dim)(x)


def test_a_negative_zero_is_padded_with():
    assert numgrad.signbit(pad(numgrad.ones(1), (1, 0), value=-0.0)).tolist() == [True, False]


@pytest.mark.parametrize("view", [lambda x: x.as_strided((2, 2), (1, 4)), lambda x: x.unfold(1, 2, 2),
                                  lambda x: x.diagonal(), lambda x: x.movedim(0, 1), lambda x: x.narrow(1, 2, 2)])
def test_writing_through_a_view(view):
    leaf = numgrad.from_numpy(np.arange(1.0, 13).reshape(3, 4)).requires_grad_()
    x = leaf * 1
    view(x).mul_(3)
    factors = numgrad.ones(3, 4, dtype=numgrad.float64)
    view(factors).fill_(3)
    assert same(x.detach(), (leaf * factors).detach().numpy())
    x.sum().backward()
    assert same(leaf.grad, factors.numpy())


@pytest.mark.parametrize(("name", "diagonal"), [("tril_", 0), ("triu_", 1)])
def test_triangles_in_place(name, diagonal):
    leaf = numgrad.from_numpy(X[0].copy()).requires_grad_()
    x = leaf * 1
    assert getattr(x, name)(diagonal) is x
    kept = getattr(np, name[:-1])(np.ones((3, 4)), diagonal)
    assert same(x.detach(), X[0] * kept)
    assert type(x.grad_fn).__name__ == name[:-1].capitalize() + "Backward0"
    (x * x).sum().backward()
    assert same(leaf.grad, 2 * X[0] * kept)


def test_operations_without_effect_return_their_input():
    x = numgrad.ones(2, 3)
    assert x.flatten(1, 1) is numgrad.atleast_2d(x) is numgrad.broadcast_tensors(x, x)[1] is x


def test_predicates_of_a_tensor():
    x = numgrad.ones(2, 3)
    assert (numgrad.numel(x), x.ndimension(), numgrad.is_tensor(x), numgrad.is_tensor(X)) == (6, 2, True, False)
    assert numgrad.is_nonzero(x[0, 0])
    assert not (x[0, 0] * 0).is_nonzero()
    assert x.is_same_size(x + 1)
    assert numgrad.broadcast_shapes((2, 1), 3, (1, 1, 1)) == (1, 2, 3)


ERRORS = [
    (lambda x: x.flatten(2, 1), RuntimeError, "start_dim cannot come after end_dim"),
    (lambda x: x.unflatten(1, (2, 2)), RuntimeError, "don't multiply up to the size of dim 1 (3)"),
    (lambda x: numgrad.tensor(1.0).unflatten(0, (1,)), RuntimeError, "tensor has no dimensions"),
    (lambda x: x.movedim((0, 0), (0, 1)), RuntimeError, "repeated dim in `source` ([0, 0])"),
    (lambda x: x.permute(0, 0, 1), RuntimeError, "duplicate dims are not allowed"),
    (lambda x: x.permute("a"), TypeError, "must be tuple of ints, not str"),
    (lambda x: x[0, 0].mT, RuntimeError, "only supported on matrices or batches of matrices. Got 1-D"),
    (lambda x: x.split(0), RuntimeError, "split_size can only be 0 if dimension size is 0"),
    (lambda x: x.split([1, 2]), RuntimeError, "sum exactly to 2"),
    (lambda x: x.chunk(0), RuntimeError, "greater than 0, got: 0"),
    (lambda x: x.hsplit(2), RuntimeError, "the size of the dimension 3 is not divisible by the split_size 2"),
    (lambda x: x[0].dsplit(2), RuntimeError, "at least 3 dimension, but got a tensor with 2"),
    (lambda x: numgrad.cat((x, x[:, :2])), RuntimeError, "Expected size 3 but got size 2 for tensor number 1"),
    (lambda x: numgrad.hstack(()), RuntimeError, "non-empty TensorList"),
    (lambda x: x.roll((1, 2), 0), RuntimeError, "shifts: 2, dims:1"),
    (lambda x: x.rot90(1, (0, 0)), RuntimeError, "rotation dims to be different"),
    (lambda x: x.repeat(2), RuntimeError, "can not be smaller than number of dimensions"),
    (lambda x: x.repeat_interleave(numgrad.tensor([1, 2, 3]), dim=0), RuntimeError, "same size as input along dim"),
    (lambda x: x.unfold(0, 3, 1), RuntimeError, "maximum size for tensor at dimension 0 is 2 but size is 3"),
    (lambda x: x.diagonal(0, 1, 1), RuntimeError, "cannot be identical 1, 1"),
    (lambda x: x.diag(), RuntimeError, "Supports 1D or 2D tensors. Got 3D"),
    (lambda x: x[0, 0].tril(), RuntimeError, "at least 2 dimensions"),
    (lambda x: x.as_strided((25,), (1,)), RuntimeError, "out of bounds for storage of size 192"),
    (lambda x: x.narrow(0, 1, 5), RuntimeError, "start (1) + length (5) exceeds dimension size (2)"),
    (lambda x: x.select(0, 2), IndexError, "index 2 out of range for tensor of size [2, 3, 4]"),
    (lambda x: numgrad.meshgrid(x), RuntimeError, "Expected 0D or 1D tensor"),
    (lambda x: pad(x, (1,)), RuntimeError, "divisible by 2"),
    (lambda x: pad(x, (4, 0), "reflect"), RuntimeError, "padding (4, 0) at dimension 2"),
]


@pytest.mark.parametrize("number", range(len(ERRORS)))
def test_errors(number):
    call, kind, words = ERRORS[number]
    x = numgrad.from_numpy(X.copy())
    with pytest.raises(kind) as caught:
        call(x)
    assert words in str(caught.value)
    assert np.array_equal(x.numpy(), X)


def test_cat_and_stack_take_numpys_axis():
    x = numgrad.ones(2, 3)
    assert numgrad.cat([x, x], axis=-1).shape == (2, 6)
    assert numgrad.stack([x, x], axis=1).shape == (2, 2, 3)
    with pytest.raises(TypeError, match="multiple values for argument 'dim'"):
        numgrad.cat([x, x], 1, axis=1)


@pytest.mark.parametrize(
    ("shape", "wrap", "expected"),
    [
        ((2, 3), False, [[7, 0, 0], [0, 7, 0]]),
        ((5, 2), False, [[7, 0], [0, 7], [0, 0], [0, 0], [0, 0]]),
        ((5, 2), True, [[7, 0], [0, 7], [0, 0], [7, 0], [0, 7]]),
        ((2, 2, 2), False, [[[7, 0], [0, 0]], [[0, 0], [0, 7]]]),
        ((0, 2), True, []),
    ],
)
def test_fill_diagonal(shape, wrap, expected):
    x = numgrad.zeros(shape, dtype=numgrad.int64)
    assert x.fill_diagonal_(7, wrap) is x
    assert x.tolist() == expected


def test_fill_diagonal_of_what_has_none():
    with pytest.raises(RuntimeError, match=r"dimensions must larger than 1 \(shape \[3\]\)"):
        numgrad.zeros(3).fill_diagonal_(1)
    with pytest.raises(RuntimeError, match=r"all dimensions of input must be of equal length \(shape \[2, 2, 3\]\)"):
        numgrad.zeros(2, 2, 3).fill_diagonal_(1)


def test_a_filled_diagonal_has_no_gradient():
    x = numgrad.ones(2, 2, requires_grad=True)
    y = x * 3
    y.fill_diagonal_(0).sum().backward()
    assert x.grad.tolist() == [[0, 3], [3, 0]]


@pytest.mark.parametrize("shape", [(0,), (2,), (2, 3)])
def test_empty_rows_are_inputs_of_cat(shape):
    empty, x = numgrad.empty(0, requires_grad=True), numgrad.ones(shape, requires_grad=True)
    joined = numgrad.cat([empty, x, numgrad.empty(0)], -1)
    assert joined.shape == shape
    assert [node is not None for node, _ in joined.grad_fn.next_functions] == [True, True, False]
    joined.sum().backward()
    assert empty.grad.shape == (0,)
    assert x.grad.tolist() == numgrad.ones(shape).tolist()


def test_rolled_tensors_are_copies():
    x = numgrad.arange(4.0).reshape(2, 2).requires_grad_()
    rolled = x.roll(1)
    assert not rolled._is_view()
    rolled.mul_(2)
    assert rolled.grad_fn.name() == "MulBackward0"
    rolled.backward(numgrad.tensor([[1.0, 2.0], [3.0, 4.0]]))
    assert x.grad.tolist() == [[4.0, 6.0], [8.0, 2.0]]


def test_a_view_as_another_dtype():
    x = numgrad.tensor([1.0, 2.0, 3.0])
    bits = x.view(numgrad.int32)
    bits[1] = 0x3F800000
    assert x.tolist() == [1, 1, 3]
    assert x._version == bits._version == 1
    assert x.view(dtype=numgrad.uint8).shape == (12,)
    assert numgrad.ones(5)[:4].view(numgrad.float64).shape == (2,)  # of memory that is not a multiple of its elements
    rows = numgrad.ones(2, 3)
    assert numgrad.vmap(lambda row: row.view(numgrad.int16))(rows).shape == (2, 6)
    with pytest.raises(RuntimeError, match=r"self\.dim\(\) cannot be 0 to view Float as Short"):
        numgrad.vmap(lambda number: number.view(numgrad.int16))(x)
    _, tangent = numgrad.func.jvp(lambda x: x.view(numgrad.int32).view(numgrad.float32), (x,), (x,))
    assert not tangent.any()
    compiled = numgrad.compile(lambda x: (x.view(numgrad.int32) & 0x7FFFFFFF).view(numgrad.float32), fullgraph=True)
    for factor in (1.0, -1.0, -2.0):
        assert numgrad.equal(compiled(x * factor), abs(x * factor))
