"""What matrix products ask of their operands, with PyTorch's words where they do not have it."""

from __future__ import annotations

from typing import Any

from ..._tensor import Tensor
from ..._types import bool_, dtype

__all__ = ["check_matrices", "check_stacks", "fit", "refuse_bools", "scalar_name", "shapes_text"]

_SCALARS = {
    "bool": "bool", "uint8": "unsigned char", "int8": "signed char", "int16": "short int", "int32": "int",
    "int64": "long int", "float32": "float", "float64": "double", "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
}


def scalar_name(kind: dtype) -> str:
    """What PyTorch's errors call the dtype's numbers."""
    return _SCALARS[kind.name]


def shapes_text(*tensors: Tensor) -> str:
    """The tensors' shapes, for an error message."""
    return f"(shapes {', '.join([str(list(tensor._layout.shape)) for tensor in tensors])})"


def refuse_bools(kernel: str, *tensors: Tensor) -> None:
    """Raise if the tensors are bool, for which there are no products.

    Raises:
        NotImplementedError: they are.
    """
    if tensors[0]._layout.type.dtype is bool_:
        if tensors[0].is_cuda:
            kernel = kernel.replace("impl_cpu_", "cuda").replace("cpu", "cuda")
        raise NotImplementedError(f"\"{kernel}\" not implemented for 'Bool' {shapes_text(*tensors)}")


def fit(left: Any, right: Any, rank: int) -> bool:
    """Whether the two are matrices, or with rank 3 stacks of them, of numbers of one dtype, and their product exists.

    All that the checks ask, in short.
    """
    if not (isinstance(left, Tensor) and isinstance(right, Tensor)):
        return False
    one, other = left._layout, right._layout
    return (
        one.type is other.type
        and len(one.shape) == rank == len(other.shape)
        and one.shape[-1] == other.shape[-2]
        and one.shape[:-2] == other.shape[:-2]
        and one.type.dtype is not bool_
    )


def check_matrices(left: Tensor, right: Tensor, first: str = "self") -> None:
    """Raise unless the product of the two matrices exists.

    Raises:
        RuntimeError: they are no matrices, or their shapes do not fit.
    """
    for parameter, operand in ((first, left), ("mat2", right)):
        if len(operand._layout.shape) != 2:
            raise RuntimeError(
                f"{parameter} must be a matrix, got {len(operand._layout.shape)}-D tensor {shapes_text(left, right)}"
            )
    if left._layout.shape[1] != right._layout.shape[0]:
        (n, k), (j, m) = left._layout.shape, right._layout.shape
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({n}x{k} and {j}x{m})")


def check_stacks(left: Tensor, right: Tensor) -> None:
    """Raise unless the products of the two stacks of matrices exist.

    Raises:
        RuntimeError: they are no stacks, or their shapes do not fit.
    """
    for number, operand in enumerate((left, right), 1):
        if len(operand._layout.shape) != 3:
            raise RuntimeError(f"batch{number} must be a 3D tensor {shapes_text(left, right)}")
    first, second = left._layout.shape, right._layout.shape
    if first[0] != second[0] or first[2] != second[1]:
        expected = [first[0], first[2]]
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: {expected} but got: "
            f"{list(second[:2])}."
        )
