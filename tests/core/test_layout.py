"""Shapes and strides against brute force, NumPy and PyTorch."""

import functools
import itertools
import random
from collections import Counter

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import numgrad
from numgrad.core.layout import (
    broadcast_shapes,
    broadcast_strides,
    contiguous_strides,
    is_contiguous,
    loop_nest,
    normal_dim,
    normal_dims,
    numel,
    output_strides,
    overlaps_itself,
    view_strides,
)


def for_seeds(count):
    """Decorator: run the test with this number of sources of random numbers; a failure names the seed."""

    def decorate(test):
        @functools.wraps(test)
        def run():
            for seed in range(count):
                try:
                    test(random.Random(seed))
                except BaseException as error:
                    error.add_note(f"seed {seed}")
                    raise

        del run.__wrapped__  # pytest would look for a fixture called rng
        return run

    return decorate


def random_shape(rng, *, sizes=(1, 2, 3, 4), ranks=(0, 1, 2, 3, 4)):
    return tuple(rng.choices(sizes, k=rng.choice(ranks)))


def random_view(rng, shape, *, expand=True):
    """An array of ``shape`` that a chain of views makes: sliced, transposed and expanded."""
    order = rng.sample(range(len(shape)), len(shape))
    steps = rng.choices((1, 1, 1, 2, 3), k=len(shape))
    repeated = [expand and rng.random() < 0.2 for _ in shape]
    full = tuple(1 if repeated[d] else shape[d] * steps[d] + rng.choice((0, 0, 1)) for d in order)
    array = np.arange(numel(full)).reshape(full).transpose(np.argsort(order))
    view = array[tuple(slice(None, shape[d] * steps[d] if not repeated[d] else 1, steps[d]) for d in range(len(shape)))]
    return np.broadcast_to(view, shape)


def strides_of(array):
    return tuple(stride // array.itemsize for stride in array.strides)


def addresses(shape, strides):
    """The address of every element, in row-major order."""
    return [sum(i * s for i, s in zip(index, strides, strict=True)) for index in np.ndindex(*shape)]


# -- contiguity -------------------------------------------------------------------------------------------------------


@for_seeds(150)
def test_contiguous_strides(rng):
    shape = random_shape(rng, sizes=(0, 1, 2, 3, 5))
    assert numel(shape) == np.empty(shape).size
    strides = contiguous_strides(shape)
    assert is_contiguous(shape, strides)
    assert addresses(shape, strides) == list(range(numel(shape)))


def test_a_dimension_of_size_0_counts_as_1():
    assert contiguous_strides((2, 0, 3)) == (3, 3, 1)
    assert contiguous_strides(()) == ()


@for_seeds(150)
def test_is_contiguous(rng):
    array = random_view(rng, random_shape(rng, sizes=(0, 1, 2, 3)))
    strides = strides_of(array)
    assert is_contiguous(array.shape, strides) == (addresses(array.shape, strides) == list(range(array.size)))


# -- dimensions -------------------------------------------------------------------------------------------------------


def test_dimensions_count_from_both_ends():
    assert [normal_dim(d, 3) for d in (0, 2, -1, -3)] == [0, 2, 2, 0]
    assert [normal_dim(d, 0) for d in (0, -1)] == [0, 0]
    assert normal_dims(None, 3) == normal_dims((), 3) == (0, 1, 2)
    assert normal_dims(-1, 3) == (2,)
    assert normal_dims((2, -3), 3) == (0, 2)
    assert normal_dims(0, 0) == normal_dims(-1, 0) == ()


@pytest.mark.parametrize(("dim", "rank", "span"), [(3, 3, r"\[-3, 2\]"), (-4, 3, r"\[-3, 2\]"), (1, 0, r"\[-1, 0\]")])
def test_dimensions_out_of_range(dim, rank, span):
    with pytest.raises(IndexError, match=rf"Dimension out of range \(expected .* {span}, but got {dim}\)"):
        normal_dim(dim, rank)


def test_a_dimension_named_twice():
    with pytest.raises(RuntimeError, match="dim 1 appears multiple times"):
        normal_dims((1, -1), 2)


# -- broadcasting -----------------------------------------------------------------------------------------------------


def broadcastable(rng, shape):
    """A shape that broadcasts to ``shape``."""
    kept = shape[rng.randint(0, len(shape)) :]
    return tuple(1 if rng.random() < 0.3 else extent for extent in kept)


@for_seeds(150)
def test_broadcasting(rng):
    shape = random_shape(rng, sizes=(0, 1, 2, 3))
    shapes = [broadcastable(rng, shape) for _ in range(rng.randint(1, 3))]
    common = broadcast_shapes(*shapes)
    assert common == np.broadcast_shapes(*shapes)
    array = random_view(rng, shapes[0])
    strides = broadcast_strides(array.shape, strides_of(array), common)
    repeated = as_strided(array, common, [stride * array.itemsize for stride in strides])
    assert np.array_equal(repeated, np.broadcast_to(array, common))


@pytest.mark.parametrize(
    ("shapes", "said"),
    [
        (((2, 3), (4,)), r"tensor a \(3\) must match the size of tensor b \(4\) at non-singleton dimension 1"),
        (((3, 1), (2, 5)), r"tensor a \(3\) must match the size of tensor b \(2\) at non-singleton dimension 0"),
        (((0,), (2,)), r"tensor a \(0\) must match the size of tensor b \(2\) at non-singleton dimension 0"),
    ],
)
def test_shapes_that_do_not_fit(shapes, said):
    with pytest.raises(RuntimeError, match=said) as error:
        broadcast_shapes(*shapes)
    assert all(str(list(shape)) in str(error.value) for shape in shapes)


# -- overlapping memory -----------------------------------------------------------------------------------------------


def overlaps(shape, strides):
    found = addresses(shape, strides)
    return len(set(found)) < len(found)


@for_seeds(150)
def test_overlaps_of_views(rng):
    array = random_view(rng, random_shape(rng, sizes=(0, 1, 2, 3)))
    assert overlaps_itself(array.shape, strides_of(array)) == overlaps(array.shape, strides_of(array))


def test_no_overlap_at_all_is_missed():
    """Layouts are arbitrary: not every one can be made by views."""
    found = 0
    for shape in itertools.product((1, 2, 3), repeat=3):
        for strides in itertools.product(range(8), repeat=3):
            if overlaps(shape, strides):
                found += 1
                assert overlaps_itself(shape, strides), (shape, strides)
    assert found > 1000


# -- loops over several operands --------------------------------------------------------------------------------------


def random_operands(rng, **options):
    """A shape, and geometries of operands that broadcast to it."""
    shape = random_shape(rng, **options)
    arrays = [random_view(rng, broadcastable(rng, shape)) for _ in range(rng.randint(1, 3))]
    geometry = tuple(
        (a.shape, None if strides_of(a) == contiguous_strides(a.shape) and rng.random() < 0.5 else strides_of(a))
        for a in arrays
    )
    return shape, geometry


def element_addresses(shape, geometry):
    """For every element of ``shape`` the addresses of the operands' elements, in elements."""
    columns = []
    for own, strides in geometry:
        strides = contiguous_strides(own) if strides is None else strides
        columns.append(addresses(shape, broadcast_strides(own, strides, shape)))
    return list(zip(*columns, strict=True))


@for_seeds(150)
def test_loops_visit_every_element_once(rng):
    shape, geometry = random_operands(rng, sizes=(1, 2, 3, 4))
    sizes, steps = loop_nest(shape, geometry)
    assert len(sizes) >= 1
    visited = zip(*[addresses(sizes, step) for step in steps], strict=True)
    assert Counter(visited) == Counter(element_addresses(shape, geometry))


@for_seeds(150)
def test_loops_are_as_few_as_can_be(rng):
    shape, geometry = random_operands(rng, sizes=(1, 2, 3, 4))
    sizes, steps = loop_nest(shape, geometry)
    assert 1 not in sizes or sizes == (1,)
    for outer in range(len(sizes) - 1):
        assert any(step[outer] != step[outer + 1] * sizes[outer + 1] for step in steps)


def test_loops_over_what_lies_alike_are_one():
    same = ((4, 5, 6), (1, 4, 20))
    assert loop_nest((4, 5, 6), (same, same)) == ((120,), ((1,), (1,)))
    assert loop_nest((4, 5, 6), (((4, 5, 6), None), ((), None))) == ((120,), ((1,), (0,)))
    assert loop_nest((2, 3), (((2, 3), None), ((3,), None))) == ((2, 3), ((3, 1), (0, 1)))
    assert loop_nest((2, 3), (((2, 3), (1, 2)),)) == ((6,), ((1,),))
    assert loop_nest((), (((), None),)) == ((1,), ((1,),))
    assert loop_nest((1, 1), (((1, 1), (9, 9)),)) == ((1,), ((1,),))


def test_loops_over_nothing():
    sizes, _ = loop_nest((3, 0, 2), (((3, 0, 2), None), ((2,), None)))
    assert numel(sizes) == 0


# -- where outputs lie ------------------------------------------------------------------------------------------------


@for_seeds(150)
def test_outputs_are_dense(rng):
    shape, geometry = random_operands(rng, sizes=(0, 1, 2, 3, 4))
    strides = output_strides(shape, geometry)
    assert sorted(addresses(shape, strides)) == list(range(numel(shape)))


def test_outputs_lie_as_their_inputs_do():
    assert output_strides((2, 3), (((2, 3), None),)) == (3, 1)
    assert output_strides((2, 3), (((2, 3), (1, 2)),)) == (1, 2)
    assert output_strides((2, 3), (((2, 3), (2, 4)),)) == (1, 2)
    assert output_strides((2, 3), (((2, 3), (1, 2)), ((2, 3), (3, 1)))) == (1, 2)
    assert output_strides((2, 3), (((3,), None), ((2, 3), (1, 2)))) == (1, 2)
    assert output_strides((2, 3), (((2, 3), (0, 0)),)) == (3, 1)
    assert output_strides((2, 1, 2), (((2, 1, 2), (1, 1, 0)), ((2, 1, 2), (1, 4, 2)))) == (1, 4, 2)


def random_tensor(rng, shape):
    """A tensor of ``shape`` that a chain of PyTorch's views makes."""
    import torch

    order = rng.sample(range(len(shape)), len(shape))
    steps = rng.choices((1, 1, 1, 2, 3), k=len(shape))
    repeated = [rng.random() < 0.2 for _ in shape]
    full = [1 if repeated[d] else shape[d] * steps[d] + rng.choice((0, 0, 1)) for d in order]
    tensor = torch.zeros(full).permute([order.index(d) for d in range(len(shape))])
    for d, extent in enumerate(shape):
        if not repeated[d]:
            tensor = tensor.narrow(d, 0, extent * steps[d]).unfold(d, 1, steps[d]).squeeze(-1)
    return tensor.expand(shape)


@pytest.mark.torch
@for_seeds(400)
def test_outputs_lie_where_pytorch_puts_them(rng):
    import torch

    shape = random_shape(rng, sizes=rng.choice([(1, 2, 3), (2, 3, 4)]), ranks=(1, 2, 3, 4))
    tensors = [random_tensor(rng, broadcastable(rng, shape)) for _ in range(rng.randint(1, 3))]
    operation = {1: torch.exp, 2: torch.add, 3: torch.addcmul}[len(tensors)]
    expected = operation(*tensors)
    strides = output_strides(tuple(expected.shape), tuple((tuple(t.shape), t.stride()) for t in tensors))
    assert [s for s, extent in zip(strides, expected.shape, strict=True) if extent > 1] == [
        s for s, extent in zip(expected.stride(), expected.shape, strict=True) if extent > 1
    ]


# -- views ------------------------------------------------------------------------------------------------------------


def factorisations(rng, count):
    """A random shape with ``count`` elements."""
    shape = []
    while count > 1:
        factor = rng.choice([d for d in range(2, count + 1) if count % d == 0])
        shape.append(factor)
        count //= factor
    shape += [1] * rng.randint(0, 2)
    rng.shuffle(shape)
    return tuple(shape)


@for_seeds(400)
def test_views_read_the_same_elements_and_exist_where_numpy_finds_them(rng):
    array = random_view(rng, random_shape(rng, sizes=(1, 2, 3, 4, 6)))
    target = factorisations(rng, array.size)
    strides = view_strides(array.shape, strides_of(array), target)
    try:
        expected = array.reshape(target, copy=False)
    except ValueError:
        assert strides is None
    else:
        view = as_strided(array, target, [stride * array.itemsize for stride in strides])
        assert np.array_equal(view, expected)


def test_views_of_nothing():
    assert view_strides((0, 3), (3, 1), (3, 0)) == contiguous_strides((3, 0))
    assert view_strides((0, 3), (1, 5), (0, 3)) == (1, 5)


@pytest.mark.torch
@for_seeds(400)
def test_strides_of_views_are_pytorchs(rng):
    tensor = random_tensor(rng, random_shape(rng, sizes=(1, 2, 3, 4, 6)))
    for _ in range(rng.choice((0, 0, 1, 2))):
        tensor = tensor.unsqueeze(rng.randint(0, tensor.dim()))
    target = factorisations(rng, tensor.numel())
    try:
        expected = tensor.view(target).stride()
    except RuntimeError:
        expected = None
    assert view_strides(tuple(tensor.shape), tensor.stride(), target) == expected


@pytest.mark.torch
@pytest.mark.parametrize("shape", [(0,), (0, 2), (2, 0, 3)])
def test_strides_of_views_of_nothing_are_pytorchs(shape):
    import torch

    for tensor in (torch.zeros(shape), torch.zeros(shape[::-1]).permute(*reversed(range(len(shape))))):
        for target in ((0,), (3, 0), (0, 1, 5), shape):
            expected = tensor.view(target).stride()
            assert view_strides(shape, tensor.stride(), target) == expected


class Extent(int):
    """A number that equals an int, but is not one."""


@pytest.mark.parametrize("kind", [np.int64, Extent])
def test_numbers_of_other_kinds_leave_nothing_in_layouts(kind):
    """Equal layouts are one object: a wrong first one would appear in all later tensors of that shape."""
    made = [
        numgrad.zeros(kind(457)).unfold(kind(0), kind(450), kind(5)),
        numgrad.zeros(463).topk(kind(461))[0],
        numgrad.linspace(0, 1, kind(479)),
        numgrad.arange(12.0).view(3, 4).diagonal(kind(1)),
        numgrad.arange(3.0).diag(kind(1)),
    ]
    for tensor in (*made, numgrad.zeros(461), numgrad.zeros(479)):
        assert {type(number) for number in (*tensor.shape, *tensor.stride(), tensor.storage_offset())} == {int}
    assert made[3].tolist() == [1.0, 6.0, 11.0]
