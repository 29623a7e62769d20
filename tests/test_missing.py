"""What is said of names that there are not."""

import pytest

import numgrad


@pytest.mark.parametrize(
    ("owner", "name", "message"),
    [
        (numgrad, "float16", "PyTorch has 'float16', but numgrad has it not yet; the nearest.*: numgrad.float32$"),
        (numgrad, "quantile", "PyTorch has 'quantile', but numgrad has it not yet"),
        (numgrad, "no_such_name", "^module 'numgrad' has no attribute 'no_such_name'$"),
        (numgrad.nn, "Conv2d", "PyTorch has 'Conv2d', but numgrad.nn has it not yet; .*: numgrad.nn.Linear$"),
        (numgrad.nn.functional, "conv2d", "PyTorch has 'conv2d', but numgrad.nn.functional has it not yet"),
        (numgrad.optim, "LBFGS", "PyTorch has 'LBFGS', but numgrad.optim has it not yet"),
        (numgrad.linalg, "svd", "PyTorch has 'svd', but numgrad.linalg has it not yet$"),
        (numgrad.autograd, "kineto_available", "PyTorch has 'kineto_available', but numgrad.autograd has it not yet"),
        (numgrad.utils.data, "DistributedSampler", "PyTorch has 'DistributedSampler', but numgrad.utils.data has it"),
        (numgrad.cuda, "CUDAGraph", "PyTorch has 'CUDAGraph', but numgrad.cuda has it not yet"),
        (numgrad.ones(2), "half", "PyTorch has 'half', but Tensor has it not yet; .*: Tensor.float$"),
        (numgrad.ones(2), "no_such_name", "^'Tensor' object has no attribute 'no_such_name'$"),
        (numgrad.Tensor, "half", "^type object 'Tensor' has no attribute 'half'$"),
    ],
)
def test_a_name_that_is_missing(owner, name, message):
    with pytest.raises(AttributeError, match=message):
        getattr(owner, name)


def test_private_names_are_simply_absent():
    assert not hasattr(numgrad, "__wrapped__")
    assert not hasattr(numgrad.ones(2), "__cuda_array_interface__")
    assert not hasattr(numgrad.ones(2), "_no_such_name")
    with pytest.raises(ImportError):
        from numgrad import no_such_name  # noqa: F401


def test_what_is_missing_is_not_listed():
    assert "half" not in dir(numgrad.ones(2))
    assert {"relu", "backward", "shape"} <= set(dir(numgrad.ones(2)))
    assert not hasattr(numgrad.ones(2), "half")


def test_missing_names_cost_the_others_nothing():
    # With a __getattr__ in the class, CPython gives up its fast way to every attribute.
    assert not any("__getattr__" in vars(cls) for cls in numgrad.Tensor.__mro__)


def test_a_subclass_may_have_them():
    class Half(numgrad.Tensor):
        def half(self):
            return 0.5

    x = numgrad.ones(2)
    x.__class__ = Half
    assert x.half() == 0.5
