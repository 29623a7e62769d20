"""What each operation of the table is tried on: one line, or a few, for each.

``sample("tanh", np.tanh)`` is all that a pointwise operation needs: shapes and layouts are generated.  Any other
operation says which shapes it is tried on (one of them empty, one 0-d where it takes such) and with which further
arguments, which its NumPy reference takes as well:

    sample("flip_", np.flip, (2, 3, 4), args=((0, 2),))

A sample says which elements it is tried on where not all will do (``domain``), and for which dtypes the operation is
defined (``dtypes``).  An operation reached through a public function that checks its arguments is sampled through it
(``call``, which is the rule for pointwise ones); then dtypes that are not listed must be refused.
"""

import numpy as np
from ops.sampling import (
    ALL,
    ANY,
    CONDITION,
    FLOATS,
    NONZERO,
    NUMBERS,
    POSITIVE,
    SAMPLES,
    UNIT,
    between,
    index,
    sample,
)

import numgrad
from numgrad._types import float64, tensor_type

__all__ = ["SAMPLES", "WITHOUT"]

INTEGERS = ("int64", "bool")

#: Layouts that an operation does not have, and why.
WITHOUT = {
    **dict.fromkeys(["select_", "slice_", "unbind_", "transpose_", "cat_"], {"0-d"}),  # need a dimension
    **dict.fromkeys(["put_along", "take_along", "pick", "put", "nll_loss_"], {"0-d"}),
    **dict.fromkeys(["mm_", "mv_", "dot_", "bmm_"], {"0-d"}),  # of matrices and vectors
    **dict.fromkeys(["max_all", "min_all"], {"empty"}),  # nothing to choose from
    # they take over the memory of a result nobody else holds, which is contiguous
    "unsafe_view": {"transposed", "stepped", "broadcast"},
    "squeeze_result": {"transposed", "stepped", "broadcast", "0-d"},
}
for _vectors in ("dot_", "stack_", "nll_loss_"):
    WITHOUT.setdefault(_vectors, set())

# -- arithmetic -------------------------------------------------------------------------------------------------

sample("add", np.add)
sample("add", lambda x, y, alpha: x + alpha * y, alpha=3, dtypes=NUMBERS)
sample("sub", np.subtract, dtypes=NUMBERS)
sample("sub", lambda x, y, alpha: x - alpha * y, alpha=2, dtypes=NUMBERS)
sample("rsub", lambda x, y: y - x, dtypes=NUMBERS)
sample("rsub", lambda x, y, alpha: y - alpha * x, alpha=2, dtypes=NUMBERS)
sample("mul", np.multiply)
sample("div", np.true_divide, domain=(ANY, NONZERO))
sample("reciprocal", lambda x: 1 / x, domain=NONZERO)
sample("neg", np.negative, dtypes=NUMBERS)
sample("abs", np.abs, dtypes=NUMBERS)
sample("sign", lambda x: x if x.dtype == bool else np.sign(x))
sample("floor_divide", np.floor_divide, domain=(ANY, NONZERO), dtypes=NUMBERS)
sample("remainder", np.remainder, domain=(ANY, NONZERO), dtypes=NUMBERS)

# -- powers and transcendental functions ------------------------------------------------------------------------

for _exponent in (0, 1, 2, 3, 5):
    sample("pow_number", lambda x, n: x**n, args=(_exponent,), call=numgrad.pow, dtypes=NUMBERS)
for _exponent in (-1, -2, -3):
    sample("pow_number", lambda x, n: x**n, args=(_exponent,), call=numgrad.pow, domain=NONZERO, dtypes=FLOATS)
for _exponent in (0.5, -0.5, 2.5):
    sample("pow_number", lambda x, n: x.astype(float)**n, args=(_exponent,), call=numgrad.pow, domain=POSITIVE)
sample("pow_tensor", np.power, call=numgrad.pow, domain=(POSITIVE, POSITIVE), dtypes=NUMBERS)
sample("sqrt", np.sqrt, domain=POSITIVE)
sample("exp", np.exp)
sample("log", np.log, domain=POSITIVE)
sample("tanh", np.tanh)
sample("sigmoid", lambda x: 1 / (1 + np.exp(-x.astype(float))))
sample("log_one_plus_exp", lambda x: np.logaddexp(0, x), dtypes=FLOATS)

# -- choosing and comparing -------------------------------------------------------------------------------------

sample("relu", lambda x: np.maximum(x, 0), dtypes=NUMBERS)
sample("maximum", np.maximum)
sample("minimum", np.minimum)
sample("choose", np.where, domain=(CONDITION, ANY, ANY), call=numgrad.where)
sample("eq", np.equal)
sample("ne", np.not_equal)
sample("lt", np.less)
sample("le", np.less_equal)
sample("gt", np.greater)
sample("ge", np.greater_equal)
sample("isnan", np.isnan)
sample("logical_not", np.logical_not)

# -- bits -------------------------------------------------------------------------------------------------------

sample("bitwise_and", np.bitwise_and, dtypes=INTEGERS)
sample("bitwise_or", np.bitwise_or, dtypes=INTEGERS)
sample("bitwise_xor", np.bitwise_xor, dtypes=INTEGERS)
sample("bitwise_left_shift", np.left_shift, domain=(ANY, between(0, 3)), dtypes=("int64",))
sample("bitwise_right_shift", np.right_shift, domain=(ANY, between(0, 3)), dtypes=("int64",))
sample("invert_bits", np.invert, call=numgrad.bitwise_not, dtypes=INTEGERS)

# -- copies -----------------------------------------------------------------------------------------------------

for _shape in ((2, 3, 4), (0, 3), ()):
    sample("clone_", np.copy, _shape, call=numgrad.clone, memory="kept")
    sample("contiguous_", np.copy, _shape)
    sample(
        "to_type", lambda x, kind: x.astype(np.float64), _shape,
        args=(tensor_type(float64),), dtype="float64", memory="kept",
    )

# -- views ------------------------------------------------------------------------------------------------------


def _squeezed(x, dims):
    return x.reshape([extent for dim, extent in enumerate(x.shape) if extent != 1 or dim not in dims])


for _shape, _target in (((4, 6), (4, 2, 3)), ((4, 6), (4, 1, 6)), ((0, 6), (0, 3, 2)), ((), (1, 1))):
    sample("view_as_shape", np.reshape, _shape, args=(_target,), memory="view")
for _shape, _target in (((4, 6), (3, 8)), ((0, 6), (2, 0)), ((), (1,))):
    sample("unsafe_view", np.reshape, _shape, args=(_target,), memory="taken")
for _shape, _dims in (((2, 3, 4), (2, 0, 1)), ((0, 3), (1, 0)), ((), ())):
    sample("permute_", np.transpose, _shape, args=(_dims,), memory="view")
sample("transpose_", np.swapaxes, (2, 3, 4), args=(0, 2), memory="view")
sample("transpose_", np.swapaxes, (0, 3), args=(0, 1), memory="view")
for _shape in ((2, 3), (3,), (0, 2), ()):
    sample("t_", np.transpose, _shape, memory="view")
for _shape in ((1, 3, 1, 2), (3,), (1, 0), ()):
    sample("squeeze_all", np.squeeze, _shape, memory="view")
for _shape, _dim in (((2, 1, 3), 1), ((2, 1, 3), 2), ((1, 0), 0), ((), 0)):
    sample("squeeze_dim", lambda x, dim: _squeezed(x, (dim,)), _shape, args=(_dim,), memory="view")
for _shape, _dims in (((1, 2, 1, 3), (0, 2, 3)), ((1, 0), (0, 1)), ((), ())):
    sample("squeeze_dims", _squeezed, _shape, args=(_dims,), memory="view")
for _shape in ((2, 1, 3), (0, 1)):
    sample("squeeze_result", np.squeeze, _shape, args=(1,), memory="taken")
for _shape, _dim in (((2, 3), 0), ((2, 3), 1), ((2, 3), 2), ((0, 3), 1), ((), 0)):
    sample("unsqueeze_", np.expand_dims, _shape, args=(_dim,), memory="view")
for _shape, _target in (((2, 3), (4, 2, 3)), ((2, 1, 3), (2, 4, 3)), ((0, 1), (0, 3)), ((), (2, 2))):
    sample("expand_", lambda x, shape: np.broadcast_to(x, shape), _shape, args=(_target,), memory="view")
for _index in (0, 2):
    sample("select_", lambda x, dim, i: np.moveaxis(x, dim, 0)[i, ...], (2, 3, 4), args=(1, _index), memory="view")
sample("select_", lambda x, dim, i: x[i, ...], (3,), args=(0, 1), memory="view")
sample("select_", lambda x, dim, i: x[i, ...], (2, 0), args=(0, 1), memory="view")
for _shape, _arguments in (((2, 7), (1, 1, 6, 2)), ((5, 2), (0, 2, 4, 1)), ((3, 2), (0, 3, 3, 1)), ((0, 3), (1, 0, 2, 1))):
    sample(
        "slice_", lambda x, dim, *bounds: x[(slice(None),) * dim + (slice(*bounds),)], _shape,
        args=_arguments, memory="view",
    )
for _shape, _dim in (((2, 3, 4), 1), ((3,), 0), ((0, 3), 1)):
    sample("unbind_", lambda x, dim: tuple(np.moveaxis(x, dim, 0)[i, ...] for i in range(x.shape[dim])), _shape,
           args=(_dim,), memory="view")

# -- copies of parts, and joins ---------------------------------------------------------------------------------

for _shape, _dims in (((2, 3, 4), (0, 2)), ((3,), (0,)), ((0, 3), (0, 1)), ((), ())):
    sample("flip_", lambda x, dims: np.flip(x, dims).copy(), _shape, args=(_dims,))


def _placed(x, shape, where):
    out = np.zeros(shape, x.dtype)
    out[where] = x
    return out


for _given, _shape, _dim, _index in (((2, 4), (2, 3, 4), 1, 2), ((), (3,), 0, 1), ((0,), (2, 0), 0, 1)):
    sample("select_backward", lambda x, shape, dim, i: _placed(x, shape, (slice(None),) * dim + (i,)), _given,
           args=(_shape, _dim, _index))
for _given, _shape, *_arguments in (((2, 3), (2, 7), 1, 1, 6, 2), ((0, 2), (3, 2), 0, 1, 1, 1), ((), (), 0, 0, 1, 1)):
    if _shape:
        sample("slice_backward", lambda x, shape, dim, *b: _placed(x, shape, (slice(None),) * dim + (slice(*b),)),
               _given, args=(_shape, *_arguments))
sample("cat_", lambda *x: np.concatenate(x[:2], 1), (2, 3), (2, 4), args=(1, (3, 4)))
sample("cat_", lambda *x: np.concatenate(x[:3]), (2, 3), (0, 3), (1, 3), args=(0, (2, 0, 1)))
sample("stack_", lambda *x: np.stack(x[:3], x[3]), (2, 3), (2, 3), (2, 3), args=(1,))
sample("stack_", lambda *x: np.stack(x[:2], x[2]), (0, 3), (0, 3), args=(2,))
sample("stack_", lambda *x: np.stack(x[:2], x[2]), (), (), args=(0,))
