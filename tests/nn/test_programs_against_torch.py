"""Programs of modules: with PyTorch and with numgrad they show the same, and end with the same errors."""

import copy
import pickle
import warnings
from collections import OrderedDict

import pytest
from autograd_programs import Programs, assert_same

pytestmark = pytest.mark.torch

program = Programs()


def refuse(show, *actions):
    """Show how each action ends, whole messages included."""
    for action in actions:
        try:
            result = action()
        except Exception as error:
            # The names of classes in messages contain that of the module they are from.
            show(type(error).__name__, str(error).replace("numgrad", "torch"))
        else:
            show("no error", type(result).__name__)


def net(m):
    """A module with everything that there is to name."""
    nn = m.nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Linear(3, 4)
            self.body = nn.Sequential(OrderedDict(act=nn.Tanh(), last=nn.Linear(4, 2, bias=False)))
            self.scale = nn.Parameter(m.tensor(2.0))
            self.more = nn.ModuleList([nn.Identity(), nn.ReLU()])
            self.named = nn.ModuleDict({"z": nn.Dropout(0.5), "a": nn.LayerNorm(2)})
            self.register_buffer("steps", m.tensor(0))
            self.register_buffer("cache", m.zeros(2), persistent=False)
            self.nothing = None
            self.register_parameter("absent", None)

        def forward(self, x):
            return self.named["a"](self.scale * self.body(self.first(x)))

    m.manual_seed(3)
    return Net()


# --- names and trees --------------------------------------------------------------------


@program
def the_tree(m, show):
    n = net(m)
    show(n)
    show([name for name, _ in n.named_parameters()], [name for name, _ in n.named_parameters("p", recurse=False)])
    show([name for name, _ in n.named_buffers()], [name for name, _ in n.named_children()])
    show([(name, type(module).__name__) for name, module in n.named_modules()])
    show([tuple(p.shape) for p in n.parameters()], list(n.state_dict()), n.state_dict()._metadata)
    show(sorted(name for name in vars(n) if not name.startswith("_")))
    n.apply(lambda module: show(type(module).__name__))
    n.tied = n.first.weight
    n.again = n.body
    show([name for name, _ in n.named_parameters(remove_duplicate=False)], list(n.state_dict()))
    show([name for name, _ in n.named_modules(remove_duplicate=False)], len(list(n.modules())))


@program
def training_flags(m, show):
    n = net(m)
    n.body.eval()
    show([module.training for module in n.modules()])
    show([module.training for module in n.train(False).modules()])
    n.first.requires_grad_(False)
    show([p.requires_grad for p in n.parameters()])
    n(m.ones(2, 3)).sum().backward()
    show([p.grad is None for p in n.parameters()])
    n.zero_grad(set_to_none=False)
    show([p.grad for p in n.parameters()])


@program
def conversions(m, show):
    n = net(m)
    ids = [id(p) for p in n.parameters()]
    n(m.ones(2, 3)).sum().backward()
    for convert in (
        lambda: n.double(), lambda: n.float(), lambda: n.to(m.float64), lambda: n.to("cpu", m.float32),
        lambda: n.to(m.zeros(1, dtype=m.float64)), lambda: n.to(device="cpu"), lambda: n.type(m.float64),
    ):
        show(convert() is n, [p.dtype for p in n.parameters()], n.steps.dtype, n.cache.dtype, n.scale.grad.dtype)
    show([id(p) for p in n.parameters()] == ids, n.steps.dtype)
    refuse(show, lambda: n.to(m.int64), lambda: n.to(m.ones(1, dtype=m.int64)), lambda: n.train("yes"))


@program
def errors_of_attributes(m, show):
    nn, n = m.nn, net(m)

    class Early(nn.Module):
        def __init__(self, action):
            action(self)

    refuse(
        show,
        lambda: n.missing, lambda: delattr(n, "missing"), lambda: setattr(n, "scale", m.ones(2)),
        lambda: setattr(n, "scale", 3), lambda: setattr(n, "scale", nn.ReLU()), lambda: setattr(n, "first", 3),
        lambda: setattr(n, "first", m.ones(2)), lambda: setattr(n, "steps", 3), lambda: setattr(n, "steps", None),
        lambda: n.register_parameter("w", m.ones(1)), lambda: n.register_parameter("w.w", None),
        lambda: n.register_parameter("", None), lambda: n.register_parameter("forward", None),
        lambda: n.register_parameter(1, None), lambda: n.register_parameter("w", 3),
        lambda: n.register_buffer("b", 3), lambda: n.register_buffer("b.b", None), lambda: n.register_buffer("", None),
        lambda: n.register_buffer("scale", None), lambda: n.register_buffer(1, None),
        lambda: n.add_module("m", 3), lambda: n.add_module("m.m", None), lambda: n.add_module("", None),
        lambda: n.add_module("scale", None), lambda: n.add_module(1, None), lambda: n.register_module("m", 3),
        lambda: n.get_submodule("body.no"), lambda: n.get_submodule("scale"), lambda: n.get_parameter("first.no"),
        lambda: n.get_parameter("first"), lambda: n.get_buffer("scale"), lambda: n.get_buffer("no"),
        lambda: n.set_submodule("", nn.ReLU()), lambda: n.set_submodule("no.no", nn.ReLU()),
        lambda: n.set_submodule("no", nn.ReLU(), True), lambda: n.set_submodule("scale", nn.ReLU()),
        lambda: n.set_submodule("first", 3), lambda: n.set_submodule("body.act", nn.ReLU()),
        lambda: nn.Module()(1), lambda: nn.Module(1), lambda: nn.Module(a=1), lambda: n(1, 2),
        lambda: Early(lambda e: setattr(e, "x", nn.ReLU())), lambda: Early(lambda e: setattr(e, "x", nn.Parameter())),
        lambda: Early(lambda e: setattr(e, "x", nn.Buffer())), lambda: Early(lambda e: setattr(e, "x", 3)),
        lambda: Early(lambda e: e.register_buffer("x", None)), lambda: Early(lambda e: e(1)),
        lambda: Early(lambda e: e.register_parameter("x", None)), lambda: repr(Early(lambda e: None)),
    )
    show(n)


@program
def kinds_change(m, show):
    nn, n = m.nn, m.nn.Module()
    for value in (3, nn.Parameter(m.ones(1)), None, nn.Buffer(m.ones(1)), m.zeros(2), None, nn.ReLU(), None):
        try:
            n.x = value
        except TypeError as error:
            show(error)
            del n.x
            n.x = value
        show("x" in vars(n), n._parameters, n._buffers, n._modules, n._non_persistent_buffers_set, n.x)


# --- state ------------------------------------------------------------------------------


@program
def states(m, show):
    n = net(m)
    state = n.state_dict()
    show(n.load_state_dict(state), state["scale"].requires_grad, n.state_dict(keep_vars=True)["scale"] is n.scale)
    state["first.weight"] = m.ones(2)
    state["first.bias"] = 3
    state["x"] = state["first.weight.y"] = state["more.5.z"] = state["body.act.w"] = m.ones(1)
    del state["steps"], state["named.a.bias"]
    refuse(show, lambda: n.load_state_dict(state), lambda: n.load_state_dict(state, strict=False))
    refuse(show, lambda: n.load_state_dict(3), lambda: n.load_state_dict({}))
    show(n.load_state_dict({"scale": m.tensor([5.0]), "y": 3}, strict=False), n.scale)
    weight = m.zeros(4, 3, dtype=m.float64)
    show(n.load_state_dict({"first.weight": weight}, strict=False, assign=True).unexpected_keys)
    show(n.first.weight.dtype, n.first.weight, n.first.weight.data_ptr() == weight.data_ptr())
    n.first.load_state_dict(n.first.state_dict(prefix="a.", destination={"b": 1}), strict=False)


@program
def hooks_of_states(m, show):
    nn = m.nn

    class Extra(nn.Linear):
        def get_extra_state(self):
            return "extra"

        def set_extra_state(self, state):
            show("set", state)

    n = nn.Sequential(Extra(1, 1), nn.Linear(1, 1))
    n[0].register_state_dict_pre_hook(lambda module, prefix, keep: show("pre", prefix, keep))
    n[1].register_state_dict_post_hook(lambda module, state, prefix, meta: show(list(state), prefix, meta))
    n[1].register_load_state_dict_pre_hook(lambda module, *rest: show(type(module).__name__, *rest[1:]))
    n.register_load_state_dict_post_hook(lambda module, keys: show("post", keys))
    n[0].register_load_state_dict_post_hook(lambda module, keys: keys.missing_keys.append("added"))
    state = n.state_dict()
    refuse(show, lambda: n.load_state_dict(state), lambda: n.load_state_dict({}))
    show(nn.Sequential(nn.Linear(1, 1), nn.Linear(1, 1)).load_state_dict(state, strict=False))
    n.register_state_dict_post_hook(lambda *args: 1)
    n.register_load_state_dict_post_hook(lambda *args: 1)
    refuse(show, n.state_dict, lambda: n.load_state_dict(state))


@program
def copies(m, show):
    n = m.nn.Sequential(m.nn.Linear(2, 2), m.nn.Tanh())
    n.extra = n[0].weight
    n(m.ones(1, 2)).sum().backward()
    for twin in (copy.deepcopy(n), pickle.loads(pickle.dumps(n))):
        show(twin, [name for name, _ in twin.named_parameters()], twin.extra is twin[0].weight)
        show(type(twin.extra).__name__, twin.extra.requires_grad, twin.extra.grad is None)
        show(m.nn.utils.parameters_to_vector(twin.parameters()).tolist() ==
             m.nn.utils.parameters_to_vector(n.parameters()).tolist())


# --- hooks ------------------------------------------------------------------------------


@program
def order_of_hooks(m, show):
    nn = m.nn
    m.manual_seed(0)
    n = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.Tanh()))
    for name, module in n.named_modules():
        module.register_forward_pre_hook(lambda mod, args, name=name: show("pre", name, len(args)))
        module.register_forward_pre_hook(lambda mod, args, kw, name=name: show("kw", name, kw), with_kwargs=True)
        module.register_forward_hook(lambda mod, args, out, name=name: show("post", name, tuple(out.shape)))
        module.register_forward_hook(lambda mod, args, out, name=name: show("first", name), prepend=True)
        module.register_full_backward_pre_hook(lambda mod, go, name=name: show("to", name, go))
        module.register_full_backward_hook(lambda mod, gi, go, name=name: show("back", name, len(gi), go))
        module.register_full_backward_hook(lambda mod, gi, go, name=name: show("back first", name), prepend=True)
    x = m.ones(1, 2, requires_grad=True)
    y = n(x)
    show(type(y.grad_fn).__name__, type(y.grad_fn.next_functions[0][0]).__name__)
    y.sum().backward()
    show(x.grad)
    with m.no_grad():
        show(n(x).grad_fn)


@program
def results_of_hooks(m, show):
    class Two(m.nn.Module):
        def forward(self, x, y, factor=1.0):
            return x * factor, y * 2, "text"

    n = Two()
    n.register_forward_pre_hook(lambda mod, args: (args[0] + 1, args[1]))
    n.register_forward_pre_hook(lambda mod, args, kw: (args, {"factor": 3.0}), with_kwargs=True)
    n.register_forward_hook(lambda mod, args, kw, out: (out[0], out[1] + kw["factor"], out[2]), with_kwargs=True)
    n.register_full_backward_pre_hook(lambda mod, go: (go[0] * 2, *go[1:]))
    n.register_full_backward_hook(lambda mod, gi, go: show(gi, go))
    n.register_full_backward_hook(lambda mod, gi, go: (gi[0] * 5, gi[1]))
    x, y = m.ones(2, requires_grad=True), m.ones(2, requires_grad=True)
    a, b, _ = n(x, y, factor=7.0)
    show(a, b)
    a.sum().backward(retain_graph=True)
    show(x.grad, y.grad)
    (a * b).sum().backward()
    show(x.grad, y.grad)
    a, b, _ = n(x, m.ones(2))
    show(a.requires_grad, b.requires_grad)
    a.sum().backward()


@program
def errors_of_hooks(m, show):
    x = m.ones(2, requires_grad=True)
    for register in (
        lambda n: n.register_full_backward_pre_hook(lambda mod, go: (go[0], go[0])),
        lambda n: n.register_full_backward_hook(lambda mod, gi, go: (gi[0], gi[0])),
        lambda n: n.register_forward_pre_hook(lambda mod, args, kw: 3, with_kwargs=True),
        lambda n: n.register_forward_pre_hook(lambda mod, args, kw: (1, 2, 3), with_kwargs=True),
        lambda n: n.register_forward_hook(lambda mod, args, out: 1 / 0),
    ):
        n = m.nn.Tanh()
        register(n)
        refuse(show, lambda n=n: n(x).sum().backward())


@program
def hooks_in_spite_of_errors(m, show):
    class Failing(m.nn.Module):
        def forward(self, x):
            raise KeyError("no")

    n = Failing()
    n.register_forward_hook(lambda mod, args, out: show("not called"))
    n.register_forward_hook(lambda mod, args, out: show("called", out), always_call=True)
    n.register_forward_hook(lambda mod, args, kw, out: show("with", kw), with_kwargs=True, always_call=True)
    n.register_forward_hook(lambda mod, args, out: 1 / 0, always_call=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        refuse(show, lambda: n(1))
    show([str(w.message) for w in caught])


@program
def hooks_without_gradients_of_inputs(m, show):
    n = m.nn.Linear(2, 1)
    m.nn.init.ones_(n.weight)
    n.register_full_backward_pre_hook(lambda mod, go: (go[0] * 3,))
    n.register_full_backward_hook(lambda mod, gi, go: show(gi, go))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        n(m.ones(1, 2)).sum().backward()
    show([str(w.message).split(" See")[0] for w in caught], n.weight.grad)
    n.register_full_backward_hook(lambda mod, gi, go: (go[0],))
    refuse(show, lambda: n(m.ones(1, 2)).sum().backward())


# --- containers -------------------------------------------------------------------------


@program
def sequentials(m, show):
    nn = m.nn
    s = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Tanh(), nn.ELU())
    show(s[1], s[-1], s[1:3], len(s), list(s), s + nn.Sequential(nn.GELU()), s * 2, 2 * s[:1])
    show(s.pop(0), s.append(nn.SELU()), s.insert(1, nn.Mish()), s.extend([nn.CELU()]))
    s[0] = nn.Sigmoid()
    del s[1], s[-2:]
    s += nn.Sequential(nn.GLU())
    s *= 2
    show(s, [name for name in dir(s) if name.isdigit()])
    refuse(
        show, lambda: s[20], lambda: s[-20], lambda: s["a"], lambda: s + 3, lambda: s * 0, lambda: s * "a",
        lambda: s.pop(20), lambda: s.append(3), lambda: s.insert(100, nn.ReLU()), lambda: s.insert(0, 3),
        lambda: s.extend([3]), lambda: s.__setitem__(0, 3), lambda: s.__delitem__(20), lambda: nn.Sequential({"a": s}),
    )


@program
def lists_and_dicts(m, show):
    nn = m.nn
    modules = nn.ModuleList([nn.Linear(1, 1), nn.Linear(1, 1), nn.ReLU(), nn.ReLU(), nn.Linear(2, 2)])
    show(modules, modules[1:3], modules[-1], modules + [nn.ReLU()])  # noqa: RUF005 - the example shows this
    modules.insert(1, nn.Tanh())
    modules += [nn.ELU()]
    show(modules.pop(0), modules, modules.append(nn.GELU()), modules.extend([nn.GELU()]))
    del modules[1:4]
    show(modules, list(modules.state_dict()))
    refuse(show, lambda: modules[20], lambda: modules.append(3), lambda: modules.extend(3), lambda: modules(1))
    named = nn.ModuleDict({"b": nn.ReLU(), "a": nn.Linear(1, 1)})
    named.update({"z": nn.Tanh(), "y": nn.Tanh()})
    show(named, list(named), named.pop("b"), list(named.keys()), list(named.items()), "a" in named, len(named))
    refuse(show, lambda: named["no"], lambda: named.__setitem__(1, nn.ReLU()), lambda: named.update(3),
           lambda: named.__setitem__("items", nn.ReLU()), lambda: named(1))


@program
def lists_and_dicts_of_parameters(m, show):
    nn = m.nn
    values = nn.ParameterList([m.ones(2), nn.Parameter(m.ones(2, 3)), 3, "a", m.ones(())])
    show(values, values[0], values[1:3], list(values.state_dict()), len(values))
    values.append(m.zeros(1)).extend([m.zeros(2)])
    values[0] = m.zeros(3)
    show(values, list(values.parameters()))
    refuse(show, lambda: values[20], lambda: values(1), lambda: values.extend(3), lambda: values.extend(m.ones(2)))
    show(nn.ParameterList([nn.ReLU(), nn.ParameterList([m.ones(1)])]))
    values = nn.ParameterDict({"b": m.ones(2), "a": 3})
    values["c"] = m.zeros(1)
    show(values, list(values), values["b"], values.pop("a"), values.get("z"), values.setdefault("y", m.ones(1)))
    show(list(values.items()), list(reversed(values)), values.popitem(), values | {"q": 1}, {"q": 1} | values)
    show(nn.ParameterDict(OrderedDict(b=1, a=2)), values.copy(), values.fromkeys(["x"], 1))
    refuse(show, lambda: values["no"], lambda: values.pop("no"), lambda: values.__delitem__("no"), lambda: values(1))


# --- gradients together -----------------------------------------------------------------


@program
def clipping(m, show):
    utils = m.nn.utils
    for norm in (2.0, 1, "inf", 3.5, float("inf")):
        m.manual_seed(0)
        n = m.nn.Sequential(m.nn.Linear(3, 4), m.nn.Tanh(), m.nn.Linear(4, 2))
        n(m.arange(6.0).reshape(2, 3)).pow(3).sum().backward()
        show(utils.clip_grad_norm_(n.parameters(), 0.5, norm), utils.get_total_norm([n[0].bias.grad, n[2].bias.grad]))
        show([p.grad for p in n.parameters()])
        utils.clip_grad_value_(n.parameters(), 0.01)
        show([p.grad for p in n.parameters()])
    show(utils.clip_grad_norm_([], 1.0), utils.get_total_norm([]))
    n[0].bias.grad.fill_(float("nan"))
    refuse(show, lambda: utils.clip_grad_norm_(n.parameters(), 1.0, error_if_nonfinite=True))
    show(utils.clip_grad_norm_(n[0].bias, 1.0), n[0].bias.grad)
    vector = utils.parameters_to_vector(n.parameters())
    show(vector, vector.grad_fn)
    utils.vector_to_parameters(m.arange(float(vector.numel())), n.parameters())
    show(list(n.parameters()))


@pytest.mark.parametrize("function", program)
def test_program(function):
    assert_same(function)
