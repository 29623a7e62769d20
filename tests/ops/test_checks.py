"""Checks of arguments: their messages."""

import re

import pytest

import numgrad as torch
from numgrad.ops.table.checks import check, check_index


@pytest.mark.parametrize(
    ("message", "values", "expected"),
    [
        ("sizes {} of {}", [(2, 3), torch.zeros(4)], "sizes [2, 3] of [4]"),
        ("{!s} and {:g}", [(2, 3), 0.5], "(2, 3) and 0.5"),
        ("a matrix is needed", [torch.zeros(4)], "a matrix is needed (shape [4])"),
        ("got {}D", [1, torch.zeros(4), (2, 3)], "got 1D (shapes [4], [2, 3])"),
    ],
)
def test_a_message_shows_the_shapes_of_tensors(message, values, expected):
    with pytest.raises(RuntimeError, match=f"^{re.escape(expected)}$"):
        check(False, message, *values)


def test_nothing_is_raised_if_the_condition_holds():
    check([1], "{}")  # the message lacks its value: it is not formatted
    with pytest.raises(IndexError):
        check_index([], "no element")
