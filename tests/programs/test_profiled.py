"""Compiled functions under profilers and other watchers."""

import pytest
from profiles import names, off_as_before  # noqa: F401 - a fixture

import numgrad as torch
from numgrad.autograd.profiler import profile


@torch.compile
def squares(x):
    return (x * x + 1).sum()


@pytest.fixture(autouse=True)
def nothing_recorded():
    squares.reset()


def profiled(*args):
    with profile() as prof:
        result = squares(*args)
    return names(prof.function_events), result


def test_a_replay_is_one_event_with_the_name_of_the_function():
    squares(torch.ones(3))
    seen, result = profiled(torch.ones(3) * 2)
    assert seen == ["compiled squares"]
    assert result.item() == 15
    (signature,) = squares.signatures.values()
    assert len(signature.programs) == 1


def test_a_call_that_is_recorded_has_its_operations_within_the_event():
    seen, _ = profiled(torch.ones(3))
    assert seen == ["compiled squares", "aten::mul", "aten::add", "aten::sum"]
    assert profiled(torch.ones(3))[0] == ["compiled squares"]


def test_uncompiled_calls_have_their_operations_within_the_event():
    @torch.compile
    def signed(x):
        return x + 1 if x.sum() > 0 else x

    with pytest.warns(UserWarning, match="signed cannot be compiled as a whole"):
        signed(torch.ones(3))
    with profile() as prof:
        signed(torch.ones(3))
    assert names(prof.function_events)[0] == "compiled signed"
    assert "aten::add" in names(prof.function_events)


def test_backward_of_a_program_is_one_node():
    x = torch.ones(3, requires_grad=True)
    squares(x).backward()
    squares(x).backward()  # whether there is a gradient already is part of the signature
    with profile() as prof:
        squares(x).backward()
    assert names(prof.function_events) == [
        "compiled squares", "autograd::engine::evaluate_function: CompiledBackward", "CompiledBackward",
        "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", "torch::autograd::AccumulateGrad",
        "aten::add_",
    ]
    assert x.grad.tolist() == [6.0] * 3


def test_watchers_that_are_to_hear_of_operations_hear_of_them(capsys):
    squares(torch.ones(3))
    with torch.viz.debug(1):
        squares(torch.ones(3))
    assert "aten::mul" in capsys.readouterr().err


def test_attributes_of_a_module_do_not_take_the_place_of_those_of_its_program():
    module = torch.nn.Linear(2, 2)
    module.name, module.check = "mine", "mine"
    compiled = torch.compile(module)
    assert compiled(torch.ones(1, 2)).shape == (1, 2)
    assert (compiled.name, compiled.compiled.name) == ("mine", "Linear")
