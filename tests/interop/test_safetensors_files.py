"""Files in the safetensors format, which other programs write."""

import io
import json

import numpy as np
import pytest
import safetensors.numpy as safetensors

import numgrad
from numgrad.serialization import load

FILE = safetensors.save({"w": np.arange(6, dtype=np.float32), "n": np.array([3, 5])}, {"by": "me"})


@pytest.mark.parametrize("mmap", [None, True])
def test_files_of_others(tmp_path, mmap):
    path = tmp_path / "others.safetensors"
    safetensors.save_file(
        {"w": np.arange(6, dtype=np.float32).reshape(2, 3), "n": np.array(3), "e": np.zeros((0, 2))}, path, {"by": "me"}
    )
    result = load(path, mmap=mmap)
    assert set(result) == {"w", "n", "e"}
    assert result["w"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert result["n"].item() == 3
    assert result["e"].shape == (0, 2)
    result["w"].fill_(1)
    assert safetensors.load_file(path)["w"][0, 1] == 1.0  # a copy, or the file's pages copied when written to
    assert safetensors.load_file(path)["w"][0, 2] == 2.0


def test_dtypes_of_others():
    data = safetensors.save({"half": np.ones(2, np.float16)})
    assert load(io.BytesIO(data))["half"].dtype is numgrad.float16
    header = b'{"x":{"dtype":"BF16","shape":[1],"data_offsets":[0,2]}}'
    of_bfloat16 = len(header).to_bytes(8, "little") + header + b"\xc0\x3f"
    assert load(io.BytesIO(of_bfloat16))["x"].tolist() == [1.5]
    header = b'{"x":{"dtype":"F8_E5M2","shape":[1],"data_offsets":[0,1]}}'
    data = len(header).to_bytes(8, "little") + header + b"\x3f"
    with pytest.raises(RuntimeError, match="tensor 'x' has dtype F8_E5M2, which numgrad does not have"):
        load(io.BytesIO(data))


# -- damage ----------------------------------------------------------------------------------------------


def test_a_truncated_file(tmp_path):
    path = tmp_path / "short"
    for length in (9, 50, len(FILE) - 1):
        path.write_bytes(FILE[:length])
        for mmap in (None, True):
            with pytest.raises(RuntimeError, match=r"short' is damaged or truncated"):
                load(path, mmap=mmap)


#: A JSON value of each kind.
KINDS = [None, True, -1, 1.5, "x", [[]], {"a": 1}]


def _replaced(value):
    """Yield the value with each part of it in turn replaced by each of ``KINDS``."""
    yield from KINDS
    for key, part in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        for other in _replaced(part):
            yield {**value, key: other} if isinstance(value, dict) else [*value[:key], other, *value[key + 1 :]]


@pytest.mark.parametrize("mmap", [None, True])
def test_a_header_with_a_value_of_another_kind(tmp_path, mmap):
    """Each value in the header replaced by each other kind: the file is damaged, or can be read."""
    path = tmp_path / "file.safetensors"
    end = 8 + int.from_bytes(FILE[:8], "little")

    def is_damaged(header):
        text = json.dumps(header).encode()
        path.write_bytes(len(text).to_bytes(8, "little") + text + FILE[end:])
        try:
            load(path, mmap=mmap)
        except RuntimeError as error:
            if "damaged" not in str(error):
                raise
            return True
        return False

    header = json.loads(FILE[8:end])
    assert sum(map(is_damaged, _replaced(header))) > 50
    assert not is_damaged({**header, "__metadata__": None})
