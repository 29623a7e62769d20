"""Hooks of modules: their order, arguments and results."""

from collections import OrderedDict

import pytest
from nn_models import refusal

import numgrad as torch
from numgrad import nn
from numgrad.nn.modules import module as all_modules


class Scaled(nn.Module):
    def forward(self, x, factor=2.0):
        return x * factor


class TwoOutputs(nn.Module):
    def forward(self, x, y):
        return x * 2, y * 3, "text"


def leaf(*values):
    return torch.tensor(values, requires_grad=True)


# --- forward ----------------------------------------------------------------------------


def test_order_and_arguments():
    module, seen = Scaled(), []
    x = torch.ones(1)
    module.register_forward_pre_hook(lambda m, args: seen.append(("pre", m, args)))
    module.register_forward_pre_hook(lambda m, args: seen.append("first pre"), prepend=True)
    module.register_forward_hook(lambda m, args, output: seen.append(("post", m, args, output.item())))
    module.register_forward_hook(lambda m, args, output: seen.append("first post"), prepend=True)
    assert module(x, factor=3.0).item() == 3.0
    assert seen == ["first pre", ("pre", module, (x,)), "first post", ("post", module, (x,), 3.0)]


def test_results_of_hooks_replace_outputs():
    module = Scaled()
    handles = [
        module.register_forward_pre_hook(lambda m, args: args[0] + 1),
        module.register_forward_pre_hook(lambda m, args: (args[0] * 10, 5.0)),
        module.register_forward_hook(lambda m, args, output: output + args[0]),
    ]
    assert module(torch.ones(1)).item() == 120.0
    for handle in handles:
        handle.remove()
    assert module(torch.ones(1)).item() == 2.0


def test_with_kwargs():
    module = Scaled()
    module.register_forward_pre_hook(
        lambda m, args, kwargs: (args, {"factor": kwargs["factor"] + 1}), with_kwargs=True
    )
    seen = []
    handle = module.register_forward_hook(
        lambda m, args, kwargs, output: seen.append((kwargs, output.item())), with_kwargs=True
    )
    assert module(torch.ones(1), factor=3.0).item() == 4.0
    assert seen == [({"factor": 4.0}, 4.0)]
    handle.remove()
    assert not module._forward_hooks_with_kwargs
    module.register_forward_pre_hook(lambda m, args, kwargs: args, with_kwargs=True)
    assert refusal(lambda: module(torch.ones(1), factor=1.0)).startswith(
        "RuntimeError: forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got ("
    )


def test_a_handle_is_a_context():
    module, seen = Scaled(), []
    with module.register_forward_hook(lambda m, args, output: seen.append(1)):
        module(torch.ones(1))
    module(torch.ones(1))
    assert seen == [1]
    assert not module._forward_hooks


def test_a_hook_may_remove_itself():
    module, seen = Scaled(), []

    def once(m, args, output):
        seen.append(1)
        handle.remove()

    handle = module.register_forward_hook(once)
    module(torch.ones(1))
    module(torch.ones(1))
    assert seen == [1]


def test_always_call():
    class Failing(nn.Module):
        def forward(self, x):
            raise KeyError("no")

    module, seen = Failing(), []
    module.register_forward_hook(lambda m, args, output: seen.append("only if it succeeds"))
    module.register_forward_hook(lambda m, args, output: seen.append(output), always_call=True)
    assert refusal(lambda: module(1)) == "KeyError: 'no'"
    assert seen == [None]

    def failing(m, args, output):
        raise ValueError("also")

    module.register_forward_hook(failing, always_call=True)
    with pytest.warns(UserWarning, match="silenced as another error was raised in forward: also"):
        assert refusal(lambda: module(1)) == "KeyError: 'no'"


def test_always_call_is_called_once():
    module, seen = Scaled(), []
    module.register_forward_hook(lambda m, args, output: seen.append("always"), always_call=True)

    def failing(m, args, output):
        raise ValueError("hook")

    module.register_forward_hook(failing)
    assert refusal(lambda: module(torch.ones(1))) == "ValueError: hook"
    assert seen == ["always"]


# --- backward ---------------------------------------------------------------------------


def test_gradients_are_seen():
    module, seen = TwoOutputs(), []
    module.register_full_backward_pre_hook(lambda m, grad_output: seen.append(("pre", grad_output)))
    module.register_full_backward_hook(lambda m, grad_input, grad_output: seen.append((grad_input, grad_output)))
    x, y = leaf(1.0), leaf(5.0)
    first, _, text = module(x, y)
    assert text == "text"
    assert type(first.grad_fn).__name__ == "BackwardHookFunctionBackward"
    first.sum().backward()
    (name, pre), (grad_input, grad_output) = seen
    assert name == "pre"
    for gradients in (pre, grad_output):
        assert (gradients[0].tolist(), gradients[1:]) == ([1.0], (None, None))
    assert [g.tolist() for g in grad_input] == [[2.0], [0.0]]
    assert (x.grad.tolist(), y.grad.tolist()) == ([2.0], [0.0])


def test_outputs_without_gradients_stay_so():
    module, seen = TwoOutputs(), []
    module.register_full_backward_hook(lambda m, grad_input, grad_output: seen.append(grad_input))
    plain = torch.ones(1)
    first, second, _ = module(leaf(1.0), plain)
    assert first.requires_grad
    assert not second.requires_grad
    first.sum().backward()
    assert [g.tolist() for g in seen[0]] == [[2.0], [0.0]]
    assert plain.grad is None


def test_gradients_are_replaced():
    module = Scaled()
    module.register_full_backward_pre_hook(lambda m, grad_output: (grad_output[0] * 10,))
    module.register_full_backward_hook(lambda m, grad_input, grad_output: (grad_input[0] + grad_output[0],))
    module.register_full_backward_hook(lambda m, grad_input, grad_output: (grad_input[0] * 3,), prepend=True)
    x = leaf(1.0, 2.0)
    module(x).sum().backward()
    assert x.grad.tolist() == [70.0, 70.0]


@pytest.mark.parametrize(
    ("register", "word"),
    [
        (lambda m: m.register_full_backward_pre_hook(lambda m, g: (g[0], g[0])),
         "Backward pre hook returned an invalid number of grad_output, got 2, but expected 1"),
        (lambda m: m.register_full_backward_hook(lambda m, gi, go: (gi[0], gi[0])),
         "Backward hook returned an invalid number of grad_input, got 2, but expected 1"),
    ],
)
def test_the_number_of_gradients_stays(register, word):
    module = Scaled()
    register(module)
    assert refusal(lambda: module(leaf(1.0)).sum().backward()) == f"RuntimeError: {word}"


def test_second_derivatives_pass_through():
    module = Scaled()
    module.register_full_backward_hook(lambda m, grad_input, grad_output: None)
    x = leaf(3.0)
    (slope,) = torch.autograd.grad((module(x) ** 2).sum(), x, create_graph=True)
    slope.sum().backward()
    assert (slope.item(), x.grad.item()) == (24.0, 8.0)


def test_no_input_requires_a_gradient():
    module, seen = nn.Linear(2, 1), []
    module.register_full_backward_hook(lambda m, grad_input, grad_output: seen.append((grad_input, grad_output)))
    with pytest.warns(UserWarning, match="since no inputs require gradients"):
        module(torch.ones(1, 2)).sum().backward()
    assert [(gi, go[0].tolist()) for gi, go in seen] == [((None,), [[1.0]])]
    assert module.weight.grad is not None


def test_an_output_that_is_not_a_tensor_warns():
    class Listed(nn.Module):
        def forward(self, x):
            return [x]

    module = Listed()
    module.register_full_backward_hook(lambda m, grad_input, grad_output: None)
    with pytest.warns(UserWarning, match=r"should be a Tensor or a tuple of Tensors but received <class 'list'>"):
        assert isinstance(module(leaf(1.0)), list)


def test_nothing_is_recorded_without_gradients():
    module = Scaled()
    module.register_full_backward_hook(lambda m, grad_input, grad_output: None)
    with torch.no_grad():
        assert module(leaf(1.0)).grad_fn is None
    x = torch.ones(1)
    assert module(x).grad_fn is None


def test_in_place_after_a_backward_hook_is_refused():
    class InPlace(nn.Module):
        def forward(self, x):
            return x.mul_(2)

    module = InPlace()
    module.register_full_backward_hook(lambda m, grad_input, grad_output: None)
    assert "is a view and is being modified inplace" in refusal(lambda: module(leaf(1.0) * 1))


# --- of all modules ---------------------------------------------------------------------


def test_hooks_of_all_modules_come_first():
    model, seen = nn.Sequential(nn.Identity()), []
    handles = [
        all_modules.register_module_forward_pre_hook(lambda m, args: seen.append(("pre", type(m).__name__))),
        all_modules.register_module_forward_hook(lambda m, args, output: seen.append(("post", type(m).__name__))),
        all_modules.register_module_full_backward_hook(lambda m, gi, go: seen.append(("back", type(m).__name__))),
        all_modules.register_module_full_backward_pre_hook(lambda m, go: seen.append(("to", type(m).__name__))),
    ]
    model.register_forward_pre_hook(lambda m, args: seen.append("own"))
    try:
        (model(leaf(1.0)) * 2).sum().backward()
    finally:
        for handle in handles:
            handle.remove()
    assert seen == [
        ("pre", "Sequential"), "own", ("pre", "Identity"), ("post", "Identity"), ("post", "Sequential"),
        ("to", "Sequential"), ("to", "Identity"), ("back", "Identity"), ("back", "Sequential"),
    ]
    seen.clear()
    model(leaf(1.0))
    assert seen == ["own"]


def test_registration_hooks():
    seen = []
    handles = [
        all_modules.register_module_parameter_registration_hook(lambda m, name, p: seen.append(("parameter", name))),
        all_modules.register_module_buffer_registration_hook(lambda m, name, b: seen.append(("buffer", name))),
        all_modules.register_module_module_registration_hook(lambda m, name, s: seen.append(("module", name))),
    ]
    try:
        module = nn.Module()
        module.w = nn.Parameter(torch.ones(1))
        module.b = nn.Buffer(torch.ones(1))
        module.s = nn.Identity()
    finally:
        for handle in handles:
            handle.remove()
    module.late = nn.Identity()
    assert seen == [("parameter", "w"), ("buffer", "b"), ("module", "s")]


def test_hooks_from_a_pickle_stay_when_others_are_registered():
    module = nn.Identity()
    handle = module.register_forward_hook(len)
    module._forward_hooks = OrderedDict({handle.id + 1: module._forward_hooks.pop(handle.id)})  # from another process
    added = module.register_forward_hook(print)
    assert list(module._forward_hooks.values()) == [len, print]
    added.remove()
    assert list(module._forward_hooks.values()) == [len]


def test_the_older_backward_hook_is_called_at_the_last_node():
    module = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    seen = []
    handle = module.register_backward_hook(lambda *call: seen.append(call))
    module(torch.ones(1, 2)).sum().backward()
    handle.remove()
    module(torch.ones(1, 2)).sum().backward()
    [(owner, (of_linear,), (of_output,))] = seen
    assert owner is module
    assert of_output.tolist() == [[1, 1]]
    assert of_linear.shape == (1, 2)  # the gradient for ReLU's input, not for the module's
