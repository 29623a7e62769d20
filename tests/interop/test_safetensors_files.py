"""Files in the safetensors format: other programs' and those that numgrad once wrote."""

import base64
import io
import json
import math
import zlib
from collections import OrderedDict

import numpy as np
import pytest
import safetensors.numpy as safetensors

import numgrad
from numgrad.interop.nested_state import read_header
from numgrad.nn import Parameter
from numgrad.serialization import load

#: A file that numgrad wrote when it kept state so: parameters, views, a transposed tensor, values of most kinds.
OLD = base64.b64decode("""
QAQAAAAAAAB7Il9fbWV0YWRhdGFfXyI6eyJmb3JtYXQiOiJudW1ncmFkIiwibnVtZ3JhZCI6IjEgMjk2Mjc4NjQge1wic3RhdGVcIjpbXCJkaWN0
XCIsW1tcIndcIixbXCJ0ZW5zb3JcIiwwXV0sW1wicGFydFwiLFtcInRlbnNvclwiLDFdXSxbXCJ0XCIsW1widGVuc29yXCIsMl1dLFtcInhcIixb
XCJ0ZW5zb3JcIiwzXV0sW1wiY1wiLFtcInRlbnNvclwiLDRdXSxbXCJ2XCIsW1wibGlzdFwiLFsxLjUsbnVsbCxbXCJ0dXBsZVwiLFsxLFtcImJ5
dGVzXCIsXCI2MVwiXSxbXCJmbG9hdFwiLFwiaW5mXCJdXV0sW1wiZHR5cGVcIixcImZsb2F0MzJcIl0sW1wiU2l6ZVwiLFsyXV1dXV0sW1wib1wi
LFtcIk9yZGVyZWREaWN0XCIsW1tcImFcIiwxXV1dXV1dLFwidGVuc29yc1wiOlt7XCJkdHlwZVwiOlwiZmxvYXQzMlwiLFwic2hhcGVcIjpbMl0s
XCJyZXF1aXJlc19ncmFkXCI6dHJ1ZSxcInBhcmFtZXRlclwiOnRydWUsXCJhdHRyaWJ1dGVzXCI6W1tcIm5vdGVcIixcInhcIl1dLFwiZGF0YVwi
Olwid1wifSx7XCJkdHlwZVwiOlwiaW50NjRcIixcInNoYXBlXCI6WzNdLFwiZGF0YVwiOlwicGFydFwiLFwic3RyaWRlXCI6WzJdfSx7XCJkdHlw
ZVwiOlwiZmxvYXQzMlwiLFwic2hhcGVcIjpbMywyXSxcImRhdGFcIjpcInhcIixcIm9mZnNldFwiOjAsXCJzdHJpZGVcIjpbMSwzXX0se1wiZHR5
cGVcIjpcImZsb2F0MzJcIixcInNoYXBlXCI6WzIsM10sXCJkYXRhXCI6XCJ4XCJ9LHtcImR0eXBlXCI6XCJjb21wbGV4NjRcIixcInNoYXBlXCI6
WzFdLFwiZGF0YVwiOlwiY1wifV0sXCJjaGVja3N1bXNcIjp7XCJ3XCI6Nzc1OTIzMDYyLFwicGFydFwiOjExMzc0NDgzMzcsXCJ4XCI6MjQ0Nzg3
MjAyMyxcImNcIjo3NzU5MjMwNjJ9fSJ9LCJwYXJ0Ijp7ImR0eXBlIjoiSTY0Iiwic2hhcGUiOlszXSwiZGF0YV9vZmZzZXRzIjpbMCwyNF19LCJj
Ijp7ImR0eXBlIjoiRjMyIiwic2hhcGUiOlsxLDJdLCJkYXRhX29mZnNldHMiOlsyNCwzMl19LCJ3Ijp7ImR0eXBlIjoiRjMyIiwic2hhcGUiOlsy
XSwiZGF0YV9vZmZzZXRzIjpbMzIsNDBdfSwieCI6eyJkdHlwZSI6IkYzMiIsInNoYXBlIjpbMiwzXSwiZGF0YV9vZmZzZXRzIjpbNDAsNjRdfX0g
ICAgIAEAAAAAAAAAAwAAAAAAAAAFAAAAAAAAAAAAgD8AAABAAACAPwAAAEAAAAAAAACAPwAAAEAAAEBAAACAQAAAoEA=
""")


def parts(data):
    """The header of a file, its own header in the metadata, and the bytes that follow."""
    end = 8 + int.from_bytes(data[:8], "little")
    outer = json.loads(data[8:end])
    return outer, json.loads(outer["__metadata__"]["numgrad"].split(" ", 2)[2]), data[end:]


def header(content, version=1):
    text = json.dumps(content)
    return f"{version} {zlib.crc32(text.encode())} {text}"


def file_of(outer, rest):
    text = json.dumps(outer).encode()
    return len(text).to_bytes(8, "little") + text + rest


# -- what comes back -------------------------------------------------------------------------------------


@pytest.mark.parametrize("mmap", [None, True])
def test_what_numgrad_once_saved(tmp_path, mmap):
    path = tmp_path / "old.safetensors"
    path.write_bytes(OLD)
    state = load(path, mmap=mmap)
    assert type(state["w"]) is Parameter
    assert state["w"].tolist() == [1, 2]
    assert state["w"].note == "x"
    assert state["part"].tolist() == [1, 3, 5]
    state["x"][0, 1] = 9
    assert state["t"].tolist() == [[0, 3], [9, 4], [2, 5]]
    assert state["c"].tolist() == [1 + 2j]
    assert state["v"] == [1.5, None, (1, b"a", math.inf), numgrad.float32, numgrad.Size([2])]
    assert state["o"] == OrderedDict(a=1)
    assert load(io.BytesIO(OLD), lambda row, name: row)["w"].tolist() == [1, 2]


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
    with pytest.raises(RuntimeError, match="tensor 'half' has dtype F16, which numgrad does not have"):
        load(io.BytesIO(data))


# -- damage ----------------------------------------------------------------------------------------------


def test_a_truncated_file(tmp_path):
    path = tmp_path / "short"
    for length in (9, 50, len(OLD) - 1):
        path.write_bytes(OLD[:length])
        for mmap in (None, True):
            with pytest.raises(RuntimeError, match=r"short' is damaged or truncated"):
                load(path, mmap=mmap)


def test_a_damaged_byte():
    place = len(OLD) - 3
    with pytest.raises(RuntimeError, match="does not agree with its checksum"):
        load(io.BytesIO(OLD[:place] + bytes([OLD[place] ^ 1]) + OLD[place + 1 :]))


def test_a_header_that_reaches_out_of_its_tensors():
    def content(shape, stride, offset):
        record = {"dtype": "int64", "shape": shape, "stride": stride, "offset": offset, "data": "w"}
        return {"state": ["tensor", 0], "tensors": [record], "checksums": {"w": 0}}

    rows = {"w": np.zeros(16, np.uint8)}
    assert read_header(header(content([2], [1], 0)), rows, test=False).shape == (2,)
    for shape, stride, offset in ([2], [2], 1), ([2], [-1], 1), ([-2], [1], 0), ([2], [1], -1), ([2, 2], [1], 0):
        with pytest.raises(ValueError, match=r"makes no sense|reaches beyond what is stored"):
            read_header(header(content(shape, stride, offset)), rows, test=False)


def test_a_header_that_describes_much():
    """Keys of one hash, and strides that leave gaps: an error, or what fits."""

    def read(state, *records):
        content = {"state": state, "tensors": records, "checksums": {"w": 0}}
        return read_header(header(content), {"w": np.zeros(16, np.uint8)}, test=False)

    keys = [[number * (2**61 - 1), 1] for number in range(20_000)]
    with pytest.raises(ValueError, match="what it describes is too large for its size"):
        read(["dict", keys])
    with pytest.raises(ValueError, match="is the type of a number"):
        read(["number", [["x", "<i4"]], "00000000"])
    gaps = {"dtype": "int64", "shape": [2], "stride": [2**40], "data": "w"}
    assert read(["tensor", 0], gaps).stride() == (1,)
    with pytest.raises(ValueError, match="reaches beyond what is stored"):
        read(["tensor", 0], {**gaps, "shape": [2**40, 2**40], "stride": [0, 0], "offset": 0})


#: A JSON value of each kind, with what means something else.
KINDS = [None, True, -1, 1.5, "x", [[]], {"a": 1}]


def _replaced(value):
    """The value with each part of it in turn replaced by each of ``KINDS``."""
    yield from KINDS
    for key, part in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        for other in _replaced(part):
            yield {**value, key: other} if isinstance(value, dict) else [*value[:key], other, *value[key + 1 :]]


def test_a_header_with_a_value_of_another_kind(tmp_path):
    """Each value in the headers, safetensors' and ours, replaced by each other kind: it is damaged, or can be read."""
    path = tmp_path / "file.safetensors"
    outer, inner, rest = parts(OLD)
    for record in inner["tensors"]:
        record["device"] = "cpu"

    def damaged(header, mmap):
        path.write_bytes(file_of(header, rest))
        try:
            load(path, mmap=mmap)
        except RuntimeError as error:
            if "damaged" not in str(error):
                raise
            return True
        return False

    assert sum(damaged(header, mmap=True) for header in _replaced(outer)) > 50
    assert not damaged({**outer, "__metadata__": None}, mmap=None)
    changed = 0
    for content in _replaced(inner):
        changed += damaged({**outer, "__metadata__": {"numgrad": header(content)}}, mmap=None)
    assert changed > 100


def test_a_newer_version():
    with pytest.raises(ValueError, match="its format has version 2; this numgrad reads version 1"):
        read_header(header({}, version=2), {}, test=True)
