"""The graph as users traverse it: names, edges, attributes of nodes, and deep graphs."""

import gc
import re
import subprocess
import sys
import threading
import weakref

import pytest

import numgrad
from numgrad import Tensor, tensor
from numgrad.autograd import grad


@pytest.fixture
def x():
    return tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)


F = numgrad.nn.functional
NAMES = {
    "AddBackward0": lambda x: x + x, "SubBackward0": lambda x: x - 2, "RsubBackward1": lambda x: 2 - x,
    "MulBackward0": lambda x: 2 * x, "DivBackward0": lambda x: x / x, "NegBackward0": lambda x: -x,
    "PowBackward0": lambda x: x**2, "PowBackward1": lambda x: x**x, "AbsBackward0": lambda x: x.abs(),
    "ExpBackward0": lambda x: x.exp(), "LogBackward0": lambda x: x.log(), "SqrtBackward0": lambda x: x.sqrt(),
    "TanhBackward0": lambda x: x.tanh(), "SigmoidBackward0": lambda x: x.sigmoid(), "ReluBackward0": lambda x: x.relu(),
    "MaximumBackward0": lambda x: numgrad.maximum(x, x.detach()),
    "WhereBackward0": lambda x: numgrad.where(x > 2, x, 0.0),
    "SumBackward0": lambda x: x.sum(), "SumBackward1": lambda x: x.sum(0), "MeanBackward0": lambda x: x.mean(),
    "MeanBackward1": lambda x: x.mean(1), "MaxBackward0": lambda x: x.max(0)[0], "MaxBackward1": lambda x: x.max(),
    "SoftmaxBackward0": lambda x: x.softmax(0), "LogSoftmaxBackward0": lambda x: x.log_softmax(1),
    "NllLossBackward0": lambda x: F.cross_entropy(x, tensor([0, 1])),
    "BinaryCrossEntropyWithLogitsBackward0": lambda x: F.binary_cross_entropy_with_logits(x, x.detach()),
    "ViewBackward0": lambda x: x.reshape(4), "TBackward0": lambda x: x.t(), "SqueezeBackward0": lambda x: x.squeeze(),
    "SqueezeBackward1": lambda x: x.squeeze(0), "UnsqueezeBackward0": lambda x: x.unsqueeze(0),
    "ExpandBackward0": lambda x: x.expand(3, 2, 2), "SelectBackward0": lambda x: x[0],
    "SliceBackward0": lambda x: x[1:], "CatBackward0": lambda x: numgrad.cat([x, x]),
    "MmBackward0": lambda x: x @ x, "MvBackward0": lambda x: x @ x[0], "DotBackward0": lambda x: x[0] @ x[1],
    "SqueezeBackward4": lambda x: x[0] @ x, "CloneBackward0": lambda x: x.clone(),
    "ToCopyBackward0": lambda x: x.double(), "CopyBackwards": lambda x: numgrad.zeros(2, 2).copy_(x),
    "ZeroBackward0": lambda x: (x * 1).zero_(), "UnsafeViewBackward0": lambda x: x.t().reshape(4),
}


@pytest.mark.parametrize(("name", "make"), NAMES.items(), ids=NAMES)
def test_nodes_have_pytorchs_names(x, name, make):
    node = make(x).grad_fn
    assert type(node).__name__ == name
    assert node.name().split("::")[-1] == name  # PyTorch gives a few their C++ namespace


def test_a_vector_times_a_matrix_is_a_squeezed_product_of_matrices(x):
    node = (tensor([1.0, 2.0]) @ x).grad_fn
    assert [node.name(), node.next_functions[0][0].name()] == ["SqueezeBackward4", "MmBackward0"]


def test_writing_to_a_view_shows_on_the_base_and_on_the_view(x):
    base = x * 1
    view = base[0]
    view += 1
    assert type(base.grad_fn).__name__ == "CopySlices"
    assert view.grad_fn.next_functions[0][0] is base.grad_fn
    assert "grad_fn=<CopySlices>" in repr(base)


def test_edges_lead_to_the_makers_of_the_operands(x):
    left, right = x.exp(), x * 2
    node = (left * right).grad_fn
    assert node.next_functions == ((left.grad_fn, 0), (right.grad_fn, 0))
    first, second = x.unbind()
    assert (second * first).grad_fn.next_functions == ((second.grad_fn, 1), (first.grad_fn, 0))


@pytest.mark.parametrize("other", [3, 2.5, tensor(3.0), tensor([[1.0], [2.0]])], ids=["int", "float", "0-d", "tensor"])
def test_inputs_without_gradients_have_an_empty_edge(x, other):
    assert (x * other).grad_fn.next_functions[1] == (None, 0)
    assert (x.exp() + other).grad_fn.next_functions[1] == (None, 0)
    # a number minus a tensor is an operation of the tensor alone
    assert (other - x.detach() * x).grad_fn.next_functions.count((None, 0)) == isinstance(other, Tensor)


@pytest.mark.parametrize("compute", [
    lambda x, y: (1 - x, 1), lambda x, y: (2**x, 1), lambda x, y: (numgrad.lerp(x, y, 0.5), 2),
    lambda x, y: (numgrad.lerp(x, y, x), 3), lambda x, y: (numgrad.where(x > 0, x, y), 2),
    lambda x, y: (numgrad.where(x > 0, x, 1.0), 2), lambda x, y: (x.clamp(0, 1), 1), lambda x, y: (x.clamp_min(0), 1),
    lambda x, y: (x.clamp(y, 2 * y), 3), lambda x, y: (1 - x.t(), 1), lambda x, y: (x + 1, 2), lambda x, y: (x * 2, 2),
], ids=[
    "1 - x", "2**x", "lerp by a number", "lerp by a tensor", "where", "where or a number", "clamp", "clamp_min",
    "clamp by tensors", "strided", "+ number", "* number",
])
def test_conditions_and_numbers_have_no_edge(x, compute):
    result, count = compute(x, x * 2)
    seen = []
    result.grad_fn.register_hook(lambda inputs, outputs: seen.append(len(inputs)))
    assert len(result.grad_fn.next_functions) == count
    result.sum().backward()
    assert seen == [count]


def test_results_of_hooks_go_to_the_inputs_shown(x):
    y = tensor([[1.0, 1.0], [1.0, 1.0]], requires_grad=True)
    result = numgrad.where(x > 2, x, y)
    result.grad_fn.register_hook(lambda inputs, outputs: (inputs[0] * 2, inputs[1] * 3))
    result.sum().backward()
    assert x.grad.tolist() == [[0.0, 0.0], [2.0, 2.0]]
    assert y.grad.tolist() == [[3.0, 3.0], [0.0, 0.0]]


@pytest.mark.parametrize(("index", "name"), [(0, "CopySlices"), ((0, 0), "CopySlices"), (..., "FillBackward3")])
def test_a_number_assigned_has_an_empty_edge(x, index, name):
    base = x * 2
    node = base.grad_fn
    base[index] = 1.0
    assert type(base.grad_fn).__name__ == name
    assert base.grad_fn.next_functions == ((node, 0), (None, 0))


def test_paths_end_at_the_leaves(x):
    (node, number), = x.exp().grad_fn.next_functions
    assert (type(node).__name__, number) == ("AccumulateGrad", 0)
    assert node.name().split("::")[-1] == "AccumulateGrad"
    assert node.variable is x
    assert node.next_functions == ()
    assert (x * x).grad_fn.next_functions == ((node, 0), (node, 0))


def test_nodes_describe_themselves(x):
    node = (x * 2).grad_fn
    assert re.fullmatch(r"<MulBackward0 object at 0x[0-9a-f]+>", repr(node))
    assert node.requires_grad
    assert (x * 2).grad_fn is not node
    tensor_ = x * 2
    assert tensor_.grad_fn is tensor_.grad_fn
    assert repr(x.sum()) == "tensor(10., grad_fn=<SumBackward0>)"


def test_metadata_is_the_nodes_own(x):
    first, second = (x * 2).grad_fn, (x * 2).grad_fn
    assert first.metadata == {}
    first.metadata["note"] = 1
    assert first.metadata == {"note": 1}
    assert second.metadata == {}


def test_a_node_can_be_called(x):
    node = (x * tensor([[2.0, 3.0], [4.0, 5.0]])).grad_fn
    gradient, missing = node(numgrad.ones(2, 2))
    assert gradient.tolist() == [[2.0, 3.0], [4.0, 5.0]]
    assert missing is None
    assert x.exp().grad_fn(numgrad.zeros(2, 2)).tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert x.grad is None


# --- saved values -----------------------------------------------------------------------


def test_saved_values_have_pytorchs_names(x):
    other = tensor([[2.0, 2.0], [2.0, 2.0]])
    node = (x * other).grad_fn
    assert node._saved_other is other
    power = (x**2).grad_fn
    assert power._saved_self is x
    assert power._saved_exponent == 2
    result = x.exp()
    saved = result.grad_fn._saved_result
    assert saved.tolist() == result.tolist()
    assert saved is not result
    assert saved.grad_fn is result.grad_fn
    assert (x @ other).grad_fn._saved_mat2 is other


def test_saved_values_are_listed_for_tools_that_look_for_them(x):
    def listed(node):
        return {name for name in dir(node) if name.startswith("_saved_")}

    assert listed((x * x).grad_fn) == {"_saved_self", "_saved_other"}
    assert listed(x.exp().grad_fn) == {"_saved_result"}
    assert listed(x.t().exp().grad_fn) == {"_saved_result"}
    assert "_saved_mat2" in listed((x @ x).grad_fn)
    for node in ((x**2).grad_fn, (x @ x).grad_fn, x.t().exp().grad_fn, x.softmax(0).grad_fn):
        assert listed(node)
        for name in listed(node):
            assert getattr(node, name) is not None


def test_saved_values_are_gone_after_backward(x):
    y = x.exp()
    y.sum().backward()
    with pytest.raises(RuntimeError, match="directly access saved tensors after they have already been freed"):
        _ = y.grad_fn._saved_result
    with pytest.raises(AttributeError, match="'ExpBackward0' object has no attribute '_saved_other'"):
        _ = y.grad_fn._saved_other


# --- order and life ---------------------------------------------------------------------


def test_numbers_rise_from_the_leaves_to_the_result(x):
    # Gone through from the highest number down, every node is met after all that use its output.
    base = x * 1
    part = base[0]
    used = part.exp()
    part.mul_(2)
    total = (used * part).sum() + (base * x).sum()
    seen, stack = set(), [total.grad_fn]
    while stack:
        node = stack.pop()
        for follower, _ in node.next_functions:
            if follower is not None and type(follower).__name__ != "AccumulateGrad":
                assert follower.sequence < node.sequence
                if follower not in seen:
                    seen.add(follower)
                    stack.append(follower)
    assert len(seen) >= 8


def test_backward_runs_later_nodes_first(x):
    first = x * 2
    second = x * 3
    third = first + second
    order = []
    for name, y in (("first", first), ("second", second), ("third", third)):
        y.grad_fn.register_hook(lambda *_, name=name: order.append(name))
    third.sum().backward()
    assert order == ["third", "second", "first"]


def test_a_leaf_is_served_as_soon_as_its_last_gradient_has_come():
    early, late = tensor([1.0], requires_grad=True), tensor([1.0], requires_grad=True)
    order = []
    early.register_hook(lambda g: order.append("early"))
    late.register_hook(lambda g: order.append("late"))
    y = early * 2
    y.register_hook(lambda g: order.append("y"))
    (y * late).sum().backward()
    assert order == ["late", "y", "early"]


def test_a_leaf_does_not_keep_its_end_of_the_graph():
    x = tensor([1.0, 2.0], requires_grad=True)
    node = (x * 2).grad_fn.next_functions[0][0]
    dead = weakref.ref(node)
    assert (x * 3).grad_fn.next_functions[0][0] is node
    gc.disable()
    try:
        del node
        assert dead() is None
    finally:
        gc.enable()
    assert (x * 3).grad_fn.next_functions[0][0].variable is x


def test_a_graph_keeps_its_leaves():
    x = tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    alive = weakref.ref(x)
    del x
    assert alive() is not None
    y.sum().backward()
    assert alive().grad.tolist() == [2.0, 2.0]


def test_one_leaf_has_one_end_whatever_thread_asks_first():
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(300):
            x = tensor([1.0], requires_grad=True)
            start, results = threading.Barrier(4), []

            def work(x=x, start=start, results=results):
                start.wait()
                results.append(x * 2)

            threads = [threading.Thread(target=work) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert len({y.grad_fn.next_functions[0][0] for y in results}) == 1
    finally:
        sys.setswitchinterval(interval)


# --- depth ------------------------------------------------------------------------------

DEPTH = 100_000


def test_a_hundred_thousand_operations():
    x = tensor([1.0, 2.0], requires_grad=True)
    y = x
    for _ in range(DEPTH):
        y = y + 1.0
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]
    z = x
    for _ in range(DEPTH // 10):
        z = (z * 2.0) * 0.5
    (gradient,) = grad(z.sum(), x, create_graph=True)
    assert gradient.tolist() == [1.0, 1.0]


CHAINS = """
import sys, threading
import numgrad
from numgrad import tensor

class Passed(numgrad.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clone()
    @staticmethod
    def backward(ctx, g):
        return g

STEPS = {  # and how many
    "short": (100_000, lambda y: y * 1.0),
    "result": (100_000, lambda y: y.exp()),
    "general": (20_000, lambda y: y.clone()),
    "sequence": (20_000, lambda y: numgrad.cat([y])),
    "view": (20_000, lambda y: y.view(1)),
    "in place": (20_000, lambda y: y.mul_(1.0)),
    "slices": (20_000, lambda y: (y[0:1].mul_(1.0), y)[1]),
    "function": (20_000, Passed.apply),
}

def chain(step):
    count, function = STEPS[step]
    y = tensor([0.0], requires_grad=True) * 1.0
    for _ in range(count):
        y = function(y)
    del y

for step in STEPS:
    chain(step)
thread = threading.Thread(target=chain, args=("result",))  # a smaller stack
thread.start()
thread.join()
print("alive")
"""


def test_deep_graphs_can_be_dropped_without_backward():
    done = subprocess.run([sys.executable, "-c", CHAINS], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "alive"), done.stderr


def test_accumulation_has_the_highest_number(x):
    node = (x * x).grad_fn
    assert node.next_functions[0][0]._sequence_nr() == 2**64 - 1
    assert node._sequence_nr() < x.exp().grad_fn._sequence_nr() < 2**64 - 1
