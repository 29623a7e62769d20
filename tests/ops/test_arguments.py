"""Arguments of a wrong kind: TypeError names the function, the argument, its position and both kinds."""

import inspect
import operator
import re
import types
from collections.abc import Sequence
from typing import get_args, get_origin, get_type_hints

import pytest

import numgrad
from numgrad import Tensor, fft, linalg, nn, special, tensor
from numgrad.ops.table.elementwise import Pointwise
from numgrad.ops.table.op import public_functions

MODULES = {"": numgrad, "nn.functional.": nn.functional, "fft.": fft, "linalg.": linalg, "special.": special}


def functions():
    """All public functions and methods of which something is declared, by name."""
    result = {name: function for name, function in public_functions.items()
        if inspect.isfunction(function) and not name.startswith("_")}
    for prefix, module in MODULES.items():
        own = {prefix + name: getattr(module, name) for name in module.__all__ if prefix}
        result |= {name: function for name, function in own.items() if not isinstance(function, type)}
    for name in dir(Tensor):
        method = inspect.getattr_static(Tensor, name)
        declared = inspect.isfunction(method) and method.__globals__["__name__"].startswith("numgrad.ops")
        if declared and not name.startswith("_"):
            result[f"Tensor.{name}"] = method
    return result


FUNCTIONS = functions()


def kinds_of(function):
    """The declared kinds of each parameter, as a tuple."""
    hints = get_type_hints(function)
    parameters = inspect.signature(function).parameters.values()
    unions = {p: hints.get(p.name) for p in parameters}
    return {p: get_args(k) if get_origin(k) is types.UnionType else (k,) for p, k in unions.items()}


SQUARE, PAIR = tensor([[0.5, 0.25], [0.75, 1.0]]), tensor([0.5, 0.25])
INTEGERS = dict.fromkeys(["self", "input", "other"], tensor([6, 4]))
FITTING = {  # for functions that PyTorch has in Python, which check sizes and missing arguments first, and of integers
    **dict.fromkeys(["gcd", "lcm", "Tensor.gcd", "Tensor.lcm"], INTEGERS),
    "nn.functional.instance_norm": {"input": SQUARE[None]},
    "nn.functional.embedding_bag": {"input": tensor([0, 1])},
    "nn.functional.fractional_max_pool2d": {"output_size": 1},
    "nn.functional.fractional_max_pool2d_with_indices": {"output_size": 1},
    "nn.functional.fractional_max_pool3d": {"output_size": 1},
    "nn.functional.fractional_max_pool3d_with_indices": {"output_size": 1},
    "nn.functional.multi_head_attention_forward": {
        "embed_dim_to_check": 2, "in_proj_weight": SQUARE.repeat(3, 1), "in_proj_bias": PAIR.repeat(3),
        "bias_k": PAIR[None, None], "bias_v": PAIR[None, None], "out_proj_bias": PAIR, "key_padding_mask": PAIR,
        "k_proj_weight": SQUARE, "v_proj_weight": SQUARE,
    },
}


def argument(parameter, kinds):
    """Something that the parameter declares."""
    if Tensor in kinds or parameter.name in ("self", "input"):
        return SQUARE.clone()
    if Sequence[Tensor] in kinds:
        return (tensor([0, 1]),)
    known = {int: 1, float: 0.5, bool: True, str: "sum", numgrad.dtype: numgrad.float64}
    return next((known[kind] for kind in kinds if kind in known), (0, 1))


def wrong_values():
    """Values that are not tensors, for each function or method and each of its parameters that declares one."""
    result = {}
    for name, function in FUNCTIONS.items():
        kinds = kinds_of(function)
        bound = list(kinds)[: name.startswith("Tensor.")]
        for parameter, own in kinds.items():
            if Tensor in own and parameter not in bound:
                numbers = not {int, float, complex}.isdisjoint(own)
                optional = types.NoneType in own
                result[name, parameter.name] = ["a", object(), *[3] * (not numbers), *[None] * (not optional)]
    return result


WRONG = wrong_values()
POINTWISE = {name: f.op for name, f in public_functions.items() if isinstance(getattr(f, "op", None), Pointwise)}


def arguments(name, parameter, wrong):
    """Arguments that are right up to ``parameter``, and those for keywords."""
    positional, keywords = [], {}
    fitting = FITTING.get(name, {})
    for own, kinds in kinds_of(FUNCTIONS[name]).items():
        if own.kind is own.VAR_KEYWORD or (own.kind is own.VAR_POSITIONAL and own.name != parameter):
            continue
        value = wrong if own.name == parameter else fitting.get(own.name, argument(own, kinds))
        if own.kind is not own.KEYWORD_ONLY:
            positional.append(value)
        elif own.name == parameter or own.default is own.empty:
            keywords[own.name] = value
        if own.name == parameter:
            break
    for own, kinds in list(kinds_of(FUNCTIONS[name]).items())[len(positional):]:
        is_named = own.kind in (own.POSITIONAL_OR_KEYWORD, own.KEYWORD_ONLY)
        if is_named and (own.default is own.empty or own.name in fitting):
            keywords[own.name] = fitting.get(own.name, argument(own, kinds))
    return positional, keywords


def test_all_that_is_declared_can_be_read():
    assert len(FUNCTIONS) > 600
    assert len(WRONG) > 300
    for function in FUNCTIONS.values():
        get_type_hints(function)


@pytest.mark.parametrize(("name", "parameter"), WRONG)
def test_arguments_that_are_not_tensors_are_named(name, parameter):
    own = {name.rpartition(".")[2].rstrip("_"), FUNCTIONS[name].__name__.rstrip("_")}  # where it has two
    for wrong in WRONG[name, parameter]:
        given, keywords = arguments(name, parameter, wrong)
        before = [(value.tolist(), value._version) for value in given if isinstance(value, Tensor)]
        with pytest.raises(TypeError) as caught:
            FUNCTIONS[name](*given, **keywords)
        function, said = str(caught.value).split("(): ", 1)
        assert function.rstrip("_") in own
        assert said.startswith(f"argument '{parameter}'")
        assert said.endswith(f", not {type(wrong).__name__}")
        assert [(value.tolist(), value._version) for value in given if isinstance(value, Tensor)] == before


@pytest.mark.parametrize("name", POINTWISE)
def test_invalid_operands_are_named(name):
    op = POINTWISE[name]
    for place, parameter in enumerate(op.inputs):
        for wrong in ("a", object(), None):
            operands = [tensor([1, 2])] * len(op.inputs)
            operands[place] = wrong
            with pytest.raises(TypeError) as caught:
                public_functions[name](*operands)
            assert str(caught.value).startswith(f"{op.name}(): argument '{parameter}' (position {place + 1}) must be ")


def test_positions_and_elements():
    x = tensor([[1.0, 2.0]])
    wrong = {
        "mse_loss(): argument 'target' (position 2) must be Tensor, not int": lambda: nn.functional.mse_loss(x, 3),
        "mse_loss(): argument 'target' must be Tensor, not int": lambda: nn.functional.mse_loss(x, target=3),
        "gather(): argument 'index' (position 3) must be Tensor, not list": lambda: numgrad.gather(x, 0, [0]),
        "gather(): argument 'index' (position 2) must be Tensor, not list": lambda: x.gather(0, [0]),
        "gather(): argument 'dim' (position 1) must be int, not float": lambda: x.gather(1.5, x),
        "promote_types(): argument 'type2' (position 2) must be torch.dtype, not int": lambda: numgrad.promote_types(
            numgrad.int8, 3
        ),
        "can_cast(): argument 'to' (position 2) must be torch.dtype, not str": lambda: numgrad.can_cast(
            numgrad.int8, "int16"
        ),
        "vsplit(): argument 'indices_or_sections' (position 2) must be int or tuple of ints, not str": lambda: (
            numgrad.vsplit(x, "a")
        ),
        "vsplit(): argument 'indices_or_sections' (position 2) must be tuple of ints, but found element of type float "
        "at pos 1": lambda: numgrad.vsplit(x, [1, 1.5]),
        "sum(): argument 'dim' (position 2) must be tuple of ints, but found element of type str at pos 0": lambda: (
            numgrad.sum(x, ("a",))
        ),
        "broadcast_tensors(): argument 'tensors' (position 2) must be Tensor or tuple of Tensors, not int": lambda: (
            numgrad.broadcast_tensors(x, 3)
        ),
        "index_put(): argument 'accumulate' (position 3) must be bool, not str": lambda: x.index_put(
            (tensor([0]),), x[0], "a"
        ),
        "index_put(): argument 'indices' (position 2) must be tuple of Tensors, not Tensor": lambda: numgrad.index_put(
            x, tensor([0]), x[0]
        ),
        "expected Tensor as element 0 in argument 0, but got NoneType": lambda: x.index_put_((None,), x[0]),
        "expected Tensor as element 1 in argument 1, but got int": lambda: numgrad.einsum("i,j", x[0], 3),
        "rms_norm(): argument 'normalized_shape' (position 2) must be tuple of ints, not int": lambda: (
            nn.functional.rms_norm(x, 2)
        ),
    }
    for words, call in wrong.items():
        with pytest.raises(TypeError, match=f"^{re.escape(words)}$"):
            call()


@pytest.mark.parametrize("call", [
    lambda x: x.sum(1.5), lambda x: x.softmax(0.5), lambda x: x.transpose(0, x), lambda x: x.unsqueeze(x.numpy()),
    lambda x: x.argmax(x), lambda x: x.chunk(2, 0.0), lambda x: x.sum(dtype=x), lambda x: numgrad.zeros(2, dtype=x),
    lambda x: x.double(memory_format="a"), lambda x: x.clone(memory_format=3), lambda x: x.div(x, rounding_mode=3),
    lambda x: x.squeeze(0.5), lambda x: x.flatten(1.0),
], ids=range(13))
def test_invalid_dimensions_dtypes_and_modes(call):
    with pytest.raises(TypeError):
        call(tensor([[1.0, 2.0], [3.0, 4.0]]))


def test_all_arguments_by_name():
    x = tensor([[1.0, 2.0], [3.0, 5.0]])
    total = numgrad.sum(input=x, dim=1, keepdim=True, dtype=numgrad.float64)
    assert (total.tolist(), total.dtype) == ([[3.0], [8.0]], numgrad.float64)
    assert numgrad.max(x, other=x.flip(0)).tolist() == [[3.0, 5.0], [3.0, 5.0]]
    assert numgrad.max(dim=1, input=x).indices.tolist() == [1, 1]


def test_a_dimension_may_be_a_0_d_tensor():
    x = tensor([[1.0, 2.0], [3.0, 5.0]])
    assert x.sum(tensor(0)).tolist() == [4.0, 7.0]
    assert x.sum(tensor(1)).tolist() == [3.0, 8.0]  # another number in a tensor alike
    size = tensor(4)
    assert (x.view(size).shape, x.view([size, 1]).shape) == ((4,), (4, 1))
    size.fill_(2)
    assert (x.view(size, 2).shape, x.view([size, 2]).shape) == ((2, 2), (2, 2))
    with pytest.raises(IndexError, match=r"range of \[-2, 1\], but got 2"):
        x.sum(tensor(2))


def test_functions_that_are_python_in_pytorch_check_their_arguments_themselves():
    x = tensor([1.0, 2.0])
    with pytest.raises(ValueError, match="None is not a valid value for reduction"):
        nn.functional.mse_loss(x, x, reduction=None)
    with pytest.raises(TypeError, match="argument 'ignore_index' must be int, not str"):
        nn.functional.nll_loss(tensor([[0.5, 0.5]]), tensor([0]), ignore_index="a")


def test_an_error_within_a_right_call_stays_as_it_is():
    def broken(first, second):
        return first.no_such_name

    x = tensor([[1.0, 2.0]])
    with pytest.raises(AttributeError, match="no_such_name"):
        nn.functional.triplet_margin_with_distance_loss(x, x, x, distance_function=broken)
    with pytest.raises(TypeError, match="missing a required argument: 'index'"):
        x.gather(0)


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "parameter"), [case for case in WRONG if case[0] != "contiguous"])  # a method there
def test_pytorch_refuses_it_too(name, parameter):
    import torch

    owner, _, plain = name.rpartition(".")
    function = operator.attrgetter(name if owner else plain)(torch)
    for wrong in WRONG[name, parameter]:
        given, keywords = arguments(name, parameter, wrong)
        given, keywords = map_to(torch, given), {key: map_to(torch, [value])[0] for key, value in keywords.items()}
        errors = [TypeError, AttributeError]  # as its Python code raises it
        errors += [RuntimeError] * (parameter == "out")
        errors += [AssertionError] * parameter.startswith("static_")  # given together with biases
        errors += [ValueError] * (name == "lobpcg")  # which checks sizes before types
        with pytest.raises(tuple(errors)):
            function(*given, **keywords)


def map_to(torch, values):
    """The values with PyTorch's tensors and dtypes."""
    return [
        torch.tensor(value.tolist()) if isinstance(value, Tensor)
        else getattr(torch, value.name) if isinstance(value, numgrad.dtype) else value for value in values
    ]


@pytest.mark.parametrize("function", [Tensor.diag_embed, Tensor.diagflat])
def test_a_float_in_the_place_of_an_int_leaves_nothing_behind(function):
    x = numgrad.arange(3.0, requires_grad=True)
    for _ in range(2):
        with pytest.raises(TypeError, match=r"argument 'offset' \(position [12]\) must be int, not float"):
            function(x, 0.0).sum().backward()
    function(x, 0).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0, 1.0]
