"""Public operations against PyTorch: values, dtypes, shapes, strides, gradients, and the names of the nodes.

Programs are written as expressions in ``m``, the module, and the tensors ``x``, ``y`` and ``z``.
"""

import itertools

import numpy as np
import pytest
from ops.torch_comparison import assert_same, randoms

pytestmark = pytest.mark.torch

LAYOUTS = ("contiguous", "transposed", "stepped")
DTYPES = ("float32", "float64", "int64", "bool")
FLOATS = DTYPES[:2]


def program(expression):
    """The expression as a function of the module and up to three tensors."""

    def run(m, x, y=None, z=None):
        return eval(expression, {"m": m, "F": m.nn.functional, "x": x, "y": y, "z": z})

    return run


def expressions(text):
    return [line.strip() for line in text.split(";")]


def sample_of(dtype, seed=0, low=-2.0, high=2.0):
    """A row of elements of any dtype."""
    (values,) = randoms((6,), seed=seed, low=low, high=high)
    return values > 0 if dtype == "bool" else np.rint(2 * values).astype(dtype) if dtype == "int64" else \
        values.astype(dtype)


# -- pointwise ----------------------------------------------------------------------------------------------------

UNARY = expressions("-x; abs(x); x.sign(); x.sqrt(); x.exp(); x.log(); x.tanh(); x.sigmoid(); x.relu(); "
                    "x.reciprocal(); +x; x.clone(); x.contiguous(); x.float(); x.double(); m.nn.functional.relu(x - 1)")
NUMBERS = expressions("x + 2; 2 + x; x - 1; 1 - x; x * 3; 3 * x; x / 2; x / 2.5; 1 / x; 2 / x; x + True; x * True; "
                      "x % 2; x % 0.7; x > 1; 1 > x; x == 1; x != 1; x <= 1.5; x >= 1; x < 0; "
                      "m.add(x, 1, alpha=2); x.add(x, alpha=2); x.sub(x, alpha=3); m.sub(x, 2, alpha=0.5); "
                      "m.rsub(x, 2); m.rsub(x, x, alpha=3); m.rsub(x, 2, alpha=2); "
                      "m.where(x > 1, x, x * 2); m.where(x > 1, x, 0.0); m.where(x > 1, 2.0, x); x.where(x > 1, 0); "
                      "m.isnan(x); m.logical_not(x); x * x * x; (x + 1) * (x - 1) / x; x - x; x.pow(2).sum().sqrt()")
BINARY = expressions("x + y; x - y; x * y; x / y; m.maximum(x, y); m.minimum(x, y); m.pow(x, y); x % y; x == y; "
                     "x < y; m.where(x > y, x, y); x.detach() * y; x / y.detach(); x.detach() - y")
PAIRS = [((3, 4), (3, 4)), ((3, 4), (4,)), ((3, 1), (1, 4)), ((), (3,)), ((2, 3, 4), (3, 1)), ((4,), (2, 3, 4)),
         ((2, 0), (1,)), ((), ()), ((1,), (3, 4))]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("expression", UNARY + NUMBERS)
def test_one_tensor(expression, layout, dtype):
    assert_same(program(expression), *randoms((3, 4), low=0.2, layout=layout, dtype=dtype))


@pytest.mark.parametrize("shape", [(), (1, 1), (2, 0, 3)], ids=str)
@pytest.mark.parametrize("expression", UNARY + NUMBERS)
def test_one_tensor_of_no_or_few_elements(expression, shape):
    assert_same(program(expression), *randoms(shape, low=0.2))


@pytest.mark.parametrize("expression", ["x.permute(1, 2, 0)", "x[:, 1:2]", "x[0].expand(5, 3, 4)", "x.transpose(0, 2)"])
@pytest.mark.parametrize("function", ["neg", "exp", "clone"])
def test_results_lie_in_memory_as_their_operands(function, expression):
    assert_same(program(f"({expression}).{function}()"), *randoms((2, 3, 4)))
    assert_same(program(f"{expression} * ({expression}).contiguous()"), *randoms((2, 3, 4)))
    assert_same(program(f"({expression}).contiguous() + {expression}"), *randoms((2, 3, 4)))


@pytest.mark.parametrize("shapes", PAIRS, ids=str)
@pytest.mark.parametrize("expression", [*BINARY, "m.rsub(x, y)", "m.rsub(x, y, alpha=2)"])
def test_two_tensors(expression, shapes):
    for layout in LAYOUTS:
        assert_same(program(expression), *randoms(*shapes, low=0.2, layout=layout))


@pytest.mark.parametrize("expression", BINARY)
def test_two_tensors_in_different_layouts(expression):
    for first, second in itertools.permutations(LAYOUTS, 2):
        (x,), (y,) = [randoms((3, 4), seed=n, low=0.2, layout=kind) for n, kind in enumerate((first, second))]
        assert_same(program(expression), x, y)


EXPONENTS = [0, 0.0, -0.0, 1, 1.0, 2, 2.0, 3, 3.0, 4, 5, 10, 100, 0.5, -0.5, 0.25, 1.5, 2.5, -1, -1.0, -2, -2.0, -3,
             -1.5, True, False, float("inf"), float("nan")]


@pytest.mark.parametrize("exponent", EXPONENTS, ids=str)
def test_powers(exponent):
    for dtype in FLOATS:
        assert_same(lambda m, x: x**exponent, *randoms((3, 4), low=0.2, dtype=dtype))
    assert_same(lambda m, x: x**exponent, *randoms((3, 4)))
    assert_same(lambda m, x: m.pow(x, exponent), np.array([1, -2, 3]))
    if not isinstance(exponent, bool):  # which in PyTorch have derivatives of their own, or none
        assert_same(lambda m, x: x**exponent, np.array([0.0, 1.0, -1.0]))
        assert_same(lambda m, x: exponent**x, *randoms((3, 4)))
        assert_same(lambda m, x: exponent**x, np.array([0.0, 1.0, -1.0]))
        assert_same(lambda m, x: m.pow(x, exponent), np.array([True, False]))


# -- type promotion -----------------------------------------------------------------------------------------------

PAIRS_OF_DTYPES = [("float32", "float64"), ("float64", "int64"), ("int64", "float32"), ("bool", "int64"),
                   ("float32", "bool"), ("bool", "bool"), ("int64", "int64")]


def test_dtypes_of_sums():
    for first, second in itertools.product(DTYPES, DTYPES):
        for expression in ("x + y", "x[0] + y", "x + y[0]", "x[0] + y[0]"):
            assert_same(program(expression), sample_of(first), sample_of(second, seed=1), requires_grad=False)


@pytest.mark.parametrize(
    "expression",
    expressions("x - y; x / y; m.maximum(x, y); x < y; m.where(x > 0, x, y); m.cat([x, y]); m.stack([x, y]); "
                "m.pow(x, abs(y)) if y.dtype != m.bool else m.pow(x, y); x & y; x << (y * y); x % (y + 5)"),
)
def test_dtypes_of_two_tensors(expression):
    for first, second in PAIRS_OF_DTYPES:
        assert_same(program(expression), sample_of(first), sample_of(second, seed=1), requires_grad=False)


@pytest.mark.parametrize("expression", expressions("x * y; x / y; m.where(x > 0, x, y); x + y[0]; x[0] * y"))
def test_gradients_of_mixed_dtypes(expression):
    for first, second in [("float32", "float64"), ("float64", "int64"), ("bool", "float32")]:
        assert_same(program(expression), sample_of(first), sample_of(second, seed=1, low=0.6))


@pytest.mark.parametrize("number", [2, -1, 0, 2.5, True, float("nan")], ids=str)
@pytest.mark.parametrize(
    "expression", expressions("x + n; n - x; x / n; n / x; x < n; m.where(x > 0, x, n)")
)
def test_dtypes_with_numbers(expression, number):
    for dtype in DTYPES:
        assert_same(
            lambda m, x: eval(expression, {"m": m, "x": x, "n": number}), sample_of(dtype), requires_grad=False
        )


# -- shapes -------------------------------------------------------------------------------------------------------

SHAPES = expressions(
    "x.reshape(6, 4); x.reshape(-1); x.reshape(24); x.view(6, 4); x.view(2, -1, 2); x.reshape(2, 3, 4); x.view_as(x); "
    "x.reshape(1, 2, 3, 4); x.reshape(2, 12); x.view(2, 3, 4); x.reshape_as(x); x.expand_as(x); x.reshape(5, 5); "
    "x.view(-1, -1); x.permute(2, 0, 1); x.permute(0, 1, 2); x.permute(0, 1); x.transpose(0, 2); x.transpose(-1, 1); "
    "x.transpose(1, 1); x.mT; x.T; x.t(); x[0].t(); x[0, 0].t(); x[1].T; x.transpose(0, 1).reshape(-1); "
    "x.transpose(0, 1).view(-1); x.permute(1, 0, 2).reshape(6, 4); x.unsqueeze(0); x.unsqueeze(-1); x.unsqueeze(1); "
    "x.unsqueeze(5); x.squeeze(); x.squeeze(0); x.squeeze(4); x.unsqueeze(1).squeeze(1); x.unsqueeze(0).squeeze(); "
    "x.unsqueeze(0).squeeze((0, 1)); x[:1].squeeze(0); x[:1].squeeze(); x.expand(5, 2, 3, 4); x.expand(-1, 3, 4); "
    "x.expand(2, 3, 5); x[:1].expand(4, -1, -1); x.sum(0).expand(2, -1, -1); x.flip(0); x.flip(0, 2); x.flip([1]); "
    "x.flip(3); m.flip(x, (0, 1, 2)); x.unbind(0); x.unbind(-1); x.unbind(1)[1]; x.select(0, 1); x.select(-1, -1); "
    "x.select(3, 0); x[0]; x[-1]; x[5]; x[:, 1]; x[..., 2]; x[:, 1:]; x[::2]; x[:, :, ::3]; x[1:1]; x[None]; "
    "x[0, 1, 2]; x[0, :, None]; x[1, ...]; x[...]; x[:]; x[0:2, 0:3]; x[:, :2].view(-1); x[0, 0, 0, 0]; "
    "x.narrow(1, 1, 2); x.narrow(0, 1, 5); m.cat([x, x], 0); m.cat([x, x * 2], 1); m.cat((x, x, x), -1); "
    "m.cat([x.detach(), x], 1); m.cat([x, x[0]]); m.stack([x, x]); m.stack([x, x], -1); m.stack([x, x], 1); "
    "m.stack([x, x[0]]); m.stack([x, x.detach()]); list(x); x.contiguous(); x.reshape(-1, 4)[2]"
)
SHAPES_OF_ONE = expressions(
    "x.reshape(()); x.reshape(1); x.view(1, 1); x.unsqueeze(0); x.expand(3); x.expand(2, 2); x.squeeze(); "
    "x.squeeze(0); x.t(); x.T; x.flip(0); x.transpose(0, 0); x.sum(); x.sum(0); x.sum(-1); x.sum(1); x.mean(); "
    "x.mean(0); x.max(); x.max(0); x.min(-1); x.argmax(); x.argmax(0); x.softmax(0); x.log_softmax(-1); "
    "m.stack([x, x]); m.stack([x, x], -1); m.cat([x]); x[None]; x[...]; x[0]; x.unbind(); x.contiguous(); "
    "x.sum(0, keepdim=True); x.max(0, keepdim=True); x @ x; x.expand(-1)"
)
SHAPES_OF_NONE = expressions(
    "x.sum(); x.sum(0); x.sum(-1); x.sum(0, keepdim=True); x.mean(); x.mean(0); x.mean(-1); x.max(); x.max(0); "
    "x.max(-1); x.min(0); x.argmax(); x.argmax(0); x.argmax(-1); x.softmax(0); x.softmax(-1); x.log_softmax(0); "
    "x.flip(0); x.reshape(-1); x.view(0); x.unbind(0); x.unbind(-1); x.t(); x + x; x[:0]; m.cat([x, x]); "
    "m.stack([x, x]); x.squeeze(); x.clone(); x[None]; x.contiguous(); x.reshape(0, 5)"
)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("expression", SHAPES)
def test_shapes(expression, layout):
    assert_same(program(expression), *randoms((2, 3, 4), layout=layout))


@pytest.mark.parametrize("expression", SHAPES_OF_ONE)
def test_shapes_of_a_scalar(expression):
    assert_same(program(expression), *randoms(()))


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (2, 0, 3)], ids=str)
@pytest.mark.parametrize("expression", SHAPES_OF_NONE)
def test_shapes_of_an_empty_tensor(expression, shape):
    graph = expression != "m.cat([x, x])"  # PyTorch has edges to empty vectors, too
    assert_same(program(expression), *randoms(shape), graph=graph)


# -- reductions ---------------------------------------------------------------------------------------------------

DIMS = [0, 1, 2, -1, -3, 3, (0,), (0, 1), (1, 2), (0, 2), (0, 1, 2), (2, 0), (-1, 0), (0, 0)]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("dim", DIMS, ids=str)
def test_reductions(dim, keepdim, layout):
    names = ["sum", "mean", *(["max", "min", "argmax", "argmin"] if isinstance(dim, int) else [])]
    for name in names:
        assert_same(program(f"x.{name}({dim}, keepdim={keepdim})"), *randoms((2, 3, 4), layout=layout))


@pytest.mark.parametrize(
    "expression",
    expressions(
        "x.sum(); x.mean(); x.max(); x.min(); x.argmax(); x.argmin(); x.argmax(keepdim=True); m.sum(x, 0); "
        "m.sum(x, dim=(0, 1)); m.mean(x, -1, True); m.max(x, 1); m.max(x, x * 0); m.min(x, x * 0); x.max(x * 0); "
        "x.max(dim=1).values; x.max(1).indices; x.max(1)[0]; m.argmax(x, 1); x.sum().sum(); x.exp().sum().log(); "
        "x.expand(2, 2, 3, 4).sum(); x.sum(dtype=m.float64).detach(); x.mean(dtype=m.float64).detach(); "
        "x.softmax(1, dtype=m.float64); (x - x.max(0, keepdim=True)[0]).exp(); (x.long() * 2).sum(1).detach(); "
        "(x > 0).sum(); (x > 0).max(0); x.long().max(1).indices; x.long().mean(); (x > 0).argmax()"
    ),
)
def test_reductions_as_they_are_written(expression):
    for dtype, layout in itertools.product(FLOATS, LAYOUTS):
        assert_same(program(expression), *randoms((2, 3, 4), dtype=dtype, layout=layout))


# -- matrix products ----------------------------------------------------------------------------------------------

LEFT = [(4,), (3, 4), (2, 3, 4), (5, 2, 3, 4), (1, 3, 4), ()]
RIGHT = [(4,), (4, 2), (2, 4, 3), (5, 1, 4, 3), (1, 4, 3), (5, 2, 4, 3), (3, 4)]
EMPTY = [((0, 4), (4, 2)), ((3, 0), (0, 2)), ((3, 4), (4, 0)), ((0,), (0,)), ((2, 0, 4), (4, 3)), ((2, 3, 0), (0, 3)),
         ((2, 3, 4), (0, 4, 2)), ((0, 3, 4), (0, 4, 2)), ((1, 0), (0,)), ((2, 3, 0), (0,)), ((0, 3, 4), (4,))]


@pytest.mark.parametrize("right", RIGHT, ids=str)
@pytest.mark.parametrize("left", LEFT, ids=str)
def test_matmul_of_all_ranks(left, right):
    for layout in LAYOUTS:
        assert_same(program("x @ y"), *randoms(left, right, layout=layout))
    for expression in ("m.matmul(x, y)", "x.detach() @ y", "x.matmul(y.detach())"):
        assert_same(program(expression), *randoms(left, right, dtype="float32"))


@pytest.mark.parametrize(("left", "right"), EMPTY, ids=str)
def test_matmul_of_empty_tensors(left, right):
    assert_same(program("x @ y"), *randoms(left, right), graph=False)


@pytest.mark.parametrize("name", ["mm", "mv", "dot", "bmm"])
def test_products_of_one_rank_each(name):
    for left, right in [((3, 4), (4, 2)), ((3, 4), (4,)), ((4,), (4,)), ((2, 3, 4), (2, 4, 5)), ((3, 4), (3, 4)),
                        ((4,), (3,)), ((2, 3, 4), (3, 4, 2)), ((0, 4), (4, 2)), ((2, 0, 3), (2, 3, 1))]:
        for layout in LAYOUTS:
            assert_same(program(f"m.{name}(x, y)"), *randoms(left, right, layout=layout))


# -- softmax and losses -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax(name, layout):
    for dim, dtype in itertools.product((0, 1, 2, -1, 3), FLOATS):
        assert_same(program(f"x.{name}({dim})"), *randoms((2, 3, 4), dtype=dtype, layout=layout))
        assert_same(program(f"F.{name}(x, dim={dim})"), *randoms((2, 3, 4), dtype=dtype, layout=layout))


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("ignored", [-100, 1])
@pytest.mark.parametrize("shape", [(5, 3), (3,), (4, 3, 2), (4, 3, 2, 5)], ids=str)
def test_classification_losses(shape, ignored, reduction):
    target = np.asarray(np.random.default_rng(1).integers(0, 3, shape[:1] * (len(shape) > 1) + shape[2:]))
    options = f"reduction='{reduction}', ignore_index={ignored}"
    # PyTorch has no gradient of more dimensions that do not lie in order.
    for layout, dtype in itertools.product(LAYOUTS if len(shape) < 3 else LAYOUTS[:1], FLOATS):
        (x,) = randoms(shape, layout=layout, dtype=dtype)
        # numgrad reshapes one row, or more than two dimensions, to a matrix by visible nodes.
        assert_same(program(f"F.cross_entropy(x, y, {options})"), x, target, graph=len(shape) == 2)
        assert_same(program(f"F.nll_loss(x, y, {options})"), x, target, graph=len(shape) == 2)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("shape", [(5, 3), (3,), (4, 3, 2)], ids=str)
def test_cross_entropy_with_probabilities(shape, reduction):
    for layout, y in itertools.product(LAYOUTS, ("y", "y.detach()")):
        (x,), (p,) = randoms(shape, layout=layout), randoms(shape, seed=1, layout=layout, low=0, high=1)
        # Their sum PyTorch takes over all elements at once.
        assert_same(program(f"F.cross_entropy(x, {y}, reduction='{reduction}')"), x, p, graph=reduction == "none")


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_the_logistic_loss(reduction):
    for layout in LAYOUTS:
        (x,), (y,) = randoms((4, 3), layout=layout), randoms((4, 3), seed=1, layout=layout, low=0, high=1)
        (z,) = randoms((3,), seed=2, low=0.2)
        for options in ("", ", weight=z.detach()", ", pos_weight=z.detach()"):
            call = f"F.binary_cross_entropy_with_logits(x, y, reduction='{reduction}'{options})"
            assert_same(program(call), x, y, z)


@pytest.mark.parametrize(
    "target", [np.array([0, 1, 3]), np.array([0, -1, 2]), np.array([0, 1]), np.array([[0, 1, 2]]),
               np.array([0.0, 1.0, 2.0]), np.array([True, False, True])], ids=str,
)
def test_errors_of_wrong_targets(target):
    assert_same(program("F.cross_entropy(x, y)"), *randoms((3, 3)), target)


# -- in place -----------------------------------------------------------------------------------------------------

IN_PLACE = expressions(
    "x.add_(y); x.sub_(y); x.mul_(y); x.div_(y); x.add_(2); x.sub_(2); x.mul_(2); x.div_(2); x.pow_(2); x.pow_(y); "
    "x.pow_(2.5); x.neg_(); x.abs_(); x.exp_(); x.log_(); x.sqrt_(); x.tanh_(); x.sigmoid_(); x.relu_(); "
    "x.reciprocal_(); x.sign_(); x.zero_(); x.fill_(3.0); x.copy_(y); x.add_(y, alpha=2); x.sub_(y, alpha=2); "
    "x.add_(y[0]); x.copy_(y[0]); x.remainder_(2)"
)


@pytest.mark.parametrize("expression", IN_PLACE)
def test_in_place(expression):
    def changed(m, x, y):
        x = x * 1
        result = eval(expression, {"m": m, "x": x, "y": y})
        assert result is x
        return x, x * 2

    def changed_through_a_view(view):
        def run(m, x, y):
            x = x * 1
            eval(expression, {"m": m, "x": view(x), "y": view(y)})
            return x, x * 2

        return run

    x, y = randoms((3, 4), (3, 4), low=0.2)
    assert_same(changed, x, y)
    assert_same(changed_through_a_view(lambda x: x[1:]), x, y)
    assert_same(changed_through_a_view(lambda x: x.t()), x[:3, :3], y[:3, :3])
    assert_same(program(expression), x, y)  # of a leaf that requires a gradient: an error
    for dtype in ("int64", "bool"):
        assert_same(program(expression), sample_of(dtype), sample_of(dtype, seed=1, low=0.1))
