"""Samples of copies and of views of all elements."""

import numpy as np
from ops.sampling import LAYOUTS, sample, without

import numgrad
from numgrad.core.layout import view_strides
from numgrad.core.types import float64, tensor_type
from numgrad.ops.table.op import ops

without("select_op slice_op unbind_op formatted_op to_format", "0-d")
# Operations that take over the memory of a contiguous result that no other tensor uses.
without("unsafe_view", "transposed", "stepped", "broadcast")
without("squeeze_result", "transposed", "stepped", "broadcast", "0-d")
# Operations that need a second device: see tests/on_gpu/test_moving.py.
without("move_op pin_op", *LAYOUTS)

# -- copies ---------------------------------------------------------------------------------------------------

for _shape in ((2, 3, 4), (0, 3), ()):
    sample("clone_op", np.copy, _shape, call=numgrad.clone, memory="kept")
    sample("contiguous_op", np.copy, _shape)
    sample(
        "to_type", lambda x, kind: x.astype(np.float64), _shape,
        args=(tensor_type(float64),), dtype="float64", memory="kept",
    )



def _channels_last(x, *how):
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 1, -1)), -1, 1)


for _shape in ((2, 3, 2, 4), (0, 3, 2, 2)):
    sample("formatted_op", _channels_last, _shape, args=(numgrad.channels_last,), memory="reference")
    sample(
        "to_format", lambda x, *how: _channels_last(x.astype(np.float64)), _shape,
        args=(tensor_type(float64), numgrad.channels_last), dtype="float64", memory="reference",
    )

# -- views ----------------------------------------------------------------------------------------------------


def _reshape_alias(x, shape):
    return ops["reshape_alias"](x, shape, view_strides(x.shape, x.stride(), shape))


def _squeezed(x, dims):
    return x.reshape([extent for dim, extent in enumerate(x.shape) if extent != 1 or dim not in dims])


for _shape, _target in (((4, 6), (4, 2, 3)), ((4, 6), (4, 1, 6)), ((0, 6), (0, 3, 2)), ((), (1, 1))):
    sample("view_as_shape", np.reshape, _shape, args=(_target,), memory="view")
for _shape, _target in (((4, 6), (4, 2, 3)), ((0, 6), (0, 3, 2)), ((), (1, 1))):
    sample("reshape_alias", np.reshape, _shape, args=(_target,), memory="view", call=_reshape_alias)
for _shape, _target in (((4, 6), (3, 8)), ((0, 6), (2, 0)), ((), (1,))):
    sample("unsafe_view", np.reshape, _shape, args=(_target,), memory="taken")
for _shape, _dims in (((2, 3, 4), (2, 0, 1)), ((0, 3), (1, 0)), ((), ())):
    sample("permute_op", np.transpose, _shape, args=(_dims,), memory="view")
sample("transpose_op", np.swapaxes, (2, 3, 4), args=(0, 2), memory="view")
sample("transpose_op", np.swapaxes, (0, 3), args=(0, 1), memory="view")
sample("transpose_op", lambda x, *dims: x[...], (), args=(0, 0), memory="view")
for _shape in ((2, 3), (0, 2), ()):
    sample("alias", lambda x: x[...], _shape, memory="view")
    sample("primal_of", lambda x: x[...], _shape, memory="view")
for _shape in ((2, 3), (3,), (0, 2), ()):
    sample("t_op", np.transpose, _shape, memory="view")
for _shape in ((1, 3, 1, 2), (3,), (1, 0), ()):
    sample("squeeze_all", np.squeeze, _shape, memory="view")
for _shape, _dim in (((2, 1, 3), 1), ((2, 1, 3), 2), ((1, 0), 0), ((), 0)):
    sample("squeeze_dim", lambda x, dim: _squeezed(x, (dim,)), _shape, args=(_dim,), memory="view")
for _shape, _dims in (((1, 2, 1, 3), (0, 2, 3)), ((1, 0), (0, 1)), ((), ())):
    sample("squeeze_dims", _squeezed, _shape, args=(_dims,), memory="view")
for _shape in ((2, 1, 3), (0, 1)):
    sample("squeeze_result", np.squeeze, _shape, args=(1,), memory="taken")
for _shape, _dim in (((2, 3), 0), ((2, 3), 1), ((2, 3), 2), ((0, 3), 1), ((), 0)):
    sample("unsqueeze_op", np.expand_dims, _shape, args=(_dim,), memory="view")
for _shape, _target in (((2, 3), (4, 2, 3)), ((2, 1, 3), (2, 4, 3)), ((0, 1), (0, 3)), ((), (2, 2))):
    sample("expand_op", lambda x, shape: np.broadcast_to(x, shape), _shape, args=(_target,), memory="view")
for _index in (0, 2):
    sample("select_op", lambda x, dim, i: np.moveaxis(x, dim, 0)[i, ...], (2, 3, 4), args=(1, _index), memory="view")
sample("select_op", lambda x, dim, i: x[i, ...], (3,), args=(0, 1), memory="view")
sample("select_op", lambda x, dim, i: x[i, ...], (2, 0), args=(0, 1), memory="view")
for _shape, *_bounds in (((2, 7), 1, 6, 2), ((2, 5), 2, 4, 1), ((2, 3), 3, 3, 1), ((0, 3), 0, 2, 1)):
    sample("slice_op", lambda x, dim, *bounds: x[:, slice(*bounds)], _shape, args=(1, *_bounds), memory="view")
for _shape, _dim in (((2, 3, 4), 1), ((3,), 0), ((0, 3), 1)):
    sample("unbind_op", lambda x, dim: tuple(np.moveaxis(x, dim, 0)[i, ...] for i in range(x.shape[dim])), _shape,
           args=(_dim,), memory="view")
