"""What type checkers and editors are told of the op table is what it has, and what it gives."""

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
    "chunk": (2,), "cummax": (0,), "cummin": (0,), "kthvalue": (1,), "max_pool1d_with_indices": (1,), "split": (1,),
    "split_with_sizes": ([1, 1],), "topk": (1,), "unsafe_chunk": (2,), "unsafe_split": (1,),
    "unsafe_split_with_sizes": ([1, 1],),
}


def test_the_file_is_the_tables():
    assert SIGNATURES["FILE"].read_text(encoding="utf-8") == SIGNATURES["text"](), (
        "run python tests/typed/signatures.py --write"
    )


@pytest.mark.parametrize("name", sorted(SIGNATURES["RESULTS"].keys() & public_functions.keys()))
def test_what_gives_something_else_than_a_tensor_is_known(name):
    result = public_functions[name](numgrad.rand(2, 2), *FURTHER.get(name, ()))
    declared = SIGNATURES["RESULTS"][name]
    if declared == "_bool":
        assert isinstance(result, bool)
    elif declared != "Any":
        assert all(isinstance(each, Tensor) for each in result)
        assert ", ..." in declared or len(result) == 2
