"""Attention against PyTorch's: masks of every kind, added keys, random numbers, gradients and errors."""

import functools
import itertools

import numpy as np
import pytest
from ops.torch_comparison import assert_same, messages, randoms

pytestmark = pytest.mark.torch

#: Gradients of keys' biases are 0 but for rounding.
assert_alike = functools.partial(assert_same, graph=False, tolerance=1e-12)


# -- scaled_dot_product_attention ---------------------------------------------------------------------------------


def attended(m, *tensors, **options):
    """Run with new random numbers; the last one shows how many were drawn."""
    m.manual_seed(3)
    return m.nn.functional.scaled_dot_product_attention(*tensors, **options), m.rand(1).double()


LEADING = [(), (3,), (2, 3), (2, 1, 3)]
MASKS = [(), (6,), (5, 6), (1, 6), (5, 1), (1, 1), (3, 5, 6), (3, 1, 1), (2, 1, 5, 6), (2, 3, 5, 6), (1, 1, 1, 6)]


@pytest.mark.parametrize("leading", LEADING)
@pytest.mark.parametrize("width", [4, 2])
@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_masks(dropout, width, leading):
    shapes = (*leading, 5, 4), (*leading, 6, 4), (*leading, 6, width)
    for shape in MASKS:
        if leading == (2, 3) and len(shape) < 2:
            continue  # PyTorch's kernel refuses these, its operations do not
        numbers = np.asarray(np.random.default_rng(5).normal(size=shape))
        part = np.where(numbers < 0, -np.inf, numbers)
        for mask in (numbers > 0, numbers < -9, numbers.astype("float32"), part):

            def program(m, q, k, v, mask=mask):
                return attended(m, q, k, v, attn_mask=m.from_numpy(mask), dropout_p=dropout)

            assert_alike(program, *randoms(*shapes))
        assert_alike(lambda m, *t: attended(m, *t, dropout_p=dropout), *randoms(*shapes, shape))


@pytest.mark.parametrize("kind", ["bool", "float32"])
def test_a_mask_and_causal(kind):
    mask = (np.random.default_rng(5).normal(size=(5, 5)) > -1).astype(kind)
    assert_alike(
        lambda m, *t: attended(m, *t, attn_mask=m.from_numpy(mask), is_causal=True), *randoms(*[(2, 3, 5, 4)] * 3)
    )


@pytest.mark.parametrize("leading", LEADING)
@pytest.mark.parametrize("lengths", [(5, 5), (3, 5), (5, 3), (1, 4), (4, 1)])
def test_causal(lengths, leading):
    arrays = randoms(*[(*leading, length, 4) for length in lengths])
    for options in ({}, {"scale": 2.5}, {"dropout_p": 0.5}):
        assert_alike(lambda m, q, k, o=options: attended(m, q, k, k, is_causal=True, **o), *arrays)


@pytest.mark.parametrize("options", [{}, {"is_causal": True}, {"dropout_p": 0.4}, {"attn_mask": np.tri(5, 6) > 0}])
def test_fewer_heads_of_keys(options):
    for shapes in (
        ((2, 4, 5, 4), (2, 2, 6, 4), (2, 2, 6, 4)), ((2, 4, 5, 4), (2, 2, 6, 4), (2, 1, 6, 3)),
        ((4, 5, 4), (2, 6, 4), (2, 6, 4)), ((2, 2, 4, 5, 4), (2, 2, 1, 6, 4), (2, 2, 1, 6, 4)),
        ((2, 4, 5, 4), (2, 3, 6, 4), (2, 3, 6, 4)), ((5, 4), (6, 4), (6, 4)), ((2, 4, 5, 4), (6, 4), (6, 4)),
    ):

        def program(m, *tensors):
            given = {name: m.from_numpy(x) if name == "attn_mask" else x for name, x in options.items()}
            return attended(m, *tensors, enable_gqa=True, **given)

        assert_alike(program, *randoms(*shapes))


@pytest.mark.parametrize("shapes", [
    ((2, 3, 5, 4), (1, 3, 6, 4), (1, 3, 6, 4)), ((2, 3, 5, 4), (6, 4), (6, 4)), ((5, 4), (2, 3, 6, 4), (2, 3, 6, 4)),
    ((2, 3, 0, 4), (2, 3, 6, 4), (2, 3, 6, 4)), ((2, 3, 5, 4), (2, 3, 0, 4), (2, 3, 0, 4)), ((0, 4), (0, 4), (0, 4)),
    ((2, 3, 5, 0), (2, 3, 6, 0), (2, 3, 6, 4)), ((2, 3, 5, 4), (2, 3, 6, 4), (2, 3, 6, 0)),
    ((2, 3, 5, 4), (2, 2, 6, 4), (2, 2, 6, 4)), ((3, 5, 4), (3, 6, 5), (3, 6, 4)), ((3, 5, 4), (3, 6, 4), (3, 7, 4)),
])  # fmt: skip
def test_shapes_that_broadcast_or_are_empty_or_do_not_fit(shapes):
    for causal in (False, True):
        assert_alike(lambda m, *t, c=causal: attended(m, *t, is_causal=c), *randoms(*shapes))


@pytest.mark.parametrize("program", [
    lambda f, m, x: f(x[0], x, x), lambda f, m, x: f(x, x, x.float()), lambda f, m, x: f(x, x, x, x.long()),
    lambda f, m, x: f(x.float(), x.float(), x.float(), x), lambda f, m, x: f(x, x, x, x + 1j),
    lambda f, m, x: f(x + 1j, x + 1j, x + 1j, x), lambda f, m, x: f(x + 1j, x + 1j, x + 1j),
    lambda f, m, x: f(x, x, x, m.ones(5, 4, 4)), lambda f, m, x: f(x, x, x, m.ones(4, 3)),
    lambda f, m, x: f(x, x, x, dropout_p=1.5),
    lambda f, m, x: f(x, x, x, enable_gqa=True),
])  # fmt: skip
def test_refusals_of_attention(program):
    x = np.ones((4, 4))
    theirs, ours = messages(lambda m, x: program(m.nn.functional.scaled_dot_product_attention, m, x), x)
    assert type(ours) is type(theirs)
    assert str(ours)[:30] == str(theirs)[:30]


# -- MultiheadAttention -------------------------------------------------------------------------------------------


OPTIONS = [
    "", "bias=False", "add_bias_kv=True", "add_zero_attn=True", "add_bias_kv=True, add_zero_attn=True, dropout=0.3",
    "dropout=0.2", "kdim=3", "kdim=3, vdim=2, bias=False, add_bias_kv=True",
]

PAIR = (3, 5)
MASKING = {
    "nothing": {}, "padding": {"key_padding_mask": (2, 5)}, "mask": {"attn_mask": PAIR},
    "mask of heads": {"attn_mask": (4, *PAIR)}, "both": {"key_padding_mask": (2, 5), "attn_mask": PAIR},
    "both, of heads": {"key_padding_mask": (2, 5), "attn_mask": (4, *PAIR)},
}


def made(m, text, *, first=False):
    """The module with parameters that are not 0."""
    m.manual_seed(0)
    module = eval(f"m.nn.MultiheadAttention(4, 2, {text}{', ' if text else ''}batch_first={first})", {"m": m}).double()
    if module.in_proj_bias is not None:
        with m.no_grad():
            module.in_proj_bias.copy_(m.arange(12) / 7)
    return module


def results(m, module, *inputs, **options):
    """The outputs, the gradients for the parameters, and the next random number."""
    m.manual_seed(5)
    outputs = [x for x in module(*inputs, **options) if x is not None]
    found = m.autograd.grad([(x * x).sum() for x in outputs], [*module.parameters()], retain_graph=True)
    return [*outputs, *[x.reshape(-1).contiguous() for x in found], m.rand(1).double()]


@pytest.mark.parametrize("text", OPTIONS)
@pytest.mark.parametrize("masks", list(MASKING))
@pytest.mark.parametrize("how", [{"need_weights": False}, {}, {"average_attn_weights": False}], ids=str)
def test_values_and_gradients(how, masks, text):
    kinds = ["bool", "float64"] if MASKING[masks] else ["bool"]
    for kind, first in itertools.product(kinds, (False, True)):

        def program(m, q, k, v, kind=kind, first=first):
            random = np.random.default_rng(1)
            given = {name: random.normal(size=shape) for name, shape in MASKING[masks].items()}
            tensors = {name: m.from_numpy(x > 0.6 if kind == "bool" else x) for name, x in given.items()}
            inputs = [x.transpose(0, 1) for x in (q, k, v)] if first else (q, k, v)
            return results(m, made(m, text, first=first).train(not first), *inputs, **tensors, **how)

        keys, values = (3 if "kdim" in text else 4), (2 if "vdim" in text else 4)
        assert_alike(program, *randoms((3, 2, 4), (5, 2, keys), (5, 2, values)))


@pytest.mark.parametrize("how", [{"need_weights": False}, {}, {"average_attn_weights": False}], ids=str)
def test_of_one_tensor_with_and_without_a_batch(how):
    for shape, options in itertools.product(
        ((3, 2, 4), (3, 4), (3, 1, 4)), ("", "add_bias_kv=True, add_zero_attn=True", "bias=False")
    ):
        for masked in ({}, {"attn_mask": (3, 3)}, {"attn_mask": (3, 3), "is_causal": True}, {"attn_mask": "heads"}):

            def program(m, x, shape=shape, options=options, masked=masked):
                given = dict(masked)
                if "attn_mask" in given:
                    given["attn_mask"] = m.ones(3, 3, dtype=m.bool).triu(1)
                if masked.get("attn_mask") == "heads":
                    given["attn_mask"] = given["attn_mask"].expand(2 * (shape[1] if len(shape) == 3 else 1), 3, 3)
                return results(m, made(m, options), x, x, x, **given, **how)

            assert_alike(program, *randoms(shape))


@pytest.mark.parametrize("need_weights", [False, True])
def test_gradients_of_masks_and_queries_that_see_nothing(need_weights):
    def masked(m, x, mask, padding):
        return results(m, made(m, ""), x, x, x, attn_mask=mask, key_padding_mask=padding, need_weights=need_weights)

    def hidden(m, x, y):
        padding = m.tensor([[True, True, True], [False, True, False]])
        return results(m, made(m, ""), x, y, y, key_padding_mask=padding, need_weights=need_weights)

    assert_alike(masked, *randoms((3, 2, 4), (3, 3), (2, 3)))
    assert_alike(hidden, *randoms((3, 2, 4), (3, 2, 4)))


SIZES = {"query": (3, 2, 4), "key": (5, 2, 4), "value": (5, 2, 4)}


@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("changed", [
    {"query": (4,)}, {"query": (1, 3, 2, 4)}, {"query": (3, 4)}, {"key": (5, 4)}, {"value": (5, 4)},
    {"key_padding_mask": (5,)}, {"attn_mask": (5,)}, {"attn_mask": (1, 1, 3, 5)}, {"key_padding_mask": "int64"},
    {"attn_mask": "int64"}, {"is_causal": True}, {"query": (3, 2, 6)}, {"value": (5, 2, 3)}, {"value": (6, 2, 4)},
    {"key": (5, 2, 5), "value": (5, 2, 5)}, {"key": (5, 1, 4), "value": (5, 1, 4)}, {"attn_mask": (3, 3)},
    {"attn_mask": (2, 3, 5)}, {"key_padding_mask": (2, 4)}, {"key_padding_mask": (1, 5)},
    {"query": (3, 4), "key": (5, 4), "value": (5, 4), "attn_mask": (3, 3, 5)},
    {"query": (3, 4), "key": (5, 4), "value": (5, 4), "key_padding_mask": (1, 5)},
])  # fmt: skip
def test_refusals_of_the_module(changed, need_weights):
    def program(m):
        given = {
            name: x if isinstance(x, bool) else m.ones(PAIR if name == "attn_mask" else (2, 5), dtype=m.int64)
            if x == "int64" else m.ones(x, dtype=m.bool if "mask" in name else m.float32)
            for name, x in {**SIZES, **changed}.items()
        }
        m.nn.MultiheadAttention(4, 2)(**given, need_weights=need_weights)

    theirs, ours = messages(program)
    assert type(ours) is type(theirs)
    assert str(ours)[:10] == str(theirs)[:10]


@pytest.mark.parametrize("changed", [
    {}, {"embed_dim_to_check": 5}, {"num_heads": 3}, {"num_heads": 0}, {"bias_k": (1, 1, 4)}, {"bias_v": (1, 1, 4)},
    {"bias_k": (1, 1, 4), "bias_v": (1, 1, 4)}, {"bias_k": (1, 1, 3), "bias_v": (1, 1, 3)}, {"in_proj_weight": None},
    {"in_proj_bias": None, "out_proj_bias": None}, {"in_proj_weight": (9, 4)}, {"in_proj_weight": (12, 5)},
    {"in_proj_bias": (9,)}, {"out_proj_weight": (7, 4), "out_proj_bias": (7,)}, {"out_proj_weight": (4, 5)},
    {"static_k": (4, 7, 2), "static_v": (4, 7, 2)}, {"static_k": (4, 5, 2), "add_zero_attn": True},
    {"static_k": (3, 5, 2)}, {"static_k": (4, 5, 3)}, {"static_v": (3, 5, 2)}, {"static_v": (4, 5, 3)},
    {"static_v": (4, 6, 2)}, {"static_k": (4, 5, 2), "bias_k": (1, 1, 4), "bias_v": (1, 1, 4)},
    {"static_v": (4, 5, 2), "bias_k": (1, 1, 4), "bias_v": (1, 1, 4)}, {"dropout_p": 1.5}, {"dropout_p": 0.5},
    {"dropout_p": 1.5, "training": False}, *[
        {"use_separate_proj_weight": True, **{f"{name}_proj_weight": (4, 4) for name in "qkv"}, **x} for x in (
            {}, {"in_proj_weight": None}, {"in_proj_bias": None}, {"in_proj_bias": (9,)}, {"q_proj_weight": None},
            {"k_proj_weight": None}, {"v_proj_weight": None}, {"q_proj_weight": (5, 4)}, {"k_proj_weight": (4, 5)},
            {"v_proj_weight": (5, 4)}, {"value": (6, 2, 4)}, {"value": (5, 2, 3), "v_proj_weight": (4, 3)},
        )
    ],
], ids=str)  # fmt: skip
def test_the_function(changed):
    shapes = {
        **SIZES, "embed_dim_to_check": 4, "num_heads": 2, "in_proj_weight": (12, 4), "in_proj_bias": (12,),
        "bias_k": None, "bias_v": None, "add_zero_attn": False, "dropout_p": 0.0, "out_proj_weight": (4, 4),
        "out_proj_bias": (4,), **changed,
    }
    for need_weights in (False, True):

        def program(m, *tensors, need_weights=need_weights):
            m.manual_seed(2)
            left = iter(tensors)
            given = {name: next(left) if isinstance(x, tuple) else x for name, x in shapes.items()}
            outputs = m.nn.functional.multi_head_attention_forward(**given, need_weights=need_weights)
            return [x for x in outputs if x is not None]

        assert_alike(program, *randoms(*[x for x in shapes.values() if isinstance(x, tuple)]))
