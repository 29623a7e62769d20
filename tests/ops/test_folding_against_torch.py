"""unfold and fold against PyTorch's: values, gradients, nodes, and errors."""

import pytest
from ops.torch_comparison import assert_same, randoms

pytestmark = pytest.mark.torch

CALLS = [
    ((2, 3, 6, 7), {"kernel_size": 3}),
    ((3, 6, 7), {"kernel_size": (2, 3), "padding": (1, 0)}),
    ((2, 2, 7, 6), {"kernel_size": (3, 2), "dilation": (1, 2), "padding": (0, 2), "stride": (2, 1)}),
    ((0, 2, 4, 4), {"kernel_size": 2, "stride": 2}),
]


@pytest.mark.parametrize(("shape", "options"), CALLS)
@pytest.mark.parametrize("layout", ["contiguous", "stepped"])
def test_values_and_gradients(shape, options, layout):
    (images,) = randoms(shape, layout=layout)
    assert_same(lambda m, x: m.nn.functional.unfold(x, **options), images)

    def fold(m, columns):
        return m.nn.functional.fold(columns, shape[-2:], **options)

    import torch

    columns = torch.nn.functional.unfold(torch.zeros(shape), **options)
    assert_same(fold, *randoms(tuple(columns.shape), layout=layout))


@pytest.mark.parametrize(("shape", "options"), [
    ((2, 3, 6, 7), {"kernel_size": (3, 3, 3)}), ((2, 3, 6, 7), {"kernel_size": 0}), ((2, 3, 6, 7), {"kernel_size": 9}),
    ((2, 3, 6, 7), {"kernel_size": 3, "dilation": 0}), ((2, 3, 6, 7), {"kernel_size": 3, "stride": 0}),
    ((2, 3, 6, 7), {"kernel_size": 3, "padding": -1}), ((2, 0, 6, 6), {"kernel_size": 3}),
    ((2, 3, 0, 6), {"kernel_size": 3}), ((2, 3, 6, 7), {"kernel_size": 3, "padding": (1, 2, 3)}),
    ((1, 2, 3, 6, 7), {"kernel_size": 3}),
])
def test_refusals_of_unfold(shape, options):
    assert_same(lambda m, x: m.nn.functional.unfold(x, **options), *randoms(shape))


@pytest.mark.parametrize(("shape", "size", "kernel"), [
    ((2, 27, 20), (6, 8), 3), ((2, 27, 20), (6, 7), 2), ((2, 27, 20), (6, 7), 0), ((2, 27, 20), 6, 3),
    ((2, 27, 20), (6, 7, 8), 3), ((2, 27, 20), (2, 2), 3), ((2, 3, 6, 7), (6, 7), 3), ((2, 0, 20), (6, 7), 3),
    ((2, 27, 0), (6, 7), 3), ((2, 27, 20), (6, 7), (3, 3, 3)), ((2, 27, 40), (-6, 7), 3),
])
def test_refusals_of_fold(shape, size, kernel):
    assert_same(lambda m, x: m.nn.functional.fold(x, size, kernel), *randoms(shape))


@pytest.mark.parametrize("dtype", ["float32", "complex128", "int64", "bool"])
def test_dtypes(dtype):
    images, columns = randoms((2, 3, 6, 7), (2, 27, 20), dtype="float64")
    assert_same(lambda m, x: m.nn.functional.unfold(x, 3), images.astype(dtype))
    assert_same(lambda m, x: m.nn.functional.fold(x, (6, 7), 3), columns.astype(dtype))
