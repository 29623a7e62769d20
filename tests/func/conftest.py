"""The tensors that the tests of transforms start from."""

import pytest

from numgrad import tensor


@pytest.fixture
def x():
    return tensor([1.0, 2.0, 3.0])


@pytest.fixture
def w():
    """One that requires a gradient outside of the transforms."""
    return tensor([4.0, 5.0, 6.0], requires_grad=True)
