"""Every operation of the table on tensors that were computed inside two nested transforms, against the plain call."""

import numpy as np
import pytest
from ops.samples import SAMPLES
from ops.sampling import REPRESENTATIVES

import numgrad
from numgrad import func
from numgrad.nn import functional
from numgrad.ops.table.elementwise import Pointwise

#: The first sample of each entry that has elements, unless a derivative is not known; of pointwise ones, which all go
#: the same way, few.
CASES = {}
for _sample in SAMPLES:
    for _case in _sample.cases(shape=(2, 3)):
        tried = not isinstance(_case.op, Pointwise) or _sample.name in REPRESENTATIVES
        if _case.layout == "contiguous" and tried and not _case.op.underived:
            CASES.setdefault(_case.op.name, _case)

#: Whose results differ in shape from example to example.
WITHOUT_BATCHES = {
    "bincount_op", "flat_nonzero_op", "masked_select_op", "masked_scatter_backward", "nonzero_op", "repeated_op",
    "unique_op",
}


# A transform takes a function of a number that returns a number to be differentiated and further tensors.  It gives a
# function of the same form: its number is the derivative, and the one it was given stands first among the others.


def by_grad(function):
    def derivative(z):
        slope, (value, others) = func.grad(lambda z: _twice(function(z)), has_aux=True)(z)
        return slope, (value, *others)

    return derivative


def _twice(result):
    value, others = result
    return value, (value, others)


def by_jvp(function):
    def derivative(z):
        value, slope, others = func.jvp(function, (z,), (numgrad.ones_like(z),), has_aux=True)
        return slope, (value, *others)

    return derivative


def by_jacfwd(function):
    """Forward mode in a batch of directions: the point is the same for all of them."""

    def derivative(z):
        def along(direction):
            value, slope, others = func.jvp(function, (z,), (direction,), has_aux=True)
            return slope, (value, *others)

        return _last(func.vmap(along)(numgrad.ones(2, dtype=z.dtype)))

    return derivative


def by_vmap(function):
    return lambda z: _last(func.vmap(function)(numgrad.stack([z, z])))


def _last(result):
    value, others = result
    return value[-1], tuple([other[-1] for other in others])


def computed_from(leaf, z):
    """The elements of a tensor, computed from ``z``, which is 1."""
    if leaf.dtype.is_floating_point or leaf.dtype.is_complex:
        return leaf * z
    values = leaf.double() * z
    return values > 0.5 if leaf.dtype is numgrad.bool else values.round().to(leaf.dtype)


def program(case, leaves, chosen):
    def run(z):
        given = [computed_from(leaf, z) if n in chosen else leaf for n, leaf in enumerate(leaves)]
        outputs = case(*given)
        number = z * 0
        for output in outputs:
            if output.dtype.is_floating_point:
                number = number + output.sum()
        return number, tuple(outputs)

    return run


def elements(tensors):
    return [np.asarray(tensor.detach().numpy()) for tensor in tensors]


def plain(function):
    """Second derivative, first derivative, value and outputs, as recorded in the ordinary way."""
    z = numgrad.ones((), dtype=numgrad.float64, requires_grad=True)
    value, outputs = function(z)
    found = [value, *outputs]
    for _ in range(2):
        if value.requires_grad:
            (value,) = numgrad.autograd.grad(value, z, create_graph=True, allow_unused=True, materialize_grads=True)
        else:
            value = z * 0
        found.insert(0, value)
    return elements(found)


def compare(function, pairs):
    """Compare nested transforms of a function with the function itself, and their derivatives."""
    expected = plain(function)
    for outer, inner in pairs:
        slope, others = outer(inner(function))(numgrad.ones((), dtype=numgrad.float64))
        wanted = expected[(outer, inner).count(by_vmap) :]
        for element, other in zip(elements((slope, *others)), wanted, strict=True):
            assert (element.dtype, element.shape) == (other.dtype, other.shape)
            np.testing.assert_allclose(element, other, 1e-7, 1e-9, err_msg=f"{outer.__name__} of {inner.__name__}")


HESSIAN, EXAMPLES = (by_jacfwd, by_grad), (by_vmap, by_grad)

PAIRS = [
    HESSIAN, EXAMPLES, (by_jvp, by_jvp), (by_grad, by_grad), (by_jvp, by_grad), (by_grad, by_vmap), (by_vmap, by_vmap),
]


@pytest.mark.long
@pytest.mark.parametrize("name", CASES)
def test_arguments_computed_inside_two_transforms(name):
    """All of them, and each by itself; of pointwise operations, which all go the same way, in few transforms."""
    case = CASES[name]
    leaves = case.leaves(case.dtype)
    present = [n for n, leaf in enumerate(leaves) if leaf is not None]
    pointwise = isinstance(case.op, Pointwise)

    def run(pairs, chosen):
        if name in WITHOUT_BATCHES:
            pairs = [pair for pair in pairs if by_vmap not in pair]
        compare(program(case, leaves, chosen), pairs)

    run([HESSIAN, EXAMPLES] if pointwise else PAIRS, present)
    if len(present) > 1 and not pointwise:
        for one in present:
            run([HESSIAN], [one])


def overwritten(x, index, value):
    y = x**3
    y[index] = value
    return y


NUMBERS = numgrad.arange(20.0, dtype=numgrad.float64).view(4, 5)

#: Functions that read elements, of a vector of four: those with results of another size for each example,
SELECTING = {
    "a mask": lambda x: (x**3)[x < 1],
    "a mask of several dimensions": lambda x: numgrad.outer(x, x)[numgrad.outer(x, x) < 1],
    "a mask of bytes": lambda x: (x**3)[(x < 1).to(numgrad.int64) == 1],
    "a mask and an index": lambda x: numgrad.outer(x, x)[x < 1, x.argsort()[:2]],
    "assignment to a mask": lambda x: overwritten(x, x < 1, 2.0),
    "assignment of a tensor to a mask": lambda x: overwritten(x, x < 1, x[:2]),
    "index_put": lambda x: (x**3).index_put((x < 1,), x[0]),
    "nonzero": lambda x: (x**3)[(x < 1).nonzero().squeeze(1)],
    "nonzero as a tuple": lambda x: (x**3)[(x < 1).nonzero(as_tuple=True)],
    "where": lambda x: (x**3)[numgrad.where(x < 1)],
    "masked_select": lambda x: (x**3).masked_select(x < 1),
    "unique": lambda x: (x**3)[x.round().long().unique(return_inverse=True)[1]],
    "unique_consecutive": lambda x: x**3 * x.round().unique_consecutive(return_counts=True)[1].sum(),
    "bincount": lambda x: x**3 * numgrad.bincount((x + 1).long())[0],
    "repeat_interleave": lambda x: (x**3).repeat_interleave((x + 2).long()),
    "equal": lambda x: x**3 if numgrad.equal(x, x.clone()) else x,
    "allclose": lambda x: x**3 if numgrad.allclose(x, x) else x,
    "truth": lambda x: x**3 if (x < 1).any() else x,
    "item": lambda x: (x**3)[: int(x.max().item())],
    "tolist": lambda x: x**3 * x.tolist()[0],
    "a loop": lambda x: sum(one**3 for one in x if one < 1),
}

#: and the others.
OTHERS = {
    "a mask that all examples have in common": lambda x: x.sum() * NUMBERS[NUMBERS[:, 0] < 6, x.argsort()[:2]],
    "assignment to indices": lambda x: overwritten(x, x.argsort()[:2], x[:2]),
    "assignment to one index": lambda x: overwritten(x, x.argmax(), 2.0),
    "searchsorted": lambda x: (x**3)[numgrad.searchsorted(x.sort()[0], x)],
    "bucketize": lambda x: (x**3)[numgrad.bucketize(x, x.sort()[0])],
    "histc": lambda x: x**3 * numgrad.histc(x, 4, 0, 4),
    "one_hot": lambda x: x**3 * functional.one_hot((x + 1).long(), 6).sum(),
    "embedding": lambda x: functional.embedding(x.argsort(), numgrad.outer(x, x)),
    "cross_entropy": lambda x: functional.cross_entropy(numgrad.outer(x, x), x.argsort()),
    "scatter_reduce": lambda x: (x**3).scatter_reduce(0, x.argsort(), x, "amax"),
    "index_fill": lambda x: (x**3).index_fill(0, x.argsort()[:2], 4.0),
}


@pytest.mark.parametrize("name", [*SELECTING, *OTHERS])
def test_elements_looked_at_inside_two_transforms(name):
    function = {**SELECTING, **OTHERS}[name]
    start = numgrad.tensor([0.5, 2.0, -1.0, 3.0], dtype=numgrad.float64)

    def run(z):
        out = function(start * z)
        return (out**2).sum(), (out,)

    compare(run, [pair for pair in PAIRS if name in OTHERS or by_vmap not in pair])
    if name in SELECTING:
        with pytest.raises(RuntimeError, match=r"vmap|Batching rule|data pointer"):
            by_vmap(run)(numgrad.ones((), dtype=numgrad.float64))
