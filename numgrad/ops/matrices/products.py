"""Products of matrices and vectors, computed by BLAS, and the checks of their operands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...autograd.grad_mode import TRACED, state
from ...core.layout import Layout, layout_of
from ...core.types import bool_, to_dtype
from ...devices import Buffer, Plan, TensorRef
from ...tensors.tensor import Tensor, check_one_device, tensor_of
from ..batching.batches import is_shared, physical, size_of
from ..batching.physical import expanded
from ..pointwise.arithmetic import conj, conj_physical, mul
from ..reductions.sums import sum_dims
from ..shapes.dimensions import squeeze_dim, t_op, transpose_op, unsqueeze_op
from ..shapes.views import grad_view, reshape
from ..table.checks import check
from ..table.dispatch import caller
from ..table.entries import Entries
from ..table.lookup import operation
from ..table.op import check_tensors, public
from ..table.widening import converted, widened

#: The C++ names of dtypes in PyTorch's errors, by numgrad's names.
SCALARS = {
    "bool": "bool", "uint8": "unsigned char", "int8": "signed char", "int16": "short int", "int32": "int",
    "int64": "long int", "float32": "float", "float64": "double", "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>", "float16": "c10::Half", "bfloat16": "c10::BFloat16",
}
LEGACY = {name: to_dtype(name).legacy for name in SCALARS}


def shapes_text(*layouts: Layout | TensorRef) -> str:
    """Return the shapes as text for an error message."""
    return f"(shapes {', '.join([str(list(layout.shape)) for layout in layouts])})"


def refuse_bools(kernel: str, *layouts: Layout | TensorRef) -> None:
    """Raise if the tensors are bool, for which products are not implemented.

    Raises:
        NotImplementedError: the first tensor is bool.
    """
    if layouts[0].type.dtype is bool_:
        if layouts[0].type.device.type == "cuda":
            kernel = kernel.replace("impl_cpu_", "cuda").replace("cpu", "cuda")
        raise NotImplementedError(f"\"{kernel}\" not implemented for 'Bool' {shapes_text(*layouts)}")


def check_types(message: str, *layouts: Layout | TensorRef, names: Mapping[str, str] = LEGACY) -> None:
    """Raise unless all tensors have one type; the message has a placeholder for the name of each dtype.

    Raises:
        RuntimeError: the types differ; types of several devices have an error of their own.
    """
    types = [layout.type for layout in layouts]
    if types.count(types[0]) < len(types):
        check_one_device(*[layout.layout if isinstance(layout, TensorRef) else layout for layout in layouts])
        check(False, message, *[names[type.dtype.name] for type in types], *layouts)


def check_matrices(left: TensorRef, right: TensorRef, first: str = "self") -> None:
    """Raise unless the product of the two matrices exists.

    Raises:
        RuntimeError: an operand is not a matrix, or the shapes do not fit.
    """
    sizes, others = left.shape, right.shape
    for parameter, shape in ((first, sizes), ("mat2", others)):
        check(len(shape) == 2, "{} must be a matrix, got {}-D tensor", parameter, len(shape), left, right)
    check(sizes[1] == others[0], "mat1 and mat2 shapes cannot be multiplied ({}x{} and {}x{})", *sizes, *others)


def check_stacks(left: TensorRef, right: TensorRef) -> None:
    """Raise unless the products of the two stacks of matrices exist.

    Raises:
        RuntimeError: an operand is not a stack of matrices, or the shapes do not fit.
    """
    for number, operand in enumerate((left, right), 1):
        check(len(operand.shape) == 3, "batch{} must be a 3D tensor", number, left, right)
    first, second = left.shape, right.shape
    check(
        first[::2] == second[:2],
        "Expected size for first two dimensions of batch2 tensor to be: {} but got: {}.", first[::2], second[:2],
    )


# -- products ---------------------------------------------------------------------------------------------------


def _by_columns(matrix: Layout) -> bool:
    """Return True if the elements are column-major, as the gradient should then be, too."""
    return matrix.strides[0] == 1 and matrix.strides[1] == matrix.shape[0]


def times(tensor: Tensor, number: Any) -> Tensor:
    """Return the tensor times a number, or the tensor itself for 1."""
    return tensor if number == 1 else mul(tensor, number)


@operation("MmBackward0", inputs=["input", "mat2"], linear=True)
def mm_op(p: Plan, input: TensorRef, mat2: TensorRef) -> TensorRef:
    check_matrices(input, mat2)
    check_types("expected m1 and m2 to have the same dtype, but got: {} != {}", input, mat2, names=SCALARS)
    refuse_bools("addmm_impl_cpu_", input, mat2)
    return multiplied(p, input, mat2)


def multiplied(
    p: Plan, left: TensorRef, right: TensorRef, transposed: tuple[bool, bool] = (False, False),
    bias: Buffer | None = None,
) -> TensorRef:
    """Add the steps of the product of two matrices or stacks, of which some are transposed, plus a bias in each row.

    There is no bias for float16 and bfloat16.
    """
    dtype = left.type.dtype
    if dtype.is_half:
        return converted(p, multiplied(p, widened(p, left), widened(p, right), transposed), dtype)
    shape = (*left.shape[:-2], left.shape[-1 if transposed[0] else -2], right.shape[-2 if transposed[1] else -1])
    return p.tensor(p.backend.product(p, left, right, transposed, bias), left.type, shape)


@mm_op.batched
def _(input, mat2):
    left, right = physical(input), physical(mat2)
    if is_shared(mat2):
        (rows, inner), width = input._layout.shape, mat2._layout.shape[1]
        return reshape(mm(reshape(left, (size_of(input) * rows, inner)), right), (size_of(input), rows, width))
    return bmm(expanded(input), right)


@mm_op.gradient("input")
def left_gradient(grad, mat2, input_layout):
    """``grad @ t(conj(mat2))``, column by column if the first factor lies so."""
    other = conj(mat2)
    if _by_columns(input_layout):
        return _transposed_product(other, False, grad, True, True)
    return _transposed_product(grad, False, other, True)


@mm_op.gradient("mat2")
def right_gradient(grad, input, mat2_layout):
    """``t(conj(input)) @ grad``, column by column if the second factor lies so."""
    other = conj(input)
    if _by_columns(mat2_layout):
        return _transposed_product(grad, True, other, False, True)
    return _transposed_product(other, True, grad, False)


def _transposed_product(
    left: Tensor, transpose_left: bool, right: Tensor, transpose_right: bool, transpose_result: bool = False
) -> Tensor:
    """Return the product of two matrices, or two stacks of them, with the chosen factors and result transposed."""
    if state.mode & TRACED:
        transposed, product = (_transposed_stack, bmm_op) if len(left._layout.shape) == 3 else (t_op, mm_op)
        out = product(transposed(left) if transpose_left else left, transposed(right) if transpose_right else right)
        return transposed(out) if transpose_result else out
    key = _transposed_plan, left._layout, right._layout, transpose_left, transpose_right, transpose_result
    layout, launch = _known_transposed.get(key) or _decided(key)
    return tensor_of(layout, launch(left, right))


#: The layouts and launchers of products in rules, by the plan's function and its arguments.
_transposed_products = Entries()
_known_transposed = _transposed_products.recent


def _decided(key: Any) -> tuple[Layout, Any]:
    """Return the layout and the launcher of such a product."""
    plan, *arguments = key

    def make(again: bool) -> tuple[Layout, Any]:
        decided = plan(*arguments)
        return decided.layout, decided.launcher(again)

    return _transposed_products.find(key) or _transposed_products.make(key, make)


def _transposed_plan(
    left: Layout, right: Layout, transpose_left: bool = False, transpose_right: bool = False,
    transpose_result: bool = False,
) -> Plan:
    """Return the plan of the product of such factors."""
    p = Plan(left.type.backend, left.type.device.index)
    out = multiplied(p, p.operand(left), p.operand(right), (transpose_left, transpose_right))
    if transpose_result:
        out = out.viewed(layout_of(left.type, out.shape[::-1], out.layout.strides[::-1]))
    return p.returns(out)


def _transposed_stack(stack: Tensor) -> Tensor:
    return transpose_op(stack, 1, 2)


#: The calls of products, by the operation and the layouts of the factors.
_calls = Entries()
_known_calls = _calls.recent


def _called(op: Any, input: Any, other: Any) -> Tensor:
    """Return the product that ``op`` computes, with a call cached by the layouts."""
    try:
        key = op, input._layout, other._layout
    except AttributeError:
        check_tensors(op.name.removesuffix("_op"), **dict(zip(op.inputs, (input, other), strict=True)))
        raise
    call = _known_calls.get(key)
    if call is None:
        call = _calls.find(key)
        if call is None:
            if not _calls.again(key):
                return op(input, other)
            call = _calls.keep(key, caller(op.entry((input, other))[0]))
    return call(input, other)


@public(direct=True)
def mm(input: Tensor, mat2: Tensor) -> Tensor:
    """The product of an (n, k) and a (k, m) matrix, of shape (n, m).

    Raises:
        RuntimeError: the shapes do not fit, or the dtypes differ.
        NotImplementedError: the matrices are bool.

    Example:
        >>> import numgrad
        >>> numgrad.mm(numgrad.ones(2, 3), numgrad.ones(3, 2))
        tensor([[3., 3.],
                [3., 3.]])
    """
    return _called(mm_op, input, mat2)


@operation("MvBackward0", inputs=["input", "vec"], linear=True)
def mv_op(p: Plan, input: TensorRef, vec: TensorRef) -> TensorRef:
    ranks = len(input.shape), len(vec.shape)
    check(ranks == (2, 1), "vector + matrix @ vector expected, got 1, {}, {}", *ranks, input, vec)
    (n, k), (j,) = input.shape, vec.shape
    check(k == j, "size mismatch, got input ({}), mat ({}x{}), vec ({})", n, n, k, j)
    check_types("addmv input tensors must have the same dtype, but got {}, {}, and {}", vec, input, vec)
    refuse_bools("addmv_impl_cpu", input, vec)
    return p.tensor(p.backend.vector_product(p, input, vec), input.type, input.shape[:1])


@mv_op.batched
def _(input, vec):
    if is_shared(input):
        return mm(physical(vec), t_op(physical(input)))
    if is_shared(vec):
        size, (rows, inner) = size_of(input), input._layout.shape
        return reshape(mv(reshape(physical(input), (size * rows, inner)), physical(vec)), (size, rows))
    return squeeze_dim(bmm(physical(input), unsqueeze_op(physical(vec), 2)), 2)


@mv_op.gradient("input")
def _(grad, vec):
    return outer_product(grad, conj(vec))


@mv_op.gradient("vec")
def _(grad, input):
    return transposed_mv(conj(input), grad)


def transposed_mv(matrix: Tensor, vec: Tensor) -> Tensor:
    """Return the product of the transposed matrix and a vector."""
    if state.mode & TRACED:
        return mv_op(t_op(matrix), vec)
    key = _transposed_mv_plan, matrix._layout, vec._layout
    layout, launch = _known_transposed.get(key) or _decided(key)
    return tensor_of(layout, launch(matrix, vec))


def _transposed_mv_plan(matrix: Layout, vec: Layout) -> Plan:
    p = Plan(matrix.type.backend, matrix.type.device.index)
    rows, column = p.operand(matrix).viewed(t_op.prepare(matrix)[0]), p.operand(vec)
    return p.returns(converted(p, mv_op.build(p, widened(p, rows), widened(p, column)), matrix.type.dtype))


def outer_product(left: Tensor, right: Tensor) -> Tensor:
    """Return the outer product of two vectors."""
    return mul(grad_view(unsqueeze_op, left, 1), right)


@public(direct=True)
def mv(input: Tensor, vec: Tensor) -> Tensor:
    """The product of an (n, k) matrix and a vector of k elements, of shape (n).

    Raises:
        RuntimeError: the shapes do not fit, or the dtypes differ.
        NotImplementedError: the operands are bool.

    Example:
        >>> import numgrad
        >>> numgrad.mv(numgrad.ones(2, 2), numgrad.tensor([1.0, 2.0]))
        tensor([3., 3.])
    """
    return _called(mv_op, input, vec)


@operation("DotBackward0", inputs=["input", "tensor"], linear=True)
def dot_op(p: Plan, input: TensorRef, tensor: TensorRef) -> TensorRef:
    _check_vectors("dot", input, tensor)
    return p.tensor(p.backend.vector_product(p, input, tensor), input.type, ())


@dot_op.batched
def _(input, tensor):
    if is_shared(tensor):
        return mv(physical(input), physical(tensor))
    if is_shared(input):
        return mv(physical(tensor), physical(input))
    return sum_dims(mul(physical(input), physical(tensor)), (1,), False)


@dot_op.gradient("input")
def _(grad, tensor):
    return mul(grad, conj(tensor))


@dot_op.gradient("tensor")
def _(grad, input):
    return mul(grad, conj(input))


@operation("VdotBackward0", inputs=["input", "other"], linear=True)
def vdot_op(p: Plan, input: TensorRef, other: TensorRef) -> TensorRef:
    _check_vectors("vdot", input, other)
    left = conj_physical.op.build(p, input) if input.type.dtype.is_complex else input
    return p.tensor(p.backend.vector_product(p, left, other), input.type, ())


@vdot_op.batched
def _(input, other):
    return sum_dims(mul(conj(expanded(input)), expanded(other)), (1,), False)


@vdot_op.gradient("input")
def _(grad, other):
    return mul(conj(grad), other)


@vdot_op.gradient("other")
def _(grad, input):
    return mul(grad, input)


def _check_vectors(name: str, left: TensorRef, right: TensorRef) -> None:
    ranks = len(left.shape), len(right.shape)
    check(ranks == (1, 1), "1D tensors expected, but got {}D and {}D tensors", *ranks, left, right)
    check_types("dot : expected both vectors to have same dtype, but found {} and {}", left, right)
    check(
        left.shape == right.shape,
        "inconsistent tensor size, expected tensor [{}] and src [{}] to have the same number of elements, but got {} "
        "and {} elements respectively", *(left.size, right.size) * 2,
    )
    refuse_bools(name, left, right)


@public(direct=True)
def dot(input: Tensor, tensor: Tensor) -> Tensor:
    """The sum of the products of two vectors of equal length.

    Raises:
        RuntimeError: the shapes do not fit, or the dtypes differ.
        NotImplementedError: the vectors are bool.

    Example:
        >>> import numgrad
        >>> numgrad.dot(numgrad.tensor([1, 2]), numgrad.tensor([3, 4]))
        tensor(11)
    """
    return _called(dot_op, input, tensor)


@public(direct=True)
def vdot(input: Tensor, other: Tensor) -> Tensor:
    """``dot`` with the first vector conjugated.

    Raises:
        RuntimeError: the shapes do not fit, or the dtypes differ.
        NotImplementedError: the vectors are bool.

    Example:
        >>> import numgrad
        >>> numgrad.vdot(numgrad.tensor([1.0, 2.0]), numgrad.tensor([3.0, 4.0]))
        tensor(11.)
    """
    return _called(vdot_op, input, other)


@operation("BmmBackward0", inputs=["input", "mat2"], linear=True, batch=1)
def bmm_op(p: Plan, input: TensorRef, mat2: TensorRef) -> TensorRef:
    check_stacks(input, mat2)
    check_types("expected scalar type {} but found {}", input, mat2)
    refuse_bools("bmm", input, mat2)
    return multiplied(p, input, mat2)


@bmm_op.gradient("input")
def _(grad, mat2):
    """``grad @ transpose(conj(mat2), 1, 2)``."""
    return _transposed_product(grad, False, conj(mat2), True)


@bmm_op.gradient("mat2")
def _(grad, input):
    """``transpose(conj(input), 1, 2) @ grad``."""
    return _transposed_product(conj(input), True, grad, False)


@public(direct=True)
def bmm(input: Tensor, mat2: Tensor) -> Tensor:
    """The products of (b, n, k) and (b, k, m) matrices, of shape (b, n, m).

    Raises:
        RuntimeError: the shapes do not fit, or the dtypes differ.
        NotImplementedError: the matrices are bool.

    Example:
        >>> import numgrad
        >>> numgrad.bmm(numgrad.ones(5, 2, 3), numgrad.ones(5, 3, 4)).shape
        torch.Size([5, 2, 4])
    """
    return _called(bmm_op, input, mat2)
