"""Transformers against PyTorch's: weights, numbers, masks, random numbers, gradients, errors."""

import functools
import inspect
import warnings

import pytest
from ops.torch_comparison import assert_same, messages, randoms

import numgrad

pytestmark = [
    pytest.mark.torch,
    # PyTorch warns which inputs it has no nested tensors for, and that those are experimental
    pytest.mark.filterwarnings("ignore:enable_nested_tensor is True", "ignore:The PyTorch API of nested tensors"),
]

#: Gradients of keys' biases are 0 but for rounding.
assert_alike = functools.partial(assert_same, graph=False, tolerance=1e-11)

SIZES = "d_model=4, nhead=2, dim_feedforward=6"
OPTIONS = [
    "dropout=0.", "", "dropout=0., norm_first=True", "dropout=0., activation='gelu', bias=False",
    "activation=nn.functional.tanh, layer_norm_eps=0.1", "dropout=0., activation=nn.functional.silu, batch_first=True",
    "dropout=0.4, norm_first=True, batch_first=True",
]
NAMES = ["Transformer", "TransformerEncoder", "TransformerDecoder", "TransformerEncoderLayer",
         "TransformerDecoderLayer"]  # fmt: skip


def made(m, kind, options="", count=2):
    """An encoder, a decoder, or both, with its last random number."""
    m.manual_seed(0)
    words = {"nn": m.nn}
    if kind == "Transformer":
        return eval(f"nn.Transformer({SIZES}, num_encoder_layers={count}, num_decoder_layers=1, {options})", words)
    layer = eval(f"nn.{kind}Layer({SIZES}, {options})", words)
    return getattr(m.nn, kind)(layer, count, m.nn.LayerNorm(4))


def results(m, module, *inputs, **masks):
    """Return the output, the gradients for the parameters, and a random number, which shows how many were drawn."""
    m.manual_seed(7)
    out = module(*inputs, **masks)
    found = m.autograd.grad((out * out).sum(), [*module.parameters()], retain_graph=True)
    return [out, *[x.reshape(-1).contiguous() for x in found], m.rand(1).double()]


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("kind", NAMES[:3])
def test_weights_and_text(kind, options):
    import torch

    theirs, ours = [made(m, kind, options) for m in (torch, numgrad)]
    assert repr(ours) == repr(theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    assert ours.training is theirs.training is True
    if kind == "TransformerEncoder":
        assert ours.use_nested_tensor == theirs.use_nested_tensor
    assert_same(lambda m: [*made(m, kind, options).parameters()])


@pytest.mark.parametrize("name", NAMES)
def test_signatures(name):
    import torch

    for method in ("__init__", "forward"):
        ours, theirs = [inspect.signature(getattr(getattr(m.nn, name), method)) for m in (numgrad, torch)]
        assert list(ours.parameters) == list(theirs.parameters)
        assert [repr(p.default).split(" at ")[0] for p in ours.parameters.values()] == [
            repr(p.default).split(" at ")[0] for p in theirs.parameters.values()
        ]


@pytest.mark.parametrize("options", OPTIONS)
def test_numbers_and_gradients(options):
    first = "batch_first=True" in options

    def program(m, source, target):
        pair = [x.transpose(0, 1) for x in (source, target)] if first else (source, target)
        module = made(m, "Transformer", options).double()
        return *results(m, module, *pair), *results(m, module.eval(), *pair)

    assert_alike(program, *randoms((5, 3, 4), (2, 3, 4)))


def masks_of(m, lengths, batch, kind):
    """Masks of every argument, for ``batch`` sequences, or None."""
    m.manual_seed(3)
    rows = () if batch is None else (batch,)
    shapes = {}
    for name, (queries, keys) in {"src": (5, 5), "tgt": (3, 3), "memory": (3, 5)}.items():
        shapes[f"{name}_mask"] = (2 * (batch or 1), queries, keys) if lengths == "of heads" else (queries, keys)
        shapes[f"{name}_key_padding_mask"] = (*rows, keys)
    numbers = {name: m.randn(shape, dtype=m.float64) for name, shape in shapes.items()}
    for mask in numbers.values():
        mask[..., 0] = 0  # which is seen
    if kind == "bool":
        return {name: mask > 0.7 for name, mask in numbers.items()}
    return {name: mask.masked_fill(mask > 1, -m.inf) for name, mask in numbers.items()}


@pytest.mark.parametrize("kind", ["bool", "float"])
@pytest.mark.parametrize("lengths", ["of heads", "of all"])
@pytest.mark.parametrize("batch", [3, None])
def test_masks_of_every_kind(batch, lengths, kind):
    def program(m, source, target):
        masks, result = masks_of(m, lengths, batch, kind), []
        module = made(m, "Transformer", "dropout=0.").double()
        each = [{name: mask} for name, mask in masks.items()]
        for given in (*each, {name: x for name, x in masks.items() if "key" in name}, masks):
            result += results(m, module, source, target, **given)
        return result

    shapes = [(5, 3, 4), (3, 3, 4)] if batch else [(5, 4), (3, 4)]
    assert_alike(program, *randoms(*shapes))


@pytest.mark.parametrize("dtype", ["float64", "bool"])
def test_causal_masks_said_and_found(dtype):
    def program(m, source, target):
        square = m.nn.Transformer.generate_square_subsequent_mask
        long, short = square(5, dtype=getattr(m, dtype)), square(3, dtype=getattr(m, dtype))
        module = made(m, "Transformer", "dropout=0.").double()
        padding = m.zeros(3, 5, dtype=m.bool)
        found = []
        for given in (
            {"src_mask": long, "tgt_mask": short}, {"tgt_mask": short, "tgt_is_causal": True},
            {"src_mask": long, "src_is_causal": False}, {"src_mask": long, "src_is_causal": True},
            {"src_mask": long.logical_not().to(long.dtype), "src_is_causal": True},  # only the message counts
            {"src_mask": long, "src_key_padding_mask": padding.to(long.dtype)},
            {"memory_mask": m.ones(3, 5).triu(1).to(m.bool), "memory_is_causal": True},
        ):
            found += results(m, module, source, target, **given)
        return [long.double(), *found]

    assert_alike(program, *randoms((5, 3, 4), (3, 3, 4)))


@pytest.mark.parametrize("padding", [
    [[0, 0, 0], [0, 1, 1]], [[0, 0, 1], [0, 1, 1]], [[0, 1, 0], [0, 0, 1]], [[0, 0, 0], [0, 0, 0]],
])  # fmt: skip
@pytest.mark.parametrize("options", [
    "batch_first=True", "batch_first=True, norm_first=True", "batch_first=True, activation=nn.GELU()",
    "batch_first=True, activation='relu', bias=False", "batch_first=True, activation=nn.Tanh()", "",
])  # fmt: skip
def test_padding_in_evaluation(options, padding):
    """PyTorch skips it under conditions, and returns zeros then."""
    def program(m, x):
        x = x if "batch_first" in options else x.transpose(0, 1)
        mask, found = m.tensor(padding).bool(), []
        added = m.zeros(2, 3, dtype=m.float64).masked_fill(mask, -m.inf)
        for norm in (None, m.nn.LayerNorm(4).double()):
            module = made(m, "TransformerEncoder", options).double().eval()
            module.norm = norm
            with m.no_grad():
                found += [module(x, src_key_padding_mask=mask), module(x, src_key_padding_mask=added)]
            found += [module(x, src_key_padding_mask=mask), module.train()(x, src_key_padding_mask=mask)]
        return [x.contiguous() for x in found]

    assert_alike(program, *randoms((2, 3, 4)))


def test_modules_of_ones_own():
    def program(m, source, target):
        class Sum(m.nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = m.nn.Parameter(m.ones(4, 4))

            def forward(self, src, memory=None, **masks):
                return src @ self.weight if memory is None else src @ self.weight + memory.sum(0)

        m.manual_seed(1)
        return m.nn.Transformer(4, 2, custom_encoder=Sum(), custom_decoder=Sum()).double()(source, target)

    assert_same(program, *randoms((5, 3, 4), (2, 3, 4)), graph=False)


@pytest.mark.parametrize("program", [
    lambda m, t, x: t(x, m.ones(3, 2, 4)), lambda m, t, x: t(x, m.ones(3, 3, 5)), lambda m, t, x: t(m.ones(5, 3, 5), x),
    lambda m, t, x: t(x, x, src_is_causal=True), lambda m, t, x: t(x, x, tgt_is_causal=True),
    lambda m, t, x: t(x, x, src_mask=m.ones(5, 5).long()), lambda m, t, x: t(x, x, src_mask=m.ones(4, 4)),
    lambda m, t, x: t(x, x, src_mask=m.full((4, 4), -m.inf).triu(1)),
    lambda m, t, x: t(x, x, tgt_mask=m.full((4, 4), -m.inf).triu(1)),
    lambda m, t, x: t(x, x, src_key_padding_mask=m.ones(3, 4)),
    lambda m, t, x: t(x, x, src_key_padding_mask=m.ones(3, 5).long()),
    lambda m, t, x: t(x, x, memory_mask=m.ones(5, 4)), lambda m, t, x: m.nn.Transformer(5, 2),
    lambda m, t, x: m.nn.TransformerEncoderLayer(4, 2, activation="tanh"),
    lambda m, t, x: m.nn.TransformerDecoderLayer(4, 2, dropout=2.0),
])  # fmt: skip
def test_refusals(program):
    theirs, ours = messages(lambda m: program(m, made(m, "Transformer"), m.ones(5, 3, 4)))
    assert type(ours) is type(theirs)
    assert str(ours)[:10] == str(theirs)[:10]


def test_masks_of_two_dtypes_are_warned_of():
    import torch

    found = []
    for m in (torch, numgrad):
        module, x = made(m, "TransformerEncoder", "dropout=0."), m.ones(3, 2, 4)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            module(x, m.zeros(3, 3), m.zeros(2, 3).bool())
        found.append({str(one.message) for one in caught})
    assert found[0] == found[1] != set()


def test_dtypes():
    for kind in ("float32", "float64"):

        def program(m, kind=kind):
            m.manual_seed(0)
            module = m.nn.Transformer(4, 2, 1, 1, 6, dropout=0.0, dtype=getattr(m, kind))
            return module(m.ones(3, 2, 4, dtype=getattr(m, kind)), m.ones(2, 2, 4, dtype=getattr(m, kind)))

        assert_same(program, graph=False)
