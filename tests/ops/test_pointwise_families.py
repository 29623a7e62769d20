"""Forms, names and errors of the pointwise families; the samples test their values and derivatives."""

import math

import numpy as np
import pytest

import numgrad
from numgrad import tensor
from numgrad.ops.operators import ALIASES, FUNCTIONS_IN_PLACE
from numgrad.ops.pointwise import activation, smooth_activation

NAN, INF = math.nan, math.inf


def name_of(result):
    return type(result.grad_fn).__name__


@pytest.fixture
def x():
    return tensor([0.25, 0.5, 0.75], requires_grad=True)


def test_numbers_and_tensors_have_nodes_of_their_own(x):
    pairs = [
        (lambda y: x.clamp(y, y), lambda: x.clamp(0, 1), "ClampBackward"),
        (lambda y: numgrad.lerp(x, x, y), lambda: numgrad.lerp(x, x, 0.5), "LerpBackward"),
        (lambda y: numgrad.fmod(x, y), lambda: numgrad.fmod(x, 2), "FmodBackward"),
        (lambda y: numgrad.copysign(x, y), lambda: numgrad.copysign(x, -1), "CopysignBackward"),
        (lambda y: x.clamp_min(y), lambda: x.clamp_min(0), "ClampMinBackward"),
        (lambda y: x % y, lambda: x % 2, "RemainderBackward"),
    ]
    for of_tensor, of_number, name in pairs:
        names = {name_of(of_tensor(tensor([1.0, 2.0, 3.0]))), name_of(of_number())}
        assert names == {f"{name}0", f"{name}1"}


def test_in_place_forms_have_nodes_of_their_own(x):
    functions = smooth_activation.elu, smooth_activation.celu, activation.leaky_relu
    for function, name in zip(functions, ("Elu", "Celu", "LeakyRelu"), strict=True):
        y = x * 1
        assert function(y, inplace=True) is y
        assert (name_of(function(x)), name_of(y)) == (f"{name}Backward0", f"{name}Backward1")
        y.sum().backward()


@pytest.mark.parametrize(
    "call",
    [lambda x: x // 2, lambda x: 2 // x, lambda x: 1.7 % x, lambda x: numgrad.heaviside(x, x)],
)
def test_operations_without_a_derivative_fail_in_backward(call, x):
    result = call(x)
    assert (result.requires_grad, name_of(result)) == (True, "NotImplemented")
    with pytest.raises(RuntimeError, match=r"derivative for aten::\w+ is not implemented"):
        result.sum().backward()
    assert not call(x.detach()).requires_grad


def test_derivative_of_a_step_by_its_value_at_zero():
    x, values = numgrad.tensor([0.0, 1.0, -1.0]), numgrad.tensor([3.0, 4.0, 5.0])
    _, tangent = numgrad.func.jvp(lambda v: numgrad.heaviside(x, v), (values,), (numgrad.ones(3),))
    assert tangent.tolist() == [1, 0, 0]
    values.requires_grad_()
    numgrad.zeros(3).copy_(x).heaviside_(values).sum().backward()
    assert values.grad.tolist() == [1, 0, 0]


#: Arguments of in-place functions after the tensor.
FURTHER = {
    **dict.fromkeys(["clamp_", "clip_", "clamp_min_", "clamp_max_", "fill_", "xlogy_"], (1,)),
    **dict.fromkeys(["gcd_", "lcm_"], (tensor([4]),)),
    "addmv_": (tensor([[2.0]]), tensor([3.0])), "as_strided_": ((1,), (1,)),
    "index_put_": ((tensor([0]),), tensor(1.5)), "ldexp_": (tensor(2),),
}


def test_second_names():
    for alias, name in ALIASES.items():
        assert getattr(numgrad, alias) is getattr(numgrad, name)
        assert getattr(numgrad.Tensor, alias) is getattr(numgrad.Tensor, name)
    for name in FUNCTIONS_IN_PLACE:
        y = tensor([6]) if name in ("gcd_", "lcm_") else tensor([1.5])
        getattr(numgrad, name)(y, *FURTHER.get(name, ()))
        assert y._version == 1


def test_truth_values_in_place():
    y = tensor([0.0, 2.0, NAN])
    assert y.clone().ne_(2).tolist() == [1, 0, 1]
    assert y.clone().logical_not_().tolist() == [1, 0, 0]
    assert tensor([0, 3]).logical_or_(tensor([0.0, 0.0])).tolist() == [0, 1]
    assert tensor([5, 0]).bitwise_not_().tolist() == [-6, -1]


def test_bounds(x):
    assert tensor([-3, 0, 9]).clamp(max=1.5).tolist() == [-3, 0, 1.5]
    assert tensor([-3, 0, 9]).clamp(min=0).dtype is numgrad.int64
    assert tensor([0.0, 5.0]).clamp(2, 1).tolist() == [1, 1]
    assert math.isnan(tensor([0.0]).clamp(min=NAN).item())
    y = tensor([0.0, 1.0, 2.0, NAN], requires_grad=True)
    y.clamp(0, 1).sum().backward()
    assert y.grad.tolist() == [1, 1, 0, 0]
    low = tensor([1.0, INF], requires_grad=True)
    tensor([0.0, 0.0]).clamp(min=low).sum().backward()
    assert low.grad.tolist() == [1, 1]
    truths = tensor([True, False])
    assert truths.clamp(max=truths.logical_not()).tolist() == [False, False]
    for clamped in (truths.clamp_min, truths.clamp, lambda bound: truths.clone().clamp_(max=bound)):
        with pytest.raises(NotImplementedError, match=r"scalar_cpu.*Bool"):
            clamped(True)
    assert tensor([1.0, 5.0]).clamp(max=np.float32(2)).tolist() == [1, 2]
    with pytest.raises(TypeError, match="must be numbers or Tensors, not NoneType"):
        numgrad.clamp_min(x, None)
    with pytest.raises(RuntimeError, match="At least one of 'min' or 'max'"):
        x.clamp()
    with pytest.raises(TypeError, match="both be numbers or both be Tensors"):
        x.clamp(0, x)


def test_closeness():
    y = tensor([1.0, NAN, INF])
    assert numgrad.isclose(y, y).tolist() == [True, False, True]
    assert numgrad.allclose(y, y, equal_nan=True)
    assert not numgrad.equal(y, y)
    assert numgrad.equal(y[:1], tensor([1]))
    assert not numgrad.equal(y[:1], y[:0])
    assert numgrad.allclose(tensor([10, 20]), tensor([11, 20]), atol=1)
    assert not numgrad.isclose(tensor([2**53]), tensor([2**53 + 1]), rtol=0, atol=0)
    with pytest.raises(RuntimeError, match="Float did not match Long"):
        numgrad.isclose(y, tensor([1, 2, 3]))


@pytest.mark.parametrize("function", [smooth_activation.elu, smooth_activation.selu, smooth_activation.celu])
def test_a_second_derivative_is_spoilt_by_no_exponential_that_is_not_chosen(function):
    x = tensor([1000.0, INF, 0.5], requires_grad=True)
    (slope,) = numgrad.autograd.grad(function(x).sum(), x, create_graph=True)
    (curvature,) = numgrad.autograd.grad(slope.sum(), x)
    assert curvature.tolist() == [0, 0, 0]


def test_integers_refuse_numbers_that_they_cannot_hold():
    x = tensor([1, 2], dtype=numgrad.uint8)
    calls = [
        lambda: x.clamp(max=300), lambda: x.clamp_min(-300), lambda: x.clamp_(0, 300), lambda: x.pow(300),
        lambda: numgrad.add(x, x, alpha=300), lambda: activation.threshold(x, 300, 0),
        lambda: numgrad.where(x > 1, x, 300),
    ]  # fmt: skip
    for call in calls:
        with pytest.raises(RuntimeError, match=r"value -?300 cannot be converted to type uint8 without overflow"):
            call()
    assert x.tolist() == [1, 2]
    assert x.clamp(min=-1).tolist() == [255, 255]  # as in PyTorch: a negative number wraps around
    assert numgrad.where(x > 1, x, 7).tolist() == [7, 2]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: numgrad.atan2(x, 1.0), TypeError, "atan2.*'other' must be Tensor, not float"),
        (lambda x: numgrad.logical_and(x, 1), TypeError, "logical_and.*'other' must be Tensor, not int"),
        (lambda x: numgrad.lerp(x, x.double(), 0.5), RuntimeError, "torch.float32 for `end` .* torch.float64"),
        (lambda x: numgrad.div(x, 2, rounding_mode="up"), RuntimeError, "'trunc', or 'floor' but found 'up'"),
        (lambda x: numgrad.addcdiv(x, x.long(), x.long()), RuntimeError, "Integer division with addcdiv"),
        (lambda x: numgrad.heaviside(x, x.double()), RuntimeError, "different dtypes"),
        (lambda x: smooth_activation.gelu(x, approximate="sin"), RuntimeError, "none or tanh, not 'sin'"),
        (lambda x: activation.hardtanh(x, 2, 1), ValueError, "min_val cannot be greater than max_val"),
        (lambda x: smooth_activation.glu(x), RuntimeError, "dimension 0 is size 3"),
        (lambda x: activation.prelu(x, tensor([1.0, 2.0])), RuntimeError, "numbers = 2 and channel size = 1"),
        (lambda x: activation.rrelu(x, 2, 1, training=True), RuntimeError, "Lower bound should be less than or equal"),
        (lambda x: activation.rrelu(x.long(), training=True), NotImplementedError, "not implemented for 'Long'"),
        (lambda x: smooth_activation.elu(3), TypeError, "'input'.* must be Tensor, not int"),
        (lambda x: smooth_activation.celu(x, 0), RuntimeError, "alpha cannot be 0"),
        (lambda x: x.float_power_(2), RuntimeError, "dtype Float .* requires dtype Double"),
    ],
)
def test_mistakes(call, error, message, x):
    with pytest.raises(error, match=message):
        call(x.detach())


@pytest.mark.parametrize(("dtype", "overflowing"), [(numgrad.float32, -9.5), (numgrad.float64, -27.25)])
def test_a_scaled_error_function_overflows_to_infinity(dtype, overflowing):
    x = tensor([overflowing, overflowing - 1, -math.inf], dtype=dtype, requires_grad=True)
    y = numgrad.special.erfcx(x)
    y.sum().backward()
    assert (y.tolist(), x.grad.tolist()) == ([math.inf] * 3, [-math.inf] * 3)
    z = (-math.sqrt(2) * x.detach()).requires_grad_()
    numgrad.special.log_ndtr(z).sum().backward()
    assert z.grad.tolist() == [0, 0, 0]
