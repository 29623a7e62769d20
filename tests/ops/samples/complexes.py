"""Samples of operations on complex numbers and their parts."""

import numpy as np
from ops.sampling import Domain, sample, without

without("view_as_complex_op", "transposed", "stepped", "broadcast", "0-d")  # pairs must lie side by side

_PAIRS = Domain(lambda u: 4 * u - 2, "float32")  # no gradient: numgrad has no derivatives of complex numbers


def _view_as_real(z):
    return np.lib.stride_tricks.as_strided(z.real, (*z.shape, 2), (*z.strides, 4))


sample("conj_physical", lambda x: x if x.dtype == bool else np.conj(x))
sample("angle", lambda x: np.angle(x * 1.0))
for _shape in ((2, 3), (0, 3), ()):
    sample("real_op", np.real, _shape, dtypes=("complex64",), memory="view")
    sample("imag_op", np.imag, _shape, dtypes=("complex64",), memory="view")
    sample("view_as_real_op", _view_as_real, _shape, dtypes=("complex64",), memory="view")
    sample("complex_op", lambda x, y, shape: (x + 1j * y).astype(np.complex64), _shape, _shape, args=(_shape,),
           domain=_PAIRS, dtypes=("float32",))
for _shape in ((3, 2), (0, 2)):
    sample("view_as_complex_op", lambda x: np.ascontiguousarray(x, np.float32).view(np.complex64)[..., 0], _shape,
           domain=_PAIRS, dtypes=("float32",), memory="taken")
