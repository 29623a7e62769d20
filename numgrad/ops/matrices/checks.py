"""What matrix products ask of their operands, with PyTorch's words where they do not have it."""

from __future__ import annotations

from ...core.layout import Layout
from ...core.types import bool_, dtype

_SCALARS = {
    "bool": "bool", "uint8": "unsigned char", "int8": "signed char", "int16": "short int", "int32": "int",
    "int64": "long int", "float32": "float", "float64": "double", "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
}


def scalar_name(kind: dtype) -> str:
    """What PyTorch's errors call the dtype's numbers."""
    return _SCALARS[kind.name]


def shapes_text(*layouts: Layout) -> str:
    """The shapes, for an error message."""
    return f"(shapes {', '.join([str(list(layout.shape)) for layout in layouts])})"


def refuse_bools(kernel: str, *layouts: Layout) -> None:
    """Raise if the tensors are bool, for which there are no products.

    Raises:
        NotImplementedError: they are.
    """
    if layouts[0].type.dtype is bool_:
        if layouts[0].type.device.type == "cuda":
            kernel = kernel.replace("impl_cpu_", "cuda").replace("cpu", "cuda")
        raise NotImplementedError(f"\"{kernel}\" not implemented for 'Bool' {shapes_text(*layouts)}")


def check_types(message: str, *layouts: Layout) -> None:
    """Raise unless all are of one type; the error ends with the shapes.

    Raises:
        RuntimeError: they are not.
    """
    if any(layout.type is not layouts[0].type for layout in layouts):
        raise RuntimeError(f"{message} {shapes_text(*layouts)}")


def check_matrices(left: Layout, right: Layout, first: str = "self") -> None:
    """Raise unless the product of the two matrices exists.

    Raises:
        RuntimeError: they are no matrices, or their shapes do not fit.
    """
    for parameter, operand in ((first, left), ("mat2", right)):
        if len(operand.shape) != 2:
            raise RuntimeError(
                f"{parameter} must be a matrix, got {len(operand.shape)}-D tensor {shapes_text(left, right)}"
            )
    if left.shape[1] != right.shape[0]:
        (n, k), (j, m) = left.shape, right.shape
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({n}x{k} and {j}x{m})")


def check_stacks(left: Layout, right: Layout) -> None:
    """Raise unless the products of the two stacks of matrices exist.

    Raises:
        RuntimeError: they are no stacks, or their shapes do not fit.
    """
    for number, operand in enumerate((left, right), 1):
        if len(operand.shape) != 3:
            raise RuntimeError(f"batch{number} must be a 3D tensor {shapes_text(left, right)}")
    first, second = left.shape, right.shape
    if first[0] != second[0] or first[2] != second[1]:
        expected = [first[0], first[2]]
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: {expected} but got: "
            f"{list(second[:2])}."
        )


def check_rank(function: str, parameter: str, shape: tuple[int, ...]) -> None:
    """Raise unless this is the shape of a matrix, or of a batch of them.

    Raises:
        RuntimeError: it has fewer dimensions.
    """
    if len(shape) < 2:
        raise RuntimeError(
            f"{function}: The input tensor {parameter} must have at least 2 dimensions. (shape {list(shape)})"
        )


def check_square(function: str, A: Layout) -> None:
    """Raise unless a tensor is a square matrix, or a batch of them, of floating-point or complex numbers.

    Raises:
        RuntimeError: it is not.
    """
    kind = A.type.dtype
    if not kind.differentiable:
        raise RuntimeError(
            f"{function}: Expected a floating point or complex tensor as input. Got {kind.legacy} {shapes_text(A)}"
        )
    check_rank(function, "A", A.shape)
    rows, columns = A.shape[-2:]
    if rows != columns:
        raise RuntimeError(
            f"{function}: A must be batches of square matrices, but they are {rows} by {columns} matrices "
            f"{shapes_text(A)}"
        )
