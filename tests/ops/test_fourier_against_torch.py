"""Discrete Fourier transforms against PyTorch: values, strides, gradients, nodes, errors."""

import itertools

import numpy as np
import pytest
from ops.torch_comparison import assert_same, messages, randoms

pytestmark = pytest.mark.torch

NORMS = (None, "backward", "ortho", "forward")


@pytest.mark.parametrize("shape", [(6,), (5, 4), (2, 1, 3), (3, 4, 5)], ids=str)
@pytest.mark.parametrize(("name", "kinds"), [
    ("rfft", ("float64", "float32")), ("fft", ("complex128", "complex64", "float64")),
    ("ifft", ("complex128", "complex64", "float64")), ("irfft", ("complex128", "complex64", "float64")),
])
def test_transforms_and_their_gradients(name, kinds, shape):
    def transform(**options):
        return lambda m, x: getattr(m.fft, name)(x, **options)

    for layout, dim in itertools.product(("contiguous", "transposed", "stepped"), range(-1, len(shape) - 1)):
        if name != "irfft" or shape[dim] > 1:
            assert_same(transform(dim=dim), *randoms(shape, layout=layout, dtype=kinds[0]))
    for kind, norm in itertools.product(kinds, NORMS):
        assert_same(transform(norm=norm), *randoms(shape, dtype=kind))
    for n in (1, 2, 3, 7, 8):
        assert_same(transform(n=n, dim=0), *randoms(shape, dtype=kinds[0]))


@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn", "hfftn", "ihfftn", "fft2", "irfft2", "ihfft2"])
def test_several_dimensions(name):
    real = name.startswith(("rfft", "ihfft"))
    for layout, options in itertools.product(("contiguous", "transposed", "stepped"), (
        {}, {"dim": (0, 1)}, {"dim": (1, 0), "norm": "ortho"}, {"s": (4, 3)}, {"s": (2, -1), "dim": (2, 0)},
    )):
        assert_same(lambda m, x, options=options: getattr(m.fft, name)(x, **options),
                    *randoms((3, 4, 5), layout=layout, dtype="float64" if real else "complex128"),
                    graph=not name.startswith("ihfft"))


@pytest.mark.parametrize(("name", "kind", "n"), [
    ("rfft", "float64", None), ("rfft", "float64", 3), ("irfft", "complex128", 5), ("irfft", "complex128", 8),
    ("fft", "complex128", 3), ("fft", "float64", None), ("ifft", "complex128", 5), ("ifft", "float64", None),
])
def test_second_derivatives(name, kind, n):
    def gradient(m, x):
        z = getattr(m.fft, name)(x, n, norm="ortho")
        return m.autograd.grad((z * z * z.abs()).abs().sum(), x, create_graph=True)

    assert_same(gradient, *randoms((2, 4), dtype=kind), graph=False)


@pytest.mark.parametrize("dtype", ["int64", "uint8", "bool"])
def test_integers_are_taken_as_the_default_dtype(dtype):
    for name in ("fft", "ifft", "rfft", "irfft"):
        assert_same(lambda m, x, name=name: getattr(m.fft, name)(x, 4), np.array([[3, 1, 0], [2, 2, 1]]).astype(dtype))


def test_batches():
    for expression in (
        lambda m, x: m.func.vmap(m.fft.rfft)(x), lambda m, x: m.func.vmap(lambda y: m.fft.rfft(y, 6, 0), 1)(x),
        lambda m, x: m.func.vmap(lambda y: m.fft.irfft(m.fft.rfft(y), 3))(x),
    ):
        assert_same(expression, *randoms((3, 4, 5)), graph=False)


def test_into_a_tensor():
    for shape in ((0,), (2, 3)):
        assert_same(lambda m, x, shape=shape: m.fft.rfft(x, out=m.empty(shape, dtype=m.complex128)),
                    *randoms((2, 4)), requires_grad=False)


@pytest.mark.parametrize("call", [
    lambda m: m.fft.rfft(m.ones(3, dtype=m.complex64)), lambda m: m.fft.rfft(m.tensor(1.0)),
    lambda m: m.fft.rfft(m.ones(3), 0), lambda m: m.fft.rfft(m.ones(3), -1), lambda m: m.fft.rfft(m.ones(2, 3), dim=2),
    lambda m: m.fft.rfft(m.ones(3), norm="a"), lambda m: m.fft.rfft(m.ones(3, 0)), lambda m: m.fft.rfft(2.0),
    lambda m: m.fft.rfft(m.ones(3), 2.5), lambda m: m.fft.rfft(m.ones(3), norm=2), lambda m: m.fft.irfft(m.ones(1)),
    lambda m: m.fft.irfft(m.ones(2, 3), 0), lambda m: m.fft.irfft(m.ones(3), norm="b"),
    lambda m: m.fft.irfft(m.tensor(1.0)), lambda m: m.fft.irfft(m.ones(3), dim=-2),
    lambda m: m.fft.fftn(m.ones(3, 4), (2,), (0, 1)), lambda m: m.fft.fftn(m.ones(3), dim=(0, 0)),
    lambda m: m.fft.fftn(m.ones(3), (2, 3)), lambda m: m.fft.rfftn(m.ones(3), dim=()), lambda m: m.fft.fft2(m.ones(3)),
    lambda m: m.fft.ifft2(m.tensor(1.0)), lambda m: m.fft.ihfft(m.ones(3, dtype=m.complex64)),
    lambda m: m.fft.fft(m.ones(3), 0), lambda m: m.fft.ifft(m.ones(3), norm="c"),
])
def test_refusals(call):
    (theirs, own) = messages(call)
    assert type(own) is type(theirs)
    assert str(own).startswith(str(theirs).partition("\n")[0])
