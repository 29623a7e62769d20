"""The ``out`` argument of functions that create tensors."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ...tensors.tensor import Tensor
from ..table.arguments import wrong_kind
from ..table.checks import check
from ..table.out import write_out
from ..table.public_signatures import linked, of_function, with_out


def takes_out(create: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Return a function that creates a tensor, and takes ``out``, a tensor to overwrite with it.

    The new tensor has the dtype and, unless another is given, the device of ``out``.

    Raises:
        TypeError: ``out`` is not a tensor.
        RuntimeError: another dtype is given.
    """

    @functools.wraps(create)
    def call(*args: Any, out: Any = None, **kwargs: Any) -> Tensor:
        if out is None:
            return create(*args, **kwargs)
        name = create.__name__
        if not isinstance(out, Tensor):
            raise wrong_kind(name, "out", None, Tensor, out)
        given = kwargs.get("dtype") or out.dtype
        check(
            given is out.dtype, "dtype {} does not match dtype of out parameter ({})", given.legacy, out.dtype.legacy
        )
        return write_out(name, out, create(*args, **{"device": out.device, **kwargs, "dtype": given}))

    return linked(call, create, lambda function: with_out(of_function(function)))
