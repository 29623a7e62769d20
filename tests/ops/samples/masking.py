"""Samples of masks."""

import numpy as np
from ops.sampling import ANY, CONDITION, sample, without

without("masked_scatter_backward", "0-d")

for _shape, _mask in (((2, 3), (2, 3)), ((2, 3), (3,)), ((0, 3), (0, 3)), ((), ())):
    sample("masked_fill_number", lambda x, mask, value: np.where(mask, np.asarray(value, x.dtype), x), _shape, _mask,
           args=(1,), domain=(ANY, CONDITION))
    sample("masked_fill_tensor", lambda x, mask, value: np.where(mask, value, x), _shape, _mask, (),
           domain=(ANY, CONDITION, ANY))
    sample("masked_select_op", lambda x, mask: x[np.broadcast_to(mask, x.shape)], _shape, _mask,
           domain=(ANY, CONDITION))


def _scattered(x, mask, source):
    out = x.copy()
    mask = np.broadcast_to(mask, x.shape)
    out[mask] = source.ravel()[: mask.sum()]
    return out


def _picked(grad, mask, shape):
    out = np.zeros(shape, grad.dtype)
    picked = grad[np.broadcast_to(mask, grad.shape)]
    out.ravel()[: picked.size] = picked
    return out


for _shape, _mask in (((2, 3), (2, 3)), ((2, 3), (3,)), ((0, 3), (0, 3)), ((), ())):
    sample("masked_scatter_op", _scattered, _shape, _mask, _shape, domain=(ANY, CONDITION, ANY))
    if _shape:
        sample("masked_scatter_backward", _picked, _shape, _mask, args=((_shape[0], 4),), domain=(ANY, CONDITION))

for _shape in ((2, 3), (0, 3), ()):
    sample("flat_nonzero_op", lambda x: np.flatnonzero(x), _shape, dtype="int64")
    sample("nonzero_op", lambda x, as_tuple: np.stack(np.nonzero(np.atleast_1d(x))), _shape, args=(True,),
           dtype="int64")
    sample("nonzero_op", lambda x, as_tuple: np.argwhere(x), _shape, args=(False,), dtype="int64", memory="reference")
