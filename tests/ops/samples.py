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

#: Layouts that an operation does not have.
WITHOUT = {
    **dict.fromkeys(["select_", "slice_", "slice_backward", "unbind_", "cat_"], ("0-d",)),
    **dict.fromkeys(["put_along", "take_along", "pick", "nll_loss_", "mm_", "mv_", "bmm_"], ("0-d",)),
    **dict.fromkeys(["dot_", "put"], ("0-d", "transposed")),  # of vectors
    **dict.fromkeys(["max_all", "min_all"], ("empty",)),  # nothing to choose from
    # They take over the memory of a result that nobody else holds, and that is contiguous.
    "unsafe_view": ("transposed", "stepped", "broadcast"),
    "squeeze_result": ("transposed", "stepped", "broadcast", "0-d"),
}

# -- arithmetic -------------------------------------------------------------------------------------------------

sample("add", np.add)
sample("add", lambda x, y, alpha: x + np.asarray(alpha, x.dtype) * y, alpha=3)
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



def _power(x, exponent):
    return (x.astype(int) if isinstance(exponent, int) and x.dtype == bool else x) ** exponent


for _exponent in (2, 5):
    sample("pow_number", _power, args=(_exponent,), call=numgrad.pow)
sample("pow_number", _power, args=(-2,), call=numgrad.pow, domain=NONZERO, dtypes=FLOATS)
for _exponent in (0.5, 2.5):
    sample("pow_number", _power, args=(_exponent,), call=numgrad.pow, domain=POSITIVE)
sample("pow_tensor", np.power, call=numgrad.pow, domain=(POSITIVE, POSITIVE), dtypes=NUMBERS)
sample("sqrt", np.sqrt, domain=POSITIVE)
sample("exp", np.exp)
sample("log", np.log, domain=POSITIVE)
sample("tanh", np.tanh)
sample("sigmoid", lambda x: 1 / (1 + np.exp(-x.astype(float))))
sample("log_one_plus_exp", lambda x: np.logaddexp(0, x), dtypes=FLOATS)

# -- choosing and comparing -------------------------------------------------------------------------------------

sample("relu", lambda x: np.maximum(x, 0), dtypes=NUMBERS)
sample("relu_backward", lambda grad, out: np.where(out > 0, grad, 0), dtypes=NUMBERS)
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
sample("transpose_", lambda x, *dims: x[...], (), args=(0, 0), memory="view")
for _shape in ((2, 3), (0, 2), ()):
    sample("alias", lambda x: x[...], _shape, memory="view")
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
for _shape, *_bounds in (((2, 7), 1, 6, 2), ((2, 5), 2, 4, 1), ((2, 3), 3, 3, 1), ((0, 3), 0, 2, 1)):
    sample("slice_", lambda x, dim, *bounds: x[:, slice(*bounds)], _shape, args=(1, *_bounds), memory="view")
for _shape, _dim in (((2, 3, 4), 1), ((3,), 0), ((0, 3), 1)):
    sample("unbind_", lambda x, dim: tuple(np.moveaxis(x, dim, 0)[i, ...] for i in range(x.shape[dim])), _shape,
           args=(_dim,), memory="view")

# -- copies of parts, and joins ---------------------------------------------------------------------------------

for _shape, _dims in (((2, 3, 4), (0, 2)), ((3,), (0,)), ((0, 3), (0, 1)), ((), ())):
    sample("flip_", lambda x, dims: np.flip(x, dims).copy(), _shape, args=(_dims,), memory="kept")


def _placed(x, shape, where):
    out = np.zeros(shape, x.dtype)
    out[where] = x
    return out


for _given, _shape, _dim, _index in (((2, 4), (2, 3, 4), 1, 2), ((), (3,), 0, 1), ((0,), (2, 0), 0, 1)):
    sample("select_backward", lambda x, shape, dim, i: _placed(x, shape, (slice(None),) * dim + (i,)), _given,
           args=(_shape, _dim, _index))
for _given, _shape, *_bounds in (((2, 3), (2, 7), 1, 6, 2), ((2, 0), (2, 3), 1, 1, 1), ((2, 0), (2, 0), 0, 0, 1)):
    sample("slice_backward", lambda x, shape, dim, *bounds: _placed(x, shape, (slice(None), slice(*bounds))), _given,
           args=(_shape, 1, *_bounds))
sample("cat_", lambda parts, dim, _: np.concatenate(parts, dim), (2, 3), (2, 4), args=(1, (3, 4)))
sample("cat_", lambda parts, dim, _: np.concatenate(parts, dim), (2, 3), (0, 3), (1, 3), args=(0, (2, 0, 1)))
sample("stack_", np.stack, (2, 3), (2, 3), (2, 3), args=(1,))
sample("stack_", np.stack, (0, 3), (0, 3), args=(2,))
sample("stack_", np.stack, (), (), args=(0,))

# -- reductions -------------------------------------------------------------------------------------------------

_DIMS = [((2, 3, 4), (1,)), ((2, 3, 4), (0, 2)), ((2, 3, 4), (0, 1, 2)), ((3, 0), (0,)), ((3, 0), (1,)), ((), ())]

for _shape in ((2, 3, 4), (3, 0), ()):
    sample("sum_all", np.sum, _shape, call=numgrad.sum)
    sample("mean_all", np.mean, _shape, call=numgrad.mean, dtypes=FLOATS)
for _shape, _dims in _DIMS:
    for _keepdim in (False, True):
        sample("sum_dims", lambda x, dims, keepdim: x.sum(dims, keepdims=keepdim), _shape, args=(_dims, _keepdim))
        sample("mean_dims", lambda x, dims, keepdim: x.mean(dims, keepdims=keepdim), _shape, args=(_dims, _keepdim),
               call=numgrad.mean, dtypes=FLOATS)


def _extreme(values, places):
    def reference(x, dim, keepdim):
        if x.ndim == 0:
            return x, np.array(0)
        return values(x, dim, keepdims=keepdim), places(x, dim, keepdims=keepdim)

    return reference


for _shape in ((2, 3, 4), ()):
    sample("max_all", np.max, _shape, call=numgrad.max)
    sample("min_all", np.min, _shape, call=numgrad.min)
for _shape, _dim in (((2, 3, 4), 0), ((2, 3, 4), 2), ((0, 3), 1), ((), 0)):
    for _keepdim in (False, True):
        sample("max_dim", _extreme(np.max, np.argmax), _shape, args=(_dim, _keepdim), call=numgrad.max)
        sample("min_dim", _extreme(np.min, np.argmin), _shape, args=(_dim, _keepdim), call=numgrad.min)


def _put_along(x, indices, shape, dim):
    out = np.zeros(shape, x.dtype)
    np.put_along_axis(out, indices, x, dim)
    return out


for _given, _shape, _dim in (((3, 1, 2), (3, 4, 2), 1), ((1,), (3,), 0), ((0, 1), (0, 3), 1)):
    _domain = (ANY, index(_shape[_dim]))
    sample("put_along", _put_along, _given, _given, args=(_shape, _dim), domain=_domain)
    sample("take_along", np.take_along_axis, _shape, _given, args=(_dim,), domain=_domain)

# -- softmax and losses -----------------------------------------------------------------------------------------


def _softmax(x, dim):
    powers = np.exp(x - x.max(dim, keepdims=True)) if x.size else x
    return powers / powers.sum(dim, keepdims=True)


def _over_rows(function):
    """A function along a dimension: a 0-d array counts as one of one element."""
    return lambda *given: function(*[np.atleast_1d(x) for x in given[:-1]], given[-1]).reshape(given[0].shape)


_softmax_reference = _over_rows(_softmax)
_log_softmax_reference = _over_rows(lambda x, dim: np.log(_softmax(x, dim)))
_softmax_backward = _over_rows(lambda g, y, dim: y * (g - (g * y).sum(dim, keepdims=True)))
_log_softmax_backward = _over_rows(lambda g, y, dim: g - np.exp(y) * g.sum(dim, keepdims=True))

for _shape, _dim in (((2, 3), 1), ((2, 3, 4), 0), ((2, 3, 4), 1), ((0, 3), 1), ((3, 0), 1), ((), 0)):
    sample("softmax_", _softmax_reference, _shape, args=(_dim,), call=numgrad.softmax, dtypes=FLOATS)
    sample("log_softmax_", _log_softmax_reference, _shape, args=(_dim,), call=numgrad.log_softmax, dtypes=FLOATS)
    sample("softmax_backward", _softmax_backward, _shape, _shape, args=(_dim,), dtypes=FLOATS)
    sample("log_softmax_backward", _log_softmax_backward, _shape, _shape, args=(_dim,), dtypes=FLOATS)


def _pick(x, target, ignored):
    return np.where(target == ignored, 0, -np.take_along_axis(x, target[:, None], 1)[:, 0])


def _put(x, target, classes, ignored):
    return np.where(target == ignored, 0, -x)[:, None] * (target[:, None] == np.arange(classes))


def _nll_loss(x, target, ignored, count, reduction):
    losses = _pick(x, target, ignored)
    return losses if reduction == "none" else losses.sum() / (count if reduction == "mean" else 1)


_TARGETS = (ANY, index(3))
for _count in (4, 0):
    for _ignored in (-100, 1):
        sample("pick", _pick, (_count, 3), (_count,), args=(_ignored,), domain=_TARGETS, dtypes=FLOATS)
        sample("put", _put, (_count,), (_count,), args=(3, _ignored), domain=_TARGETS, dtypes=FLOATS)
    for _reduction in ("none", "sum"):
        sample("nll_loss_", _nll_loss, (_count, 3), (_count,), args=(1, 3.0, _reduction), domain=_TARGETS,
               dtypes=FLOATS)
sample("nll_loss_", _nll_loss, (4, 3), (4,), args=(-100, 4.0, "mean"), domain=_TARGETS, dtypes=FLOATS)


def _logit_loss(x, target, positive):
    return positive * target * np.logaddexp(0, -x) + (1 - target) * np.logaddexp(0, x)


def _logit_loss_gradient(grad, x, target, positive):
    return grad * ((1 - target) / (1 + np.exp(-x)) - positive * target / (1 + np.exp(x)))


def _bce_with_logits(x, target, weight, positive, reduction):
    losses = _logit_loss(x, target, 1 if positive is None else positive) * (1 if weight is None else weight)
    return losses if reduction == "none" else getattr(losses, reduction)()


sample("logit_loss", _logit_loss, domain=(ANY, UNIT, POSITIVE), dtypes=FLOATS)
sample("logit_loss_gradient", _logit_loss_gradient, domain=(ANY, ANY, UNIT, POSITIVE), dtypes=FLOATS)
for _shape in ((2, 3), (0, 3), ()):
    for _reduction in ("none", "mean", "sum"):
        for _weight, _positive in ((None, None), (_shape, None), (_shape[-1:], _shape[-1:])):
            sample("bce_with_logits_", _bce_with_logits, _shape, _shape, _weight, _positive, args=(_reduction,),
                   domain=(ANY, UNIT, POSITIVE, POSITIVE), dtypes=FLOATS,
                   memory="kept" if _reduction == "none" else "contiguous")

# -- matrix products --------------------------------------------------------------------------------------------

for _left, _right in (((2, 3), (3, 4)), ((2, 0), (0, 3)), ((0, 3), (3, 2))):
    sample("mm_", np.matmul, _left, _right, call=numgrad.mm, dtypes=NUMBERS)
for _left, _right in (((2, 3), (3,)), ((2, 0), (0,)), ((0, 3), (3,))):
    sample("mv_", np.matmul, _left, _right, call=numgrad.mv, dtypes=NUMBERS)
for _shape in ((5,), (0,)):
    sample("dot_", np.dot, _shape, _shape, call=numgrad.dot, dtypes=NUMBERS)
for _left, _right in (((2, 3, 4), (2, 4, 2)), ((2, 3, 0), (2, 0, 4)), ((0, 3, 2), (0, 2, 1))):
    sample("bmm_", np.matmul, _left, _right, call=numgrad.bmm, dtypes=NUMBERS)
