"""Functions at the top level that PyTorch has with the signatures of its C++ library, against PyTorch's."""

import inspect

import pytest
from ops.torch_comparison import assert_same, messages, randoms

import numgrad
from numgrad import native_functions

pytestmark = pytest.mark.torch

PARAMETERS = (3,), (3,)

#: Programs and the shapes of their arguments.
PROGRAMS = {
    "batch_norm": [
        (lambda m, x, w, b: m.batch_norm(x, w, b, None, None, True, 0.1, 1e-5, True), [(2, 3, 4), *PARAMETERS]),
        (lambda m, x: m.batch_norm(x, None, None, m.zeros(3).double(), m.ones(3).double(), False, 0.1, 1e-5, False),
         [(2, 3)]),
    ],
    "native_batch_norm": [
        (lambda m, x: m.native_batch_norm(x, None, None, None, None, True, 0.1, 1e-5), [(2, 3, 4)]),
        (lambda m, x, w, b: m.native_batch_norm(
            x, w, b, m.zeros(3).double(), m.ones(3).double(), False, 0.1, 1e-5)[0], [(2, 3, 4), *PARAMETERS]),
    ],
    "native_layer_norm": [
        (lambda m, x, w, b: m.native_layer_norm(x, [3], w, b, 1e-5), [(2, 3), *PARAMETERS]),
    ],
    "instance_norm": [
        (lambda m, x, w, b: m.instance_norm(x, w, b, None, None, True, 0.1, 1e-5, True), [(2, 3, 4), *PARAMETERS]),
    ],
    "convolution": [
        (lambda m, x, w: m.convolution(x, w, None, [1, 2], [1], [1, 1], False, [0, 0], 1),
         [(2, 2, 4, 5), (3, 2, 2, 2)]),
        (lambda m, x, w: m.convolution(x, w, None, [2], [1], [1], True, [1], 2), [(2, 2, 5), (2, 3, 3)]),
    ],
    "conv_tbc": [(lambda m, x, w, b: m.conv_tbc(x, w, b, 1), [(5, 2, 3), (3, 3, 4), (4,)])],
    "constant_pad_nd": [(lambda m, x: (m.constant_pad_nd(x, [1, 2], 2.5), m.constant_pad_nd(x, [-1, 0])), [(2, 3)])],
    "grid_sampler": [(lambda m, x, g: m.grid_sampler(x, g, 0, 1, False), [(1, 2, 3, 4), (1, 2, 2, 2)])],
    "grid_sampler_2d": [(lambda m, x, g: m.grid_sampler_2d(x, g, 2, 0, True), [(1, 2, 3, 4), (1, 2, 2, 2)])],
    "grid_sampler_3d": [(lambda m, x, g: m.grid_sampler_3d(x, g, 0, 2, True), [(1, 1, 2, 3, 4), (1, 2, 1, 2, 3)])],
    "affine_grid_generator": [
        (lambda m, theta: m.affine_grid_generator(theta, [2, 1, 3, 4], False), [(2, 2, 3)]),
    ],
    "binary_cross_entropy_with_logits": [
        (lambda m, x, y: [m.binary_cross_entropy_with_logits(x, y.detach().sigmoid(), None, m.ones(3), n)
                          for n in (0, 1, 2)], [(2, 3), (2, 3)]),
    ],
    "cosine_embedding_loss": [
        (lambda m, x, y: [m.cosine_embedding_loss(x, y, m.tensor([1.0, -1.0]), 0.1, n) for n in (0, 1, 2)],
         [(2, 3), (2, 3)]),
    ],
    "hinge_embedding_loss": [
        (lambda m, x, y: [m.hinge_embedding_loss(x, y.detach().sign(), 0.5, n) for n in (0, 1, 2)], [(2, 3), (2, 3)]),
    ],
    "kl_div": [
        (lambda m, x, y: [m.kl_div(x, y.softmax(1), n) for n in (0, 1, 2)], [(2, 3), (2, 3)]),
        (lambda m, x, y: m.kl_div(x, y, log_target=True), [(2, 3), (2, 3)]),
    ],
    "margin_ranking_loss": [
        (lambda m, x, y: [m.margin_ranking_loss(x, y, m.ones(2, 3), 0.5, n) for n in (0, 1, 2)], [(2, 3), (2, 3)]),
        (lambda m, x, y: m.margin_ranking_loss(x, y, m.ones(2, 3)), [(2, 3), (2, 3)]),
    ],
    "poisson_nll_loss": [
        (lambda m, x, y: [m.poisson_nll_loss(x, y.detach().exp(), True, True, 1e-8, n) for n in (0, 1, 2)],
         [(2, 3), (2, 3)]),
    ],
    **{
        name: [
            (lambda m, x, h, *w, name=name: getattr(m, name)(x, h, w, True, 1, 0.0, False, False, False),
             [(3, 2, 3), (1, 2, 2), (2 * n, 3), (2 * n, 2), (2 * n,), (2 * n,)]),
            (lambda m, x, h, *w, name=name: getattr(m, name)(x, m.tensor([2, 1, 1]), h, w, False, 1, 0.0, False, True),
             [(4, 3), (2, 2, 2), *[(2 * n, 3), (2 * n, 2)] * 2]),
        ]
        for name, n in (("gru", 3), ("rnn_tanh", 1), ("rnn_relu", 1))
    },
    "lstm": [
        (lambda m, x, h, c, *w: m.lstm(x, (h, c), w, True, 1, 0.0, True, False, True),
         [(2, 3, 3), (1, 2, 2), (1, 2, 2), (8, 3), (8, 2), (8,), (8,)]),
        (lambda m, x, h, c, *w: m.lstm(x, m.tensor([2, 1, 1]), [h, c], w, False, 1, 0.0, False, True),
         [(4, 3), (2, 2, 2), (2, 2, 3), *[(12, 3), (12, 2), (2, 3)] * 2]),
    ],
    **{
        name: [
            (lambda m, *given, name=name: getattr(m, name)(*given),
             [(2, 3), (2, 2), (2 * n, 3), (2 * n, 2), (2 * n,), (2 * n,)]),
            (lambda m, *given, name=name: getattr(m, name)(*given), [(2, 3), (2, 2), (2 * n, 3), (2 * n, 2)]),
        ]
        for name, n in (("gru_cell", 3), ("rnn_tanh_cell", 1), ("rnn_relu_cell", 1))
    },
    "lstm_cell": [
        (lambda m, x, h, c, *w: m.lstm_cell(x, (h, c), *w), [(2, 3), (2, 2), (2, 2), (8, 3), (8, 2), (8,), (8,)]),
    ],
    "triplet_margin_loss": [
        (lambda m, x, y, z: [m.triplet_margin_loss(x, y, z, 0.5, 2.0, 1e-6, True, n) for n in (0, 1, 2)],
         [(2, 3), (2, 3), (2, 3)]),
    ],
}  # fmt: skip


@pytest.mark.parametrize(("program", "shapes"), [pair for pairs in PROGRAMS.values() for pair in pairs])
def test_values_and_gradients(program, shapes):
    assert_same(program, *randoms(*shapes, low=-1.5, high=1.5), graph=False)


def test_each_is_tried_and_has_pytorchs_parameters():
    import torch

    assert {*PROGRAMS} == {*native_functions.__all__}
    for name in native_functions.__all__:
        assert getattr(numgrad, name) is getattr(native_functions, name)
        theirs = torch._C._jit_get_schemas_for_operator(f"aten::{name}")[0].arguments
        own = inspect.signature(getattr(numgrad, name)).parameters
        assert [*own] == [parameter.name.replace("self", "input") for parameter in theirs]
        for parameter, one in zip(own.values(), theirs, strict=True):
            assert (parameter.default is not parameter.empty) == one.has_default_value()
            if one.has_default_value():  # Python's default for reductions is another
                assert parameter.default == (0 if one.name == "reduction" else one.default_value)


@pytest.mark.parametrize("program", [
    lambda m: m.batch_norm(m.ones(2, 3), None, None, None, None, False, 0.1, 1e-5, True),
    lambda m: m.conv_tbc(m.ones(5, 2), m.ones(3, 3, 4), m.ones(4)),
    lambda m: m.conv_tbc(m.ones(5, 2, 3), m.ones(3), m.ones(4)),
    lambda m: m.conv_tbc(m.ones(5, 2, 3), m.ones(3, 2, 4), m.ones(4)),
    lambda m: m.conv_tbc(m.ones(5, 2, 3), m.ones(3, 3, 4), m.ones(3)),
    lambda m: m.conv_tbc(m.ones(5, 2, 3), m.ones(3, 3, 4), m.ones(3, 1)),
])  # fmt: skip
def test_refusals(program):
    expected, found = messages(program)
    assert type(found) is type(expected)
    assert str(found).startswith(str(expected))
