"""Context managers that swap the parameters and the state of an optimizer."""

import copy

import pytest
from optim.libraries import libraries

import numgrad
from numgrad import optim


def stepped(module, library, kind="Adam", **options):
    """Return an optimizer of two groups after a step, and its parameters."""
    params = {"weight": module.tensor([1.0, 2.0], requires_grad=True), "bias": module.tensor([3.0], requires_grad=True)}
    groups = [{"params": [param]} for param in params.values()]
    optimizer = getattr(library, kind)(groups, lr=0.5, **options)
    for param in params.values():
        param.grad = module.ones_like(param)
    optimizer.step()
    return optimizer, params


def test_steps_within_are_those_of_the_others():
    optimizer, params = stepped(numgrad, optim)
    expected, twins = stepped(numgrad, optim)
    others = {name: param.detach().clone().requires_grad_() for name, param in params.items()}
    state = copy.deepcopy(optimizer.state_dict())
    state["param_groups"][0]["lr"] = expected.param_groups[0]["lr"] = 0.25
    before = {name: param.tolist() for name, param in params.items()}
    for param in (*others.values(), *twins.values()):
        param.grad = numgrad.full_like(param, 3.0)
    with optim.swap_in_optimizer_params_and_state(optimizer, others, state):
        assert optimizer.param_groups[0]["params"][0] is others["weight"]
        optimizer.step()
    expected.step()
    assert {name: param.tolist() for name, param in others.items()} == {
        name: param.tolist() for name, param in twins.items()
    }
    assert state["state"][0]["step"].item() == 2  # changed in place
    assert {name: param.tolist() for name, param in params.items()} == before
    assert optimizer.param_groups[0]["params"][0] is params["weight"]
    assert optimizer.param_groups[0]["lr"] == 0.5
    assert optimizer.state[params["weight"]]["step"].item() == 1
    optimizer.step()
    assert optimizer.state[params["weight"]]["step"].item() == 2


def test_an_error_within_puts_all_back():
    optimizer, params = stepped(numgrad, optim)
    state = copy.deepcopy(optimizer.state_dict())
    groups = [dict(group) for group in optimizer.param_groups]
    swapped = {name: param.detach().clone() for name, param in params.items()}
    with pytest.raises(ZeroDivisionError), optim.swap_in_optimizer_params_and_state(optimizer, swapped, state):
        optimizer.param_groups[0]["lr"] = 1 / 0
    assert optimizer.param_groups == groups
    assert list(optimizer.state) == list(params.values())


def changed(change):
    """A case whose saved state is changed before it is swapped in."""

    def case(optimizer, params, state):
        change(state)
        return optimizer, params, state

    return case


BAD = {
    "no state": lambda o, p, s: (type(o)(list(p.values()), lr=0.1), p, s),
    "no dict": lambda o, p, s: (o, p, [s]),
    "no state in it": changed(lambda s: s.pop("state")),
    "a number kept": changed(lambda s: s["state"].update({0: 3})),
    "no groups": changed(lambda s: s.update(param_groups=None)),
    "one group": changed(lambda s: s["param_groups"].pop()),
    "no group": changed(lambda s: s["param_groups"].__setitem__(0, 3)),
    "names": changed(lambda s: s["param_groups"][0].update(params=["weight"])),
    "more parameters": changed(lambda s: s["param_groups"][1].update(params=[1, 2])),
    "an option more": changed(lambda s: s["param_groups"][1].update(more=1)),
    "an option less": changed(lambda s: s["param_groups"][1].pop("lr")),
    "state of others": changed(lambda s: s["state"].update({7: {}})),
    "too few": lambda o, p, s: (o, {"weight": p["weight"]}, s),
}


@pytest.mark.torch
@pytest.mark.parametrize("name", BAD)
def test_errors_are_pytorchs(name):
    messages = []
    for module, library in libraries():
        optimizer, params = stepped(module, library, "SGD", momentum=0.9)
        arguments = BAD[name](optimizer, params, copy.deepcopy(optimizer.state_dict()))
        with pytest.raises(RuntimeError) as caught, library.swap_in_optimizer_params_and_state(*arguments):
            pass
        messages.append(str(caught.value))
    assert messages[0] == messages[1]
