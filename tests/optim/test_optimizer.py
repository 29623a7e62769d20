"""The base of all optimizers: groups, gradients, closures, saving and loading, hooks."""

import copy
import inspect
import math
import pickle
from collections import OrderedDict

import numpy as np
import pytest

import numgrad
from numgrad import optim
from numgrad.optim import optimizer as base

NAMES = [
    "SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "Adamax", "NAdam", "RAdam", "ASGD", "Rprop",
]


def leaf(*values):
    return numgrad.tensor(values or (1.0, 2.0), requires_grad=True)


def stepped(optimizer, *params, value=1.0):
    """Give the parameters gradients and make a step."""
    for param in params:
        param.grad = numgrad.full_like(param, value)
    optimizer.step()
    return optimizer


# -- parameters -----------------------------------------------------------------------------------------------------


def test_groups_take_the_defaults():
    x, y = leaf(), leaf()
    optimizer = optim.SGD([{"params": x, "momentum": 0.5}, {"params": iter([y]), "extra": 1}], lr=0.3)
    first, second = optimizer.param_groups
    assert first["params"][0] is x
    assert second["params"][0] is y
    assert (first["lr"], first["momentum"], second["lr"], second["momentum"]) == (0.3, 0.5, 0.3, 0)
    assert second["extra"] == 1
    assert optimizer.defaults["lr"] == 0.3


def test_named_parameters():
    x, y = leaf(), leaf()
    optimizer = optim.Adam(iter([("weight", x), ("bias", y)]))
    assert optimizer.param_groups[0]["param_names"] == ["weight", "bias"]
    assert optimizer.param_groups[0]["params"][1] is y
    assert optimizer.state_dict()["param_groups"][0]["param_names"] == ["weight", "bias"]
    assert "param_names: ['weight', 'bias']" in repr(optimizer)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda x: optim.SGD(x), TypeError, "an iterable of Tensors or dicts, but got torch.FloatTensor"),
        (lambda x: optim.SGD([]), ValueError, "optimizer got an empty parameter list"),
        (lambda x: optim.SGD([x, 3]), TypeError, "optimizer can only optimize Tensors, but one of the params is int"),
        (lambda x: optim.SGD([x * 2]), ValueError, "can't optimize a non-leaf Tensor"),
        (lambda x: optim.SGD([{"params": {x}}]), TypeError, "ordered collections"),
        (lambda x: optim.SGD([{"params": [x]}, {"params": [x]}]), ValueError, "in more than one parameter group"),
        (lambda x: optim.SGD([("a", x), leaf()]), ValueError, "Some param names are missing"),
        (lambda x: optim.SGD([x]).add_param_group({"params": [("a", leaf())]}), ValueError, "param group with names"),
        (lambda x: optim.SGD([x]).add_param_group([leaf()]), TypeError, "param_group must be a dict"),
        (lambda x: base.Optimizer([x], {"lr": base.required}), ValueError, "required optimization parameter lr"),
        (lambda x: optim.SGD([x], lr=numgrad.ones(2)), ValueError, "Tensor lr must be 1-element"),
        (lambda x: optim.Adam([x], betas=(0.9, 1.0)), ValueError, "Invalid beta parameter at index 1: 1.0"),
        (lambda x: optim.SGD([x], nesterov=True), ValueError, "Nesterov momentum requires a momentum"),
        (lambda x: optim.SGD([x], fused=True, foreach=True), RuntimeError, "cannot be `True` together"),
    ],
)
def test_refusals(make, error, message):
    with pytest.raises(error, match=message):
        make(leaf())


@pytest.mark.parametrize("option", ["lr", "momentum", "weight_decay"])
def test_sgd_alone_accepts_nan_as_in_pytorch(option):
    x = leaf()
    optimizer = stepped(optim.SGD([x], **{"lr": 0.1, option: math.nan}), x)
    assert x.isnan().tolist() == [option != "momentum"] * 2  # the first step has no velocity to multiply
    stepped(optimizer, x)
    assert x.isnan().all()
    with pytest.raises(ValueError, match=f"Invalid {'learning rate' if option == 'lr' else option + ' value'}: -1"):
        optim.SGD([x], **{option: -1})
    with pytest.raises(ValueError, match=r"Invalid .*: nan"):
        optim.RMSprop([x], **{option: math.nan})


def test_a_refused_group_is_not_added():
    x = leaf()
    optimizer = optim.SGD([x])
    with pytest.raises(ValueError, match="more than one"):
        optimizer.add_param_group({"params": [x]})
    assert len(optimizer.param_groups) == 1


@pytest.mark.parametrize("name", NAMES)
def test_differentiable_steps_are_refused(name):
    x = leaf()
    with pytest.raises(NotImplementedError, match=f"{name} does not support differentiable=True"):
        getattr(optim, name)([x], differentiable=True)
    optimizer = getattr(optim, name)([{"params": [x], "differentiable": True}])
    with pytest.raises(NotImplementedError, match="its steps are not recorded"):
        stepped(optimizer, x)
    assert x.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("option", ["foreach", "fused", "capturable"])
@pytest.mark.parametrize("name", NAMES)
def test_options_of_pytorchs_implementations_change_nothing(name, option):
    kind = getattr(optim, name)
    if option not in inspect.signature(kind).parameters:  # as in PyTorch
        with pytest.raises(TypeError):
            kind([leaf()], **{option: True})
        return
    results = []
    for options in ({}, {option: True}):
        x = leaf()
        stepped(kind([x], **options), x)
        results.append(x.tolist())
    assert results[0] == results[1]


# -- gradients and closures -----------------------------------------------------------------------------------------


def test_zero_grad():
    x, y = leaf(), leaf()
    optimizer = optim.SGD([x, y])
    (x * x).sum().backward(create_graph=True)
    grad = x.grad
    optimizer.zero_grad(set_to_none=False)
    assert x.grad is grad
    assert grad.tolist() == [0.0, 0.0]
    assert not grad.requires_grad
    assert y.grad is None
    optimizer.zero_grad()
    assert x.grad is None


def test_zero_grad_keeps_the_memory():
    x = leaf()
    optimizer = optim.SGD([x], lr=1.0)
    x.grad = grad = numgrad.ones(2)
    optimizer.zero_grad(set_to_none=False)
    (x * 3).sum().backward()
    assert x.grad is grad
    assert grad.tolist() == [3.0, 3.0]


def test_the_closure_is_recorded_and_its_loss_returned():
    x = leaf(3.0)
    optimizer = optim.SGD([x], lr=0.5)

    def closure():
        optimizer.zero_grad()
        loss = (x * x).sum()
        loss.backward()
        return loss

    with numgrad.no_grad():
        loss = optimizer.step(closure)
    assert loss.item() == 9.0
    assert x.item() == 0.0
    assert optimizer.step() is None


@pytest.mark.parametrize(
    ("name", "lr"),
    [
        ("SGD", 0.1), ("Adam", 0.3), ("AdamW", 0.3), ("RMSprop", 0.05), ("Adagrad", 1), ("Adadelta", 10),
        ("Adamax", 0.3), ("NAdam", 0.3), ("RAdam", 0.3), ("ASGD", 0.1), ("Rprop", 0.1),
    ],
)
def test_a_bowl_is_descended(name, lr):
    x = leaf(3.0, -2.0)
    centre = numgrad.tensor([1.0, 0.5])
    optimizer = getattr(optim, name)([x], lr=lr, **({"weight_decay": 0} if name == "AdamW" else {}))
    for _ in range(200):
        optimizer.zero_grad()
        ((x - centre) ** 2).sum().backward()
        optimizer.step()
    np.testing.assert_allclose(x.tolist(), centre.tolist(), atol=0.03)


# -- saving and loading ---------------------------------------------------------------------------------------------


def test_state_dict():
    x, y, z = leaf(), leaf(3.0), leaf()
    optimizer = optim.SGD([{"params": [x, y]}, {"params": [z], "lr": 0.5}], lr=0.1, momentum=0.9)
    stepped(optimizer, y, z, value=2.0)
    found = optimizer.state_dict()
    assert list(found) == ["state", "param_groups"]
    assert [group["params"] for group in found["param_groups"]] == [[0, 1], [2]]
    assert [group["lr"] for group in found["param_groups"]] == [0.1, 0.5]
    assert sorted(found["state"]) == [1, 2]
    assert found["state"][1]["momentum_buffer"].tolist() == [2.0]


def copies(optimizer, x):
    """The optimizer and its parameter once more, each made in another way."""
    yield copy.deepcopy((optimizer, x))
    yield pickle.loads(pickle.dumps((optimizer, x)))
    twin = x.detach().clone().requires_grad_()
    fresh = type(optimizer)([twin])
    fresh.load_state_dict(optimizer.state_dict())
    yield fresh, twin
    other = x.detach().clone().requires_grad_()
    fresh = type(optimizer)([other])
    fresh.load_state_dict(pickle.loads(pickle.dumps(optimizer.state_dict())))
    yield fresh, other


@pytest.mark.parametrize("name", NAMES)
def test_copies_go_on_alike_and_apart(name):
    x = leaf()
    optimizer = getattr(optim, name)([x], lr=0.3, **({"momentum": 0.5} if name in ("SGD", "RMSprop") else {}))
    stepped(optimizer, x, value=2.0)
    others = list(copies(optimizer, x))
    stepped(optimizer, x, value=3.0)
    for other, twin in others:
        assert twin.tolist() != x.tolist()
        stepped(other, twin, value=3.0)
        assert twin.tolist() == x.tolist()
        assert repr(other) == repr(optimizer)
        (kept,), (expected,) = other.state.values(), optimizer.state.values()
        assert {key: value.tolist() for key, value in kept.items()} == {
            key: value.tolist() for key, value in expected.items()
        }


def test_loaded_state_takes_the_dtype_of_the_parameter():
    x = leaf()
    optimizer = stepped(optim.Adam([x]), x)
    wide = numgrad.tensor([1.0, 2.0], dtype=numgrad.float64, requires_grad=True)
    fresh = optim.Adam([wide])
    fresh.load_state_dict(optimizer.state_dict())
    kept = fresh.state[wide]
    assert kept["exp_avg"].dtype is numgrad.float64
    assert kept["step"].dtype is numgrad.float32
    stepped(fresh, wide)
    assert kept["step"].item() == 2
    assert optimizer.state[x]["step"].item() == 1  # the two share nothing


@pytest.mark.parametrize("make", [lambda p: optim.SGD(p, lr=0.1, momentum=0.9), optim.Adam, optim.Adagrad])
def test_parameters_given_another_dtype_after_a_step(make):
    model = numgrad.nn.Linear(2, 1)
    optimizer = stepped(make(model.parameters()), *model.parameters())
    model.double()
    before = [param.tolist() for param in model.parameters()]
    message = r"\[1, 2\] and type torch.DoubleTensor has .* torch.FloatTensor; load_state_dict\(state_dict\(\)\)"
    with pytest.raises(RuntimeError, match=message):
        optimizer.step()
    assert [param.tolist() for param in model.parameters()] == before
    optimizer.load_state_dict(optimizer.state_dict())
    stepped(optimizer, *model.parameters())
    assert [param.dtype for param in model.parameters()] == [numgrad.float64] * 2
    assert all(now != was for now, was in zip([param.tolist() for param in model.parameters()], before, strict=True))


@pytest.mark.parametrize(("shape", "what"), [((3,), "state"), ((2,), "gradient")])
def test_state_that_does_not_fit_a_parameter_is_refused(shape, what):
    p = leaf()
    optimizer = stepped(optim.Adam([p]), p)
    p.grad = None
    p.data = numgrad.ones(3)
    optimizer.state[p]["exp_avg"] = numgrad.ones(3 if what == "gradient" else 2)
    optimizer.state[p]["exp_avg_sq"] = numgrad.ones(3)
    p._grad = numgrad.ones(shape)
    with pytest.raises(RuntimeError, match=rf"the {what} of a parameter of shape \[3\].* has shape \[2\] .*Tensor$"):
        optimizer.step()
    assert p.tolist() == [1, 1, 1]


def test_an_older_state_dict_is_completed():
    x = leaf()
    optimizer = stepped(optim.AdamW([x], lr=0.5), x)
    saved = optimizer.state_dict()
    del saved["param_groups"][0]["amsgrad"]
    saved["param_groups"][0]["decoupled_weight_decay"] = False
    saved["state"][0]["step"] = 4
    optimizer.load_state_dict(saved)
    assert optimizer.param_groups[0]["amsgrad"] is False
    assert optimizer.param_groups[0]["decoupled_weight_decay"] is True
    assert optimizer.state[x]["step"].tolist() == 4.0


def test_loading_what_does_not_fit():
    x = leaf()
    optimizer = optim.SGD([x], lr=0.5)
    two = optim.SGD([leaf(), leaf()]).state_dict()
    with pytest.raises(ValueError, match="doesn't match the size of optimizer's group"):
        optimizer.load_state_dict(two)
    with pytest.raises(ValueError, match="different number of parameter groups"):
        optimizer.load_state_dict({"state": {}, "param_groups": []})
    assert optimizer.param_groups[0]["lr"] == 0.5


def test_state_that_belongs_to_no_parameter_is_kept():
    x = leaf()
    optimizer = optim.SGD([x])
    optimizer.state["note"] = {"epoch": 3}
    fresh = optim.SGD([leaf()])
    fresh.load_state_dict(optimizer.state_dict())
    assert fresh.state["note"] == {"epoch": 3}


def test_repr():
    optimizer = optim.RMSprop([{"params": [leaf()]}, {"params": [leaf()], "lr": 1}], lr=0.5)
    assert repr(optimizer) == """RMSprop (
Parameter Group 0
    alpha: 0.99
    capturable: False
    centered: False
    differentiable: False
    eps: 1e-08
    foreach: None
    lr: 0.5
    maximize: False
    momentum: 0
    weight_decay: 0

Parameter Group 1
    alpha: 0.99
    capturable: False
    centered: False
    differentiable: False
    eps: 1e-08
    foreach: None
    lr: 1
    maximize: False
    momentum: 0
    weight_decay: 0
)"""


# -- hooks ----------------------------------------------------------------------------------------------------------


def test_step_hooks():
    x = leaf(1.0)
    optimizer = optim.SGD([x], lr=1.0)
    seen = []
    handles = [
        optimizer.register_step_pre_hook(lambda o, args, kwargs: seen.append(("before", o, x.item()))),
        optimizer.register_step_post_hook(lambda o, args, kwargs: seen.append(("after", o, x.item()))),
        base.register_optimizer_step_pre_hook(lambda o, args, kwargs: seen.append(("any before", o, x.item()))),
        base.register_optimizer_step_post_hook(lambda o, args, kwargs: seen.append(("any after", o, x.item()))),
    ]
    stepped(optimizer, x)
    assert seen == [
        ("any before", optimizer, 1.0), ("before", optimizer, 1.0), ("after", optimizer, 0.0),
        ("any after", optimizer, 0.0),
    ]
    for handle in handles:
        handle.remove()
    stepped(optimizer, x)
    assert len(seen) == 4


def test_hooks_without_the_constructor():
    class Wrapper(optim.Optimizer):
        def __init__(self, optimizer):
            self.optimizer = optimizer
            self._optimizer_step_pre_hooks = OrderedDict()
            self._patch_step_function()

        def step(self, closure=None):
            return self.optimizer.step(closure)

    x, seen = leaf(1.0), []
    wrapper = Wrapper(optim.SGD([x], lr=1.0))
    wrapper.register_step_pre_hook(lambda o, args, kwargs: seen.append("before"))
    wrapper.register_step_post_hook(lambda o, args, kwargs: seen.append("after"))
    stepped(wrapper, x)
    assert seen == ["before", "after"]


def test_a_pre_hook_may_replace_the_arguments():
    x = leaf()
    optimizer = optim.SGD([x])
    optimizer.register_step_pre_hook(lambda o, args, kwargs: (args, {"closure": lambda: "loss"}))
    assert optimizer.step() == "loss"
    optimizer.register_step_pre_hook(lambda o, args, kwargs: 3)
    with pytest.raises(RuntimeError, match=r"None or a tuple of \(new_args, new_kwargs\), but got 3"):
        optimizer.step()


def test_hooks_of_state_dicts():
    x = leaf()
    optimizer = optim.SGD([x], lr=0.5)
    order = []
    optimizer.register_state_dict_pre_hook(lambda o: order.append("second"))
    optimizer.register_state_dict_pre_hook(lambda o: order.append("first"), prepend=True)
    optimizer.register_state_dict_post_hook(lambda o, found: {**found, "note": 1})
    saved = optimizer.state_dict()
    assert order == ["first", "second"]
    assert saved["note"] == 1

    def doubled(optimizer, state_dict):
        groups = [{**group, "lr": 2 * group["lr"]} for group in state_dict["param_groups"]]
        return {**state_dict, "param_groups": groups}

    optimizer.register_load_state_dict_pre_hook(doubled)
    optimizer.register_load_state_dict_post_hook(lambda o: order.append(o.param_groups[0]["lr"]))
    optimizer.load_state_dict(saved)
    assert order[-1] == 1.0
    assert saved["param_groups"][0]["lr"] == 0.5


def test_a_hook_may_remove_itself():
    optimizer, seen = optim.SGD([leaf()], lr=0.1), []

    def once(name):
        def hook(*args):
            seen.append(name)
            handles[name].remove()

        return hook

    handles = {
        name: register(once(name))
        for name, register in {
            "pre": optimizer.register_step_pre_hook,
            "post": optimizer.register_step_post_hook,
            "out": optimizer.register_state_dict_pre_hook,
            "in": optimizer.register_load_state_dict_post_hook,
        }.items()
    }
    for _ in range(2):
        optimizer.step()
        optimizer.load_state_dict(optimizer.state_dict())
    assert seen == ["pre", "post", "out", "in"]


def test_the_base_makes_no_steps():
    with pytest.raises(NotImplementedError):
        base.Optimizer([leaf()], {}).step()


def test_a_users_optimizer():
    class Half(optim.Optimizer):
        def __init__(self, params):
            super().__init__(params, {"factor": 0.5})

        def step(self, closure=None):
            with numgrad.no_grad():
                for group in self.param_groups:
                    for param in group["params"]:
                        param.mul_(group["factor"])

    x = leaf(4.0)
    optimizer = Half([x])
    seen = []
    optimizer.register_step_post_hook(lambda o, args, kwargs: seen.append(x.item()))
    optimizer.step()
    assert seen == [2.0]


def test_hooks_run_once_for_a_step_that_calls_its_parents():
    class Twice(optim.SGD):
        def step(self, closure=None):
            super().step(closure)
            return super().step(closure)

    x = leaf(4.0)
    optimizer = Twice([x], lr=1.0)
    seen = []
    optimizer.register_step_post_hook(lambda o, args, kwargs: seen.append(x.item()))
    stepped(optimizer, x)
    assert seen == [2.0]
    with pytest.raises(ZeroDivisionError):
        optimizer.step(lambda: 1 / 0)
    optimizer.step()
    assert seen == [2.0, 0.0]


def test_an_optimizer_need_not_call_the_constructor():
    class Bare(optim.Optimizer):
        def __init__(self, params):
            self.param_groups = [{"params": list(params)}]

        def step(self):
            return "stepped"

    x = numgrad.ones(1, requires_grad=True)
    x.sum().backward()
    optimizer = Bare([x])
    optimizer.zero_grad()
    assert (optimizer.step(), x.grad) == ("stepped", None)
