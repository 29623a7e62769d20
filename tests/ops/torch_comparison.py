"""One program run with PyTorch and with numgrad, everything that can be seen of its results compared."""

import warnings

import numpy as np

import numgrad

__all__ = ["assert_same", "randoms"]

RELATIVE = {"float32": 5e-6, "float64": 1e-14}


def randoms(*shapes, seed=0, dtype="float64", layout="contiguous", low=-2.0, high=2.0):
    """Random arrays in a layout: "contiguous", "transposed" (dimensions reversed in memory), "stepped" or "expanded"."""
    random = np.random.default_rng(seed)
    arrays = []
    for shape in shapes:
        shape = (shape,) if isinstance(shape, int) else shape
        values = np.asarray(random.uniform(low, high, shape)).astype(dtype)
        if layout == "transposed":
            values = np.ascontiguousarray(values.T).T
        elif layout == "stepped" and shape:
            wide = np.zeros((*shape[:-1], 2 * shape[-1]), dtype)
            wide[..., ::2] = values
            values = wide[..., ::2]
        arrays.append(values)
    return arrays


def assert_same(program, *inputs, requires_grad=True, graph=True):
    """Run ``program(module, *tensors)`` with both modules and compare values, dtypes, shapes, strides and gradients.

    ``inputs`` are arrays, made into leaf tensors on their memory, or anything else, passed on as it is.  Where
    PyTorch raises an error, numgrad must raise one of the same kind.
    """
    import torch

    runs = []
    for module in (torch, numgrad):
        given = [module.from_numpy(x.copy(order="K") if 0 not in x.strides else x) if isinstance(x, np.ndarray) else x
                 for x in inputs]
        leaves = [x for x in given if isinstance(x, module.Tensor) and x.is_floating_point()]
        for leaf in leaves:
            leaf.requires_grad = requires_grad
        try:
            outputs = program(module, *given)
        except Exception as error:
            runs.append((error, None))
        else:
            runs.append((None, _described(module, outputs, leaves, graph)))
    (expected_error, expected), (error, found) = runs
    if expected_error is not None or error is not None:
        assert expected_error is not None, f"numgrad raised {type(error).__name__}: {error}"
        assert error is not None, f"PyTorch raised {type(expected_error).__name__}: {expected_error}"
        assert isinstance(error, type(expected_error)), f"{error!r} instead of {expected_error!r}"
        return
    assert len(found) == len(expected)
    for (name, value), (_, wanted) in zip(found, expected, strict=True):
        if isinstance(wanted, np.ndarray):
            tolerance = RELATIVE.get(wanted.dtype.name, 0)
            assert value.dtype == wanted.dtype, name
            np.testing.assert_allclose(value, wanted, tolerance, tolerance, err_msg=name)
        else:
            assert value == wanted, name


def _described(module, outputs, leaves, graph):
    """Facts about the outputs and gradients: pairs of a name and a value that does not depend on the module."""
    outputs = list(outputs) if isinstance(outputs, tuple | list) else [outputs]
    facts = []
    for number, output in enumerate(outputs):
        if not isinstance(output, module.Tensor):
            facts.append((f"output {number}", output))
            continue
        facts += _of_tensor(f"output {number}", output.detach())
        facts.append((f"requires_grad of output {number}", output.requires_grad))
        if graph:
            facts.append((f"graph of output {number}", _graph(output.grad_fn)))
    recorded = [x for x in outputs if isinstance(x, module.Tensor) and x.requires_grad]
    if recorded and leaves:
        random = np.random.default_rng(7)
        weights = [module.from_numpy(np.asarray(random.normal(size=tuple(x.shape)), str(x.dtype).split(".")[1]))
                   for x in recorded]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            module.autograd.backward(recorded, weights)
        for number, leaf in enumerate(leaves):
            if leaf.grad is None:
                facts.append((f"gradient {number}", None))
            else:
                facts += _of_tensor(f"gradient {number}", leaf.grad)
    return facts


def _of_tensor(name, tensor):
    return [
        (name, tensor.numpy()),
        (f"shape of {name}", tuple(tensor.shape)),
        (f"stride of {name}", tensor.stride()),
        (f"dtype of {name}", str(tensor.dtype)),
    ]


def _graph(node):
    """The names of the nodes, as a nested list."""
    return None if node is None else [type(node).__name__, *[_graph(next_node) for next_node, _ in node.next_functions]]
