"""Memory, pickles and checkpoints against PyTorch, and between the two."""

import io
import pickle
import warnings

import numpy as np
import pytest

import numgrad
from numgrad import serialization
from numgrad.interop.interchange import from_dlpack

pytestmark = pytest.mark.torch

DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float32", "float64", "complex64", "complex128"]

LAYOUTS = {
    "contiguous": lambda m, x: x,
    "transposed": lambda m, x: x.t(),
    "stepped": lambda m, x: x[:, ::2],
    "row": lambda m, x: x[1],
    "0-d": lambda m, x: x[1, 2],
    "expanded": lambda m, x: x[:1].expand(3, 4),
    "empty": lambda m, x: x[:0],
}


def made(module, dtype, layout):
    kind = getattr(module, dtype)
    return LAYOUTS[layout](module, module.arange(12).reshape(3, 4).to(kind))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_memory_goes_both_ways(dtype, layout):
    import torch

    for source, read in (torch, from_dlpack), (numgrad, torch.from_dlpack):
        x = made(source, dtype, layout)
        y = read(x)
        assert str(y.dtype) == str(x.dtype)
        assert tuple(y.shape) == tuple(x.shape)
        assert y.stride() == x.stride() or x.numel() == 0
        assert y.tolist() == x.tolist()
        if x.numel():
            assert y.data_ptr() == x.data_ptr()


def outcome(module, program):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = program(module)
        except Exception as error:  # compared with the other module's
            result = type(error).__name__, str(error)
    return result, len(caught)


def facts(x):
    return x.tolist(), tuple(x.shape), x.stride(), str(x.dtype), x.requires_grad, x.is_leaf, x.grad is None


PROGRAMS = {
    "gradient": lambda m: m.ones(2, requires_grad=True).__dlpack__(),
    "result": lambda m: (m.ones(2, requires_grad=True) * 2).__dlpack__(),
    "device": lambda m: tuple(m.ones(2).__dlpack_device__()),
    "default stream": lambda m: type(m.ones(2).__dlpack__(stream=-1)).__name__,
    "copy": lambda m: m.utils.dlpack.from_dlpack(m.utils.dlpack.to_dlpack(m.ones(2, requires_grad=True))).tolist(),
    "pickled leaf": lambda m: facts(pickle.loads(pickle.dumps(m.ones(2, requires_grad=True)))),
    "pickled result": lambda m: facts(pickle.loads(pickle.dumps(m.ones(2, requires_grad=True) * 2))),
    "pickled layout": lambda m: facts(pickle.loads(pickle.dumps(m.arange(6).reshape(2, 3).t()[1:]))),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name):
    import torch

    assert outcome(numgrad, PROGRAMS[name]) == outcome(torch, PROGRAMS[name])


def test_pickles_of_hooks_gradients_and_attributes():
    import torch

    def program(m):
        x = m.ones(2, requires_grad=True)
        x.sum().backward()
        x.register_hook(lambda gradient: gradient)
        x.note = [1]
        y = pickle.loads(pickle.dumps(x))
        return facts(y), y.note

    assert outcome(numgrad, program) == outcome(torch, program)


def test_states_come_back_as_from_pytorch():
    import torch

    def program(save, load, m):
        x = m.arange(6.0).reshape(2, 3)
        buffer = io.BytesIO()
        save({"x": x.t(), "row": x[1], "y": m.ones(2, requires_grad=True) * 2, 3: [1, (2.5, None)]}, buffer)
        buffer.seek(0)
        result = load(buffer)
        result["row"].fill_(9)
        return [facts(result[key]) for key in ("x", "row", "y")], result[3]

    assert program(serialization.save, serialization.load, numgrad) == program(torch.save, torch.load, torch)


NUMPY = {
    "scalar first": lambda m, x: np.float64(2) * x,
    "scalar last": lambda m, x: x * np.float64(2),
    "scalar and integers": lambda m, x: np.float32(2) * m.arange(3),
    "quotient": lambda m, x: np.float64(2) / x,
    "power": lambda m, x: np.float64(2) ** x,
    "comparison": lambda m, x: np.float64(2) < x,
    "array last": lambda m, x: np.exp(x),
    "shape": lambda m, x: m.tensor(np.shape(x)),
    "asarray": lambda m, x: m.from_numpy(np.asarray(x)),
    "list": lambda m, x: m.from_numpy(np.array([x, x])),
}


@pytest.mark.filterwarnings("ignore:__array_wrap__")
@pytest.mark.parametrize("name", NUMPY)
def test_numpy(name):
    import torch

    ours, theirs = [NUMPY[name](module, module.tensor([1.0, 2.0, 3.0])) for module in (numgrad, torch)]
    assert facts(ours)[1:] == facts(theirs)[1:]
    np.testing.assert_allclose(ours.tolist(), theirs.tolist(), 1e-6)
