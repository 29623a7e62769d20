"""Labels of tensors and nodes in a picture of a graph."""

import gc
import threading
import weakref

import pytest
from drawings import boxes

import numgrad
from numgrad import nn
from numgrad.viz import draw


def leaf(*values):
    return numgrad.tensor(list(values), requires_grad=True)


def test_the_graph_of_a_loss():
    x, y = numgrad.ones(5), numgrad.zeros(3)
    w, b = numgrad.randn(5, 3, requires_grad=True), numgrad.randn(3, requires_grad=True)
    z = x @ w + b
    loss = nn.functional.binary_cross_entropy_with_logits(z, y)
    assert draw(loss).text == """\
loss [] float32
BinaryCrossEntropyWithLogitsBackward0: saved self = z [3], target = y [3], reduction='mean'
├─ AddBackward0 → z [3]
│  ├─ SqueezeBackward4 → [3]: saved self_sym_sizes=(1, 3)
│  │  MmBackward0 → [1, 3]: saved self = view of x [1, 5]
│  │  ├─ w [5, 3] float32, grad None
│  │  └─ x [5] float32, no gradient
│  └─ b [3] float32, grad None
└─ y [3] float32, no gradient"""


def test_a_tensor_used_twice_is_written_once():
    x = leaf(1.0, 2.0)
    y = x.exp() + x.sin()
    assert draw(y, saved=False).text == """\
y [2] float32
AddBackward0
├─ ExpBackward0 → [2]
│  #1 x [2] float32, grad None
└─ SinBackward0 → [2]
   #1 x, see above"""


def test_outputs_of_one_node_are_distinguished():
    x = leaf(1.0, 2.0)
    a, b = x.unbind()
    assert draw((a * x[0]) * b, names={"second": b}, saved=False).text == """\
output [] float32
MulBackward0
├─ MulBackward0 → []
│  ├─ #1 UnbindBackward0 → a []
│  │  #2 x [2] float32, grad None
│  └─ SelectBackward0 → []
│     #2 x, see above
└─ #1 UnbindBackward0 → second [], see above"""
    assert "UnbindBackward0 → output 1 []" in draw(x.unbind()[1] * 1).text


def test_several_roots_share_what_lies_behind_them():
    x = leaf(0.0, 1.0)
    y = x.tanh().sum()
    (slope,) = numgrad.autograd.grad(y, x, create_graph=True)
    assert draw({"value": y, "slope": slope}, saved=False).text == """\
value [] float32
SumBackward0
TanhBackward0 → [2]
#1 x [2] float32, grad None
slope [2] float32
TanhBackwardBackward0
#1 x, see above"""


@pytest.mark.parametrize("of", ["node", "edge", "leaf"])
def test_other_subjects_of_drawings(of):
    x = leaf(1.0)
    y = x.exp()
    subject = {"node": y.grad_fn, "edge": numgrad.autograd.graph.get_gradient_edge(y), "leaf": x}[of]
    lines = draw(subject, saved=False).text.splitlines()
    assert lines == [*(["ExpBackward0"] if of != "leaf" else []), "x [1] float32, grad None"]


def test_gradients_once_they_exist():
    x = leaf(1.0, 2.0)
    h = x * x
    h.retain_grad()
    y = h.sum()
    assert "h.grad None" in draw(y).text
    y.backward()
    found = boxes(draw(y, values=True).svg)
    assert found["x"] == ("leaf", ["[2] float32", "[1, 2]", "grad [2]", "[2, 4]", "AccumulateGrad"])
    assert found["MulBackward0"][1][-2:] == ["h.grad [2]", "[1, 1]"]
    assert found["y"] == ("output", ["[] float32", "5"])


def test_values_in_little_room():
    matrix = numgrad.tensor([[1.0, 2.0], [3.0, 1 / 3]], requires_grad=True)
    large = numgrad.arange(100.0).requires_grad_()
    many = numgrad.zeros(2, 0, requires_grad=True)
    turned = numgrad.tensor([1 + 2j], requires_grad=True)
    found = boxes(draw([matrix, large, many, turned], values=True).svg)
    assert found["matrix"][1][1:3] == ["[[1, 2],", " [3, 0.3333]]"]
    assert found["large"][1][1] == "0, 1, 2, … from 0 to 99"
    assert found["many"][1][1] == "no elements"
    assert found["turned"][1][1] == "[1+2j]"


def test_freed_nodes_say_which_call_freed_them():
    x = leaf(1.0, 2.0)
    y = (x * x + 1).sum()
    y.backward()
    text = draw(y).text
    assert "MulBackward0 → [2]: freed by test_draw.py, line" in text
    assert text.count("freed") == 1  # the others had saved nothing that is freed
    assert 'stroke-dasharray="5 3"' in draw(y).svg


def test_a_saved_tensor_that_was_changed_since():
    x = leaf(1.0, 2.0)
    y = x.exp()
    z = (y * x).sum()
    assert "now" not in draw(z).text
    y.add_(1)
    assert boxes(draw(z).svg)["MulBackward0"][1][1:] == ["other = x [2]", "self = y [2]: version 0, now 1"]
    assert ":::alarm" in draw(z).mermaid
    assert "version 1: changed in place" in draw(y).text


def test_writing_to_a_view():
    x = leaf(1.0, 2.0)
    y = x * 1
    y[:1].mul_(3)
    assert "torch::autograd::CopySlices: writes to a view by MulBackward0, saved other=3" in draw(y).text


def test_views_name_their_base():
    x = leaf(1.0, 2.0, 3.0)
    y = x * 2
    part = y[1:]
    assert draw(part).text.startswith("part [2] float32, view of y\n")


def test_hooks_are_named():
    def clamped(gradient):
        return gradient.clamp(-1, 1)

    x = leaf(1.0)
    x.register_hook(clamped)
    y = x.exp()
    y.register_hook(print)
    y.grad_fn.register_prehook(print)
    text = draw(y).text
    assert "x [1] float32, grad None, hook clamped" in text
    assert "hooks print, print" in text


class Cube(numgrad.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return 3 * x**2 * gradient


def test_functions_of_the_user():
    x = leaf(1.0)
    category, lines = boxes(draw(Cube.apply(x)).svg)["CubeBackward"]
    assert category == "function"
    assert lines == ["a user-defined Function", "saved", "saved_tensors[0] = x [1]"]


def test_tensors_that_hooks_have_packed():
    x = leaf(1.0)
    with numgrad.autograd.graph.saved_tensors_hooks(lambda tensor: None, lambda packed: None):
        y = x.exp()
    assert "saved result [1], packed by a hook" in draw(y).text


def test_where_nodes_were_recorded_is_known_in_anomaly_mode():
    with pytest.warns(UserWarning, match="Anomaly"), numgrad.autograd.detect_anomaly():
        y = leaf(1.0).exp()
    assert "recorded at test_draw.py, line" in draw(y).text


def test_a_drawing_inside_of_a_transform():
    texts = []

    def function(x):
        texts.append(draw(x.exp(), values=True).text)
        return x.exp().sum()

    x = numgrad.ones(2, 2)
    numgrad.func.grad(function)(x)
    numgrad.func.vmap(numgrad.func.grad(function))(x)
    assert [text.count("ExpBackward0") for text in texts] == [1, 1]


# -- names ------------------------------------------------------------------------------------------------------------


def test_names_that_are_given_come_first_then_those_of_the_module():
    line = nn.Linear(1, 1)
    weight, bias = line.weight, line.bias
    text = draw(line(numgrad.ones(1, 1)), line, fold=None, names={"slope": weight}).text
    assert "slope [1, 1]" in text
    assert "\n└─ bias" in text or "├─ bias" in text
    assert bias is line.bias


def test_names_that_cannot_be_written_as_they_are():
    x = leaf(1.0)
    text = draw({"up\n\x1b[A": x * 1}, names={"\ud800é" + 1000 * "x": x}).text
    assert text.startswith("up\\n\\x1b[A [1] float32\n")
    assert f"\n\\ud800é{23 * 'x'}…{30 * 'x'} [1] float32" in text


def drawn_elsewhere(tensor):
    return draw(tensor).text


def test_names_are_those_of_variables_innermost_first():
    first = leaf(1.0)
    others = [leaf(2.0), leaf(3.0)]
    parts = {"a": leaf(4.0)}
    result = first + others[0] + others[1] + parts["a"]
    text = drawn_elsewhere(result)
    assert text.startswith("tensor [1]")  # the name in the innermost function
    for name in ("first", "others[0]", "others[1]", "parts['a']"):
        assert f"{name} [1] float32" in text


def test_names_of_parameters_of_a_model_that_was_not_given():
    model = nn.Linear(1, 1)
    assert "model.weight" in draw(model(numgrad.ones(1, 1))).text


def test_looking_for_names_keeps_nothing_alive():
    def one_step():
        x = numgrad.ones(2, requires_grad=True)
        hidden = x * 2
        drawing = draw(hidden.exp())
        there = weakref.ref(hidden)
        del hidden
        return there(), drawing

    gc.disable()
    try:
        gone, drawing = one_step()
    finally:
        gc.enable()
    assert gone is None
    assert "MulBackward0 → hidden [2]" in drawing.text


def test_locals_that_a_program_has_asked_for_stay_as_they_are():
    x = leaf(1.0)
    variables = locals()
    draw(x)
    assert variables["x"] is x


# -- how much is shown ------------------------------------------------------------------------------------------------


def test_deep_graphs_show_what_is_nearest():
    y = leaf(1.0)
    for _ in range(20_000):
        y = y * 1.5
    text = draw(y, max_nodes=5).text
    assert text.splitlines()[-2:] == ["MulBackward0 → [1]: saved other=1.5", "… 19,996 more nodes: not shown"]
    assert len(draw(y).text.splitlines()) < 200


def test_the_depth_may_be_limited():
    x = leaf(1.0)
    y = x.exp().sin() + x
    assert draw(y, max_depth=1, saved=False).text == """\
y [1] float32
AddBackward0
├─ SinBackward0 → [1]
│  … 1 more node: not shown
└─ x [1] float32, grad None"""


def test_results_that_are_not_near_enough():
    results = [leaf(1.0).exp() for _ in range(4)]
    text = draw(results, max_nodes=2, saved=False).text
    assert text.endswith("results[3] [1] float32\n#1 … 6 more nodes, see above")


def test_data_under_a_name_of_its_own():
    targets = numgrad.zeros(2, 2)
    flat = targets.view(-1)
    loss = nn.functional.mse_loss(leaf(1.0, 2.0, 3.0, 4.0), flat)
    assert draw(loss, saved=False).text.splitlines()[-1] == "└─ flat [4] float32, view of targets, no gradient"
    del flat
    assert draw(loss, saved=False).text.splitlines()[-1] == "└─ targets [2, 2] float32, no gradient"


def test_names_of_views_that_were_overtaken():
    x = leaf(1.0, 2.0)
    y = x * 1
    part = y[:1]
    result = part.exp()
    y.mul_(2)
    assert "part" not in draw(result).text  # the earlier value has no name any more
    assert draw(part).text.startswith("part [1]")


def test_while_other_threads_record():
    model = nn.Linear(2, 2)
    stop = threading.Event()

    def record():
        while not stop.is_set():
            model(numgrad.ones(1, 2))

    thread = threading.Thread(target=record)
    thread.start()
    try:
        for _ in range(5):
            assert "AddmmBackward0" in draw(model(numgrad.ones(1, 2)), model, fold=None).text
    finally:
        stop.set()
        thread.join()


# -- errors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ([numgrad.ones(2, 3)], {}, r"subject has no graph to draw: the tensor of shape \[2, 3\], torch.float32"),
        ([{"a": numgrad.ones(1)}], {}, r"subject\['a'\] has no graph to draw"),
        ([[]], {}, "there is nothing to draw: the list is empty"),
        ([leaf(1.0)], {"direction": "TB"}, "direction must be one of 'down', 'up', 'right', 'left', not 'TB'"),
        ([leaf(1.0)], {"arrows": "both"}, "arrows must be one of 'forward', 'backward', not 'both'"),
        ([leaf(1.0)], {"max_depth": -1}, "max_depth must be at least 0, not -1"),
        ([leaf(1.0)], {"max_nodes": 0}, "max_nodes must be at least 1, not 0"),
    ],
)
def test_values_that_are_refused(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        draw(*arguments, **options)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ([3], {}, "subject must be a tensor, a node .*, not int"),
        ([[leaf(1.0), "x"]], {}, r"subject\[1\] must be .*, not str"),
        ([leaf(1.0), leaf(2.0)], {}, "'module' must be an nn.Module, not torch.FloatTensor"),
        ([leaf(1.0)], {"names": {"x": 1}}, r"names\['x'\] must be a Tensor, not int"),
        ([leaf(1.0)], {"names": {1: leaf(1.0)}}, "'names' must have strings as keys, not int"),
        ([leaf(1.0)], {"names": [leaf(1.0)]}, "'names' must be a mapping of names to tensors, not list"),
        ([leaf(1.0)], {"max_depth": 1.5}, "max_depth must be an int or None, not float"),
    ],
)
def test_types_that_are_refused(arguments, options, message):
    with pytest.raises(TypeError, match=message):
        draw(*arguments, **options)
