"""Errors that name the culprit: which line saved a tensor, which one changed it, which one freed the graph."""

import linecache
import re
import sys
import threading
import types
import warnings
import weakref

import pytest

import numgrad
from numgrad import nn, ones, tensor
from numgrad.autograd import Function, grad, set_detect_anomaly
from numgrad.autograd.graph import increment_version
from numgrad.autograd.locations import COUNTERS, calling_location, changes_since, forward_trace, note_change

MODIFIED = "one of the variables needed for gradient computation has been modified by an inplace operation: "
FREED = "Trying to backward through the graph a second time (or directly access saved tensors after they have"


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Error detected in", UserWarning)
        warnings.filterwarnings("ignore", "\n\nPrevious calculation", UserWarning)
        yield


@pytest.fixture
def x():
    return tensor([1.0, 2.0], requires_grad=True)


def message(call, start):
    """Return the part of an error's message that follows PyTorch's words."""
    with pytest.raises(RuntimeError, match=re.escape(start)) as caught:
        call()
    return str(caught.value).partition("\n")[2]


def is_at(line, function):
    """A pattern for a location in this file: the function, and the line as it is written."""
    return rf'  File "{re.escape(__file__)}", line \d+, in {function}\n    {re.escape(line)}\n(    [ ~^]+\n)?'


# --- a saved tensor was changed ---------------------------------------------------------


def saves(x, other):
    return (x * other).sum()


def changes(tensor):
    tensor.add_(1)


def test_the_line_that_saved_it_and_the_one_that_changed_it(x):
    other = ones(2)
    with set_detect_anomaly(True):
        total = saves(x, other)
        changes(other)
        text = message(total.backward, MODIFIED)
    pattern = (
        "MulBackward0 saved it at version 0, recorded here:\n"
        + is_at("return (x * other).sum()", "saves")
        + "It was changed in place here:\n"
        + is_at("tensor.add_(1)", "changes")
    )
    assert re.fullmatch(pattern, text + "\n")
    assert "            ~~^~~~~~~" in text  # the product, not the other operations on the line


def test_the_first_of_several_changes_is_shown(x):
    other = ones(2)
    with set_detect_anomaly(True):
        changes(other)
        total = saves(x, other)
        other[0] = 5.0
        changes(other)
        changes(other)
        text = message(total.backward, MODIFIED)
    assert "saved it at version 1" in text
    assert "    other[0] = 5.0" in text
    assert text.endswith("and 2 times after that")


def test_without_anomaly_mode_it_says_how_to_switch_it_on(x):
    other = ones(2)
    total = saves(x, other)
    changes(other)
    text = message(total.backward, MODIFIED)
    assert text.startswith("MulBackward0 saved it at version 0.\n")
    assert "numgrad.autograd.detect_anomaly()" in text
    assert "File" not in text


def test_a_change_outside_of_anomaly_mode(x):
    other = ones(2)
    with set_detect_anomaly(True):
        total = saves(x, other)
    changes(other)
    text = message(total.backward, MODIFIED)
    assert "    return (x * other).sum()" in text
    assert text.endswith("It was changed outside of anomaly mode, so the place is not known.")


def test_a_change_that_failed_is_not_to_blame(x):
    other = ones(2)
    with set_detect_anomaly(True):
        total = saves(x, other)
        with pytest.raises(RuntimeError):
            other.add_(ones(3, 2))
        assert changes_since(other, 0) == {}
        changes(other)
        text = message(total.backward, MODIFIED)
    assert "tensor.add_(1)" in text
    assert "ones(3, 2)" not in text


def step(optimizer):
    optimizer.step()


class Doubled(Function):
    @staticmethod
    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, g):
        return g * 2


def test_all_ways_to_change_a_tensor_are_noted(x):
    def optimizer(weight):
        weight.requires_grad_()
        weight.grad = ones(2)
        step(numgrad.optim.SGD([weight], lr=0.1))

    def view(weight):
        weight[:1].mul_(2)

    def subscript(weight):
        weight[0] = 3.0

    def fill(weight):
        nn.init.zeros_(weight)

    def copy(weight):
        weight.copy_(ones(2))

    def out(weight):
        numgrad.add(ones(2), ones(2), out=weight)

    def function(weight):
        Doubled.apply(weight)

    def modified(weight):
        increment_version(weight)

    def shape(weight):
        weight.unsqueeze_(0)

    def indices(weight):
        weight.index_fill_(0, tensor([1]), 3.0)

    lines = {
        optimizer: "    optimizer.step()", view: "weight[:1].mul_(2)", subscript: "weight[0] = 3.0",
        fill: "nn.init.zeros_(weight)", copy: "weight.copy_(ones(2))", out: "out=weight)",
        function: "x.mul_(2)", modified: "increment_version(weight)", shape: "weight.unsqueeze_(0)",
        indices: "weight.index_fill_(",
    }  # fmt: skip
    for change, line in lines.items():
        weight = ones(2)
        with set_detect_anomaly(True):
            total = saves(x, weight)
            change(weight)
            text = message(total.backward, MODIFIED)
        assert line in text.partition("It was changed in place here:\n")[2], change.__name__


def test_changes_are_noted_in_anomaly_mode_only_and_forgotten_in_time():
    quiet, watched = ones(1), ones(1)
    quiet.add_(1)
    with set_detect_anomaly(True):
        watched.add_(1)
        assert changes_since(quiet, 0) == {}
        assert list(changes_since(watched, 0)) == [1]
        for _ in range(COUNTERS):
            note_change(ones(1))
    assert changes_since(watched, 0) == {}


def test_a_new_tensor_does_not_inherit_the_notes_of_a_dead_one():
    with set_detect_anomaly(True):
        for _ in range(200):
            value = ones(1)
            assert changes_since(value, -1) == {}
            value.add_(1)


# --- freed graphs -----------------------------------------------------------------------


def frees(total):
    total.backward()


@pytest.mark.parametrize(("make", "node"), [
    (lambda x: x.exp(), "ExpBackward0"),  # through the cached path
    (lambda x: x.expand(3, 2).exp(), "ExpBackward0"),
    (lambda x: x.softmax(0), "SoftmaxBackward0"),
    (lambda x: nn.functional.linear(x, x.outer(x)), "MvBackward0|MmBackward0|SqueezeBackward4"),
])  # fmt: skip
def test_backward_a_second_time_names_the_node_and_the_call_that_freed_it(x, make, node):
    y = make(x)
    total = y.sum()
    frees(total)
    text = message(lambda: total.backward(), FREED)
    assert re.match(rf"What ({node}), of output shape \[", text)
    location = is_at("total.backward()", "frees")
    assert re.search(rf" had saved was freed here:\n{location}Under numgrad.autograd.detect_anomaly\(\)", text)


def test_in_anomaly_mode_it_says_where_the_node_was_recorded_too(x):
    with set_detect_anomaly(True):
        total = saves(x, x)
        frees(total)
        text = message(total.backward, FREED)
    location = is_at("return (x * other).sum()", "saves")
    assert re.search(f"The operation was recorded here:\n{location}", text + "\n")


def test_each_node_knows_who_freed_it(x):
    def one(y):
        grad(y.sum(), x)

    first, second = x.exp(), x.exp()
    one(first)
    frees(second.sum())
    assert "grad(y.sum(), x)" in message(lambda: first.sum().backward(), FREED)
    assert "total.backward()" in message(lambda: second.sum().backward(), FREED)
    kept = x.exp()
    kept.sum().backward(retain_graph=True)
    frees(kept.sum())
    assert "in frees" in message(lambda: kept.sum().backward(), FREED)


def test_freed_functions_and_in_place_views(x):
    class Square(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            return g * 2 * ctx.saved_tensors[0]

    total = Square.apply(x).sum()
    frees(total)
    assert message(total.backward, FREED).startswith("What SquareBackward, of output shape [2], had saved was freed")
    base = x * 1
    base[:1].mul_(x[1:])
    total = base.sum()
    frees(total)
    assert "What torch::autograd::CopySlices, of output shape [2]" in message(total.backward, FREED)


def test_saved_attributes_and_saved_tensors_report_the_same(x):
    y = x.exp()
    frees(y.sum())
    assert "in frees\n" in message(lambda: y.grad_fn._saved_result, FREED)
    assert y.grad_fn.freed_by.brief.startswith("test_culprits.py, line ")


# --- nodes that backward recorded -------------------------------------------------------


def test_a_failure_in_a_second_derivative_leads_back_to_the_first(x):
    with set_detect_anomaly(True):
        (first,) = grad((x**3).sum(), x, create_graph=True)
        assert first.grad_fn.metadata["parent_"].name() == "PowBackward0"
        assert "parent_" not in first.grad_fn.metadata["parent_"].metadata
        (second,) = grad(first.sum(), x, create_graph=True)
        assert second.grad_fn.metadata["parent_"].metadata["parent_"].name() == "PowBackward0"
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            frees(second.sum())
            with pytest.raises(RuntimeError):
                frees(second.sum())
    texts = [str(warning.message) for warning in caught]
    assert texts[0].startswith("Error detected in MulBackward0. Traceback of forward call that caused the error:\n")
    induced = "\n\nPrevious calculation was induced by PowBackward0"  # in the first derivative, and in the forward
    assert [text.partition(". Traceback")[0] for text in texts[1:]] == [induced, induced]
    assert "of forward call that induced the previous calculation:\n" in texts[1]
    assert {warning.filename for warning in caught} == {__file__}


def test_a_forward_pass_outside_of_anomaly_mode_has_no_information(x):
    y = (x**3).sum()
    with set_detect_anomaly(True):
        (first,) = grad(y, x, create_graph=True)
        total = first.sum()
        frees(total)
        with pytest.warns(UserWarning, match="Error detected|Previous calc") as caught, pytest.raises(RuntimeError):
            frees(total)
    assert str(caught[1].message) == (
        "Error detected in PowBackward0. No forward pass information available. Enable detect anomaly during forward "
        "pass for more information."
    )


def test_nodes_recorded_outside_of_backward_have_no_parent(x):
    with set_detect_anomaly(True):
        (x * 2).sum().backward()
        y = x * x
    assert sorted(y.grad_fn.metadata) == ["traceback_"]


# --- locations -----------------------------------------------------------------------------


def test_a_place_holds_no_variables():
    class Value:
        pass

    def calls():
        value = Value()
        return calling_location(), weakref.ref(value)

    location, value = calls()
    assert value() is None
    assert location.code is calls.__code__
    assert "    return calling_location(), weakref.ref(value)\n" in str(location)


def test_the_place_of_a_call_from_a_thread(x):
    y = x.exp().sum()
    thread = threading.Thread(target=y.backward)
    thread.start()
    thread.join()
    assert "threading.py" in message(y.backward, FREED)


def run_cell(source, filename, names):
    """Run the code of a cell, as IPython does: its text is found under a file name that does not exist."""
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    exec(compile(source, filename, "exec"), names)


CELL = "y = x.exp()\ny.add_(1)\n"


def test_cells_of_older_notebooks_by_their_file_name(x):
    with set_detect_anomaly(True):
        names = {"x": x}
        run_cell(CELL, "<ipython-input-7-0123456789ab>", names)
        text = message(names["y"].sum().backward, MODIFIED)
    assert "recorded here:\n  Cell In[7], line 1, in <module>\n    y = x.exp()" in text
    assert "changed in place here:\n  Cell In[7], line 2, in <module>\n    y.add_(1)" in text


def test_cells_by_the_number_that_ipython_knows(x, monkeypatch):
    filename = "/tmp/ipykernel_12/3456.py"
    compiler = types.SimpleNamespace(format_code_name=lambda name: ("Cell", "In[12]") if name == filename else None)
    shell = types.SimpleNamespace(compile=compiler)
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    names = {"x": x, "trace": forward_trace}
    run_cell("def f():\n    return trace()\nresult = f()\ny = x.exp()\ny.sum().backward()\n", filename, names)
    text = message(names["y"].sum().backward, FREED)
    assert "freed here:\n  Cell In[12], line 5, in <module>\n    y.sum().backward()" in text
    trace = names["result"]  # it begins with the cell, without the lines of the code that runs it
    assert trace == [
        "  Cell In[12], line 3, in <module>\n    result = f()\n",
        "  Cell In[12], line 2, in f\n    return trace()\n",
    ]
    assert names["y"].grad_fn.freed_by.brief == "Cell In[12], line 5"
