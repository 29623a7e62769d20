"""Copies of views, numerical gradients, positions, strided memory, arrays and windows against PyTorch."""

import numpy as np
import pytest
from ops.test_shapes_against_torch import expressions, program
from ops.torch_comparison import assert_same, messages, randoms

import numgrad

pytestmark = pytest.mark.torch

COPIES = expressions(
    "m.alias_copy(x); m.as_strided_copy(x, (2, 2), (1, 2), 1); m.detach_copy(x.detach()); "
    "m.diagonal_copy(x, 1, 1, 2); m.expand_copy(x[:, :1], (2, 3, 4)); m.narrow_copy(x, 1, 1, 2); "
    "x.narrow_copy(-1, 0, 3); m.permute_copy(x, (2, 0, 1)); m.select_copy(x, 1, -1); m.slice_copy(x, 1, 0, 2); "
    "m.slice_copy(x, -1, 1, None, 2); m.split_copy(x, 2, 2); m.split_with_sizes_copy(x, [1, 2], 1); "
    "m.squeeze_copy(x[:1]); m.squeeze_copy(x[:, :1], 1); m.t_copy(x[0]); m.transpose_copy(x, 0, 2); "
    "m.unbind_copy(x, 1); m.unfold_copy(x, 2, 2, 1); m.unsqueeze_copy(x, 1); m.view_copy(x.contiguous(), (6, 4)); "
    "m.view_as_complex_copy(x.detach().contiguous().unflatten(-1, (2, 2)))"
)
COMPOSED = expressions(
    "m.gradient(x); m.gradient(x, spacing=0.5); m.gradient(x, spacing=[2.0, 0.5, 3.0]); m.gradient(x, dim=(2, 0)); "
    "m.gradient(x, dim=2, edge_order=2); m.gradient(x, dim=()); "
    "m.gradient(x[0], spacing=(m.tensor([1.0, 2, 4]), m.tensor([0, 1, 3.0, 4]))); "
    "m.gradient(x, spacing=[m.tensor([0, 1, 3.0, 4])], dim=-1, edge_order=2); x.renorm(2, 0, 1); "
    "m.renorm(x, 1.5, -1, 2); m.vander(x[0, 0].detach()); m.vander(x[0, 0].detach(), 2); "
    "m.vander(x[0, 0].detach(), 0); m.vander(x[0, 0].detach(), increasing=True); m.frexp(x * 100)[0]; "
    "m.frexp(x)[1]; m.nextafter(x, -x)"
)
WHOLE = expressions(
    "m.gcd(i, i.flip(0)); m.lcm(i, i.flip(0)); i.clone().gcd_(m.tensor(6)); "
    "m.stack(m.unravel_index(i.abs(), (3, 2))); m.unravel_index(i.abs(), 7); m.nonzero_static(i, size=4); "
    "m.nonzero_static(i, size=9, fill_value=7); m.gradient(i); m.asarray(i); "
    "m.asarray(i, dtype=m.float32, copy=True); m.asarray([1, 2.5]); m.asarray(3); "
    "m.frombuffer(bytearray(range(8)), dtype=m.int16, count=2, offset=2); m.kaiser_window(5, False, 4.0); "
    "m.gather(i, 0, m.zeros(2, 0, dtype=m.uint8));"
)
REFUSED = [
    ("m.gradient(m.ones(2), spacing=[1.0, 2.0], dim=0)", RuntimeError), ("m.gradient(m.ones(1))", RuntimeError),
    ("m.gradient(m.ones(4), edge_order=3)", RuntimeError), ("m.gradient(m.ones(4), dim=1)", IndexError),
    ("m.renorm(m.ones(2), 2, 0, 1)", RuntimeError), ("m.renorm(m.ones(2, 2), 0, 0, 1)", RuntimeError),
    ("m.unravel_index(m.ones(1), (2, 2))", TypeError), ("m.unravel_index(m.tensor(1), (2, -2))", ValueError),
    ("m.nonzero_static(m.ones(1), size=-1)", RuntimeError), ("m.empty_strided((2, 3), (1,))", RuntimeError),
    ("m.empty_permuted((2, 3), (1, 1))", RuntimeError), ("m.asarray([1], copy=False)", ValueError),
    ("m.frombuffer(bytearray(3), dtype=m.int16)", ValueError), ("m.frexp(m.tensor([1]))", RuntimeError),
    ("m.frombuffer(bytearray(2), dtype=m.int16, count=2)", ValueError),
    ("m.gcd(m.ones(1), m.ones(1))", NotImplementedError), ("m.signal.windows.hann(-1)", ValueError),
    ("m.signal.windows.exponential(4, center=1)", ValueError),
]


def test_copies():
    for expression in COPIES:
        for layout in ("contiguous", "stepped"):
            assert_same(program(expression), *randoms((2, 3, 4), layout=layout), graph=False)


def test_compositions():
    for expression in COMPOSED:
        assert_same(program(expression), *randoms((3, 3, 4)), graph=False)


def test_whole_numbers():
    for expression in WHOLE:
        assert_same(lambda m, i, e=expression: eval(e, {"m": m, "i": i}), np.array([0, 12, -18, 5, -7]))


def test_strides_of_new_memory():
    import torch

    for expression in (
        "m.empty_strided((2, 3), (1, 4))", "m.empty_permuted((2, 3, 5), (2, 0, 1))", "m.empty_permuted((2, 0), (1, 0))",
        "m.ones(1, dtype=m.int32).new_empty_strided((2, 2), (0, 1))",
    ):
        made, wanted = [eval(expression, {"m": module}) for module in (numgrad, torch)]
        assert (made.shape, made.stride(), str(made.dtype)) == (wanted.shape, wanted.stride(), str(wanted.dtype))


def test_windows():
    import torch

    for name in numgrad.signal.windows.__all__:
        options = {"a": [0.5, 0.3, 0.2]} if name == "general_cosine" else {}
        for count in (0, 1, 2, 5, 8):
            for sym in (True, False):
                made, wanted = [
                    getattr(module.signal.windows, name)(count, sym=sym, dtype=module.float64, **options).numpy()
                    for module in (numgrad, torch)
                ]
                np.testing.assert_allclose(made, wanted, 1e-13, 1e-15)


@pytest.mark.parametrize(("expression", "error"), REFUSED)
def test_refusals(expression, error):
    assert [type(found) for found in messages(lambda m: eval(expression, {"m": m}))] == [error] * 2
