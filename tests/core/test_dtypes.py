"""The smaller integers and the complex numbers: made, converted, printed, computed with; the limits of dtypes."""

import itertools
import math

import numpy as np
import pytest

import numgrad
from numgrad import can_cast, complex64, complex128, promote_types, result_type, tensor

BOOL = numgrad.bool
INTEGERS = [numgrad.uint8, numgrad.int8, numgrad.int16, numgrad.int32, numgrad.int64]
FLOATS = [numgrad.float32, numgrad.float64]
COMPLEX = [complex64, complex128]
DTYPES = [BOOL, *INTEGERS, *FLOATS, *COMPLEX]


@pytest.fixture
def float64_by_default():
    numgrad.set_default_dtype(numgrad.float64)
    yield
    numgrad.set_default_dtype(numgrad.float32)


def name(dtype):
    return str(dtype).removeprefix("torch.")


# -- making and converting ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_goes_to_numpy_and_back(dtype):
    x = tensor([[0, 1], [2, 3]], dtype=dtype)
    assert x.dtype is dtype
    assert x.numpy().dtype == np.dtype(name(dtype))
    again = numgrad.from_numpy(x.numpy())
    assert again.dtype is dtype
    assert again.tolist() == x.tolist()
    assert x[1].tolist() == x.tolist()[1]
    assert numgrad.zeros(2, dtype=dtype).tolist() == [0, 0]
    assert x.element_size() == np.dtype(name(dtype)).itemsize


METHODS = {
    "bool": BOOL, "byte": numgrad.uint8, "char": numgrad.int8, "short": numgrad.int16, "int": numgrad.int32,
    "long": numgrad.int64, "float": numgrad.float32, "double": numgrad.float64, "cfloat": complex64,
    "cdouble": complex128,
}


@pytest.mark.parametrize(("method", "dtype"), METHODS.items())
def test_conversions_to_every_dtype(method, dtype):
    for source in {BOOL, numgrad.uint8, numgrad.int64, numgrad.float64, complex64, dtype}:
        x = tensor([0, 1, 1], dtype=source)
        if source.is_complex and dtype.category in (1, 2):
            with pytest.warns(UserWarning, match="discards the imaginary part"):
                converted = getattr(x, method)()
        else:
            converted = getattr(x, method)()
        assert converted.dtype is dtype
        assert converted.tolist() == [0, 1, 1]
        assert (converted is x) == (source is dtype)


def test_numbers_that_do_not_fit_wrap_around_when_converted():
    assert tensor([300.0, -1.5, 127.9]).char().tolist() == [44, -1, 127]
    assert tensor([-1.5, 256.0]).byte().tolist() == [255, 0]
    assert tensor([70000, -70000]).short().tolist() == [4464, -4464]


def test_data_that_does_not_fit_is_refused():
    for value, dtype in ((300, numgrad.int8), (-300, numgrad.uint8), (300.5, numgrad.int8), (2**40, numgrad.int32)):
        with pytest.raises(RuntimeError, match="without overflow"):
            tensor([value], dtype=dtype)
        with pytest.raises(RuntimeError, match="without overflow"):
            numgrad.full((2,), value, dtype=dtype)
    assert tensor([-1], dtype=numgrad.uint8).tolist() == [255]  # as in C
    assert numgrad.full((1,), -1, dtype=numgrad.uint8).tolist() == [255]
    with pytest.raises(TypeError, match="must be real number, not complex"):
        tensor([1j], dtype=numgrad.float32)
    with pytest.raises(RuntimeError, match="float32 without overflow"):
        numgrad.full((2,), 1j, dtype=numgrad.float32)


@pytest.mark.parametrize("wanted", ["float8_e5m2", np.longdouble])
def test_dtypes_that_there_are_not_are_named(wanted):
    with pytest.raises(TypeError, match=r"numgrad has no dtype .*it has bool, uint8, .*complex128"):
        numgrad.zeros(2, dtype=wanted)


def test_to_takes_its_arguments_in_pytorchs_orders():
    x = tensor([1.5])
    assert x.to(numgrad.int8).dtype is numgrad.int8
    assert x.to("cpu", numgrad.int16, True).dtype is numgrad.int16
    assert x.to(tensor([1])).dtype is numgrad.int64
    assert x.to(x) is x
    assert x.to(numgrad.float32, False, True) is not x
    assert x.to(dtype=numgrad.float32, copy=True) is not x
    assert x.to("cpu", non_blocking=True) is x
    assert x.type("torch.IntTensor").dtype is numgrad.int32
    assert x.type(numgrad.ByteTensor).dtype is numgrad.uint8
    assert x.type() == "torch.FloatTensor"
    assert x.clone(memory_format=numgrad.preserve_format).tolist() == [1.5]
    with pytest.raises(RuntimeError, match="required rank 4 tensor to use channels_last format"):
        x.contiguous(memory_format=numgrad.channels_last)
    with pytest.raises(TypeError, match=r"'memory_format' must be .*, not str"):
        x.contiguous(memory_format="channels_last")


# -- promotion ----------------------------------------------------------------------------------------------------


def test_promotion_is_numpys_within_a_category_and_the_higher_category_decides():
    for first, second in itertools.product(DTYPES, DTYPES):
        found = promote_types(first, second)
        assert found is promote_types(second, first)
        if first.category == second.category or {first.category, second.category} == {2, 3}:
            assert name(found) == np.promote_types(name(first), name(second)).name
        else:
            assert found is max(first, second, key=lambda kind: kind.category)
        assert can_cast(first, second) == (first.category <= second.category)


def test_tensors_without_dimensions_and_numbers_count_by_category():
    small = tensor([1], dtype=numgrad.int8)
    assert result_type(small, tensor(1)) is numgrad.int8
    assert result_type(small, 300) is numgrad.int8
    assert result_type(small, 1.5) is numgrad.float32
    assert result_type(small, tensor(1.5, dtype=numgrad.float64)) is numgrad.float64
    assert result_type(small, 1j) is complex64
    assert result_type(tensor([1.0], dtype=numgrad.float64), 1j) is complex128
    assert result_type(tensor([1.0]), tensor(1j, dtype=complex128)) is complex64
    assert result_type(tensor(1.0), tensor([1j], dtype=complex128)) is complex128
    assert result_type(1, 2.5) is numgrad.float32


def test_the_default_dtype_decides_what_numbers_become(float64_by_default):
    assert numgrad.get_default_dtype() is numgrad.float64
    assert tensor([1.5]).dtype is numgrad.zeros(2).dtype is numgrad.float64
    assert (tensor([1]) / 2).dtype is numgrad.float64
    assert (tensor([1]) + 0.5).dtype is numgrad.float64
    assert tensor([1j]).dtype is complex128
    assert repr(tensor([1.5])) == "tensor([1.5000], dtype=torch.float64)".replace(", dtype=torch.float64", "")
    assert "float32" in repr(tensor([1.5], dtype=numgrad.float32))


def test_kernels_forget_the_former_default():
    whole = tensor([1, 2])
    assert (whole / 2).dtype is (whole * 0.5).dtype is numgrad.float32
    numgrad.set_default_dtype(numgrad.float64)
    try:
        assert (whole / 2).dtype is (whole * 0.5).dtype is whole.exp().dtype is numgrad.float64
    finally:
        numgrad.set_default_dtype(numgrad.float32)
    assert (whole / 2).dtype is (whole * 0.5).dtype is whole.exp().dtype is numgrad.float32
    for wrong in (numgrad.int64, "float64", complex64):
        with pytest.raises(TypeError, match="only floating-point types are supported"):
            numgrad.set_default_dtype(wrong)


def test_limits():
    single, byte = numgrad.finfo(numgrad.float32), numgrad.iinfo(numgrad.uint8)
    assert (single.eps, single.bits, single.dtype) == (2.0**-23, 32, "float32")
    assert single.max == float(np.finfo(np.float32).max) == -single.min
    assert single.tiny == single.smallest_normal == 2.0**-126
    assert numgrad.finfo(complex128).eps == numgrad.finfo(numgrad.float64).eps == 2.0**-52
    assert numgrad.finfo().dtype == "float32"
    assert (byte.min, byte.max, byte.bits, byte.dtype) == (0, 255, 8, "uint8")
    assert repr(numgrad.iinfo(numgrad.int8)) == "iinfo(min=-128, max=127, dtype=int8)"
    assert single == numgrad.finfo(numgrad.complex64) != numgrad.finfo(numgrad.float64)
    assert len({byte, numgrad.iinfo(numgrad.uint8), single}) == 2
    assert repr(single).startswith("finfo(resolution=1e-06, min=-3.40282e+38, max=3.40282e+38, eps=1.19209e-07")
    for info, wrong in ((numgrad.finfo, numgrad.int32), (numgrad.iinfo, numgrad.float32), (numgrad.iinfo, BOOL)):
        with pytest.raises(TypeError, match="info"):
            info(wrong)


# -- arithmetic of small integers ---------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [numgrad.uint8, numgrad.int8, numgrad.int32])
def test_arithmetic_wraps_around(dtype):
    bounds = numgrad.iinfo(dtype)
    x = tensor([bounds.max, bounds.min, 3], dtype=dtype)
    array = x.numpy()
    with np.errstate(over="ignore"):
        assert (x + x).tolist() == (array + array).tolist()
        assert (x * 3).tolist() == (array * array.dtype.type(3)).tolist()
        assert (-x).tolist() == np.negative(array).tolist()
        assert abs(x).tolist() == np.abs(array).tolist()
    assert (x // 2).tolist() == (array // 2).tolist()
    assert (x % 2).tolist() == (array % 2).tolist()
    assert (~x).tolist() == np.invert(array).tolist()
    assert (x & 3).tolist() == (array & 3).tolist()
    assert (x >> 1).tolist() == (array >> 1).tolist()
    assert (x == 3).tolist() == [False, False, True]
    assert (x / 2).dtype is numgrad.float32
    assert x.clone().add_(1).dtype is dtype
    for out in (x + x, x * 3, -x, x // 2, x % 2, ~x, x & 3, x << 1):
        assert out.dtype is dtype


# -- complex numbers ----------------------------------------------------------------------------------------------

Z = np.array([1 + 2j, -3 + 0.5j, 2j, -1.5])


@pytest.mark.parametrize("dtype", COMPLEX)
def test_complex_arithmetic(dtype):
    z, array = tensor(Z, dtype=dtype), Z.astype(name(dtype))
    other = array[::-1] + 1
    w = tensor(other)
    close = {"rtol": 1e-6} if dtype is complex64 else {"rtol": 1e-14}
    for found, expected in [
        (z + w, array + other), (z - w, array - other), (z * w, array * other), (z / w, array / other),
        (-z, -array), (z + 1, array + 1), (2j * z, 2j * array), (1 - z, 1 - array), (1 / z, 1 / array),
        (z**2, array**2), (z**2.5, array**2.5), (z.reciprocal(), 1 / array), (z.conj(), array.conj()),
        (z.exp(), np.exp(array)), (z.sqrt(), np.sqrt(array)), (z.log(), np.log(array)),
    ]:
        assert found.dtype is dtype
        np.testing.assert_allclose(found.numpy(), expected.astype(array.dtype), atol=1e-6, **close)
    for found, expected in [(abs(z), np.abs(array)), (z.angle(), np.angle(array)), (z.real, array.real),
                            (z.imag, array.imag)]:
        assert found.dtype is (numgrad.float32 if dtype is complex64 else numgrad.float64)
        np.testing.assert_allclose(found.numpy(), expected, **close)
    assert (z == w).tolist() == (array == other).tolist()
    assert (z != z).tolist() == [False] * 4


def test_real_tensors_are_their_own_real_part_and_conjugate():
    x = tensor([1.0, -2.0])
    assert x.real is x
    assert x.conj() is x
    assert numgrad.real(x) is x
    np.testing.assert_allclose(tensor([1.0, -2.0, float("nan")]).angle().numpy(), [0, np.pi, np.nan], 1e-7)
    with pytest.raises(RuntimeError, match=r"imag is not implemented.*float32 \[2\]"):
        _ = x.imag
    assert numgrad.isreal(tensor([1j, 2])).tolist() == [False, True]
    assert numgrad.isreal(tensor([float("nan")])).tolist() == [True]


def test_parts_share_memory_with_the_whole():
    z = tensor([[1 + 2j, 3], [4j, 5]])
    z.T.real[0, 1] = 7
    z.imag[0, 0] = -1
    assert z.tolist() == [[1 - 1j, 3], [7 + 4j, 5]]
    pairs = numgrad.view_as_real(z)
    assert pairs.shape == (2, 2, 2)
    pairs[1, 1, 1] = 9
    assert z[1, 1].item() == 5 + 9j
    assert z._version == 3
    again = numgrad.view_as_complex(pairs)
    again[0, 0] = 0
    assert z[0, 0].item() == 0
    assert z.real.stride() == (4, 2)
    for wrong in (numgrad.ones(2, 3), numgrad.ones(2, 4)[:, ::2], numgrad.ones(7)[1:5].view(2, 2), tensor(1.0)):
        with pytest.raises(RuntimeError, match=r"dimension|divisible"):
            numgrad.view_as_complex(wrong)
    with pytest.raises(RuntimeError, match="storage_offset divisible by 2"):
        numgrad.view_as_complex(numgrad.ones(5)[1:].view(2, 2))
    with pytest.raises(RuntimeError, match="only supported for complex tensors"):
        numgrad.view_as_real(numgrad.ones(2))


def test_complex_of_two_parts():
    z = numgrad.complex(tensor([1.0, 2.0]), tensor([[3.0], [4.0]]))
    assert z.tolist() == [[1 + 3j, 2 + 3j], [1 + 4j, 2 + 4j]]
    with pytest.raises(RuntimeError, match="Expected object of scalar type Float but got scalar type Double"):
        numgrad.complex(tensor([1.0]), tensor([1.0]).double())
    with pytest.raises(RuntimeError, match="Expected both inputs"):
        numgrad.complex(tensor([1]), tensor([1]))


def test_polar():
    z = numgrad.polar(tensor([1.0, 2.0]), tensor([0.0, np.pi / 2]))
    np.testing.assert_allclose(z.numpy(), [1, 2j], atol=1e-6)
    with pytest.raises(RuntimeError, match="Expected"):
        numgrad.polar(tensor([1.0]), tensor([0.0]).double())


def test_python_and_complex_numbers():
    assert tensor(2 - 1j).item() == 2 - 1j
    assert complex(tensor(2 - 1j)) == 2 - 1j
    assert float(tensor(2 + 0j)) == 2.0
    assert bool(tensor(1j))
    assert (numgrad.ones(2) * 1j).dtype is complex64
    assert repr(tensor([1 + 2j, -1.5])) == "tensor([ 1.0000+2.j, -1.5000+0.j])"
    assert repr(tensor(1j, dtype=complex128)) == "tensor(0.+1.j, dtype=torch.complex128)"
    with pytest.raises(RuntimeError, match="without overflow"):
        float(tensor(1j))


def test_operations_without_a_complex_form_are_refused():
    z = tensor([1j, 2])
    for operation in (lambda: z < 1, lambda: z // 2, lambda: z % 2, lambda: z.relu(), lambda: z.sign(),
                      lambda: numgrad.maximum(z, z), lambda: numgrad.arange(3, dtype=complex64)):
        with pytest.raises(NotImplementedError, match="ComplexFloat"):
            operation()


# -- against PyTorch -----------------------------------------------------------------------------------------------

EXPRESSIONS = """x + y; x - y; x * y; x / y; x == y; x != y; -x; abs(x); x.sign(); x.conj(); x.angle(); x.real; x**2
x < y; x & y; ~x; x << 1; x >> 1; x // 2; x % 2; x.sum(); x.mean(); x.max(); x.exp(); x.sqrt(); x.bool(); x + 1; x + 1.5
x + 1j; x * True; 2 - x; 1 / x; m.maximum(x, y); m.where(x == y, x, y); m.cat([x, y]); x @ y; m.stack([x, y])
m.result_type(x, y); m.can_cast(x.dtype, y.dtype); x.clone().copy_(y); x.clone().add_(y); x.to(y.dtype)
m.zeros_like(x); m.full_like(x, 3); x.new_ones(2); x.is_signed(); x.is_complex(); x.type(); repr(x)"""


@pytest.mark.torch
@pytest.mark.parametrize("second", ["bool", "uint8", "int16", "int64", "float32", "complex64"])
@pytest.mark.parametrize("first", ["bool", "uint8", "int8", "int32", "int64", "float64", "complex64", "complex128"])
@pytest.mark.filterwarnings("ignore")
def test_like_pytorch(first, second):
    import torch

    for expression in EXPRESSIONS.replace("\n", ";").split(";"):
        outcomes = []
        for m in (numgrad, torch):
            x = m.tensor([0, 1, 2, 3], dtype=getattr(m, first))
            y = m.tensor([3, 1, 1, 2], dtype=getattr(m, second))
            try:
                outcomes.append(eval(expression, {"m": m, "x": x, "y": y}))
            except Exception as error:  # compared with the other module's
                outcomes.append(type(error))
        found, expected = outcomes
        what = f"{expression} of {first} and {second}: {found} instead of {expected}"
        if isinstance(expected, type):
            assert isinstance(found, type), what
            assert issubclass(found, expected), what
        elif not isinstance(expected, torch.Tensor):
            assert str(found) == str(expected), what
        else:
            assert str(found.dtype) == str(expected.dtype), what
            np.testing.assert_allclose(found.numpy(), expected.resolve_conj().numpy(), 1e-6, 1e-6, err_msg=what)


def test_predicates_of_dtypes_as_functions():
    assert numgrad.is_complex(numgrad.tensor([1j]))
    assert numgrad.is_floating_point(numgrad.ones(2))
    assert not numgrad.is_signed(numgrad.ones(2, dtype=numgrad.uint8))
    with pytest.raises(TypeError, match=r"is_complex\(\): argument 'input' \(position 1\) must be Tensor, not int"):
        numgrad.is_complex(3)


def test_type_as():
    x = numgrad.tensor([1.5, -2.5])
    assert x.type_as(x) is x
    assert x.type_as(numgrad.tensor(1)).tolist() == [1, -2]
    with pytest.raises(TypeError, match=r"argument 'other' \(position 1\) must be Tensor, not torch.dtype"):
        x.type_as(numgrad.int64)


@pytest.mark.parametrize("half", [numgrad.float16, numgrad.bfloat16])
def test_float16_and_bfloat16(half):
    assert half.is_floating_point
    assert half.itemsize == 2
    x = tensor([1.5, math.pi, math.inf, -1e-50, 3e4], dtype=half)
    limits = numgrad.finfo(half)
    assert x.float().tolist() == pytest.approx([1.5, math.pi, math.inf, 0, 3e4], rel=limits.eps)
    assert (x == x.to(numgrad.float64).to(half)).all()
    assert x.to(numgrad.int64)[:2].tolist() == [1, 3]
    assert math.isnan(tensor(math.nan, dtype=half).item())
    assert bool(x[0])
    assert not tensor(0.0, dtype=half)
    assert numgrad.full((2,), 1 + limits.eps, dtype=half)[0] > 1
    assert (1 + tensor([limits.eps / 2, limits.eps * 3 / 2], dtype=half)).tolist() == [1, 1 + 2 * limits.eps]  # to even
    with pytest.raises(RuntimeError, match="without overflow"):
        numgrad.full((2,), 1e39, dtype=half)
    assert numgrad.zeros(2, dtype=half).random_().max() <= 2 / limits.eps
    assert {*(numgrad.rand(100, dtype=half) / limits.eps * 2).float().frac().tolist()} == {0}
    large = numgrad.ones(1 << 18, dtype=half)  # in parallel, and in memory of its own
    assert large.sum(dtype=numgrad.float32) == large.numel()
    assert not numgrad.zeros(1 << 18, dtype=half).any()
    assert numgrad.nn.Linear(2, 2).to(half)(numgrad.ones(2, dtype=half)).dtype is half
    numgrad.set_default_dtype(half)
    try:
        assert tensor(0.5).dtype is half
    finally:
        numgrad.set_default_dtype(numgrad.float32)


def test_promotion_of_float16_and_bfloat16():
    half, brain = numgrad.float16, numgrad.bfloat16
    assert numgrad.promote_types(half, brain) is numgrad.float32
    assert numgrad.promote_types(numgrad.int64, half) is half
    assert numgrad.promote_types(numgrad.complex64, brain) is numgrad.complex64
    x = numgrad.ones(2, dtype=brain)
    assert (x + 1.5).dtype is (x * tensor(2.0)).dtype is (x + x.long()).dtype is brain
    assert (x + numgrad.ones(2)).dtype is numgrad.float32
    with pytest.raises(RuntimeError, match="same dtype"):
        x[None] @ numgrad.ones(2, 2)
    with pytest.raises(RuntimeError, match="Low precision dtypes not supported"):
        numgrad.linalg.inv(numgrad.eye(2, dtype=brain))
