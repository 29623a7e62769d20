"""``numgrad.explain``: its statements are true for every reason for a missing gradient."""

import gc
import re

import numpy as np
import pytest

import numgrad
from numgrad import arange, explain, from_numpy, nn, ones, tensor
from numgrad.autograd import Function, grad, set_detect_anomaly


@pytest.fixture
def x():
    return tensor([1.0, 2.0], requires_grad=True)


def frees(total):
    total.backward()


def at(function, line):
    """A pattern for a location in this file."""
    return rf'  File "{re.escape(__file__)}", line \d+, in {function}\n    {re.escape(line)}'


# --- requires_grad ----------------------------------------------------------------------


class Fixed(Function):
    @staticmethod
    def forward(ctx, x):
        out = x * 1
        ctx.mark_non_differentiable(out)
        return out

    @staticmethod
    def backward(ctx, g):
        return g


def inference(x):
    with numgrad.inference_mode():
        return x * 2


def frozen(x):
    return nn.Linear(1, 1).requires_grad_(False).weight


def unrecorded(x):
    with numgrad.no_grad():
        return x * 2


@pytest.mark.parametrize(("make", "words"), [
    (lambda x: arange(3), "False. int64 has no derivatives"),
    (lambda x: x > 1, "False. bool has no derivatives"),
    (inference, "False. It was made under inference_mode()"),
    (frozen, "False. It is a frozen parameter"),
    (lambda x: x.detach(), "False. It was detached from another tensor (tensor of shape [2], float32, a leaf)"),
    (lambda x: x.data[:1], "False. It is a view of a tensor that was detached from another tensor"),
    (lambda x: (x * 2).detach(), "False. It was detached from a graph by detach() or .data."),
    (lambda x: (x * 2).detach_(), "False. It was detached from a graph by detach() or .data."),
    (lambda x: ones(2).detach(), "False. It was computed from tensors that require none"),
    (lambda x: ones(2), "False. No gradient was requested: call requires_grad_()"),
    (lambda x: tensor([1.0]), "False. No gradient was requested: call requires_grad_()"),
    (lambda x: from_numpy(np.ones(2)), "False. It uses memory of NumPy or another library"),
    (lambda x: arange(3) / 2, "False. It was computed from tensors that require none, such as integers"),
    (unrecorded, "False. It was computed where nothing is recorded: under no_grad()"),
    (lambda x: unrecorded(x.sum()), "False. It was computed where nothing is recorded: under no_grad()"),
    (numgrad.no_grad()(lambda x: x.sort()[0]), "False. It was computed where nothing is recorded: under no_grad()"),
    (Fixed.apply, "False. It was computed where nothing is recorded: under no_grad(), in the forward of a Function"),
    (lambda x: ones(2, 2)[0], "False. It is a view of a tensor that requires none."),
    (lambda x: x, "True: backward adds to its grad."),
    (lambda x: x * 2, "True, because it was computed from tensors that require gradients."),
    (lambda x: x[:1], "True, because it was computed from tensors that require gradients."),
])  # fmt: skip
def test_why_it_requires_a_gradient_or_not(x, make, words):
    made = make(x)
    explanation = explain(made)
    assert explanation["requires_grad"].startswith(words)
    assert made.requires_grad is explanation["requires_grad"].startswith("True")
    if not made.requires_grad:
        assert explanation["grad"] == "None. Backward skips it, because it requires no gradient."


def test_who_made_it_where_operations_are_watched(x):
    with set_detect_anomaly(True, check_forward=True):
        made = unrecorded(x)
        copied = made.clone()
        constant = Fixed.apply(x)
        assert explain(x * 2)["requires_grad"].startswith("True")
    line = at("unrecorded", "return x * 2")
    pattern = rf"False. It was made by 'mul', under no_grad\(\), here:\n{line}"
    assert re.match(pattern, explain(made)["requires_grad"])
    assert "It was made by 'clone', from operands that require no gradient, here:" in explain(copied)["requires_grad"]
    assert "It was made by 'Fixed', which has no derivative, here:" in explain(constant)["requires_grad"]
    key = id(made)
    assert key in numgrad.autograd.locations._origins
    del made
    assert key not in numgrad.autograd.locations._origins


def test_views_made_without_recording(x):
    y = x * 1
    with numgrad.no_grad():
        view = y[:1]
    assert explain(view)["requires_grad"] == (
        "True, as a view of a tensor that does; but it was made under no_grad mode, so gradients end here."
    )
    (view * 2).sum().backward()
    assert view.grad is None
    assert "end at the view" in explain(view)["grad"]
    base = ones(2)
    earlier = base[:1]
    base.requires_grad_()
    assert "it was made before that tensor did" in explain(earlier)["requires_grad"]


# --- grad -------------------------------------------------------------------------------


def test_only_leaves_keep_their_gradient(x):
    y = x * 2
    frees(y.sum())
    assert "call retain_grad() on this tensor before backward()" in explain(y)["grad"]
    z = x * 2
    z.retain_grad()
    assert "retain_grad() was called, but no backward pass" in explain(z)["grad"]
    frees(z.sum())
    assert explain(z)["grad"].startswith("shape [2], float32.")


def test_why_a_leaf_has_none(x):
    assert "No recorded operation that still exists uses this tensor" in explain(x)["grad"]
    y = x.exp()
    assert "ExpBackward0 would send it one, but no backward pass has got there" in explain(x)["grad"]
    grad(y.sum(), x)
    text = explain(x)["grad"]
    line = at(".*", "grad(y.sum(), x)")
    assert re.search(rf"A backward pass has visited ExpBackward0; it began here:\n{line}", text)
    assert "autograd.grad() and backward(inputs=...) do not" in text
    del y
    assert "No recorded operation that still exists" in explain(x)["grad"]


def test_what_has_added_to_it(x):
    for _ in range(3):
        frees((x * x).sum() + x.exp().sum())
    plain = explain(x)["grad"]
    assert "Each backward pass adds to it" in plain
    assert "detect_anomaly()" in plain
    x.grad = None
    with set_detect_anomaly(True):
        for _ in range(3):
            frees((x * x).sum() + x.exp().sum())
        last = x.sum()
        last.backward()
    text = explain(x)["grad"]
    assert text.startswith("shape [2], float32. 4 backward passes brought it, here:\n")
    sources = r"ExpBackward0 \(test_explain.py, line \d+\) and MulBackward0 \(test_explain.py, line \d+\) \(2 times\)"
    assert re.search(rf"{at('frees', 'total.backward()')}\n    3 times, from {sources}\n", text)
    assert re.search(rf"{at('.*', 'last.backward()')}\n    from SumBackward0 \(test_explain.py, line \d+\)$", text)


def test_zeros_and_nan_in_a_gradient(x):
    frees((x * 0).sum())
    assert explain(x)["grad"].startswith("shape [2], float32, all zeros. Each backward pass")
    x.grad[0] = float("nan")
    assert explain(x)["grad"].startswith("shape [2], float32, 1 of 2 elements NaN. ")
    x.grad[:] = float("inf")
    assert explain(x)["grad"].startswith("shape [2], float32, 2 of 2 elements infinite. ")


def doubled(gradient):
    return gradient * 2


def test_what_a_hook_changed(x):
    handle = x.register_hook(hook)
    with set_detect_anomaly(True):
        frees(x.sum())
        assert "changed by" not in explain(x)["grad"]
        handle.remove()
        x.register_hook(doubled)
        x.register_hook(lambda gradient: gradient.mul_(2))
        frees(x.sum())
    text = explain(x)["grad"]
    assert "changed by its hooks (doubled and " in text
    assert text.count("changed by its hooks") == 1
    x.grad = ones(2)
    assert "Incoming gradients pass its hooks (doubled and " in explain(x)["grad"]


def test_a_gradient_that_was_reset_or_set(x):
    with set_detect_anomaly(True):
        frees(x.sum())
        x.grad = None
        assert explain(x)["grad"].startswith("None. It had one, which was set to None, as zero_grad() does. 1 ba")
        x.grad = ones(2)
        assert "Each backward pass adds to it" in explain(x)["grad"]
        frees(x.sum())
    assert "There was one before, to which 1 backward pass added, here:\n" in explain(x)["grad"]


def test_many_calls_are_cut_short(x):
    with set_detect_anomaly(True):
        calls = [f"(x * {n}).sum().backward()" for n in range(6)]
        for call in calls:
            exec(compile(call, f"<call {call}>", "exec"), {"x": x})
    text = explain(x)["grad"]
    assert "6 backward passes brought it, the latest here:\n" in text
    assert [f"<call {call}>" in text for call in calls] == [False, False, False, True, True, True]


def test_notes_do_not_keep_tensors_alive():
    gc.collect()
    with set_detect_anomaly(True):
        leaf = ones(2, requires_grad=True)
        frees(leaf.sum())
        key = id(leaf)
        noted = numgrad.autograd.accumulation._noted
        assert key in noted
        del leaf
    assert key not in noted


# --- graph ------------------------------------------------------------------------------


def test_what_lies_behind_and_who_freed_it(x):
    other = ones(3, 1, requires_grad=True)
    y = (x * other).exp()
    total = y.sum()
    assert explain(total)["graph"] == (
        "3 nodes and 2 leaves (of shapes [3, 1] and [2]) lie behind it. Nothing is freed: backward can go through it."
    )
    assert explain(x)["graph"] == "nothing lies behind it."
    frees(total)
    text = explain(y)["graph"]
    line = at("frees", "total.backward()")
    assert re.search(rf"Values saved by ExpBackward0 and MulBackward0 were freed here:\n{line}", text)
    with pytest.raises(RuntimeError, match="a second time"):
        y.sum().backward()


def test_saved_tensors_that_were_changed(x):
    for make in (lambda x: x.exp(), lambda x: x.softmax(0), lambda x: x.expand(2, 2).exp()):
        y = make(x)
        total = y.sum()
        y.add_(1)
        text = explain(total)["graph"]
        assert "has saved a tensor of shape [2" in text
        assert "at version 0 that was changed in place since. Backward will refuse" in text
    with set_detect_anomaly(True):
        y = x.exp()
        total = y.sum()
        y.add_(1)
    assert re.search(rf"changed in place since, here:\n{at('.*', 'y.add_(1)')}\nBackward", explain(total)["graph"])


def test_a_view_that_cannot_follow_its_base(x):
    first, second = (x * 1).unbind()
    with numgrad.no_grad():
        first.mul_(2)
    with pytest.raises(RuntimeError) as caught:
        second.grad_fn  # noqa: B018 - it raises
    assert explain(second)["graph"] == str(caught.value)


def test_where_it_was_recorded_in_anomaly_mode(x):
    with set_detect_anomaly(True):
        y = x * 2
    assert re.search(rf" MulBackward0 was recorded here:\n{at('.*', 'y = x * 2')}\n", explain(y)["graph"])


# --- the others -------------------------------------------------------------------------


def test_who_uses_it(x):
    assert explain(x)["used by"] == "no recorded operation that still exists."
    y = x * x
    z = y.exp() + y.exp()
    assert explain(x)["used by"] == "MulBackward0."
    assert explain(y)["used by"] == "ExpBackward0 (2 times)."
    assert explain(z)["used by"] == "no recorded operation that still exists."
    first, second = x.unbind()
    kept = second * 2
    assert explain(first)["used by"] == "no recorded operation that still exists."
    assert explain(second)["used by"] == "MulBackward0."
    assert kept.requires_grad


def test_memory(x):
    base = ones(2, 2)
    view = base[0]
    assert explain(base)["memory"] == "its own, with 1 view of it, never changed in place."
    assert explain(view)["memory"].startswith("it is a view of another tensor (tensor of shape [2, 2], float32, made")
    view.add_(1)
    base.add_(1)
    assert explain(view)["memory"].endswith(", changed in place 2 times (its version is 2).")
    with set_detect_anomaly(True):
        base.mul_(3)
    line = at(".*", "base.mul_(3)")
    assert re.search(rf"3 times \(its version is 3\), the last time here:\n{line}", explain(view)["memory"])
    assert explain(inference(x))["memory"] == "its own, without a version."
    detached = x.detach()
    assert explain(detached)["memory"].startswith("shared with another tensor (tensor of shape [2], float32, a leaf)")
    assert explain(x)["memory"].startswith("shared with another tensor (tensor of shape [2], float32, made by no")
    array = np.ones((2, 3))
    for foreign in (from_numpy(array), from_numpy(array.T).requires_grad_(), numgrad.from_dlpack(array)):
        assert explain(foreign)["memory"].startswith("shared with NumPy or another library, which sees")
    assert explain(tensor(array))["memory"].startswith("its own")


def hook(*anything):
    return None


def test_hooks(x):
    assert explain(x)["hooks"] == "none."
    x.register_hook(hook)
    x.register_post_accumulate_grad_hook(hook)
    assert explain(x)["hooks"] == "hook by register_hook; hook by register_post_accumulate_grad_hook."
    y = x * 2
    y.retain_grad()
    y.register_hook(print)
    y.grad_fn.register_hook(hook)
    y.grad_fn.register_prehook(hook)
    assert explain(y)["hooks"] == (
        "print by register_hook; hook by register_prehook of its node; hook by register_hook of its node; "
        "retain_grad() was called."
    )


def test_how_an_output_depends_on_it(x):
    y = x * x
    loss = (y + y.exp()).sum()
    text = explain(x, loss)["output"]
    assert text.startswith("A tensor of shape [], float32, made by SumBackward0. 4 paths lead back to the tensor, the")
    assert text.endswith("SumBackward0 <- AddBackward0 <- MulBackward0 <- torch::autograd::AccumulateGrad")
    assert explain(y, y.sum())["output"].endswith("1 path leads back to the tensor: SumBackward0 <- MulBackward0")
    other = ones(3, requires_grad=True)
    for independent in (other, x.detach()):
        text = explain(independent, loss)["output"]
        assert text.endswith("It does not depend on the tensor, only on leaves of shape [2].")
    assert "It requires no gradient: int64 has no derivatives" in explain(x, arange(3))["output"]
    assert explain(x, x)["output"] == "the tensor itself."
    first, second = x.unbind()
    assert "does not depend" in explain(first, second * 2)["output"]


def test_deep_graphs(x):
    y = x
    for _ in range(3000):
        y = y + y
    text = explain(x, y)["output"]
    names = " <- ".join(["AddBackward0"] * 4)
    last = " <- ".join([*["AddBackward0"] * 3, "torch::autograd::AccumulateGrad"])
    assert text.endswith(f"1000 paths or more lead back to the tensor, the shortest: {names} <- (2993 more) <- {last}")


# --- the whole --------------------------------------------------------------------------


def test_the_text(x):
    text = """A tensor of shape [2], float32, a leaf.
requires_grad: True: backward adds to its grad.
grad: None. No recorded operation that still exists uses this tensor: none was computed with it, or only under \
no_grad() or with a detached copy, or the results are gone.
graph: nothing lies behind it.
used by: no recorded operation that still exists.
memory: its own, never changed in place.
hooks: none."""
    explanation = explain(x)
    assert str(explanation) == repr(explanation) == text
    assert list(explanation.topics) == ["requires_grad", "grad", "graph", "used by", "memory", "hooks"]
    assert str(explain(nn.Parameter(ones(2)))).startswith("A parameter of shape [2], float32, a leaf.\n")


def test_it_changes_nothing(x):
    y = x * x
    loss = y.sum()
    before = (y._version, y.grad_fn, x.grad, loss.grad_fn.next_functions)
    explain(x, loss), explain(y), explain(loss)
    assert (y._version, y.grad_fn, x.grad, loss.grad_fn.next_functions) == before
    loss.backward()
    assert x.grad.tolist() == [2.0, 4.0]


def test_the_explanation_of_none_names_its_possible_causes(x):
    explanation = explain(x.grad)
    assert explanation.summary == "None: there is no tensor."
    assert list(explanation.topics) == [
        "a grad", "a grad_fn", "a result of autograd.grad", "a result of a function"
    ]


def test_nodes(x):
    y = x.exp()
    explanation = explain(y.grad_fn)
    assert explanation.summary.startswith("ExpBackward0, a node: it computes the gradients of its operands")
    assert explanation["gradients go to"] == "torch::autograd::AccumulateGrad."
    assert explanation["saved"] == "result."
    assert explanation["graph"].endswith("Nothing is freed: backward can go through it.")
    frees(y.sum())
    assert explain(y.grad_fn)["saved"] == "nothing, or it was freed."
    assert "were freed here" in explain(y.grad_fn)["graph"]
    explanation = explain(y.grad_fn.next_functions[0][0])
    assert explanation.summary.endswith("it adds incoming gradients to the grad of a leaf of shape [2], float32.")
    assert explanation["grad"] == "shape [2], float32."


def test_modules():
    model = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    model[0].bias.requires_grad_(False)
    explanation = explain(model)
    assert explanation.summary == "A Sequential with 4 parameters, 13 elements."
    assert explanation["requires_grad"] == "3 of 4 learn; frozen: 0.bias."
    assert explanation["grad"].startswith("0 of 3 have one. None: 0.weight, 2.weight and 2.bias; explain one of them")
    frees((model(ones(1, 2)) * 0).sum())
    text = "0.weight, all zeros, 2.weight, all zeros and 2.bias, all zeros"
    assert explain(model)["grad"] == f"3 of 3 have one. Unusual: {text}."
    assert explain(model.eval())["mode"] == "evaluation."


def test_it_explains_nothing_else(x):
    with pytest.raises(TypeError, match=r"explain\(\): argument 'tensor' must be Tensor, not int$"):
        explain(3)
    with pytest.raises(TypeError, match="not function: call it, and explain what it returns"):
        explain(hook)
    with pytest.raises(TypeError, match="not list: explain the tensors in it one by one"):
        explain([x])
    with pytest.raises(TypeError, match=r"explain\(\): argument 'output' must be Tensor, not float"):
        explain(x, 3.0)
