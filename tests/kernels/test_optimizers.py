"""The kernels of the optimizers, compiled and as plain Python; arrays made of addresses."""

import re

import numba
import numpy as np
import pytest

from numgrad_kernels import store, updates
from numgrad_kernels.buffer_types import BufferType
from numgrad_kernels.cpu.optimizers import update_kernel
from numgrad_kernels.facts import facts_of
from numgrad_kernels.local import array_at
from numgrad_kernels.source import module_text

TYPES = [BufferType(kind) for kind in (numba.int64, numba.int64, numba.float64)]

#: For each kernel the operands that every parameter has, those that it may do without, and numbers in range.
KERNELS = {
    "sgd": (2, 1, [1.0, 0.1, 0.05, 0.9, 0.7, 1.0]),
    "adam": (4, 1, [-1.0, 0.1, 0.99, 0.1, 0.9, 0.1, 0.05, 1.7, 1e-3]),
    "rmsprop": (3, 2, [1.0, 0.1, 0.9, 0.1, 1e-3, 0.05, 0.5]),
    "adagrad": (3, 0, [-1.0, 0.0, 0.05, 1e-3]),
    "adadelta": (4, 0, [-1.0, 0.1, 0.9, 0.1, 1e-3, 0.5]),
    "adamax": (4, 0, [-1.0, 0.1, 0.1, 0.9, 1e-3, 0.05]),
    "nadam": (4, 0, [-1.0, 0.1, 0.99, 0.1, 0.9, 0.1, 0.05, 0.04, 1.7, 1e-3]),
    "radam": (4, 0, [-1.0, 0.1, 0.99, 0.1, 0.9, 0.1, 0.05, 1.0, 1e-3]),
    "asgd": (3, 0, [-1.0, 0.1, 0.99, 0.05, 0.3]),
    "rprop": (4, 0, [1.0, 0.5, 1.2, 1e-3, 50.0]),
}

#: Those that take roots, which shows whether they vectorise.
WITH_ROOTS = ["adam", "rmsprop", "adagrad", "adadelta", "nadam", "radam"]


def compiled(name, dtype):
    function, kind = update_kernel(name), np.dtype(dtype)
    return store.compile_kernel(name, module_text(function, kind), TYPES, facts_of(function, kind))


def operands(name, dtype, sizes):
    """Buffers for parameters of these sizes: no number is negative, since a state may be a mean of squares."""
    random = np.random.default_rng(0)
    count = sum(KERNELS[name][:2])
    return [[random.uniform(0.5, 1.5, size).astype(dtype) for _ in range(count)] for size in sizes]


def run(function, name, buffers, blocks):
    """Call a kernel; where there is no buffer, the parameter does without this operand."""
    addresses = np.array([[0 if buffer is None else buffer.ctypes.data for buffer in own] for own in buffers])
    numbers = np.array([KERNELS[name][2]] * len(buffers))
    function(addresses.ravel(), np.array(blocks).ravel(), numbers.ravel())


@pytest.mark.parametrize("name", KERNELS)
def test_float32_is_computed_in_float32(name, tmp_path, monkeypatch):
    monkeypatch.setenv("NUMGRAD_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(store, "_kernels", {})  # only who compiles a kernel has its code
    code = compiled(name, "float32").llvm()
    assert not re.search(r"fpext (<\d+ x )?float", code)
    assert re.search(r"@llvm.sqrt.v\d+f32" if name in WITH_ROOTS else r"<\d+ x float>", code)  # it vectorises


@pytest.mark.parametrize("name", KERNELS)
def test_compiled_and_plain_python_agree(name, monkeypatch):
    blocks = [[0, 0, 66], [0, 66, 4], [1, 1, 2]]
    before, buffers, copies = [operands(name, "float64", [70, 3]) for _ in range(3)]
    for given in (buffers, copies):
        given[1][KERNELS[name][0] :] = [None] * KERNELS[name][1]
    function = update_kernel(name)
    for names in (vars(updates), function.__globals__):
        monkeypatch.setitem(names, "T", np.float64)
    run(compiled(name, "float64").entry, name, buffers, blocks)
    run(function, name, copies, blocks)
    for buffer, other in zip(buffers, copies, strict=True):
        for found, expected in zip(buffer, other, strict=True):
            assert (found is None) == (expected is None)
            if found is not None:
                np.testing.assert_allclose(found, expected, rtol=1e-14)
    assert np.all(buffers[0][0] != before[0][0])
    np.testing.assert_array_equal(buffers[0][1], before[0][1])  # the gradient
    np.testing.assert_array_equal(buffers[1][0] != before[1][0], [False, True, True])  # the blocks leave one out


@pytest.mark.parametrize("name", KERNELS)
def test_an_element_does_not_depend_on_its_place(name):
    (whole,) = operands(name, "float32", [200])
    shifted = [buffer[3:].copy() for buffer in whole]
    entry = compiled(name, "float32").entry
    run(entry, name, [whole], [[0, 0, 200]])
    run(entry, name, [shifted], [[0, 0, 150], [0, 150, 47]])
    for buffer, other in zip(whole, shifted, strict=True):
        np.testing.assert_array_equal(buffer[3:], other)


def test_array_at():
    buffer = np.arange(10.0)
    part = array_at(buffer.ctypes.data, 4, 3, np.float64)
    np.testing.assert_array_equal(part, [4.0, 5.0, 6.0])
    part[0] = -1
    assert buffer[4] == -1
