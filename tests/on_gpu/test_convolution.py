import pytest
from ops import padded_convolutions

import numgrad


@pytest.mark.parametrize("value", [numgrad.nan, numgrad.inf])
@pytest.mark.parametrize("case", padded_convolutions.CASES)
def test_padding_does_not_spread_nan_or_infinity(cuda, case, value):
    padded_convolutions.check(*case, value, "cuda")


@pytest.mark.parametrize("case", padded_convolutions.CASES)
def test_nor_among_complex_numbers(cuda, case):
    padded_convolutions.check(*case, numgrad.nan, "cuda", numgrad.complex64)
