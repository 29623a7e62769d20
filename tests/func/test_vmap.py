"""``vmap``: arguments, results, random numbers, and errors."""

import copy
import pickle

import pytest
from snapshots import refused

import numgrad
from numgrad import arange, ones, stack, tensor, zeros
from numgrad.func import grad, jacfwd, jvp, vmap


@pytest.fixture
def x():
    return arange(6.0).view(2, 3)


# -- inputs and outputs -------------------------------------------------------------------------------------------


def test_it_is_exported_at_both_places():
    assert numgrad.vmap is vmap


def test_the_function_sees_one_example(x):
    seen = []

    def look(row):
        seen.append((row.shape, row.dim(), row.numel(), row.stride(), row.dtype, row.is_leaf, row.requires_grad))
        return row.sum()

    assert vmap(look, in_dims=1)(x).tolist() == [3, 5, 7]
    assert seen == [((2,), 1, 2, (3,), numgrad.float32, True, False)]


@pytest.mark.parametrize("in_dims", [0, (0, 0), (-2, 0)])
def test_dimensions_of_inputs(x, in_dims):
    assert vmap(lambda a, b: a + b, in_dims)(x, x).tolist() == (x + x).tolist()


def test_inputs_that_all_have_in_common(x):
    assert vmap(lambda a, b: a * b, (None, 0))(x, tensor([1.0, 2.0])).shape == (2, 2, 3)
    assert vmap(lambda a, name: a if name == "x" else None, (0, None))(x, "x").tolist() == x.tolist()


def test_nested_inputs(x):
    def total(pair, named):
        return pair[0] * pair[1][0] + named["a"]

    given = (x, [x]), {"a": tensor(1.0)}
    assert vmap(total, ((0, [1]), {"a": None}))((x[:, :2], [x[:, :2]]), given[1]).shape == (2, 2)
    assert vmap(total, (0, None))(*given).tolist() == (x * x + 1).tolist()


def test_keyword_arguments_are_handed_on_as_they_are(x):
    assert vmap(lambda a, b=None: a + b)(x, b=x).shape == (2, 2, 3)


@pytest.mark.parametrize(("out_dims", "shape"), [(0, (2, 3, 1)), (1, (3, 2, 1)), (-1, (3, 1, 2)), ((2,), (3, 1, 2))])
def test_dimensions_of_outputs(x, out_dims, shape):
    assert vmap(lambda row: row.unsqueeze(1), out_dims=out_dims)(x).shape == shape


def test_nested_outputs(x):
    first, (second, third) = vmap(lambda row: (row, [row, {"a": row.sum()}]), out_dims=(1, 0))(x)
    assert first.tolist() == x.T.tolist()
    assert second.tolist() == x.tolist()
    assert third["a"].tolist() == x.sum(1).tolist()


def test_outputs_that_do_not_depend_on_the_example(x):
    assert vmap(lambda row: ones(2))(x).tolist() == [[1, 1], [1, 1]]
    assert vmap(lambda row: (ones(2), "text", row), out_dims=(None, None, 0))(x)[:2] == (pytest.approx([1, 1]), "text")


@pytest.mark.parametrize("size", [1, 2, 3, 7])
@pytest.mark.parametrize("randomness", ["error", "same"])
def test_chunks(x, size, randomness):
    rows = arange(15.0).view(5, 3)
    mapped = vmap(lambda a, b: (a * b, b.sum()), (0, None), (1, 0), randomness, chunk_size=size)
    assert [one.tolist() for one in mapped(rows, x[0])] == [(rows * x[0]).T.tolist(), [3] * 5]


def test_a_batch_of_no_examples():
    assert vmap(lambda row: (row * 2).sum())(zeros(0, 3)).shape == (0,)
    assert vmap(lambda row: row.sort()[0].argmax())(zeros(0, 3)).shape == (0,)


@pytest.mark.parametrize("index", [0, slice(1), tensor([0]), tensor([True, False])])
def test_advice_for_assignments_to_shared_tensors(index):
    def assigned(value, new):
        target = new(value)
        target[index] = value
        return target

    x = tensor([1.0, 2.0])
    with pytest.raises(RuntimeError, match=r"such as index_put\(\) .* other.new_zeros\(\[\d*\]\)\.$"):
        vmap(lambda value: assigned(value, lambda value: zeros(2)))(x)
    assert vmap(lambda value: assigned(value, lambda value: value.new_zeros([2])))(x).tolist() == [[1, 0], [2, 0]]


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x: vmap(abs, randomness="any"), RuntimeError, "'error', 'different', or 'same'. Got any"),
        (lambda x: vmap(abs, chunk_size=0), ValueError, "chunk_size should be None or greater than 0. (got 0)"),
        (lambda x: vmap(abs)(), ValueError, "got no inputs"),
        (lambda x: vmap(abs, [0])(x), ValueError, "got: <class 'list'>"),
        (lambda x: vmap(abs, (0, 0))(x), ValueError, "has structure (*, *) but inputs has structure (*,)"),
        (lambda x: vmap(abs, ("a",))(x), ValueError, "in_dim must be either an integer dimension or None"),
        (lambda x: vmap(abs)(3), ValueError, "We cannot vmap over non-Tensor arguments"),
        (lambda x: vmap(abs)([1.0, 2.0]), ValueError, "make it a tensor with torch.tensor()"),
        (lambda x: vmap(abs, (None,))(x), ValueError, "Expected at least one Tensor to vmap over"),
        (lambda x: vmap(abs, 2)(x), ValueError, "expected in_dim to satisfy -2 <= in_dim < 2"),
        (lambda x: vmap(abs)(x[0, 0]), ValueError, "dimensionality 0"),
        (lambda x: vmap(max)(x, x.T), ValueError, "got sizes [2, 3] for the mapped dimension"),
        (lambda x: vmap(lambda row: 1)(x), ValueError, "must only return Tensors, got type <class 'int'>"),
        (lambda x: vmap(abs, out_dims=3)(x), IndexError, "Dimension out of range"),
        (lambda x: vmap(abs, out_dims=(0, 0))(x), ValueError, "out_dims is not compatible with the structure"),
        (lambda x: vmap(abs, out_dims="a")(x), ValueError, "`out_dims` must be an int, None or a python collection"),
        (lambda x: vmap(abs, out_dims=None)(x), ValueError, "can not return a BatchedTensor when out_dim is None"),
    ],
)
def test_arguments_that_do_not_fit(x, call, error, words):
    with refused(error, [x], words):
        call(x)


# -- random numbers -----------------------------------------------------------------------------------------------


DRAWS = [
    lambda row: numgrad.rand(3), lambda row: numgrad.randn_like(row), lambda row: row.clone().uniform_(),
    lambda row: numgrad.nn.functional.dropout(row + 1), lambda row: numgrad.randperm(50)[:3].float(),
]


@pytest.mark.parametrize("draw", DRAWS)
def test_random_operations(x, draw):
    with refused(RuntimeError, [], "vmap: called random operation while in randomness error mode"):
        vmap(draw)(x)
    numgrad.manual_seed(3)
    same = vmap(draw, randomness="same")(ones(20, 3))
    assert (same == same[0]).all()
    different = vmap(draw, randomness="different")(ones(20, 3))
    assert not (different == different[0]).all()


def test_random_operations_that_depend_on_the_example():
    chances = tensor([[0.0, 1.0], [1.0, 0.0]])
    assert vmap(numgrad.bernoulli, randomness="different")(chances).tolist() == chances.tolist()
    assert vmap(lambda p: p.multinomial(1), randomness="different")(chances).tolist() == [[1], [0]]
    with refused(RuntimeError, [chances], "Vmap does not currently support same randomness with a batched tensor"):
        vmap(numgrad.bernoulli, randomness="same")(chances)
    with refused(RuntimeError, [chances], "Cannot ask for different inplace randomness on an unbatched tensor"):
        vmap(lambda p: zeros(2).uniform_(), randomness="different")(chances)


# -- unsupported calls --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("use", "words"),
    [
        (lambda row: row if row.sum() > 0 else -row, "data-dependent control flow"),
        (lambda row: row.sum().item(), "calling .item() on a Tensor"),
        (lambda row: float(row[0]), "calling .item() on a Tensor"),
        (lambda row: row.tolist(), "Cannot access data pointer of Tensor that doesn't have storage"),
        (lambda row: row.numpy(), "Cannot access data pointer of Tensor that doesn't have storage"),
        (lambda row: row.data_ptr(), "Cannot access data pointer of Tensor that doesn't have storage"),
        (lambda row: row.nonzero(), "over aten::nonzero"), (lambda row: row.unique(), "over aten::_unique2"),
        (lambda row: row[row > 1], "indexing with a boolean mask"),
        (lambda row: row.masked_select(row > 1), "`mask` in torch.masked_select"),
        (lambda row: row.allclose(row), "torch.allclose"), (lambda row: row.equal(row), "aten::equal"),
        (lambda row: numgrad.nn.functional.one_hot(row.long()), "explicit positive num_classes"),
        (lambda row: zeros(3).copy_(row), "vmap: inplace arithmetic(self, *extra_args) is not possible"),
        (lambda row: zeros(3).add_(row), "vmap: inplace arithmetic(self, *extra_args) is not possible"),
        (lambda row: zeros(3).fill_(row[0]), "vmap: fill_(self, *extra_args) is not possible"),
        (lambda row: zeros(3).scatter_(0, arange(3), row), "vmap: aten::scatter_(self, *extra_args) is not possible"),
    ],
)
def test_operations_that_need_the_elements(x, use, words):
    with refused(RuntimeError, [x], words):
        vmap(use)(x)


@pytest.mark.parametrize("use", [pickle.dumps, copy.deepcopy])
def test_examples_cannot_be_stored(x, use):
    with refused(NotImplementedError, [x], "Cannot access storage of BatchedTensorImpl"):
        vmap(use)(x)


def test_a_tensor_that_has_left_vmap_is_of_no_use(x):
    kept = []
    vmap(lambda row: kept.append(row) or row)(x)
    with refused(RuntimeError, [x], "doesn't have storage"):
        kept[0].tolist()
    with pytest.raises((RuntimeError, TypeError)):
        kept[0] + 1


def test_text(x):
    texts = []
    vmap(lambda row: texts.append(repr(row)) or row)(x)
    assert texts == ["BatchedTensor(lvl=1, bdim=0, value=\n    tensor([[0., 1., 2.],\n            [3., 4., 5.]])\n)"]


def test_an_error_leaves_nothing_behind(x):
    with pytest.raises(ZeroDivisionError):
        vmap(lambda row: 1 / 0)(x)
    assert (x + 1).tolist() == [[1, 2, 3], [4, 5, 6]]
    assert vmap(lambda row: row.sum())(x).tolist() == [3, 12]


# -- graphs -------------------------------------------------------------------------------------------------------


def test_two_graphs_are_kept_apart(x):
    """Inner derivatives are recorded for each example, outer ones for the whole batch."""
    leaf = x.clone().requires_grad_()
    seen = []

    def slope(row):
        seen.append((row.requires_grad, row.is_leaf))
        return grad(lambda r: (r**3).sum())(row)

    out = vmap(slope)(leaf)
    assert seen == [(False, True)]
    out.sum().backward()
    assert leaf.grad.tolist() == (6 * x).tolist()


def test_nothing_is_recorded_where_nothing_requires_a_gradient(x):
    w = ones(3)
    out = vmap(grad(lambda w, row: (w * row).sum()), (None, 0))(w, x)
    assert not out.requires_grad
    assert not w.requires_grad


def test_a_new_tensor_is_written_to_within_a_gradient(x):
    def squares(w):
        made = zeros(3)
        made.copy_(w * 2)
        made[0] = w[1]
        return (made * made).sum()

    expected = grad(squares)(x[0])
    assert vmap(lambda row: grad(squares)(x[0]) + 0 * row)(x).tolist() == stack([expected] * 2).tolist()


def test_changes_in_place_reach_the_batch(x):
    vmap(lambda row: row.mul_(2))(x)
    vmap(lambda row: row[0].fill_(9.0))(x)
    assert x.tolist() == [[9, 2, 4], [9, 8, 10]]


def test_rows_are_overwritten_with_one_of_them():
    def change(rows):
        rows = rows.clone()
        rows[:] = rows[1]
        rows[0].fill_(rows[0, 2])
        return rows

    batch = arange(12.0).view(2, 2, 3)
    assert vmap(change)(batch).tolist() == [change(rows).tolist() for rows in batch]
    assert change(batch[0]).tolist() == [[5, 5, 5], [3, 4, 5]]


def test_parts_that_differ_are_written_to_what_examples_have_in_common():
    rows = numgrad.arange(6.0).view(2, 3)
    plane = numgrad.ones(3, 3)
    for write in (
        lambda row: plane.select_scatter(row, 0, 1), lambda row: plane.slice_scatter(row[None], 0, 2, 3),
        lambda row: plane.diagonal_scatter(row),
    ):
        assert numgrad.equal(vmap(write)(rows), numgrad.stack([write(row) for row in rows]))
    slopes = vmap(numgrad.func.jacrev(lambda row: (plane.select_scatter(row, 0, 1) ** 2).sum()))(rows)
    assert slopes.tolist() == (2 * rows).tolist()


def test_a_loss_of_no_rows_has_the_gradient_0():
    def loss(row, target):
        return numgrad.nn.functional.cross_entropy(row, target, ignore_index=1)

    rows, targets = numgrad.tensor([[0.9, 0.5], [0.7, 0.5]]), numgrad.tensor([0, 1])
    assert numgrad.func.grad(lambda rows: vmap(loss)(rows, targets).sum())(rows)[1].tolist() == [0, 0]
    assert vmap(loss)(rows, targets).isnan().tolist() == [False, True]


def test_a_contiguous_example_is_not_copied():
    seen = []

    def look(row):
        seen.append((row.is_contiguous(), row.contiguous() is row, row.contiguous().stride()))
        return row

    x = arange(24.0).view(2, 3, 4)
    vmap(look)(x)
    vmap(look, in_dims=1)(x)
    vmap(vmap(look, in_dims=1))(x)
    assert seen == [(True, True, (4, 1)), (False, False, (4, 1)), (False, False, (1,))]


def test_a_change_of_what_was_saved_is_noticed(x):
    def wrong(row):
        y = row * 1
        z = y * y
        y.add_(1)
        return z.sum()

    with refused(RuntimeError, [x], "modified by an inplace operation"):
        vmap(grad(wrong))(x)


def test_tangents_of_what_examples_have_in_common(x):
    """A tangent may be batched although its tensor is not."""
    w = tensor([1.0, 2.0, 3.0])
    out = vmap(lambda t: jvp(lambda w: w.T.reshape(3, 1).transpose(0, 1) * w.prod(), (w,), (t,))[1])(x)
    expected = stack([jvp(lambda w: w.reshape(1, 3) * w.prod(), (w,), (t,))[1] for t in x])
    assert out.tolist() == expected.tolist()
    assert jacfwd(lambda w: zeros(3).index_copy(0, tensor([2]), w[:1]))(w).tolist() == [[0, 0, 0], [0, 0, 0], [1, 0, 0]]


def test_an_operation_without_a_rule_in_two_levels(x):
    def block(a, b):
        return numgrad.block_diag(a, b.T)

    batch = arange(24.0).view(2, 3, 2, 2)
    out = vmap(vmap(block, (0, None)), (0, None))(batch, x)
    assert out.shape == (2, 3, 5, 4)
    assert out[1, 2].tolist() == numgrad.block_diag(batch[1, 2], x.T).tolist()


def test_the_data_of_an_example(x):
    def doubled(row):
        row = row.clone()
        row.data = row.data * 2
        return row

    assert vmap(doubled)(x).tolist() == (2 * x).tolist()


def test_results_written_to_a_tensor_of_the_callers(x):
    assert vmap(lambda row: numgrad.add(row, row, out=numgrad.empty_like(row)))(x).tolist() == (2 * x).tolist()
    with refused(RuntimeError, [x], "vmap: add(): out cannot take the shape [3] for each example"):
        vmap(lambda row: numgrad.add(row, row, out=numgrad.empty(0)))(x)


def test_backward_within_an_example(x):
    def slope(row):
        leaf = row.detach().requires_grad_()
        (leaf**3).sum().backward()
        return leaf.grad

    assert vmap(slope)(x).tolist() == (3 * x**2).tolist()


def test_a_tensor_of_the_callers_is_written_to_within_a_gradient(x):
    buffer = zeros(3)

    def squares(w):
        buffer.copy_(w)
        return (buffer**2).sum()

    w = tensor([1.0, 2.0, 3.0])
    assert vmap(lambda row: grad(squares)(w) + 0 * row)(x).tolist() == [[2, 4, 6]] * 2
    assert not buffer.requires_grad
    assert (buffer + 1).tolist() == [2, 3, 4]


def test_examples_without_dimensions_do_not_decide_on_types():
    wide = tensor([1.5, 2.5], dtype=numgrad.float64)
    assert vmap(lambda row, number: row.add_(number))(zeros(2, 3), wide).dtype == numgrad.float32
    assert vmap(lambda row, number: row + number)(arange(4).view(2, 2), wide).tolist() == [[1.5, 2.5], [4.5, 5.5]]


@pytest.mark.parametrize("change", [lambda t: t.zero_(), lambda t: t.fill_(2)])
def test_elements_that_share_memory_can_be_filled(change):
    x = numgrad.arange(6.0).reshape(2, 3)
    filled = vmap(lambda row: change(row[:1].expand(3)))(x)
    assert filled.tolist() == [[filled[0, 0].item()] * 3] * 2
    assert x[:, 0].tolist() == filled[:, 0].tolist()


@pytest.mark.parametrize("batched", [(0, None), (0, 0), (None, 0)])
def test_indexed_results_have_the_same_layout_as_without_vmap(batched):
    x, index = numgrad.arange(12.0).reshape(2, 3, 2), numgrad.tensor([[1, 0], [0, 1]])
    args = [value if dim == 0 else value[0] for value, dim in zip((x, index), batched, strict=True)]
    rows = vmap(lambda x, index: x[:, index].view(6), batched)(*args)
    expected = [(x[n] if batched[0] == 0 else x[0])[:, index[n] if batched[1] == 0 else index[0]] for n in range(2)]
    assert rows.tolist() == [each.flatten().tolist() for each in expected]


def test_one_row_that_an_index_has_picked_can_be_seen_as_complex():
    x = numgrad.arange(4.0).reshape(2, 1, 2)
    found = vmap(lambda x: numgrad.view_as_complex(x[..., numgrad.tensor([1, 0])]))(x)
    assert found.tolist() == [[1], [3 + 2j]]


@pytest.mark.parametrize(("write", "expected"), [
    (lambda row, turn: row.index_copy_(0, turn, row), [[1, 0], [3, 2]]),
    (lambda row, turn: row.index_add_(0, turn, row.view(2)), [[1, 1], [5, 5]]),
    (lambda row, turn: row.scatter_(0, turn, row), [[1, 0], [3, 2]]),
    (lambda row, turn: row.index_put_((turn,), row), [[1, 0], [3, 2]]),
])
def test_an_example_is_read_before_it_is_written_to_at_indices(write, expected):
    assert vmap(lambda row: write(row, tensor([1, 0])))(arange(4.0).view(2, 2)).tolist() == expected
