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

#: Arguments after a matrix.
FURTHER = {
    "adaptive_max_pool1d": (1,), "allclose": (numgrad.zeros(2, 2),), "chunk": (2,), "cummax": (0,), "cummin": (0,),
    "dsplit": (1,), "equal": (numgrad.zeros(2, 2),), "histogram": (2,), "hsplit": (2,),
    "is_same_size": (numgrad.zeros(2, 2),), "split_copy": (1,), "split_with_sizes_copy": ([1, 1],),
    "unravel_index": ((2, 2),), "kthvalue": (1,),
    "lu_unpack": (numgrad.tensor([1, 2], dtype=numgrad.int32),), "max_pool1d_with_indices": (1,), "split": (1,),
    "triangular_solve": (numgrad.ones(2, 2),),
    "split_with_sizes": ([1, 1],), "tensor_split": (2,), "topk": (1,), "unsafe_chunk": (2,), "unsafe_split": (1,),
    "unsafe_split_with_sizes": ([1, 1],), "vsplit": (2,),
}

#: Other first arguments.
GIVEN = {
    "can_cast": (numgrad.float32, numgrad.float64), "dsplit": (numgrad.zeros(1, 1, 1),),
    "is_nonzero": (numgrad.ones(1),), "lobpcg": (numgrad.eye(3),),
    "meshgrid": (numgrad.ones(1),), "unravel_index": (numgrad.tensor([1, 3]),),
}


def result_text(name):
    function = public_functions[name]
    return SIGNATURES["result_text"](function) if inspect.isfunction(function) else ""


def test_the_file_is_the_tables():
    assert SIGNATURES["FILE"].read_text(encoding="utf-8") == SIGNATURES["text"](), (
        "run python tests/typed/signatures.py --write"
    )


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [name for name in public_functions if result_text(name)[:5] in ("tuple", "_bool")])
def test_results_other_than_tensors_are_annotated(name):
    result = public_functions[name](*GIVEN.get(name, (numgrad.rand(2, 2),)), *FURTHER.get(name, ()))
    if result_text(name) == "_bool":
        assert isinstance(result, bool)
    else:
        assert isinstance(result, tuple)
        assert all(isinstance(each, Tensor) for each in result)
        assert ", ..." in result_text(name) or len(result) == result_text(name).count("Tensor")


@pytest.mark.filterwarnings("ignore")
def test_whatever_takes_a_matrix_alone_and_is_said_to_give_a_tensor_does():
    checked = 0
    for name, function in public_functions.items():
        if result_text(name) != "Tensor":
            continue
        try:
            result = function(numgrad.rand(2, 2))
        except (TypeError, RuntimeError, ValueError, IndexError):
            continue  # it takes something else, or more
        assert isinstance(result, Tensor), name
        checked += 1
    assert checked > 150
