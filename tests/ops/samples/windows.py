"""Samples of views that may overlap."""

import numpy as np
from ops.sampling import sample, without

import numgrad

without("unfold_backward", "0-d")


def _strided(x, size, stride):
    return np.lib.stride_tricks.as_strided(x, size, [step * x.itemsize for step in stride])


def _windows(x, dim, size, step):
    if not x.shape:
        return x.reshape(size)
    return np.lib.stride_tricks.sliding_window_view(x, size, dim)[(slice(None),) * dim + (slice(None, None, step),)]


def _overlapped(x, shape, dim, size, step):
    out = np.zeros(shape, x.dtype)
    for number, window in enumerate(np.moveaxis(x, dim, 0) if x.ndim > 1 else [x]):
        place = np.moveaxis(out, dim, -1) if shape else out.reshape(1)
        place[..., number * step : number * step + size] += window
    return out


for _shape, _size, _stride in (((3, 4), (2, 2), (1, 2)), ((3, 4), (2, 3), (1, 1)), ((2, 3), (4,), (0,)),
                               ((0, 3), (0,), (1,)), ((), (2,), (0,))):
    sample("as_strided_op", _strided, _shape, call=numgrad.as_strided, args=(_size, _stride), memory="view")
for _shape, *_how in (((2, 5), 1, 3, 1), ((5, 2), 0, 2, 2), ((0, 3), 1, 2, 1), ((), 0, 1, 1)):
    sample("unfold_op", _windows, _shape, args=tuple(_how), memory="view")
for _given, _shape, *_how in (((2, 3, 3), (2, 5), 1, 3, 1), ((2, 3), (4,), 0, 3, 1), ((0, 2, 2), (0, 3), 1, 2, 1),
                              ((1,), (), 0, 1, 1)):
    sample("unfold_backward", _overlapped, _given, args=(_shape, *_how), dtypes=("float32", "float64", "int64"))


def _restrided(x, source, target, counted):
    def indices(geometry):
        steps = [np.arange(extent) * step for extent, step in zip(*geometry[:2], strict=True)]
        return geometry[2] + sum(np.ix_(*steps), np.zeros(geometry[0], int)) if steps else np.asarray(geometry[2])

    memory, counts = np.zeros(100), np.zeros(100)
    np.add.at(memory, indices(source), x)
    np.add.at(counts, indices(counted), 1)
    return (memory / np.maximum(counts, 1))[indices(target)].astype(x.dtype)


_DENSE, _OVERLAPPING, _PART = ((3, 4), (4, 1), 0), ((2, 3), (1, 1), 2), ((2, 2), (2, 5), 3)
for _source, _target, _counted in ((_DENSE, _OVERLAPPING, _DENSE), (_OVERLAPPING, _DENSE, _DENSE),
                                   (_OVERLAPPING, _PART, _OVERLAPPING), (((0, 3), (3, 1), 0), _PART, _PART),
                                   (((), (), 4), _DENSE, _DENSE)):
    sample("restrided", _restrided, _source[0], args=(_source, _target, _counted), dtypes=("float32", "float64"))
