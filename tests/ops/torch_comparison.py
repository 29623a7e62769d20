"""One program run with PyTorch and with numgrad, everything that can be seen of its results compared."""

import warnings

import numpy as np
import pytest

import numgrad

__all__ = ["assert_same", "messages", "randoms"]

RELATIVE = {"float32": 5e-6, "float64": 2e-14}

def randoms(*shapes, seed=0, dtype="float64", layout="contiguous", low=-2.0, high=2.0):
    """Random arrays in a layout: "contiguous", "transposed" (dimensions reversed in memory) or "stepped"."""
    random = np.random.default_rng(seed)
    arrays = []
    for shape in shapes:
        values = random.uniform(low, high, shape)
        if dtype.startswith("complex"):
            values = values + 1j * random.uniform(low, high, shape)
        values = np.asarray(values).astype(dtype)
        if layout == "transposed":
            values = np.ascontiguousarray(values.T).T
        elif layout == "stepped" and shape:
            wide = np.zeros((*shape[:-1], 2 * shape[-1]), dtype)
            wide[..., ::2] = values
            values = wide[..., ::2]
        arrays.append(values)
    return arrays


def messages(program, *inputs):
    """The errors that PyTorch and numgrad raise for a program that both refuse; ``inputs`` are arrays."""
    import torch

    result = []
    for module in (torch, numgrad):
        with pytest.raises(Exception) as error:  # noqa: PT011 - the caller compares the classes
            program(module, *[module.tensor(array) for array in inputs])
        result.append(error.value)
    return result


def assert_same(program, *inputs, requires_grad=True, graph=True, tolerance=None):
    """Run ``program(module, *tensors)`` with both modules and compare all that can be seen of the results.

    Those are values, dtypes, shapes and strides of the outputs and of the gradients (their strides only where the
    leaf is contiguous), and with ``graph`` the names of the nodes.  ``inputs`` are arrays, made into leaves that
    require a gradient if their dtype allows it.  Where PyTorch raises an error, numgrad must raise one of that kind.
    ``tolerance`` is that of numbers, where rounding adds up to more than that of their dtype.
    """
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected, expected_error = _run(torch, program, inputs, requires_grad, graph)
    found, error = _run(numgrad, program, inputs, requires_grad, graph)
    if expected_error is not None:
        assert isinstance(error, type(expected_error)), f"PyTorch raises {expected_error!r}, numgrad {error!r}"
        return
    if error is not None:
        raise error
    dtypes = {value.dtype.name for _, value in expected if isinstance(value, np.ndarray)}
    tolerance = tolerance or RELATIVE["float32" if dtypes & {"float32", "complex64"} else "float64"]
    assert [name for name, _ in found] == [name for name, _ in expected]
    for (name, value), (_, wanted) in zip(found, expected, strict=True):
        if not isinstance(wanted, np.ndarray):
            assert value == wanted, name
        elif wanted.dtype.kind in "fc":
            assert value.dtype == wanted.dtype, name
            np.testing.assert_allclose(value, wanted, tolerance, tolerance, err_msg=name)
        else:
            np.testing.assert_array_equal(value, wanted, name, strict=True)


def _run(module, program, inputs, requires_grad, graph):
    """Return the observable results, or the error."""
    tensors = [_leaf(module, x, requires_grad) for x in inputs]
    try:
        outputs = program(module, *tensors)
    except Exception as error:  # compared with the other module's
        return None, error
    outputs = list(outputs) if isinstance(outputs, tuple | list) else [outputs]
    facts = []
    for number, output in enumerate(outputs):
        facts += _of_tensor(f"output {number}", output.detach())
        facts.append((f"strides of output {number}", output.stride()))
        facts.append((f"requires_grad of output {number}", output.requires_grad))
        if graph:
            facts.append((f"graph of output {number}", _graph(output.grad_fn)))
    recorded = [output for output in outputs if output.requires_grad]
    if recorded:
        random = np.random.default_rng(7)
        weights = [module.from_numpy(_normal(random, tuple(x.shape), _name(x.dtype))) for x in recorded]
        module.autograd.backward(recorded, weights)
    for number, tensor in enumerate(tensors):
        gradient = tensor.grad if tensor.is_leaf else None
        if gradient is None:
            facts.append((f"gradient {number}", None))
        else:
            facts += _of_tensor(f"gradient {number}", gradient)
            if tensor.is_contiguous() and gradient.numel():
                steps = [None if n == 1 else step for n, step in zip(gradient.shape, gradient.stride(), strict=True)]
                facts.append((f"strides of gradient {number}", steps))
    return facts, None


def _normal(random, shape, dtype):
    values = random.normal(size=shape)
    return np.asarray(values + 1j * random.normal(size=shape) if dtype.startswith("complex") else values, dtype)


def _leaf(module, array, requires_grad):
    """A leaf with the array's elements, in memory of its layout."""
    kind = getattr(module, array.dtype.name)
    if array.size == 0:
        tensor = module.zeros(array.shape, dtype=kind)
    else:
        row = np.zeros(1 + sum((n - 1) * step for n, step in zip(array.shape, array.strides, strict=True))
                       // array.itemsize, array.dtype)
        copy = np.lib.stride_tricks.as_strided(row, array.shape, array.strides)
        copy[...] = array
        tensor = module.from_numpy(copy)
    differentiable = tensor.is_floating_point() or tensor.is_complex()
    return tensor.requires_grad_() if requires_grad and differentiable else tensor


def _of_tensor(name, tensor):
    return [
        (name, tensor.resolve_conj().numpy().copy()),
        (f"shape of {name}", tuple(tensor.shape)),
        (f"dtype of {name}", _name(tensor.dtype)),
    ]


def _name(dtype):
    return str(dtype).removeprefix("torch.")


def _graph(node):
    """The names of the nodes that lead to the leaves, as nested lists."""
    following = [_graph(successor) for successor, _ in node.next_functions if successor is not None] if node else []
    return [type(node).__name__, *following] if node else None
