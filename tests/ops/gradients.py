"""Derivatives checked against finite differences."""

import numpy as np

import numgrad

__all__ = ["check_gradients"]

STEP = 1e-5


def check_gradients(function, *inputs, order=2, relative=1e-6, absolute=1e-8):
    """Assert that the derivatives of ``function``, up to ``order``, agree with central finite differences.

    ``inputs`` are what the function takes.  The float64 tensors among them that require a gradient (leaves, in any
    memory) are changed element by element and put back; everything else is passed on as it is.  The gradient is taken
    of the outputs' sum, weighted with fixed numbers; the second derivative is the gradient of the gradient, for the
    inputs and the weights.
    """
    wanted = [x for x in inputs if isinstance(x, numgrad.Tensor) and x.requires_grad]
    assert wanted, "no input requires a gradient"
    assert all(x.dtype is numgrad.float64 and x.is_leaf for x in wanted), "inputs must be float64 leaves"
    outputs = _floating(function(*inputs))
    weights = [numgrad.from_numpy(_weights(number, output.shape)) for number, output in enumerate(outputs)]
    gradients = _gradients(outputs, wanted, weights, order > 1)
    for number, (x, gradient) in enumerate(zip(wanted, gradients, strict=True)):
        where = f"gradient of input {number}"
        assert (gradient.shape, gradient.dtype) == (x.shape, x.dtype), where
        assert gradient.requires_grad <= (order > 1), f"{where} is recorded without create_graph"
        numeric = _differences(function, inputs, x, weights)
        np.testing.assert_allclose(gradient.detach().numpy(), numeric, relative, absolute, err_msg=where)
    if order > 1:

        def derivative(*given):
            with numgrad.enable_grad():
                return _gradients(_floating(function(*given[: len(inputs)])), wanted, given[len(inputs) :], True)

        weights = [weight.requires_grad_() for weight in weights]
        check_gradients(derivative, *inputs, *weights, order=order - 1, relative=relative, absolute=absolute)


def _floating(outputs):
    outputs = outputs if isinstance(outputs, tuple | list) else (outputs,)
    return [output for output in outputs if output.is_floating_point()]


def _weights(number, shape):
    return np.asarray(np.random.default_rng(number).uniform(0.5, 1.5, shape))


def _gradients(outputs, inputs, weights, create_graph):
    """The gradients, zeros for an input that the outputs do not depend on."""
    recorded = [(output, weight) for output, weight in zip(outputs, weights, strict=True) if output.requires_grad]
    if not recorded:
        return [numgrad.zeros_like(x) for x in inputs]
    outputs, weights = zip(*recorded, strict=True)
    return numgrad.autograd.grad(
        outputs, inputs, weights, create_graph=create_graph, allow_unused=True, materialize_grads=True
    )


def _differences(function, inputs, x, weights):
    """The gradient for ``x`` by central finite differences, one element at a time."""
    array = x.detach().numpy()
    result = np.zeros(array.shape)
    for place in np.ndindex(array.shape):
        value, ends = array[place], []
        for end in (value + STEP, value - STEP):
            array[place] = end
            with numgrad.no_grad():
                outputs = _floating(function(*inputs))
            ends.append([output.detach().numpy().copy() for output in outputs])
        array[place] = value
        for high, low, weight in zip(*ends, weights, strict=True):
            result[place] += ((high - low) / (2 * STEP) * weight.detach().numpy()).sum()
    return result
