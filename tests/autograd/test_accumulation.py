"""The ``grad`` of a leaf after backward: a new tensor or the present one, and its strides."""

import contextlib
import threading
import warnings

import pytest
from backward_times import slowdown
from hypothesis import given, settings
from hypothesis import strategies as st

import numgrad
from numgrad import ones, tensor, zeros
from numgrad.autograd import enforce_grad_layout_policy, grad
from numgrad.ops.shapes.parts import select_op


@pytest.fixture
def x():
    return tensor([1.0, 2.0], requires_grad=True)


# --- in place or not --------------------------------------------------------------------


@pytest.mark.parametrize("call", [
    lambda x: (x * 3).sum().backward(),
    lambda x: (x * 3).sum().backward(inputs=[x]),
    lambda x: x.backward(tensor([3.0, 3.0])),
], ids=["backward", "inputs", "leaf"])
def test_the_grad_that_is_there_is_added_to(x, call):
    x.grad = before = tensor([10.0, 20.0])
    address = before.data_ptr()
    call(x)
    assert x.grad is before
    assert before.data_ptr() == address
    assert before.tolist() == [13.0, 23.0]
    assert before._version == 1


def test_with_create_graph_the_sum_is_a_new_tensor(x):
    x.grad = before = tensor([10.0, 20.0])
    (x * x).sum().backward(create_graph=True)
    assert x.grad is not before
    assert before.tolist() == [10.0, 20.0]
    assert x.grad.requires_grad
    recorded = x.grad
    (x * x).sum().backward(create_graph=True)
    assert recorded.tolist() == [12.0, 24.0]
    assert x.grad.tolist() == [14.0, 28.0]
    x.grad = None


def test_a_grad_that_was_recorded_is_added_to_in_place(x):
    (x * x).sum().backward(create_graph=True)
    recorded = x.grad
    (x * 3).sum().backward()
    assert x.grad is recorded
    assert recorded.tolist() == [5.0, 7.0]
    x.grad = None


def test_a_grad_that_requires_gradients(x):
    w = tensor([5.0, 6.0], requires_grad=True)
    for preset in (w, w * 2):
        x.grad = preset
        before = preset.tolist()
        (x * 3).sum().backward()
        assert x.grad is preset
        assert preset.tolist() == [value + 3 for value in before]


def test_zeroed_grads(x):
    (x * 3).sum().backward()
    before = x.grad
    before.zero_()
    (x * 4).sum().backward()
    assert x.grad is before
    assert before.tolist() == [4.0, 4.0]
    x.grad = None
    (x * 5).sum().backward()
    assert x.grad is not before
    assert before.tolist() == [4.0, 4.0]


@pytest.mark.parametrize("set_to_none", [True, False])
def test_optimizers_zero_grad(x, set_to_none):
    optimizer = numgrad.optim.SGD([x], lr=0.0)
    (x * 3).sum().backward()
    before = x.grad
    optimizer.zero_grad(set_to_none=set_to_none)
    (x * 4).sum().backward()
    assert (x.grad is before) is not set_to_none
    assert x.grad.tolist() == [4.0, 4.0]


def test_a_grad_that_cannot_be_written_to(x):
    x.grad = ones(1).expand(2)
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor refers to a single memory"):
        (x * 3).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_no_gradient_leaves_grad_alone(x):
    class Nothing(numgrad.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return None

    Nothing.apply(x).sum().backward()
    assert x.grad is None
    x.grad = before = tensor([1.0, 2.0])
    (Nothing.apply(x) + x).sum().backward()
    assert x.grad is before
    assert before.tolist() == [2.0, 3.0]


# --- layout -----------------------------------------------------------------------------

#: Leaves that fill their memory in another order than row-major; ``grad`` gets the same strides.
DENSE = {
    "transposed": lambda: ones(2, 3).t(),
    "permuted": lambda: ones(2, 3, 4).permute(2, 0, 1),
    "channels last": lambda: ones(2, 4, 5, 3).permute(0, 3, 1, 2),
    "with a size of 1": lambda: ones(2, 3).t()[:, None],
}

#: Leaves with gaps or repeated elements; ``grad`` is row-major.
OTHERS = {
    "stepped": lambda: ones(6, 4)[::2, ::2],
    "stepped and transposed": lambda: ones(6, 4).t()[::2, ::2],
    "narrowed": lambda: ones(4, 6)[:, 1:4],
    "expanded": lambda: ones(3).expand(2, 3),
}

#: Functions that send the leaf a gradient: laid out as the leaf, row-major, repeated, given, transposed.
SENDING = {
    "product": lambda x: (x * x).sum().backward(),
    "sum": lambda x: x.sum().backward(),
    "contiguous": lambda x: (x.contiguous() * 2).sum().backward(),
    "given": lambda x: x.backward(ones(x.shape)),
    "reversed": lambda x: x.backward(ones(x.shape[::-1]).permute(*range(x.dim())[::-1])),
    "recorded": lambda x: (x.contiguous() * x).sum().backward(create_graph=True),
}


@pytest.mark.parametrize("send", SENDING.values(), ids=SENDING)
@pytest.mark.parametrize("make", DENSE.values(), ids=DENSE)
def test_a_dense_leaf_gives_its_strides_to_its_grad(make, send):
    x = make().detach().requires_grad_()
    send(x)
    wanted = [(stride, size) for stride, size in zip(x.stride(), x.shape, strict=True) if size != 1]
    assert [(s, n) for s, n in zip(x.grad.stride(), x.shape, strict=True) if n != 1] == wanted
    assert (x.grad > 0).all()
    x.grad = None


@pytest.mark.parametrize("send", SENDING.values(), ids=SENDING)
@pytest.mark.parametrize("make", [*OTHERS.values(), lambda: ones(2, 3)], ids=[*OTHERS, "row-major"])
def test_other_leaves_have_row_major_grads(make, send):
    x = make().detach().requires_grad_()
    send(x)
    assert x.grad.is_contiguous()
    assert (x.grad > 0).all()
    x.grad = None


def test_a_grad_that_is_there_keeps_its_strides():
    x = ones(3, 2).requires_grad_()
    x.grad = before = ones(2, 3).t()
    with enforce_grad_layout_policy(False):
        (x * x).sum().backward()
    assert x.grad is before
    assert before.stride() == (1, 3)
    assert before.tolist() == [[3.0, 3.0]] * 3


@pytest.fixture
def unwarned(monkeypatch):
    monkeypatch.setattr("numgrad.autograd.accumulation._warned", False)


OTHER_STRIDES = "grad and param do not obey the gradient layout contract"


@pytest.mark.parametrize(("leaf", "given"), [
    (lambda: ones(3, 2), lambda: ones(2, 3).t()),
    (lambda: ones(2, 3).t(), lambda: ones(3, 2)),
    (lambda: ones(6, 2)[::2], lambda: ones(6, 2)[::2]),
], ids=["transposed", "row-major", "with gaps"])
def test_other_strides_than_the_leafs_are_warned_of_once(unwarned, leaf, given):
    x = leaf().requires_grad_()
    for warned in (True, False):
        x.grad = given()
        with pytest.warns(UserWarning, match=OTHER_STRIDES) if warned else contextlib.nullcontext():
            (x * 2).sum().backward()


@pytest.mark.parametrize(("leaf", "given"), [
    (lambda: ones(3, 2), lambda: ones(3, 2)),
    (lambda: ones(2, 3).t(), lambda: ones(2, 3).t()),
    (lambda: ones(6, 2)[::2], lambda: ones(3, 2)),
    (lambda: ones(3, 1), lambda: ones(1, 3).t()),
], ids=["row-major", "transposed", "with gaps", "of one column"])
def test_fitting_strides_are_not_warned_of(unwarned, leaf, given):
    x = leaf().requires_grad_()
    x.grad = given()
    (x * 2).sum().backward()


def test_the_warning_of_strides_can_be_switched_off(unwarned):
    def step():
        x = ones(3, 2).requires_grad_()
        x.grad = ones(2, 3).t()
        (x * 2).sum().backward()

    with enforce_grad_layout_policy(False):
        step()
    enforce_grad_layout_policy(False)(step)()
    with (
        enforce_grad_layout_policy(False),
        enforce_grad_layout_policy(True),
        pytest.warns(UserWarning, match=OTHER_STRIDES),
    ):
        step()
    with pytest.raises(TypeError, match="must be bool, not int"):
        enforce_grad_layout_policy(0)


def test_gradients_from_grad_keep_their_layout():
    x = ones(2, 3).t().requires_grad_()
    given = ones(3, 2)
    assert grad(x, x, given)[0].stride() == (2, 1)


@settings(max_examples=60, derandomize=True, deadline=None)
@given(data=st.data())
def test_layouts_do_not_change_values(data):
    """A leaf of any layout gets the gradient that a row-major leaf of the same elements gets."""
    shape = data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=3).map(tuple))
    order = data.draw(st.permutations(range(len(shape))))
    steps = data.draw(st.tuples(*[st.integers(1, 2) for _ in shape]))
    memory = numgrad.rand([shape[dim] * steps[dim] for dim in order])
    inverse = [order.index(dim) for dim in range(len(shape))]
    leaf = memory.permute(*inverse)[tuple(slice(None, None, step) for step in steps)].detach().requires_grad_()
    plain = leaf.detach().clone().contiguous().requires_grad_()
    assert leaf.shape == shape
    weights = numgrad.rand(shape)
    for _ in range(2):
        for tensor_ in (leaf, plain):
            (tensor_ * tensor_ * weights + tensor_.sum()).sum().backward()
        assert numgrad.allclose(leaf.grad, plain.grad)
    if all(step == 1 for step in steps):
        assert [s for s, n in zip(leaf.grad.stride(), shape, strict=True) if n > 1] == [
            s for s, n in zip(leaf.stride(), shape, strict=True) if n > 1
        ]


# --- further messages -------------------------------------------------------------------


def test_backward_with_create_graph_warns_of_the_cycle(x):
    message = r"Using backward\(\) with create_graph=True will create a reference cycle"
    for call in (
        lambda: (x * x).sum().backward(create_graph=True),
        lambda: numgrad.autograd.backward((x * x).sum(), create_graph=True),
        lambda: (x * x).sum().backward(create_graph=True, inputs=[x]),
    ):
        with pytest.warns(UserWarning, match=message) as caught:
            call()
        assert caught[0].filename == __file__
    x.grad = None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        grad((x * x).sum(), x, create_graph=True)
        (x * x).sum().backward(retain_graph=True)


def test_many_threads_add_to_one_grad():
    x = zeros(64, requires_grad=True)
    start = threading.Barrier(4)

    def work():
        start.wait()
        for _ in range(100):
            (x * 1.0).sum().backward()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert x.grad.tolist() == [400.0] * 64


PARTS = {
    "select": lambda x, i: x[i],
    "column": lambda x, i: x[:, i],
    "slice": lambda x, i: x[i : i + 3],
    "stepped slice": lambda x, i: x[i::2, ::3],
    "empty slice": lambda x, i: x[i:i],
    "diagonal": lambda x, i: x.diagonal(i - 1),
    "index_select": lambda x, i: x.index_select(1, numgrad.tensor([i, 0, i])),
    "index": lambda x, i: x[numgrad.tensor([[i, 0], [i, 3]])],
    "embedding": lambda x, i: numgrad.nn.functional.embedding(numgrad.tensor([i, 1, i]), x),
    "embedding with padding": lambda x, i: numgrad.nn.functional.embedding(numgrad.tensor([i, 1]), x, padding_idx=1),
}


@pytest.mark.parametrize("inner", [False, True], ids=["leaf", "inner"])
@pytest.mark.parametrize("name", PARTS)
def test_gradients_of_parts_add_up(name, inner):
    part = PARTS[name]
    x = numgrad.arange(24.0).reshape(4, 6).requires_grad_()
    y = x.t().contiguous().t() * 2 if inner else x
    uses = [part(y, i) for i in (0, 1, 2, 1)]
    loss = sum([(use * use).sum() for use in uses]) + y.sum()
    (recorded,) = numgrad.autograd.grad(loss, x, create_graph=True)
    alone = [numgrad.autograd.grad((use * use).sum(), x, retain_graph=True)[0] for use in uses]
    expected = sum(alone) + numgrad.full((4, 6), 2.0 if inner else 1.0)
    loss.backward()
    assert x.grad.tolist() == recorded.tolist() == expected.tolist()


def test_gradient_of_a_part_leaves_what_others_have():
    x, y = numgrad.ones(3, 2, requires_grad=True), numgrad.ones(3, 2, requires_grad=True)
    given = numgrad.ones(3, 2)
    numgrad.autograd.backward([x + y, x[1]], [given, numgrad.ones(2)])
    assert given.tolist() == y.grad.tolist() == [[1, 1]] * 3
    assert x.grad.tolist() == [[1, 1], [2, 2], [1, 1]]


@pytest.mark.parametrize("part", [PARTS[name] for name in ("select", "slice", "diagonal", "index_select", "index")])
def test_gradient_of_a_part_costs_what_the_part_does(part):
    x = numgrad.zeros(1000, 1000, requires_grad=True)
    assert slowdown(lambda uses: sum([part(x, i).sum() for i in range(uses)]), x) < 25


def test_a_rule_that_is_declared_again_is_used_for_all_parts():
    rule, adder = select_op.rules["input"], select_op.adder
    x = numgrad.ones(3, 2, requires_grad=True)
    try:
        select_op.gradient("input")(lambda grad, input_shape, dim, index: rule(grad * 2, input_shape, dim, index))
        (x[0] + x[1]).sum().backward()
    finally:
        select_op.gradient("input")(rule)
        select_op.accumulation(adder)
    assert x.grad.tolist() == [[2, 2], [2, 2], [0, 0]]
