"""Module: registration by assignment, traversal of submodules, modes, conversions, repr."""

import copy
import pickle
import re
import typing

import pytest
from nn_models import Net, refusal

import numgrad as torch
from numgrad import nn


class Empty(nn.Module):
    def __init__(self):
        super().__init__()


class Early(nn.Module):
    """Assigns before Module.__init__ has run."""

    def __init__(self, assign):
        assign(self)


# --- attributes -------------------------------------------------------------------------


def test_assignment_registers_by_type():
    module = Empty()
    module.weight = nn.Parameter(torch.ones(2))
    module.mean = nn.Buffer(torch.zeros(2))
    module.cache = nn.Buffer(torch.zeros(1), persistent=False)
    module.layer = nn.ReLU()
    module.plain = torch.ones(3)
    assert list(module._parameters) == ["weight"]
    assert list(module._buffers) == ["mean", "cache"]
    assert list(module._modules) == ["layer"]
    assert module.__dict__["plain"] is module.plain
    assert list(module.state_dict()) == ["weight", "mean"]
    assert {"weight", "mean", "layer", "plain", "forward"} <= set(dir(module))


def test_a_name_changes_its_kind():
    module = Empty()
    module.thing = 3
    module.thing = nn.Parameter(torch.ones(1))
    assert "thing" not in module.__dict__
    del module.thing
    module.thing = nn.ReLU()
    module.thing = None
    assert module._modules == {"thing": None}
    module.other = nn.Buffer(torch.ones(1), persistent=False)
    module.other = nn.ReLU()
    assert module._buffers == {}
    assert module._non_persistent_buffers_set == set()


def test_a_buffer_is_overwritten_by_a_plain_tensor_and_keeps_its_persistence():
    net = Net(torch)
    net.cache = torch.ones(4)
    assert net._buffers["cache"].tolist() == [1.0] * 4
    assert "cache" not in net.state_dict()
    net.steps = None
    assert net._buffers["steps"] is None
    assert "steps" not in net.state_dict()


def test_none_registers_a_name():
    linear = nn.Linear(1, 1, bias=False)
    assert linear.bias is None
    assert list(linear.state_dict()) == ["weight"]
    linear.bias = nn.Parameter(torch.ones(1))
    assert list(linear.state_dict()) == ["weight", "bias"]


def test_attributes_are_deleted():
    net = Net(torch)
    del net.scale, net.cache, net.first
    assert [name for name, _ in net.named_parameters()] == ["body.1.weight"]
    assert refusal(lambda: net.scale) == "AttributeError: 'Net' object has no attribute 'scale'"
    assert refusal(lambda: delattr(net, "scale")) == "AttributeError: 'Net' object has no attribute 'scale'"


REFUSED = [
    (lambda m: setattr(m, "scale", torch.ones(2)),
     "TypeError: cannot assign 'torch.FloatTensor' as parameter 'scale' (torch.nn.Parameter or None expected)"),
    (lambda m: setattr(m, "scale", 3),
     "TypeError: cannot assign 'int' as parameter 'scale' (torch.nn.Parameter or None expected)"),
    (lambda m: setattr(m, "first", 3),
     "TypeError: cannot assign 'int' as child module 'first' (torch.nn.Module or None expected)"),
    (lambda m: setattr(m, "steps", 3),
     "TypeError: cannot assign 'int' as buffer 'steps' (torch.nn.Buffer, torch.Tensor or None expected)"),
    (lambda m: m.register_parameter("w", torch.ones(1)),
     "TypeError: cannot assign 'torch.FloatTensor' object to parameter 'w' (torch.nn.Parameter or None required)"),
    (lambda m: m.register_parameter("a.b", None), "KeyError: 'parameter name can\\'t contain \".\"'"),
    (lambda m: m.register_parameter("", None), "KeyError: 'parameter name can\\'t be empty string \"\"'"),
    (lambda m: m.register_parameter("forward", None), "KeyError: \"attribute 'forward' already exists\""),
    (lambda m: m.register_parameter(3, None), "TypeError: parameter name should be a string. Got int"),
    (lambda m: m.register_buffer("b", 3),
     "TypeError: cannot assign 'int' object to buffer 'b' (torch Tensor or None required)"),
    (lambda m: m.register_buffer("scale", torch.ones(1)), "KeyError: \"attribute 'scale' already exists\""),
    (lambda m: m.register_buffer("a.b", None), "KeyError: 'buffer name can\\'t contain \".\"'"),
    (lambda m: m.add_module("x", 3), "TypeError: int is not a Module subclass"),
    (lambda m: m.add_module(3, nn.ReLU()), "TypeError: module name should be a string. Got int"),
    (lambda m: m.add_module("a.b", nn.ReLU()), "KeyError: 'module name can\\'t contain \".\", got: a.b'"),
    (lambda m: m.register_module("scale", nn.ReLU()), "KeyError: \"attribute 'scale' already exists\""),
    (lambda m: m.train(1), "ValueError: training mode is expected to be boolean"),
    (lambda m: m.to(torch.int64),
     "TypeError: nn.Module.to only accepts floating point or complex dtypes, but got desired dtype=torch.int64"),
    (lambda m: nn.Module()(1), 'NotImplementedError: Module [Module] is missing the required "forward" function'),
    (lambda m: m.get_submodule("body.7"), "AttributeError: Sequential has no attribute `7`"),
    (lambda m: m.get_submodule("scale"), "AttributeError: `scale` is not an nn.Module"),
    (lambda m: m.get_parameter("first"), "AttributeError: `first` is not an nn.Parameter"),
    (lambda m: m.get_parameter("first.x"), "AttributeError: Linear has no attribute `x`"),
    (lambda m: m.get_buffer("scale"), "AttributeError: `scale` is not a buffer"),
    (lambda m: m.set_submodule("", nn.ReLU()), "ValueError: Cannot set the submodule without a target name!"),
    (lambda m: m.set_submodule("no.x", nn.ReLU()), "AttributeError: Net has no attribute `no`"),
    (lambda m: m.set_submodule("x", nn.ReLU(), strict=True), "AttributeError: Net has no attribute `x`"),
    (lambda m: m.set_submodule("scale", nn.ReLU()), "AttributeError: `scale` is not an nn.Module"),
    (lambda m: m.set_submodule("first", 3), "ValueError: `module` is not an nn.Module, found <class 'int'>"),
]


@pytest.mark.parametrize(("action", "message"), REFUSED)
def test_refused(action, message):
    net = Net(torch)
    before = copy.copy(net.__dict__), repr(net), list(net.state_dict())
    assert refusal(lambda: action(net)) == message
    assert (net.__dict__, repr(net), list(net.state_dict())) == before


def test_a_parameter_must_be_a_leaf():
    computed = torch.ones(1, requires_grad=True) * 2
    computed._is_param = True
    message = "Cannot assign non-leaf Tensor to parameter 'w'. Model parameters must be created explicitly."
    with pytest.raises(ValueError, match=re.escape(message)):
        Empty().w = computed


@pytest.mark.parametrize(
    ("assign", "message"),
    [
        (lambda m: setattr(m, "x", nn.ReLU()), "cannot assign module before Module.__init__() call"),
        (lambda m: setattr(m, "x", nn.Parameter()), "cannot assign parameters before Module.__init__() call"),
        (lambda m: setattr(m, "x", nn.Buffer()), "cannot assign buffer before Module.__init__() call"),
        (lambda m: m.register_buffer("x", None), "cannot assign buffer before Module.__init__() call"),
        (lambda m: m.register_parameter("x", None), "cannot assign parameter before Module.__init__() call"),
        (lambda m: m(1), "'Early' object has no attribute '_backward_hooks'"),
    ],
)
def test_before_init(assign, message):
    assert refusal(lambda: Early(assign)) == f"AttributeError: {message}"


def test_plain_attributes_may_come_before_init():
    assert Early(lambda module: setattr(module, "x", 3)).x == 3


# --- the tree ---------------------------------------------------------------------------


def test_names():
    net = Net(torch)
    assert [name for name, _ in net.named_parameters()] == ["scale", "first.weight", "first.bias", "body.1.weight"]
    assert [name for name, _ in net.named_parameters(recurse=False)] == ["scale"]
    assert [name for name, _ in net.named_parameters("net")][:2] == ["net.scale", "net.first.weight"]
    assert [name for name, _ in net.named_buffers()] == ["steps", "cache"]
    assert [name for name, _ in net.named_children()] == ["first", "body"]
    assert [name for name, _ in net.named_modules()] == ["", "first", "body", "body.0", "body.1"]
    assert [type(module).__name__ for module in net.modules()] == ["Net", "Linear", "Sequential", "Tanh", "Linear"]
    assert list(net.children()) == [net.first, net.body]
    assert list(net.buffers()) == [net.steps, net.cache]


def test_shared_modules_come_once_by_default():
    layer = nn.Linear(1, 1)
    both = nn.Sequential(layer, layer)
    assert len(list(both.parameters())) == 2
    assert [name for name, _ in both.named_parameters(remove_duplicate=False)] == [
        "0.weight", "0.bias", "1.weight", "1.bias",
    ]
    assert [name for name, _ in both.named_modules()] == ["", "0"]
    assert [name for name, _ in both.named_modules(remove_duplicate=False)] == ["", "0", "1"]
    assert len(list(both.children())) == 1
    assert list(both.state_dict()) == ["0.weight", "0.bias", "1.weight", "1.bias"]


def test_by_name():
    net = Net(torch)
    assert net.get_submodule("") is net
    assert net.get_submodule("body.1") is net.body[1]
    assert net.get_parameter("first.bias") is net.first.bias
    assert net.get_buffer("steps") is net.steps
    net.set_submodule("body.0", nn.ReLU())
    net.set_submodule("tail", nn.Identity())
    assert isinstance(net.body[0], nn.ReLU)
    assert isinstance(net.tail, nn.Identity)


# --- modes ------------------------------------------------------------------------------


def test_train_and_eval_reach_all():
    net = Net(torch)
    assert all(module.training for module in net.modules())
    assert net.eval() is net
    assert not any(module.training for module in net.modules())
    assert net.train() is net
    assert all(module.training for module in net.modules())


def test_requires_grad_and_zero_grad():
    net = Net(torch)
    net(torch.ones(1, 2)).sum().backward()
    assert all(parameter.grad is not None for parameter in net.parameters())
    net.zero_grad(set_to_none=False)
    assert [parameter.grad.abs().sum().item() for parameter in net.parameters()] == [0.0] * 4
    net.zero_grad()
    assert all(parameter.grad is None for parameter in net.parameters())
    assert net.requires_grad_(False) is net
    assert not any(parameter.requires_grad for parameter in net.parameters())


def test_zero_grad_cuts_the_graph_of_a_gradient():
    line = nn.Linear(1, 1)
    x = torch.ones(1, 1, requires_grad=True)
    (line(x) ** 2).sum().backward(create_graph=True)
    assert line.weight.grad.grad_fn is not None
    line.zero_grad(set_to_none=False)
    assert line.weight.grad.grad_fn is None
    assert line.weight.grad.tolist() == [[0.0]]


def test_apply_comes_to_children_first():
    net, seen = Net(torch), []
    assert net.apply(lambda module: seen.append(type(module).__name__)) is net
    assert seen == ["Linear", "Tanh", "Linear", "Sequential", "Net"]


# --- conversions ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "convert",
    [
        lambda net: net.double(),
        lambda net: net.to(torch.float64),
        lambda net: net.to(dtype=torch.float64),
        lambda net: net.to("cpu", torch.float64),
        lambda net: net.to(torch.device("cpu"), torch.float64, True),
        lambda net: net.to(torch.zeros(1, dtype=torch.float64)),
    ],
)
def test_floating_point_is_converted_in_place(convert):
    net = Net(torch)
    parameters = list(net.parameters())
    net.scale.sum().backward()
    assert convert(net) is net
    assert all(new is old for new, old in zip(net.parameters(), parameters, strict=True))
    assert {parameter.dtype for parameter in net.parameters()} == {torch.float64}
    assert (net.cache.dtype, net.steps.dtype) == (torch.float64, torch.int64)
    assert net.scale.grad.dtype == torch.float64
    assert net(torch.ones(1, 2, dtype=torch.float64)).dtype == torch.float64
    assert {parameter.dtype for parameter in net.float().parameters()} == {torch.float32}
    assert all(type(parameter) is nn.Parameter and parameter.is_leaf for parameter in net.parameters())


def test_type_converts_everything():
    net = Net(torch)
    assert net.type(torch.float64) is net
    assert (net.scale.dtype, net.steps.dtype) == (torch.float64, torch.float64)


def test_devices():
    net = Net(torch)
    assert net.cpu() is net.to("cpu") is net.to(device="cpu")
    assert refusal(lambda: net.to(3.5)).startswith("TypeError: to(): ")
    assert refusal(lambda: net.to("nowhere")).startswith("RuntimeError")
    assert refusal(lambda: net.to("cpu", torch.float64, True, 3)) == "TypeError: to(): too many arguments (4 given)"
    assert net.scale.dtype == torch.float32
    assert net.to(None, torch.float64).scale.dtype == torch.float64


# --- repr, copies -----------------------------------------------------------------------


class Described(nn.Module):
    def __init__(self, text, *below):
        super().__init__()
        self.text = text
        for number, module in enumerate(below):
            self.add_module(f"part{number}", module)

    def extra_repr(self):
        return self.text


@pytest.mark.parametrize(
    ("module", "text"),
    [
        (Described(""), "Described()"),
        (Described("a=1"), "Described(a=1)"),
        (Described("a=1\nb=2"), "Described(\n  a=1\n  b=2\n)"),
        (Described("", nn.ReLU()), "Described(\n  (part0): ReLU()\n)"),
        (
            Described("a=1", nn.Sequential(nn.Tanh())),
            "Described(\n  a=1\n  (part0): Sequential(\n    (0): Tanh()\n  )\n)",
        ),
    ],
)
def test_repr(module, text):
    assert repr(module) == text


def test_deepcopy_is_independent():
    net = Net(torch)
    net.tied = net.first.weight
    twin = copy.deepcopy(net)
    assert twin.tied is twin.first.weight
    assert twin.first.weight is not net.first.weight
    with torch.no_grad():
        twin.first.weight.zero_()
    assert net.first.weight.tolist() != twin.first.weight.tolist()
    assert repr(twin) == repr(net)


def test_pickle():
    net = Net(torch).eval()
    again = pickle.loads(pickle.dumps(net))
    x = torch.ones(2, 2)
    assert again(x).tolist() == net(x).tolist()
    assert not again.body[0].training
    assert all(type(parameter) is nn.Parameter for parameter in again.parameters())
    assert list(again.state_dict()) == list(net.state_dict())


def test_the_state_of_an_older_pickle_is_completed():
    net = nn.Linear(1, 1)
    state = dict(net.__dict__)
    for name in ("_forward_pre_hooks", "_state_dict_pre_hooks"):
        del state[name]
    again = nn.Linear.__new__(nn.Linear)
    again.__setstate__(state)
    assert again(torch.ones(1, 1)).tolist() == net(torch.ones(1, 1)).tolist()
    again.register_forward_pre_hook(lambda module, args: None)


def test_the_annotations_of_a_module_can_be_resolved():
    class Annotated(torch.nn.Linear):
        names: list[str]

    assert typing.get_type_hints(Annotated)["names"] == list[str]
