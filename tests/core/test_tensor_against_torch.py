"""Expressions, evaluated with numgrad and with PyTorch: the same elements, dtypes, shapes, strides, texts, errors."""

import itertools
import random
import warnings

import pytest

import numgrad

pytestmark = pytest.mark.torch

DTYPES = ["torch.float32", "torch.float64", "torch.int64", "torch.bool"]


def described(value):
    """Return everything about a value that both libraries must have in common: all but addresses."""
    if isinstance(value, tuple | list):
        return [described(item) for item in value]
    if not hasattr(value, "grad_fn"):
        return repr(value)
    # Strides of dimensions of size 1 have no effect.
    strides = [step for step, extent in zip(value.stride(), value.shape, strict=True) if extent > 1]
    layout = tuple(value.shape), strides, value.storage_offset(), value.is_contiguous()
    return repr(value), str(value.dtype), *layout, value.requires_grad, value.is_leaf


def evaluated(module, source):
    """The description of an expression's value (statements before it are set apart by ``;``), or its exception."""
    *statements, expression = source.split("; ")
    names = {"torch": module}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec("\n".join(statements), names)
            return described(eval(expression, names))
        except Exception as error:
            return error


def check(source):
    import torch

    expected, actual = evaluated(torch, source), evaluated(numgrad, source)
    if isinstance(expected, Exception):
        # code that catches PyTorch's exception catches ours
        assert isinstance(actual, type(expected)), f"{expected!r} expected, not {actual!r}"
    else:
        assert actual == expected


def expressions(*parts):
    """All combinations of the texts, each part a list of them."""
    return ["".join(combination) for combination in itertools.product(*parts)]


# --- making tensors ---------------------------------------------------------------------

DATA = [
    "2.5", "3", "True", "[]", "[[], []]", "[1, 2]", "[1, 2.5]", "[True, 2]", "[True, False]", "[[1, 2], [3, 4.5]]",
    "(1, 2)", "range(3)", "[[[1], [2]], [[3], [4]]]", "0.1", "1e300", "-0.0", "float('nan')", "2**63 - 1",
    "[torch.tensor(1.5), 2]", "[torch.tensor(1), 2.5]", "[torch.tensor([1]), torch.tensor([[3]])]",
]  # fmt: skip
BAD_DATA = [
    "[[1, 2], [3]]", "[[1], [2, 3]]", "[[[1], [2]], [[3], [4, 5]]]", "'a'", "['a']", "None", "[None]", "[1, None]",
    "{}", "object()", "2**63", "[10**30]", "[torch.ones(2)]",
]  # fmt: skip


@pytest.mark.parametrize(
    "source",
    [
        *expressions(["torch.tensor("], DATA, [")"]),
        *expressions(["torch.tensor("], DATA[:9], [", dtype="], DTYPES, [")"]),
        *expressions(["torch.tensor("], BAD_DATA, [")"]),
        *expressions(["torch.as_tensor("], DATA[:8], [")"]),
        *expressions(["torch.tensor([1.5, float('nan'), -2.5], dtype="], DTYPES, [")"]),
        *expressions(["torch.tensor([1, 2], dtype="], DTYPES, [", requires_grad=True)"]),
    ],
)
def test_data(source):
    check(source)


SIZES = ["0", "3", "2, 3", "(2, 3)", "[2, 0]", "()", "2, 0, 3", "size=(2,)", "torch.Size([2])", "torch.tensor(2)"]
BAD_SIZES = ["-1", "[2, -3]", "2.0", "'a'", "2, None", "True", "", "2, size=(2,)"]
RANGES = [
    "5", "5.0", "1, 5", "1, 6, 2", "5, 1, -2", "0, 1, 0.25", "0, 1, 0.1", "0.5", "0", "True", "end=3", "start=1, end=3",
    "torch.tensor(3)", "1e10, 1e10 + 3", "2.5, dtype=torch.int64", "3, dtype=torch.float64", "3, requires_grad=True",
    "3.0, requires_grad=True", "5, 1", "1, 5, -1", "1, 5, 0", "float('nan')", "0, float('inf')", "'a'",
    "3, dtype=torch.bool",
]  # fmt: skip


@pytest.mark.parametrize(
    "source",
    [
        *expressions(["torch.zeros(", "torch.ones("], SIZES + BAD_SIZES, [")"]),
        *expressions(["torch.zeros(2, dtype=", "torch.ones(2, dtype=", "torch.eye(2, 3, dtype="], DTYPES, [")"]),
        *expressions(["torch.full(("], ["", "2,", "2, 3"], ["), "], ["3", "2.5", "True", "torch.tensor(4)"], [")"]),
        *expressions(["torch.full((2,), "], ["'a'", "None", "1e300", "10**30", "3.75, dtype=torch.int64"], [")"]),
        *expressions(["torch.arange("], RANGES, [")"]),
        *expressions(["torch.eye("], ["3", "2, 3", "0", "-1", "2.5", "2, requires_grad=True"], [")"]),
        *expressions(
            ["torch.zeros_like(", "torch.ones_like("],
            ["torch.zeros(3, 2).t()", "torch.zeros(2, 4)[:, ::2]", "torch.zeros(3).expand(2, 3)", "torch.tensor([1])"],
            [")", ", dtype=torch.float64)", ", requires_grad=True)"],
        ),
        *expressions(["torch.manual_seed(3); torch."], ["rand(", "randn("], ["3)", "2, 3)", "2, dtype=torch.float64)"]),
        *expressions(["torch.rand(2, dtype=", "torch.randn(2, dtype="], ["torch.int64", "torch.bool"], [")"]),
    ],
)
def test_making(source):
    check(source)


# --- indexing ---------------------------------------------------------------------------

INDICES = [
    "0", "-1", "1:", ":-1", "::2", "5:", "1:1", "-9:9", "...", "None", "()", "0, 1", "1, 2, 3", ":, 1", "..., 1",
    "0, ...", ":, 0:3:2, 1::3", "None, 0", ":, None", "None, ..., None", "0, None, 1:, None, 2", "torch.tensor(1)",
    "torch.tensor(-1), 1", ":torch.tensor(1)",
]  # fmt: skip
BAD_INDICES = ["2", "-3", "0, 3", "0, 0, 4", "0, 0, 0, 0", ":, :, :, :", "::0", "::-1", "1.0:2", "torch.tensor(5)"]
BASES = [
    "x = torch.arange(24.0).reshape(2, 3, 4)",
    "x = torch.arange(24.0).reshape(4, 3, 2).permute(2, 1, 0)",
    "x = torch.arange(24.0, requires_grad=True).reshape(2, 3, 4)",
]


@pytest.mark.parametrize("source", expressions(BASES, ["; x["], INDICES + BAD_INDICES, ["]"]))
def test_reading(source):
    check(source)


VALUES = ["7", "True", "torch.tensor(7)", "torch.tensor([7.0])", "x[0, 0, 0]"]


@pytest.mark.parametrize(
    "source",
    [
        *expressions(BASES[:2], ["; x["], INDICES + BAD_INDICES, ["] = "], VALUES[:3], ["; (x, x._version)"]),
        *expressions(BASES[:2], ["; x["], INDICES[:6], ["] = "], VALUES[3:], ["; x"]),
        *expressions(BASES[2:], ["; y = x * 1; y["], INDICES[:8], ["] = 7; y"]),
        *expressions(
            ["x = torch.zeros(2, 3); x[0] = "],
            ["torch.ones(2)", "torch.ones(2, 3)", "'a'", "None", "1e300", "torch.ones(1, 3)", "torch.arange(3)"],
            ["; x"],
        ),
        *expressions(
            ["x = torch.arange(8.0).reshape(2, 4); x["],
            ["0] = x[1]", ":, 0] = x[:, 1]", ":, :2] = x[:, 2:]", ":, ::2] = x[:, 1::2]", ":] = x", "0] = x[0]",
             ":] = x[1]", ":] = x[:, 2:3]"],
            ["; x"],
        ),
        "x = torch.arange(4.0); x[1:] = x[:-1]; x",
        "x = torch.arange(4.0).reshape(2, 2); x[:] = x.t(); x",
        "x = torch.zeros(3).expand(2, 3); x[:] = torch.ones(3); x",
        "x = torch.zeros(3, dtype=torch.int64); x[0] = 2.75; x[1] = float('nan'); x",
        "x = torch.zeros(2, requires_grad=True); x[0] = 1; x",
    ],
)
def test_writing(source):
    check(source)


# --- views ------------------------------------------------------------------------------


def random_views(seed):
    """A chain of methods that arrange elements, some of which fail."""
    rng = random.Random(seed)
    shape = rng.choice(["24", "2, 12", "4, 6", "2, 3, 4", "2, 1, 3, 4"])
    dim = lambda: rng.randint(-3, 2)  # noqa: E731
    steps = [
        lambda: f"transpose({dim()}, {dim()})",
        lambda: f"unsqueeze({dim()})",
        lambda: f"squeeze({dim()})",
        lambda: "squeeze()",
        lambda: "t()",
        lambda: f"permute({', '.join(map(str, rng.sample(range(n := rng.randint(1, 3)), n)))})",
        lambda: f"select({dim()}, {rng.randint(-2, 2)})",
        lambda: f"narrow({dim()}, {rng.randint(0, 1)}, {rng.randint(0, 2)})",
        lambda: f"view({rng.choice(['-1', '4, -1', '2, 2, -1', '6, 4', '3, 2, 2, 2'])})",
        lambda: f"reshape({rng.choice(['-1', '3, -1', '2, -1, 3', '12, 2'])})",
        lambda: f"expand({rng.choice(['2, -1', '2, -1, -1', '3, 2, 4', '2, 3, 4'])})",
        lambda: f"unbind({dim()})[0]",
        lambda: "contiguous()",
        lambda: "clone()",
    ]
    chain = [rng.choice(steps)() for _ in range(rng.randint(1, 4))]
    return f"torch.arange(24.0).reshape({shape})." + ".".join(chain)


@pytest.mark.parametrize("source", [random_views(seed) for seed in range(150)])
def test_views(source):
    check(source)


def random_layout(rng, shape):
    """A tensor of a shape, or one that broadcasts to it, whose elements lie in another order or with gaps."""
    order = rng.sample(range(len(shape)), len(shape))
    sizes = [1 if rng.random() < 0.2 else size for size in shape]
    stored = ", ".join(str(sizes[d]) for d in order)
    text = f"torch.arange({numgrad.Size(sizes).numel()}.0).reshape({stored})"
    text += f".permute({', '.join(str(order.index(d)) for d in range(len(shape)))})"
    if sizes[-1] > 1 and rng.random() < 0.3:
        wide = ", ".join(str(2 * size if d == len(shape) - 1 else size) for d, size in enumerate(sizes))
        text = f"torch.arange({2 * numgrad.Size(sizes).numel()}.0).reshape({wide})[..., ::2]"
    return text


def random_sum(seed):
    rng = random.Random(seed)
    shape = rng.choice([(2, 3), (3, 1), (2, 3, 4), (2, 2, 3)])
    return f"{random_layout(rng, shape)} + {random_layout(rng, shape)}"


@pytest.mark.parametrize("source", [random_sum(seed) for seed in range(80)])
def test_strides_of_results(source):
    check(source)


# --- promotion --------------------------------------------------------------------------

OPERANDS = [
    *expressions(["torch.tensor([1, 2], dtype="], DTYPES, [")"]),
    *expressions(["torch.tensor(2, dtype="], DTYPES, [")"]),
    "True",
    "2",
    "2.5",
]


@pytest.mark.parametrize(
    "source",
    [
        *expressions(OPERANDS[:8], [" + ", " * ", " / ", " == "], OPERANDS),
        *expressions(OPERANDS[8:], [" + ", " / ", " < "], OPERANDS[:8]),
        *expressions(["torch.where(torch.tensor([True, False]), "], OPERANDS, [", "], OPERANDS, [")"]),
        *expressions(["torch.cat(["], OPERANDS[:4], [", "], OPERANDS[:4], ["])"]),
        *expressions(["x = "], OPERANDS[:8], ["; x += "], OPERANDS, ["; x"]),
        *expressions(["torch.promote_types("], DTYPES, [", "], DTYPES, [")"]),
    ],
)
def test_promotion(source):
    check(source)


# --- text -------------------------------------------------------------------------------


def random_values(seed):
    """A tensor of numbers of some magnitudes, whole or not, with infinities and NaN among them."""
    rng = random.Random(seed)
    scale = 10.0 ** rng.randint(-6, 9)
    whole = rng.random() < 0.3
    values = []
    for _ in range(rng.choice([1, 2, 6, 12])):
        value = rng.choice([rng.uniform(-1, 1) * scale, rng.uniform(-1, 1), 0.0, -0.0])
        value = rng.choice([float("inf"), float("nan")]) if rng.random() < 0.05 else value
        values.append(f"float('{round(value) if whole and abs(value) < 1e30 else value}')")
    shape = {12: rng.choice(["12", "3, 4", "2, 2, 3"]), 6: "2, 3"}.get(len(values), "-1")
    dtype = rng.choice(DTYPES[:2])
    return f"torch.tensor([{', '.join(values)}], dtype={dtype}).reshape({shape})"


@pytest.mark.parametrize("source", [random_values(seed) for seed in range(80)])
def test_texts(source):
    check(source)


# --- bad input --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "source",
    [
        *expressions(
            ["x = torch.tensor([1.0, 2.0]); "],
            expressions(["x "], ["+", "-", "*", "/", "//", "%", "**", "@", "<", ">="], [" 'a'", " None", " [1.0]"]),
        ),
        *expressions(["x = torch.ones(2, 3); x.", "x = torch.ones(2, 3, requires_grad=True); (x * 2)."], [
            "view(4)", "view(-1, -1)", "view(4, -1)", "view('a')", "reshape(7)", "reshape(None)", "expand(3, 3)",
            "expand(3)", "expand('a')", "squeeze(5)", "unsqueeze(5)", "unsqueeze('a')", "transpose(0, 5)",
            "permute(0, 0)", "permute(0)", "sum(5)", "sum((0, 0))", "max(5)", "softmax(5)", "softmax()",
            "size(2)", "stride(2)", "select(0, 2)", "select(2, 0)", "narrow(0, 1, 2)", "matmul(x)", "mm(x)", "mm(3)",
            "matmul(3)", "t().view(6)", "backward()", "backward(torch.ones(5))", "backward(1.0)", "backward([1.0])",
            "item()", "add(1, beta=2)", "add(1, 2, 3)", "exp(3)", "numpy().foo", "missing", "to('tpu')",
            "add_('a')", "copy_(torch.ones(2))", "fill_('a')", "fill_(torch.ones(2))", "requires_grad_('a')",
            "__len__(1)", "__bool__()", "__int__()", "__float__()", "__index__()",
        ]),
        *expressions(["x = torch.ones(2, requires_grad=True); x."], [
            "add_(1)", "zero_()", "copy_(x.detach())", "__iadd__(1)", "view(1, 2).mul_(2)", "numpy()", "exp_()",
            "fill_(2)", "pow_(2)",
        ]),
        *expressions(["torch."], [
            "cat([])", "cat([torch.ones(2), torch.ones(2, 2)])", "cat([torch.tensor(1.0)])", "cat([torch.ones(2), 3])",
            "cat(torch.ones(2))", "cat([torch.ones(2)], 1)", "stack([])", "stack([torch.ones(2), torch.ones(3)])",
            "add(torch.ones(2), 'a')", "add(torch.ones(2))", "exp('a')", "exp(1.0)", "mm(torch.ones(2), torch.ones(2))",
            "mean(torch.tensor([1]))", "relu(torch.tensor([True]))", "abs(torch.tensor([True]))",
            "where(torch.tensor([1]), torch.ones(1), torch.ones(1))", "softmax(torch.tensor([1]), 0)",
            "max(torch.ones(0))", "max(torch.ones(0, 3), 0)", "device('tpu')", "device(3.5)", "Size([1.5])",
            "tensor([1])**-1", "tensor([1.0]) & 1", "tensor([True]) - 1", "autograd.grad(torch.ones(1), torch.ones(1))",
            "autograd.grad([], [])", "autograd.backward(3)", "autograd.Variable([1])", "FloatTensor(2.5)",
            "FloatTensor(torch.tensor([1]))", "zeros_like([1])",
        ]),
    ],
)  # fmt: skip
def test_bad_input(source):
    import torch

    assert isinstance(evaluated(torch, source), Exception)
    check(source)
