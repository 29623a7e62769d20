"""The writer of data for TensorBoard, of the package tensorboardX.

``SummaryWriter`` is tensorboardX's class with ``add_...`` methods that accept tensors.  It is made on first access.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NoReturn

from ...tensors.tensor import Tensor


def __getattr__(name: str) -> Any:
    if name == "SummaryWriter":
        return _summary_writer()
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


@functools.cache
def _summary_writer() -> type:
    try:
        import tensorboardX  # an optional dependency
    except ImportError:
        raise ImportError("torch.utils.tensorboard needs the package tensorboardX: pip install tensorboardX") from None

    class SummaryWriter(tensorboardX.SummaryWriter):
        """Writer of tensorboardX, whose ``add_...`` methods accept tensors."""

        @property
        def log_dir(self) -> str:
            """The directory written to."""
            return self.logdir

        def add_graph(self, *args: Any, **kwargs: Any) -> NoReturn:
            """Raise NotImplementedError: tensorboardX relies on PyTorch's tracing of the model."""
            raise NotImplementedError("add_graph: PyTorch would trace the model; numgrad.viz.draw(result) draws it")

    for name in dir(tensorboardX.SummaryWriter):
        if name.startswith("add_") and name != "add_graph":
            setattr(SummaryWriter, name, _of_arrays(getattr(tensorboardX.SummaryWriter, name)))
    return SummaryWriter


def _of_arrays(method: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a method to receive arrays instead of tensors."""

    @functools.wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        return method(self, *_as_arrays(args), **_as_arrays(kwargs))

    return call


def _as_arrays(value: Any) -> Any:
    """Return the value with arrays instead of the tensors in it."""
    if isinstance(value, Tensor):
        return value.detach().cpu().numpy()
    if type(value) in (list, tuple):
        return type(value)([_as_arrays(item) for item in value])
    if type(value) is dict:
        return {key: _as_arrays(item) for key, item in value.items()}
    return value
