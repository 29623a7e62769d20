"""Programs in files: the same bits in another process, and other files are refused."""

import json
import os
import random
import subprocess
import sys
import zipfile

import pytest

import numgrad
from numgrad import nn, optim
from numgrad.compiler import CaptureError, load

AGAIN = """
import sys
import numgrad
program = numgrad.compiler.load(sys.argv[1], trusted=True)
x, y = numgrad.load(sys.argv[2])
result = program(x)
assert result.keys() == {"y", "more"} and result["more"][1:] == (3, None, [0.5, "a"])
assert numgrad.equal(result["y"], y) and numgrad.equal(result["more"][0], y.softmax(-1))
"""


def test_a_program_in_another_process(tmp_path):
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 36, 300), nn.GELU(),
        nn.Linear(300, 10),
    ).eval()  # fmt: skip
    x = numgrad.randn(64, 3, 8, 8)

    @numgrad.compile
    def run(x):
        y = model(x)
        return {"y": y, "more": (y.softmax(-1), 3, None, [0.5, "a"])}

    program, tensors = os.fspath(tmp_path / "program"), os.fspath(tmp_path / "tensors")
    run.save(program, x)
    numgrad.save([x, model(x).detach()], tensors)
    done = subprocess.run(
        [sys.executable, "-c", AGAIN, program, tensors], env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True, text=True, check=False,
    )
    assert done.returncode == 0, done.stderr


def saved(tmp_path, function, *example):
    path = tmp_path / "program"
    numgrad.compile(function).save(path, *example)
    return load(path, trusted=True)


def test_tensors_that_a_program_changes_are_its_own(tmp_path):
    total = numgrad.zeros(3)

    def add(x):
        total.add_(x)
        return total

    program = saved(tmp_path, add, numgrad.ones(3))
    assert total.tolist() == [1, 1, 1]  # it was called, to be recorded
    first = program(numgrad.full((3,), 2.0))
    assert program(numgrad.full((3,), 4.0)).tolist() == [7, 7, 7]
    assert first.tolist() == [3, 3, 3]
    assert total.tolist() == [1, 1, 1]


def test_arguments_may_lie_anywhere_but_in_their_own_way(tmp_path):
    program = saved(tmp_path, lambda x, y: (x * y.t(), x.view(6)[1:3]), numgrad.zeros(2, 3), numgrad.zeros(3, 2))
    x, y = numgrad.arange(12.0)[5:11].view(2, 3), numgrad.arange(6.0).view(3, 2)
    product, part = program(x, y)
    assert numgrad.equal(product, x * y.t())
    assert part.tolist() == [6, 7]
    assert x.add_(1)[0, 0] == 6
    assert part.tolist() == [6, 7]
    with pytest.raises(ValueError, match=r"argument 1 must be .*\[3, 2\].*, not .*\[2, 3\]"):
        program(x, x)
    with pytest.raises(ValueError, match=r"argument 0 must be .*FloatTensor.*, not .*DoubleTensor"):
        program(x.double(), y)
    with pytest.raises(TypeError, match="takes 2 tensors, not 1"):
        program(x)
    with pytest.raises(TypeError, match="argument 0 must be a tensor, not int"):
        program(1, y)


def test_there_is_no_backward(tmp_path):
    program = saved(tmp_path, lambda x: x * x, numgrad.ones(3))
    x = numgrad.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="no backward"):
        program(x)
    with numgrad.no_grad():
        assert not program(x).requires_grad
    with pytest.raises(RuntimeError, match="within vmap"):
        numgrad.vmap(lambda x: program(numgrad.ones(3)) + x)(numgrad.ones(2, 3))


def test_numbers_and_truth_values_of_all_kinds(tmp_path):
    def f(x, z, mask):
        return x * float("inf"), x + numgrad.tensor(0.1), z * (1 - 2j), mask.logical_not(), (x > 0).sum(), x[:0]

    x, z = numgrad.tensor([1.0, -2.0]), numgrad.tensor([1j, 2.0])
    program = saved(tmp_path, f, numgrad.ones(2), numgrad.zeros(2, dtype=z.dtype), numgrad.tensor([True, False]))
    mask = numgrad.tensor([True, True])
    for one, other in zip(program(x, z, mask), f(x, z, mask), strict=True):
        assert one.dtype is other.dtype
        assert numgrad.equal(one, other)


def test_an_index_out_of_range(tmp_path):
    weight = numgrad.randn(5, 3)
    program = saved(tmp_path, lambda i: nn.functional.embedding(i, weight), numgrad.tensor([0, 1]))
    with pytest.raises(IndexError, match=r"embedding: an index, or a class, is out of range\n(.|\n)*test_saved"):
        program(numgrad.tensor([4, 5]))
    assert numgrad.equal(program(numgrad.tensor([4, 2])), weight[[4, 2]])


def step_of_an_optimizer(x):
    parameter = nn.Parameter(x.detach())
    optimizer = optim.SGD([parameter], lr=0.1)

    def step(x):
        (parameter * x).sum().backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


def gradient_of_a_parameter(x):
    parameter = nn.Parameter(x.detach())

    def backward(x):
        parameter.grad = None
        (parameter * x).sum().backward()

    return backward


@pytest.mark.parametrize(("function", "reason"), [
    (lambda x: x.sum().item(), r"item\(\) needs values"),
    (lambda x: numgrad.histc(x, 4, 0, 1), "histogram, which is called from Python"),
    (lambda x: x + numgrad.rand(3), "draws random numbers"),
    (lambda x: x.add_(1), "changes an argument"),
    (lambda x: x.dtype, "returns a dtype"),
    (step_of_an_optimizer(numgrad.ones(3)), "counts steps in Python"),
    (gradient_of_a_parameter(numgrad.ones(3)), "sets gradients"),
])  # fmt: skip
def test_programs_that_cannot_be_saved(tmp_path, function, reason):
    with pytest.raises(CaptureError, match=f"cannot be a program by itself: (.|\n)*{reason}"):
        numgrad.compile(function).save(tmp_path / "program", numgrad.ones(3))
    assert [*tmp_path.iterdir()] == []


def test_who_does_not_trust_a_file_does_not_load_it(tmp_path):
    with pytest.raises(RuntimeError, match=r"can run arbitrary code.*trusted=True"):
        load(tmp_path / "program")


def test_files_that_are_damaged(tmp_path):
    path, x = tmp_path / "program", numgrad.randn(3)
    weight = numgrad.randn(3)
    numgrad.compile(lambda x: x * weight).save(path, x)
    content = path.read_bytes()
    places = random.Random(0).choices(range(len(content)), k=300)
    damaged = [content[:place] for place in places[:50]]
    damaged += [content[:place] + bytes([content[place] ^ 4]) + content[place + 1 :] for place in places[50:]]
    refused = 0
    for one in (b"", b"no zip", *damaged):
        path.write_bytes(one)
        try:
            program = load(path, trusted=True)
        except RuntimeError as error:
            assert "damaged" in str(error)  # noqa: PT017
            refused += 1
        else:  # the change is harmless, such as the time of an entry
            assert numgrad.equal(program(x), x * weight)
    assert refused > 200


def test_files_of_another_version(tmp_path):
    path = tmp_path / "program"
    numgrad.compile(lambda x: x * 2).save(path, numgrad.ones(3))

    def changed(change):
        with zipfile.ZipFile(path) as archive:
            entries = {name: archive.read(name) for name in archive.namelist()}
        described = json.loads(entries["program.json"])
        change(described)
        with zipfile.ZipFile(tmp_path / "changed", "w") as archive:
            for name, content in {**entries, "program.json": json.dumps(described)}.items():
                archive.writestr(name, content)
        return tmp_path / "changed"

    with pytest.raises(RuntimeError, match=r"has the form \[0, 'little'\], and this version of numgrad reads \[2, "):
        load(changed(lambda described: described.update(form=[0, "little"])), trusted=True)
    with pytest.raises(RuntimeError, match="another version of numgrad: the sources of the kernel mul have changed"):
        load(changed(lambda described: described["kernels"][0].update(sources="")), trusted=True)
