"""What PyTorch calls the operations of the table, as profilers show them: ``aten::mul``, ``aten::add_``.

Some entries of the table serve a public function that has several (``sum_all``, ``sum_dims``), and some have names of
their own; but the nodes have PyTorch's names, and those come from the names of PyTorch's operations.
"""

from __future__ import annotations

import functools
import re
from typing import Any

__all__ = ["of_operation", "of_overwriting"]

#: Operations whose names are not those of their nodes.
_OTHERWISE = {
    "fft_c2c": "_fft_c2c", "fft_c2r": "_fft_c2r", "fft_r2c": "_fft_r2c",
    "index_put_impl": "index_put", "log_softmax_backward_data": "_log_softmax_backward_data",
    "prelu_kernel_backward": "_prelu_kernel_backward", "reshape_alias": "_reshape_alias",
    "safe_softmax": "_safe_softmax",
    "scaled_dot_product_flash_attention_for_cpu": "scaled_dot_product_attention",
    "scaled_dot_product_flash_attention_for_cpu_backward": "_scaled_dot_product_flash_attention_for_cpu_backward",
    "softmax_backward_data": "_softmax_backward_data", "to_copy": "to", "unsafe_view": "_unsafe_view",
}


@functools.cache
def of_operation(op: Any, in_place: bool) -> str:
    """The title of an entry of the table."""
    from .table import public_functions  # which makes use of this module

    name = op.name.removesuffix("_op")
    if name not in public_functions:
        name = _from_node(op.node_class.__name__)
    return f"aten::{name}{'_' if in_place else ''}"


@functools.cache
def of_overwriting(name: str) -> str:
    """The title of what overwrites a tensor, given the name of the method or of the node's class."""
    return f"aten::{name if name.endswith('_') else _from_node(name) + '_'}"


def _from_node(name: str) -> str:
    """``SumBackward1`` is of ``sum``, ``MseLossBackward0`` of ``mse_loss``."""
    stem = re.sub(r"Backward\d*(_copy)?$", r"\1", name)
    own = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z0-9])(?=[A-Z][a-z])", "_", stem).lower()
    return _OTHERWISE.get(own, own)
