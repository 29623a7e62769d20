"""Samples of operations on complex numbers and their parts."""

import numpy as np
from ops.sampling import NONZERO, between, sample, without

without("view_as_complex_op", "transposed", "stepped", "broadcast", "0-d")  # pairs must lie side by side

_COMPLEX = ("complex128",)

# -- parts ------------------------------------------------------------------------------------------------------


def _view_as_real(z):
    return np.lib.stride_tricks.as_strided(z.real, (*z.shape, 2), (*z.strides, z.itemsize // 2))


sample("conj_physical", lambda x: x if x.dtype == bool else np.conj(x))
sample("angle", lambda x: np.angle(x * 1.0))
for _shape in ((2, 3), (0, 3), ()):
    sample("view_as_real_op", _view_as_real, _shape, dtypes=_COMPLEX, dtype="float64", memory="view")
    sample("complex_op", lambda x, y: x + 1j * y, _shape, _shape, dtypes=("float64",))
    sample("polar_op", lambda x, y: x * np.exp(1j * y), _shape, _shape, dtypes=("float64",))
for _shape in ((3, 2), (0, 2)):
    sample("view_as_complex_op", lambda x: np.ascontiguousarray(x).view(np.complex128)[..., 0], _shape,
           dtypes=("float64",), memory="taken")

# -- formulas that complex numbers have of their own ------------------------------------------------------------


def _near(x, y, rtol, atol):
    return np.isclose(x, y, rtol, atol)


sample("sgn_complex", lambda z: z / np.abs(z), dtypes=_COMPLEX)
sample("abs_complex", np.abs, dtypes=_COMPLEX, dtype="float64")
sample("angle_complex", np.angle, dtypes=_COMPLEX, dtype="float64")
sample("pow_complex", np.power, dtypes=_COMPLEX, domain=NONZERO)
sample("asinh_complex", np.arcsinh, dtypes=_COMPLEX, domain=between(-3, 3))
sample("atan_complex", np.arctan, dtypes=_COMPLEX, domain=between(-3, 3))
sample("acosh_complex", np.arccosh, dtypes=_COMPLEX, domain=between(-3, 3))
sample("lerp_complex", lambda x, y, w: x + w * (y - x), dtypes=_COMPLEX)
sample("isclose_complex", _near, dtypes=_COMPLEX, rtol=0.3, atol=1.2)
