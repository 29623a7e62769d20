"""Adjoints of random programs are those of dual numbers."""

import pytest
from adjoints.random_programs import compare


@pytest.mark.parametrize("seed", [1117, 3144, *range(2000, 2010)])
def test_random_program(seed):
    assert compare(seed) in ("right", "skipped")


@pytest.mark.parametrize("seed", [8100000, 8100001, 8100003])
def test_random_program_with_checkpoints(seed):
    assert compare(seed, checkpoint=2) == "right"


@pytest.mark.parametrize("seed", range(100, 104))
def test_random_program_that_makes_arrays(seed):
    assert compare(seed, arrays=True) == "right"
