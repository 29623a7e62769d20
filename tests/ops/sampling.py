"""Cases of operations: samples of the op table, in every layout that tensors can have.

The samples themselves are in ``samples``.
"""

from __future__ import annotations

import functools
import itertools
import math
import warnings
from dataclasses import dataclass, field

import numpy as np

import numgrad
from numgrad.ops.table.elementwise import Pointwise
from numgrad.ops.table.op import ops, public_functions

FLOATS = ("float32", "float64")
NUMBERS = (*FLOATS, "int64")
ALL = (*NUMBERS, "bool")
INTEGERS = ("int64", "bool")

# -- elements ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Domain:
    """Elements that an input may have: ``value`` maps numbers between 0 and 1 to them.

    ``dtype`` fixes the input's dtype: it is a condition or an index, and has no gradient.
    """

    value: object
    dtype: str | None = None


def between(low, high):
    """Numbers from an interval."""
    return Domain(lambda u: low + (high - low) * u)


def index(count):
    """Indices into a dimension of ``count`` elements."""
    return Domain(lambda u: np.floor(u * count), "int64")


ANY = between(-2, 2)
POSITIVE = between(0.3, 2)
UNIT = between(0.1, 0.9)
NONZERO = Domain(lambda u: np.where(u < 0.5, u * 3 - 2, u * 3 - 1))  # at least 1/2 away from 0
CONDITION = Domain(lambda u: u > 0.5, "bool")


def _values(shapes, domains, dtype):
    """An array for each shape: no two elements of floating-point ones are nearly equal, and none is nearly 0."""
    count = sum(math.prod(shape) for shape in shapes if shape is not None)
    units = (np.random.default_rng(5).permutation(count) + 0.37) / max(count, 1)
    arrays = []
    for shape, domain in zip(shapes, domains, strict=True):
        if shape is None:
            arrays.append(None)
            continue
        own, units = np.split(units, [math.prod(shape)])
        kind = domain.dtype or dtype
        values = np.asarray(domain.value(own.reshape(shape)))
        if kind == "bool" and domain.dtype is None:
            values = own.reshape(shape) > 0.4
        elif np.dtype(kind).kind in "iu" and domain.dtype is None:
            values = np.rint(values * 3).astype(np.int64)
        elif np.dtype(kind).kind == "c" and domain.dtype is None:
            values = values + 0.7j * values.reshape(-1)[::-1].reshape(shape)
        arrays.append(np.asarray(values).astype(kind))
    return arrays


# -- layouts ----------------------------------------------------------------------------------------------------

#: Required cases of an operation.
LAYOUTS = ("contiguous", "transposed", "stepped", "broadcast", "empty", "0-d")

#: Those in which a pointwise operation is a loop over memory of any strides, not over rows.
OVER_STRIDES = ("transposed", "stepped", "broadcast")

#: Pointwise operations that are tested in every way.  The same code makes kernels, gradients and tangents of all others
#: from their scalar functions.
REPRESENTATIVES = frozenset(
    ["abs", "add", "addcmul_op", "choose", "div", "exp", "lt", "mul", "pow_tensor", "smooth_l1_backward", "xlogy"]
)


def laid_out(array, layout):
    """A tensor with the same elements in memory with gaps: transposed, or every second one of a row."""
    shape = array.shape
    if layout == "transposed" and len(shape) > 1:
        padded = np.zeros((*shape[:0:-1], shape[0] + 1), array.dtype)
        padded[..., 1:] = array.T
        return numgrad.from_numpy(padded)[..., 1:].T.detach()
    if layout == "stepped" and shape:
        padded = np.zeros((*shape[:-1], 2 * shape[-1] + 1), array.dtype)
        padded[..., 1::2] = array
        return numgrad.from_numpy(padded)[..., 1::2].detach()
    return numgrad.from_numpy(array)


@functools.cache
def _turns():
    """The layout over strides in which each sample is tested if one is enough, by its identity."""
    turns = itertools.count()
    result = {}
    for sample in SAMPLES:
        layouts = [layout for layout in OVER_STRIDES if layout not in WITHOUT.get(sample.name, ())]
        if layouts:
            result[id(sample)] = layouts[next(turns) % len(layouts)]
    return result


def _repeated(shape):
    """The shape that is expanded to ``shape``: one dimension is of size 1."""
    dim = next((d for d, extent in enumerate(shape) if extent > 1), None)
    return shape if dim is None else (*shape[:dim], 1, *shape[dim + 1 :])


@dataclass(frozen=True)
class Case:
    """A sample in one layout, as the tests run it."""

    sample: Sample
    layout: str
    #: The shapes that the operation sees.
    shapes: tuple
    #: The shapes of the leaves, which are expanded to those.
    leaf_shapes: tuple

    @property
    def op(self):
        return ops[self.sample.name]

    @property
    def dtype(self):
        """Return float64 if possible, so that tests of values and of derivatives run the same kernels."""
        return "float64" if "float64" in self.sample.dtypes else self.sample.dtypes[0]

    @property
    def is_in_turn(self):
        """Return True if the tests take the sample in this layout.

        Over strides, an operation's first sample is tested in each layout and others in one, in turn.  Of pointwise
        operations, only the first sample is tested over strides, in one layout except for ``REPRESENTATIVES``.
        """
        if self.layout not in OVER_STRIDES:
            return True
        first, turn = self.sample is _first_samples()[self.op.name], self.layout == _turns().get(id(self.sample))
        if isinstance(self.op, Pointwise):
            return first and (turn or self.op.name in REPRESENTATIVES)
        return first or turn

    def leaves(self, dtype, requires_grad=False):
        """The inputs as tensors."""
        arrays = _values(self.leaf_shapes, self.sample.domains, dtype)
        result = [None if array is None else laid_out(array, self.layout) for array in arrays]
        for tensor, differentiable in zip(result, self.differentiable(), strict=True):
            if requires_grad and differentiable:
                tensor.requires_grad = True
        return result

    def differentiable(self):
        """For each input, True if it has a gradient."""
        fixed = self.op.underived.union(self.sample.fixed)
        names = self.op.inputs * len(self.shapes) if getattr(self.op, "sequence", False) else self.op.inputs
        return [
            shape is not None and domain.dtype is None and name in self.op.rules and name not in fixed
            for name, domain, shape in zip(names, self.sample.domains, self.shapes, strict=False)
        ]

    def __call__(self, *leaves):
        """The outputs for these leaves, some of which may be numbers."""
        inputs = [
            leaf.expand(shape) if getattr(leaf, "shape", shape) != shape else leaf
            for leaf, shape in zip(leaves, self.shapes, strict=True)
        ]
        outputs = self.sample.call(*inputs)
        return outputs if isinstance(outputs, tuple) else (outputs,)

    def expected(self, *leaves):
        """The outputs that NumPy computes, in float64 where it computes in floating point."""
        inputs = []
        for tensor, shape in zip(leaves, self.shapes, strict=True):
            array = None if tensor is None else tensor.detach().numpy()
            if array is not None and array.dtype == np.float32 and self.sample.memory != "view":
                array = array.astype(np.float64)
            inputs.append(None if array is None else np.broadcast_to(array, shape) if array.shape != shape else array)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore", RuntimeWarning)  # of means of nothing
            outputs = self.sample.reference(*inputs)
            if not isinstance(outputs, tuple | list) and outputs.dtype == np.float16:  # NumPy's exp of a bool
                outputs = self.sample.reference(*[array.astype(np.float64) for array in inputs])
        return tuple(outputs) if isinstance(outputs, tuple | list) else (outputs,)

    def __str__(self):
        given = [] if self.sample.shapes is None else list(self.shapes)
        given += [*self.sample.args, *[f"{name}={value}" for name, value in self.sample.attributes.items()]]
        return f"{self.sample.name}({','.join(map(str, given))})-{self.layout}".replace(" ", "")


# -- complex numbers -------------------------------------------------------------------------------------------

#: Entries that no public function reaches with complex numbers, or whose results then have phases; see the tests of
#: errors, and those of decompositions.
_REAL = """
    attention_op attention_backward safe_softmax softmax_op softmax_backward log_softmax_op log_softmax_backward
    glu_op layer_norm_op layer_norm_backward nll_loss_op nll_loss_backward nll_loss_2d_op nll_loss_2d_backward
    cross_entropy_backward native_dropout
    mse_loss_op smooth_l1_loss_op huber_loss_op soft_margin_loss_op bce_op bce_with_logits_op max_all min_all
    max_dim min_dim amax_op amin_op aminmax_op cummax_op cummin_op logcumsumexp_op logsumexp_op nansum_op sort_op
    stable_sort_op topk_op kthvalue_op median_all median_dim nanmedian_all nanmedian_dim mode_op
    max_pool_op batch_norm_op batch_norm_backward group_norm_op group_norm_backward adaptive_max_pool_op
    fractional_max_pool_op grid_sampler_op linalg_svd_op
    weight_norm_op weighted_gather weighted_scatter weighted_products embedding_bag_op embedding_bag_max_op ctc_loss_op
    ctc_loss_backward fused_lstm_cell fused_lstm_cell_backward fused_gru_cell fused_gru_cell_backward
"""
REAL = set(_REAL.split())

#: Entries that make complex numbers of real ones.
MAKING = {"complex_op", "fft_r2c", "polar_op", "view_as_complex_op"}


def takes_complex(op):
    """Return True if the entry is defined for complex numbers and has derivatives."""
    if op.underived.issuperset(op.rules) or op.name in REAL | MAKING:
        return False
    return "c" in op.dtypes if isinstance(op, Pointwise) else True


# -- samples ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sample:
    """Example call of an operation, and its expected results."""

    name: str
    reference: object  # takes arrays (None where an input is left out)
    call: object  # takes tensors
    shapes: tuple | None  # None for a pointwise operation: they are generated
    domains: tuple
    dtypes: tuple[str, ...]
    #: Dtypes that must be refused.
    refused: tuple[str, ...]
    #: The dtype of the outputs, where it does not follow from the inputs'.
    dtype: str | None
    #: The layout of the outputs: "contiguous", "kept" (as the inputs), "reference" (as the reference's outputs), "view"
    #: (as NumPy's view), or "taken" (the memory of the input, which must be contiguous).
    memory: str
    #: Inputs whose gradients the tests do not compute, since some second derivatives are not defined.
    fixed: tuple[str, ...] = ()
    args: tuple = ()
    attributes: dict = field(default_factory=dict)

    def cases(self, shape=(5, 13)):
        """The sample in every layout that it can have; ``shape`` is that of a pointwise operation's operands."""
        if self.shapes is not None:
            return self._cases_of(self.shapes)
        count = len(self.domains)
        mixed = ((3, 1), (4,), (3, 4), (1, 4))[:count]
        result = [case for extents in (shape, (2, 0, 3), ()) for case in self._cases_of((extents,) * count)]
        if count > 1:
            result = [case for case in result if case.layout != "broadcast"]
            empty = ((2, 0, 3), (3,), (), (1,))[:count]
            result += [Case(self, "broadcast", mixed, mixed), Case(self, "empty", empty, empty)]
        return result

    def _cases_of(self, shapes):
        given = [shape for shape in shapes if shape is not None]
        if any(0 in shape for shape in given):
            return [Case(self, "empty", shapes, shapes)]
        if not any(given):
            return [Case(self, "0-d", shapes, shapes)]
        cases = [Case(self, "contiguous", shapes, shapes)]
        if self.memory == "taken":
            return cases
        if any(len(shape) > 1 for shape in given):
            cases += [Case(self, "transposed", shapes, shapes)]
        repeated = tuple(None if shape is None else _repeated(shape) for shape in shapes)
        return [*cases, Case(self, "stepped", shapes, shapes), Case(self, "broadcast", shapes, repeated)]


SAMPLES: list[Sample] = []


@functools.cache
def _first_samples():
    return {sample.name: sample for sample in reversed(SAMPLES)}


#: Layouts that operations do not have.
WITHOUT: dict[str, tuple[str, ...]] = {}


def without(names, *layouts):
    """Exclude these layouts for the operations ``names``, which are separated by blanks."""
    for name in names.split():
        WITHOUT[name] = layouts



def sample(
    name, reference, *shapes, args=(), domain=ANY, dtypes=ALL, call=None, dtype=None, memory=None, fixed=(),
    **attributes
):
    """Return the samples of the table's entry ``name``.

    Args:
        reference: computes the same with NumPy, given the arrays (as one tuple, if the operation takes its tensors
            so), ``args`` and the attributes.
        shapes: the shapes of the inputs if the operation is not pointwise; None for an omitted input.
        args, attributes: further arguments of the operation.
        domain: the permitted elements of the inputs: one domain for all, or a tuple.
        dtypes: the dtypes for which the operation is defined.
        call: a public function through which the operation is reached, given the tensors and ``args``.
        dtype, memory, fixed: see :class:`Sample`.
    """
    op = ops[name]
    pointwise = isinstance(op, Pointwise)
    sequence = not pointwise and op.sequence
    public = call or (public_functions.get(name) if pointwise else None)
    if public is not None:
        function = functools.partial(_call, public, args, attributes)
    elif pointwise:
        function = functools.partial(_run, op, attributes)
    else:
        function = functools.partial(_call_sequence if sequence else _call, op, args, {})
    count = len(op.inputs) if pointwise else len(shapes)
    SAMPLES.append(
        Sample(
            name=name,
            reference=functools.partial(_call_sequence if sequence else _call, reference, args, attributes),
            call=function,
            shapes=None if pointwise else shapes,
            domains=domain if isinstance(domain, tuple) else (domain,) * count,
            dtypes=dtypes,
            refused=() if public is None else tuple(kind for kind in ALL if kind not in dtypes),
            dtype=dtype,
            memory=memory or ("kept" if pointwise else "contiguous"),
            fixed=fixed,
            args=args,
            attributes=attributes,
        )
    )


def _call(function, args, attributes, *inputs):
    return function(*inputs, *args, **attributes)


def _call_sequence(function, args, attributes, *inputs):
    return function(inputs, *args, **attributes)


def _run(op, attributes, *tensors):
    return op.run(tensors, {**op.attributes, **attributes} if attributes else op.attributes)
