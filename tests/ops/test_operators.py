"""Python's operators between tensors, numbers, NumPy's scalars and arrays, and other objects."""

import operator

import numpy as np
import pytest
from snapshots import refused

import numgrad
from numgrad import Tensor, ones, tensor

ARITHMETIC = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "**": operator.pow,
    "//": operator.floordiv, "%": operator.mod,
}  # fmt: skip
IN_PLACE = {
    "+": operator.iadd, "-": operator.isub, "*": operator.imul, "/": operator.itruediv, "**": operator.ipow,
    "//": operator.ifloordiv, "%": operator.imod,
}  # fmt: skip
BITS = {
    "&": operator.and_, "|": operator.or_, "^": operator.xor, "<<": operator.lshift, ">>": operator.rshift,
}  # fmt: skip
BITS_IN_PLACE = {
    "&": operator.iand, "|": operator.ior, "^": operator.ixor, "<<": operator.ilshift, ">>": operator.irshift,
}  # fmt: skip
COMPARISONS = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip

LEFT, RIGHT = [1.5, 4.0, 9.0], [2.0, 0.5, 3.0]


def array(values):
    return np.array(values, np.float32)


# --- values -----------------------------------------------------------------------------


@pytest.mark.parametrize("sign", ARITHMETIC)
def test_arithmetic(sign):
    compute = ARITHMETIC[sign]
    expected = compute(array(LEFT), array(RIGHT))
    assert compute(tensor(LEFT), tensor(RIGHT)).tolist() == pytest.approx(expected.tolist(), rel=1e-6)
    assert compute(tensor(LEFT), 2).tolist() == pytest.approx(compute(array(LEFT), 2).tolist(), rel=1e-6)
    assert compute(2, tensor(LEFT)).tolist() == pytest.approx(compute(2, array(LEFT)).tolist(), rel=1e-6)
    assert compute(tensor(LEFT), 0.5).tolist() == pytest.approx(compute(array(LEFT), 0.5).tolist(), rel=1e-6)
    assert compute(0.5, tensor(LEFT)).tolist() == pytest.approx(compute(0.5, array(LEFT)).tolist(), rel=1e-6)


@pytest.mark.parametrize("sign", COMPARISONS)
def test_comparisons(sign):
    compare = COMPARISONS[sign]
    for left, right in ((tensor([1, 2, 3]), tensor([3, 2, 1])), (tensor([1.0, 2.0, 3.0]), 2), (2, tensor([1, 2, 3]))):
        values = [x.numpy() if isinstance(x, Tensor) else x for x in (left, right)]
        result = compare(left, right)
        assert type(result) is Tensor
        assert result.tolist() == compare(*values).tolist()


@pytest.mark.parametrize("sign", BITS)
def test_bits(sign):
    compute = BITS[sign]
    left, right = [12, -7, 5], [3, 2, 1]
    expected = compute(np.array(left), np.array(right)).tolist()
    assert compute(tensor(left), tensor(right)).tolist() == expected
    assert compute(tensor(left), 2).tolist() == compute(np.array(left), 2).tolist()
    assert compute(12, tensor(right)).tolist() == compute(12, np.array(right)).tolist()


def test_bits_of_bools_are_logic():
    a, b = tensor([True, True, False]), tensor([True, False, False])
    assert (a & b).tolist() == [True, False, False]
    assert (a | b).tolist() == [True, True, False]
    assert (a ^ b).tolist() == [False, True, False]
    assert (~a).tolist() == [False, False, True]
    assert (~tensor([5, -1])).tolist() == [-6, 0]
    assert (a & True).dtype is numgrad.bool


def test_unary():
    x = tensor([1.5, -2.0])
    assert (-x).tolist() == [-1.5, 2]
    assert abs(x).tolist() == [1.5, 2]
    assert +x is x


@pytest.mark.parametrize("sign", IN_PLACE)
def test_in_place_arithmetic_changes_the_tensor_itself(sign):
    for other in (tensor(RIGHT), 2, 0.5):
        x = tensor(LEFT)
        view, expected = x[1:], ARITHMETIC[sign](tensor(LEFT), other).tolist()
        changed = IN_PLACE[sign](x, other)
        assert changed is x
        assert x.tolist() == expected
        assert view.tolist() == expected[1:]
        assert x._version == 1


@pytest.mark.parametrize("sign", BITS_IN_PLACE)
def test_in_place_bits(sign):
    x = tensor([12, 5])
    changed = BITS_IN_PLACE[sign](x, 2)
    assert changed is x
    assert x.tolist() == BITS[sign](np.array([12, 5]), 2).tolist()


def test_matrix_product():
    a, b = tensor([[1.0, 2.0], [3.0, 4.0]]), tensor([[0.0, 1.0], [1.0, 0.0]])
    assert (a @ b).tolist() == [[2, 1], [4, 3]]
    assert (a @ tensor([1.0, 1.0])).tolist() == [3, 7]
    c = a
    c @= b  # there is no product in place
    assert c is not a
    assert c.tolist() == [[2, 1], [4, 3]]


def test_divmod_and_rounding_errors_of_division():
    assert (1 / tensor([3.0])).item() == float(np.float32(1) / np.float32(3))
    assert (tensor([5.0]) - 7).tolist() == [-2]
    assert (7 - tensor([5.0])).tolist() == [2]


# --- NumPy on either side ---------------------------------------------------------------

#: The gradient of ``left <sign> right`` with respect to each of the two.
SLOPES = {
    "+": (lambda a, b: 1 + 0 * a, lambda a, b: 1 + 0 * b),
    "-": (lambda a, b: 1 + 0 * a, lambda a, b: -1 + 0 * b),
    "*": (lambda a, b: b, lambda a, b: a),
    "/": (lambda a, b: 1 / b, lambda a, b: -a / b**2),
    "**": (lambda a, b: b * a ** (b - 1), lambda a, b: np.log(a) * a**b),
    "%": (lambda a, b: 1 + 0 * a, lambda a, b: -(a // b)),
}


@pytest.mark.parametrize("sign", ARITHMETIC)
def test_an_array_on_either_side_gives_a_tensor_with_its_gradient(sign):
    compute = ARITHMETIC[sign]
    a, b = array(LEFT), array(RIGHT)
    for side, make in enumerate((lambda x: compute(x, b), lambda x: compute(a, x))):
        x = tensor((LEFT, RIGHT)[side], requires_grad=True)
        result = make(x)
        assert type(result) is Tensor
        assert result.dtype is numgrad.float32
        assert result.tolist() == pytest.approx(compute(a, b).tolist(), rel=1e-6)
        if sign == "//":
            with pytest.raises(RuntimeError, match=r"derivative for .*floor_divide is not implemented \(shape \[3\]"):
                result.sum().backward()
            continue
        result.sum().backward()
        assert x.grad.tolist() == pytest.approx(SLOPES[sign][side](a, b).tolist(), rel=1e-5)


@pytest.mark.parametrize("sign", ARITHMETIC)
@pytest.mark.parametrize("number", [np.float64(2), np.float32(2), np.int64(2)], ids=repr)
def test_a_numpy_scalar_counts_as_a_number(sign, number):
    compute = ARITHMETIC[sign]
    x = tensor(LEFT, requires_grad=True)
    for result, expected in (
        (compute(x, number), compute(array(LEFT), float(number))),
        (compute(number, x), compute(float(number), array(LEFT))),
    ):
        assert type(result) is Tensor
        assert result.dtype is numgrad.float32
        assert result.requires_grad
        assert result.tolist() == pytest.approx(expected.tolist(), rel=1e-6)


@pytest.mark.parametrize("sign", COMPARISONS)
def test_comparisons_with_numpy(sign):
    compare = COMPARISONS[sign]
    a, b = array([1.0, 2.0, 3.0]), array([3.0, 2.0, 1.0])
    for left, right in ((tensor(a), b), (a, tensor(b)), (tensor(a), np.float64(2)), (np.float64(2), tensor(b))):
        result = compare(left, right)
        assert type(result) is Tensor
        assert result.tolist() == compare(*[np.asarray(x) for x in (left, right)]).tolist()


@pytest.mark.parametrize("sign", BITS)
def test_bits_with_numpy(sign):
    compute = BITS[sign]
    left, right = np.array([12, 5]), np.array([2, 1])
    for result in (compute(tensor(left), right), compute(left, tensor(right))):
        assert type(result) is Tensor
        assert result.tolist() == compute(left, right).tolist()


def test_matrix_products_with_numpy():
    m = np.array([[1.0, 2.0], [3.0, 4.0]])
    for make, slope in ((lambda x: m @ x, [[4, 4], [6, 6]]), (lambda x: x @ m, [[3, 7], [3, 7]])):
        x = tensor(m, requires_grad=True)
        result = make(x)
        assert type(result) is Tensor
        assert result.tolist() == (m @ m).tolist()
        result.sum().backward()
        assert x.grad.tolist() == slope


def test_broadcasting_with_an_array():
    column, row = tensor([[1.0], [2.0]], requires_grad=True), array([10.0, 20.0])
    result = row * column
    assert result.tolist() == [[10, 20], [20, 40]]
    result.sum().backward()
    assert column.grad.tolist() == [[30], [30]]


def test_an_array_brings_its_dtype():
    assert (tensor([1.0]) + np.ones(1)).dtype is numgrad.float64
    assert (np.arange(2) + tensor([1, 2])).dtype is numgrad.int64
    assert (tensor([1.0]) + np.array(1.0)).dtype is numgrad.float32  # 0-d, as a 0-d tensor
    assert (tensor([1], dtype=numgrad.int8) + np.arange(1, dtype=np.int16)).dtype is numgrad.int16
    with pytest.raises(TypeError, match=r"numgrad has no dtype.*M8"):
        tensor([1]) + np.zeros(1, dtype="datetime64[s]")


def test_a_numpy_bool_is_a_bool():
    assert (tensor([1]) + np.bool_(True)).tolist() == [2]
    assert (np.bool_(True) * tensor([1.5])).tolist() == [1.5]
    assert (tensor([1]) + np.bool_(True)).dtype is numgrad.int64


def test_in_place_with_numpy():
    x = tensor([1.0, 2.0])
    y = x
    x += np.ones(2)
    x *= np.float64(3)
    assert x is y
    assert x.tolist() == [6, 9]
    assert x.dtype is numgrad.float32
    a = old = np.ones(2)
    a *= tensor([1.0, 2.0])
    assert a is old
    assert a.tolist() == [1, 2]
    with pytest.raises(TypeError, match="cannot pass on the gradient"):  # an array is not part of a graph
        a *= tensor([1.0, 2.0], requires_grad=True)


# --- operands that are neither tensors nor numbers --------------------------------------


class Other:
    """Defines operators with tensors on its left."""

    def __radd__(self, left):
        return "added", left

    __rsub__ = __rmul__ = __rtruediv__ = __rpow__ = __rfloordiv__ = __rmod__ = __rmatmul__ = __radd__
    __rand__ = __ror__ = __rxor__ = __rlshift__ = __rrshift__ = __radd__

    def __gt__(self, left):
        return "compared", left

    __lt__ = __ge__ = __le__ = __gt__


BINARY = {**ARITHMETIC, **BITS, "@": operator.matmul}


@pytest.mark.parametrize("sign", BINARY)
def test_the_other_operand_is_asked(sign):
    x = tensor([1, 2])
    assert BINARY[sign](x, Other()) == ("added", x)
    assert BINARY[sign](x, Other())[1] is x


@pytest.mark.parametrize("sign", [s for s in COMPARISONS if s not in ("==", "!=")])
def test_the_other_operand_is_asked_to_compare(sign):
    x = tensor([1, 2])
    name, left = COMPARISONS[sign](x, Other())
    assert name == "compared"
    assert left is x


@pytest.mark.parametrize("sign", BINARY)
@pytest.mark.parametrize("other", [None, {}, object(), "a", [1, 2], (1, 2)], ids=lambda o: type(o).__name__)
def test_unknown_operands_give_type_errors(sign, other):
    x = tensor([1, 2])
    # Python itself defines sequence * something and str % something
    own = isinstance(other, str | list | tuple) and sign in "*%"
    with refused(TypeError, [x], *([] if own else ["unsupported operand type", "Tensor", type(other).__name__])):
        BINARY[sign](x, other)
    if not (sign == "%" and isinstance(other, str)):
        with refused(TypeError, [x]):
            BINARY[sign](other, x)


@pytest.mark.parametrize("sign", [*IN_PLACE, *BITS_IN_PLACE])
def test_unknown_operands_change_nothing_in_place(sign):
    x = tensor([1, 2])
    for other in ("a", None, [1, 2]):
        with refused(TypeError, [x], "Tensor"):
            {**IN_PLACE, **BITS_IN_PLACE}[sign](x, other)


@pytest.mark.parametrize("sign", [s for s in COMPARISONS if s not in ("==", "!=")])
def test_unknown_operands_cannot_be_ordered(sign):
    for other in ("a", None, [1.0]):
        with pytest.raises(TypeError, match="not supported between instances of 'Tensor' and"):
            COMPARISONS[sign](tensor([1.0]), other)


@pytest.mark.parametrize("other", [None, "a", [1.0], (1.0,), object()], ids=lambda o: type(o).__name__)
def test_nothing_else_equals_a_tensor(other):
    x = tensor([1.0])
    for equal in (x == other, other == x):
        assert equal is False
    for differs in (x != other, other != x):
        assert differs is True


def test_sequences_and_tensors():
    assert [1] * tensor(2) == [1, 1]  # an integer tensor is an index
    with pytest.raises(TypeError):
        [1] * tensor([1, 2])
    with pytest.raises(TypeError):
        operator.add([1], tensor([1]))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x: numgrad.add(x, "a"), ["add()", "'other'", "str"]),
        (lambda x: numgrad.mul(x, [1]), ["mul()", "'other'", "list"]),
        (lambda x: numgrad.maximum(x, None), ["maximum()", "'other'", "NoneType"]),
        (lambda x: x.add_("a"), ["add()", "'other'", "str"]),
        (lambda x: numgrad.exp("a"), ["exp()", "'input'", "str"]),
        (lambda x: numgrad.exp(1.0), ["exp(): argument 'input' (position 1) must be Tensor, not float"]),
        (lambda x: numgrad.maximum(1, 2), ["maximum(): argument 'input' must be Tensor, not int"]),
        (lambda x: x.add(1, beta=2), ["add()", "unexpected keyword argument 'beta'"]),
        (lambda x: x.add_(1, beta=2), ["add()", "unexpected keyword argument 'beta'"]),
        (lambda x: x.exp_(3), ["exp_() takes 1 positional argument but 2 were given"]),
        (lambda x: x.add_(), ["add_() missing 1 required positional argument: 'other'"]),
        (lambda x: x.add(), ["other"]),
        (lambda x: numgrad.matmul(x, 3), ["matmul()", "int"]),
        (lambda x: numgrad.mm(x, np.ones(2)), ["mm()", "ndarray"]),
        (lambda x: numgrad.cat(x), ["cat()", "Tensor"]),
        (lambda x: numgrad.cat([x, 3]), ["Tensor", "int"]),
    ],
)
def test_functions_refuse_them_too(call, words):
    x = ones(2, 2)
    with refused(TypeError, [x], *words):
        call(x)


# --- undefined operations ---------------------------------------------------------------


@pytest.mark.parametrize("sign", [*BITS, "~"])
def test_bits_of_floating_point_numbers_are_not_defined(sign):
    x = tensor([1.0, 2.0])
    if sign == "~":
        with refused(TypeError, [x], "only implemented on integer and Boolean-type tensors", "torch.float32", "[2]"):
            operator.invert(x)
        return
    with refused(NotImplementedError, [x], "'Float'", "[2]"):
        BITS[sign](x, x)
    with refused(NotImplementedError, [x], "'Float'", "[2]"):
        BITS_IN_PLACE[sign](x, 1)
    with refused(NotImplementedError, [x], "'Float'"):
        BITS[sign](tensor([1]), 1.5)


def test_bools_are_not_subtracted_and_have_no_sign():
    mask = tensor([True, False])
    with refused(RuntimeError, [mask], "Subtraction", "two bool tensors", "[2]"):
        mask - mask
    for compute in (lambda: mask - 1, lambda: 1 - mask, lambda: mask - tensor([1.0, 2.0]), lambda: 1.5 - mask):
        with refused(RuntimeError, [mask], "Subtraction", "a bool tensor is not supported", "`~`"):
            compute()
    with refused(RuntimeError, [mask], "Negation", "`~`", "[2]"):
        operator.neg(mask)
    with refused(RuntimeError, [mask], "`+` operator", "[2]"):
        operator.pos(mask)
    with refused(NotImplementedError, [mask], "not implemented for 'Bool'"):
        abs(mask)


def test_alpha_of_integers_is_an_integer():
    x = tensor([1, 2])
    assert x.add(10, alpha=2).tolist() == [21, 22]
    for call in (x.add, x.add_, x.sub):
        with refused(RuntimeError, [x], "For integral input tensors, argument alpha must not be a floating point"):
            call(10, alpha=2.5)
    assert x.add(0.5, alpha=2.5).tolist() == [2.25, 3.25]
