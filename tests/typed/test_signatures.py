"""The signatures for type checkers and editors are those of the op table, and its results have their types."""

import inspect
import runpy
from pathlib import Path

import pytest

import numgrad
from numgrad import Tensor
from numgrad.ops import public_functions

HERE = Path(__file__).parent
SIGNATURES = runpy.run_path(str(HERE / "signatures.py"))

#: What some functions are given besides a matrix.
FURTHER = {
    "chunk": (2,), "cummax": (0,), "cummin": (0,), "kthvalue": (1,), "max_pool1d": (1,),
    "max_pool1d_with_indices": (1,), "max_pool2d": (1,), "max_pool3d": (1,), "split": (1,),
    "split_with_sizes": ([1, 1],), "topk": (1,), "unsafe_chunk": (2,), "unsafe_split": (1,),
    "unsafe_split_with_sizes": ([1, 1],),
}


def test_the_file_is_the_tables():
    assert SIGNATURES["FILE"].read_text(encoding="utf-8") == SIGNATURES["text"](), (
        "run python tests/typed/signatures.py --write"
    )


@pytest.mark.parametrize("name", sorted(SIGNATURES["RESULTS"].keys() & public_functions.keys()))
def test_what_gives_something_else_than_a_tensor_is_known(name):
    matrix = numgrad.rand(2, 2)
    given = {"max_pool2d": matrix[None], "max_pool3d": matrix[None, None]}.get(name, matrix)
    result = public_functions[name](given, *FURTHER.get(name, ()))
    declared = SIGNATURES["RESULTS"][name]
    if declared == "_bool":
        assert isinstance(result, bool)
    elif declared != "Any":
        assert all(isinstance(each, Tensor) for each in result)
        assert ", ..." in declared or len(result) == 2


@pytest.mark.filterwarnings("ignore")
def test_whatever_takes_a_matrix_alone_and_is_said_to_give_a_tensor_does():
    checked = 0
    for name, function in public_functions.items():
        if not inspect.isfunction(function) or SIGNATURES["result_text"](name, function) != "Tensor":
            continue
        try:
            result = function(numgrad.rand(2, 2))
        except (TypeError, RuntimeError, ValueError, IndexError):
            continue  # it takes something else, or more
        assert isinstance(result, Tensor), name
        checked += 1
    assert checked > 150
